"""Whom a model's server and a search are checked against."""

from __future__ import annotations

import socket
import ssl
import threading
from pathlib import Path

import certifi
import pytest
from openai_server import openai_server
from proxy import own_authority
from wired import error_at

from deep_research.core.models.faults import explain
from deep_research.core.run.network import trusted_certificates


async def test_a_certificate_of_an_unknown_authority_is_named_with_the_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(own_authority(tmp_path))
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            connection, _ = listening.accept()
            with connection, pytest.raises(ssl.SSLError):
                context.wrap_socket(connection, server_side=True)

        thread = threading.Thread(target=serve)
        thread.start()
        port = listening.getsockname()[1]
        error = await error_at(f"https://127.0.0.1:{port}/v1", monkeypatch)
        thread.join()
    message = str(explain(error, "planner", "fake-1"))
    assert f"vouches for the certificate of 127.0.0.1:{port}" in message and "SSL_CERT_FILE" in message


async def test_a_server_without_https_is_named_with_the_address_that_may_be_meant(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with openai_server([]) as server:
        error = await error_at(server.url.replace("http:", "https:"), monkeypatch)
    assert "does not speak HTTPS" in str(explain(error, "planner", "fake-1"))


def test_authorities_are_read_once_for_what_the_environment_names(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = trusted_certificates()
    assert usual is trusted_certificates()
    assert usual.cert_store_stats()["x509_ca"] > 50
    monkeypatch.setenv("SSL_CERT_FILE", certifi.where())
    assert trusted_certificates() is not usual
    monkeypatch.setenv("SSL_CERT_FILE", "")
    monkeypatch.setenv("SSL_CERT_DIR", "/nonexistent")
    assert trusted_certificates().cert_store_stats()["x509_ca"] == 0

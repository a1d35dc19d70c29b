"""Whom a model's server and a search are checked against."""

from __future__ import annotations

import certifi
import pytest

from deep_research.core.models.http import trusted_certificates


def test_authorities_are_read_once_for_what_the_environment_names(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = trusted_certificates()
    assert usual is trusted_certificates()
    assert usual.cert_store_stats()["x509_ca"] > 50
    monkeypatch.setenv("SSL_CERT_FILE", certifi.where())
    assert trusted_certificates() is not usual
    monkeypatch.setenv("SSL_CERT_FILE", "")
    monkeypatch.setenv("SSL_CERT_DIR", "/nonexistent")
    assert trusted_certificates().cert_store_stats()["x509_ca"] == 0

"""Clients on this machine need no token unless the operator configured users or hosts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from deep_research.app.server.users import ADDRESS, is_open, server_settings, user_of, users
from deep_research.core.errors import UnknownSetting
from deep_research.core.settings.server_settings import local_address

HERE = "http://127.0.0.1:2024"


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """Settings are read once a process."""
    for read in (server_settings, users, is_open):
        read.cache_clear()
    yield
    for read in (server_settings, users, is_open):
        read.cache_clear()


@pytest.mark.fault("R24")
@pytest.mark.parametrize(
    ("environment", "client", "user"),
    [
        ({ADDRESS: HERE}, "127.0.0.1", "local"),
        ({ADDRESS: "https://localhost:2024/mounted"}, "::1", "local"),
        ({ADDRESS: HERE}, "192.0.2.1", None),
        ({ADDRESS: HERE}, "", None),
        ({ADDRESS: "http://0.0.0.0:2024"}, "127.0.0.1", None),
        ({ADDRESS: "https://a-tunnel.example"}, "127.0.0.1", None),
        ({}, "127.0.0.1", None),
        (
            {ADDRESS: HERE, "DEEP_RESEARCH_SERVER_TOKENS": "alice:alice-has-a-long-token"},
            "127.0.0.1",
            None,
        ),
        ({ADDRESS: HERE, "DEEP_RESEARCH_SERVER_HOSTS": "research.example"}, "127.0.0.1", None),
        ({ADDRESS: HERE, "DEEP_RESEARCH_SERVER_REQUIRE_TOKEN": "true"}, "127.0.0.1", None),
    ],
)
def test_a_token_is_needed_unless_client_and_settings_are_local(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], client: str, user: str | None
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert user_of({"host": "127.0.0.1:2024"}, client) == user


@pytest.mark.parametrize("host", ["0.0.0.0", "[::]"])
def test_the_printed_address_is_one_that_the_server_accepts(
    monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    monkeypatch.setenv(ADDRESS, f"http://{host}:2024")
    assert local_address() == "http://localhost:2024"


@pytest.mark.fault("R26")
@pytest.mark.parametrize(
    ("origin", "user"), [("http://localhost:3000", "local"), ("http://localhost:3001", None)]
)
def test_requests_from_allowed_origins_are_accepted(
    monkeypatch: pytest.MonkeyPatch, origin: str, user: str | None
) -> None:
    monkeypatch.setenv(ADDRESS, HERE)
    monkeypatch.setenv("DEEP_RESEARCH_SERVER_ORIGINS", "http://localhost:3000")
    for asking, expected in ((origin, user), ("https://smith.langchain.com", "local")):
        assert user_of({"host": "127.0.0.1:2024", "origin": asking}, "127.0.0.1") == expected


@pytest.mark.fault("R19")
def test_a_token_without_a_user_is_refused_and_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEP_RESEARCH_SERVER_TOKENS", "a-long-token-of-nobody")
    with pytest.raises(UnknownSetting, match="it must be USER:TOKEN") as refused:
        users()
    assert "a-long-token" not in str(refused.value)

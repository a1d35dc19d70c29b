"""Who may use the server: users by token, and what each may take up."""

from __future__ import annotations

import hmac
import os
import re
import secrets
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import Field, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from ...core.run.context import Context
from ...core.run.errors import UnknownSetting
from ...core.run.limits import ENVIRONMENT_PREFIX
from ...core.run.store.pages import LOCAL_USER

TOKEN_FILE = "server-token"  # noqa: S105 - a name
STUDIO = "https://smith.langchain.com"
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
ADDRESS = "LANGGRAPH_API_URL"
"""Variable in which LangGraph's command passes the server the address at which it listens."""
REQUIRE_TOKEN = f"{ENVIRONMENT_PREFIX}SERVER_REQUIRE_TOKEN"
SHORTEST = 16
"""Characters that a token has at least."""


class ServerSettings(BaseSettings):
    """Settings of the server, each `DEEP_RESEARCH_SERVER_<NAME>` in its environment."""

    model_config = SettingsConfigDict(env_prefix=f"{ENVIRONMENT_PREFIX}SERVER_", env_ignore_empty=True, frozen=True)

    tokens: Annotated[tuple[str, ...], NoDecode] = ()
    """Users and their tokens, as `alice:TOKEN bob:TOKEN`."""
    tokens_file: Path | None = None
    """A file with one such pair in a line."""
    hosts: Annotated[tuple[str, ...], NoDecode] = ()
    """Names under which the server is reached, beside those of this machine."""
    origins: Annotated[tuple[str, ...], NoDecode] = ()
    """Origins whose pages may use the server, beside its own and Studio's."""
    webhook_hosts: Annotated[tuple[str, ...], NoDecode] = ()
    """Hosts that users may have called when a run ends, as in its address: with the port if that is not the usual."""
    require_token: bool = False
    """Whether clients on this machine need the token even if the server is open to them otherwise."""
    user_runs: int = Field(default=50, ge=1)
    """Runs of one user at the same time."""
    body_bytes: int = Field(default=64_000_000, ge=1)
    """Size of a request's body: a question with the files that are attached to it, in base64."""

    @field_validator("tokens", "hosts", "origins", "webhook_hosts", mode="before")
    @classmethod
    def _split_words(cls, value: Any) -> Any:
        return [word for word in re.split(r"[\s,]+", value) if word] if isinstance(value, str) else value


@cache
def server_settings() -> ServerSettings:
    """Return the settings of this process's server."""
    return ServerSettings()


@cache
def users() -> dict[str, str]:
    """Return users by their tokens; where none are set, one whose token is made at the first start and kept."""
    settings = server_settings()
    try:
        filed = settings.tokens_file.read_text("utf-8").split() if settings.tokens_file else []
    except OSError as error:
        raise UnknownSetting(
            f"DEEP_RESEARCH_SERVER_TOKENS_FILE: {str(settings.tokens_file)!r} cannot be read: {error.strerror}."
        ) from error
    pairs = [*settings.tokens, *filed]
    if not pairs:
        return {_local_token(): LOCAL_USER}
    return dict(map(_pair, pairs))


@cache
def is_open() -> bool:
    """Return whether clients on this machine need no token.

    They need none if no tokens are configured and the server listens on loopback only, as it does under
    `langgraph dev`; configured host names mean that a proxy forwards requests of others.
    """
    settings, listens_at = server_settings(), urlsplit(os.environ.get(ADDRESS, "")).hostname
    has_tokens = set(users().values()) != {LOCAL_USER}
    return listens_at in LOOPBACK and not (has_tokens or settings.hosts or settings.require_token)


def user_of(headers: Mapping[str, str], client: str) -> str | None:
    """Return the user that a request comes from, by its token or because it needs none; else none.

    `headers` have names in lower case. Nobody but clients on this machine is the local user.
    """
    user = user_of_token(headers)
    if user is None and is_open() and is_from_allowed_page(headers):
        user = LOCAL_USER
    return user if user != LOCAL_USER or client in ("127.0.0.1", "::1") else None


def user_of_token(headers: Mapping[str, str]) -> str | None:
    """Return the user of the token in a request; none without a token that is known."""
    token = token_in(headers).encode()
    return next((user for known, user in users().items() if hmac.compare_digest(known.encode(), token)), None)


def allowed_origins(host: str = "") -> tuple[str, ...]:
    """Return the origins whose pages may use the server, its own included, which follows from its host."""
    own = (f"http://{host}", f"https://{host}") if host else ()
    return (STUDIO, *server_settings().origins, *own)


def is_from_allowed_page(headers: Mapping[str, str]) -> bool:
    """Return whether a request comes from no web page at all, or from one that may use the server.

    Browsers send `Origin` with all that changes something or can be read by a page of another site, and
    `Sec-Fetch-Site` with all else; other clients send neither.
    """
    if (origin := headers.get("origin")) is not None:
        return origin in allowed_origins(headers.get("host", ""))
    return headers.get("sec-fetch-site", "none") in ("none", "same-origin")


def refused_webhook(address: object) -> str:
    """Return why this address is not called when a run ends; empty if it may be, or if there is none."""
    # The host as it is written: with a password or a backslash in it, it is none of those.
    found = re.match(r"https?://([^/?#]*)", str(address), re.IGNORECASE)
    host = found[1].lower() if found else str(address)
    if not address or (found and host in map(str.lower, server_settings().webhook_hosts)):
        return ""
    return f"webhook: {host[:100]!r} is not allowed; the operator can name it: DEEP_RESEARCH_SERVER_WEBHOOK_HOSTS."


def token_in(headers: Mapping[str, str]) -> str:
    """Return the token of a request: `Authorization: Bearer TOKEN`, or `X-Api-Key: TOKEN` as LangGraph's clients do."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else headers.get("x-api-key", "")


def _pair(pair: str) -> tuple[str, str]:
    user, _, token = pair.partition(":")
    if not user or len(token) < SHORTEST or user == LOCAL_USER:
        raise UnknownSetting(
            f"DEEP_RESEARCH_SERVER_TOKENS: the entry of {user!r} is no USER:TOKEN with {SHORTEST} characters or more "
            f"({LOCAL_USER!r} is taken)."
        )
    return token, user


def _local_token() -> str:
    path = Context().data_dir / TOKEN_FILE
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:
            file.write(secrets.token_urlsafe(32))
    except FileExistsError:
        pass
    token = path.read_text("utf-8").strip()
    if len(token) < SHORTEST:
        raise UnknownSetting(f"{str(path)!r} holds no token: delete it, and start the server again.")
    return token

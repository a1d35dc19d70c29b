"""Who may use the server: users by token, and what each may take up."""

from __future__ import annotations

import hmac
import os
import re
import secrets
from functools import cache
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from ...core.run.context import Context
from ...core.run.errors import UnknownSetting
from ...core.run.limits import ENVIRONMENT_PREFIX

LOCAL_USER = "local"
"""The user whose token is made at the first start, if no tokens are set."""
TOKEN_FILE = "server-token"  # noqa: S105 - a name
STUDIO = "https://smith.langchain.com"
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
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
    origins: Annotated[tuple[str, ...], NoDecode] = (STUDIO,)
    """Origins whose pages may use the server, beside its own."""
    user_runs: int = Field(default=50, ge=1)
    """Runs of one user at the same time."""

    @field_validator("tokens", "hosts", "origins", mode="before")
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


def user_of(token: str, client: str) -> str | None:
    """Return the user of a token, none if there is none; a token that was made here is good on this machine alone."""
    for known, user in users().items():
        if hmac.compare_digest(known.encode(), token.encode()):
            return user if user != LOCAL_USER or client in ("127.0.0.1", "::1") else None
    return None


def token_in(headers: dict[str, str]) -> str:
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

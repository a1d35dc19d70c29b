"""Settings, users and tokens of the server."""

from __future__ import annotations

import hmac
import os
import re
import secrets
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from urllib.parse import urlsplit

from ...core.errors import UnknownSetting
from ...core.settings.context import Context
from ...core.settings.limits import ENVIRONMENT_PREFIX
from ...core.settings.server_settings import ServerSettings
from ...core.store.pages import LOCAL_USER

TOKEN_FILE = "server-token"  # noqa: S105 - a name
STUDIO = "https://smith.langchain.com"
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
ADDRESS = "LANGGRAPH_API_URL"
"""Environment variable with the server's own URL, set by LangGraph's command."""
REQUIRE_TOKEN = f"{ENVIRONMENT_PREFIX}SERVER_REQUIRE_TOKEN"
_NEW_FILE = os.O_CREAT | os.O_EXCL | os.O_WRONLY
_DEFAULT_PORTS = {"http": ":80", "https": ":443"}
"""What a host ends in if its default port is written out."""
_SHORTEST = 16
"""Minimum length of a token."""


@cache
def server_settings() -> ServerSettings:
    """Return the server settings of this process."""
    return ServerSettings()


@cache
def users() -> dict[str, str]:
    """Return the users, keyed by token; by default only the local user, whose token is created at
    the first start."""
    settings = server_settings()
    pairs = list(settings.tokens)
    try:
        if settings.tokens_file:
            pairs += settings.tokens_file.read_text("utf-8").split()
    except OSError as error:
        raise UnknownSetting(
            f"DEEP_RESEARCH_SERVER_TOKENS_FILE: {str(settings.tokens_file)!r} cannot be read: "
            f"{error.strerror}."
        ) from error
    found = dict[str, str]()
    for pair in pairs:
        user, sign, token = pair.partition(":")
        if not sign:
            # It is a token, which must not be shown.
            raise UnknownSetting(
                "DEEP_RESEARCH_SERVER_TOKENS: an entry has no colon; it must be USER:TOKEN."
            )
        if not user or len(token) < _SHORTEST or user == LOCAL_USER:
            raise UnknownSetting(
                f"DEEP_RESEARCH_SERVER_TOKENS: the entry for {user!r} must be USER:TOKEN, with a "
                f"token of at least {_SHORTEST} characters and a user other than {LOCAL_USER!r}."
            )
        found[token] = user
    if found:
        return found
    path = Context().data_dir / TOKEN_FILE
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with suppress(FileExistsError), os.fdopen(os.open(path, _NEW_FILE, 0o600), "w") as file:
        file.write(secrets.token_urlsafe(32))
    token = path.read_text("utf-8").strip()
    if len(token) < _SHORTEST:
        raise UnknownSetting(
            f"{str(path)!r} contains no valid token: delete the file and restart the server."
        )
    return {token: LOCAL_USER}


@cache
def is_open() -> bool:
    """Return whether clients on this machine need no token, as with `langgraph dev`.

    True if no tokens are configured, the server listens only on loopback, and no configured host
    names suggest a proxy.
    """
    settings = server_settings()
    listens_at = urlsplit(os.environ.get(ADDRESS, "")).hostname
    has_tokens = set(users().values()) != {LOCAL_USER}
    return listens_at in LOOPBACK and not (has_tokens or settings.hosts or settings.require_token)


def user_of(headers: Mapping[str, str], client: str) -> str | None:
    """Return the user of a request: the token's owner, or the local user if no token is needed;
    None to refuse it.

    `headers` has lower-case names. Only clients on this machine can be the local user.
    """
    user = user_of_token(headers)
    if user is None and is_open() and is_from_allowed_page(headers):
        user = LOCAL_USER
    if user == LOCAL_USER and client not in ("127.0.0.1", "::1"):
        return None
    return user


def user_of_token(headers: Mapping[str, str]) -> str | None:
    """Return the user whose token a request carries; None without a known token."""
    token = token_in(headers).encode()
    for known, user in users().items():
        if hmac.compare_digest(known.encode(), token):
            return user
    return None


def allowed_origins(host: str = "") -> tuple[str, ...]:
    """Return the origins whose web pages may use the server, including its own if `host` is
    given."""
    origins = (STUDIO, *server_settings().origins)
    if host:
        origins += (f"http://{host}", f"https://{host}")
    return origins


def is_from_allowed_page(headers: Mapping[str, str]) -> bool:
    """Return whether a request comes from an allowed web page or from no web page at all.

    Browsers send `Origin` with requests that change something or whose response another site could
    read, and `Sec-Fetch-Site` with the others; other clients send neither.
    """
    origin = headers.get("origin")
    if origin is not None:
        return origin in allowed_origins(headers.get("host", ""))
    return headers.get("sec-fetch-site", "none") in ("none", "same-origin")


def refused_webhook(address: object) -> str:
    """Return why a webhook URL is refused; empty if it is allowed or not given."""
    # Compares the host as written, so a URL with a password or backslash matches no allowed host.
    if not address:
        return ""
    host = str(address)
    match = re.match(r"(https?)://([^/?#]*)", host, re.IGNORECASE)
    if match:
        port = _DEFAULT_PORTS[match[1].lower()]
        host = match[2].lower()
        allowed = [name.lower().removesuffix(port) for name in server_settings().webhook_hosts]
        if host.removesuffix(port) in allowed:
            return ""
    return (
        f"webhook: {host[:100]!r} is not allowed; the operator can allow it with "
        "DEEP_RESEARCH_SERVER_WEBHOOK_HOSTS."
    )


def token_in(headers: Mapping[str, str]) -> str:
    """Return the token of a request, sent as `Authorization: Bearer TOKEN` or, by LangGraph's
    clients, `X-Api-Key`."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return token.strip()
    return headers.get("x-api-key", "")

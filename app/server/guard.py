"""The app in front of LangGraph's server; `Guard` checks user, origin, path and size of each
request."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from typing import Any
from urllib.parse import SplitResult, urlsplit

from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ...core.errors import ThreadBusy, UserMistake
from ...core.settings.server_settings import local_address
from ...core.store.pages import LOCAL_USER
from ._bodies import BodyReader, BodyRefused
from ._connections import HEAD_BYTES, limit_connections
from ._load import until_answered
from ._log import shorten_log
from ._mcp_endpoint import SESSIONS
from ._pace import Pace
from ._page_files import serve_page
from ._routes import BEGIN_SECONDS, ROUTES, opened_book
from ._webhooks import limit_webhooks
from .users import (
    LOOPBACK,
    STUDIO,
    allowed_origins,
    is_from_allowed_page,
    is_open,
    refused_webhook,
    server_settings,
    user_of,
    user_of_token,
    users,
)

_LISTENING_SECONDS = 0.05
"""Seconds between two checks whether the server is listening."""
_STREAM = re.compile(r"/research/runs/[^/]+/packets")
"""Path of a packet stream."""
_USER_STREAMS, _STREAMS = 20, 200
"""Maximum number of open packet streams, per user and in total."""
_PUBLIC = frozenset({"/ok"})
"""Paths that need no token."""
_PAGE = re.compile(r"/|/page/[a-z_]+\.(?:js|css|svg)")
"""Paths of the web page's files, which need no token because they contain no user data."""
_SERVED = re.compile(
    r"/(?:ok|info|docs|mcp|openapi\.json|(?:assistants|threads|runs|research)(?:/.*)?)"
)
"""The only paths that are served; LangGraph's other paths are for deployment, metrics, resets and
other protocols."""
_ALLOW_ORIGIN = "its operator can allow them with DEEP_RESEARCH_SERVER_ORIGINS."
_STATE_WRITES = re.compile(r"/threads/[^/]+/state")
"""Path at which LangGraph lets clients write a thread's state."""
_REFUSED_STATE = (
    "Clients cannot write the state of a thread or of one of its branches: send a message as the "
    "input of a run, or "
    'steer an active run with the command {"update": {"messages": [...]}}.'
)

_TOO_MANY = "Too many requests are waiting: wait for their answers before you send more."

_streams = Counter[str | None]()
"""Number of open packet streams by user."""


class Guard:
    """ASGI middleware that passes on only requests by known users, within the limits, to served
    paths."""

    def __init__(self, app: ASGIApp, *, keeps_files: bool = True, pace: Pace | None = None) -> None:
        """`keeps_files`: pass files on in the body; otherwise `put_files_back` has to be called
        when a run is authorized. `pace`: that of the requests of each user."""
        self._app = app
        self._keeps_files = keeps_files
        self._pace = pace or Pace()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it with the reason."""
        # LangGraph's internal calls; external requests cannot have this root path.
        is_internal = scope.get("root_path", "").startswith("/noauth")
        if scope["type"] not in ("http", "websocket") or is_internal:
            return await self._app(scope, receive, send)
        headers = Headers(scope=scope)
        is_read = scope["type"] == "http" and scope["method"] in ("GET", "HEAD")
        is_page = is_read and _PAGE.fullmatch(scope["path"]) is not None
        client, *_ = scope.get("client") or ("",)
        user = user_of(headers, client)
        refused = _refused(scope, headers, user, is_public=is_page or scope["path"] in _PUBLIC)
        if refused is None and is_page:
            return await serve_page(scope, receive, send)
        if refused is not None:
            return await _refuse(scope, receive, send, *refused)
        with ExitStack() as to_answer, ExitStack() as to_end:
            until_answered.set(to_answer)
            is_state = user == LOCAL_USER and _is_state_write(scope)
            # Files and reports are stored or read before the response begins.
            reader = BodyReader(
                scope, user, to_answer, is_state=is_state, keeps_files=self._keeps_files
            )
            if scope["type"] == "websocket":
                return await self._app(scope, _checked(reader, receive, send, to_answer), send)
            messages = list[Message]()
            if scope["method"] in ("POST", "PUT", "PATCH", "DELETE"):
                if not await self._pace.keep(user or ""):
                    return await _refuse(scope, receive, send, 429, _TOO_MANY)
                try:
                    data = await reader.read(receive)
                    _check_kind(headers, data)
                    data, sent = await reader.parse(data)
                    _check_sent(scope, sent, user)
                except BodyRefused as error:
                    return await _refuse(scope, receive, send, error.status, str(error))
                messages.append({"type": "http.request", "body": data, "more_body": False})
                # They may be large, and the request may last.
                del data, sent

            async def replay() -> Message:
                """Return the body that was read, then what the connection receives after it."""
                if messages:
                    return messages.pop()
                return await receive()

            async def answer(message: Message) -> None:
                to_answer.close()
                await send(message)

            if _STREAM.fullmatch(scope["path"]):
                _streams[user] += 1
                to_end.callback(_streams.subtract, [user])
            return await self._app(scope, replay, answer)


async def _refuse(scope: Scope, receive: Receive, send: Send, status: int, reason: str) -> None:
    if scope["type"] == "websocket":
        return await send({"type": "websocket.close", "code": 1008, "reason": reason[:120]})
    response = JSONResponse({"detail": reason}, status)
    if status == 429:
        response.headers["Retry-After"] = str(BEGIN_SECONDS)
    return await response(scope, receive, send)


def _checked(reader: BodyReader, receive: Receive, send: Send, to_answer: ExitStack) -> Receive:
    """Return a `receive` of a web socket that closes it after a message beyond the limits."""

    async def checked() -> Message:
        # The message before has been answered.
        to_answer.close()
        message = await receive()
        text = message.get("text") or (message.get("bytes") or b"").decode(errors="replace")
        if message["type"] != "websocket.receive":
            return message
        try:
            body = await reader.parse(text.encode())
        except BodyRefused as error:
            await send({"type": "websocket.close", "code": 1009, "reason": str(error)[:120]})
            return {"type": "websocket.disconnect", "code": 1009}
        return {"type": "websocket.receive", "text": body.data.decode()}

    return checked


def _refused(
    scope: Scope, headers: Headers, user: str | None, *, is_public: bool
) -> tuple[int, str] | None:
    """Return status and reason if the path or headers of a request are refused, else None."""
    head_bytes = len(scope["query_string"])
    for name, value in headers.raw:
        head_bytes += len(name) + len(value)
    if head_bytes > HEAD_BYTES:
        return 431, f"The head of the request is longer than {HEAD_BYTES} bytes."
    settings = server_settings()
    host = headers.get("host", "")
    host_name = urlsplit(f"//{host}").hostname or ""
    is_known_host = host_name in LOOPBACK or host_name in settings.hosts or host in settings.hosts
    if not is_known_host:
        return (
            421,
            f"The host {host!r} is not allowed; the operator can allow it with "
            "DEEP_RESEARCH_SERVER_HOSTS.",
        )
    origin = headers.get("origin")
    if origin is not None and origin not in allowed_origins(host):
        return 403, f"Pages of {origin!r} may not use this server; {_ALLOW_ORIGIN}"
    if is_public:
        return None
    if not _SERVED.fullmatch(scope["path"]):
        return 404, "Nothing is served here."
    if user is None and not is_from_allowed_page(headers):
        return 403, f"Pages of other sites may not use this server; {_ALLOW_ORIGIN}"
    if user is None:
        return (
            401,
            "A token is needed, as `Authorization: Bearer TOKEN` or `X-Api-Key: TOKEN`; see "
            "docs/guides/server.md.",
        )
    if _STREAM.fullmatch(scope["path"]) and (
        _streams[user] >= _USER_STREAMS or _streams.total() >= _STREAMS
    ):
        return (
            429,
            f"Too many open streams: {_USER_STREAMS} per user and {_STREAMS} in total are allowed; "
            "close one.",
        )
    return None


def _check_kind(headers: Headers, data: bytes) -> None:
    """Refuse a body of another type than JSON if a page without a token sends it."""
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    # Without a preflight, browsers let pages of other sites send bodies of other types.
    is_of_page = "origin" in headers or "sec-fetch-site" in headers
    if data and kind != "application/json" and is_of_page and user_of_token(headers) is None:
        raise BodyRefused(415, "The request body must be JSON (`Content-Type: application/json`).")


def _check_sent(scope: Scope, sent: Any, user: str | None) -> None:
    """Refuse webhooks that are not allowed, and writes of state by others than the local user."""
    given = sent if isinstance(sent, dict) else {}
    # Checked here because LangGraph resolves the host name before it calls `auth`.
    webhook = given.get("webhook")
    if isinstance(webhook, str):
        words = refused_webhook(webhook)
        if words:
            raise BodyRefused(422, words)
    checkpoint = given.get("checkpoint")
    is_of_branch = isinstance(checkpoint, dict) and checkpoint.get("checkpoint_ns")
    if _is_state_write(scope) and (user != LOCAL_USER or is_of_branch):
        raise BodyRefused(403, _REFUSED_STATE)
    if scope["path"].rstrip("/") == "/threads" and given.get("supersteps") is not None:
        raise BodyRefused(403, _REFUSED_STATE)


def _is_state_write(scope: Scope) -> bool:
    return _STATE_WRITES.fullmatch(scope["path"].rstrip("/")) is not None


async def _greet(address: SplitResult, token: str) -> None:
    """Print where to open the server once it is listening; `token` is empty if it needs none or
    users have their own.

    Without a port, as behind a tunnel, only the token is printed.
    """
    while address.port:
        try:
            _, writer = await asyncio.open_connection(address.hostname, address.port)
        except OSError:
            await asyncio.sleep(_LISTENING_SECONDS)
            continue
        writer.close()
        break
    url = address.geturl()
    lines = list[str]()
    if token:
        lines.append(f"Token of this server, for clients on this machine: {token}")
    if address.port and token:
        lines.append(f"Web page: {url}/#token={token}")
    elif address.port:
        lines.append(f"Deep Research: open {url}/ or {STUDIO}/studio/?baseUrl={url}")
    if lines:
        words = "\n".join(lines)
        sys.stderr.write(f"\n{words}\n\n")
        sys.stderr.flush()


class AllowedOrigins(CORSMiddleware):
    """CORS middleware for the allowed origins, which are read when the server starts."""

    def __init__(self, app: ASGIApp) -> None:
        super().__init__(
            app,
            allow_origins=allowed_origins(),
            allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
            allow_headers=["*"],
            allow_private_network=True,
            expose_headers=["content-location", "x-pagination-total", "x-pagination-next"],
        )

    def preflight_response(self, request_headers: Headers) -> Response:
        """Answer a preflight; a refused origin gets no access to the private network either."""
        response = super().preflight_response(request_headers)
        if response.status_code != 200:
            del response.headers["Access-Control-Allow-Private-Network"]
        return response


@asynccontextmanager
async def _lifespan(_: Starlette) -> AsyncIterator[None]:
    shorten_log()
    # LangGraph writes questions and reports to `.langgraph_api`; only this user may read them.
    os.umask(0o077)
    await asyncio.to_thread(limit_connections)
    await limit_webhooks()
    tokens = {user: token for token, user in (await asyncio.to_thread(users)).items()}
    token = "" if is_open() else tokens.get(LOCAL_USER, "")
    greeting = asyncio.create_task(_greet(urlsplit(local_address()), token))
    # MCP's sessions end first, since they use the stored runs.
    async with opened_book(), SESSIONS.serving():
        yield
    greeting.cancel()


async def _answer_mistake(_: Request, error: Exception) -> Response:
    status = 409 if isinstance(error, ThreadBusy) else 422
    return JSONResponse({"detail": str(error)}, status_code=status)


app = Starlette(
    exception_handlers={UserMistake: _answer_mistake, ThreadBusy: _answer_mistake},
    routes=[*ROUTES, Route(SESSIONS.path, SESSIONS)],
    lifespan=_lifespan,
    middleware=[Middleware(AllowedOrigins), Middleware(Guard, keeps_files=False)],
)
"""LangGraph adds its own routes to this app, behind the middleware."""

"""What stands before the server's routes: who asks, from where, and how much."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import reduce
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

from ...core.run.errors import ThreadBusy, UserMistake
from ...core.run.store.pages import LOCAL_USER
from ..mcp.http import PATH, SESSIONS
from .connections import HEAD_BYTES, limit_heads
from .page import serve_page
from .routes import BEGIN_SECONDS, ROUTES, opened_book
from .users import (
    ADDRESS,
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

LISTENING_SECONDS = 0.05
"""Seconds between two looks whether the server listens."""
BODY_SECONDS = 60
"""Time to send the body of a request."""
STREAM = re.compile(r"/research/runs/[^/]+/packets")
USER_STREAMS, STREAMS = 20, 200
"""Streams of packets at the same time, of one user and of all."""
PUBLIC = frozenset({"/ok"})
"""Paths that need no token."""
PAGE = re.compile(r"/|/page/[a-z_]+\.(?:js|css|svg)")
"""Paths of the page, which needs none either: it holds nothing of anybody's."""
SERVED = re.compile(r"/(?:ok|info|docs|mcp|openapi\.json|(?:assistants|threads|runs|research)(?:/.*)?)")
"""Paths that are served at all: the server's others deploy, measure, reset or serve other protocols."""
ALLOW_ORIGIN = "its operator can allow them: DEEP_RESEARCH_SERVER_ORIGINS."
STATE_WRITES = re.compile(r"/threads/[^/]+/state")
REFUSED_STATE = (
    "The state of a thread, or of a branch in it, is not written from outside here: send a message as the input of a "
    'run, or steer a run under way by the command {"update": {"messages": [...]}}.'
)

_streams = Counter[str | None]()
"""Streams of packets that are open, by user."""


class Guard:
    """Refuses requests that no client of ours makes; what it lets through comes from a user."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it with the reason."""
        # The server's own calls come by a path that no request can have.
        if scope["type"] not in ("http", "websocket") or scope.get("root_path", "").startswith("/noauth"):
            return await self._app(scope, receive, send)
        headers = Headers(scope=scope)
        is_read = scope["type"] == "http" and scope["method"] in ("GET", "HEAD")
        is_page = is_read and PAGE.fullmatch(scope["path"]) is not None
        user = user_of(headers, (scope.get("client") or ("",))[0])
        refused = _refused(scope, headers, user, is_public=is_page or scope["path"] in PUBLIC)
        if refused is None and is_page:
            return await serve_page(scope, receive, send)
        if refused is None and scope["type"] == "http" and scope["method"] in ("POST", "PUT", "PATCH", "DELETE"):
            body = None
            with suppress(TimeoutError):
                async with asyncio.timeout(BODY_SECONDS):
                    body = await _body(receive)
            refused = _refused_body(scope, headers, body, user)
            receive = _once(body or b"", receive)
        if refused is None:
            streams = int(bool(STREAM.fullmatch(scope["path"])))
            _streams[user] += streams
            try:
                return await self._app(scope, receive, send)
            finally:
                _streams[user] -= streams
        if scope["type"] == "websocket":
            return await send({"type": "websocket.close", "code": 1008, "reason": refused[1][:120]})
        wait = {"Retry-After": str(BEGIN_SECONDS)} if refused[0] == 429 else None
        return await JSONResponse({"detail": refused[1]}, refused[0], wait)(scope, receive, send)


def _refused(scope: Scope, headers: Headers, user: str | None, *, is_public: bool) -> tuple[int, str] | None:
    """Return status and reason if a request is refused for its head; else none."""
    if sum(len(name) + len(value) for name, value in headers.raw) + len(scope["query_string"]) > HEAD_BYTES:
        return 431, f"The head of the request is longer than {HEAD_BYTES} bytes."
    settings, host, origin = server_settings(), headers.get("host", ""), headers.get("origin")
    name = urlsplit(f"//{host}").hostname or ""
    if name not in LOOPBACK and name not in settings.hosts and host not in settings.hosts:
        return 421, f"The server is not reached as {host!r}; its operator can allow it: DEEP_RESEARCH_SERVER_HOSTS."
    if origin is not None and origin not in allowed_origins(host):
        return 403, f"Pages of {origin!r} may not use this server; {ALLOW_ORIGIN}"
    if is_public:
        return None
    if not SERVED.fullmatch(scope["path"]):
        return 404, "Nothing is served here."
    if user is None and not is_from_allowed_page(headers):
        return 403, f"Pages of other sites may not use this server; {ALLOW_ORIGIN}"
    if user is None:
        return 401, "A token is needed, as `Authorization: Bearer TOKEN` or `X-Api-Key: TOKEN`; see docs/server.md."
    if STREAM.fullmatch(scope["path"]) and (_streams[user] >= USER_STREAMS or _streams.total() >= STREAMS):
        return 429, f"Too many streams are open: {USER_STREAMS} of a user and {STREAMS} in all are allowed; close one."
    return None


def _refused_body(scope: Scope, headers: Headers, body: bytes | None, user: str | None) -> tuple[int, str] | None:
    if body is None:
        longest = f"{server_settings().body_bytes} bytes (DEEP_RESEARCH_SERVER_BODY_BYTES)"
        return 413, f"The request is longer than {longest}, or did not arrive within {BODY_SECONDS} s."
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    # A page may send a body of another type without asking the browser for leave.
    is_of_page = "origin" in headers or "sec-fetch-site" in headers
    if body and kind != "application/json" and is_of_page and user_of_token(headers) is None:
        return 415, "The body of a request is JSON (`Content-Type: application/json`)."
    # LangGraph looks the host up before it asks whether the run is allowed.
    if isinstance(webhook := _read(body, "webhook"), str) and (words := refused_webhook(webhook)):
        return 422, words
    path = scope["path"].rstrip("/")
    if STATE_WRITES.fullmatch(path) and (user != LOCAL_USER or _read(body, "checkpoint", "checkpoint_ns")):
        return 403, REFUSED_STATE
    if path == "/threads" and _read(body, "supersteps") is not None:
        return 403, REFUSED_STATE
    return None


def _read(body: bytes, *keys: str) -> Any:
    try:
        return reduce(lambda value, key: value.get(key), keys, json.loads(body))
    except (ValueError, AttributeError):
        # The server says what is wrong with it.
        return None
    except RecursionError:
        # The server's own parser goes deeper.
        return body


async def _body(receive: Receive) -> bytes | None:
    """Return the body of a request; none if it is too long."""
    parts, length, most = list[bytes](), 0, server_settings().body_bytes
    while True:
        message = await receive()
        part = message.get("body", b"")
        length += len(part)
        if length > most:
            return None
        parts.append(part)
        if message["type"] != "http.request" or not message.get("more_body"):
            return b"".join(parts)


def _once(body: bytes, receive: Receive) -> Receive:
    """Return what receives the body in one piece, and then what the connection sends."""
    is_sent = False

    async def replay() -> Message:
        nonlocal is_sent
        if is_sent:
            return await receive()
        is_sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


@asynccontextmanager
async def _starting(page: str) -> AsyncIterator[None]:
    """Begin a server: print where it is used, and the token if one is needed; what it writes is its user's alone."""
    # LangGraph keeps questions and reports in `.langgraph_api` as well, under the rights that the process gives.
    os.umask(0o077)
    await asyncio.to_thread(limit_heads)
    made = [token for token, user in (await asyncio.to_thread(users)).items() if user == LOCAL_USER]
    tokens = [] if is_open() else made
    greeting = asyncio.create_task(_greet(urlsplit(page), tokens))
    yield
    greeting.cancel()


async def _greet(place: SplitResult, tokens: list[str]) -> None:
    """Print addresses and token once the server listens: before, a browser would be refused."""
    while place.port:
        try:
            _, writer = await asyncio.open_connection(place.hostname, place.port)
        except OSError:
            await asyncio.sleep(LISTENING_SECONDS)
            continue
        writer.close()
        break
    url = place.geturl()
    lines = [f"Deep Research: open {url}/ or {STUDIO}/studio/?baseUrl={url}"] if place.port else []
    for token in tokens:
        where = f"\nIts page: {url}/#token={token}" if place.port else ""
        lines = [f"Token of this server, for clients on this machine: {token}{where}"]
    sys.stderr.write("".join(f"\n{line}\n\n" for line in lines))
    sys.stderr.flush()


class AllowedOrigins(CORSMiddleware):
    """Lets pages of the allowed origins ask; their names are read when the server starts."""

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
        """Answer a preflight; pages of other origins are not let into the private network either."""
        response = super().preflight_response(request_headers)
        if response.status_code != 200:
            del response.headers["Access-Control-Allow-Private-Network"]
        return response


class WithoutTraceback(logging.Filter):
    """Lets LangGraph's log name an error that is the user's to mend in a line; others keep their traceback."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Take the traceback out of what is logged of an error of ours."""
        logged = record.msg
        if isinstance(logged, dict) and f"<class '{UserMistake.__module__}." in str(logged.get("event")):
            logged.pop("exception", None)
        return True


@asynccontextmanager
async def _lifespan(app: Starlette) -> AsyncIterator[None]:
    logging.getLogger("langgraph_api.worker").addFilter(WithoutTraceback())
    logging.getLogger("deep_research").setLevel(logging.WARNING)
    # Its lines hold the addresses of requests: queries, and OpenAlex's key.
    logging.getLogger("httpx").setLevel(logging.WARNING)
    async with _starting(os.environ.get(ADDRESS, "")), SESSIONS.serving(), opened_book(app):
        yield


async def _answer_mistake(_: Request, error: Exception) -> Response:
    return JSONResponse({"detail": str(error)}, status_code=409 if isinstance(error, ThreadBusy) else 422)


app = Starlette(
    exception_handlers={UserMistake: _answer_mistake, ThreadBusy: _answer_mistake},
    routes=[*ROUTES, Route(PATH, SESSIONS)],
    lifespan=_lifespan,
    middleware=[Middleware(AllowedOrigins), Middleware(Guard)],
)
"""The server's routes are put into this app by LangGraph, behind its middleware."""

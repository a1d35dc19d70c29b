"""What stands before the server's routes: who asks, from where, and how much."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import SplitResult, urlsplit

from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ...core.run.errors import UserMistake
from ..mcp.http import PATH, SESSIONS, served
from .page import serve_page
from .routes import ROUTES, opened_book
from .users import LOCAL_USER, LOOPBACK, server_settings, token_in, user_of, users

LISTENING_SECONDS = 0.05
"""Seconds between two looks whether the server listens."""
BODY_BYTES = 16 * 1024**2
"""Size of a request's body: a question with a photo or a PDF that a chat client attaches."""
PUBLIC = frozenset({"/ok"})
"""Paths that need no token."""
PAGE = re.compile(r"/|/page/[a-z_]+\.(?:js|css|svg)")
"""Paths of the page, which needs none either: it holds nothing of anybody's."""
SERVED = re.compile(r"/(?:ok|info|docs|mcp|openapi\.json|(?:assistants|threads|runs|research)(?:/.*)?)")
"""Paths that are served at all: the server's others deploy, measure, reset or serve other protocols."""
STATE_WRITES = re.compile(r"/threads/[^/]+/state")
REFUSED_STATE = (
    "The state of a thread is not written from outside: send a message as the input of a run, or steer a run under "
    'way by the command {"update": {"messages": [...]}}.'
)


class Guard:
    """Refuses requests that no client of ours makes; what it lets through has a user's token."""

    def __init__(self, app: ASGIApp, page: ASGIApp | None = None) -> None:
        """`page` answers requests for the files of the page, which need no token."""
        self._app, self._page = app, page

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it with the reason."""
        # The server's own calls come by a path that no request can have.
        if scope["type"] not in ("http", "websocket") or scope.get("root_path", "").startswith("/noauth"):
            return await self._app(scope, receive, send)
        headers = Headers(scope=scope)
        page = self._page if _is_of_page(scope) else None
        refused = _refused(scope, headers, is_public=page is not None or scope["path"] in PUBLIC)
        if refused is None and page:
            return await page(scope, receive, send)
        if refused is None and scope["type"] == "http" and scope["method"] in ("POST", "PUT", "PATCH", "DELETE"):
            body = await _body(receive)
            refused = _refused_body(scope, headers, body)
            receive = _once(body or b"", receive)
        if refused is None:
            return await self._app(scope, receive, send)
        if scope["type"] == "websocket":
            return await send({"type": "websocket.close", "code": 1008, "reason": refused[1][:120]})
        return await JSONResponse({"detail": refused[1]}, status_code=refused[0])(scope, receive, send)


def _refused(scope: Scope, headers: Headers, *, is_public: bool) -> tuple[int, str] | None:
    """Return status and reason if a request is refused for its head; else none."""
    settings, host, origin = server_settings(), headers.get("host", ""), headers.get("origin")
    name = urlsplit(f"//{host}").hostname or ""
    if name not in LOOPBACK and name not in settings.hosts and host not in settings.hosts:
        return 421, f"The server is not reached as {host!r}; its operator can allow it: DEEP_RESEARCH_SERVER_HOSTS."
    is_own = origin is not None and urlsplit(origin).netloc == host
    if origin is not None and not is_own and origin not in settings.origins:
        return (
            403,
            f"Pages of {origin!r} may not use this server; its operator can allow it: DEEP_RESEARCH_SERVER_ORIGINS.",
        )
    if is_public:
        return None
    if not SERVED.fullmatch(scope["path"]):
        return 404, "Nothing is served here."
    client = scope.get("client") or ("",)
    if user_of(token_in(dict(headers)), client[0]) is None:
        return (
            401,
            "A token is needed, as `Authorization: Bearer TOKEN` or `X-Api-Key: TOKEN`; see docs/server.md.",
        )
    return None


def _is_of_page(scope: Scope) -> bool:
    return scope["type"] == "http" and scope["method"] in ("GET", "HEAD") and bool(PAGE.fullmatch(scope["path"]))


def _refused_body(scope: Scope, headers: Headers, body: bytes | None) -> tuple[int, str] | None:
    if body is None:
        return 413, f"The request is longer than {BODY_BYTES} bytes."
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if body and kind != "application/json":
        return 415, "The body of a request is JSON (`Content-Type: application/json`)."
    path, method = scope["path"].rstrip("/"), scope["method"]
    if method != "GET" and STATE_WRITES.fullmatch(path):
        return 403, REFUSED_STATE
    if path == "/threads" and _names(body, "supersteps"):
        return 403, REFUSED_STATE
    return None


def _names(body: bytes, key: str) -> bool:
    try:
        return key in json.loads(body)
    except (ValueError, TypeError, RecursionError):
        # The server says what is wrong with it.
        return False


async def _body(receive: Receive) -> bytes | None:
    """Return the body of a request; none if it is too long."""
    parts, length = list[bytes](), 0
    while True:
        message = await receive()
        part = message.get("body", b"")
        length += len(part)
        if length > BODY_BYTES:
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
async def starting(page: str = "") -> AsyncIterator[None]:
    """Begin a server: print the token if it has made one, and where its page is; what it writes is its user's alone."""
    # LangGraph keeps questions and reports in `.langgraph_api` as well, under the rights that the process gives.
    os.umask(0o077)
    tokens = [token for token, user in (await asyncio.to_thread(users)).items() if user == LOCAL_USER]
    greeting = asyncio.create_task(_greet(urlsplit(page), tokens))
    yield
    greeting.cancel()


async def _greet(place: SplitResult, tokens: list[str]) -> None:
    """Print token and address once the server listens: before, a browser would be refused."""
    while place.port:
        try:
            _, writer = await asyncio.open_connection(place.hostname, place.port)
        except OSError:
            await asyncio.sleep(LISTENING_SECONDS)
            continue
        writer.close()
        break
    for token in tokens:
        where = f"\nIts page: {place.geturl()}/#token={token}" if place.port else ""
        sys.stderr.write(f"\nToken of this server, for clients on this machine: {token}{where}\n\n")
        sys.stderr.flush()


class AllowedOrigins(CORSMiddleware):
    """Lets pages of the allowed origins ask; their names are read when the server starts."""

    def __init__(self, app: ASGIApp) -> None:
        super().__init__(
            app,
            allow_origins=server_settings().origins,
            allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
            allow_headers=["*"],
            expose_headers=["content-location", "x-pagination-total", "x-pagination-next"],
        )


MIDDLEWARE = (Middleware(AllowedOrigins), Middleware(Guard))


class WithoutTraceback(logging.Filter):
    """Lets LangGraph's log name an error that is the user's to mend in a line; others keep their traceback."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Take the traceback out of what is logged of an error of ours."""
        told = record.msg
        if isinstance(told, dict) and f"<class '{UserMistake.__module__}." in str(told.get("event")):
            told.pop("exception", None)
        return True


@asynccontextmanager
async def _lifespan(app: Starlette) -> AsyncIterator[None]:
    logging.getLogger("langgraph_api.worker").addFilter(WithoutTraceback())
    async with starting(os.environ.get("LANGGRAPH_API_URL", "")), served(), opened_book(app):
        yield


app = Starlette(
    routes=[*ROUTES, Route(PATH, SESSIONS)],
    lifespan=_lifespan,
    middleware=[Middleware(AllowedOrigins), Middleware(Guard, page=serve_page)],
)
"""The server's routes are put into this app by LangGraph, behind its middleware."""

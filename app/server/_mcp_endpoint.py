"""MCP over HTTP: the endpoint `/mcp`, and access to a user's runs on LangGraph's server."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple

import httpx
from langgraph.types import Command
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.errors import APIError
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

from ...core.dialogue.conversation import check_question
from ...core.errors import RunFailed, UserMistake, how_to_install
from ...core.records.research import Strategy
from ...core.settings.context import Context
from ...core.settings.server_settings import SharedDocuments, UserSettings
from ..check_file import CheckedFile
from ..runs import RunBook, StoredRun
from ..stream import read_packet
from ..words import GRAPHS, default_strategy
from ._connections import is_stopping
from ._routes import checks_of
from .auth import opened_books
from .users import token_in, user_of

if TYPE_CHECKING:
    from ..mcp_server import CallProgress, ResearchServer


class Sessions:
    """The ASGI app at `/mcp`; a session belongs to the user who started it."""

    path = "/mcp"

    def __init__(self) -> None:
        self._manager: Any = None

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """Serve MCP while this context is active, if the MCP package is installed."""
        # Imports and settings read files, which would block the event loop.
        server = await asyncio.to_thread(_server)
        if server is None:
            yield
            return
        # The SDK logs a traceback for each client that disconnects.
        logging.getLogger("mcp.server.streamable_http").setLevel(logging.CRITICAL)
        # Creates the session manager.
        server.streamable_http_app()
        self._manager = server.session_manager
        async with self._manager.run():
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request that has passed `Guard`."""
        if self._manager is None:
            words = f"MCP needs a package that is not installed: {how_to_install('mcp')}."
            await JSONResponse({"detail": words}, status_code=404)(scope, receive, send)
            return
        from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
        from mcp.server.auth.provider import AccessToken

        headers = Headers(scope=scope)
        client, *_ = scope.get("client") or ("",)
        user = user_of(headers, client) or ""
        owner = AuthenticatedUser(AccessToken(token=token_in(headers), client_id=user, scopes=[]))
        await self._manager.handle_request({**scope, "user": owner}, receive, send)


SESSIONS = Sessions()
"""The MCP sessions of this process."""


def _server() -> ResearchServer | None:
    if find_spec("mcp") is None:
        return None
    from ..mcp_server import ResearchServer

    return ResearchServer(
        lambda request: ServedRuns(request.user.username, request.user.access_token.token),
        UserSettings().operator,
    )


class ServedRuns(NamedTuple):
    """Implements `Runs` for a user of LangGraph's server, through its API, so that access rules and
    limits apply."""

    user: str
    token: str

    @property
    def settings(self) -> Context:
        """The operator's settings, with the caller's documents."""
        return UserSettings().context_of(self.user)

    @property
    def book(self) -> RunBook:
        """The user's stored runs, in the server's open database."""
        return opened_books[-1]._replace(user=self.user)

    async def begin(
        self,
        thread: str,
        question: str,
        strategy: Strategy | None,
        given: dict[str, Any],
        view: CallProgress,
    ) -> StoredRun:
        """See `Runs.begin`."""
        return await self._run(
            thread,
            strategy or default_strategy(),
            question,
            view,
            input=_said(question),
            context=given,
        )

    async def go_on(self, thread: str, words: str, view: CallProgress) -> StoredRun:
        """See `Runs.go_on`."""
        stored = await self.book.read(thread)
        context = self._context_of(stored)
        # Converts the message to arguments of LangGraph's API.
        message = stored.message(words)
        sent: dict[str, Any] = {"input": _said(words)}
        if message is None:
            sent = {"input": None}
        elif isinstance(message, Command) and message.resume:
            sent = {"command": {"resume": words}}
        elif isinstance(message, Command):
            sent = {"command": {"update": _said(words)}}
        stored = await self._run(thread, stored.strategy, words, view, context=context, **sent)
        if stored.table_request:
            thread = str(uuid.uuid4())
            return await self.begin(thread, stored.table_request, "table", context, view)
        return stored

    async def edit(self, thread: str, words: str, view: CallProgress) -> StoredRun:
        """See `Runs.edit`."""
        stored = await self.book.read(thread)
        # Refused here, the thread stays as it is.
        await asyncio.to_thread(stored.check_editable, self.settings)
        context = self._context_of(stored)
        sent = {**_said(words), "edit": True}
        return await self._run(thread, stored.strategy, words, view, context=context, input=sent)

    async def check(
        self, report: bytes, name: str, request: str, on_notice: Callable[[str], None]
    ) -> CheckedFile:
        """See `Runs.check`."""
        checks = checks_of(self.user)
        report_file = await checks.read(report, name)
        page = await checks.check(report_file, name, request, on_notice)
        return page.checked

    def _context_of(self, stored: StoredRun) -> dict[str, Any]:
        """Return the settings of the next run on a thread."""
        run = stored.state.run
        context = dict[str, Any]()
        if run.id:
            # It does not inherit the documents of the earlier question by itself.
            context["docs"] = SharedDocuments(self.settings.docs).names(run.scope.docs)
        return context

    async def _run(
        self, thread: str, strategy: Strategy, words: str, view: CallProgress, **sent: Any
    ) -> StoredRun:
        from langgraph_api.asgi_transport import ASGITransport
        from langgraph_api.server import app

        check_question(words, self.settings.limits.question_characters)
        view.begin()
        # Calls the server in this process, with the user's token.
        http = httpx.AsyncClient(
            transport=ASGITransport(app),
            base_url="http://localhost",
            headers={"x-api-key": self.token},
            timeout=httpx.Timeout(None),
        )
        runs = list[str]()
        async with LangGraphClient(http) as client:
            try:
                stream = client.runs.stream(
                    thread,
                    GRAPHS[strategy],
                    **sent,
                    stream_mode="custom",
                    stream_subgraphs=True,
                    if_not_exists="create",
                    multitask_strategy="reject",
                    durability="sync",
                    on_run_created=lambda run: runs.append(run["run_id"]),
                )
                # A run can be cancelled only after it has sent its first part.
                first = asyncio.ensure_future(anext(stream))
                await asyncio.shield(first)
                async for part in stream:
                    if part.event == "error":
                        raise RunFailed(str(part.data.get("message") or part.data.get("error")))
                    if part.event.partition("|")[0] == "custom":
                        view(read_packet(part.data))
            except APIError as error:
                raise UserMistake(error.message) from error
            except asyncio.CancelledError:
                await asyncio.gather(first, return_exceptions=True)
                # A run that the server's stop interrupts goes on when it starts again.
                for run in () if is_stopping() else runs:
                    await client.runs.cancel(thread, run, wait=True)
                raise
        return await self.book.read(thread)


def _said(words: str) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": words}]}

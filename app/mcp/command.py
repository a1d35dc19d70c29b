"""The command `mcp`: the MCP server over standard input and output, or over HTTP on this machine."""

from __future__ import annotations

import asyncio
import os
import socket
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ...core.run.context import Context
from ...core.run.errors import ExtraMissing, UnknownSetting, UserMistake
from ...core.run.user_settings import documents_below, with_whole_paths
from ..endings import reported, run_interruptibly
from ..runs import RunBook, StoredRun, check_not_empty, open_runs
from ..server.users import server_settings, too_many_runs
from ..settings import read_context, settings_from_options
from ..terminal import say
from ..words import DONE

if TYPE_CHECKING:
    from ..progress import PlainLines
    from .tools import Research


HOST, PORT = "127.0.0.1", 2025


class LocalRuns(NamedTuple):
    """Runs in this process, kept where the command line keeps its own."""

    book: RunBook
    given: Mapping[str, Any]
    """The settings that the operator has given."""
    settings: Context
    """All of them."""
    at_work: Counter[str]
    """Runs at work by user."""

    async def begin(self, thread: str, asked: Research, view: PlainLines) -> StoredRun:
        """Put a question to a new thread."""
        given = dict(self.given)
        if asked.documents is not None:
            given["docs"] = await asyncio.to_thread(documents_below, self.settings.docs, asked.documents)
        if asked.depth is not None:
            given["depth"] = asked.depth
        with self._counted():
            return await self.book.ask(thread, asked.question, given, view, asked.strategy)

    async def go_on(self, thread: str, words: str, view: PlainLines) -> StoredRun:
        """Put an answer, a follow-up or a hint to a thread, which goes on over its own documents."""
        await self.read(thread)
        given = {name: value for name, value in self.given.items() if name != "docs"}
        with self._counted():
            return await self.book.ask(thread, words, given, view)

    async def read(self, thread: str) -> StoredRun:
        """Return a stored run."""
        return await self.book.read(thread)

    @contextmanager
    def _counted(self) -> Iterator[None]:
        """Count a run; raises `UserMistake` beyond what one user of a server may have at once."""
        user = self.book.user
        if user and self.at_work[user] >= server_settings().user_runs:
            raise UserMistake(too_many_runs(user))
        self.at_work[user] += 1
        try:
            yield
        finally:
            self.at_work[user] -= 1


def serve_mcp(*, port: int | None, data_dir: Path | None, **options: Any) -> int:
    """Serve MCP at a port of this machine, or over standard input and output if there is none."""

    def work() -> int:
        given = settings_from_options(**options) | ({"data_dir": data_dir} if data_dir else {})
        settings = with_whole_paths(read_context(given))
        check_not_empty(settings.data_dir)
        try:
            import mcp.server  # noqa: F401
        except ImportError:
            raise ExtraMissing(
                'The MCP server needs a package that is not installed: pip install ".[mcp]" in the checkout of '
                "deep_research."
            ) from None
        run_interruptibly(_over_streams(given, settings) if port is None else _over_http(given, settings, port))
        return DONE

    return reported(work)


@asynccontextmanager
async def _local_runs(given: Mapping[str, Any], settings: Context) -> AsyncIterator[LocalRuns]:
    async with open_runs(settings.data_dir) as book:
        yield LocalRuns(book, given, settings, Counter())


async def _over_streams(given: Mapping[str, Any], settings: Context) -> None:
    import anyio
    from mcp.server.stdio import stdio_server

    from .tools import mcp_server

    # The streams are the protocol's alone: what else is printed here goes to standard error.
    sent, told = os.fdopen(os.dup(0), encoding="utf-8", errors="replace"), os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    async with _local_runs(given, settings) as runs:
        server = mcp_server(lambda _: runs, settings)
        async with stdio_server(anyio.wrap_file(sent), anyio.wrap_file(told)) as (received, answers):
            await server.run(received, answers, server.create_initialization_options())


async def _over_http(given: Mapping[str, Any], settings: Context, port: int) -> None:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.routing import Route

    from ..server.guard import MIDDLEWARE, starting
    from .http import PATH, Sessions, caller_of
    from .tools import mcp_server

    try:
        listening = socket.create_server((HOST, port))
    except OSError as error:
        raise UnknownSetting(f"--port {port}: the server cannot listen there ({error.strerror}).") from error
    sessions = Sessions()
    async with _local_runs(given, settings) as runs:

        def runs_of(request: Any) -> LocalRuns:
            user = caller_of(request.headers, request.client).user
            return runs._replace(book=runs.book._replace(user=user))

        @asynccontextmanager
        async def lifespan(_: Starlette) -> AsyncIterator[None]:
            async with starting(), sessions.serving(lambda: mcp_server(runs_of, settings)):
                say(f"MCP is served at http://{HOST}:{listening.getsockname()[1]}{PATH}")
                yield

        app = Starlette(routes=[Route(PATH, sessions)], lifespan=lifespan, middleware=MIDDLEWARE)
        config = uvicorn.Config(app, log_config=None, access_log=False, timeout_graceful_shutdown=1)
        await uvicorn.Server(config).serve(sockets=[listening])

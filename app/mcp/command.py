"""The command `mcp`: the MCP server over standard input and output, or over HTTP on this machine."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ...core.run.context import Context
from ...core.run.errors import ExtraMissing, UnknownSetting
from ...core.run.settings import read_context
from ...core.run.user_settings import documents_below, with_whole_paths
from ..endings import reported, run_interruptibly
from ..runs import RunBook, StoredRun, check_not_empty, open_runs
from ..settings import settings_from_options
from ..terminal import say
from ..words import DONE, Strategy

if TYPE_CHECKING:
    from ..progress import PlainLines


HOST, PORT = "127.0.0.1", 2025


class LocalRuns(NamedTuple):
    """Runs in this process, kept where the command line keeps its own."""

    book: RunBook
    given: Mapping[str, Any]
    """The operator's settings that were given as options."""
    settings: Context
    """All of the operator's settings."""

    async def begin(
        self, thread: str, question: str, strategy: Strategy | None, given: dict[str, Any], view: PlainLines
    ) -> StoredRun:
        """Put a question to a new thread."""
        if "docs" in given:
            given["docs"] = await asyncio.to_thread(documents_below, self.settings.docs, given["docs"])
        return await self.book.ask(thread, question, {**self.given, **given}, view, strategy)

    async def go_on(self, thread: str, words: str, view: PlainLines) -> StoredRun:
        """Put an answer, a follow-up or a hint to a thread, which goes on over its own documents."""
        await self.read(thread)
        given = {name: value for name, value in self.given.items() if name != "docs"}
        return await self.book.ask(thread, words, given, view)

    async def read(self, thread: str) -> StoredRun:
        """Return a stored run."""
        return await self.book.read(thread)


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


async def _over_streams(given: Mapping[str, Any], settings: Context) -> None:
    from .tools import ResearchServer

    async with open_runs(settings.data_dir) as book:
        runs = LocalRuns(book, given, settings)
        await ResearchServer(lambda _: runs, settings).run_stdio_async()


async def _over_http(given: Mapping[str, Any], settings: Context, port: int) -> None:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.routing import Route

    from ..server.guard import MIDDLEWARE, starting
    from .http import PATH, SESSIONS
    from .tools import ResearchServer

    try:
        listening = socket.create_server((HOST, port))
    except OSError as error:
        raise UnknownSetting(f"--port {port}: the server cannot listen there ({error.strerror}).") from error
    async with open_runs(settings.data_dir) as book:

        def runs_of(request: Any) -> LocalRuns:
            return LocalRuns(book._replace(user=request.user.username), given, settings)

        @asynccontextmanager
        async def lifespan(_: Starlette) -> AsyncIterator[None]:
            async with starting(), SESSIONS.serving(ResearchServer(runs_of, settings)):
                say(f"MCP is served at http://{HOST}:{listening.getsockname()[1]}{PATH}")
                yield

        app = Starlette(routes=[Route(PATH, SESSIONS)], lifespan=lifespan, middleware=MIDDLEWARE)
        config = uvicorn.Config(app, log_config=None, access_log=False, timeout_graceful_shutdown=1)
        await uvicorn.Server(config).serve(sockets=[listening])

"""The commands that serve other programs until they are stopped: `serve` and `mcp`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ..core.errors import ExtraMissing, how_to_install
from ..core.records.research import Strategy
from ..core.settings.context import Context
from ..core.settings.server_settings import SharedDocuments
from ._endings import run_interruptibly
from ._terminal import say
from .check_file import CheckedFile, check_file
from .runs import RunBook, StoredRun
from .words import DONE

if TYPE_CHECKING:
    from .mcp_server import CallProgress


def run_server(given: Mapping[str, Any], host: str, port: int | None) -> int:
    """Run LangGraph's server with the web page and the given settings."""
    from .server.serve import serve

    serve(given, host, port, say)
    return DONE


def run_mcp(given: Mapping[str, Any]) -> int:
    """Serve MCP over standard input and output until the caller closes them."""
    settings = Context.read(given).with_absolute_paths()
    try:
        import mcp.server  # noqa: F401
    except ImportError:
        raise ExtraMissing(
            f"The MCP server needs a package that is not installed: {how_to_install('mcp')}."
        ) from None

    async def serve() -> None:
        from .mcp_server import ResearchServer

        async with RunBook.open(settings.data_dir) as book:
            runs = LocalRuns(book, given, settings)
            await ResearchServer(lambda _: runs, settings).run_stdio_async()

    run_interruptibly(serve())
    return DONE


class LocalRuns(NamedTuple):
    """Implements `Runs`: runs are executed in this process and stored with those of the command
    line."""

    book: RunBook
    given: Mapping[str, Any]
    """Settings from the command-line options of the operator."""
    settings: Context
    """All of the operator's settings, with absolute document paths."""

    @property
    def _given_without_docs(self) -> dict[str, Any]:
        """The operator's options for a stored run, which searches the documents of its question."""
        return {name: value for name, value in self.given.items() if name != "docs"}

    async def begin(
        self,
        thread: str,
        question: str,
        strategy: Strategy | None,
        given: dict[str, Any],
        view: CallProgress,
    ) -> StoredRun:
        """See `Runs.begin`."""
        if "docs" in given:
            given["docs"] = await asyncio.to_thread(
                SharedDocuments(self.settings.docs).paths, given["docs"]
            )
        return await self.book.ask(thread, question, {**self.given, **given}, view, strategy)

    async def go_on(self, thread: str, words: str, view: CallProgress) -> StoredRun:
        """See `Runs.go_on`."""
        # An unknown thread must not be created.
        await self.book.read(thread)
        return await self.book.ask(thread, words, self._given_without_docs, view)

    async def edit(self, thread: str, words: str, view: CallProgress) -> StoredRun:
        """See `Runs.edit`."""
        return await self.book.edit(thread, words, self._given_without_docs, view)

    async def check(
        self, report: bytes, name: str, request: str, on_notice: Callable[[str], None]
    ) -> CheckedFile:
        """See `Runs.check`."""
        settings = self.settings.model_copy(update={"verify": "check"})
        return await check_file(report, name, settings, on_notice, request=request)

"""Runs as the command line sees them: started, resumed, listed, read."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from langchain_core.messages import HumanMessage
from langgraph.types import Command

from deep_research.app.embed import ResearchGraph, build_graph, read_context, thread_config
from deep_research.run.checkpoints import FILE_NAME, Database, open_database
from deep_research.run.context import Context
from deep_research.run.errors import UnknownThread
from deep_research.run.pages import page_namespace
from deep_research.state import ResearchState

SETTINGS = "settings"
"""Key in the store under which a thread's settings are kept, so that it can be resumed without naming them again."""

OnPacket = Callable[[dict[str, Any]], None]


class Ended(NamedTuple):
    """How a run ended, for now."""

    state: ResearchState
    question: str
    """What the run asks the user; empty if it is not waiting."""


class RunBook(NamedTuple):
    """The runs of a data folder."""

    graph: ResearchGraph
    database: Database

    async def ask(self, thread: str, question: str, context: Context, on_packet: OnPacket) -> Ended:
        """Put a question, a follow-up or an answer to a thread."""
        await self._remember(thread, context)
        return await self._run(thread, {"messages": [HumanMessage(question)]}, context, on_packet)

    async def resume(self, thread: str, answer: str, context: Context, on_packet: OnPacket) -> Ended:
        """Go on with a run that was stopped, or answer one that waits; a finished one is only read."""
        ended = await self.read(thread)
        if ended.question and not answer:
            return ended
        go_on: Command[Any] | None = Command(resume=answer) if ended.question else None
        if go_on is None and not await self.is_unfinished(thread):
            return ended
        return await self._run(thread, go_on, context, on_packet)

    async def read(self, thread: str) -> Ended:
        """Where a thread stands; raises `UnknownThread` if there is none of this name."""
        snapshot = await self.graph.aget_state(thread_config(thread))
        if not snapshot.values:
            raise UnknownThread(f"There is no run {thread!r}; `deep-research runs` lists all.")
        waiting = snapshot.interrupts[0].value if snapshot.interrupts else {}
        return Ended(ResearchState(**snapshot.values), str(waiting.get("question") or waiting.get("plan") or ""))

    async def is_unfinished(self, thread: str) -> bool:
        """Whether something of the run is still to be done."""
        return bool((await self.graph.aget_state(thread_config(thread))).next)

    async def settings(self, thread: str) -> Context:
        """The settings that the thread was last started with."""
        item = await self.database.store.aget(self._place(thread), SETTINGS)
        return read_context(json.loads(item.value["json"])) if item else Context()

    async def names(self) -> list[str]:
        """Ids of all threads, the latest first."""
        return await self.database.saver.thread_ids()

    async def _run(self, thread: str, message: Any, context: Context, on_packet: OnPacket) -> Ended:
        stream = self.graph.astream(
            message, thread_config(thread), context=context, stream_mode="custom", subgraphs=True, version="v2"
        )
        async for part in stream:
            on_packet(part["data"])
        return await self.read(thread)

    async def _remember(self, thread: str, context: Context) -> None:
        settings = context.model_dump_json(exclude_defaults=True, exclude={"data_dir"})
        await self.database.store.aput(self._place(thread), SETTINGS, {"json": settings}, index=False)

    @staticmethod
    def _place(thread: str) -> tuple[str, str]:
        return page_namespace(thread_config(thread)["configurable"]["thread_id"])


@asynccontextmanager
async def open_runs(context: Context) -> AsyncIterator[RunBook]:
    """The runs of the data folder."""
    async with open_database(context.data_dir / FILE_NAME) as database:
        yield RunBook(build_graph(checkpointer=database.saver, store=database.store), database)

"""What `langgraph.json` names: the graph without a saver, and our saver and store."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from deep_research.app.embed import RECURSION_LIMIT
from deep_research.graph.orchestrated import build_orchestrated_graph
from deep_research.run.checkpoints import FILE_NAME, open_database
from deep_research.run.context import Context
from deep_research.run.page_store import PageStore
from deep_research.run.saver import RunSaver

deep_research = (
    build_orchestrated_graph().compile(name="deep_research").with_config({"recursion_limit": RECURSION_LIMIT})
)


@asynccontextmanager
async def open_saver() -> AsyncIterator[RunSaver]:
    """The saver on the data folder's file."""
    async with open_database(Context().data_dir / FILE_NAME) as database:
        yield database.saver


@asynccontextmanager
async def open_store() -> AsyncIterator[PageStore]:
    """The store on the same file."""
    async with open_database(Context().data_dir / FILE_NAME) as database:
        yield database.store

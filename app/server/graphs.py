"""The graphs, saver and store to which `langgraph.json` refers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from functools import wraps
from typing import TYPE_CHECKING, Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.store.base import BaseStore

from ...core.concurrency import slot
from ...core.models.resolve import RoleModels
from ...core.settings.context import Context
from ...core.settings.installed import load_all
from ...core.settings.server_settings import UserSettings
from ...core.store.database import open_database
from ...core.store.location import RunsLocation
from ...core.store.pages import OWNER
from ...tools.run_engines import SearchEngines
from ..embed import LeasedGraph, compile_graph

_EXTRACTIVE_RUNS = 1
"""Number of a user's runs that work at the same time if the operator has set no language model. As
they never wait for a model, more of them would not be faster, and slow down those of others."""


class ServedGraph(LeasedGraph):
    """A graph of the server, which lets a user's runs wait for each other if they only compute."""

    async def _leased_stream(
        self, input: Any, config: RunnableConfig | None = None, **settings: Any
    ) -> AsyncGenerator[Any, None]:
        async with self._place_of(str(self._configurable(config).get(OWNER, ""))):
            async for part in super()._leased_stream(input, config, **settings):
                yield part

    if not TYPE_CHECKING:
        astream = wraps(LeasedGraph.astream)(_leased_stream)

    def _place_of(self, user: str) -> AbstractAsyncContextManager[None]:
        """Return what a run of the user holds while it works."""
        schema = self.context_schema or UserSettings
        if user and RoleModels(schema().operator).is_extractive("researcher"):
            return slot(f"runs without a model of {user}", _EXTRACTIVE_RUNS)
        return nullcontext()


load_all()
# LangGraph names its assistants after these graph names.
deep_research = ServedGraph.of(
    compile_graph("orchestrated"), context_schema=UserSettings, name="Deep research"
)
planned_research = ServedGraph.of(
    compile_graph("planned"), context_schema=UserSettings, name="Planned research"
)
table_research = ServedGraph.of(compile_graph("table"), context_schema=UserSettings, name="Table")


@asynccontextmanager
async def open_saver() -> AsyncIterator[BaseCheckpointSaver[str]]:
    """Open the saver for the file in the data folder, or for the database set in the
    environment."""
    # Resolves folders and imports engines now, since this would block the event loop during a run.
    await asyncio.to_thread(lambda: SearchEngines(UserSettings().operator).load())
    location = await asyncio.to_thread(RunsLocation.of, Context().data_dir)
    async with open_database(location) as database:
        yield database.saver


@asynccontextmanager
async def open_store() -> AsyncIterator[BaseStore]:
    """Open the store in the same database."""
    location = await asyncio.to_thread(RunsLocation.of, Context().data_dir)
    async with open_database(location) as database:
        yield database.store

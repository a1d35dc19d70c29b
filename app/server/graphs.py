"""The graphs, saver and store to which `langgraph.json` refers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.store.base import BaseStore

from ...core.settings.context import Context
from ...core.settings.installed import load_all
from ...core.settings.server_settings import UserSettings
from ...core.store.database import open_database
from ...core.store.location import RunsLocation
from ...tools.run_engines import load_engines
from ..embed import compile_graph

load_all()
# LangGraph names its assistants after these graph names.
deep_research = compile_graph("orchestrated").copy(
    {"context_schema": UserSettings, "name": "Deep research"}
)
planned_research = compile_graph("planned").copy(
    {"context_schema": UserSettings, "name": "Planned research"}
)


@asynccontextmanager
async def open_saver() -> AsyncIterator[BaseCheckpointSaver[str]]:
    """Open the saver for the file in the data folder, or for the database set in the
    environment."""
    # Resolves folders and imports engines now, since this would block the event loop during a run.
    await asyncio.to_thread(lambda: load_engines(UserSettings().operator))
    location = await asyncio.to_thread(RunsLocation.of, Context().data_dir)
    async with open_database(location) as database:
        yield database.saver


@asynccontextmanager
async def open_store() -> AsyncIterator[BaseStore]:
    """Open the store in the same database."""
    location = await asyncio.to_thread(RunsLocation.of, Context().data_dir)
    async with open_database(location) as database:
        yield database.store

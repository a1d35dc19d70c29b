"""What `langgraph.json` names: the graphs without a saver, and our saver and store."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from langgraph.store.base import BaseStore

from ...core.run.context import Context
from ...core.run.registered import load_all
from ...core.run.store.database import open_database, place_of_runs
from ...core.run.store.saver import RunSaver
from ...core.run.user_settings import UserSettings
from ...tools.run_engines import load_engines
from ..embed import compile_graph

load_all()
# The names are those of the assistants.
deep_research = compile_graph("orchestrated").copy({"context_schema": UserSettings, "name": "Deep research"})
planned_research = compile_graph("planned").copy({"context_schema": UserSettings, "name": "Planned research"})


@asynccontextmanager
async def open_saver() -> AsyncIterator[RunSaver]:
    """Open the saver on the data folder's file, or on the database that the operator names."""
    # Its folders are looked up and its engines imported here, once, since no run may block.
    await asyncio.to_thread(lambda: load_engines(UserSettings().operator))
    async with open_database(await asyncio.to_thread(place_of_runs, Context().data_dir)) as database:
        yield database.saver


@asynccontextmanager
async def open_store() -> AsyncIterator[BaseStore]:
    """Open the store in the same place."""
    async with open_database(await asyncio.to_thread(place_of_runs, Context().data_dir)) as database:
        yield database.store

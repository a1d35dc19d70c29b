"""A cancellation never leaves a transaction open, which would lock the file for all who come after."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Coroutine
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import empty_checkpoint

from deep_research.core.run.store.database import Database, open_database
from deep_research.core.run.store.pages import Pages
from deep_research.core.run.store.sqlite_store import PageStore

CONFIG: RunnableConfig = {"configurable": {"thread_id": "t", "checkpoint_ns": "", "checkpoint_id": "c"}}
Work = Callable[[Database], Coroutine[Any, Any, Any]]
WORK: dict[str, Work] = {
    "a note": lambda database: Pages(database.store, "t").note({"n": {"a": 1}}),
    "a text": lambda database: Pages(database.store, "t").keep("words"),
    "a checkpoint": lambda database: database.saver.aput(CONFIG, empty_checkpoint(), {}, {}),
    "writes": lambda database: database.saver.aput_writes(CONFIG, [("channel", 1)], "task"),
    "a copy": lambda database: database.saver.acopy_thread("t", "u"),
    "a deletion": lambda database: database.saver.adelete_thread("t"),
}


async def write_all(database: Database) -> None:
    """What a run that goes on would write, through both connections."""
    async with asyncio.timeout(60):
        await Pages(database.store, "t").note({"later": {"a": 1}})
        await database.saver.aput_writes(CONFIG, [("channel", 2)], "another task")
        await Pages(database.store, "t").note({"last": {"a": 1}})


@pytest.mark.fault(38)
@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
async def test_what_is_cancelled_while_it_writes_locks_nobody_out(tmp_path: Path, work: Work) -> None:
    """At each of its first steps."""
    async with open_database(tmp_path / "runs.sqlite") as database:
        for steps in range(16):
            task = asyncio.create_task(work(database))
            for _ in range(steps):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await write_all(database)


@pytest.mark.fault(38)
async def test_what_was_begun_when_the_file_is_closed_is_finished_first(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    async with asyncio.timeout(60), open_database(path) as database:
        assert isinstance(database.store, PageStore)
        with closing(sqlite3.connect(path, isolation_level=None)) as another:
            another.execute("BEGIN IMMEDIATE")
            task = asyncio.create_task(WORK["a note"](database))
            while not database.store.lock.locked():
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
    async with open_database(path) as again:
        assert await Pages(again.store, "t").read_note("n") == {"a": 1}
        await write_all(again)

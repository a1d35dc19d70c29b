"""The saver prunes and deletes threads, and shares its file with other processes."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Coroutine
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import pytest
from kit.runs import CLEAR, REPORT, Lab, lab, research
from kit.stored_runs import queried
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import empty_checkpoint

from deep_research.app.embed import build_graph, thread_config
from deep_research.core.errors import DatabaseUnusable, NotSaved, StopsTheRun
from deep_research.core.store._sqlite import PageStore
from deep_research.core.store.database import Database, open_database
from deep_research.core.store.location import RunsLocation, thread_id
from deep_research.core.store.pages import Pages


def rows(path: Path, table: str) -> int:
    return len(queried(path, f"SELECT 1 FROM {table}"))


def two_questions(tmp_path: Path, database: Database) -> Lab:
    graph = build_graph(checkpointer=database.saver, store=database.store)
    return lab(
        tmp_path,
        graph=graph,
        clarifier=[CLEAR, CLEAR],
        planner=["1. When", "1. How old"],
        orchestrator=[research("When was it lit?"), REPORT, REPORT, REPORT],
        writer=["Lit. [1]", "Lit again. [1]", "Old. [1]"],
        verify="off",
    )


async def fork(run: Lab) -> None:
    """Resume the run from before the orchestrator's last decision, so that the thread gets a second
    branch."""
    history = [state async for state in run.graph.aget_state_history(thread_config(run.thread))]
    earlier = next(state for state in history if state.next == ("orchestrate",))
    await run.graph.ainvoke(None, earlier.config, context=run.context)


@pytest.mark.fault("R23")
async def test_pruning_drops_dead_branches_and_keeps_the_latest_state_or_deletes_the_thread(
    tmp_path: Path,
) -> None:
    path = tmp_path / "runs.sqlite"
    async with open_database(RunsLocation(path)) as database:
        run = two_questions(tmp_path, database)
        await run.ask()
        await fork(run)
        before, checkpoints, writes = (
            await run.state(),
            rows(path, "checkpoints"),
            rows(path, "writes"),
        )
        await database.saver.aprune([thread_id(run.thread)])
        assert rows(path, "checkpoints") < checkpoints
        assert rows(path, "writes") < writes
        assert await run.state() == before
        state = await run.ask("How old is it then?")
        await database.saver.aprune([thread_id(run.thread)], strategy="delete")
        texts = f"store WHERE prefix LIKE '%{thread_id(run.thread)}%'"
        assert [rows(path, table) for table in ("checkpoints", "writes", texts)] == [0, 0, 0]
    assert state.report and state.report.text == "Old. [1]"
    assert before.findings.keys() <= state.findings.keys()


@pytest.mark.fault(38, logs="WARNING core.accounts.ledger")
async def test_a_run_with_a_locked_database_stops_and_can_be_resumed(tmp_path: Path) -> None:
    async with open_database(RunsLocation(tmp_path / "runs.sqlite")) as database:
        other = connected(tmp_path)
        await wait_for_others(database, 1000)

        async def lock_out(*_: Any) -> AIMessage:
            # Writes in progress need the event loop to finish.
            await asyncio.to_thread(other.execute, "BEGIN IMMEDIATE")
            await wait_for_others(database, 1)
            return REPORT

        graph = build_graph(checkpointer=database.saver, store=database.store)
        decisions = [research("When was it lit?"), lock_out, REPORT, REPORT]
        run = lab(tmp_path, graph=graph, orchestrator=decisions, writer=["Lit. [1]"] * 2)
        # The run ends before the costs of its last call are recorded.
        run.books = None
        with pytest.raises((NotSaved, DatabaseUnusable), match="database is locked"):
            await run.ask()
        other.execute("ROLLBACK")
        await wait_for_others(database, 1000)
        state = await run.ask(None)
        other.close()
    assert state.report and state.run and state.run.status.startswith("completed")
    assert len(run.calls("planner")) == 1


@pytest.mark.fault(37)
@pytest.mark.parametrize("namespace", ["", "researcher:1"])
async def test_a_failed_write_stops_the_run_and_leaves_the_database_unlocked(
    tmp_path: Path, namespace: str
) -> None:
    checkpoint = {"thread_id": "t", "checkpoint_ns": namespace, "checkpoint_id": "c"}
    async with open_database(RunsLocation(tmp_path / "runs.sqlite")) as database:
        other = connected(tmp_path)
        other.execute("BEGIN IMMEDIATE")
        await wait_for_others(database, 1)
        with pytest.raises(
            NotSaved, match=r"could not be saved: database is locked \(setting data_dir\)"
        ) as caught:
            await database.saver.aput_writes({"configurable": checkpoint}, [("channel", 1)], "task")
        assert isinstance(caught.value, StopsTheRun) == bool(namespace), (
            "else the error would only fail the branch"
        )
        other.execute("ROLLBACK")
        other.execute("BEGIN IMMEDIATE")
        other.close()


async def wait_for_others(database: Database, milliseconds: int) -> None:
    """Set how long the database's connections wait while another connection writes."""
    wait = f"PRAGMA busy_timeout = {milliseconds}"
    saver, store = cast(tuple[Any, Any], database)
    await saver.conn.execute(wait)
    store.conn.execute(wait)


def connected(folder: Path) -> sqlite3.Connection:
    """Another connection to the file of runs."""
    return sqlite3.connect(
        folder / "runs.sqlite", timeout=30, isolation_level=None, check_same_thread=False
    )


CONFIG: RunnableConfig = {
    "configurable": {"thread_id": "t", "checkpoint_ns": "", "checkpoint_id": "c"}
}
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
    """Write through both connections, as a run does."""
    async with asyncio.timeout(60):
        await Pages(database.store, "t").note({"later": {"a": 1}})
        await database.saver.aput_writes(CONFIG, [("channel", 2)], "another task")
        await Pages(database.store, "t").note({"last": {"a": 1}})


@pytest.mark.fault(38)
@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
async def test_a_cancelled_write_leaves_the_database_unlocked(tmp_path: Path, work: Work) -> None:
    """The write is cancelled at each of its first steps."""
    async with open_database(RunsLocation(tmp_path / "runs.sqlite")) as database:
        for steps in range(16):
            task = asyncio.create_task(work(database))
            for _ in range(steps):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await write_all(database)


@pytest.mark.fault(38)
async def test_closing_the_file_waits_for_running_writes(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    async with asyncio.timeout(60), open_database(RunsLocation(path)) as database:
        assert isinstance(database.store, PageStore)
        with closing(sqlite3.connect(path, isolation_level=None)) as another:
            another.execute("BEGIN IMMEDIATE")
            task = asyncio.create_task(WORK["a note"](database))
            while not database.store.lock.locked():
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
    async with open_database(RunsLocation(path)) as again:
        assert await Pages(again.store, "t").read_note("n") == {"a": 1}
        await write_all(again)

"""What a server asks of our saver: to prune threads, and to share the file with other processes."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import pytest
from lab import CLEAR, REPORT, Lab, lab, research
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig

from deep_research.app.embed import build_graph, thread_config, thread_id
from deep_research.core.run.errors import DatabaseUnusable, NotSaved, StopsTheRun
from deep_research.core.run.store.database import Database, open_database


def rows(path: Path, table: str) -> int:
    with closing(sqlite3.connect(path)) as connection:
        count: int = connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
        return count


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
    """Let the orchestrator decide once more after the research, on a branch of its own."""
    place: RunnableConfig = {"configurable": thread_config(run.thread)["configurable"]}
    history = [state async for state in run.graph.aget_state_history(place)]
    earlier = next(state for state in history if state.next == ("orchestrate",))
    async for _ in run.graph.astream(None, earlier.config, context=run.context, stream_mode="custom"):
        pass


async def test_pruning_leaves_the_latest_state_whole_and_drops_what_leads_nowhere(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    async with open_database(path) as database:
        run = two_questions(tmp_path, database)
        await run.ask()
        await fork(run)
        before, checkpoints, writes = await run.state(), rows(path, "checkpoints"), rows(path, "writes")
        await database.saver.aprune([thread_id(run.thread)])
        assert rows(path, "checkpoints") < checkpoints
        assert rows(path, "writes") < writes
        assert await run.state() == before
        state = await run.ask("How old is it then?")
    assert state.report and state.report.text == "Old. [1]"
    assert before.findings.keys() <= state.findings.keys()


@pytest.mark.fault("R23")
async def test_pruning_can_delete_whole_threads(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    async with open_database(path) as database:
        await two_questions(tmp_path, database).ask()
        await database.saver.aprune([thread_id("lab")], strategy="delete")
        texts = f"store WHERE prefix LIKE '%{thread_id('lab')}%'"
        assert [rows(path, table) for table in ("checkpoints", "writes", texts)] == [0, 0, 0]


@pytest.mark.fault(38, logs="WARNING core.run.spending")
async def test_a_run_whose_database_is_locked_stops_and_goes_on_where_it_was(tmp_path: Path) -> None:
    async with open_database(tmp_path / "runs.sqlite") as database:
        other = connected(tmp_path)
        await wait_for_others(database, 1000)

        async def lock_out(*_: Any) -> AIMessage:
            # What is being written meanwhile needs the loop to come to its end.
            await asyncio.to_thread(other.execute, "BEGIN IMMEDIATE")
            await wait_for_others(database, 1)
            return REPORT

        graph = build_graph(checkpointer=database.saver, store=database.store)
        decisions = [research("When was it lit?"), lock_out, REPORT, REPORT]
        run = lab(tmp_path, graph=graph, orchestrator=decisions, writer=["Lit. [1]"] * 2)
        # The run ends before the costs of its last call are kept.
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
async def test_what_cannot_be_saved_stops_the_run_and_locks_nobody_out(tmp_path: Path, namespace: str) -> None:
    place = {"thread_id": "t", "checkpoint_ns": namespace, "checkpoint_id": "c"}
    async with open_database(tmp_path / "runs.sqlite") as database:
        other = connected(tmp_path)
        other.execute("BEGIN IMMEDIATE")
        await wait_for_others(database, 1)
        with pytest.raises(NotSaved, match=r"could not be saved: database is locked \(setting data_dir\)") as caught:
            await database.saver.aput_writes({"configurable": place}, [("channel", 1)], "task")
        assert isinstance(caught.value, StopsTheRun) == bool(namespace), "a branch would take it for its own failure"
        other.execute("ROLLBACK")
        other.execute("BEGIN IMMEDIATE")
        other.close()


async def wait_for_others(database: Database, milliseconds: int) -> None:
    """Let the connections of the database wait so long for another one."""
    wait = f"PRAGMA busy_timeout = {milliseconds}"
    saver, store = cast(tuple[Any, Any], database)
    await saver.conn.execute(wait)
    store.conn.execute(wait)


def connected(folder: Path) -> sqlite3.Connection:
    """Another connection to the same file."""
    return sqlite3.connect(folder / "runs.sqlite", timeout=30, isolation_level=None, check_same_thread=False)

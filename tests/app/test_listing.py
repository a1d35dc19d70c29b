"""`runs` and `show` print what is stored, whether or not it was kept as an overview."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from kit.commands import Desk
from kit.runs import QUESTION
from kit.stored_runs import queried
from langchain_core.messages import HumanMessage
from langgraph.store.base import BaseStore, Op, Result
from typing_extensions import override

from deep_research.app.embed import build_graph, thread_config
from deep_research.app.runs import RunBook
from deep_research.core.settings.context import Context
from deep_research.core.store._holder import Process, _birth, this_process
from deep_research.core.store.location import (
    FAILURE_NOTE,
    FILE_NAME,
    OVERVIEW_NOTE,
    RunsLocation,
    thread_id,
)

FOLLOW_UP = "When was the Skerry Light lit?"


def parent_process() -> Process:
    """The process that started this one."""
    pid = os.getppid()
    return this_process()._replace(pid=pid, birth=_birth(pid))


@pytest.fixture
def finished(library: Desk, tmp_path: Path) -> Desk:
    """A copy of a data folder with a finished run, whose overview is kept."""
    shutil.copytree(library.folder, tmp_path, dirs_exist_ok=True)
    return Desk(tmp_path)


def shown(desk: Desk) -> tuple[str, str]:
    """The status and the question of the run, as `show` prints them."""
    data = json.loads(desk.call("show", "light", "--format", "json").out)
    return data["status"], data["question"]


def test_an_overview_is_not_used_once_the_run_has_gone_on(finished: Desk) -> None:
    graph = build_graph(checkpointer=finished.data / FILE_NAME)
    context = Context(models="extractive", docs=finished.docs, engines=(), clarify="assume")
    stream: Any = graph.stream(
        {"messages": [HumanMessage(FOLLOW_UP)]}, thread_config("light"), context=context
    )
    assert shown(finished) == ("completed", QUESTION)
    # Stopped after the first node, as if killed there: Python's runs keep no overview.
    next(stream)
    stream.close()
    assert shown(finished) == ("stopped", FOLLOW_UP)
    assert " stopped " in finished.call("runs").out
    graph.invoke(None, thread_config("light"), context=context)
    assert shown(finished) == ("completed", FOLLOW_UP)
    assert " completed " in finished.call("runs").out


def test_failures_and_leases_are_not_part_of_an_overview(finished: Desk) -> None:
    path, light = finished.data / FILE_NAME, thread_id("light")
    note = "INSERT OR REPLACE INTO store (prefix, key, value) VALUES (?, ?, ?)"
    for words in ("The key was rejected.", ""):
        queried(path, note, f"{light}.pages", FAILURE_NOTE, json.dumps({"words": words}))
        assert (f"failed: {words}" in finished.call("show", "light").out) == bool(words)
        assert (" failed " in finished.call("runs").out) == bool(words)
    lease = "INSERT INTO leases VALUES (?, 'owner', ?, ?, ?, '2026-01-01', ?)"
    for process, is_running in ((this_process(), False), (parent_process(), True)):
        queried(path, lease, light, *process, time.monotonic())
        assert (" running in another " in finished.call("runs").out) == is_running
        queried(path, "DELETE FROM leases")


class Meanwhile(BaseStore):
    """A store during whose reads something else happens."""

    def __init__(self, store: BaseStore, happens: Callable[[], object]) -> None:
        self._store, self._happens = store, happens

    @override
    def batch(self, ops: Iterable[Op]) -> list[Result]:
        raise NotImplementedError

    @override
    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        self._happens()
        return await self._store.abatch(ops)


async def test_a_run_that_ends_while_it_is_read_was_not_stopped(finished: Desk) -> None:
    path, light = finished.data / FILE_NAME, thread_id("light")
    graph = build_graph(checkpointer=path)
    context = Context(models="extractive", docs=finished.docs, engines=(), clarify="assume")
    async for _ in graph.astream(
        {"messages": [HumanMessage(FOLLOW_UP)]}, thread_config("light"), context=context
    ):
        break
    lease = "INSERT INTO leases VALUES (?, 'owner', ?, ?, ?, '2026-01-01', ?)"
    queried(path, "DELETE FROM leases")
    queried(path, lease, light, *parent_process(), time.monotonic())
    async with RunBook.open(finished.data) as book:
        store = Meanwhile(book.database.store, lambda: queried(path, "DELETE FROM leases"))
        watched = book._replace(database=book.database._replace(store=store))
        assert (await watched.read("light")).status == "running"
        assert (await watched.read("light")).status == "stopped"


def test_an_overview_that_cannot_be_used_is_replaced(finished: Desk) -> None:
    path = finished.data / FILE_NAME
    listed, page = finished.call("runs"), finished.call("show", "light")
    value = "SELECT value FROM store WHERE key = ?"
    [[kept]] = queried(path, value, OVERVIEW_NOTE)
    note = json.loads(kept)
    useless = [
        {},
        {**note, "code": "0.0.1"},
        {**note, "version": "other"},
        {"code": note["code"], "version": note["version"], "text": "{}"},
        {"code": note["code"], "version": note["version"], "zlib": "damaged"},
    ]
    for broken in useless:
        queried(path, "UPDATE store SET value = ? WHERE key = ?", json.dumps(broken), OVERVIEW_NOTE)
        assert (finished.call("show", "light"), finished.call("runs")) == (page, listed)
        assert queried(path, value, OVERVIEW_NOTE) == [(kept,)]
    queried(path, "DELETE FROM store WHERE key = ?", OVERVIEW_NOTE)
    assert finished.call("runs") == listed
    assert queried(path, value, OVERVIEW_NOTE) == [(kept,)]


def test_a_deleted_run_leaves_no_overview(finished: Desk) -> None:
    assert finished.call("delete", "light", "--yes").code == 0
    assert RunsLocation(finished.data / FILE_NAME).threads() == []
    assert (
        queried(finished.data / FILE_NAME, "SELECT * FROM store WHERE key = ?", OVERVIEW_NOTE) == []
    )
    assert finished.call("show", "light").code == 2

"""Runs of both strategies; runs that stop or fail keep their strategy and their results, and can be
resumed."""

from __future__ import annotations

import json
import re
import resource
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from kit.commands import SECONDS, Desk, Ended, desk_in, wire_desk
from kit.openai_server import fail
from kit.runs import QUESTION
from kit.server import WATCH
from kit.wire import QUESTION as COAST_QUESTION
from langgraph.store.memory import InMemoryStore

from deep_research.app.runs import ThreadNotes
from deep_research.app.words import STRATEGIES
from deep_research.core.store._packing import page_namespace
from deep_research.core.store.location import SETTINGS_NOTE, thread_id

pytestmark = pytest.mark.slow

FOLLOW_UP = "How tall is the Skerry Light?"
HOUR = 3600


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """A desk with a finished run of each strategy, named after it."""
    desk = desk_in(tmp_path_factory.mktemp("library"))
    for strategy in STRATEGIES:
        ended = desk.call(
            "ask", QUESTION, "--docs", str(desk.docs), "--thread", strategy, "--strategy", strategy
        )
        assert ended.code == 0, ended.err
        steps = re.search(
            r"\[3\.1\] step 1 \(independent\): .*\[3\.1\] step 1 completed\n", ended.err, re.DOTALL
        )
        assert bool(steps) == (strategy == "planned")
    yield desk


def contents(desk: Desk) -> list[Any]:
    """All rows of the database."""
    with closing(sqlite3.connect(desk.data / "runs.sqlite")) as connection:
        return [
            connection.execute(f"SELECT * FROM {table}").fetchall()
            for table in ("checkpoints", "writes", "store")
        ]


def test_a_planned_run_is_listed_shown_and_replayed(library: Desk) -> None:
    assert " completed " in next(
        line for line in library.call("runs").out.splitlines() if "[planned]" in line
    )
    page = library.call("show", "planned").out
    assert "\nStrategy  planned\n" in page
    assert "\nSteps\n  1 " in page
    assert "1844" in page
    assert "Strategy" not in library.call("show", "orchestrated").out
    shown = json.loads(library.call("show", "planned", "--format", "json").out)
    assert shown["strategy"] == "planned"
    assert shown["steps"][0]["iterations"][0]["confidence"] > 0
    assert {step["status"] for step in shown["steps"]} <= {"completed", "failed", "skipped"}
    assert json.loads(library.call("export", "planned", "--format", "json").out) == shown
    replayed = [
        json.loads(line) for line in library.call("show", "planned", "--json").out.splitlines()
    ]
    assert "step_started" in {packet["type"] for packet in replayed}


@pytest.mark.parametrize(
    ("thread", "other"), [("planned", "orchestrated"), ("orchestrated", "planned")]
)
def test_a_run_cannot_switch_to_another_strategy(library: Desk, thread: str, other: str) -> None:
    before = contents(library)
    ended = library.call("ask", FOLLOW_UP, "--thread", thread, "--strategy", other)
    refusal = f"The run {thread!r} was started with the strategy {thread!r} and cannot switch to {other!r}: "
    assert ended == (
        2,
        "",
        f"Error: {refusal}leave out --strategy, or start another run (--thread).\n",
    )
    assert contents(library) == before
    ended = library.call("ask", FOLLOW_UP, "--thread", thread, DEEP_RESEARCH_STRATEGY=other)
    assert ended.code == 0 and "38 metres" in ended.out, ended.err
    thread_id = json.loads(library.call("show", thread, "--format", "json").out)["thread"]
    query = "SELECT DISTINCT CAST(metadata AS TEXT) ->> '$.research_strategy' FROM checkpoints WHERE thread_id = ?"
    with closing(sqlite3.connect(library.data / "runs.sqlite")) as connection:
        assert connection.execute(query, (thread_id,)).fetchall() == [(thread,)]


@pytest.mark.fault(42)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_run_continues_where_it_was_although_the_clock_was_set_back(
    desk: Desk, strategy: str
) -> None:
    def run(hours: int, *arguments: str) -> Ended:
        clock = {"PYTHONPATH": str(WATCH), "CLOCK_SHIFT": str(hours * HOUR)}
        return desk.run(*arguments, env=desk.environment | clock)

    given = ("--docs", str(desk.docs), "--model", "extractive", "--thread", "light")
    asked = desk.call("ask", QUESTION, *given, "--strategy", strategy, "--review-plan")
    assert asked.code == 3, asked.err
    answered = run(-1, "resume", "light", "--answer", "yes")
    assert (answered.code, "1844" in answered.out) == (0, True), answered
    # Without a model, a follow-up on a table adds columns.
    further = "Add a column: height" if strategy == "table" else "How tall is the Skerry Light?"
    followed = run(-2, "ask", further, *given)
    assert followed.code == 3, followed.err
    answered = desk.call("resume", "light", "--answer", "yes")
    assert (answered.code, "38 metres" in answered.out) == (0, True), answered
    shown = json.loads(desk.call("show", "light", "--format", "json").out)
    assert "38 metres" in shown["report"]


@pytest.mark.fault(42)
def test_the_latest_run_is_listed_first_although_the_clock_was_set_back(desk: Desk) -> None:
    given = ("--docs", str(desk.docs), "--model", "extractive", "--yes", "--thread")
    assert desk.call("ask", QUESTION, *given, "light").code == 0
    clock = {"PYTHONPATH": str(WATCH), "CLOCK_SHIFT": str(-HOUR)}
    asked = desk.run(
        "ask", "Where is the harbour?", *given, "harbour", env=desk.environment | clock
    )
    assert asked.code == 0, asked.err
    listed = desk.call("runs").out.splitlines()
    assert ["harbour" in line for line in listed] == [True, False]


@pytest.mark.fault(24)
def test_a_run_that_fails_for_lack_of_credit_is_kept_and_says_why_and_how_to_resume_it(
    tmp_path: Path,
) -> None:
    with wire_desk(tmp_path, planner=lambda _: fail(402, "no credit")) as wire:
        ended = wire.desk.call("ask", COAST_QUESTION, "--thread", "poor", "--yes")
        assert ended.code == 1
        assert ended.err.splitlines()[-1].endswith(
            "The run is saved; resume it: deep-research resume poor"
        )
        assert " failed " in wire.desk.call("runs").out
        page = wire.desk.call("show", "poor", "--data-dir", str(wire.desk.data)).out
        assert "\nStatus    failed: The model 'fake-1' cannot be used: no credit is left" in page
        assert f"\nResume    deep-research resume poor --data-dir {wire.desk.data}\n" in page
        assert (
            "no credit is left"
            in json.loads(wire.desk.call("show", "poor", "--format", "json").out)["failure"]
        )
        again = wire.desk.call("resume", "poor")
        assert (again.code, again.err.splitlines()[-1]) == (1, ended.err.splitlines()[-1])
        assert wire.desk.call("resume", "poor", "--model", "extractive").code == 0
        page = wire.desk.call("show", "poor").out
        assert "no credit" not in page and "Resume  " not in page


@pytest.mark.parametrize("size", [300_000, 600_000])
def test_a_run_that_fails_on_a_full_disk_is_kept_and_can_be_resumed(
    tmp_path: Path, size: int
) -> None:
    with wire_desk(tmp_path) as wire:
        with wire.desk.started("ask", COAST_QUESTION, "--thread", "light") as process:
            resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (size, size))
            out, err = process.communicate(timeout=SECONDS)
        assert (process.returncode, out) == (1, "")
        line = err.splitlines()[-1]
        assert line.startswith("Error: The ") and "disk I/O error" in line
        assert line.endswith(" The run is saved; resume it: deep-research resume light")
        assert "1844" in wire.desk.call("resume", "light").out


@pytest.mark.fault(44)
async def test_stored_settings_that_no_longer_exist_are_ignored() -> None:
    store = InMemoryStore()
    kept = {"embeddings": True, "language": "de", "limits": {"gone": 1, "max_cycles": 3}}
    await store.aput(
        page_namespace(thread_id("light")), SETTINGS_NOTE, {"json": json.dumps(kept)}, index=False
    )
    assert await ThreadNotes(store, "light").choices({"window": "9000"}) == {
        "language": "de",
        "window": "9000",
        "limits": {"max_cycles": 3},
    }

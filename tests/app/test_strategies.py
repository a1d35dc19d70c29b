"""Two strategies: a run is begun by one of them, and whoever goes on with it goes on by that one."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from command import Desk, desk_in
from lab import QUESTION

from deep_research import research
from deep_research.app.embed import build_graph
from deep_research.app.stream import packets
from deep_research.app.words import STRATEGIES
from deep_research.core.run.errors import UnknownSetting

pytestmark = pytest.mark.slow

FOLLOW_UP = "How tall is the Skerry Light?"
PLANNED = {"DEEP_RESEARCH_STRATEGY": "planned"}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """A desk with a finished run of either strategy, named like it."""
    desk = desk_in(tmp_path_factory.mktemp("library"))
    for strategy in STRATEGIES:
        ended = desk.call("ask", QUESTION, "--docs", str(desk.docs), "--thread", strategy, "--strategy", strategy)
        assert ended.code == 0, ended.err
        steps = re.search(r"\[3\.1\] step 1 \(independent\): .*\[3\.1\] step 1 completed\n", ended.err, re.DOTALL)
        assert bool(steps) == (strategy == "planned")
    yield desk


def strategies_of(desk: Desk, thread: str) -> list[str]:
    """The strategies that the checkpoints of a run were made by."""
    thread_id = json.loads(desk.call("show", thread, "--format", "json").out)["thread"]
    query = "SELECT DISTINCT CAST(metadata AS TEXT) ->> '$.research_strategy' FROM checkpoints WHERE thread_id = ?"
    with closing(sqlite3.connect(desk.data / "runs.sqlite")) as connection:
        return [row[0] for row in connection.execute(query, (thread_id,))]


def contents(desk: Desk) -> list[Any]:
    """All that is stored."""
    with closing(sqlite3.connect(desk.data / "runs.sqlite")) as connection:
        return [connection.execute(f"SELECT * FROM {table}").fetchall() for table in ("checkpoints", "writes", "store")]


def test_an_unknown_strategy_is_one_line_that_names_both() -> None:
    line = r"^strategy: there is no 'plan' \(did you mean planned\?\); there are 'orchestrated' and 'planned'\.$"
    with pytest.raises(UnknownSetting, match=line):
        build_graph("plan")  # type: ignore[arg-type]
    with pytest.raises(UnknownSetting, match=r"^strategy: there is no '';"):
        research(QUESTION, "")  # type: ignore[arg-type]


def test_a_planned_run_is_asked_for_listed_shown_and_told_again(library: Desk) -> None:
    assert " completed " in next(line for line in library.call("runs").out.splitlines() if "[planned]" in line)
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
    replayed = [json.loads(line) for line in library.call("show", "planned", "--json").out.splitlines()]
    assert "step_started" in {packet["type"] for packet in replayed}


@pytest.mark.parametrize(("thread", "other"), [("planned", "orchestrated"), ("orchestrated", "planned")])
def test_a_run_is_not_asked_by_another_strategy_and_nothing_is_changed(library: Desk, thread: str, other: str) -> None:
    before = contents(library)
    ended = library.call("ask", FOLLOW_UP, "--thread", thread, "--strategy", other)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.splitlines() == [
        f"Error: The run {thread!r} was begun by the strategy {thread!r} and goes on by it, not by {other!r}: "
        "leave out --strategy, or begin another run (--thread)."
    ]
    assert contents(library) == before


def test_a_run_goes_on_by_its_strategy_whatever_the_environment_says(library: Desk) -> None:
    for thread, other in (("planned", "orchestrated"), ("orchestrated", "planned")):
        ended = library.call("ask", FOLLOW_UP, "--thread", thread, DEEP_RESEARCH_STRATEGY=other)
        assert ended.code == 0, ended.err
        assert "38 metres" in ended.out
        assert strategies_of(library, thread) == [thread]


def test_the_environment_says_by_which_strategy_a_new_run_begins(tmp_path: Path) -> None:
    desk = desk_in(tmp_path)
    ask = ("ask", QUESTION, "--docs", str(desk.docs), "--thread")
    ended = desk.call(*ask, "by variable", **PLANNED)
    assert (ended.code, "Warning" in ended.err) == (0, False)
    assert strategies_of(desk, "by variable") == ["planned"]
    assert desk.call(*ask, "by option", "--strategy", "orchestrated", **PLANNED).code == 0
    assert strategies_of(desk, "by option") == ["orchestrated"]
    refused = desk.call(*ask, "wrong", DEEP_RESEARCH_STRATEGY="planed")
    assert (refused.code, len(refused.err.splitlines())) == (2, 1)
    assert "DEEP_RESEARCH_STRATEGY: there is no 'planed' (did you mean planned?)" in refused.err
    assert "wrong" not in desk.call("runs").out


def test_a_run_that_an_app_began_and_left_is_known_for_what_it_is(tmp_path: Path) -> None:
    desk = desk_in(tmp_path)
    desk.data.mkdir()
    graph = build_graph("planned", checkpointer=desk.data / "runs.sqlite")
    context = {"models": "extractive", "docs": [desk.docs], "data_dir": desk.data, "clarify": "off"}
    for packet in packets(graph, QUESTION, "left", context=context):
        if packet.type == "step_started":
            break
    assert "\nStrategy  planned\n" in desk.call("show", "left").out
    assert " stopped " in desk.call("runs").out
    resumed = desk.call("resume", "left", DEEP_RESEARCH_DOCS=str(desk.docs))
    assert resumed.code == 0, resumed.err
    assert "1844" in resumed.out
    assert strategies_of(desk, "left") == ["planned"]

"""A run that is killed at every kind of call gives the same report, and only the calls under way
are paid for again.

Each command has another time of day: the clock is set back and forth by an hour while nothing runs.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pytest
from kit.commands import (
    KEYS,
    Point,
    WireDesk,
    model_call,
    page_call,
    point_of,
    search_call,
    wire_desk,
)
from kit.models import QUESTIONS
from kit.openai_server import PIECE, Received, Reply, say, use
from kit.server import PAUSE, SECONDS
from kit.wire import END, FACTS, QUESTION, hand_out, noted, researched

from deep_research.app.embed import thread_config
from deep_research.app.runs import RunBook
from deep_research.core.store._packing import page_namespace
from deep_research.core.store.location import thread_id

pytestmark = pytest.mark.slow

THREAD = "light"
DECISION, FINDING = Point("researcher", "tides", 1), Point("finding", "keeper", 3)
LAST = Point("researcher", "keeper", 2)
BETWEEN_ROUNDS, REPORT = Point("orchestrator", results=3), Point("writer", results=4)
HOUR = 3600
SHIFTS = (0, -HOUR, HOUR, -HOUR)
"""Seconds by which the clock of each command is off."""
Value = TypeVar("Value")


def kill(desk: WireDesk, is_time: Callable[[], bool], *arguments: str, **environment: str) -> str:
    """Start the command and kill it when it is time; returns all that it printed."""
    end = time.monotonic() + SECONDS
    with desk.desk.started(*arguments, **environment) as process:
        while not is_time():
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < end, f"the time to kill {arguments} never came"
            time.sleep(PAUSE)
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate(timeout=SECONDS)
    assert (process.returncode, out) == (-signal.SIGKILL, "")
    return err


def all_at_work(desk: WireDesk) -> bool:
    """Whether one researcher waits for a page, with another page read, one for a search and one for
    its model."""
    waiting = "/light" in desk.fetched() and "keeper" in desk.lab.engine.queries and desk.holds.held
    return bool(waiting) and has_kept(desk, "/tides")


def has_kept(desk: WireDesk, path: str) -> bool:
    """Whether a page is in the store."""
    namespace = page_namespace(thread_id(THREAD))
    return bool(
        read(
            desk,
            lambda book: book.database.store.aget(namespace, f"opened {desk.lab.web.url(path)}"),
        )
    )


def researchers_done(desk: WireDesk) -> int:
    """How many researchers of the round under way are done, with their findings kept."""
    state = read(desk, lambda book: book.graph("orchestrated").aget_state(thread_config(THREAD)))
    return sum(task.name == "researcher" and bool(task.result) for task in state.tasks)


def read(desk: WireDesk, work: Callable[[RunBook], Awaitable[Value]]) -> Value:
    """Read the file of runs while the command is at work."""

    async def reading() -> Value:
        async with RunBook.open(desk.desk.data) as book:
            return await work(book)

    return asyncio.run(reading())


@pytest.mark.fault(36, "R9", "R18")
def test_a_run_killed_four_times_gives_the_same_report_repeats_only_calls_under_way_and_leaves_no_key(
    tmp_path: Path,
) -> None:
    with wire_desk(tmp_path) as desk:
        desk.hold_page("/light")
        desk.hold_search("keeper")
        desk.holds.points |= {DECISION, FINDING, BETWEEN_ROUNDS, REPORT}
        held, printed = desk.holds.held, ""
        moments: list[Callable[[], bool]] = [
            lambda: all_at_work(desk),
            lambda: len(held) == 2 and researchers_done(desk) == 2,
            lambda: len(held) == 3,
            lambda: len(held) == 4,
        ]
        for number, is_time in enumerate(moments):
            command = ("resume", THREAD) if number else ("ask", QUESTION, "--thread", THREAD)
            printed += kill(desk, is_time, *command, CLOCK_SHIFT=str(SHIFTS[number]))
            assert desk.files_with(*KEYS) == []
        ended = desk.desk.call("resume", THREAD)
        under_way = Counter([*map(model_call, held), search_call("keeper"), page_call("/light")])
        paid = desk.paid()
        desk.forget()
        straight = desk.desk.call("ask", QUESTION)
        assert ended.code == straight.code == 0
        assert ended.out == straight.out
        text, sources = straight.out.split("\n\n## Sources\n\n")
        for number, (name, fact) in enumerate(FACTS.items(), 1):
            assert f"{fact} [{number}]" in text
            assert f"\n[{number}]: <{desk.lab.web.url(f'/{name}')}>" in sources
        assert len(under_way) == under_way.total() == 6
        assert set(desk.paid().values()) == {1}
        assert paid == desk.paid() + under_way
        assert desk.files_with(*KEYS) == []
        assert not any(key in f"{printed}{ended}" for key in KEYS)
        assert desk.contacted() == desk.places


SAID = {
    "light": "The Skerry Light was lit in 1844, not before.",
    "keeper": "Ada Moran kept the light from 1901 to 1932, for long.",
    "harbour": "The ferry of Port Anlow sails twice a day, not more.",
}
"""What a report of several sections says of each task, in words that no page has."""
JUDGED = {name: Point("verifier", statement) for name, statement in SAID.items()}
EDITED, CHECKED = Point("trial"), Point("verifier", "The light")


def found(request: Received) -> Reply:
    """A researcher that hands its finding in with its last call."""
    reply = researched(request)
    return replace(END, text=noted(request).text) if reply == END else reply


def in_sections(request: Received) -> Reply:
    """A report with a section on each fact; what follows from them cites nothing."""
    sections = list[str]()
    for name, fact in FACTS.items():
        [number] = set(re.findall(rf"{re.escape(fact)} \[(\d+)\]", request.prompt))
        sections.append(f"## The {name}\n\n{SAID[name]} [{number}]\n\n{QUESTIONS}")
    return say("\n\n".join([*sections, "It is an old light with a ferry."]))


def after(answers: int) -> Callable[[WireDesk], bool]:
    """Whether so many calls of the node are answered."""
    return lambda desk: desk.desk.answers_kept(THREAD) == answers


def others_done(desk: WireDesk) -> bool:
    """Whether the two other researchers of the round are done."""
    return researchers_done(desk) == 2


def is_time(desk: WireDesk, calls: int, is_ready: Callable[[WireDesk], bool]) -> bool:
    """Whether so many calls have been held, and all else is done."""
    return desk.holds.has_held(calls) and is_ready(desk)


@pytest.mark.fault(36)
@pytest.mark.parametrize(
    "moments",
    [
        # The writer stops within its second section; the others have their answers.
        [(REPORT, after(1)), (JUDGED["keeper"], after(2)), (EDITED, after(1)), (CHECKED, bool)],
        [(LAST, others_done), (JUDGED["light"], after(2)), (JUDGED["harbour"], after(1))],
    ],
    ids=["writer and editor", "verifier"],
)
def test_a_run_that_is_killed_while_it_writes_and_judges_repeats_only_the_call_under_way(
    tmp_path: Path, moments: Sequence[tuple[Point, Callable[[WireDesk], bool]]]
) -> None:
    """Each moment: the call that is held, and what else has to be done."""
    answered_all = {"number": 1, "verdict": "answered"}
    script: dict[str, Any] = {
        "planner": lambda _: say("1. The light\n\n## Checklist\n\n- Its keeper"),
        "researcher": found,
        "writer": in_sections,
        "trial": lambda _: use(("grade_report", {"grades": [answered_all]})),
    }
    with wire_desk(tmp_path, **script) as desk:
        # The first section, and some words of the second one.
        desk.holds.pieces = (len(QUESTIONS) + 160) // PIECE
        held = desk.holds.held
        for number, (point, is_ready) in enumerate(moments):
            desk.holds.points.add(point)
            command = ("resume", THREAD) if number else ("ask", QUESTION, "--thread", THREAD)
            kill(desk, partial(is_time, desk, number + 1, is_ready), *command)
        ended = desk.desk.call("resume", THREAD)
        paid = desk.paid()
        desk.forget()
        straight = desk.desk.call("ask", QUESTION)
        assert ended.code == straight.code == 0
        assert ended.out == straight.out
        assert all(statement in ended.out for statement in SAID.values())
        assert set(desk.paid().values()) == {1}
        assert {JUDGED["light"], JUDGED["keeper"], JUDGED["harbour"], EDITED, CHECKED} == {
            point_of(request) for request in desk.lab.requests("verifier", "trial")
        }
        assert paid == desk.paid() + Counter(map(model_call, held))


EDIT = "Name the keeper."


def edited(request: Received) -> Reply:
    """A writer that has the keeper looked up, and then names her; any other call is a trial."""
    if "You change a research report" not in request.system:
        return use(("save_word", {"word": "amber"}))
    if "`tasks`" in request.system:
        return use(("edit_report", {"edits": [], "tasks": ["keeper"]}))
    [number] = set(re.findall(rf"{re.escape(FACTS['keeper'])} \[(\d+)\]", request.prompt))
    text = f"{FACTS['keeper']} [{number}]"
    edits = [{"kind": "insert_after", "block": 1, "text": text}]
    return use(("edit_report", {"edits": edits, "done": "She is named."}))


def test_an_edit_that_is_killed_within_its_research_pays_for_nothing_twice(tmp_path: Path) -> None:
    def one_task(request: Received) -> Reply:
        return END if "Found:" in request.prompt else hand_out("light")

    with wire_desk(tmp_path, orchestrator=one_task, trial=edited) as desk:
        for thread in (THREAD, "another"):
            assert desk.desk.call("ask", QUESTION, "--thread", thread).code == 0
        desk.forget()
        editor = Point("trial")
        points = [editor, Point("researcher", "keeper", 1), Point("finding", "keeper", 3), editor]
        held = desk.holds.held
        for number, point in enumerate(points):
            desk.holds.points.add(point)
            command = ("resume", THREAD) if number else ("edit", THREAD, EDIT)
            kill(desk, partial(desk.holds.has_held, number + 1), *command)
        ended = desk.desk.call("resume", THREAD)
        paid = desk.paid()
        desk.forget()
        straight = desk.desk.call("edit", "another", EDIT)
        assert (ended.code, straight.code) == (0, 0), ended.err
        assert FACTS["keeper"] in ended.out and ended.out == straight.out
        assert set(desk.paid().values()) == {1}
        assert paid == desk.paid() + Counter(map(model_call, held))

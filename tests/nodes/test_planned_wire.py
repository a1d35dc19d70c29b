"""Planned runs over real sockets: kills between steps repeat no finished one, refused results are
left out."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from kit.commands import Desk
from kit.models import QUESTIONS, units_shown
from kit.openai_server import Reply, fail
from kit.planned import REPORT, RULES, Asked, Rule, fact, plan, step
from kit.runs import QUESTION, settings, write_documents
from kit.server import PAUSE, SECONDS, WATCH
from kit.wire import Forms, Point, form_server
from langgraph.checkpoint.memory import InMemorySaver

from deep_research.app.embed import build_graph, thread_config
from deep_research.app.stream import apackets
from deep_research.core.events.packets import AnyPacket
from deep_research.state import ResearchState

LIGHT, KEEPER, HARBOUR, WEIGHED = "Skerry Light", "Ada Moran", "Port Anlow", "What follows?"
THOUGHT = step(WEIGHED, search=False)
STEPS: dict[str, Rule] = {
    "make_plan": plan(
        step(LIGHT), *(step(task, previous=True) for task in (KEEPER, HARBOUR)), THOUGHT
    ),
    "record_learnings": lambda asked: {
        "learnings": [
            fact(f"{asked.task}: see {result['title']}.", result["document"])
            for result in asked.results
        ]
    },
    "record_insights": lambda _: {"insights": ["It is old."], "gaps": []},
}
SEARCHES = tuple(("record_round", task) for task in (LIGHT, KEEPER, HARBOUR))
POINTS: tuple[Point, ...] = (*SEARCHES, ("record_analysis", WEIGHED), ("report", QUESTION))
FURTHER = "spring tide Port Anlow"
"""Checklist item that the draft leaves open."""
CHECKED: dict[str, Rule] = {
    **STEPS,
    "make_plan": lambda asked: {
        **STEPS["make_plan"](asked),
        "requirements": ["Its height", "The tides beside it"],
    },
    "grade_report": lambda asked: (
        {
            "grades": [
                {"number": 1, "verdict": "answered"},
                {"number": 2, "verdict": "not answered", "missing": FURTHER, "task": FURTHER},
            ]
        }
        if asked.number == 1
        else {
            "edits": [
                {"kind": "insert_after", "block": 1, "text": "The tides are told of, too. [1]"}
            ],
            "grades": [{"number": 1, "verdict": "answered"}, {"number": 2, "verdict": "answered"}],
        }
    ),
    "judge_units": lambda asked: {
        "verdicts": [
            {"unit": unit["unit"], "verdict": "advice"}
            for unit in units_shown(asked.messages[-1].text)[0]
        ]
    },
}
IN_THE_ROUND: tuple[Point, ...] = (
    ("grade_report", ""),
    ("record_round", FURTHER),
)
STATEMENTS = (
    "It was in 1844 that it was lit.",
    "For long, Ada Moran was there.",
    "Twice a day, a ferry sails.",
)
"""What a report of several sections says, in words that no document has."""
IN_SECTIONS: dict[str, Rule] = {
    **CHECKED,
    "report": lambda _: "\n\n".join(
        f"## Part {number}\n\n{says} [{number}]\n\n{QUESTIONS}"
        for number, says in enumerate(STATEMENTS, 1)
    ),
    "grade_report": lambda _: {
        "grades": [{"number": number, "verdict": "answered"} for number in (1, 2)]
    },
}
JUDGED: tuple[tuple[Point, int], ...] = (
    (("judge_units", STATEMENTS[0]), 2),
    (("judge_units", STATEMENTS[2]), 1),
    (("judge_units", "Part 1"), 2),
)
"""Judged beside the writer, beside the editor, and in the check: when so many other calls of the
node are answered; the check has no others, and those of the editor are still stored."""
SHIFTS = (0, -3600, 3600, -3600, 0)
"""Clock shift of each command, in seconds: each has another time of day, as in `test_wire_kill`."""


def kill(
    desk: Desk,
    forms: Forms,
    point: Point,
    *arguments: str,
    answered: int | None = None,
    **environment: str,
) -> None:
    """Start the command and kill it once this call is held, and so many others of its node are
    answered."""
    forms.points.add(point)
    end = time.monotonic() + SECONDS
    with desk.started(*arguments, **environment) as process:
        while point not in forms.held or answered not in (
            None,
            desk.answers_kept("light", "planned"),
        ):
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < end, f"the call {point} never came"
            time.sleep(PAUSE)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate(timeout=SECONDS)


@pytest.mark.slow
@pytest.mark.fault(36)
@pytest.mark.parametrize(("rules", "points"), [(STEPS, POINTS), (CHECKED, IN_THE_ROUND)])
def test_a_planned_run_that_is_killed_between_steps_repeats_no_step_that_is_over(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, rules: Mapping[str, Rule], points: Sequence[Point]
) -> None:
    ask = (
        "ask",
        QUESTION,
        "--thread",
        "light",
        "--strategy",
        "planned",
        "--docs",
        str(desk.docs),
        "--yes",
    )
    with form_server(rules) as (server, forms):
        chosen = {"DEEP_RESEARCH_MODELS": "openai:fake-1", "DEEP_RESEARCH_TOOL_CALLS": "native"}
        for name, value in {**server.environment, **chosen}.items():
            monkeypatch.setenv(name, value)
        for number, point in enumerate(points):
            clock = {"PYTHONPATH": str(WATCH), "CLOCK_SHIFT": str(SHIFTS[number])}
            command = ("resume", "light") if number else ask
            kill(desk, forms, point, *command, answered=None, **clock)
        ended = desk.call("resume", "light")
        paid, forms.paid = forms.paid, Counter()
        straight = desk.call(*("another" if word == "light" else word for word in ask))
        assert (ended.code, straight.code) == (0, 0), ended.err
        assert ended.out == straight.out
        assert not [key for key, count in forms.paid.items() if count > 1]
        again = paid - forms.paid
        # Fences around judged text are random, so these calls always differ.
        assert sorted(key[:2] for key in again.elements() if key[0] != "judge_units") == sorted(
            points
        )
        assert not [key for key in forms.paid - paid if key[0] != "judge_units"]


@pytest.mark.slow
@pytest.mark.fault(36)
def test_a_planned_run_that_is_killed_while_a_section_is_judged_repeats_only_that_call(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = {"DEEP_RESEARCH_MODELS": "openai:fake-1", "DEEP_RESEARCH_TOOL_CALLS": "native"}
    given = ("--strategy", "planned", "--docs", str(desk.docs), "--yes")
    with form_server(IN_SECTIONS) as (server, forms):
        for name, value in {**server.environment, **chosen}.items():
            monkeypatch.setenv(name, value)
        for number, (point, answered) in enumerate(JUDGED):
            command = ("resume", "light") if number else ("ask", QUESTION, "--thread", "light")
            kill(desk, forms, point, *command, *(() if number else given), answered=answered)
        ended = desk.call("resume", "light")
        paid, forms.paid = forms.paid, Counter()
        straight = desk.call("ask", QUESTION, *given)
        assert (ended.code, straight.code) == (0, 0), ended.err
        assert ended.out == straight.out
        assert all(statement in ended.out for statement in STATEMENTS)
        assert {point for point, _ in JUDGED} <= {key[:2] for key in forms.paid}
        assert max(forms.paid.values()) == 1
        assert sorted(key[:2] for key in (paid - forms.paid).elements()) == sorted(
            point for point, _ in JUDGED
        )
        assert not forms.paid - paid


EDIT = "Add the tides."
EDITED: dict[str, Rule] = {
    **STEPS,
    "make_plan": plan(step(LIGHT)),
    "edit_report": lambda asked: (
        {"edits": [], "tasks": [FURTHER]}
        if "`tasks`" in asked.messages[0].text
        else {
            "edits": [{"kind": "insert_after", "block": 1, "text": "The tides are told of. [1]"}],
            "done": "The tides are added.",
        }
    ),
}


@pytest.mark.slow
def test_an_edit_that_is_killed_within_its_research_pays_for_nothing_twice(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = {"DEEP_RESEARCH_MODELS": "openai:fake-1", "DEEP_RESEARCH_TOOL_CALLS": "native"}
    points: list[Point] = [("edit_report", ""), ("record_round", FURTHER), ("edit_report", "")]
    with form_server(EDITED) as (server, forms):
        for name, value in {**server.environment, **chosen}.items():
            monkeypatch.setenv(name, value)
        for thread in ("light", "another"):
            asked = ("ask", QUESTION, "--thread", thread, "--strategy", "planned", "--yes")
            assert desk.call(*asked, "--docs", str(desk.docs)).code == 0
        forms.paid.clear()
        for number, point in enumerate(points):
            forms.held.clear()
            kill(desk, forms, point, *(("resume", "light") if number else ("edit", "light", EDIT)))
        ended = desk.call("resume", "light")
        paid, forms.paid = forms.paid, Counter()
        straight = desk.call("edit", "another", EDIT)
        assert (ended.code, straight.code) == (0, 0), ended.err
        assert "The tides are told of." in ended.out and ended.out == straight.out
        assert max(forms.paid.values()) == 1
        again = paid - forms.paid
        made_again = [key[:2] for key in again.elements() if key[0] != "judge_units"]
        assert sorted(made_again) == sorted(points)


BLOCKED = fail(400, "Filtered due to the content management policy", code="content_filter")


async def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rules: Mapping[str, Rule]
) -> tuple[list[AnyPacket], ResearchState]:
    """Packets and state of a run over a real socket."""
    graph = build_graph("planned", checkpointer=InMemorySaver())
    with form_server(rules) as (server, _):
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        given: Any = {
            "models": "openai:fake-1",
            "tool_calls": "native",
            "engines": (),
            "data_dir": tmp_path / "data",
        }
        context = settings(
            docs=(write_documents(tmp_path / "docs"),), limits={"whole_characters": 0}, **given
        )
        packets = [packet async for packet in apackets(graph, QUESTION, "light", context=context)]
        values = (await graph.aget_state(thread_config("light"))).values
    return packets, ResearchState(**values)


def blocked(word: str, form: str, answer: Any = None) -> dict[str, Rule]:
    """Refuse the form as long as its prompt contains results with this word."""

    def rule(asked: Asked) -> Any | Reply:
        shown = any(word in message.text for message in asked.messages if message.type == "tool")
        return BLOCKED if shown else answer or RULES[form](asked)

    return {form: rule}


@pytest.mark.behaviour("A-84")
@pytest.mark.fault(10)
async def test_refused_results_are_reported_and_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packets, state = await run(tmp_path, monkeypatch, blocked("38 metres", "record_learnings"))
    errors = [getattr(packet, "message", "") for packet in packets if packet.type == "error"]
    assert any("record_round was filled in without Skerry Light" in error for error in errors)
    assert any(
        "without Skerry Light: the provider" in failure
        for finding in state.findings.values()
        for failure in finding.failures
    )
    assert state.report and state.report.text


@pytest.mark.behaviour("A-84")
@pytest.mark.fault(10)
async def test_what_the_writer_may_not_read_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, state = await run(tmp_path, monkeypatch, blocked("Ada Moran", "report", REPORT))
    assert state.run and state.run.status == "completed_with_gaps"
    [withheld] = [finding for finding in state.findings.values() if finding.is_withheld]
    assert f"Found, but left out: {withheld.task}: the provider" in state.messages[-1].text

"""A planned run that is killed between steps resumes without repeating a finished step.

Each command has another time of day, as in `test_wire_kill`.
"""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from collections.abc import Mapping, Sequence

import pytest
from kit.commands import Desk
from kit.planned import Rule, fact, plan, step
from kit.runs import QUESTION
from kit.server import PAUSE, SECONDS, WATCH
from kit.wire import Forms, Point, form_server

LIGHT, KEEPER, HARBOUR, WEIGHED = "Skerry Light", "Ada Moran", "Port Anlow", "What follows?"
THOUGHT = step(WEIGHED, search=False)
RULES: dict[str, Rule] = {
    "make_plan": plan(step(LIGHT), *(step(task, previous=True) for task in (KEEPER, HARBOUR)), THOUGHT),
    "record_learnings": lambda asked: {
        "learnings": [fact(f"{asked.task}: see {result['title']}.", result["document"]) for result in asked.results]
    },
    "record_insights": lambda _: {"insights": ["It is old."], "gaps": []},
}
SEARCHES = tuple(("record_round", task) for task in (LIGHT, KEEPER, HARBOUR))
POINTS: tuple[Point, ...] = (*SEARCHES, ("record_analysis", WEIGHED), ("report", QUESTION))
FURTHER = "spring tide Port Anlow"
"""Checklist item that the draft leaves open."""
CHECKED: dict[str, Rule] = {
    **RULES,
    "make_plan": lambda asked: {**RULES["make_plan"](asked), "requirements": ["Its height", "The tides beside it"]},
    "grade_report": lambda asked: {
        "grades": [{"number": 2, "verdict": "not answered", "missing": FURTHER, "task": FURTHER}]
        if asked.number == 1
        else [{"number": 1, "verdict": "answered"}]
    },
    "add_to_report": lambda _: {"additions": [{"after": 1, "text": "The tides are told of, too. [1]"}]},
}
IN_THE_ROUND: tuple[Point, ...] = (("grade_report", ""), ("record_round", FURTHER), ("add_to_report", ""))
SHIFTS = (0, -3600, 3600, -3600, 0)
"""Clock shift of each command, in seconds."""


def kill(desk: Desk, forms: Forms, point: Point, *arguments: str, **environment: str) -> None:
    """Start the command and kill it once this call is held."""
    forms.points.add(point)
    end = time.monotonic() + SECONDS
    with desk.started(*arguments, **environment) as process:
        while point not in forms.held:
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < end, f"the call {point} never came"
            time.sleep(PAUSE)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate(timeout=SECONDS)


@pytest.mark.slow
@pytest.mark.fault(36)
@pytest.mark.parametrize(("rules", "points"), [(RULES, POINTS), (CHECKED, IN_THE_ROUND)])
def test_a_planned_run_that_is_killed_between_steps_repeats_no_step_that_is_over(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, rules: Mapping[str, Rule], points: Sequence[Point]
) -> None:
    ask = ("ask", QUESTION, "--thread", "light", "--strategy", "planned", "--docs", str(desk.docs), "--yes")
    with form_server(rules) as (server, forms):
        settings = {"DEEP_RESEARCH_MODELS": "openai:fake-1", "DEEP_RESEARCH_TOOL_CALLS": "native"}
        for name, value in {**server.environment, **settings}.items():
            monkeypatch.setenv(name, value)
        for number, point in enumerate(points):
            clock = {"PYTHONPATH": str(WATCH), "CLOCK_SHIFT": str(SHIFTS[number])}
            kill(desk, forms, point, *(("resume", "light") if number else ask), **clock)
        ended = desk.call("resume", "light")
        paid, forms.paid = forms.paid, Counter()
        straight = desk.call(*("another" if word == "light" else word for word in ask))
        assert (ended.code, straight.code) == (0, 0), ended.err
        assert ended.out == straight.out
        assert not [key for key, count in forms.paid.items() if count > 1]
        again = paid - forms.paid
        # Fences around judged text are random, so these calls always differ.
        assert sorted(key[:2] for key in again.elements() if key[0] != "judge_units") == sorted(points)
        assert not [key for key in forms.paid - paid if key[0] != "judge_units"]

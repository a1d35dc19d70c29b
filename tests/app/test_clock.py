"""A clock that is set back while a run waits for the user, or between two questions, loses nothing of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command import Ended, desk_in
from lab import QUESTION
from server import WATCH

from deep_research.app.words import STRATEGIES

HOUR = 3600


@pytest.mark.slow
@pytest.mark.fault(42)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_run_goes_on_where_it_was_though_the_clock_was_set_back(tmp_path: Path, strategy: str) -> None:
    desk = desk_in(tmp_path)

    def run(hours: int, *arguments: str) -> Ended:
        clock = {"PYTHONPATH": str(WATCH), "CLOCK_SHIFT": str(hours * HOUR)}
        return desk.run(*arguments, env=desk.environment | clock)

    given = ("--docs", str(desk.docs), "--model", "extractive", "--thread", "light")
    asked = desk.call("ask", QUESTION, *given, "--strategy", strategy, "--review-plan")
    assert asked.code == 3, asked.err
    answered = run(-1, "resume", "light", "--answer", "yes")
    assert (answered.code, "1844" in answered.out) == (0, True), answered
    followed = run(-2, "ask", "How tall is the Skerry Light?", *given)
    assert followed.code == 3, followed.err
    answered = run(-3, "resume", "light", "--answer", "yes")
    assert (answered.code, "38 metres" in answered.out) == (0, True), answered
    shown = json.loads(run(1, "show", "light", "--format", "json").out)
    assert "38 metres" in shown["report"]
    other = run(-4, "ask", "Where is the harbour?", *given[:-1], "harbour", "--yes")
    assert other.code == 0
    listed = desk.call("runs").out.splitlines()
    assert ["harbour" in line for line in listed] == [True, False], "the latest run stands first"

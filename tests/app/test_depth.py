"""The depth of a run on the command line, with the extractive model, and on the server."""

from __future__ import annotations

import json

import pytest
from kit.commands import Desk

from deep_research.core.errors import UnknownSetting
from deep_research.core.settings import server_settings
from deep_research.core.settings.context import Context
from deep_research.core.settings.limits import DEEP, Limits
from deep_research.core.settings.server_settings import UserSettings

SMALL = "When was the Skerry Light lit for the first time?"
LARGE = "When was the Skerry Light lit, who kept it, and how high is the spring tide at Port Anlow?"


def asked(desk: Desk, question: str, depth: str, *options: str) -> tuple[str, str]:
    """The report, and the `Depth` line of `show`."""
    given = (
        "--docs",
        str(desk.docs),
        "--thread",
        f"{depth} {question}",
        "--depth",
        depth,
        "--yes",
        *options,
    )
    ended = desk.call("ask", question, *given)
    assert ended.code == 0, ended.err
    shown = desk.call("show", f"{depth} {question}").out
    assert (
        json.loads(desk.call("show", f"{depth} {question}", "--format", "json").out)["depth"]
        in shown
    )
    return ended.out, next(line for line in shown.splitlines() if line.startswith("Depth"))


def test_a_quick_answer_quotes_one_search_and_depth_auto_is_quick_only_for_a_small_question(
    desk: Desk,
) -> None:
    report, depth = asked(desk, SMALL, "quick", "--strategy", "planned")
    assert report.startswith("The Skerry Light was lit for the first time in 1844. [1]")
    assert depth == "Depth     quick"
    assert asked(desk, SMALL, "auto")[1] == "Depth     auto, answered from one search"
    report, depth = asked(desk, LARGE, "auto")
    assert depth == "Depth     auto, researched step by step"
    assert "1844" in report and "5.2 metres" in report


def test_the_deep_limits_are_wider_than_the_usual_ones() -> None:
    usual = Limits()
    assert all(value > getattr(usual, name) for name, value in DEEP.items())
    assert Context(depth="deep").at_depth().limits == Limits(**DEEP)
    assert Context().at_depth().limits == usual


@pytest.mark.parametrize(("depth", "cycles"), [("standard", 8), ("deep", 14)])
def test_users_cannot_exceed_the_limits_that_the_operator_set_for_a_depth(
    monkeypatch: pytest.MonkeyPatch, depth: str, cycles: int
) -> None:
    server_settings._operator.cache_clear()
    monkeypatch.setenv("DEEP_RESEARCH_DEPTH", depth)
    monkeypatch.setenv("DEEP_RESEARCH_MAX_ITERATIONS", "3")
    limits = UserSettings(depth="deep").context_of("").at_depth().limits
    assert (limits.max_cycles, limits.max_iterations) == (cycles, 3)
    assert UserSettings(depth="standard").context_of("").at_depth().limits.max_cycles == 8
    assert UserSettings(depth="quick").context_of("").depth == "quick"
    own = UserSettings(depth="deep", limits=Limits(max_cycles=2)).context_of("").at_depth().limits
    assert own.max_cycles == 2
    with pytest.raises(UnknownSetting, match="max_cycles: 15 is wider"):
        _ = UserSettings(depth="deep", limits=Limits(max_cycles=15)).context_of("")
    server_settings._operator.cache_clear()

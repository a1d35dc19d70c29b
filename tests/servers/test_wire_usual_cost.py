"""From the third finished run of a kind on, the median of such runs is shown with a plan; before
that, nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from statistics import median
from typing import Any

import pytest
from kit.commands import Ended, Terminal, WireDesk, wire_desk
from kit.wire import FACTS, QUESTION, role_of

from deep_research.app.words import rounded

pytestmark = pytest.mark.slow

EARLIER = "Earlier runs like this one: "


@pytest.fixture
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WireDesk]:
    with wire_desk(tmp_path_factory.mktemp("wire")) as desk:
        yield desk


def roles(desk: WireDesk) -> list[str]:
    return [role_of(request) for request in desk.lab.models.requests if role_of(request) != "trial"]


def lines(ended: Ended) -> list[str]:
    """Lines on earlier runs, in both outputs."""
    return [line for line in (ended.out + ended.err).splitlines() if "Earlier runs" in line]


def test_a_first_run_stops_at_its_plan_without_an_estimate_and_resume_executes_it(
    desk: WireDesk,
) -> None:
    given = ("--estimate", "--thread", "skerry", "--limit", "max_usd=0.5")
    ended = desk.desk.call("ask", QUESTION, *given)
    assert ended.code == 0
    assert ended.out == "1. The light\n2. Its keeper\n3. The harbour\n"
    assert "max_seconds" not in ended.err
    assert roles(desk) == ["clarifier", "planner"]
    assert "deep-research resume skerry" in ended.err
    assert "Is this plan good?" in desk.desk.call("show", "skerry").out
    resumed = desk.desk.call("resume", "skerry")
    assert resumed.code == 0 and all(fact in resumed.out for fact in FACTS.values())
    assert roles(desk).count("planner") == 1
    assert lines(ended) == lines(resumed) == []
    streamed = desk.desk.call("ask", QUESTION, "--estimate", "--json")
    kinds = [json.loads(line)["type"] for line in streamed.out.splitlines()]
    assert streamed.code == 0 and kinds[kinds.index("section_end") + 1 :] == ["stop"]


def test_the_fourth_run_of_a_kind_shows_the_median_of_three(desk: WireDesk) -> None:
    call, shown = desk.desk.call, list[dict[str, Any]]()
    for number in range(3):
        ended = call("ask", QUESTION, "--thread", f"run {number}")
        assert ended.code == 0 and lines(ended) == []
        shown.append(json.loads(call("show", f"run {number}", "--format", "json").out))
    tokens = median(
        run["spending"]["input_tokens"] + run["spending"]["output_tokens"] for run in shown
    )
    tail = f" s, {rounded(tokens)} tokens (median of 3)"

    planned = call("ask", QUESTION, "--estimate", "--thread", "next")
    line = planned.out.splitlines()[-1]
    assert line.startswith(EARLIER) and line.endswith(tail)
    assert lines(planned) == [line, line], "in the progress, and below the plan"
    assert lines(call("show", "next")) == [f"  {line}"], "below the plan that it asks about"
    estimate = json.loads(call("show", "next", "--format", "json").out)["estimate"]
    assert (estimate["runs"], estimate["median_tokens"]) == (3, tokens)

    streamed = call("ask", QUESTION, "--review-plan", "--json", "--thread", "streamed")
    [packet] = [
        read
        for read in map(json.loads, streamed.out.splitlines())
        if read["type"] == "estimate_made"
    ]
    assert packet["estimate"] == estimate
    deep = call("ask", QUESTION, "--estimate", "--depth", "deep", "--thread", "deep")
    assert deep.code == 0 and lines(deep) == []

    reviewed = Terminal(desk.desk, "ask", QUESTION, "--review-plan", "--thread", "reviewed")
    reviewed.wait_for("Is this plan good?")
    assert reviewed.seen.count(line) == 2
    reviewed.write("yes\r")
    assert reviewed.end() == 0
    # Below the report stands what it took, not what was expected.
    assert "Done: " in reviewed.seen and EARLIER not in reviewed.seen.partition("Done: ")[2]

"""What a run will cost is told with its plan, and what it came to stands beside that."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest
from wire import FACTS, QUESTION, role_of
from wire_desk import WireDesk, wire_desk

from deep_research.core.records.research import Estimate

PRICES = json.dumps({"fake-1": [2.0, 8.0]})
LINE = re.compile(
    r"Estimated: \d+ model calls \(\d+ to \d+\), [\d ]+ tokens \([\d ]+ to [\d ]+\), "
    r"\$[\d.]+ \(\$[\d.]+ to \$[\d.]+\), .*\d+ s \(.*\d+ s to .*\d+ s\)\.$",
    re.MULTILINE,
)


@pytest.fixture
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WireDesk]:
    with wire_desk(tmp_path_factory.mktemp("wire")) as desk:
        yield desk


def roles(desk: WireDesk) -> list[str]:
    return [role_of(request) for request in desk.lab.models.requests if role_of(request) != "trial"]


def test_an_estimate_stops_at_the_plan_and_resume_carries_it_out(desk: WireDesk) -> None:
    ended = desk.desk.call("ask", QUESTION, "--estimate", "--thread", "skerry", DEEP_RESEARCH_PRICES=PRICES)
    assert ended.code == 0
    plan, line = ended.out.strip().split("\n\n")
    assert plan.startswith("1. The light") and LINE.search(line)
    assert roles(desk) == ["clarifier", "planner"]
    assert "deep-research resume skerry" in ended.err
    assert "Is this plan good?" in desk.desk.call("show", "skerry").out
    resumed = desk.desk.call("resume", "skerry", DEEP_RESEARCH_PRICES=PRICES)
    assert resumed.code == 0 and all(fact in resumed.out for fact in FACTS.values())
    assert roles(desk).count("planner") == 1
    # What it came to, and below it what was expected.
    took, estimated = resumed.err.splitlines()[-2:]
    assert took.startswith("Took ") and LINE.search(estimated)
    shown = json.loads(desk.desk.call("show", "skerry", "--format", "json").out)
    estimate = Estimate(**shown["estimate"])
    assert estimate.usd and shown["spending"]["usd"]
    for span in (estimate.calls, estimate.input_tokens, estimate.output_tokens, estimate.usd, estimate.seconds):
        assert span.low <= span.likely <= span.high
    assert re.search(r"^Estimate +\d+ model calls", desk.desk.call("show", "skerry").out, re.MULTILINE)


def test_a_plan_that_is_reviewed_is_shown_with_its_estimate_and_waits_for_a_word(desk: WireDesk) -> None:
    arguments = ("ask", QUESTION, "--estimate", "--review-plan", "--thread", "skerry")
    assert desk.desk.call(*arguments).code == 0
    waiting = desk.desk.call("resume", "skerry")
    assert waiting.code == 3
    # Without a price there is no money in it.
    assert re.search(r"Estimated: \d+ model calls .*tokens.* s\)\.", waiting.err) and "$" not in waiting.err
    assert desk.desk.call("resume", "skerry", "--answer", "yes").code == 0


def test_an_estimate_is_a_packet_behind_the_plan(desk: WireDesk) -> None:
    ended = desk.desk.call("ask", QUESTION, "--estimate", "--json", "--strategy", "orchestrated")
    kinds = [json.loads(line)["type"] for line in ended.out.splitlines()]
    plan = kinds.index("section_end")
    assert ended.code == 0 and kinds[plan + 1 :] == ["estimate_made", "stop"]


def test_what_has_no_plan_has_no_estimate(desk: WireDesk) -> None:
    refused = desk.desk.call("ask", QUESTION, "--estimate", "--depth", "quick")
    assert refused.code == 2 and "depth" in refused.err
    quoted = desk.desk.call("ask", QUESTION, "--estimate", "--model", "extractive")
    assert quoted.code == 0 and quoted.out.strip().endswith("No model at work costs anything.")
    assert not desk.lab.models.requests


@pytest.mark.parametrize(("limit", "name"), [("max_tokens=9000", "input_tokens"), ("max_usd=0.02", "usd")])
def test_a_limit_caps_the_estimate(desk: WireDesk, limit: str, name: str) -> None:
    for given in ((), ("--limit", limit)):
        desk.desk.call("ask", QUESTION, "--estimate", "--thread", str(given), *given, DEEP_RESEARCH_PRICES=PRICES)
    plain, capped = (
        json.loads(desk.desk.call("show", str(given), "--format", "json").out)["estimate"][name]["likely"]
        for given in ((), ("--limit", limit))
    )
    assert capped < plain / 2

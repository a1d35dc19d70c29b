"""What a run will cost is shown with its plan, and what it took stands beside that."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from statistics import median
from typing import Any

import pytest
from kit.commands import WireDesk, wire_desk
from kit.wire import FACTS, QUESTION, role_of

from deep_research.core.records.research import Estimate

pytestmark = pytest.mark.slow

PRICES = json.dumps({"fake-1": [2.0, 8.0]})
LINE = re.compile(
    r"Estimated: \d+ model calls \(\d+ to \d+\), [\d ]+ tokens \([\d ]+ to [\d ]+\), "
    r"\$[\d.]+ \(\$[\d.]+ to \$[\d.]+\), .*\d+ s \(.*\d+ s to .*\d+ s\), based on 3 finished runs\.$",
    re.MULTILINE,
)
UNKNOWN = "an estimate needs three finished runs of this kind (0 so far)."


@pytest.fixture
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WireDesk]:
    with wire_desk(tmp_path_factory.mktemp("wire")) as desk:
        yield desk


def roles(desk: WireDesk) -> list[str]:
    return [role_of(request) for request in desk.lab.models.requests if role_of(request) != "trial"]


def test_an_estimate_pauses_at_the_plan_and_resume_executes_it(desk: WireDesk) -> None:
    ended = desk.desk.call("ask", QUESTION, "--estimate", "--thread", "skerry", "--limit", "max_usd=0.5")
    assert ended.code == 0
    plan, line = ended.out.strip().split("\n\n")
    assert plan.startswith("1. The light")
    assert line == f"Estimated: at most 30 min of research (max_seconds), $0.50 (max_usd); {UNKNOWN}"
    assert roles(desk) == ["clarifier", "planner"]
    assert "deep-research resume skerry" in ended.err
    assert "Is this plan good?" in desk.desk.call("show", "skerry").out
    resumed = desk.desk.call("resume", "skerry")
    assert resumed.code == 0 and all(fact in resumed.out for fact in FACTS.values())
    assert roles(desk).count("planner") == 1
    done = resumed.err.splitlines()[-1]
    assert done.startswith("Done: ") and "estimated" not in done, "nothing was known"
    assert re.search(r"^Estimate +at most", desk.desk.call("show", "skerry").out, re.MULTILINE)
    streamed = desk.desk.call("ask", QUESTION, "--estimate", "--json", "--strategy", "orchestrated")
    kinds = [json.loads(line)["type"] for line in streamed.out.splitlines()]
    assert streamed.code == 0 and kinds[kinds.index("section_end") + 1 :] == ["estimate_made", "stop"]


def test_an_estimate_uses_finished_runs_of_the_same_kind(desk: WireDesk) -> None:
    priced = {"DEEP_RESEARCH_PRICES": PRICES}
    shown = list[dict[str, Any]]()
    for number in range(3):
        assert desk.desk.call("ask", QUESTION, "--thread", f"run {number}", **priced).code == 0
        shown.append(json.loads(desk.desk.call("show", f"run {number}", "--format", "json").out))
    ended = desk.desk.call("ask", QUESTION, "--estimate", "--thread", "next", **priced)
    assert ended.code == 0 and LINE.search(ended.out)
    estimate = Estimate(**json.loads(desk.desk.call("show", "next", "--format", "json").out)["estimate"])
    assert estimate.runs == 3 and estimate.calls and estimate.usd and estimate.seconds
    costs = [run["spending"]["usd"] for run in shown]
    figures = (min(costs), median(costs), max(costs))
    assert (estimate.usd.low, estimate.usd.likely, estimate.usd.high) == pytest.approx(figures, abs=0.0001)
    deep = desk.desk.call("ask", QUESTION, "--estimate", "--depth", "deep", "--thread", "deep", **priced)
    assert UNKNOWN in deep.out
    capped = desk.desk.call("ask", QUESTION, "--estimate", "--limit", "max_usd=0.0001", "--thread", "capped", **priced)
    assert "$0.0001 ($0.0001 to $0.0001)" in capped.out

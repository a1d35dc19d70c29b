"""Calls with arguments and names that no tool has asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lab import REPORT, in_order, lab, research, search

from deep_research.app.embed import build_graph
from deep_research.core.models.scripted import call, calls
from deep_research.core.run.transcripts import read_calls


async def test_a_number_that_no_database_takes_stops_nobody(tmp_path: Path) -> None:
    first = calls(call("research_agent", task="task 0.", depth=2**70))
    searching = calls(call("internal_search", queries=["Skerry Light"], n=-(2**64)))
    researcher = {"task 0.": [searching, REPORT, "Lit. [1]"]}
    graph = build_graph(checkpointer=tmp_path / "runs.sqlite")
    run = lab(tmp_path, graph=graph, orchestrator=[first, REPORT], researcher=researcher)
    state = await run.ask()
    assert [finding.ended for finding in in_order(state)] == ["done"]


def test_numbers_of_64_bits_stay_numbers() -> None:
    given: dict[str, Any] = {"a": 2**63 - 1, "b": -(2**63), "c": [2**63], "d": True}
    [accepted] = read_calls(calls(call("look", **given)), ["look"], ()).accepted
    assert accepted.arguments == {"a": 2**63 - 1, "b": -(2**63), "c": [str(2**63)], "d": True}


async def test_a_name_that_looks_like_results_is_no_source(tmp_path: Path) -> None:
    name = '{"results": [{"document": 7, "text": "x"}]}'
    researcher = [search("Skerry Light"), calls(call(name, q="x")), REPORT, "", ""]
    run = lab(tmp_path, orchestrator=[research("task 0."), REPORT], researcher=researcher)
    [finding] = in_order(await run.ask())
    assert finding.ended == "partial"
    assert "1844" in finding.text
    assert finding.reason == "its model wrote nothing"

"""Calls with arguments and names that no tool has asked for."""

from __future__ import annotations

from pathlib import Path

from lab import REPORT, in_order, lab

from deep_research.app.embed import build_graph
from deep_research.core.models.scripted import call, calls


async def test_a_number_that_no_database_takes_stops_nobody(tmp_path: Path) -> None:
    first = calls(call("research_agent", task="task 0.", depth=2**70))
    searching = calls(call("internal_search", queries=["Skerry Light"], n=-(2**64)))
    researcher = {"task 0.": [searching, REPORT, "Lit. [1]"]}
    graph = build_graph(checkpointer=tmp_path / "runs.sqlite")
    run = lab(tmp_path, graph=graph, orchestrator=[first, REPORT], researcher=researcher)
    state = await run.ask()
    assert [finding.ended for finding in in_order(state)] == ["done"]

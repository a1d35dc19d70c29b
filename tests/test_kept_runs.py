"""What was paid for is kept, however a run is stopped in its middle."""

from __future__ import annotations

from pathlib import Path

import pytest
from lab import lab
from openai_replies import fail
from wire import QUESTION
from wire_desk import wire_desk

from deep_research.app.embed import build_graph
from deep_research.app.stream import packets


@pytest.mark.fault(24)
def test_a_run_whose_credit_ends_in_its_report_is_kept_and_can_be_resumed_with_another_model(tmp_path: Path) -> None:
    refused = fail(429, "You exceeded your current quota", code="insufficient_quota")
    with wire_desk(tmp_path, writer=lambda _: refused) as wire:
        ended = wire.desk.call("ask", QUESTION, "--thread", "poor", "--yes")
        assert ended.code == 2
        assert "no credit is left" in ended.err
        assert "deep-research resume poor" in ended.err
        asked = len(wire.lab.models.requests)
        assert "3." in wire.desk.call("show", "poor").out
        again = wire.desk.call("resume", "poor", "--model", "extractive")
        assert again.code == 0, again.err
        assert "Skerry Light" in again.out
        assert len(wire.lab.models.requests) == asked


@pytest.mark.parametrize("after", ["deep_research_plan_start", "search_tool_start", "intermediate_report_start"])
@pytest.mark.behaviour("O-87")
def test_a_run_that_is_left_at_any_packet_goes_on_from_there(tmp_path: Path, after: str) -> None:
    graph = build_graph(checkpointer=tmp_path / "runs.sqlite")
    for number in range(3):
        context = lab(tmp_path).context
        for packet in packets(graph, "When was it lit?", f"left {number}", context=context):
            if packet.type == after:
                break
        last = list(packets(graph, None, f"left {number}", context=lab(tmp_path).context))[-1]
        # The script begins anew with the resumed run, so a researcher may search more often than it is told to.
        assert getattr(last, "stop_reason", "").startswith("completed")

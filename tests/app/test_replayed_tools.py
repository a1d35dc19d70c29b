"""Tool calls are told again as they were shown: with what bound the search, and in their places."""

from __future__ import annotations

from pathlib import Path

import pytest
from failing_store import FailingStore
from lab import QUESTION, REPORT, lab, research, search
from langgraph.checkpoint.memory import InMemorySaver
from openai_server import Received, Reply
from packet_check import merged, place_of
from random_runs import reasoned
from wire import END, hand_out, researched, wire_lab

from deep_research.app.embed import build_graph
from deep_research.app.stream import apackets, read_packet
from deep_research.core.run.events import packets as p


@pytest.mark.behaviour("O-88")
async def test_what_a_web_search_was_bound_to_is_told_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def in_one_round(request: Received) -> Reply:
        return END if "Found:" in request.prompt else hand_out("light")

    with wire_lab(
        tmp_path,
        monkeypatch,
        {"orchestrator": in_one_round, "researcher": researched},
        domains_allow=("127.0.0.1",),
        domains_deny=("evil.example",),
        published_after="2020-01-31",
    ) as wire:
        await wire.ask()
        again = await wire.replayed()
    told = [read_packet(packet) for packet in wire.packets]
    filters = [packet for packet in again if isinstance(packet, p.SearchToolFilters)]
    assert [(one.sources, one.excluded, one.time_start) for one in filters] == [
        (["127.0.0.1"], ["evil.example"], "2020-01-31")
    ]
    assert merged(again) == merged(told)


@pytest.mark.behaviour("O-88")
async def test_a_step_after_a_call_that_failed_keeps_its_place(tmp_path: Path) -> None:
    store = FailingStore()
    run = lab(
        tmp_path,
        graph=build_graph(checkpointer=InMemorySaver(), store=store),
        orchestrator=[research("light task"), REPORT],
        researcher=[search("Skerry Light"), store.losing(search("Ada Moran"), 1), reasoned("Lit. [1]", "I sum up.")],
    )
    told = [packet async for packet in apackets(run.graph, QUESTION, run.thread, context=run.context)]
    again = await run.replayed()
    (thought,) = [packet for packet in again if isinstance(packet, p.ReasoningDelta)]
    assert (thought.reasoning, place_of(thought)) == ("I sum up.", (1, 0, 2)), "the call that failed took step 1"
    assert {place: told for place, told in merged(again).items() if place[2] >= 0} == {
        place: said for place, said in merged(told).items() if place[2] >= 0
    }

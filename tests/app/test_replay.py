"""A stored run is told again as it happened."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from failing_store import FailingStore
from hypothesis import HealthCheck, Phase, given, settings
from lab import QUESTION, REPORT, Lab, lab, research, search, simple_research
from langgraph.checkpoint.memory import InMemorySaver
from packet_check import faults, merged, place_of
from random_runs import Script, reasoned, scripts

from deep_research.app.embed import build_graph
from deep_research.app.stream import apackets, areplay_thread, packets, replay, replay_thread
from deep_research.core.run.errors import UnknownThread
from deep_research.core.run.events import packets as p
from deep_research.core.run.events.packets import AnyPacket
from deep_research.state import ResearchState


async def live(run: Lab, message: Any = QUESTION) -> list[AnyPacket]:
    return [packet async for packet in apackets(run.graph, message, run.thread, context=run.context)]


def last(packets: list[AnyPacket]) -> tuple[str, bool]:
    stop = packets[-1]
    assert isinstance(stop, p.OverallStop)
    return stop.stop_reason, stop.is_resumable


@pytest.mark.slow
@pytest.mark.behaviour("O-88")
@settings(max_examples=15, phases=[Phase.generate], suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(script=scripts())
def test_a_stored_run_is_told_again_in_the_same_places(tmp_path: Path, script: Script) -> None:
    async def both() -> None:
        run = script.lab(tmp_path)
        streamed = await live(run)
        again = await run.replayed()
        assert merged(again) == merged(streamed)
        assert faults(again) == []

    asyncio.run(both())


async def test_a_question_back_is_told_again_while_it_waits_and_afterwards(tmp_path: Path) -> None:
    run = lab(tmp_path, clarifier=["Which light?"])
    await live(run)
    asked = await run.replayed()
    assert [packet.type for packet in asked] == ["message_start", "message_delta", "stop"]
    assert last(asked) == ("waiting_for_user", True)
    await live(run, "The Skerry Light")
    replayed = await run.replayed()
    assert [packet.type for packet in replayed[:3]] == ["message_start", "message_delta", "deep_research_plan_start"]
    assert last(replayed) == ("completed", False)


@pytest.mark.behaviour("O-88")
async def test_a_step_after_a_call_that_failed_keeps_its_place(tmp_path: Path) -> None:
    store = FailingStore()
    run = lab(
        tmp_path,
        graph=build_graph(checkpointer=InMemorySaver(), store=store),
        orchestrator=[research("light task"), REPORT],
        researcher=[search("Skerry Light"), store.losing(search("Ada Moran"), 1), reasoned("Lit. [1]", "I sum up.")],
    )
    streamed, again = await live(run), await run.replayed()
    (thought,) = [packet for packet in again if isinstance(packet, p.ReasoningDelta)]
    assert (thought.reasoning, place_of(thought)) == ("I sum up.", (1, 0, 2)), "the call that failed took step 1"
    assert {place: said for place, said in merged(again).items() if place[2] >= 0} == {
        place: said for place, said in merged(streamed).items() if place[2] >= 0
    }


async def test_a_run_that_was_stopped_is_told_as_far_as_it_went(tmp_path: Path) -> None:
    is_hanging = asyncio.Event()

    async def hangs(*_: Any) -> str:
        is_hanging.set()
        await asyncio.Event().wait()
        return ""

    assert [packet.type for packet in await replay(None, "t", ResearchState())] == ["stop"]
    run = lab(
        tmp_path,
        orchestrator=[research("light task"), research("keeper task", "harbour task"), REPORT],
        researcher={
            "light task": simple_research(),
            "keeper task": [search("Ada Moran"), hangs],
            "harbour task": simple_research(),
        },
    )
    task = asyncio.create_task(live(run))
    await is_hanging.wait()
    await run.until_finished()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    replayed = await run.replayed()
    assert last(replayed) == ("failed", True)
    assert faults(replayed, is_whole=False) == []
    places = {packet.type: place_of(packet) for packet in replayed if packet.placement.turn_index == 2}
    assert places["top_level_branching"] == (2, 0, -1)
    assert [packet.type for packet in replayed if place_of(packet) == (2, 0, -1)][-2:] == [
        "research_agent_title",
        "stop",
    ]
    assert places["intermediate_report_cited_docs"] == (2, 1, -1), "what a finished sibling found is there"


def test_an_app_names_the_thread(tmp_path: Path) -> None:
    run = lab(tmp_path, graph=build_graph(checkpointer=tmp_path / "runs.sqlite"))
    streamed = list(packets(run.graph, QUESTION, "light", context=run.context))
    again = list(replay_thread(run.graph, "light"))
    assert merged(again) == merged(streamed)

    async def once_more() -> list[AnyPacket]:
        return [packet async for packet in areplay_thread(run.graph, "light")]

    assert asyncio.run(once_more()) == again
    with pytest.raises(UnknownThread, match="'nobody'"):
        list(replay_thread(run.graph, "nobody"))

"""The stream of packets: typed, bracketed, alive in silence, and ended by exactly one stop, however the run ends."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from lab import PLAN, QUESTION, Lab, lab
from packet_check import faults
from random_runs import Script, scripts

from deep_research.app.embed import build_graph
from deep_research.app.stream import apackets
from deep_research.core.run.errors import NoPlan
from deep_research.core.run.events import packets as p
from deep_research.core.run.events.packets import AnyPacket, OverallStop, Placement


async def packets_of(run: Lab, message: Any = QUESTION, into: list[AnyPacket] | None = None) -> list[AnyPacket]:
    """All packets of a run, also where it raises: then they are in `into`."""
    heard = [] if into is None else into
    async for packet in apackets(run.graph, message, run.thread, context=run.context):
        heard.append(packet)
    return heard


def stop_of(heard: Sequence[AnyPacket]) -> OverallStop:
    """The stop, which has to be the only one and the last."""
    (stop,) = [packet for packet in heard if isinstance(packet, OverallStop)]
    assert heard[-1] is stop
    return stop


def stops(heard: Sequence[AnyPacket]) -> tuple[str, str, bool]:
    stop = stop_of(heard)
    return stop.stop_reason, stop.message, stop.is_resumable


@pytest.mark.slow
@pytest.mark.behaviour("O-71", "O-77", "O-78")
@settings(max_examples=15, phases=[Phase.generate], suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(script=scripts())
def test_whatever_a_run_does_its_stream_is_in_order(tmp_path: Path, script: Script) -> None:
    assert faults(asyncio.run(packets_of(script.lab(tmp_path)))) == []


@pytest.mark.behaviour("O-79")
async def test_a_run_that_ends_well_says_so(tmp_path: Path) -> None:
    assert stops(await packets_of(lab(tmp_path))) == ("completed", "", False)


@pytest.mark.behaviour("O-79")
async def test_a_run_that_fails_says_why_and_raises(tmp_path: Path) -> None:
    run, heard = lab(tmp_path, planner=["", "", PLAN]), list[AnyPacket]()
    with pytest.raises(NoPlan) as error:
        await packets_of(run, into=heard)
    assert stops(heard) == ("failed", str(error.value), True)
    assert stops(await packets_of(run, None))[0] == "completed"


@pytest.mark.fault("R19")
async def test_of_a_foreign_error_only_the_kind_is_told(tmp_path: Path) -> None:
    run, heard = lab(tmp_path, writer=[ValueError("sk-secret")], graph=build_graph(), clarify="off"), list[AnyPacket]()
    with pytest.raises(ValueError, match="sk-secret"):
        await packets_of(run, into=heard)
    assert stops(heard) == ("failed", "An error stopped the run (ValueError).", False)


@pytest.mark.fault(45)
@pytest.mark.behaviour("O-79")
async def test_a_cancelled_task_hears_the_stop_and_is_cancelled(tmp_path: Path) -> None:
    async def never(*_: Any) -> str:
        await asyncio.Event().wait()
        return PLAN

    run, heard = lab(tmp_path, planner=[never, PLAN]), list[AnyPacket]()
    task = asyncio.create_task(packets_of(run, into=heard))
    while not run.calls("planner"):
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert stops(heard) == ("user_cancelled", "", True)
    assert stops(await packets_of(run, None))[0] == "completed"


@pytest.mark.fault(45)
async def test_a_stream_that_is_closed_early_leaves_no_run_behind(tmp_path: Path) -> None:
    run = lab(tmp_path)
    before = asyncio.all_tasks()
    async with aclosing(apackets(run.graph, QUESTION, run.thread, context=run.context)) as heard:
        async for packet in heard:
            if isinstance(packet, p.PlanDelta):
                break
    assert asyncio.all_tasks() == before
    assert not run.calls("orchestrator")


@pytest.mark.behaviour("O-82")
async def test_silence_brings_heartbeats_and_nothing_is_lost_by_them(tmp_path: Path) -> None:
    async def slow(*_: Any) -> str:
        while len([packet for packet in heard if isinstance(packet, p.ChatHeartbeat)]) < 4:
            await asyncio.sleep(0.01)
        return PLAN

    heard = list[AnyPacket]()
    await packets_of(lab(tmp_path, planner=[slow], limits={"heartbeat_seconds": 0.05}), into=heard)
    # On a busy machine silence may come before the run's own first sign of life, which bears no time.
    beats = [packet for packet in heard if isinstance(packet, p.ChatHeartbeat)]
    assert beats[0] == heard[0]
    [first] = [beat for beat in beats if not beat.elapsed_seconds]
    elapsed = [beat.elapsed_seconds for beat in beats if beat is not first]
    assert elapsed == sorted(elapsed) and elapsed[0] > 0.04 and elapsed[-1] < stop_of(heard).elapsed_seconds
    assert {beat.placement for beat in beats} == {Placement(turn_index=0)}
    assert faults(heard) == []
    assert "".join(packet.content for packet in heard if isinstance(packet, p.PlanDelta)) == PLAN
    quick = await packets_of(lab(tmp_path))
    assert quick[0] == first
    assert [packet for packet in quick if isinstance(packet, p.ChatHeartbeat)] == [first]


@pytest.mark.fault(46)
async def test_a_finished_thread_that_is_asked_to_go_on_says_that_it_is_finished(tmp_path: Path) -> None:
    run = lab(tmp_path)
    await packets_of(run)
    assert [packet.type for packet in await packets_of(run, None)] == ["stop"]


async def test_the_check_of_streams_finds_what_is_wrong(tmp_path: Path) -> None:
    heard = await packets_of(lab(tmp_path))
    assert faults(heard) == []
    assert faults([*heard, heard[-1]])
    for kind in (p.SectionEnd, p.PlanStart, p.ResearchAgentStart, p.CitationInfo):
        assert faults([packet for packet in heard if not isinstance(packet, kind)])

"""The planned strategy tells every second of its work, by the clock that the run goes by."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from lab import PLAN, QUESTION, HandClock, Lab, lab

from deep_research.app.stream import apackets
from deep_research.app.words import GRAPHS
from deep_research.core.run.errors import NoPlan
from deep_research.core.run.events import packets as p
from deep_research.core.run.events.packets import AnyPacket


def timed(tmp_path: Path, clock: HandClock, **scripts: Any) -> Lab:
    """A run whose time is told: the stream goes by the graph's name, so that scripts of any graph do."""
    run = lab(tmp_path, clock=clock, **scripts)
    run.graph = run.graph.copy({"name": GRAPHS["planned"]})
    return run


async def stream_into(run: Lab, into: list[AnyPacket]) -> list[AnyPacket]:
    async for packet in apackets(run.graph, QUESTION, run.thread, context=run.context):
        into.append(packet)
    return into


def seconds(heard: list[AnyPacket]) -> list[float]:
    return [packet.elapsed_seconds for packet in heard if isinstance(packet, p.ElapsedTime)]


@pytest.mark.behaviour("A-09")
async def test_seconds_that_pass_at_once_are_told_one_by_one_before_what_follows_them(tmp_path: Path) -> None:
    clock = HandClock()
    run = timed(tmp_path, clock, planner=[clock.after(2.5, PLAN)], writer=[clock.after(0.6, "Lit in 1844. [1]")])
    heard = await stream_into(run, [])
    types = [packet.type for packet in heard if not isinstance(packet, p.CallFinished)]
    assert seconds(heard) == [1.0, 2.0, 3.0]
    plan, report = types.index("deep_research_plan_start"), types.index("message_start")
    assert types[plan - 2 : plan] == ["elapsed_time"] * 2
    assert types[report - 1] == "elapsed_time"
    assert getattr(heard[-1], "elapsed_seconds", None) == 3.1


@pytest.mark.behaviour("A-09", "A-80")
async def test_nothing_is_told_after_the_stop_of_a_run_that_fails_or_waits_or_is_cancelled(tmp_path: Path) -> None:
    clock = HandClock()
    failing = timed(tmp_path, clock, planner=[clock.after(1, ""), clock.after(1, "")])
    heard = list[AnyPacket]()
    with pytest.raises(NoPlan):
        await stream_into(failing, heard)
    assert [(packet.type, getattr(packet, "stop_reason", "")) for packet in heard[-1:]] == [("stop", "failed")]
    assert getattr(heard[-1], "elapsed_seconds", None) == 2.0
    heard = await stream_into(timed(tmp_path, clock, clarifier=[clock.after(4, "Which light?")]), [])
    assert (seconds(heard), getattr(heard[-1], "stop_reason", "")) == ([1.0, 2.0, 3.0, 4.0], "waiting_for_user")

    async def never(*_: Any) -> str:
        await asyncio.Event().wait()
        return PLAN

    run, heard, before = timed(tmp_path, clock, planner=[never]), list[AnyPacket](), asyncio.all_tasks()
    task = asyncio.create_task(stream_into(run, heard))
    while not run.calls("planner"):
        await asyncio.sleep(0)
    clock.time += 1
    while not seconds(heard):
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    clock.time += 10
    assert asyncio.all_tasks() == before
    assert [getattr(packet, "stop_reason", "") for packet in heard[-1:]] == ["user_cancelled"]
    assert seconds(heard) == [1.0]


async def test_the_orchestrated_strategy_keeps_silent_about_the_time(tmp_path: Path) -> None:
    clock = HandClock()
    heard = await stream_into(lab(tmp_path, clock=clock, planner=[clock.after(3, PLAN)]), [])
    assert seconds(heard) == []
    assert getattr(heard[-1], "elapsed_seconds", None) == 3.0

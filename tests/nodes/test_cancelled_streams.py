"""Whoever is cancelled while a run is told stays cancelled, wherever it stops reading."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from lab import PLAN, QUESTION, Lab, lab

from deep_research.app.stream import apackets
from deep_research.core.run.events.packets import OverallStop


@pytest.fixture
def run(tmp_path: Path) -> Lab:
    """A run whose planner never answers."""

    async def never(*_: Any) -> str:
        await asyncio.Event().wait()
        return PLAN

    return lab(tmp_path, planner=[never])


async def cancelled(task: asyncio.Task[Any], run: Lab) -> None:
    """Cancel the task once the planner was asked, and see that it is."""
    while not run.calls("planner"):
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 60)


@pytest.mark.parametrize("leaves", [True, False])
async def test_a_consumer_is_cancelled_where_it_waits_next_after_the_stop(run: Lab, leaves: bool) -> None:
    heard: list[str] = []

    async def consume() -> None:
        async for packet in apackets(run.graph, QUESTION, run.thread, context=run.context):
            if isinstance(packet, OverallStop):
                heard.append(packet.stop_reason)
                if leaves:
                    break
                await asyncio.sleep(0.01)
        await asyncio.sleep(0.01)
        heard.append("went on")

    task = asyncio.create_task(consume())
    await cancelled(task, run)
    assert heard == ["user_cancelled"]
    assert task.cancelling() == 1, "it was asked once"


async def test_a_consumer_that_is_cancelled_once_can_clean_up_in_peace(run: Lab) -> None:
    cleaned: list[bool] = []

    async def consume() -> None:
        try:
            async for _ in apackets(run.graph, QUESTION, run.thread, context=run.context):
                pass
        finally:
            await asyncio.sleep(0.01)
            cleaned.append(True)

    await cancelled(asyncio.create_task(consume()), run)
    assert cleaned == [True]


async def test_a_deadline_of_the_consumer_is_seen_by_it(run: Lab) -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.2):
            async with aclosing(apackets(run.graph, QUESTION, run.thread, context=run.context)) as running:
                async for packet in running:
                    if isinstance(packet, OverallStop):
                        break


async def test_a_deadline_that_the_consumer_has_left_behind_cancels_nothing_else(run: Lab) -> None:
    async with asyncio.timeout(0.2) as deadline:
        async for packet in apackets(run.graph, QUESTION, run.thread, context=run.context):
            if isinstance(packet, OverallStop):
                break
    assert deadline.expired()
    await asyncio.sleep(0.01)

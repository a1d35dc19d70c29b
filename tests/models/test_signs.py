"""A run says how its model calls stand: what arrives, and that nothing does."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from kit.runs import REPORT, HandClock, lab, search
from langchain_core.messages import AIMessageChunk

from deep_research.core.events.call import CallEvents
from deep_research.core.events.log import Emitter
from deep_research.core.events.packets import Placement
from deep_research.core.models._signs import Signs
from deep_research.core.models._wrapping import Assembly


async def test_a_silent_model_is_reported_until_it_answers(tmp_path: Path) -> None:
    clock = HandClock()

    async def slow(*_: Any) -> str:
        for seconds, reports in ((25, 0), (6, 1), (9, 1), (2, 2)):
            clock.time += seconds
            while len(run.of_type("call_pending")) < reports:
                await asyncio.sleep(0)
        return "It was lit in 1844. [1]"

    run = lab(tmp_path, clock=clock, researcher=[search("Skerry Light"), REPORT, slow])
    await run.ask()
    progress = run.of_type("call_pending")
    assert [(packet["silent_seconds"], packet["words"] > 0) for packet in progress] == [
        (31.0, False),
        (42.0, False),
        (0, True),
    ]
    assert {packet["placement"]["tab_index"] for packet in progress} == {0}


async def test_what_has_arrived_of_a_long_answer_is_counted_every_other_second() -> None:
    clock, sent = HandClock(), list[Any]()
    signs = Signs(clock, CallEvents(Emitter(sent.append), Placement(turn_index=2, tab_index=1)))
    answer = Assembly()
    for seconds, words in (
        (1, "It was lit "),
        (1, "in 1844. [1] "),
        (1, "Moran kept it. [2] [3, 4]"),
    ):
        clock.time += seconds
        answer.add(AIMessageChunk(content=words))
        signs.receive(answer)
    clock.time += 1
    answer.add(AIMessageChunk(content="."))
    signs.receive(answer)
    assert [(packet["words"], packet["facts"]) for packet in sent] == [(6, 1), (12, 2)]


async def test_a_wait_is_reported_once_more_for_clients_that_have_connected_meanwhile() -> None:
    clock, sent = HandClock(), list[Any]()
    signs = Signs(clock, CallEvents(Emitter(sent.append), Placement(turn_index=0)))
    async with signs.watched():
        for seconds in (45, 2):
            signs.on_wait(seconds, "the provider asks to wait")
            await asyncio.sleep(0)
            clock.time += 3
            await asyncio.sleep(0)
            await asyncio.sleep(0)
    assert [packet["seconds"] for packet in sent] == [45, 42, 2]

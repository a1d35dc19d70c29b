"""The time of a researcher is all that passes while it works, whatever it waits for and however it ends."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from failing_store import HASH
from lab import REPORT, HandClock, in_order, lab, research, search
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.base import GetOp
from langgraph.store.memory import InMemoryStore

from deep_research.app.embed import build_graph


async def test_a_researcher_whose_decision_fails_late_has_only_the_rest_of_its_time(tmp_path: Path) -> None:
    clock = HandClock()

    async def slow(*_: Any) -> str:
        await asyncio.Event().wait()
        return ""

    failing = clock.after(1799.8, ValueError("late"))
    run = lab(tmp_path, clock=clock, researcher=[search("Skerry Light"), failing, slow])
    state = await run.ask()
    [finding] = state.findings.values()
    assert finding.reason == "its time was over (researcher_seconds_hard)"
    assert finding.seconds == pytest.approx(1799.8)
    assert state.run and state.run.active_seconds == pytest.approx(1799.8), "counted once"


class SlowTexts(InMemoryStore):
    """Takes two seconds for each text that is read."""

    def __init__(self, clock: HandClock) -> None:
        super().__init__()
        self.clock = clock

    async def abatch(self, ops: Any) -> Any:
        wanted = list(ops)
        self.clock.time += sum(2 for op in wanted if isinstance(op, GetOp) and len(op.key) == HASH)
        return await super().abatch(wanted)


@pytest.mark.parametrize("last", ["Lit in 1844. [1]", ValueError("x")])
async def test_what_a_researcher_waits_for_before_it_asks_its_model_is_its_time_too(tmp_path: Path, last: Any) -> None:
    """Nothing else takes time here."""
    clock, ends = HandClock(), list[float]()

    def end(*_: Any) -> Any:
        ends.append(clock.time)
        return last

    graph = build_graph(checkpointer=InMemorySaver(), store=SlowTexts(clock))
    run = lab(tmp_path, graph=graph, clock=clock, researcher=[search("Skerry Light"), REPORT, end])
    [finding] = (await run.ask()).findings.values()
    assert [finding.seconds] == ends
    assert finding.seconds > 0


async def test_researchers_side_by_side_take_the_time_of_the_longest_and_rounds_add_up(tmp_path: Path) -> None:
    clock, is_writing = HandClock(), asyncio.Event()

    async def short(*_: Any) -> str:
        await is_writing.wait()
        clock.time += 4
        return "Lit in 1844. [1]"

    async def long(*_: Any) -> str:
        is_writing.set()
        await run.until_finished()
        clock.time += 3
        return "It stands 38 metres tall. [1]"

    run = lab(
        tmp_path,
        clock=clock,
        orchestrator=[research("short task.", "long task."), research("further task."), REPORT],
        researcher={
            "short task.": [search("Skerry Light"), REPORT, short],
            "long task.": [search("Skerry Light"), REPORT, long],
            "further task.": [search("Ada Moran"), REPORT, clock.after(2, "Kept by Ada Moran. [1]")],
        },
    )
    state = await run.ask()
    assert [finding.seconds for finding in in_order(state)] == [4, 7, 2]
    assert state.run and state.run.active_seconds == clock.time == 9

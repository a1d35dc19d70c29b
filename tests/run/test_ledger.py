"""What nodes have paid and worked that then failed is known to those that go on."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest
from lab import PLAN, HandClock, lab
from langchain_core.messages import AIMessage
from langgraph.store.memory import InMemoryStore
from openai_replies import Reply, fail
from openai_server import Received
from wire import FACTS, is_right, plain_run, task_of, wire_lab

from deep_research.core.records.research import Spent
from deep_research.core.run.errors import ModelFailed, NoPlan, NoReport, RateLimited, SearchFailed
from deep_research.core.run.spending import Bill, recorded, total, unsettled_costs
from deep_research.core.run.store.pages import Pages

pytestmark = pytest.mark.slow

Patch = pytest.MonkeyPatch


async def test_what_failed_before_counts_for_the_limits_of_the_run(tmp_path: Path) -> None:
    usage = {"input_tokens": 1_000_000, "output_tokens": 1, "total_tokens": 1_000_001}
    dear = AIMessage("", usage_metadata=usage)
    run = lab(tmp_path, planner=[dear, dear, PLAN], writer=["Nothing. "], limits={"max_tokens": 100_000})
    with pytest.raises(NoPlan):
        await run.ask()
    state = await run.ask(None)
    assert run.calls("orchestrator") == []
    assert state.run and "max_tokens was reached" in state.run.stop_reason


async def test_time_that_was_lost_counts_for_the_limit_of_the_run(tmp_path: Path) -> None:
    clock = HandClock()
    planner = [clock.after(2000, ""), "", PLAN]
    run = lab(tmp_path, clock=clock, planner=planner, writer=[clock.after(50, ""), "", "Nothing. "])
    with pytest.raises(NoPlan):
        await run.ask()
    with pytest.raises(NoReport):
        await run.ask(None)
    waiting = await run.state()
    assert run.calls("orchestrator") == []
    assert waiting.run and "max_seconds" in waiting.run.stop_reason
    assert sum(spent.role == "planner" for spent in waiting.spending.values()) == 3, "before the report is written"
    state = await run.ask(None)
    assert state.run and state.run.active_seconds == 2050


async def test_searches_of_a_run_that_had_to_stop_count(tmp_path: Path, monkeypatch: Patch) -> None:
    with wire_lab(tmp_path, monkeypatch) as wire:
        with monkeypatch.context() as without:
            without.setenv("TAVILY_BASE_URL", "http://127.0.0.1:9")
            await wire.fail(SearchFailed)
        state = await wire.ask(None)
        assert is_right(wire, state)
        assert len(wire.engine.requests) == len(FACTS)
    assert total(state.spending).searches > len(FACTS)


class SlowStore(InMemoryStore):
    """A store that lets others go first."""

    async def abatch(self, ops: Any) -> Any:
        await asyncio.sleep(0)
        return await super().abatch(ops)


async def test_all_that_fail_at_once_are_noted_down() -> None:
    pages = Pages(SlowStore(), "thread")

    async def fail_with(number: int) -> None:
        bill = Bill(seconds=number)
        async with recorded(pages, "q", bill):
            bill.add(Spent(role="planner", input_tokens=number))
            await asyncio.sleep(0)
            raise ValueError

    await asyncio.gather(*(fail_with(number) for number in range(10)), return_exceptions=True)
    lost = await unsettled_costs(pages, "q")
    assert sorted(spent.input_tokens for spent in lost.costs.values()) == list(range(10))
    assert lost.seconds == 45
    assert await unsettled_costs(pages, "another") == ({}, 0.0)


@pytest.mark.fault(3)
async def test_researchers_that_must_wait_have_one_budget_also_once_it_is_used_up(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    plain = plain_run()["researcher"]
    assert callable(plain)
    asked = {task: [threading.Event(), threading.Event()] for task in FACTS}
    before = {"keeper": "light", "harbour": "keeper"}

    def busy(request: Received) -> Reply:
        """The second and the third come to their limit only when the one before has given up."""
        task = task_of(request)
        is_first = not asked[task][0].is_set()
        asked[task][0 if is_first else 1].set()
        if task == "light" or not is_first:
            return fail(429, "Slow down.", retry_after=0.9)
        assert asked[before[task]][1].wait(60)
        return plain(request)

    with wire_lab(tmp_path, monkeypatch, {"researcher": busy}, limits={"retry_seconds": 1.0}) as wire:
        await wire.fail(RateLimited)
        assert [wait["seconds"] for wait in wire.of_type("call_delayed")] == [0.9]


@pytest.mark.fault(2)
@pytest.mark.parametrize("status", [429, 503])
async def test_a_trial_that_must_wait_has_a_whole_budget_when_the_run_goes_on(
    tmp_path: Path, monkeypatch: Patch, status: int
) -> None:
    busy = iter([fail(status, "Slow down.", retry_after=0.8)] * 3)
    plain = plain_run()["trial"]
    assert callable(plain)
    script = {"trial": lambda request: next(busy, None) or plain(request)}
    with wire_lab(tmp_path, monkeypatch, script, tool_calls="auto", limits={"retry_seconds": 1.0}) as wire:
        await wire.fail(RateLimited if status == 429 else ModelFailed)
        assert is_right(wire, await wire.ask(None))

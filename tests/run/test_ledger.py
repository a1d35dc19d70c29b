"""What nodes have paid and worked that then failed is known to those that go on."""

from __future__ import annotations

from pathlib import Path

import pytest
from lab import PLAN, HandClock, lab
from langchain_core.messages import AIMessage
from openai_replies import fail
from wire import FACTS, is_right, plain_run, wire_lab

from deep_research.core.run.errors import NoPlan, NoReport, RateLimited, SearchFailed
from deep_research.core.run.spending import total

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


@pytest.mark.fault(8)
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


@pytest.mark.fault(2, logs="WARNING app.embed")
async def test_a_trial_that_must_wait_has_a_whole_budget_when_the_run_goes_on(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    busy = iter([fail(429, "Slow down.", retry_after=0.8)] * 3)
    plain = plain_run()["trial"]
    assert callable(plain)
    script = {"trial": lambda request: next(busy, None) or plain(request)}
    with wire_lab(tmp_path, monkeypatch, script, tool_calls="auto", limits={"retry_seconds": 1.0}) as wire:
        await wire.fail(RateLimited)
        assert is_right(wire, await wire.ask(None))

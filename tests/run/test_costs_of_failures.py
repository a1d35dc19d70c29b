"""Calls that fail are charged as well: each lab compares the costs in packets with those in the
state."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from kit.openai_server import Reply, fail, say
from kit.runs import PLAN, HandClock, Hanging, lab, stopped_at
from kit.wire import END, hand_out, is_right, plain_run, wire_lab
from langchain_core.messages import AIMessage

from deep_research.core.errors import NoPlan, NoReport, RateLimited
from deep_research.state import ResearchState

pytestmark = pytest.mark.slow

Patch = pytest.MonkeyPatch


def entries(state: ResearchState, role: str) -> int:
    """The number of the role's calls in the state's spending."""
    return sum(spent.role == role for spent in state.spending.values())


async def test_costs_before_a_cancellation_are_recorded(tmp_path: Path) -> None:
    """The planner's first call has ended, and the run is stopped during its second."""
    call = Hanging()
    run = lab(tmp_path, planner=["", call, PLAN])
    await stopped_at(run, call.is_begun)
    # The packet of the first call did not arrive.
    run.books = None
    assert entries(await run.ask(None), "planner") == 2


async def test_a_broken_attempt_and_its_retry_are_both_charged(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    tries = iter(["cut"])

    def orchestrator(request: Any) -> Reply:
        if "Found:" in request.prompt:
            return END
        thought = "First I look at the light and then at the keeper and last at the harbour."
        whole = Reply(reasoning=thought, calls=hand_out("light", "keeper", "harbour").calls)
        return replace(whole, ending="cut", after=6) if next(tries, "") == "cut" else whole

    with wire_lab(tmp_path, monkeypatch, {"orchestrator": orchestrator}) as wire:
        state = await wire.ask()
        assert is_right(wire, state)
        assert entries(state, "orchestrator") == 3
    [first, *_] = wire.thoughts()
    before, _, after = first.partition("\n\n")
    assert after.startswith("First I look at the light")
    assert after.startswith(before.rstrip()), "the repeated thought is a paragraph of its own"


@pytest.mark.parametrize("ending", ["refused", "cut"])
async def test_a_failed_continuation_keeps_the_report_so_far(
    tmp_path: Path, monkeypatch: Patch, ending: str
) -> None:
    calls = iter([say("The Skerry Light was lit. [1] " * 20, finish="length")])
    fails = (
        Reply(refusal="No.")
        if ending == "refused"
        else Reply(text="and so on and on [2]", ending="cut", after=3)
    )
    with wire_lab(tmp_path, monkeypatch, {"writer": lambda _: next(calls, fails)}) as wire:
        state = await wire.ask()
        # A refusal may be a coincidence, or due to one or all of the three findings. A broken
        # stream is continued once.
        calls_made = 7 if ending == "refused" else 3
        assert wire.asked()["writer"] == calls_made
    assert state.report and state.report.text.startswith("The Skerry Light was lit. [1]")
    assert state.run and state.run.status == "completed_with_gaps"
    assert (
        "report_tokens" in state.run.stop_reason and "continuing it failed" in state.run.stop_reason
    )
    assert state.run.stop_reason in state.messages[-1].text
    assert entries(state, "writer") == calls_made


async def test_failed_calls_count_towards_the_limits_of_the_run(tmp_path: Path) -> None:
    usage = {"input_tokens": 1_000_000, "output_tokens": 1, "total_tokens": 1_000_001}
    dear = AIMessage("", usage_metadata=usage)
    run = lab(
        tmp_path, planner=[dear, dear, PLAN], writer=["Nothing. "], limits={"max_tokens": 100_000}
    )
    with pytest.raises(NoPlan):
        await run.ask()
    state = await run.ask(None)
    assert run.calls("orchestrator") == []
    assert state.run and "max_tokens was reached" in state.run.stop_reason


@pytest.mark.fault(8)
async def test_lost_time_counts_towards_the_time_limit_of_the_run(tmp_path: Path) -> None:
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
    assert sum(spent.role == "planner" for spent in waiting.spending.values()) == 3, (
        "before the report is written"
    )
    state = await run.ask(None)
    assert state.run and state.run.active_seconds == 2050


@pytest.mark.fault(2, logs="WARNING app.embed")
async def test_a_resumed_run_has_a_full_retry_budget_for_its_trial(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    busy = iter([fail(429, "Slow down.", retry_after=0.8)] * 3)
    plain = plain_run()["trial"]
    assert callable(plain)
    script = {"trial": lambda request: next(busy, None) or plain(request)}
    with wire_lab(
        tmp_path, monkeypatch, script, tool_calls="auto", limits={"retry_seconds": 1.0}
    ) as wire:
        await wire.fail(RateLimited)
        assert is_right(wire, await wire.ask(None))

"""What calls cost that brought nothing: each lab compares the packets with the state once there is a report."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from lab import PLAN, lab
from openai_replies import Reply, say
from wire import END, hand_out, is_right, wire_lab

from deep_research.state import ResearchState

pytestmark = pytest.mark.slow

Patch = pytest.MonkeyPatch


def entries(state: ResearchState, role: str) -> int:
    """Calls of the role that were booked."""
    return sum(spent.role == role for spent in state.spending.values())


async def test_what_a_run_has_paid_before_it_is_stopped_is_booked(tmp_path: Path) -> None:
    """The first of two calls of the plan has ended when the run is stopped within the second."""
    started = asyncio.Event()

    async def never(*_: Any) -> str:
        started.set()
        await asyncio.Event().wait()
        return ""

    run = lab(tmp_path, planner=["", never, PLAN])
    task = asyncio.create_task(run.ask())
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    # The packet of the first call was under way.
    run.books = None
    assert entries(await run.ask(None), "planner") == 2


async def test_a_try_that_breaks_off_has_its_price_and_so_has_the_next(tmp_path: Path, monkeypatch: Patch) -> None:
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
    assert after.startswith(before.rstrip()), "what was thought twice stands apart"


@pytest.mark.parametrize("ending", ["refused", "cut"])
async def test_a_continuation_that_fails_leaves_the_report_that_was_paid_for(
    tmp_path: Path, monkeypatch: Patch, ending: str
) -> None:
    calls = iter([say("The Skerry Light was lit. [1] " * 20, finish="length")])
    fails = Reply(refusal="No.") if ending == "refused" else Reply(text="and so on and on [2]", ending="cut", after=3)
    with wire_lab(tmp_path, monkeypatch, {"writer": lambda _: next(calls, fails)}) as wire:
        state = await wire.ask()
        # A refusal may be one of chance, or due to any of the three findings, or to all of them.
        # A stream that breaks is continued once.
        calls_made = 7 if ending == "refused" else 3
        assert wire.asked()["writer"] == calls_made
    assert state.report and state.report.text.startswith("The Skerry Light was lit. [1]")
    assert state.run and state.run.status == "completed_with_gaps"
    assert "report_tokens" in state.run.stop_reason and "going on with it failed" in state.run.stop_reason
    assert state.run.stop_reason in state.messages[-1].text
    assert entries(state, "writer") == calls_made

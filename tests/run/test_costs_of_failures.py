"""What calls cost that brought nothing: each lab compares the packets with the state once there is a report."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from lab import PLAN, REPORT, lab, research, search
from openai_replies import Reply, fail, say, use
from wire import END, hand_out, is_right, plain_run, search_for, tool_results, wire_lab

from deep_research.core.run.errors import ContentRefused, ModelFailed, NoPlan, NoReport, ToolsMissing
from deep_research.core.run.spending import total
from deep_research.state import ResearchState

pytestmark = pytest.mark.slow

Patch = pytest.MonkeyPatch


def entries(state: ResearchState, role: str) -> int:
    """Calls of the role that were booked."""
    return sum(spent.role == role for spent in state.spending.values())


@pytest.mark.parametrize(("role", "kind"), [("planner", NoPlan), ("writer", NoReport)])
async def test_what_a_failed_node_has_paid_is_booked_when_the_run_goes_on(
    tmp_path: Path, role: str, kind: type[Exception]
) -> None:
    replies: Any = {"planner": ["", "", PLAN], "writer": ["", "", "Lit in 1844. [1]"]}[role]
    run = lab(tmp_path, **{role: replies})
    with pytest.raises(kind):
        await run.ask()
    assert entries(await run.state(), role) == 0
    assert entries(await run.ask(None), role) == 3


async def test_a_finding_that_is_empty_twice_has_its_price(tmp_path: Path) -> None:
    run = lab(tmp_path, researcher=[search("Skerry Light"), REPORT, "", ""])
    state = await run.ask()
    assert entries(state, "researcher") == 4
    [finding] = state.findings.values()
    assert finding.failures == ("its model wrote nothing",)


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


async def test_a_researcher_that_is_cut_keeps_its_thought_and_its_price(tmp_path: Path, monkeypatch: Patch) -> None:
    stalled = Reply(
        reasoning="I wonder where to look first and last.",
        calls=(("web_search", {"queries": ["x"]}),),
        ending="stall",
        after=4,
    )
    script = {
        "researcher": lambda request: stalled if tool_results(request) else search_for("light"),
        "finding": lambda _: say("Found: nothing. [1]", reasoning="I sum up."),
        "orchestrator": lambda request: END if "Found:" in request.prompt else hand_out("light"),
    }
    # Two seconds for the thought, however slow the machine is, and forty for the finding.
    limits = {"researcher_seconds_hard": 42, "writing_share": 40 / 42}
    with wire_lab(tmp_path, monkeypatch, script, limits=limits) as wire:
        state, told = await wire.ask(), await wire.replayed()
    [finding] = state.findings.values()
    assert (finding.ended, finding.reason) == ("partial", "its time was over (researcher_seconds_hard)")
    steps = {one.placement.sub_turn_index: one.reasoning for one in told if one.type == "reasoning_delta"}
    assert steps[2] == "I sum up."
    assert "I wonder".startswith(steps[1][:5])
    assert entries(state, "researcher") == 3
    assert 1.9 <= finding.seconds < 42


async def test_a_thought_that_breaks_off_has_a_place_of_its_own(tmp_path: Path, monkeypatch: Patch) -> None:
    """The wire lab sees to it that no place is used twice."""
    broken = Reply(reasoning="I wonder where to look first and last.", calls=END.calls, ending="cut", after=4)
    script = {
        "researcher": lambda request: broken if tool_results(request) else search_for("light"),
        "finding": lambda _: say("Found: nothing. [1]", reasoning="I sum up."),
        "orchestrator": lambda request: END if "Found:" in request.prompt else hand_out("light"),
    }
    with wire_lab(tmp_path, monkeypatch, script, limits={"max_retries": 0}) as wire:
        state = await wire.ask()
    [finding] = state.findings.values()
    assert (finding.ended, len(finding.failures)) == ("partial", 1)
    assert entries(state, "researcher") == 3


async def test_a_trial_is_waited_for_told_and_paid_like_any_call(tmp_path: Path, monkeypatch: Patch) -> None:
    busy = iter([fail(429, "Slow down.", retry_after=0.2), fail(503, "Loading.")])
    script = {"trial": lambda _: next(busy, None) or use(("save_word", {"word": "amber"}))}
    settings: dict[str, Any] = {"tool_calls": "auto", "prices": {"fake-1": (1.0, 1.0)}}
    with wire_lab(tmp_path, monkeypatch, script, **settings) as wire:
        state = await wire.ask()
        assert is_right(wire, state)
        assert [wait["reason"] for wait in wire.of_type("call_delayed")][:1] == ["the provider asks to wait (HTTP 429)"]
        assert wire.asked()["trial"] == 3
    spent = total(state.spending)
    assert spent.calls == len(wire.requests()) - 2
    assert spent.usd == pytest.approx(spent.tokens / 1e6)


async def test_trials_that_find_no_way_are_paid_when_the_run_goes_on(tmp_path: Path, monkeypatch: Patch) -> None:
    with wire_lab(tmp_path, monkeypatch, {"trial": lambda _: say("I will not.")}, tool_calls="auto") as wire:
        await wire.fail(ToolsMissing)
        tried = wire.asked()["trial"]
        wire.script["trial"] = plain_run()["trial"]
        state = await wire.ask(None)
        assert is_right(wire, state)
        assert total(state.spending).calls == len(wire.requests())
        assert tried >= 4


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


async def test_the_first_words_of_a_report_that_breaks_off_are_no_report(tmp_path: Path, monkeypatch: Patch) -> None:
    script = {"writer": lambda _: Reply(text="and so on and on [2]", ending="cut", after=3)}
    with wire_lab(tmp_path, monkeypatch, script) as wire:
        await wire.fail(ModelFailed)
        wire.script["writer"] = lambda _: Reply(refusal="No.")
        await wire.fail(ContentRefused, None)
        wire.script["writer"] = plain_run()["writer"]
        assert is_right(wire, await wire.ask(None))


async def test_both_calls_of_a_finding_share_the_time_that_is_left(tmp_path: Path) -> None:
    async def slow(*_: Any) -> str:
        await asyncio.sleep(0.4)
        return ""

    run = lab(
        tmp_path,
        orchestrator=[research("light task"), REPORT, REPORT],
        researcher=[search("Skerry Light"), REPORT, slow, slow],
        limits={"researcher_seconds_hard": 0.6},
    )
    [finding] = (await run.ask()).findings.values()
    assert "researcher_seconds_hard" in finding.reason

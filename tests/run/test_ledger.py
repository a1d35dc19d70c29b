"""What nodes have paid and worked that then failed is known to those that go on."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest
from lab import PLAN, REPORT, HandClock, lab, many, research, search
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from openai_replies import Reply, fail
from openai_server import Received
from wire import END, FACTS, hand_out, is_right, plain_run, task_of, wire_lab

from deep_research.app.embed import build_graph
from deep_research.core.records.research import Run, Spent
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


async def test_the_time_of_a_node_that_failed_counts_once(tmp_path: Path) -> None:
    clock = HandClock()
    planner = [clock.after(100, ""), clock.after(100, ""), clock.after(10, PLAN)]
    run = lab(
        tmp_path, clock=clock, planner=planner, orchestrator=[*[research("task 0.")] * 2, REPORT], researcher=many(1)
    )
    with pytest.raises(NoPlan):
        await run.ask()
    state = await run.ask(None)
    assert state.run and state.run.active_seconds == 210


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


async def test_what_was_lost_is_in_the_state_before_the_report_is_written(tmp_path: Path) -> None:
    run = lab(tmp_path, planner=["", "", PLAN], writer=["", "", "Lit in 1844. [1]"])
    with pytest.raises(NoPlan):
        await run.ask()
    with pytest.raises(NoReport):
        await run.ask(None)
    assert sum(spent.role == "planner" for spent in (await run.state()).spending.values()) == 3


async def test_an_orchestrator_that_breaks_off_is_paid(tmp_path: Path, monkeypatch: Patch) -> None:
    thinking = Reply(reasoning="I look at the light and then at the keeper.", calls=END.calls, ending="cut", after=6)
    with wire_lab(tmp_path, monkeypatch, {"orchestrator": lambda _: thinking}, limits={"max_retries": 1}) as wire:
        await wire.fail(ModelFailed)
        wire.script["orchestrator"] = plain_run()["orchestrator"]
        state = await wire.ask(None)
        assert is_right(wire, state)
        assert sum(spent.role == "orchestrator" for spent in state.spending.values()) == wire.asked()["orchestrator"]


async def test_searches_of_a_run_that_had_to_stop_count(tmp_path: Path, monkeypatch: Patch) -> None:
    with wire_lab(tmp_path, monkeypatch) as wire:
        with monkeypatch.context() as without:
            without.setenv("TAVILY_BASE_URL", "http://127.0.0.1:9")
            await wire.fail(SearchFailed)
        state = await wire.ask(None)
        assert is_right(wire, state)
        assert len(wire.engine.requests) == len(FACTS)
    assert total(state.spending).searches > len(FACTS)


class ForgetfulStore(InMemoryStore):
    """A store that cannot keep what was owed."""

    async def abatch(self, ops: Any) -> Any:
        wanted = list(ops)
        if any("costs of" in str(getattr(op, "key", "")) for op in wanted):
            raise OSError("disk full")
        return await super().abatch(wanted)


async def test_a_ledger_that_cannot_be_written_hides_no_error(tmp_path: Path) -> None:
    run = lab(tmp_path, graph=build_graph(checkpointer=InMemorySaver(), store=ForgetfulStore()), planner=["", ""])
    with pytest.raises(NoPlan):
        await run.ask()


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


async def test_the_seconds_that_were_lost_are_added_once() -> None:
    pages = Pages(InMemoryStore(), "thread")
    run = Run(id="q", question="?", date="", language="", is_resumable=True, version="0", active_seconds=5)
    for lost in (3.0, 4.0):
        with pytest.raises(ValueError, match="x"):
            async with recorded(pages, "q", Bill(seconds=lost)):
                raise ValueError("x")
        settled = (await unsettled_costs(pages, "q")).settled(run)
        assert (await unsettled_costs(pages, "q")).settled(settled) == settled
        run = settled
    assert run.active_seconds == 12


async def test_a_limit_that_was_raised_is_not_named_in_the_report(tmp_path: Path) -> None:
    run = lab(
        tmp_path,
        orchestrator=[research("task 0."), research("task 1."), REPORT],
        researcher=many(2),
        writer=["", "", "Lit in 1844. [1]"],
        limits={"max_cycles": 2},
    )
    with pytest.raises(NoReport):
        await run.ask()
    assert "max_cycles" in str((await run.state()).run)
    run.settings["limits"] = {"max_cycles": 8}
    state = await run.ask("And the harbour, please.")
    assert state.run and (state.run.stop_reason, state.run.status) == ("", "completed")


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


async def test_a_trial_that_breaks_off_has_its_price(tmp_path: Path, monkeypatch: Patch) -> None:
    plain = plain_run()["trial"]
    assert callable(plain)
    tries = iter(["cut"])

    def trial(request: Received) -> Reply:
        calls = plain(request).calls
        thought = "I ponder at great length what the word may be and why."
        return Reply(reasoning=thought, calls=calls, ending="cut", after=6) if next(tries, "") else Reply(calls=calls)

    with wire_lab(tmp_path, monkeypatch, {"trial": trial}, tool_calls="auto") as wire:
        state = await wire.ask()
        assert is_right(wire, state)
        assert total(state.spending).calls == len(wire.requests())


async def test_thoughts_before_and_after_a_refusal_stand_apart(tmp_path: Path, monkeypatch: Patch) -> None:
    answers = iter([Reply(reasoning="First thought.", finish="content_filter")])

    def orchestrator(request: Received) -> Reply:
        if "Found:" not in request.prompt:
            return hand_out(*FACTS)
        return next(answers, Reply(reasoning="Second thought.", calls=END.calls))

    with wire_lab(tmp_path, monkeypatch, {"orchestrator": orchestrator}) as wire:
        assert is_right(wire, await wire.ask())
        assert "First thought.\n\nSecond thought." in wire.thoughts()


class ModelRateLimitError(Exception):
    """As LangChain names it."""


async def test_what_a_researcher_has_paid_counts_though_it_is_not_gone_on_with(tmp_path: Path) -> None:
    """A new message begins the round anew; what the one that had to stop had cost is not forgotten."""
    researcher = many(1) | {"task 1.": [search("Skerry Light"), ModelRateLimitError("x")]}
    limits = {"retry_seconds": 0.0}
    orchestrator = [research("task 0.", "task 1."), REPORT, REPORT]
    run = lab(tmp_path, orchestrator=orchestrator, writer=["Nothing."], limits=limits, researcher=researcher)
    with pytest.raises(RateLimited):
        await run.ask()
    state = await run.ask("And the harbour?")
    assert total(state.spending).searches == 2


async def test_time_that_was_lost_is_not_forgotten_with_the_store(tmp_path: Path) -> None:
    clock, saver = HandClock(), InMemorySaver()
    planner = [clock.after(2000, ""), "", PLAN]
    run = lab(
        tmp_path, graph=build_graph(checkpointer=saver), clock=clock, planner=planner, writer=["", "", "Lit. [1]"]
    )
    with pytest.raises(NoPlan):
        await run.ask()
    with pytest.raises(NoReport):
        await run.ask(None)
    run.graph, run.books = build_graph(checkpointer=saver), None
    state = await run.ask(None)
    assert state.run and state.run.active_seconds == 2000

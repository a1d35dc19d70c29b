"""What breaks apart from the forms: the plan, the report, the store, the clock; and what is paid for again after it."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from failing_store import FailingStore
from lab import QUESTION, HandClock
from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.base import PutOp
from langgraph.store.memory import InMemoryStore
from planned_lab import RULES, PlannedLab, Rule, finished, plan, planned_lab, step, verdict
from planned_rules import First, after, failing, new_each_time, of_task

from deep_research.app.embed import build_graph, thread_config
from deep_research.core.run.errors import NoPlan, NoReport, RateLimited

LIGHT, KEEPER = "Skerry Light", "Ada Moran keeper"
TWO = plan(step(LIGHT), step(KEEPER))
WORDS: Rule = lambda _: "I would rather talk."  # noqa: E731 - a rule
GONE = failing(OSError("gone"))


def asked(run: PlannedLab) -> list[str]:
    """The forms that were asked for, in order."""
    return [asked.form for asked in run.model.asked]


@pytest.mark.behaviour("A-84")
@pytest.mark.parametrize(("failure", "kind", "times"), [(WORDS, NoPlan, 2), (GONE, OSError, 1)])
async def test_without_a_plan_the_run_stops_and_what_came_before_is_not_paid_again(
    tmp_path: Path, failure: Rule, kind: type[Exception], times: int
) -> None:
    rules: dict[str, Rule] = {"generate_plan": lambda _: "Which light?", "make_plan": First(times, failure, TWO)}
    run = planned_lab(tmp_path, rules)
    await run.ask(QUESTION)
    with pytest.raises(kind):
        await run.ask("The one at Skerry.")
    assert asked(run) == ["generate_plan", "record_summary", *["make_plan"] * times]
    assert await run.next() == ("plan_steps",)
    state = await run.ask(None)
    assert asked(run)[: times + 3] == ["generate_plan", "record_summary", *["make_plan"] * (times + 1)]
    assert asked(run).count("make_plan") == times + 1 and asked(run).count("record_summary") == 1
    assert state.report and [step.status for step in state.steps] == ["completed", "completed"]


@pytest.mark.behaviour("A-84")
@pytest.mark.parametrize(("failure", "kind", "times"), [(lambda _: "", NoReport, 2), (GONE, OSError, 1)])
async def test_a_report_that_cannot_be_written_stops_the_run_and_the_research_is_not_paid_again(
    tmp_path: Path, failure: Rule, kind: type[Exception], times: int
) -> None:
    run = planned_lab(tmp_path, {"report": First(times, failure, RULES["report"])})
    with pytest.raises(kind):
        await run.ask(QUESTION)
    before = len(asked(run))
    assert await run.next() == ("write_report",)
    state = await run.ask(None)
    assert asked(run)[before] == "report"
    assert {"make_plan", "choose_queries", "record_learnings"}.isdisjoint(asked(run)[before:])
    assert state.report and state.report.sources


async def test_what_no_step_can_get_past_stops_the_run_and_only_that_step_is_done_again(tmp_path: Path) -> None:
    limited = First(1, failing(RateLimited("The provider asks to wait.")), RULES["record_learnings"])
    rules: dict[str, Rule] = {"make_plan": TWO, "record_learnings": of_task(KEEPER, limited, RULES["record_learnings"])}
    run = planned_lab(tmp_path, rules)
    with pytest.raises(RateLimited):
        await run.ask(QUESTION)
    state = await run.ask(None)
    assert [step.status for step in state.steps] == ["completed", "completed"]
    assert [asked.number for asked in run.asked("choose_queries")] == [1, 1]
    assert [asked.number for asked in run.asked("record_learnings", KEEPER)] == [1, 2]
    assert state.report and await run.replays_alike()


@pytest.mark.behaviour("A-84")
@pytest.mark.parametrize("times", [1, 1000])
async def test_a_store_that_loses_texts_costs_the_step_that_needed_them(tmp_path: Path, times: int) -> None:
    store = FailingStore()
    chosen = of_task(LIGHT, lambda _: store.losing({"queries": [LIGHT]}, times)(), RULES["choose_queries"])
    graph = build_graph("planned", checkpointer=InMemorySaver(), store=store)
    mending: dict[str, Rule] = {"record_inconsistencies": after(store.mend, RULES["record_inconsistencies"])}
    rules: dict[str, Rule] = {"make_plan": plan(step(LIGHT), step(KEEPER, after=(1,))), "choose_queries": chosen}
    run, state = await finished(tmp_path, {**rules, **mending}, graph=graph)
    statuses = [step.status for step in state.steps]
    assert statuses == (["failed", "completed"] if times == 1 else ["failed", "failed"])
    assert "OSError" in state.steps[0].reason
    assert len(run.of_type("error")) == (1 if times == 1 else 2)
    assert state.report and f"Not researched to the end: {LIGHT}" in state.messages[-1].text
    assert await run.replays_alike()


class ForgetfulStore(InMemoryStore):
    """Cannot write down what calls have cost."""

    async def abatch(self, ops: Any) -> Any:
        wanted = list(ops)
        if any(isinstance(op, PutOp) and op.key.startswith("costs of") for op in wanted):
            raise OSError("disk full")
        return await super().abatch(wanted)


@pytest.mark.behaviour("A-49", "A-84")
async def test_a_store_that_cannot_keep_what_calls_cost_is_told_and_the_report_is_written(tmp_path: Path) -> None:
    graph = build_graph("planned", checkpointer=InMemorySaver(), store=ForgetfulStore())
    rules: dict[str, Rule] = {"make_plan": plan(step(LIGHT), step(KEEPER, after=(1,)))}
    run, state = await finished(tmp_path, rules, graph=graph)
    messages = [packet["message"] for packet in run.of_type("error")]
    kept = [failure for finding in state.findings.values() for failure in finding.failures]
    assert kept and len(messages) == len(kept) and all("OSError" in message for message in messages)
    assert all("OSError" in step.reason for step in state.steps)
    assert state.report and await run.replays_alike()


class BrokenClock(HandClock):
    """Does not know the date when it is asked the next time after it has broken."""

    def __init__(self) -> None:
        super().__init__()
        self._is_broken = False

    def breaks(self) -> None:
        self._is_broken = True

    def now(self) -> datetime:
        if self._is_broken:
            self._is_broken = False
            raise OSError("no battery")
        return super().now()


@pytest.mark.behaviour("A-67", "A-84")
@pytest.mark.parametrize("form", ["give_verdict", "record_analysis"])
async def test_a_node_that_raises_for_an_unknown_reason_ends_its_step_with_what_it_has(
    tmp_path: Path, form: str
) -> None:
    clock = BrokenClock()
    steps = plan(step(LIGHT), step(KEEPER, search=form == "give_verdict", after=(1,)), step("Tides", search=False))
    breaking = of_task(KEEPER, after(clock.breaks, RULES[form]), RULES[form])
    rules: dict[str, Rule] = {"make_plan": steps, "record_learnings": new_each_time, form: breaking}
    run, state = await finished(tmp_path, rules, clock=clock)
    assert [step.status for step in state.steps] == ["completed", "failed", "completed"]
    assert "OSError" in state.steps[1].reason
    assert "2" not in {learning.step for learning in state.learnings.values()}
    assert state.outcomes["2"].completeness is None
    assert ["OSError" in packet["message"] for packet in run.of_type("error")] == [True]
    assert state.report and await run.replays_alike()


@pytest.mark.behaviour("A-67", "A-84")
async def test_a_step_that_breaks_as_a_whole_leaves_its_siblings_untouched(tmp_path: Path) -> None:
    endless = of_task(KEEPER, verdict(False), verdict(True))
    rules: dict[str, Rule] = {"make_plan": TWO, "give_verdict": endless, "record_learnings": new_each_time}
    run = planned_lab(tmp_path, rules, limits={"max_step_iterations": 9})
    # More than the run needs, and less than a step with nine iterations.
    config = RunnableConfig(**thread_config(run.thread), recursion_limit=20)
    asked = {"messages": [HumanMessage(QUESTION)]}
    async for part in run.graph.astream(
        asked, config, context=run.context, stream_mode="custom", subgraphs=True, version="v2"
    ):
        run.packets.append(part["data"])
    state = await run.state()
    assert [step.status for step in state.steps] == ["completed", "failed"]
    assert "GraphRecursionError" in state.steps[1].reason
    assert {learning.step for learning in state.learnings.values()} == {"1"}
    assert [packet["status"] for packet in run.of_type("step_done")] == ["completed", "failed"]
    assert len(run.of_type("error")) == 1
    assert state.report and state.report.sources

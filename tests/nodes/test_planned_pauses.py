"""Planned runs that pause, stop, break, are steered or asked further: nothing that is over is paid for again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from kit.planned import (
    RULES,
    Asked,
    First,
    PlannedLab,
    Rule,
    after,
    failing,
    finished,
    new_each_time,
    of_task,
    only_for,
    plan,
    planned_lab,
    statuses,
    step,
    verdict,
)
from kit.runs import QUESTION, FailingStore, decided, edited
from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from deep_research.app.embed import build_graph, thread_config
from deep_research.core.run.errors import NoPlan, NoReport, RateLimited

LIGHT = "Skerry Light lit"
KEEPER = "Ada Moran keeper Tralee"
HARBOUR = "Port Anlow harbour ferry"
TIDE = "spring tide metres"
STEPS = plan(step(LIGHT), step(TIDE, after=(1,)), step("Compare them", search=False))
FERRY = "Mind the ferry."
SAID_MORE = "The user has said more"
TOWER, MORAN = "Skerry Light", "Ada Moran keeper"
TWO = plan(step(TOWER), step(MORAN))
WORDS: Rule = lambda _: "I would rather talk."  # noqa: E731 - a rule
GONE = failing(OSError("gone"))


async def asked_for_approval(tmp_path: Path, rules: dict[str, Rule] | None = None) -> PlannedLab:
    """A run that waits for the review of its plan."""
    run = planned_lab(tmp_path, {"make_plan": STEPS, **(rules or {})}, review_plan=True)
    state = await run.ask()
    assert await run.next() == ("review_plan",)
    assert state.plan and state.messages[-1].text == state.plan.text
    assert run.begun == []
    [waiting] = (await run.graph.aget_state(thread_config(run.thread))).interrupts
    assert waiting.value["steps"] == list(state.plan.steps)
    return run


def is_without_new_wishes(run: PlannedLab) -> bool:
    """Whether no reply to a plan was taken for a message during research."""
    return all(SAID_MORE not in asked.reminder for asked in run.asked("update_plan"))


@pytest.mark.behaviour("A-25")
@pytest.mark.parametrize("way", ["ours", "a decision", "typed as a message", "typed as an answer"])
async def test_an_edited_plan_keeps_known_steps_and_searches_others(tmp_path: Path, way: str) -> None:
    run = await asked_for_approval(tmp_path)
    state = await run.state()
    assert state.plan
    first, thought = state.plan.text.split("\n2. ")[0], state.plan.text.split("\n3. ")[1]
    plan = f"{first}\n2. The tides of Port Anlow\n3. {thought}"
    replies: dict[str, Any] = {
        "ours": Command(resume={"action": "edit", "plan": plan}),
        "a decision": edited(plan),
        "typed as a message": plan,
        "typed as an answer": Command(resume=plan),
    }
    state = await run.ask(replies[way])
    assert [(step.title, step.kind) for step in state.steps] == [
        (f"About {LIGHT}", "independent"),
        ("The tides of Port Anlow", "independent"),
        ("About Compare them", "dependent"),
    ]
    assert [asked.task for asked in run.asked("choose_queries")] == [LIGHT, "The tides of Port Anlow"]
    assert len(run.asked("make_plan")) == 1
    assert is_without_new_wishes(run)
    assert set(statuses(state).values()) == {"completed"}
    assert state.plan and state.plan.text == plan


@pytest.mark.behaviour("A-12")
@pytest.mark.parametrize(
    "reply", [Command(resume={"action": "reject", "comment": FERRY}), decided("reject", message=FERRY), FERRY]
)
async def test_a_rejected_plan_is_written_again_and_shown(tmp_path: Path, reply: Any) -> None:
    plans = [step(LIGHT)], [step(HARBOUR)]
    rules: dict[str, Rule] = {"make_plan": lambda asked: {"steps": plans[asked.number - 1]}}
    run = await asked_for_approval(tmp_path, rules)
    state = await run.ask(reply)
    assert await run.next() == ("review_plan",)
    again = run.asked("make_plan")[1]
    assert [message.text for message in again.messages[1:4]] == [
        QUESTION,
        f"1. About {LIGHT}\n   {LIGHT}",
        "Mind the ferry.",
    ]
    assert [step.task for step in state.steps] == [HARBOUR]
    assert run.begun == []
    state = await run.ask(Command(resume="approve"))
    assert state.report
    assert [packet["title"] for packet in run.of_type("step_started")] == [f"About {HARBOUR}"]
    assert is_without_new_wishes(run)


@pytest.mark.behaviour("A-24", "A-25")
async def test_a_message_during_research_reaches_the_plan_and_repeats_no_step(tmp_path: Path) -> None:
    usual = RULES["choose_queries"]
    late: Rule = lambda asked: RateLimited("Wait an hour.") if asked.number == 1 else usual(asked)  # noqa: E731
    tide = step(TIDE)
    rules: dict[str, Rule] = {
        "make_plan": plan(step(LIGHT), step(HARBOUR), step("Compare them", search=False)),
        "choose_queries": only_for(HARBOUR, late, usual),
        "update_plan": lambda asked: {"added": [tide]} if SAID_MORE in asked.reminder else {},
    }
    run = planned_lab(tmp_path, rules)
    with pytest.raises(RateLimited):
        await run.ask()
    assert await run.finished_branches() == 1
    state = await run.ask(Command(update={"messages": [HumanMessage("Mind the tides.")]}))
    adapting = run.asked("update_plan")[0]
    assert SAID_MORE in adapting.reminder
    assert [message.text for message in adapting.messages[1:3]] == [QUESTION, "Mind the tides."]
    assert statuses(state) == {"1": "completed", "2": "completed", "3": "completed", "4": "completed"}
    assert [len(run.asked("record_learnings", task)) for task in (LIGHT, HARBOUR, TIDE)] == [1, 1, 1]
    assert run.begun.index("4") < run.begun.index("3"), "what searches comes before thought"
    assert any(message.text == "Mind the tides." for message in run.asked("report")[0].messages)
    assert sum(SAID_MORE in asked.reminder for asked in run.asked("update_plan")) == 1


@pytest.mark.behaviour("A-01", "A-03", "A-74")
async def test_a_follow_up_is_planned_and_builds_on_the_learnings(tmp_path: Path) -> None:
    height = "How tall is the Skerry Light?"
    tasks = {QUESTION: KEEPER}
    reports = {1: "Ada Moran kept it. [1]", 2: "It is 38 metres tall. [2] She kept it. [1]"}

    def planned(asked: Asked) -> Any:
        return {"steps": [step(tasks.get(asked.messages[-2].text, "Skerry Light metres tall"))]}

    rules: dict[str, Rule] = {
        "make_plan": planned,
        "record_insights": lambda _: {"insights": ["She served long."]},
        "report": lambda asked: reports[asked.number],
    }
    run, first = await finished(tmp_path, rules)
    streamed, run.packets = run.packets, []
    state = await run.ask(height)
    assert state.brief.actions == (), "what was learned tells more than a search for its words"
    assert [step.task for step in state.steps] == ["Skerry Light metres tall"]
    asked = run.asked("choose_queries", "Skerry Light metres tall")[0]
    assert set(asked.known) <= {learning.text for learning in first.learnings.values()}
    assert "elements" not in asked.knowledge, "what was noticed for the first question is not mixed in"
    assert {key: source.number for key, source in first.sources.items() if source.number}.items() <= {
        key: source.number for key, source in state.sources.items()
    }.items()
    assert first.learnings.keys() <= state.learnings.keys()
    assert state.report and state.report.sources
    assert streamed != run.packets


def asked(run: PlannedLab) -> list[str]:
    """Requested forms, in order."""
    return [asked.form for asked in run.model.asked]


@pytest.mark.behaviour("A-84")
@pytest.mark.parametrize(("failure", "kind", "times"), [(WORDS, NoPlan, 2), (GONE, OSError, 1)])
async def test_a_missing_plan_can_be_resumed(tmp_path: Path, failure: Rule, kind: type[Exception], times: int) -> None:
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
async def test_a_failed_report_can_be_resumed(tmp_path: Path, failure: Rule, kind: type[Exception], times: int) -> None:
    run = planned_lab(tmp_path, {"report": First(times, failure, RULES["report"])})
    with pytest.raises(kind):
        await run.ask(QUESTION)
    before = len(asked(run))
    assert await run.next() == ("write_report",)
    state = await run.ask(None)
    assert asked(run)[before] == "report"
    assert {"make_plan", "choose_queries", "record_learnings"}.isdisjoint(asked(run)[before:])
    assert state.report and state.report.sources


@pytest.mark.behaviour("A-84")
@pytest.mark.parametrize("times", [1, 1000])
async def test_a_store_that_loses_texts_costs_the_step_that_needed_them(tmp_path: Path, times: int) -> None:
    store = FailingStore()
    chosen = of_task(TOWER, lambda _: store.losing({"queries": [TOWER]}, times)(), RULES["choose_queries"])
    graph = build_graph("planned", checkpointer=InMemorySaver(), store=store)
    mending: dict[str, Rule] = {"record_inconsistencies": after(store.mend, RULES["record_inconsistencies"])}
    rules: dict[str, Rule] = {"make_plan": plan(step(TOWER), step(MORAN, after=(1,))), "choose_queries": chosen}
    run, state = await finished(tmp_path, {**rules, **mending}, graph=graph)
    statuses = [step.status for step in state.steps]
    assert statuses == (["failed", "completed"] if times == 1 else ["failed", "failed"])
    assert "OSError" in state.steps[0].reason
    assert len(run.of_type("error")) == (1 if times == 1 else 2)
    assert state.report and f"Not researched to the end: {TOWER}" in state.messages[-1].text
    assert await run.replays_alike()


@pytest.mark.behaviour("A-67", "A-84")
async def test_a_step_that_breaks_as_a_whole_leaves_its_siblings_untouched(tmp_path: Path) -> None:
    endless = of_task(MORAN, verdict(False), verdict(True))
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

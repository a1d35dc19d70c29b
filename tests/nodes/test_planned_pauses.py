"""Planned runs that pause, stop, break, are steered or asked further: nothing that is over is paid
for again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from kit.planned import (
    RULES,
    Asked,
    Rule,
    at_first,
    failing,
    finished,
    in_turn,
    insights,
    new_each_time,
    of_task,
    plan,
    planned_lab,
    statuses,
    step,
    verdict,
)
from kit.runs import QUESTION, FailingStore, edited
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from deep_research.app.embed import build_graph
from deep_research.core.errors import NoPlan, RateLimited

LIGHT = "Skerry Light lit"
KEEPER = "Ada Moran keeper Tralee"
HARBOUR = "Port Anlow harbour ferry"
TIDE = "spring tide metres"
STEPS = plan(step(LIGHT), step(TIDE, after=(1,)), step("Compare them", search=False))

SAID_MORE = "The user has said more"
TOWER, MORAN = "Skerry Light", "Ada Moran keeper"
TWO = plan(step(TOWER), step(MORAN))
WORDS: Rule = lambda _: "I would rather talk."  # noqa: E731 - a rule
GONE = failing(OSError("gone"))


@pytest.mark.behaviour("A-12", "A-25")
async def test_a_rejected_plan_is_written_again_and_an_edited_one_keeps_its_steps_and_searches_others(
    tmp_path: Path,
) -> None:
    run, state = await finished(
        tmp_path, {"make_plan": in_turn(plan(step(HARBOUR)), STEPS)}, review_plan=True
    )
    assert await run.next() == ("review_plan",)
    assert state.plan and state.messages[-1].text == state.plan.text
    assert (await run.waiting())["steps"] == list(state.plan.steps)
    state = await run.ask("Mind the ferry.")
    assert await run.next() == ("review_plan",)
    before = [message.text for message in run.asked("make_plan")[1].messages[1:4]]
    assert before == [QUESTION, f"1. About {HARBOUR}\n   {HARBOUR}", "Mind the ferry."]
    assert run.begun == [] and state.plan
    first, thought = state.plan.text.split("\n2. ")[0], state.plan.text.split("\n3. ")[1]
    changed = f"{first}\n2. The tides of Port Anlow\n3. {thought}"
    state = await run.ask(edited(changed))
    assert [(step.title, step.kind) for step in state.steps] == [
        (f"About {LIGHT}", "independent"),
        ("The tides of Port Anlow", "independent"),
        ("About Compare them", "dependent"),
    ]
    assert [asked.task for asked in run.asked("choose_queries")] == [
        LIGHT,
        "The tides of Port Anlow",
    ]
    assert len(run.asked("make_plan")) == 2
    # No reply to a plan is taken for a message during research.
    assert all(SAID_MORE not in asked.reminder for asked in run.asked("update_plan"))
    assert set(statuses(state).values()) == {"completed"}
    assert state.plan and state.plan.text == changed


@pytest.mark.behaviour("A-24", "A-25")
async def test_a_message_during_research_reaches_the_plan_and_repeats_no_step(
    tmp_path: Path,
) -> None:
    usual = RULES["choose_queries"]
    late = in_turn(failing(RateLimited("Wait an hour.")), usual)
    rules: dict[str, Rule] = {
        "make_plan": plan(step(LIGHT), step(HARBOUR), step("Compare them", search=False)),
        "choose_queries": of_task(HARBOUR, late, usual),
        "update_plan": lambda asked: {"added": [step(TIDE)]} if SAID_MORE in asked.reminder else {},
    }
    run = planned_lab(tmp_path, rules)
    with pytest.raises(RateLimited):
        await run.ask()
    state = await run.ask(Command(update={"messages": [HumanMessage("Mind the tides.")]}))
    adapting = run.asked("update_plan")[0]
    assert SAID_MORE in adapting.reminder
    assert [message.text for message in adapting.messages[1:3]] == [QUESTION, "Mind the tides."]
    assert statuses(state) == {
        "1": "completed",
        "2": "completed",
        "3": "completed",
        "4": "completed",
    }
    assert [len(run.asked("record_learnings", task)) for task in (LIGHT, HARBOUR, TIDE)] == [
        1,
        1,
        1,
    ]
    assert run.begun.index("4") < run.begun.index("3"), "what searches comes before thought"
    assert any(message.text == "Mind the tides." for message in run.asked("report")[0].messages)
    assert sum(SAID_MORE in asked.reminder for asked in run.asked("update_plan")) == 1


@pytest.mark.behaviour("A-01", "A-03", "A-74")
async def test_a_follow_up_is_planned_and_builds_on_the_learnings(tmp_path: Path) -> None:
    height = "Skerry Light metres tall"
    reports = {1: "Ada Moran kept it. [1]", 2: "It is 38 metres tall. [2] She kept it. [1]"}
    rules: dict[str, Rule] = {
        "make_plan": in_turn(plan(step(KEEPER)), plan(step(height))),
        "record_insights": insights("She served long."),
        "report": lambda asked: reports[asked.number],
    }
    run, first = await finished(tmp_path, rules)
    state = await run.ask("How tall is the Skerry Light?")
    assert state.brief.actions == (), "what was learned tells more than a search for its words"
    assert [step.task for step in state.steps] == [height]
    asked = run.asked("choose_queries", height)[0]
    assert set(asked.known) <= {learning.text for learning in first.learnings.values()}
    assert "elements" not in asked.knowledge, (
        "what was noticed for the first question is not mixed in"
    )
    numbers = {key: source.number for key, source in first.sources.items() if source.number}
    assert all(state.sources[key].number == number for key, number in numbers.items())
    assert first.learnings.keys() <= state.learnings.keys()
    assert state.report and state.report.sources


@pytest.mark.behaviour("A-84")
@pytest.mark.parametrize(("failure", "kind", "times"), [(WORDS, NoPlan, 2), (GONE, OSError, 1)])
async def test_a_missing_plan_and_a_failed_report_can_be_resumed_without_repeating_a_step(
    tmp_path: Path, failure: Rule, kind: type[Exception], times: int
) -> None:
    rules: dict[str, Rule] = {
        "generate_plan": lambda _: "Which light?",
        "make_plan": at_first(times, failure, TWO),
    }
    run = planned_lab(tmp_path, {**rules, "report": at_first(1, GONE, RULES["report"])})
    await run.ask(QUESTION)
    with pytest.raises(kind):
        await run.ask("The one at Skerry.")
    before = ["generate_plan", "record_summary", *["make_plan"] * times]
    assert [asked.form for asked in run.model.asked] == before
    assert await run.next() == ("plan_steps",)
    with pytest.raises(OSError, match="gone"):
        await run.ask(None)
    forms = [asked.form for asked in run.model.asked]
    assert forms[: times + 3] == [*before, "make_plan"]
    assert await run.next() == ("write_report",)
    state = await run.ask(None)
    again = [asked.form for asked in run.model.asked[len(forms) :]]
    assert again[0] == "report"
    assert {"make_plan", "record_summary", "choose_queries", "record_learnings"}.isdisjoint(again)
    assert forms.count("make_plan") == times + 1 and forms.count("record_summary") == 1
    assert state.report and state.report.sources
    assert [step.status for step in state.steps] == ["completed", "completed"]


@pytest.mark.sweep
@pytest.mark.behaviour("A-67", "A-84")
@pytest.mark.parametrize("times", [1, 1000])
async def test_a_store_that_loses_texts_costs_the_step_that_needed_them(
    tmp_path: Path, times: int
) -> None:
    store = FailingStore()
    chosen = of_task(
        TOWER, lambda _: store.losing({"queries": [TOWER]}, times)(), RULES["choose_queries"]
    )
    graph = build_graph("planned", checkpointer=InMemorySaver(), store=store)

    def mended(asked: Asked) -> Any:
        store.mend()
        return RULES["record_contradictions"](asked)

    rules: dict[str, Rule] = {
        "make_plan": plan(step(TOWER), step(MORAN, after=(1,))),
        "choose_queries": chosen,
    }
    run, state = await finished(tmp_path, {**rules, "record_contradictions": mended}, graph=graph)
    statuses = [step.status for step in state.steps]
    assert statuses == (["failed", "completed"] if times == 1 else ["failed", "failed"])
    assert "OSError" in state.steps[0].reason
    assert len(run.of_type("error")) == (1 if times == 1 else 2)
    assert [packet["status"] for packet in run.of_type("step_done")] == statuses
    assert state.report and f"Not researched to the end: {TOWER}" in state.messages[-1].text
    assert await run.replays_alike()


@pytest.mark.fault("R13")
@pytest.mark.behaviour("A-67", "A-84")
async def test_a_step_that_reaches_the_recursion_limit_fails_alone(tmp_path: Path) -> None:
    rules: dict[str, Rule] = {
        "make_plan": TWO,
        "give_verdict": of_task(MORAN, verdict(False), verdict(True)),
        "record_learnings": new_each_time,
    }
    graph = build_graph("planned", checkpointer=InMemorySaver()).with_config(recursion_limit=20)
    run, state = await finished(tmp_path, rules, graph=graph, limits={"max_step_iterations": 9})
    assert [step.status for step in state.steps] == ["completed", "failed"]
    assert "GraphRecursionError" in state.steps[1].reason
    assert {learning.step for learning in state.learnings.values()} == {"1"}
    assert [packet["status"] for packet in run.of_type("step_done")] == ["completed", "failed"]
    assert len(run.of_type("error")) == 1
    assert state.report and state.report.sources

"""Whole runs of the planned strategy that pause, are stopped, steered, or asked further."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from decisions import decided, edited
from lab import QUESTION
from langchain_core.messages import HumanMessage
from langgraph.types import Command
from planned_lab import RULES, Asked, PlannedLab, Rule, finished, only_for, plan, planned_lab, statuses, step

from deep_research.app.embed import thread_config
from deep_research.core.run.errors import RateLimited

LIGHT = "Skerry Light lit"
KEEPER = "Ada Moran keeper Tralee"
HARBOUR = "Port Anlow harbour ferry"
TIDE = "spring tide metres"
STEPS = plan(step(LIGHT), step(TIDE, after=(1,)), step("Compare them", search=False))
FERRY = "Mind the ferry."
SAID_MORE = "The user has said more"


async def asked_for_approval(tmp_path: Path, rules: dict[str, Rule] | None = None) -> PlannedLab:
    """A run that waits for the user's word on its plan."""
    run = planned_lab(tmp_path, {"make_plan": STEPS, **(rules or {})}, review_plan=True)
    state = await run.ask()
    assert await run.next() == ("review_plan",)
    assert state.plan and state.messages[-1].text == state.plan.text
    assert run.begun == []
    [waiting] = (await run.graph.aget_state(thread_config(run.thread))).interrupts
    assert waiting.value["steps"] == list(state.plan.steps)
    return run


def is_without_new_wishes(run: PlannedLab) -> bool:
    """Whether a reply to a plan was not taken for something that the user said meanwhile."""
    return all(SAID_MORE not in asked.reminder for asked in run.asked("update_plan"))


@pytest.mark.behaviour("A-12", "A-28")
@pytest.mark.parametrize("reply", [Command(resume={"action": "approve"}), decided("approve"), "ok"])
async def test_a_plan_that_is_approved_is_carried_out_as_it_stands(tmp_path: Path, reply: Any) -> None:
    run = await asked_for_approval(tmp_path)
    state = await run.ask(reply)
    assert state.report
    assert run.begun == ["1", "2", "3"]
    assert set(statuses(state).values()) == {"completed"}
    assert len(run.asked("make_plan")) == 1
    assert is_without_new_wishes(run)
    assert await run.replays_alike()


@pytest.mark.behaviour("A-25")
@pytest.mark.parametrize("way", ["ours", "a decision", "typed as a message", "typed as an answer"])
async def test_a_plan_that_is_edited_keeps_the_steps_it_knows_and_searches_for_the_others(
    tmp_path: Path, way: str
) -> None:
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
    assert [(one.title, one.kind) for one in state.steps] == [
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
async def test_a_plan_that_is_rejected_is_made_anew_and_shown_again(tmp_path: Path, reply: Any) -> None:
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
    assert [one.task for one in state.steps] == [HARBOUR]
    assert run.begun == []
    state = await run.ask(Command(resume="approve"))
    assert state.report
    assert [packet["title"] for packet in run.of_type("step_started")] == [f"About {HARBOUR}"]
    assert is_without_new_wishes(run)


@pytest.mark.behaviour("A-24", "A-25")
async def test_what_the_user_says_meanwhile_reaches_the_plan_and_no_finished_step_is_repeated(tmp_path: Path) -> None:
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
async def test_a_further_question_is_planned_anew_and_goes_on_with_what_was_learned(tmp_path: Path) -> None:
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
    assert [one.task for one in state.steps] == ["Skerry Light metres tall"]
    asked = run.asked("choose_queries", "Skerry Light metres tall")[0]
    assert set(asked.known) <= {one.text for one in first.learnings.values()}
    assert "elements" not in asked.knowledge, "what was noticed for the first question is not mixed in"
    assert {key: source.number for key, source in first.sources.items() if source.number}.items() <= {
        key: source.number for key, source in state.sources.items()
    }.items()
    assert first.learnings.keys() <= state.learnings.keys()
    assert state.report and state.report.sources
    assert streamed != run.packets
    assert await run.replays_alike()

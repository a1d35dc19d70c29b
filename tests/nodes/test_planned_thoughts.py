"""Whole runs of the planned strategy: thought comes last, and a run comes to its end."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from lab import QUESTION
from planned_lab import RULES, Asked, Rule, finished, first_sentences, only_for, plan, raising, statuses, step

LIGHT = "Skerry Light lit"
KEEPER = "Ada Moran keeper Tralee"
HARBOUR = "Port Anlow harbour ferry"
COMPARE = "Compare light and keeper"
WEIGH = "Weigh all"
CONCLUDE = "Conclude"


def thought(task: str, **flags: Any) -> dict[str, Any]:
    return step(task, search=False, **flags)


def said(asked: Asked) -> dict[str, Any]:
    """A statement that shares no word with any task."""
    return {"statements": [f"Nobody doubts {asked.task.split()[0].lower()}-{len(asked.task)}."]}


@pytest.mark.behaviour("A-22", "A-85")
async def test_thought_comes_after_all_searches_one_after_the_other_in_the_order_of_the_plan(tmp_path: Path) -> None:
    inside: list[str] = []

    async def alone(asked: Asked) -> Any:
        inside.append(asked.task)
        assert len(inside) == 1
        for _ in range(50):
            await asyncio.sleep(0)
        inside.remove(asked.task)
        return said(asked)

    steps = (thought(WEIGH), step(LIGHT), thought(COMPARE, previous=True), step(KEEPER, after=(2,)), thought(CONCLUDE))
    run, state = await finished(tmp_path, {"make_plan": plan(*steps), "record_analysis": alone})
    assert run.begun == ["2", "4", "1", "3", "5"]
    for before, after in (("2", "4"), ("4", "1"), ("1", "3"), ("3", "5")):
        assert run.place_of("step_done", before) < run.place_of("step_started", after)
    assert set(statuses(state).values()) == {"completed"}
    assert await run.replays_alike()


@pytest.mark.behaviour("A-23")
async def test_a_thought_is_given_what_was_found_although_it_shares_no_word_with_it(tmp_path: Path) -> None:
    run, state = await finished(tmp_path, {"make_plan": plan(step(LIGHT), thought(CONCLUDE))})
    found = {learning.text for learning in state.learnings.values() if learning.step == "1"}
    assert set(run.asked("record_analysis", CONCLUDE)[0].known) == found


@pytest.mark.behaviour("A-26")
@pytest.mark.parametrize("previous", [False, True])
async def test_each_thought_is_given_what_the_one_before_it_came_to(tmp_path: Path, previous: bool) -> None:
    steps = (step(LIGHT), *(thought(task, previous=previous) for task in (COMPARE, WEIGH, CONCLUDE)))
    run, state = await finished(tmp_path, {"make_plan": plan(*steps), "record_analysis": said})
    said_by = {one.step: one.text for one in state.learnings.values() if not one.source}
    assert said_by["2"] in run.asked("record_analysis", WEIGH)[0].known
    assert said_by["3"] in run.asked("record_analysis", CONCLUDE)[0].known
    assert said_by["2"] not in run.asked("record_analysis", COMPARE)[0].known
    assert await run.replays_alike()


@pytest.mark.behaviour("A-24", "A-28")
async def test_every_step_ends_in_a_final_status_and_is_begun_at_most_once(tmp_path: Path) -> None:
    steps = (
        step(LIGHT),
        step(KEEPER, after=(1,)),
        step(HARBOUR),
        thought(COMPARE),
        thought(WEIGH),
        step("Nothing at all", after=(1, 2, 3)),
    )
    needless = {"needless": [{"step": "5", "reason": "It is known"}]}
    rules: dict[str, Rule] = {
        "make_plan": plan(*steps),
        "record_learnings": only_for(HARBOUR, raising(), first_sentences),
        "record_analysis": only_for(COMPARE, raising(), said),
        "update_plan": lambda asked: needless if asked.number == 1 else {},
    }
    run, state = await finished(tmp_path, rules)
    done = {"1": "completed", "2": "completed", "3": "failed", "4": "failed", "5": "skipped", "6": "completed"}
    assert statuses(state) == done
    assert max(Counter(run.begun).values()) == 1
    assert {packet["step_id"]: packet["status"] for packet in run.of_type("step_done")} == {
        key: status for key, status in done.items() if key != "5"
    }
    assert "Not done: About Weigh all: It is known." in state.messages[-1].text
    assert await run.replays_alike()


@pytest.mark.behaviour("A-24", "A-28")
async def test_a_plan_of_thoughts_alone_is_given_a_search_for_the_question(tmp_path: Path) -> None:
    run, state = await finished(tmp_path, {"make_plan": plan(thought(COMPARE), thought(WEIGH))})
    assert statuses(state) == {"1": "completed", "2": "completed", "3": "completed"}
    assert run.begun == ["3", "1", "2"]
    assert state.steps[-1].task == QUESTION
    assert state.report and state.report.sources
    assert await run.replays_alike()


@pytest.mark.behaviour("A-24")
async def test_a_plan_whose_steps_name_themselves_each_other_or_nobody_comes_to_its_end(tmp_path: Path) -> None:
    steps = (step(LIGHT, after=(1, 3)), step(KEEPER, after=(3, 2, 9)), step(HARBOUR, after=(1, -1)))
    run, state = await finished(tmp_path, {"make_plan": plan(*steps)})
    assert set(statuses(state).values()) == {"completed"}
    assert sorted(run.begun) == ["1", "2", "3"]
    assert all(set(one.depends_on) < {"1", "2", "3"} and one.id not in one.depends_on for one in state.steps)


@pytest.mark.behaviour("A-25")
async def test_a_search_that_follows_up_a_thought_is_carried_out_as_a_search(tmp_path: Path) -> None:
    more = {"title": "The ferry", "rationale": HARBOUR, "requires_search": True}
    partly: Rule = lambda _: {"completeness": 0.5, "quality": 0.9, "next_steps": [more]}  # noqa: E731
    rules = {
        "make_plan": plan(step(LIGHT), thought(COMPARE), thought(WEIGH)),
        "evaluate_outcome": only_for(COMPARE, partly, RULES["evaluate_outcome"]),
    }
    run, state = await finished(tmp_path, rules)
    kinds = {packet["step_id"]: packet["kind"] for packet in run.of_type("step_started")}
    assert kinds == {"1": "independent", "2": "dependent", "2.1": "hybrid", "3": "dependent"}
    assert [asked.task for asked in run.asked("choose_queries")] == [LIGHT, HARBOUR]
    assert any(one.source for one in state.learnings.values() if one.step == "2.1")
    assert set(statuses(state).values()) == {"completed"}
    assert await run.replays_alike()

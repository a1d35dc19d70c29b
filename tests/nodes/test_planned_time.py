"""Whole runs of the planned strategy whose time runs out: nothing more is begun, and the report says so."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from lab import HandClock
from planned_lab import (
    RULES,
    PlannedLab,
    Rule,
    finished,
    first_sentences,
    only_for,
    passing,
    plan,
    statuses,
    step,
    verdict,
)

from deep_research.state import ResearchState

LIGHT = "Skerry Light lit"
KEEPER = "Ada Moran keeper Tralee"
HARBOUR = "Port Anlow harbour ferry"
COMPARE = "Compare light and keeper"
WEIGH = "Weigh all"
PHASES = plan(
    step(LIGHT),
    step(KEEPER, after=(1,)),
    step(HARBOUR, after=(2,)),
    step(COMPARE, search=False),
    step(WEIGH, search=False, previous=True),
)
LIMIT = "the time limit of 300 s (max_seconds_planned) was reached"
ALL = {"1", "2", "3", "4", "5"}


async def overtaken(
    tmp_path: Path, form: str, task: str = "", seconds: float = 300
) -> tuple[PlannedLab, ResearchState]:
    """A run in all phases, during which so many seconds pass when this form is asked for."""
    clock, usual = HandClock(), RULES[form]
    rules: dict[str, Rule] = {"make_plan": PHASES}
    slow = passing(clock, seconds, rules.get(form, usual))
    rules[form] = only_for(task, slow, usual) if task else slow
    return await finished(tmp_path, rules, clock=clock)


async def is_partial(run: PlannedLab, state: ResearchState, undone: set[str]) -> bool:
    """Whether these steps were left out for want of time, and the report says so."""
    titles = {one.id: one.title for one in state.steps}
    assert {key for key, status in statuses(state).items() if status == "skipped"} == undone
    assert {one.reason for one in state.steps if one.id in undone} == {LIMIT}
    assert set(run.begun) == ALL - undone
    assert state.report
    assert state.run and (state.run.status, state.run.stop_reason) == ("completed_with_gaps", LIMIT)
    words = state.messages[-1].text
    assert f"Research ended early: {LIMIT}." in words
    assert all(f"Not done: {titles[key]}: {LIMIT}." in words for key in undone)
    assert LIMIT in run.asked("report")[0].reminder
    return await run.replays_alike()


@pytest.mark.fault("R13")
@pytest.mark.behaviour("A-08")
@pytest.mark.parametrize(
    ("seconds", "begun"),
    [(290, ["1"]), pytest.param(300, [], marks=pytest.mark.fault("R13", logs="WARNING core.writing.turn"))],
)
async def test_at_the_limit_and_not_only_beyond_it_no_more_steps_are_begun(
    tmp_path: Path, seconds: float, begun: list[str]
) -> None:
    clock = HandClock()
    rules = {"make_plan": passing(clock, seconds, plan(step(LIGHT)))}
    run, state = await finished(tmp_path, rules, clock=clock)
    assert run.begun == begun
    assert statuses(state) == {"1": "completed" if begun else "skipped"}
    assert await run.replays_alike()


@pytest.mark.behaviour("A-16", "A-21", "A-71", "A-28")
async def test_time_that_is_over_after_the_plan_leaves_all_steps_out(tmp_path: Path) -> None:
    run, state = await overtaken(tmp_path, "make_plan")
    assert await is_partial(run, state, ALL)
    assert state.messages[-1].text.startswith("*This text cites no source.*")
    assert [packet["above"] for packet in run.of_type("notes_added")] == ["This text cites no source."]
    assert {asked.form for asked in run.model.asked}.isdisjoint({"choose_queries", "record_analysis"})


@pytest.mark.behaviour("A-16", "A-21", "A-71")
@pytest.mark.parametrize(
    ("form", "task", "undone"),
    [
        ("give_verdict", LIGHT, {"2", "3", "4", "5"}),
        ("update_plan", "", {"2", "3", "4", "5"}),
        ("record_learnings", KEEPER, {"3", "4", "5"}),
        ("record_analysis", COMPARE, {"5"}),
    ],
)
async def test_time_that_is_over_in_any_phase_leaves_out_what_is_not_begun_and_what_was_learned_is_reported(
    tmp_path: Path, form: str, task: str, undone: set[str]
) -> None:
    run, state = await overtaken(tmp_path, form, task)
    assert await is_partial(run, state, undone)
    assert state.report and state.report.sources


@pytest.mark.behaviour("A-71")
async def test_time_that_is_kept_for_thoughts_ends_no_search_that_is_over(tmp_path: Path) -> None:
    clock, usual = HandClock(), RULES["evaluate_outcome"]
    rules: dict[str, Rule] = {
        "make_plan": plan(step(LIGHT), step(COMPARE, search=False)),
        "evaluate_outcome": only_for(LIGHT, passing(clock, 250, usual), usual),
    }
    _, state = await finished(tmp_path, rules, clock=clock)
    assert set(statuses(state).values()) == {"completed"}
    assert state.run and (state.run.status, state.run.stop_reason) == ("completed", "")


@pytest.mark.behaviour("A-71")
async def test_time_that_is_over_when_all_steps_are_done_takes_nothing_from_the_report(tmp_path: Path) -> None:
    clock = HandClock()
    rules: dict[str, Rule] = {
        "make_plan": PHASES,
        "record_insights": lambda _: {"insights": ["It is the oldest light."]},
        "record_inconsistencies": passing(clock, 1000, RULES["record_inconsistencies"]),
    }
    run, state = await finished(tmp_path, rules, clock=clock)
    assert run.asked("record_inconsistencies")
    assert set(statuses(state).values()) == {"completed"}
    assert state.run and (state.run.status, state.run.stop_reason) == ("completed", "")
    assert "Research ended early" not in state.messages[-1].text
    [start] = run.of_type("message_start")
    assert start["pre_answer_processing_seconds"] >= 1000
    assert await run.replays_alike()


@pytest.mark.behaviour("A-71")
@pytest.mark.parametrize(
    ("form", "task", "cut"), [("record_learnings", KEEPER, "2"), ("record_analysis", COMPARE, "3")]
)
async def test_a_call_that_outlasts_the_time_is_cut_and_the_report_is_written(
    tmp_path: Path, form: str, task: str, cut: str
) -> None:
    clock = HandClock()

    async def never(_: object) -> None:
        await asyncio.Event().wait()

    judged = RULES["evaluate_outcome"]
    rules = {
        "make_plan": plan(step(LIGHT), step(KEEPER, after=(1,)), step(COMPARE, search=False)),
        # Whatever comes after the first step has a part of a second.
        "evaluate_outcome": only_for(LIGHT, passing(clock, 299.7, judged), judged),
        form: only_for(task, never, RULES[form]),
    }
    run, state = await finished(tmp_path, rules, clock=clock)
    assert statuses(state)[cut] == "failed"
    assert set(statuses(state).values()) <= {"completed", "failed"}
    assert state.report and state.report.sources
    assert f"Not researched to the end: {task}: the time of the plan was over (max_seconds_planned)." in (
        state.messages[-1].text
    )
    assert await run.replays_alike()


async def test_with_a_model_of_15_seconds_a_call_the_plan_still_comes_to_its_conclusion(tmp_path: Path) -> None:
    clock = HandClock()
    forms = ("record_summary", "make_plan", "choose_queries", "give_verdict", "update_plan", "record_analysis")
    rules = {form: passing(clock, 15, RULES[form]) for form in forms}
    rules |= {
        "make_plan": passing(clock, 15, PHASES),
        "give_verdict": passing(clock, 15, verdict(False)),
        "record_learnings": first_sentences,
    }
    run, state = await finished(tmp_path, rules, clock=clock, limits={"max_step_iterations": 5})
    assert statuses(state)["5"] == statuses(state)["4"] == "completed"
    assert run.asked("record_analysis")

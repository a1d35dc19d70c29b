"""Whatever a model does with a form: the report is written, and nothing but what the form was for is lost."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from handed_in import FORMS as ALL_FORMS
from lab import QUESTION
from planned_lab import PARTS, RULES, USUAL, Asked, PlannedLab, Rule, plan, planned_lab, step, verdict
from planned_rules import First, contrary, facts, failing, insights, judged, of_task, suggestion

from deep_research.core.records.plan import FINAL_CHECK
from deep_research.state import ResearchState

LIGHT, KEEPER, JUDGE, TIDE = "Skerry Light", "Ada Moran keeper", "Judge the Skerry Light", "spring tide Port Anlow"
SUMMARY, REWORDED = "The user asks for the light.", "Judge the Skerry Light and its keeper"
TALL, TALLER = "The Skerry Light is 38 metres tall.", "The Skerry Light is 45 metres tall."
KEPT = "The keeper of the Skerry Light was Ada Moran."


def all_forms() -> dict[str, Rule]:
    """A run that needs every form: a question back, three kinds of steps, a follow-up, a contradiction."""
    steps = plan(step(LIGHT), step(KEEPER, after=(1,)), step(JUDGE, search=False, after=(1,)))
    wanting = judged(0.3, 0.8, suggestion("", TIDE))
    return {
        "generate_plan": lambda _: "Which light?",
        "make_plan": steps,
        "record_summary": lambda _: {"summary": SUMMARY},
        "record_learnings": of_task(
            LIGHT, contrary(TALL, TALLER), of_task(KEEPER, facts(KEPT), RULES["record_learnings"])
        ),
        "give_verdict": of_task(KEEPER, verdict(False), verdict(True)),
        "record_insights": insights("The Skerry Light is old.", gaps={"Who built the Skerry Light?": 0.9}),
        "evaluate_outcome": of_task(KEEPER, wanting, judged(1.0, 1.0)),
        "update_step": lambda _: {"is_needed": True, "title": "Tides"},
        "update_plan": lambda _: {"reworded": [{"step": "3", "task": REWORDED}]},
    }


def parts(run: PlannedLab, state: ResearchState) -> set[str]:
    """What a run has of what the forms are for; each by the name of its form."""
    known = list(state.learnings.values())
    titles = {step.title for step in state.steps}
    iterations = [one for outcome in state.outcomes.values() for one in outcome.iterations]
    sourced = {learning.step for learning in known if learning.source}
    judged_steps = {step for step, outcome in state.outcomes.items() if outcome.completeness is not None}
    assert state.report
    has = {
        "record_summary": state.brief.summary == SUMMARY,
        "record_round": sourced >= {"1", "2"}
        and judged_steps >= sourced
        and not any(titles & set(one.queries) for one in iterations)
        and not any(verdict.reasoning.startswith("No verdict") for one in iterations for verdict in one.verdicts),
        "update_step": "2.1" in {step.id for step in state.steps},
        "update_plan": REWORDED in {step.task for step in state.steps},
        "record_analysis": any(not learning.source for learning in known),
        "record_inconsistencies": any(noticed.step == FINAL_CHECK for noticed in state.memory.values()),
        "report": bool(state.report.sources),
    }
    return {form for form, is_there in has.items() if is_there}


FORMS = {name: form for name, form in ALL_FORMS.items() if name not in ("judge_units", "rewrite_sentences")}
ALL = {*FORMS} - {"make_plan"} | {"report"}
LOST_FOR_GOOD: Mapping[str, set[str]] = {
    "record_round": {
        "record_round",
        "update_step",
        "update_plan",
        "record_analysis",
        "record_inconsistencies",
        "report",
    }
}
"""What is lost with a form that is never filled in, where that is more than the form's own part."""
LOST_ONCE: Mapping[str, set[str]] = {"update_step": {"update_step"}}
"""The same if it fails for the first time only; there are further steps and rounds."""


async def whole_run(tmp_path: Path, **rules: Rule) -> tuple[PlannedLab, ResearchState]:
    """The run with these rules, up to its report."""
    run = planned_lab(tmp_path, {**all_forms(), **rules}, limits={"max_step_iterations": 1})
    await run.ask(QUESTION)
    state = await run.ask("The one at Skerry.")
    assert state.report and state.run and all(step.is_over for step in state.steps)
    assert all(step.reason for step in state.steps if step.status != "completed")
    return run, state


def usual(form: str) -> Rule:
    return {"record_round": lambda _: USUAL, **RULES, **all_forms()}[form]


def wrong_arguments(asked: Asked) -> Any:
    """The form with something in its first field that never fits."""
    field = next(iter(FORMS[asked.form].model_fields))
    return {field: {"nonsense": 7}}


FAILURES = {"error": failing(OSError("gone")), "words": lambda _: "I would rather talk.", "arguments": wrong_arguments}
FORM = pytest.mark.parametrize("form", sorted({*FORMS} - {"make_plan"}))


@pytest.mark.behaviour("A-84")
async def test_without_trouble_every_form_is_asked_for_and_brings_its_part(tmp_path: Path) -> None:
    run, state = await whole_run(tmp_path)
    parts_of_forms = {part for name in PARTS for part in PARTS[name]}
    others = {asked.form for asked in run.model.asked} - parts_of_forms
    assert {*FORMS, "generate_plan", "report", "judge_units"} <= others | {*PARTS}
    assert parts(run, state) == ALL
    assert not run.of_type("error")
    assert await run.replays_alike()


@pytest.mark.behaviour("A-84")
@pytest.mark.parametrize("how", ["words", "arguments"])
async def test_what_cannot_be_read_is_asked_for_once_more_and_nothing_is_lost(tmp_path: Path, how: str) -> None:
    rules = {form: First(1, FAILURES[how], usual(form)) for form in FORMS}
    run, state = await whole_run(tmp_path, **rules)
    assert parts(run, state) == ALL
    assert not run.of_type("error")
    assert await run.replays_alike()


@pytest.mark.behaviour("A-49", "A-84")
@FORM
async def test_a_form_that_fails_once_costs_its_own_part_and_is_told(tmp_path: Path, form: str) -> None:
    rule = First(1, FAILURES["error"], usual(form))
    run, state = await whole_run(tmp_path, **{form: rule})
    assert ALL - parts(run, state) == LOST_ONCE.get(form, {form})
    assert len(run.of_type("error")) == 1
    assert all("OSError" in packet["message"] for packet in run.of_type("error"))
    assert await run.replays_alike()


@pytest.mark.behaviour("A-49", "A-84")
@FORM
async def test_a_form_that_is_never_filled_in_costs_no_more_than_what_rests_on_it(tmp_path: Path, form: str) -> None:
    run, state = await whole_run(tmp_path, **{form: FAILURES["arguments"]})
    assert ALL - parts(run, state) == LOST_FOR_GOOD.get(form, {form})
    # What cannot be read is asked for twice.
    assert 2 * len(run.of_type("error")) == len(run.asked(form)) > 0
    assert await run.replays_alike()


@pytest.mark.behaviour("A-49", "A-84")
@pytest.mark.parametrize("how", FAILURES)
async def test_where_no_form_but_the_plan_is_ever_filled_in_there_still_is_a_report(tmp_path: Path, how: str) -> None:
    rules = dict.fromkeys({*FORMS} - {"make_plan"}, FAILURES[how])
    run, state = await whole_run(tmp_path, **rules)
    assert parts(run, state) == set()
    asked = sum(asked.form in rules for asked in run.model.asked)
    assert len(run.of_type("error")) == (asked if how == "error" else asked / 2)
    assert state.run and state.run.status == "completed_with_gaps"
    assert {step.status for step in state.steps} == {"failed", "skipped"}
    assert await run.replays_alike()

"""Knowledge given to a step, each piece once; and failing forms, which cost only their own part."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from kit.models import FORM_CLASSES as ALL_FORMS
from kit.planned import (
    PARTS,
    RULES,
    USUAL,
    Asked,
    PlannedLab,
    Rule,
    at_first,
    contrary,
    facts,
    failing,
    finished,
    insights,
    judged,
    new_each_time,
    of_task,
    plan,
    planned_lab,
    shown,
    step,
    suggestion,
    verdict,
)
from kit.runs import QUESTION

from deep_research.core.records.plan import FINAL_CHECK
from deep_research.state import ResearchState

LIGHT, KEEPER, JUDGE, TIDE = (
    "Skerry Light",
    "Ada Moran keeper",
    "Judge the Skerry Light",
    "spring tide Port Anlow",
)
SUMMARY, REWORDED = "The user asks for the light.", "Judge the Skerry Light and its keeper"
TALL, TALLER = "The Skerry Light is 38 metres tall.", "The Skerry Light is 45 metres tall."
KEPT = "The keeper of the Skerry Light was Ada Moran."
FIRST, SECOND = "Skerry Light", "Skerry Light keeper"
TWO = plan(step(FIRST), step(SECOND, after=(1,)))
OLD, OPEN = "The Skerry Light is an old light.", "Who built the Skerry Light?"
THOUGHT = "Nobody says who built the Skerry Light."
CONTRARY = contrary(TALL, TALLER)
NOTES = insights(OLD, gaps={OPEN: 0.9})


def all_forms() -> dict[str, Rule]:
    """A run that needs every form: a question back, three kinds of steps, a follow-up, a
    contradiction."""
    wanting = judged(0.3, 0.8, suggestion("", TIDE))
    return {
        "generate_plan": lambda _: "Which light?",
        "make_plan": plan(
            step(LIGHT), step(KEEPER, after=(1,)), step(JUDGE, search=False, after=(1,))
        ),
        "record_summary": lambda _: {"summary": SUMMARY},
        "record_learnings": of_task(
            LIGHT, CONTRARY, of_task(KEEPER, facts(KEPT), RULES["record_learnings"])
        ),
        "give_verdict": of_task(KEEPER, verdict(False), verdict(True)),
        "record_insights": NOTES,
        "evaluate_outcome": of_task(KEEPER, wanting, judged(1.0, 1.0)),
        "update_step": lambda _: {"is_needed": True, "title": "Tides"},
        "update_plan": lambda _: {"reworded": [{"step": "3", "task": REWORDED}]},
    }


def parts(run: PlannedLab, state: ResearchState) -> set[str]:
    """Parts that a run has, by the form that brings them."""
    known = list(state.learnings.values())
    iterations = [
        iteration for outcome in state.outcomes.values() for iteration in outcome.iterations
    ]
    queries = {query for iteration in iterations for query in iteration.queries}
    thoughts = [verdict.reasoning for iteration in iterations for verdict in iteration.verdicts]
    sourced = {learning.step for learning in known if learning.source}
    judged_steps = {
        step for step, outcome in state.outcomes.items() if outcome.completeness is not None
    }
    has_verdicts = not any(thought.startswith("No verdict") for thought in thoughts)
    has_queries = queries.isdisjoint(step.title for step in state.steps)
    assert state.report
    has = {
        "record_summary": state.brief.summary == SUMMARY,
        "record_round": judged_steps >= sourced >= {"1", "2"} and has_queries and has_verdicts,
        "update_step": "2.1" in {step.id for step in state.steps},
        "update_plan": REWORDED in {step.task for step in state.steps},
        "record_analysis": any(not learning.source for learning in known),
        "record_contradictions": any(
            noticed.step == FINAL_CHECK for noticed in state.memory.values()
        ),
        "report": bool(state.report.sources),
    }
    return {form for form, is_there in has.items() if is_there}


FORMS = {
    name: form
    for name, form in ALL_FORMS.items()
    if name not in ("judge_units", "rewrite_sentences")
}
ALL = {*FORMS} - {"make_plan"} | {"report"}
LOST_FOR_GOOD = {"record_round": ALL - {"record_summary"}}
"""Parts lost if a form is never filled in, where more than its own."""


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
    """The form with an invalid value in its first field."""
    field = next(iter(FORMS[asked.form].model_fields))
    return {field: {"nonsense": 7}}


FAILURES = {
    "error": failing(OSError("gone")),
    "words": lambda _: "I would rather talk.",
    "arguments": wrong_arguments,
}


@pytest.mark.sweep(first=2)
@pytest.mark.behaviour("A-84")
@pytest.mark.parametrize("how", ["", "words", "arguments"])
async def test_every_form_brings_its_part_also_if_it_has_to_be_asked_for_once_more(
    tmp_path: Path, how: str
) -> None:
    rules = {form: at_first(1, FAILURES[how], usual(form)) for form in FORMS} if how else {}
    run, state = await whole_run(tmp_path, **rules)
    others = {asked.form for asked in run.model.asked} - {
        part for parts in PARTS.values() for part in parts
    }
    assert {*FORMS, "generate_plan", "report", "judge_units"} <= others | {*PARTS}
    assert parts(run, state) == ALL
    assert not run.of_type("error")
    assert await run.replays_alike()


@pytest.mark.sweep
@pytest.mark.behaviour("A-49", "A-84")
@pytest.mark.parametrize("form", sorted({*FORMS} - {"make_plan"}))
async def test_a_form_that_fails_costs_no_more_than_what_rests_on_it_and_is_reported(
    tmp_path: Path, form: str
) -> None:
    run, state = await whole_run(tmp_path, **{form: at_first(1, FAILURES["error"], usual(form))})
    assert ALL - parts(run, state) == {form}
    [error] = run.of_type("error")
    assert "OSError" in error["message"]
    assert await run.replays_alike()
    run, state = await whole_run(tmp_path, **{form: FAILURES["arguments"]})
    assert ALL - parts(run, state) == LOST_FOR_GOOD.get(form, {form})
    # Unreadable answers are requested twice.
    assert 2 * len(run.of_type("error")) == len(run.asked(form)) > 0
    assert await run.replays_alike()


@pytest.mark.sweep
@pytest.mark.behaviour("A-49", "A-84")
@pytest.mark.parametrize("how", FAILURES)
async def test_where_no_form_but_the_plan_is_ever_filled_in_there_still_is_a_report(
    tmp_path: Path, how: str
) -> None:
    rules = dict.fromkeys({*FORMS} - {"make_plan"}, FAILURES[how])
    run, state = await whole_run(tmp_path, **rules)
    assert parts(run, state) == set()
    asked = sum(asked.form in rules for asked in run.model.asked)
    assert len(run.of_type("error")) == (asked if how == "error" else asked / 2)
    assert state.run and state.run.status == "completed_with_gaps"
    assert {step.status for step in state.steps} == {"failed", "skipped"}
    assert await run.replays_alike()


async def second_step(tmp_path: Path, **rules: Any) -> tuple[PlannedLab, list[Asked]]:
    """A run of two steps, and the requests of the second."""
    usual = {
        "make_plan": TWO,
        "record_learnings": of_task(FIRST, CONTRARY, facts("Ada Moran was its keeper.")),
        "record_insights": NOTES,
        "give_verdict": verdict(True, THOUGHT, "builder"),
    }
    run, state = await finished(tmp_path, {**usual, **rules})
    assert state.report and await run.replays_alike()
    return run, [asked for asked in run.model.asked if asked.task == SECOND]


@pytest.mark.behaviour("A-32", "A-34", "A-36", "A-69", "A-70")
async def test_queries_are_chosen_with_all_in_view_that_earlier_steps_have_left(
    tmp_path: Path,
) -> None:
    notes = insights("Whales sing.", OLD, gaps={OPEN: 0.9})
    _, [first, *_] = await second_step(tmp_path, record_insights=notes)
    assert first.form == "choose_queries"
    assert first.known == [TALL, TALLER]
    assert first.knowledge["gaps"] == [OPEN]
    assert shown(first, "contradiction") in (
        [f"{TALL} – but: {TALLER}"],
        [f"{TALLER} – but: {TALL}"],
    )
    assert shown(first, "reasoning") == [THOUGHT, "builder"]
    assert shown(first, "insight") == ["Whales sing.", OLD], "in the order of the model"
    kinds = [(element["kind"], element["step"]) for element in first.knowledge["elements"]]
    assert kinds[:3] == [("insight", "1"), ("contradiction", "1"), ("reasoning", "1")]


@pytest.mark.behaviour("A-33")
async def test_nothing_is_given_twice_however_many_iterations_there_are(tmp_path: Path) -> None:
    learning = of_task(FIRST, CONTRARY, new_each_time)
    verdicts = of_task(FIRST, verdict(True, THOUGHT), verdict(False, THOUGHT.upper()))
    again = of_task(FIRST, NOTES, insights(OLD.upper(), gaps={OPEN.lower(): 0.9}))
    run, asked = await second_step(
        tmp_path, record_learnings=learning, give_verdict=verdicts, record_insights=again
    )
    assert len([request for request in asked if request.form == "record_learnings"]) == 5
    for request in asked:
        given = [element["content"] for element in request.knowledge["elements"]]
        given += [*request.known, *request.knowledge.get("gaps", [])]
        assert len({words.casefold() for words in given}) == len(given), request.form
    assert not run.of_type("error")

"""What a step is given of what is known: learnings, insights, gaps, contradictions and thoughts, each once."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from planned_lab import Asked, PlannedLab, Rule, finished, plan, planned_lab, step, verdict
from planned_rules import INCOMPLETE, contrary, facts, form, insights, new_each_time, of_task, shown

from deep_research.app.embed import build_graph
from deep_research.core.records.plan import Element
from deep_research.core.run.branches import StepTask

FIRST, SECOND = "Skerry Light", "Skerry Light keeper"
TWO = plan(step(FIRST), step(SECOND, after=(1,)))
TALL, TALLER = "The Skerry Light is 38 metres tall.", "The Skerry Light is 45 metres tall."
OLD, OPEN = "The Skerry Light is an old light.", "Who built the Skerry Light?"
THOUGHT = "Nobody says who built the Skerry Light."
CONTRARY = contrary(TALL, TALLER)
NOTES = insights(OLD, gaps={OPEN: 0.9})


async def second_step(tmp_path: Path, **rules: Any) -> tuple[PlannedLab, list[Asked]]:
    """A run of two steps, and all that was asked about the second."""
    usual = {
        "make_plan": TWO,
        "record_learnings": of_task(FIRST, CONTRARY, facts("Ada Moran was its keeper.")),
        "record_insights": NOTES,
        "give_verdict": verdict(True, THOUGHT, "builder"),
    }
    run, state = await finished(tmp_path, {**usual, **rules})
    assert state.report and await run.replays_alike()
    return run, [asked for asked in run.model.asked if asked.task == SECOND]


@pytest.mark.behaviour("A-32", "A-36")
async def test_queries_are_chosen_with_all_in_view_that_earlier_steps_have_left(tmp_path: Path) -> None:
    _, asked = await second_step(tmp_path)
    assert asked[0].form == "choose_queries"
    assert asked[0].known == [TALL, TALLER]
    assert asked[0].knowledge["gaps"] == [OPEN]
    assert shown(asked[0], "insight") == [OLD]
    assert shown(asked[0], "contradiction") in ([f"{TALL} – but: {TALLER}"], [f"{TALLER} – but: {TALL}"])
    assert shown(asked[0], "reasoning") == [THOUGHT, "builder"]


@pytest.mark.behaviour("A-33")
async def test_nothing_is_given_twice_however_many_iterations_there_are(tmp_path: Path) -> None:
    learning = of_task(FIRST, CONTRARY, new_each_time)
    verdicts = of_task(FIRST, verdict(True, THOUGHT), verdict(False, THOUGHT.upper()))
    again = of_task(FIRST, NOTES, insights(OLD.upper(), gaps={OPEN.lower(): 0.9}))
    run, asked = await second_step(tmp_path, record_learnings=learning, give_verdict=verdicts, record_insights=again)
    assert len([one for one in asked if one.form == "record_learnings"]) == 5
    for one in asked:
        given = [element["content"] for element in one.knowledge["elements"]]
        given += [*one.known, *one.knowledge.get("gaps", [])]
        assert len({words.casefold() for words in given}) == len(given), one.form
    assert not run.of_type("error")


@pytest.mark.behaviour("A-33")
async def test_a_gap_that_a_step_has_answered_is_given_no_more(tmp_path: Path) -> None:
    answering = lambda asked: {**new_each_time(asked), "answered_gaps": [1]}  # noqa: E731 - a rule
    rules: dict[str, Any] = {
        "record_learnings": of_task(FIRST, CONTRARY, answering),
        "give_verdict": of_task(FIRST, verdict(True), INCOMPLETE),
        "record_insights": of_task(FIRST, NOTES, insights()),
    }
    run, asked = await second_step(tmp_path, **rules)
    assert [OPEN in one.reminder for one in asked if one.form == "record_learnings"] == [True, *[False] * 4]
    assert f"Not found: {OPEN}" not in (await run.state()).messages[-1].text


@pytest.mark.behaviour("A-34")
async def test_what_bears_not_at_all_on_a_step_has_the_relevance_0_and_kinds_are_kept(tmp_path: Path) -> None:
    notes, thought = insights("Whales sing.", OLD), verdict(True, "Ships sail.")
    _, asked = await second_step(tmp_path, record_insights=notes, give_verdict=thought)
    given = {one["content"]: (one["kind"], one["relevance"]) for one in asked[0].knowledge["elements"]}
    assert given["Whales sing."] == ("insight", 0.0)
    assert given["Ships sail."] == ("reasoning", 0.0)
    assert given[OLD] == ("insight", 0.67)


@pytest.mark.behaviour("A-69")
async def test_each_piece_says_what_it_is_where_it_comes_from_and_how_much_it_bears_on_the_task(
    tmp_path: Path,
) -> None:
    given: list[StepTask] = []

    async def look(asked: Asked) -> AIMessage:
        # What is written of the state may come a little later than the step begins.
        async with asyncio.timeout(60):
            while not any(task.text == asked.task for task in given):
                given.extend(task for task in (await run.state()).tasks if isinstance(task, StepTask))
        return form("choose_queries", queries=[asked.task])

    rules = {"make_plan": TWO, "record_learnings": CONTRARY, "record_insights": NOTES, "choose_queries": look}
    run = planned_lab(tmp_path, rules, graph=build_graph("planned", checkpointer=tmp_path / "runs.sqlite"))
    state = await run.ask()
    task = next(task for task in given if task.text == SECOND)
    assert [(learning.text, learning.step) for learning in task.known] == [(TALL, "1"), (TALLER, "1")]
    assert {learning.source for learning in task.known} == {source.key for source in task.rests_on}
    assert {source.key for source in task.rests_on} <= state.sources.keys()
    assert [(gap.text, gap.step, gap.score) for gap in task.gaps] == [(OPEN, "1", 0.9)]
    assert Element(content=OLD, relevance=2 / 3, source="1", kind="insight") in task.elements
    shown_first = run.asked("choose_queries", SECOND)[0].knowledge["elements"]
    assert shown_first[0] == {"kind": "insight", "content": OLD, "relevance": 0.67, "step": "1"}


@pytest.mark.behaviour("A-70")
async def test_sure_insights_come_first_and_open_gaps_shape_the_next_queries(tmp_path: Path) -> None:
    thought = verdict(True, f"{SECOND}: nobody is named.")
    _, asked = await second_step(tmp_path, give_verdict=thought, record_insights=insights("Whales sing.", OLD))
    elements = asked[0].knowledge["elements"]
    # However little they bear on the task.
    assert [element["kind"] for element in elements] == ["insight", "insight", "reasoning", "contradiction"]
    run, _ = await second_step(tmp_path, give_verdict=of_task(FIRST, INCOMPLETE, verdict(True)))
    own = run.asked("record_learnings", FIRST)
    assert [one.knowledge.get("gaps") for one in own if one.task == FIRST] == [None, [OPEN], [OPEN]]


@pytest.mark.behaviour("A-70")
async def test_what_looks_contradictory_reaches_the_final_check_before_all_else(tmp_path: Path) -> None:
    before = facts("The Skerry Light has a white tower.", "The Skerry Light has an iron door.")
    both: Rule = lambda asked: {**CONTRARY(asked), "learnings": before(asked)["learnings"]}  # noqa: E731 - a rule
    rules = {"make_plan": TWO, "record_learnings": of_task(FIRST, both, facts()), "record_insights": NOTES}
    run, _ = await finished(tmp_path, rules, limits={"memory_tokens": 50})
    [check] = run.asked("record_inconsistencies")
    assert {*check.known} == {TALL, TALLER}


async def test_what_was_learned_in_another_language_is_known_sure_and_leaves_no_gap(tmp_path: Path) -> None:
    first, second = "When was the beacon first illuminated?", "Compare its age with that of the port"
    french = "Le phare de Skerry brille depuis 1844."
    rules: dict[str, Any] = {
        "make_plan": plan(step(first), step(second, after=(1,))),
        "choose_queries": lambda _: {"queries": ["Skerry Light"]},
        "record_learnings": of_task(first, lambda _: {"learnings": [{"text": french, "document": 1}]}, new_each_time),
        "record_insights": of_task(first, insights("Il est ancien."), insights()),
        "evaluate_outcome": lambda _: {"completeness": 1.0, "quality": 1.0},
        "give_verdict": verdict(True),
    }
    run, state = await finished(tmp_path, rules)
    assert state.outcomes["1"].confidence > 0.6, "no word of the task stands in it"
    assert [one.text for one in state.memory.values() if one.kind == "insight"] == ["Il est ancien."]
    assert french in run.asked("choose_queries", second)[0].known
    assert state.run and state.run.status == "completed"
    assert "Not found" not in state.messages[-1].text

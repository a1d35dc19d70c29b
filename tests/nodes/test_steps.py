"""A step that searches: its queries, what it learns round by round, and when it is over."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from lab import HandClock
from planned_lab import PlannedLab, finished, plan, step
from planned_rules import (
    COVERED,
    INCOMPLETE,
    WORDS,
    facts,
    failing,
    form,
    in_turn,
    judged,
    new_each_time,
    of_task,
    queries,
)

from deep_research.core.evidence.memory.learned import confidence
from deep_research.core.records.plan import StepOutcome
from deep_research.core.run.events.activities import wordings_of
from deep_research.state import ResearchState

THREE = ("Skerry Light", "Ada Moran", "Port Anlow")


def outcome_of(state: ResearchState, step_id: str = "1") -> StepOutcome:
    return state.outcomes[step_id]


def shown_queries(run: PlannedLab) -> list[list[str]]:
    """What the steps searched for, as it was told; the orientation is left out."""
    return [packet["queries"] for packet in run.of_type("search_tool_queries_delta")][1:]


@pytest.mark.behaviour("A-30", "A-42")
async def test_a_step_that_is_never_complete_ends_after_five_iterations(tmp_path: Path) -> None:
    run, state = await finished(tmp_path, {"give_verdict": INCOMPLETE, "record_learnings": new_each_time})
    assert [iteration.number for iteration in outcome_of(state).iterations] == [1, 2, 3, 4, 5]
    assert len(run.asked("give_verdict")) == len(run.asked("choose_queries")) == 5
    assert [step.status for step in state.steps] == ["completed"]
    assert state.report and not outcome_of(state).is_complete
    assert await run.replays_alike()


async def test_one_iteration_without_anything_new_between_others_ends_nothing(tmp_path: Path) -> None:
    nothing = facts()
    learning = in_turn(new_each_time, nothing, new_each_time, nothing, nothing)
    run, state = await finished(tmp_path, {"give_verdict": INCOMPLETE, "record_learnings": learning})
    assert [len(iteration.learnings) for iteration in outcome_of(state).iterations] == [1, 0, 1, 0, 0]
    assert await run.replays_alike()


@pytest.mark.parametrize(("choices", "iterations"), [([["Ada Moran"], []], 1), ([[]], 0), ([[" "]], 0)])
async def test_a_step_that_has_nothing_left_to_ask_is_over(
    tmp_path: Path, choices: list[list[str]], iterations: int
) -> None:
    rules = {"choose_queries": in_turn(*(queries(*choice) for choice in choices)), "give_verdict": INCOMPLETE}
    run, state = await finished(tmp_path, rules)
    assert len(outcome_of(state).iterations) == iterations
    assert [step.status for step in state.steps] == ["completed"]
    assert state.report and not run.of_type("error")
    assert await run.replays_alike()


async def test_what_was_searched_for_is_not_searched_for_again(tmp_path: Path) -> None:
    choices = in_turn(queries("Ada Moran", "ADA MORAN"), queries("ada MORAN", "Tralee"), queries("TRALEE"))
    rules = {"choose_queries": choices, "give_verdict": INCOMPLETE, "record_learnings": new_each_time}
    run, _ = await finished(tmp_path, rules)
    assert shown_queries(run) == [["Ada Moran", "ADA MORAN"], ["Tralee"]]


@pytest.mark.behaviour("A-31")
@pytest.mark.parametrize("broken", ["", "choose_queries", "record_learnings", "give_verdict"])
async def test_each_iteration_is_told_by_one_of_five_wordings_and_closed(tmp_path: Path, broken: str) -> None:
    rules: dict[str, Any] = {"give_verdict": INCOMPLETE, "record_learnings": new_each_time}
    # That no block is left open is checked of every run.
    run, state = await finished(tmp_path, {**rules, **({broken: failing(OSError("gone"))} if broken else {})})
    activities = [packet for packet in run.of_type("activity") if packet["icon"] == "globe"]
    assert len(activities) == len(outcome_of(state).iterations) >= 2
    assert {packet["text"] for packet in activities} <= set(wordings_of("search"))
    assert run.types().count("step_started") == run.types().count("step_done") == 1
    assert await run.replays_alike()


@pytest.mark.behaviour("A-37")
async def test_where_no_queries_can_be_had_the_title_is_searched_for(tmp_path: Path) -> None:
    choices = in_turn(failing(OSError("gone")), lambda _: "I would rather talk.", lambda _: "Still.", queries("Tralee"))
    rules = {"choose_queries": choices, "give_verdict": INCOMPLETE, "record_learnings": new_each_time}
    run, state = await finished(tmp_path, rules, limits={"max_step_iterations": 3})
    assert shown_queries(run) == [["About Skerry Light"], ["Tralee"]]
    assert len(run.of_type("error")) == 2
    assert len(state.learnings) == 1
    assert await run.replays_alike()


async def test_the_results_of_all_queries_are_read_as_one_list_in_one_conversation(tmp_path: Path) -> None:
    rules: dict[str, Any] = {"choose_queries": in_turn(queries(*THREE), queries("Tralee")), "give_verdict": INCOMPLETE}
    run, _ = await finished(tmp_path, {**rules, "record_learnings": new_each_time}, limits={"max_step_iterations": 2})
    first, second = run.asked("record_learnings")
    assert len({result["document"] for result in first.results}) == len(first.results) > 1
    assert not any(result["text"] for result in second.results), "nothing is shown twice"
    conversations = [asked.messages[:-1] for asked in (*run.asked("choose_queries")[:1], first, second)]
    for before, after in pairwise(conversations):
        assert after[: len(before)] == before


@pytest.mark.behaviour("A-39")
async def test_every_learning_names_its_step_and_they_add_up_over_the_iterations(tmp_path: Path) -> None:
    steps = plan(step("Skerry Light"), step("Ada Moran"))
    rules = {"make_plan": steps, "give_verdict": INCOMPLETE, "record_learnings": new_each_time}
    run, state = await finished(tmp_path, rules)
    for step_id in ("1", "2"):
        own = [learning.id for learning in state.learnings.values() if learning.step == step_id]
        assert own == [key for iteration in outcome_of(state, step_id).iterations for key in iteration.learnings]
        assert len(own) == 5
    assert [len(asked.known) for asked in run.asked("record_learnings", "Ada Moran")] == [0, 1, 2, 3, 4]
    assert await run.replays_alike()


@pytest.mark.behaviour("A-40")
async def test_the_confidence_of_each_iteration_is_kept_with_its_time(tmp_path: Path) -> None:
    task, half = "Which lamp had the Skerry Light?", judged(0.5, 0.5)
    rules = {"make_plan": plan(step(task)), "give_verdict": INCOMPLETE, "record_learnings": new_each_time}
    rules["evaluate_outcome"] = half
    run, state = await finished(tmp_path, rules, clock=HandClock())
    iterations, known = outcome_of(state).iterations, list(state.learnings.values())
    worked_out = [confidence(task, known[:number], state.sources, number, 0.5) for number in range(1, 6)]
    assert [iteration.confidence for iteration in iterations] == worked_out
    assert worked_out == sorted(worked_out, reverse=True) and len(set(worked_out)) == 5
    assert {iteration.at for iteration in iterations} == {"2026-03-04T05:06:00"}
    assert [packet["confidence"] for packet in run.of_type("step_learnings")] == worked_out


@pytest.mark.behaviour("A-43")
async def test_what_an_iteration_has_learned_is_told_whole(tmp_path: Path) -> None:
    long = f"The Skerry Light was lit in 1844, {'and it shone ' * 60}until today."
    chosen = queries("Skerry Light", "Ada Moran")
    run, state = await finished(tmp_path, {"choose_queries": chosen, "record_learnings": facts(long)})
    [packet] = run.of_type("step_learnings")
    shown = [(learned["id"], learned["text"], learned["document_id"]) for learned in packet["learnings"]]
    assert shown == [(known.id, long, known.source) for known in state.learnings.values()]
    assert {source for _, _, source in shown} <= state.sources.keys()
    assert (packet["step_id"], packet["iteration"]) == ("1", 1)
    assert shown_queries(run) == [["Skerry Light", "Ada Moran"]]
    assert await run.replays_alike()


@pytest.mark.behaviour("A-50")
async def test_a_step_that_the_time_overtakes_stops_before_its_next_iteration_and_keeps_what_it_has(
    tmp_path: Path,
) -> None:
    clock = HandClock()
    slow = clock.after(200, form("give_verdict", is_complete=False))
    rules = {"give_verdict": in_turn(INCOMPLETE, slow), "record_learnings": new_each_time}
    limits = {"max_seconds_planned": 100, "max_seconds": 1000}
    run, state = await finished(tmp_path, rules, clock=clock, limits=limits)
    assert len(outcome_of(state).iterations) == 2
    assert len(state.learnings) == 2
    [done] = run.of_type("step_done")
    assert done["status"] == "completed" and "max_seconds_planned" in done["reason"]
    assert not run.of_type("error")
    assert state.report and "max_seconds_planned" in state.messages[-1].text
    assert await run.replays_alike()


@pytest.mark.behaviour("A-51")
async def test_a_step_that_finds_nothing_ends_without_verdicts_and_is_named_as_not_found(tmp_path: Path) -> None:
    steps = plan(step("Skerry Light"), step(COVERED))
    unheard_of = of_task(COVERED, lambda asked: {"queries": [WORDS[asked.number]]}, queries("Skerry Light"))
    run, state = await finished(tmp_path, {"make_plan": steps, "choose_queries": unheard_of})
    assert {asked.form for asked in run.model.asked if asked.task == COVERED} == {"choose_queries"}
    assert {learning.step for learning in state.learnings.values()} == {"1"}
    assert outcome_of(state, "2").iterations[-1].verdicts == ()
    assert f"Not found: {COVERED}" in state.messages[-1].text
    assert await run.replays_alike()

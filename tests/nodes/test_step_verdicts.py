"""What is thought of an iteration: verdicts, insights, and whether the plan still fits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from planned_lab import finished, plan, step, verdict
from planned_rules import INCOMPLETE, WORDS, facts, failing, holding, in_turn, insights, judged, new_each_time, queries

from deep_research.state import ResearchState

THREE = ("Skerry Light", "Ada Moran", "Port Anlow")
ANY_QUERY = queries("Skerry Light")


def of_words(covered: int, of: int, **more: Any) -> dict[str, Any]:
    """A step of which so large a part is there by its only fact."""
    steps = plan(step(" ".join(WORDS[:of])))
    rules = {"make_plan": steps, "choose_queries": ANY_QUERY, "record_learnings": holding(covered)}
    return {**rules, "evaluate_outcome": judged(covered / of, 1.0), "record_insights": insights("It is old."), **more}


def noted(state: ResearchState) -> int:
    """How many insights were noted."""
    return sum(one.kind == "insight" for one in state.memory.values())


@pytest.mark.behaviour("A-41")
@pytest.mark.parametrize(("covered", "of", "confidence", "times"), [(5, 8, 0.6, 0), (13, 20, 0.61, 1)])
async def test_insights_are_noted_only_above_a_confidence_of_06(
    tmp_path: Path, covered: int, of: int, confidence: float, times: int
) -> None:
    run, state = await finished(tmp_path, of_words(covered, of))
    assert [iteration.confidence for iteration in state.outcomes["1"].iterations] == [confidence]
    assert noted(state) == times
    assert await run.replays_alike()


@pytest.mark.behaviour("A-41", "A-42")
async def test_insights_are_noted_only_where_something_new_was_learned(tmp_path: Path) -> None:
    choices = lambda asked: {"queries": [f"Skerry {WORDS[asked.number]}"]}  # noqa: E731 - a rule
    shown = in_turn(insights("It is old."), insights("It is tall."))
    rules = of_words(20, 20, choose_queries=choices, give_verdict=INCOMPLETE, record_insights=shown)
    _, state = await finished(tmp_path, rules)
    iterations = state.outcomes["1"].iterations
    # The verdict ends a step, or that nothing new comes; being sure does not.
    assert [(len(one.learnings), one.confidence) for one in iterations] == [(1, 0.75), (0, 0.73), (0, 0.71)]
    assert noted(state) == 1


@pytest.mark.behaviour("A-44", "A-47")
async def test_each_round_gets_one_verdict_up_to_the_first_that_says_complete(tmp_path: Path) -> None:
    verdicts = in_turn(verdict(False, "Verdict 1.", "lamp"), verdict(True, "Verdict 2."))
    choices = in_turn(queries(*THREE), queries("Tralee"))
    rules = {"choose_queries": choices, "record_learnings": new_each_time, "give_verdict": verdicts}
    run, state = await finished(tmp_path, rules)
    shown = [
        (packet["query"], packet["is_complete"], packet["reasoning"], packet["key_elements"])
        for packet in run.of_type("step_assessed")
    ]
    assert shown == [(", ".join(THREE), False, "Verdict 1.", ["lamp"]), ("Tralee", True, "Verdict 2.", [])]
    assert state.outcomes["1"].is_complete
    assert await run.replays_alike()


@pytest.mark.behaviour("A-35", "A-45")
async def test_a_verdict_that_fails_counts_as_not_complete_and_says_so(tmp_path: Path) -> None:
    verdicts = in_turn(failing(OSError("gone")), verdict(True, "All is there."))
    run, state = await finished(tmp_path, {"give_verdict": verdicts, "record_learnings": new_each_time})
    assessed = [(packet["is_complete"], packet["reasoning"]) for packet in run.of_type("step_assessed")]
    assert assessed[0][0] is False and assessed[0][1].startswith("No verdict was given: ")
    assert assessed[1:] == [(True, "All is there.")]
    [error] = run.of_type("error")
    assert "OSError" in error["message"]
    [finding] = state.findings.values()
    assert len(finding.failures) == 1 and "OSError" in finding.failures[0]
    assert await run.replays_alike()


@pytest.mark.behaviour("A-46")
async def test_the_last_verdict_is_what_the_step_hands_on(tmp_path: Path) -> None:
    verdicts = in_turn(verdict(False, "Where is it?", "place"), verdict(False, "How tall is it?", "height", "metres"))
    learning = in_turn(new_each_time, new_each_time, facts(), facts())
    run, state = await finished(tmp_path, {"give_verdict": verdicts, "record_learnings": learning})
    last = state.outcomes["1"].verdict
    assert last
    assert (last.reasoning, last.key_elements) == ("How tall is it?", ("height", "metres"))
    assert await run.replays_alike()


@pytest.mark.behaviour("A-48")
async def test_the_plan_is_looked_at_anew_once_a_round_where_something_is_sure(tmp_path: Path) -> None:
    steps = plan(*map(step, THREE), step("Ada Moran Tralee", after=(1,)))
    run, _ = await finished(tmp_path, {"make_plan": steps, "record_learnings": new_each_time})
    # After the second round nothing is left that could be changed.
    assert len(run.asked("update_plan")) == 1
    assert len({packet["placement"]["turn_index"] for packet in run.of_type("step_started")}) == 2
    assert await run.replays_alike()


@pytest.mark.behaviour("A-48")
@pytest.mark.parametrize(("covered", "of", "times"), [(5, 8, 0), (13, 20, 1)])
async def test_the_plan_stays_as_it_is_where_nothing_is_sure(tmp_path: Path, covered: int, of: int, times: int) -> None:
    task = " ".join(WORDS[:of])
    steps = plan(step(task), step("Ada Moran", after=(1,)))
    run, _ = await finished(tmp_path, of_words(covered, of, make_plan=steps))
    assert len(run.asked("update_plan")) == times


@pytest.mark.behaviour("A-48")
async def test_a_second_look_leaves_out_rewords_and_adds_steps(tmp_path: Path) -> None:
    steps = plan(step("Skerry Light"), step("Ada Moran", after=(1,)), step("Port Anlow", after=(1,)))
    added = {"title": "Tides", "task": "spring tide", "requires_search": True}
    changes = {
        "needless": [{"step": "2", "reason": "It is known"}],
        "reworded": [{"step": "3", "task": "Port Anlow ferry"}],
        "added": [added],
    }
    looking = in_turn(lambda _: changes, lambda _: {})
    run, state = await finished(tmp_path, {"make_plan": steps, "update_plan": looking})
    assert [(step.task, step.status) for step in state.steps] == [
        ("Skerry Light", "completed"),
        ("Ada Moran", "skipped"),
        ("Port Anlow ferry", "completed"),
        ("spring tide", "completed"),
    ]
    assert "Not done: About Ada Moran: It is known." in state.messages[-1].text
    assert await run.replays_alike()

"""Steps of thought alone: what they rest on, what they bring, and what becomes of one that fails."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from planned_lab import PlannedLab, finished, plan, step
from planned_rules import WORDS, contrary, failing, holding, insights, judged, of_task, shown, suggestion

from deep_research.core.records.plan import Learning
from deep_research.state import ResearchState

LIGHT, JUDGE, COMPARE = "Skerry Light", "Judge the Skerry Light", "Compare the Skerry Light"
TALL, TALLER = "The Skerry Light is 38 metres tall.", "The Skerry Light is 45 metres tall."
FIRST_THOUGHT = f"It is tall, {'and it is old, ' * 40}all in all."


def thinking(*tasks: str, **rules: Any) -> dict[str, Any]:
    """A plan of one search, and thoughts on these tasks that build on it."""
    steps = plan(step(LIGHT), *(step(task, search=False, after=(1,)) for task in tasks))
    statements = of_task(JUDGE, lambda _: {"statements": [FIRST_THOUGHT, " "]}, lambda _: {"statements": ["So be it."]})
    return {"make_plan": steps, "record_analysis": statements, **rules}


def thoughts(state: ResearchState, step_id: str = "2") -> list[Learning]:
    return [learning for learning in state.learnings.values() if learning.step == step_id]


def done(run: PlannedLab) -> dict[str, tuple[str, str]]:
    """How each step ended, and why."""
    return {packet["step_id"]: (packet["status"], packet["reason"]) for packet in run.of_type("step_done")}


@pytest.mark.behaviour("A-62")
@pytest.mark.parametrize("before", [[], [step("word0x")]])
async def test_a_thought_over_nothing_is_skipped_and_no_model_is_asked(
    tmp_path: Path, before: list[dict[str, Any]]
) -> None:
    unheard_of = lambda asked: {"queries": [WORDS[asked.number]]}  # noqa: E731 - a rule
    steps = plan(*before, step(JUDGE, search=False), step(COMPARE, search=False, previous=True))
    run, state = await finished(tmp_path, {"make_plan": steps, "choose_queries": unheard_of})
    thoughts = [step for step in state.steps if not step.requires_search]
    assert not run.asked("record_analysis")
    reason = "nothing was learned that it could think over"
    assert [(step.status, step.reason) for step in thoughts] == [("skipped", reason)] * 2
    assert list(done(run).values())[-2:] == [("skipped", reason)] * 2
    assert f"Not done: About {JUDGE}: {reason}." in state.messages[-1].text
    assert await run.replays_alike()


@pytest.mark.behaviour("A-63")
async def test_a_thought_is_given_contradictions(tmp_path: Path) -> None:
    rules: dict[str, Any] = {"record_learnings": contrary(TALL, TALLER)}
    run, state = await finished(tmp_path, thinking(JUDGE, **rules))
    [asked] = run.asked("record_analysis")
    assert asked.known == [TALL, TALLER]
    [contradiction] = shown(asked, "contradiction")
    assert TALL in contradiction and TALLER in contradiction
    assert done(run)["2"] == ("completed", "")
    assert [learning.text for learning in thoughts(state)] == [" ".join(FIRST_THOUGHT.split())]
    assert await run.replays_alike()


@pytest.mark.behaviour("A-64")
@pytest.mark.parametrize(("covered", "of", "confidence", "times"), [(5, 8, 0.6, 0), (13, 20, 0.61, 1)])
async def test_a_thought_is_one_call_and_is_noted_where_what_it_rests_on_is_sure(
    tmp_path: Path, covered: int, of: int, confidence: float, times: int
) -> None:
    task = " ".join(WORDS[:of])
    rules = thinking(
        task, record_learnings=holding(covered), record_insights=of_task(task, insights("So."), insights())
    )
    rules["evaluate_outcome"] = judged(covered / of, 1.0)
    run, state = await finished(tmp_path, rules)
    assert len(run.asked("record_analysis")) == 1
    assert [iteration.confidence for iteration in state.outcomes["2"].iterations] == [confidence]
    assert sum(one.kind == "insight" for one in state.memory.values()) == times
    assert await run.replays_alike()


@pytest.mark.behaviour("A-65")
async def test_what_was_thought_is_told_whole_and_names_no_source(tmp_path: Path) -> None:
    run, state = await finished(tmp_path, thinking(JUDGE))
    [packet] = [packet for packet in run.of_type("step_learnings") if packet["step_id"] == "2"]
    [learning] = packet["learnings"]
    assert learning["text"] == " ".join(FIRST_THOUGHT.split())
    assert learning["document_id"] == ""
    assert packet["confidence"] == state.outcomes["2"].confidence > 0
    assert thoughts(state)[0].source == ""
    [report] = run.asked("report")
    [shown_thought] = [message.text for message in report.messages if learning["text"] in message.text]
    assert shown_thought.startswith("Analysis, not a source")
    assert await run.replays_alike()


@pytest.mark.behaviour("A-66")
async def test_a_thought_is_followed_up_whatever_its_verdict(tmp_path: Path) -> None:
    judging = of_task(JUDGE, judged(0.69, 0.41, suggestion("Ferry", "ferry Port Anlow")), judged(1.0, 1.0))
    run, state = await finished(tmp_path, thinking(JUDGE, evaluate_outcome=judging))
    assert [step.id for step in state.steps] == ["1", "2", "2.1"]
    assert not run.asked("give_verdict", JUDGE)
    assert await run.replays_alike()


@pytest.mark.behaviour("A-27", "A-67")
@pytest.mark.parametrize("failure", [failing(OSError("gone")), lambda _: "I would rather talk."])
async def test_a_thought_that_fails_leaves_the_others_untouched(tmp_path: Path, failure: Any) -> None:
    rules = thinking(JUDGE, COMPARE)
    rules["record_analysis"] = of_task(JUDGE, failure, rules["record_analysis"])
    # That no block is left open is checked of every run.
    run, state = await finished(tmp_path, rules)
    assert {step_id: status for step_id, (status, _) in done(run).items()} == {
        "1": "completed",
        "2": "failed",
        "3": "completed",
    }
    assert done(run)["2"][1] == state.steps[1].reason != ""
    assert not thoughts(state) and [learning.text for learning in thoughts(state, "3")] == ["So be it."]
    [error] = run.of_type("error")
    assert state.steps[1].reason in error["message"]
    assert f"Not researched to the end: {JUDGE}: {state.steps[1].reason}." in state.messages[-1].text
    assert await run.replays_alike()


async def test_a_thought_that_says_nothing_is_over_and_not_judged(tmp_path: Path) -> None:
    run, state = await finished(tmp_path, thinking(JUDGE, record_analysis=lambda _: {"statements": [" "]}))
    assert state.steps[1].status == "completed" and not thoughts(state)
    assert state.outcomes["2"].confidence == 0.0
    assert state.outcomes["2"].completeness is None
    assert state.report and await run.replays_alike()

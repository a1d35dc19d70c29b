"""Steps that follow up others, and steps of thought alone: what they rest on and what becomes of
them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from kit.planned import (
    INCOMPLETE,
    WORDS,
    Asked,
    PlannedLab,
    Rule,
    contrary,
    failing,
    finished,
    holding,
    insights,
    judged,
    new_each_time,
    of_task,
    plan,
    shown,
    step,
    suggestion,
    verdict,
)

from deep_research.app.embed import thread_config
from deep_research.state import ResearchState

LIGHT, TIDE, THOUGHT_OVER = "Skerry Light", "spring tide Port Anlow", "What follows for the light?"
TIDES = suggestion("Tides", TIDE)
WANTING = judged(0.3, 0.8, TIDES)
"""Judgement that something is missing and suggests one step."""
ENOUGH = judged(1.0, 1.0)
JUDGE, COMPARE = "Judge the Skerry Light", "Compare the Skerry Light"
TALL, TALLER = "The Skerry Light is 38 metres tall.", "The Skerry Light is 45 metres tall."
FIRST_THOUGHT = f"It is tall, {'and it is old, ' * 40}all in all."


def open_step(**rules: Rule) -> dict[str, Rule]:
    """Rules of a run whose step is incomplete after one iteration."""
    return {"give_verdict": INCOMPLETE, **rules}


async def followed(tmp_path: Path, **rules: Any) -> tuple[PlannedLab, ResearchState]:
    """A run whose steps have one iteration each, and follow-ups of follow-ups."""
    limits = {"max_step_iterations": 1, "max_follow_ups": 2}
    run, state = await finished(tmp_path, open_step(**rules), limits=limits)
    assert state.report and await run.replays_alike()
    return run, state


def ids(state: ResearchState) -> list[str]:
    return [step.id for step in state.steps]


def always_further(**more: Any) -> Rule:
    """Judgement that suggests a new follow-up for every step."""

    def judge(asked: Asked) -> dict[str, Any]:
        title = f"{asked.task} further"
        return {
            "completeness": 0.3,
            "quality": 0.8,
            "next_steps": [suggestion(title, f"{title} on", **more)],
        }

    return judge


@pytest.mark.behaviour("A-53")
async def test_a_step_is_followed_up_if_much_is_missing_and_what_is_there_is_good(
    tmp_path: Path,
) -> None:
    judgements = {
        LIGHT: judged(0.69, 0.41, TIDES),
        "Ada Moran": judged(0.7, 0.9, TIDES),
        "Port Anlow": judged(0.3, 0.4, TIDES),
        "Tralee": WANTING,
        "ferry": judged(0.3, 0.8),
    }
    judging = ENOUGH
    for task, judgement in judgements.items():
        judging = of_task(task, judgement, judging)
    _, state = await followed(
        tmp_path,
        make_plan=plan(*map(step, judgements)),
        record_learnings=new_each_time,
        give_verdict=of_task("Tralee", verdict(True), INCOMPLETE),
        evaluate_outcome=judging,
    )
    assert {step.status for step in state.steps} == {"completed"}
    assert ids(state) == ["1", "1.1", "2", "3", "4", "5"]


@pytest.mark.behaviour("A-29")
async def test_no_follow_up_repeats_the_title_or_the_task_of_an_ancestor(tmp_path: Path) -> None:
    # Each step gets a follow-up, which then suggests what its parent, or itself, already did.
    keeper, harbour = suggestion("Keeper", "Tralee keeper"), suggestion("Harbour", "ferry harbour")
    judgements = {
        TIDE: judged(0.3, 0.8, suggestion("about  SKERRY light.", "Else")),
        "Tralee keeper": judged(0.3, 0.8, suggestion("Else", "ada moran")),
        "ferry harbour": judged(0.3, 0.8, harbour),
        LIGHT: WANTING,
        "Ada Moran": judged(0.3, 0.8, keeper),
        "Port Anlow": judged(0.3, 0.8, harbour),
    }
    _, state = await followed(
        tmp_path,
        make_plan=plan(step(LIGHT), step("Ada Moran"), step("Port Anlow")),
        record_learnings=new_each_time,
        evaluate_outcome=lambda asked: judgements[asked.task](asked),
    )
    assert ids(state) == ["1", "1.1", "2", "2.1", "3", "3.1"]


@pytest.mark.behaviour("A-52", "A-54", "A-57", "A-58")
async def test_the_first_suggestion_becomes_a_deeper_step_whose_learnings_are_cited(
    tmp_path: Path,
) -> None:
    def cite_tide(asked: Asked) -> str:
        [number] = {
            n
            for message in asked.messages
            for n in re.findall(r"5\.2 metres.*?\[(\d+)\]", message.text)
        }
        return f"The spring tide reaches 5.2 metres. [{number}]"

    judging = of_task(
        LIGHT, judged(0.3, 0.8, TIDES, suggestion("Ferry", "ferry")), judged(1.0, 1.0)
    )
    thought = of_task(LIGHT, verdict(False, "The tides are missing.", "tide"), verdict(True))
    run, state = await followed(
        tmp_path, evaluate_outcome=judging, give_verdict=thought, report=cite_tide
    )
    assert [(step.title, step.task, step.depth) for step in state.steps[1:]] == [("Tides", TIDE, 1)]
    assert not run.asked("update_step")
    assert (state.outcomes["1"].completeness, state.outcomes["1"].quality) == (0.3, 0.8)
    [first] = run.asked("choose_queries", TIDE)
    assert shown(first, "reasoning") == ["The tides are missing.", "tide"]
    own = [learning.text for learning in state.learnings.values() if learning.step == "1"]
    assert own and first.known[: len(own)] == own
    assert state.report
    [cited] = state.report.sources
    assert {learning.step for learning in state.learnings.values() if learning.source == cited} == {
        "1.1"
    }
    assert cited.endswith("tides.html") and "tides.html" in state.messages[-1].text


@pytest.mark.sweep(first=2)
@pytest.mark.behaviour("A-55")
@pytest.mark.parametrize(
    ("suggested", "named", "made"),
    [
        (suggestion("", TIDE), {"title": "Tides", "task": "Else"}, ("Tides", TIDE, True)),
        (suggestion("", TIDE, search=False), {"title": " "}, ("Additional research", TIDE, False)),
        (
            suggestion("Tides", "", search=False),
            {"title": "Else", "task": TIDE},
            ("Tides", TIDE, False),
        ),
        (suggestion("Tides", ""), {"task": " "}, None),
        (suggestion("", TIDE), {"title": "Tides", "is_needed": False}, None),
    ],
)
async def test_a_suggestion_that_lacks_words_is_worded_by_one_call_that_may_refuse_it(
    tmp_path: Path,
    suggested: dict[str, Any],
    named: dict[str, Any],
    made: tuple[str, str, bool] | None,
) -> None:
    judging = of_task(LIGHT, judged(0.3, 0.8, suggested), judged(1.0, 1.0))
    wording: Rule = lambda _: {"is_needed": True, **named}  # noqa: E731 - a rule
    run, state = await followed(tmp_path, evaluate_outcome=judging, update_step=wording)
    [asked] = run.asked("update_step")
    words = suggested["title"] or suggested["rationale"]
    assert (
        f"A further step was suggested{f': {words}' if words else ', without words'}."
        in "".join(message.text for message in asked.messages)
    )
    assert [(step.title, step.task, step.requires_search) for step in state.steps[1:]] == (
        [made] if made else []
    )


@pytest.mark.behaviour("A-18", "A-25", "A-56", "A-60")
async def test_a_follow_up_has_its_own_id_and_is_searched_after_its_parent_and_before_what_builds_on_it(
    tmp_path: Path,
) -> None:
    steps = plan(step(LIGHT), step("Ada Moran"), step("Port Anlow", after=(1,)))
    complete = judged(1.0, 1.0)
    rules = {"evaluate_outcome": of_task(TIDE, complete, of_task("Port Anlow", complete, WANTING))}
    run, state = await followed(tmp_path, make_plan=steps, record_learnings=new_each_time, **rules)
    parents = {step.id: step.parent for step in state.steps}
    assert parents == {"1": "", "1.1": "1", "2": "", "2.1": "2", "3": ""}
    assert {step.status for step in state.steps} == {"completed"}
    history = [
        snapshot.values
        async for snapshot in run.graph.aget_state_history(thread_config(run.thread))
    ]
    kept = [
        step.status
        for values in reversed(history)
        for step in values.get("steps", [])
        if step.id == "1.1"
    ]
    assert list(dict.fromkeys(kept)) == ["pending", "in_progress", "completed"]
    assert {
        packet["step_id"]: packet["parent_id"] for packet in run.of_type("step_started")
    } == parents
    assert run.position_of("step_started", "3") > run.position_of("step_done", "1.1")
    order = [learning.step for learning in state.learnings.values()]
    assert order.index("1") < order.index("1.1") and order.index("2") < order.index("2.1")
    assert f"{LIGHT} has the number 1." in run.asked("choose_queries", TIDE)[0].known


@pytest.mark.behaviour("A-29", "A-57", "A-61", "A-66")
@pytest.mark.parametrize(
    ("limits", "added"), [({}, ["1.1", "2.1", "2.1.1"]), ({"max_follow_ups": 0}, [])]
)
async def test_follow_ups_go_one_step_deep_and_below_a_thought_two_whatever_its_verdict(
    tmp_path: Path, limits: dict[str, int], added: list[str]
) -> None:
    steps = plan(step(LIGHT), step(THOUGHT_OVER, search=False))
    judging = of_task(LIGHT, always_further(), always_further(search=False))
    rules = open_step(make_plan=steps, evaluate_outcome=judging, record_learnings=new_each_time)
    run, state = await finished(tmp_path, rules, limits={"max_step_iterations": 1, **limits})
    assert ids(state) == sorted(["1", "2", *added])
    assert [step.depth for step in state.steps] == [step.id.count(".") for step in state.steps]
    assert not run.asked("give_verdict", THOUGHT_OVER)
    assert {step.status for step in state.steps} == {"completed"}
    assert state.report and await run.replays_alike()


def thinking(*tasks: str, **rules: Any) -> dict[str, Any]:
    """Rules with a plan of one search and thoughts that build on it."""
    steps = plan(step(LIGHT), *(step(task, search=False, after=(1,)) for task in tasks))
    statements = of_task(
        JUDGE,
        lambda _: {"statements": [FIRST_THOUGHT, " "]},
        lambda _: {"statements": ["So be it."]},
    )
    return {"make_plan": steps, "record_analysis": statements, **rules}


def done(run: PlannedLab) -> dict[str, tuple[str, str]]:
    """Final status and reason of each step."""
    return {
        packet["step_id"]: (packet["status"], packet["reason"])
        for packet in run.of_type("step_done")
    }


@pytest.mark.sweep
@pytest.mark.behaviour("A-62")
@pytest.mark.parametrize("before", [[], [step("word0x")]])
async def test_an_analysis_without_learnings_is_skipped(
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


@pytest.mark.behaviour("A-64")
@pytest.mark.parametrize(
    ("covered", "of", "confidence", "times"), [(5, 8, 0.6, 0), (13, 20, 0.61, 1)]
)
async def test_a_confident_analysis_is_recorded_as_an_insight(
    tmp_path: Path, covered: int, of: int, confidence: float, times: int
) -> None:
    task = " ".join(WORDS[:of])
    rules = thinking(
        task,
        record_learnings=holding(covered),
        record_insights=of_task(task, insights("So."), insights()),
    )
    rules["evaluate_outcome"] = judged(covered / of, 1.0)
    run, state = await finished(tmp_path, rules)
    assert len(run.asked("record_analysis")) == 1
    assert [iteration.confidence for iteration in state.outcomes["2"].iterations] == [confidence]
    assert sum(observation.kind == "insight" for observation in state.memory.values()) == times


@pytest.mark.behaviour("A-27", "A-63", "A-65", "A-67")
async def test_a_thought_knows_contradictions_names_no_source_and_is_untouched_by_another_that_fails(
    tmp_path: Path,
) -> None:
    rules = thinking(COMPARE, JUDGE, record_learnings=contrary(TALL, TALLER))
    rules["record_analysis"] = of_task(COMPARE, failing(OSError("gone")), rules["record_analysis"])
    # Every run checks that no block is left open.
    run, state = await finished(tmp_path, rules)
    reason = state.steps[1].reason
    assert done(run) == {"1": ("completed", ""), "2": ("failed", reason), "3": ("completed", "")}
    [error] = run.of_type("error")
    assert reason and reason in error["message"]
    assert f"Not researched to the end: {COMPARE}: {reason}." in state.messages[-1].text
    [asked] = run.asked("record_analysis", JUDGE)
    assert asked.known == [TALL, TALLER]
    [contradiction] = shown(asked, "contradiction")
    assert TALL in contradiction and TALLER in contradiction
    [packet] = [packet for packet in run.of_type("step_learnings") if packet["step_id"] == "3"]
    [learning] = packet["learnings"]
    assert (learning["text"], learning["document_id"]) == (" ".join(FIRST_THOUGHT.split()), "")
    assert packet["confidence"] == state.outcomes["3"].confidence > 0
    thoughts = [known for known in state.learnings.values() if known.step in ("2", "3")]
    assert [(thought.text, thought.source) for thought in thoughts] == [(learning["text"], "")]
    [report] = run.asked("report")
    [shown_thought] = [
        message.text for message in report.messages if learning["text"] in message.text
    ]
    assert shown_thought.startswith("Analysis, not a source")

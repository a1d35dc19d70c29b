"""Steps that follow up others: when they are made, from what, how deep, and what becomes of what they learn."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from planned_lab import Asked, PlannedLab, Rule, finished, plan, step, verdict
from planned_rules import INCOMPLETE, failing, judged, new_each_time, of_task, shown, suggestion

from deep_research.app.embed import thread_config
from deep_research.core.records.plan import PlanStep
from deep_research.state import ResearchState

LIGHT, TIDE, THOUGHT_OVER = "Skerry Light", "spring tide Port Anlow", "What follows for the light?"
TIDES = suggestion("Tides", TIDE)
WANTING = judged(0.3, 0.8, TIDES)
"""Whatever it is about, something is missing, and one step would help."""


def open_step(**rules: Rule) -> dict[str, Rule]:
    """A run of one step that is not complete in a single iteration."""
    return {"give_verdict": INCOMPLETE, **rules}


async def followed(tmp_path: Path, **rules: Any) -> tuple[PlannedLab, ResearchState]:
    """A run whose steps have one iteration each."""
    run, state = await finished(tmp_path, open_step(**rules), limits={"max_step_iterations": 1})
    assert state.report and await run.replays_alike()
    return run, state


def ids(state: ResearchState) -> list[str]:
    return [step.id for step in state.steps]


def always_further(**more: Any) -> Rule:
    """Each step wants one further, always another."""

    def judge(asked: Asked) -> dict[str, Any]:
        title = f"{asked.task} further"
        return {"completeness": 0.3, "quality": 0.8, "next_steps": [suggestion(title, f"{title} on", **more)]}

    return judge


@pytest.mark.behaviour("A-53")
@pytest.mark.parametrize(
    ("completeness", "quality", "is_followed"),
    [(0.69, 0.41, True), (0.7, 0.9, False), (0.3, 0.4, False)],
)
async def test_a_step_is_followed_up_below_07_of_completeness_and_above_04_of_quality(
    tmp_path: Path, completeness: float, quality: float, is_followed: bool
) -> None:
    judging = of_task(LIGHT, judged(completeness, quality, TIDES), judged(1.0, 1.0))
    _, state = await followed(tmp_path, evaluate_outcome=judging)
    assert ids(state) == (["1", "1.1"] if is_followed else ["1"])


@pytest.mark.behaviour("A-53")
@pytest.mark.parametrize(("complete", "steps"), [(True, [TIDES]), (False, [])])
async def test_a_complete_step_and_one_without_a_suggestion_are_not_followed_up(
    tmp_path: Path, complete: bool, steps: list[dict[str, Any]]
) -> None:
    _, state = await followed(tmp_path, evaluate_outcome=judged(0.3, 0.8, *steps), give_verdict=verdict(complete))
    assert ids(state) == ["1"]


@pytest.mark.behaviour("A-52")
async def test_what_a_step_came_to_is_judged_once_and_kept_with_it(tmp_path: Path) -> None:
    steps = plan(step(LIGHT), step("word0x"))
    run, state = await followed(tmp_path, make_plan=steps, evaluate_outcome=judged(0.8, 0.5))
    # Of the second step nothing was learned.
    assert [asked.task for asked in run.asked("evaluate_outcome")] == [LIGHT]
    assert (state.outcomes["1"].completeness, state.outcomes["1"].quality) == (0.8, 0.5)
    assert (state.outcomes["2"].completeness, state.outcomes["2"].quality) == (None, None)


@pytest.mark.behaviour("A-54")
async def test_only_the_first_suggestion_becomes_a_step(tmp_path: Path) -> None:
    thinking = suggestion("Think", THOUGHT_OVER, search=False)
    judging = of_task(LIGHT, judged(0.3, 0.8, thinking, TIDES, suggestion("Ferry", "ferry")), judged(1.0, 1.0))
    run, state = await followed(tmp_path, evaluate_outcome=judging)
    assert [(step.title, step.task, step.requires_search) for step in state.steps[1:]] == [
        ("Think", THOUGHT_OVER, False)
    ]
    assert not run.asked("update_step")


@pytest.mark.behaviour("A-55")
@pytest.mark.parametrize(
    ("suggested", "named", "made"),
    [
        (suggestion("", TIDE), {"title": "Tides", "task": "Else"}, ("Tides", TIDE, True)),
        (suggestion("", TIDE, search=False), {"title": " "}, ("Additional research", TIDE, False)),
        (suggestion("Tides", "", search=False), {"title": "Else", "task": TIDE}, ("Tides", TIDE, False)),
        (suggestion("Tides", ""), {"task": " "}, None),
        (suggestion("", TIDE), {"title": "Tides", "is_needed": False}, None),
    ],
)
async def test_a_suggestion_that_lacks_words_is_worded_by_one_call_that_may_refuse_it(
    tmp_path: Path, suggested: dict[str, Any], named: dict[str, Any], made: tuple[str, str, bool] | None
) -> None:
    judging = of_task(LIGHT, judged(0.3, 0.8, suggested), judged(1.0, 1.0))
    wording: Rule = lambda _: {"is_needed": True, **named}  # noqa: E731 - a rule
    run, state = await followed(tmp_path, evaluate_outcome=judging, update_step=wording)
    [asked] = run.asked("update_step")
    words = suggested["title"] or suggested["rationale"]
    assert f"A further step was suggested{f': {words}' if words else ', without words'}." in "".join(
        one.text for one in asked.messages
    )
    assert [(step.title, step.task, step.requires_search) for step in state.steps[1:]] == ([made] if made else [])


@pytest.mark.behaviour("A-56")
async def test_a_follow_up_has_an_id_of_its_own_and_is_pending_until_it_is_carried_out(tmp_path: Path) -> None:
    steps = plan(step(LIGHT), step("Ada Moran"))
    judging = of_task(TIDE, judged(1.0, 1.0), WANTING)
    run, state = await followed(tmp_path, make_plan=steps, evaluate_outcome=judging)
    assert ids(state) == ["1", "1.1", "2", "2.1"]
    assert [(step.parent, step.status) for step in state.steps if step.parent] == [
        ("1", "completed"),
        ("2", "completed"),
    ]
    statuses = await statuses_of(run, "1.1")
    assert list(dict.fromkeys(statuses)) == ["pending", "in_progress", "completed"]
    started = {packet["step_id"]: packet["parent_id"] for packet in run.of_type("step_started")}
    assert started == {"1": "", "2": "", "1.1": "1", "2.1": "2"}


async def statuses_of(run: PlannedLab, step_id: str) -> list[str]:
    """What the step's status was at each checkpoint, from the first on."""
    history = [snapshot.values async for snapshot in run.graph.aget_state_history(thread_config(run.thread))]
    kept: list[list[PlanStep]] = [values.get("steps", []) for values in reversed(history)]
    return [step.status for steps in kept for step in steps if step.id == step_id]


@pytest.mark.behaviour("A-57")
async def test_a_follow_up_is_one_deeper_and_is_given_what_its_parent_thought(tmp_path: Path) -> None:
    judging = of_task(LIGHT, WANTING, judged(1.0, 1.0))
    thought = of_task(LIGHT, verdict(False, "The tides are missing.", "tide"), verdict(True))
    run, state = await followed(tmp_path, evaluate_outcome=judging, give_verdict=thought)
    assert [step.depth for step in state.steps] == [0, 1]
    [first] = run.asked("choose_queries", TIDE)
    assert shown(first, "reasoning") == ["The tides are missing.", "tide"]
    own = [learning.text for learning in state.learnings.values() if learning.step == "1"]
    assert own and first.known[: len(own)] == own


@pytest.mark.behaviour("A-58")
async def test_what_a_follow_up_learns_is_cited_in_the_report(tmp_path: Path) -> None:
    def cite_tide(asked: Asked) -> str:
        [number] = {n for message in asked.messages for n in re.findall(r"5\.2 metres.*?\[(\d+)\]", message.text)}
        return f"The spring tide reaches 5.2 metres. [{number}]"

    judging = of_task(LIGHT, WANTING, judged(1.0, 1.0))
    _, state = await followed(tmp_path, evaluate_outcome=judging, report=cite_tide)
    assert state.report
    [cited] = state.report.sources
    assert cited.endswith("tides.html")
    assert {learning.step for learning in state.learnings.values() if learning.source == cited} == {"1.1"}
    assert "tides.html" in state.messages[-1].text


@pytest.mark.behaviour("A-59", "A-84")
async def test_a_follow_up_that_cannot_be_worded_leaves_the_judgement_as_it_is(tmp_path: Path) -> None:
    judging = judged(0.3, 0.8, suggestion("", TIDE))
    run, state = await followed(tmp_path, evaluate_outcome=judging, update_step=failing(OSError("gone")))
    assert ids(state) == ["1"]
    assert (state.outcomes["1"].completeness, state.outcomes["1"].quality) == (0.3, 0.8)
    assert len(run.of_type("error")) == 1


@pytest.mark.behaviour("A-60")
async def test_the_learnings_of_a_step_are_there_before_those_of_its_follow_up(tmp_path: Path) -> None:
    steps = plan(step(LIGHT), step("Ada Moran"))
    rules = {"make_plan": steps, "evaluate_outcome": of_task(TIDE, judged(1.0, 1.0), WANTING)}
    run, state = await followed(tmp_path, **rules, record_learnings=new_each_time)
    order = [learning.step for learning in state.learnings.values()]
    assert order.index("1") < order.index("1.1") and order.index("2") < order.index("2.1")
    assert f"{LIGHT} has the number 1." in run.asked("choose_queries", TIDE)[0].known


@pytest.mark.behaviour("A-29", "A-57")
@pytest.mark.parametrize(("limits", "expected"), [({}, 1), ({"max_follow_ups": 0}, 0)])
async def test_a_follow_up_that_would_be_too_deep_is_not_made(
    tmp_path: Path, limits: dict[str, int], expected: int
) -> None:
    rules = open_step(evaluate_outcome=always_further(), record_learnings=new_each_time)
    run, state = await finished(tmp_path, rules, limits={"max_step_iterations": 1, **limits})
    assert ids(state) == ["1", "1.1", "1.1.1", "1.1.1.1"][: expected + 1]
    assert [step.depth for step in state.steps] == list(range(expected + 1))
    assert all(step.status == "completed" for step in state.steps)
    assert await run.replays_alike()


@pytest.mark.behaviour("A-29")
@pytest.mark.parametrize(
    "repeated", [suggestion("about  SKERRY light.", "Else"), suggestion("Else", LIGHT.lower()), TIDES]
)
async def test_a_follow_up_that_repeats_one_of_its_ancestors_is_not_made(
    tmp_path: Path, repeated: dict[str, Any]
) -> None:
    judging = of_task(LIGHT, WANTING, judged(0.3, 0.8, repeated))
    _, state = await followed(tmp_path, evaluate_outcome=judging)
    assert ids(state) == ["1", "1.1"]


@pytest.mark.behaviour("A-61")
async def test_below_a_thought_follow_ups_go_one_step_deeper_than_below_a_search(tmp_path: Path) -> None:
    steps = plan(step(LIGHT), step(THOUGHT_OVER, search=False))
    judging = of_task(LIGHT, judged(1.0, 1.0), always_further(search=False))
    _, state = await followed(tmp_path, make_plan=steps, evaluate_outcome=judging)
    assert ids(state) == ["1", "2", "2.1", "2.1.1"]
    assert {step.status for step in state.steps} == {"completed"}

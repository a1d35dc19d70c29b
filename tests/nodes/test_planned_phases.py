"""Whole runs of the planned strategy: which step is carried out when, and what it is given."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from planned_lab import (
    GATE_SECONDS,
    RULES,
    Asked,
    Gate,
    Rule,
    finished,
    first_sentences,
    only_for,
    plan,
    raising,
    statuses,
    step,
    verdict,
)

LIGHT = "Skerry Light lit"
KEEPER = "Ada Moran keeper Tralee"
HARBOUR = "Port Anlow harbour ferry"
TIDE = "spring tide metres"
HEIGHT = "Skerry Light metres tall"
FOUR = plan(
    step(LIGHT),
    step(KEEPER, after=(1,)),
    step("Compare light and harbour", search=False),
    step("Judge the keeper", search=False, previous=True),
    step(HARBOUR),
)
FACT = "The Skerry Light was lit for the first time in 1844."


def numbered(rule: Rule, most: int = 1) -> Rule:
    """The rule for the first times that it is asked; after that there is nothing to search for."""
    return lambda asked: rule(asked) if asked.number <= most else {"queries": []}


@pytest.mark.behaviour("A-13", "A-85")
async def test_the_four_combinations_of_flags_lead_into_their_phases(tmp_path: Path) -> None:
    run, state = await finished(tmp_path, {"make_plan": FOUR})
    kinds = {packet["step_id"]: packet["kind"] for packet in run.of_type("step_started")}
    assert kinds == {"1": "independent", "2": "hybrid", "3": "dependent", "4": "dependent", "5": "independent"}
    assert run.begun == ["1", "5", "2", "3", "4"]
    assert set(statuses(state).values()) == {"completed"}
    assert [len(run.asked("choose_queries", task)) for task in ("Compare", "Judge")] == [0, 0]
    assert [len(run.asked("record_analysis", task)) for task in (LIGHT, KEEPER, HARBOUR)] == [0, 0, 0]
    assert await run.replays_alike()


@pytest.mark.behaviour("A-13")
async def test_a_step_that_names_what_it_needs_needs_it_whatever_its_flag_and_its_words_say(tmp_path: Path) -> None:
    names = {**step("Analyse what was found on the ferry"), "depends_on": [1], "requires_previous": False}
    alone = {**step("Build on the light"), "description": "Needs step 1.", "requires_previous": True}
    run, _ = await finished(tmp_path, {"make_plan": plan(alone, names)})
    assert [packet["kind"] for packet in run.of_type("step_started")] == ["independent", "hybrid"]


@pytest.mark.behaviour("A-15")
async def test_independent_steps_are_at_work_at_the_same_time_up_to_the_limit(tmp_path: Path) -> None:
    gate = Gate(3)
    tasks = (LIGHT, KEEPER, HARBOUR, TIDE, HEIGHT)
    rules = {"make_plan": plan(*map(step, tasks)), "choose_queries": gate.before(RULES["choose_queries"])}
    run, state = await finished(tmp_path, rules)
    assert gate.most == 3
    assert [packet["num_parallel_branches"] for packet in run.of_type("top_level_branching")] == [5]
    assert set(statuses(state).values()) == {"completed"}
    assert {learning.step for learning in state.learnings.values()} >= {"1", "2", "3", "4"}
    assert await run.replays_alike()


async def test_a_step_starts_as_soon_as_another_has_ended(tmp_path: Path) -> None:
    is_last_begun = asyncio.Event()

    async def slow(asked: Asked) -> Any:
        async with asyncio.timeout(GATE_SECONDS):
            await is_last_begun.wait()
        return RULES["choose_queries"](asked)

    def last(asked: Asked) -> Any:
        is_last_begun.set()
        return RULES["choose_queries"](asked)

    queries = only_for(LIGHT, slow, only_for(HEIGHT, last, RULES["choose_queries"]))
    rules = {"make_plan": plan(*map(step, (LIGHT, KEEPER, HARBOUR, HEIGHT))), "choose_queries": queries}
    run, state = await finished(tmp_path, rules, limits={"max_parallel_researchers": 2})
    assert set(statuses(state).values()) == {"completed"}
    assert run.place_of("step_done", "1") > run.place_of("step_done", "3") > run.place_of("step_started", "3")
    assert await run.replays_alike()


@pytest.mark.behaviour("A-17")
async def test_steps_of_a_round_see_the_same_snapshot_whatever_their_siblings_bring(tmp_path: Path) -> None:
    is_learned = asyncio.Event()

    def judged(asked: Asked) -> Any:
        is_learned.set()
        return verdict(True)(asked)

    async def late(asked: Asked) -> Any:
        await is_learned.wait()
        return RULES["choose_queries"](asked)

    rules = {
        "make_plan": plan(step(LIGHT), step(HEIGHT)),
        "give_verdict": only_for(LIGHT, judged, verdict(True)),
        "choose_queries": only_for(HEIGHT, late, RULES["choose_queries"]),
    }
    run, state = await finished(tmp_path, rules)
    assert any(learning.text == FACT and learning.step == "1" for learning in state.learnings.values())
    assert run.asked("choose_queries", HEIGHT)[0].known == []
    own = {learning.text for learning in state.learnings.values() if learning.step == "2"}
    assert own and run.asked("give_verdict", HEIGHT)[0].known == []
    assert await run.replays_alike()


@pytest.mark.behaviour("A-18", "A-20", "A-85")
async def test_a_hybrid_step_starts_after_what_it_builds_on_and_knows_what_that_learned(tmp_path: Path) -> None:
    run, _ = await finished(tmp_path, {"make_plan": FOUR}, limits={"max_parallel_researchers": 1})
    assert run.place_of("step_started", "2") > run.place_of("step_done", "1")
    assert run.begun == ["1", "5", "2", "3", "4"], "its phase begins when all independent steps are done"
    for form in ("choose_queries", "record_learnings", "give_verdict"):
        assert FACT in run.asked(form, KEEPER)[0].known
    assert all(FACT not in asked.known for asked in run.asked("choose_queries", HARBOUR))


@pytest.mark.behaviour("A-18")
async def test_a_hybrid_step_that_names_nothing_builds_on_all_before_it(tmp_path: Path) -> None:
    steps = (step(LIGHT), step(HARBOUR), step(KEEPER, previous=True), step(TIDE))
    run, state = await finished(tmp_path, {"make_plan": plan(*steps)})
    assert state.steps[2].depends_on == ("1", "2")
    assert run.begun[-1] == "3"
    learned = {one.text for one in state.learnings.values() if one.step in ("1", "2")}
    assert learned <= set(run.asked("choose_queries", KEEPER)[0].known)
    assert await run.replays_alike()


@pytest.mark.behaviour("A-18")
async def test_hybrid_steps_wait_for_each_other_only_where_one_builds_on_the_other(tmp_path: Path) -> None:
    gate = Gate(2)
    queries = RULES["choose_queries"]
    steps = (step(LIGHT), step(KEEPER, after=(1,)), step(HARBOUR, after=(1,)), step(TIDE, after=(2, 3)))
    beside = only_for(KEEPER, gate.before(queries), only_for(HARBOUR, gate.before(queries), queries))
    run, state = await finished(tmp_path, {"make_plan": plan(*steps), "choose_queries": beside})
    assert gate.most == 2
    assert run.begun == ["1", "2", "3", "4"]
    assert run.place_of("step_started", "4") > max(run.place_of("step_done", one) for one in ("2", "3"))
    assert set(statuses(state).values()) == {"completed"}
    assert await run.replays_alike()


@pytest.mark.behaviour("A-18", "A-25")
async def test_a_hybrid_step_waits_for_the_follow_up_of_what_it_builds_on(tmp_path: Path) -> None:
    more = {"title": "More", "rationale": TIDE, "requires_search": True}
    partly = lambda _: {"completeness": 0.5, "quality": 0.9, "next_steps": [more]}  # noqa: E731
    rules = {
        "make_plan": plan(step(LIGHT), step(KEEPER, after=(1,))),
        "choose_queries": numbered(RULES["choose_queries"]),
        "give_verdict": only_for(LIGHT, verdict(False), verdict(True)),
        "evaluate_outcome": only_for(LIGHT, partly, RULES["evaluate_outcome"]),
    }
    run, state = await finished(tmp_path, rules)
    assert run.begun == ["1", "1.1", "2"]
    assert run.place_of("step_started", "2") > run.place_of("step_done", "1.1")
    assert statuses(state) == {"1": "completed", "1.1": "completed", "2": "completed"}
    assert len(run.asked("choose_queries", TIDE)) == 1, "it is carried out as a search"
    assert await run.replays_alike()


@pytest.mark.behaviour("A-15", "A-18", "A-24", "A-28")
@pytest.mark.parametrize(("broken", "task"), [("1", LIGHT), ("2", KEEPER)])
async def test_a_step_that_fails_leaves_those_that_build_on_it_the_others_and_the_report(
    tmp_path: Path, broken: str, task: str
) -> None:
    rules = {"make_plan": FOUR, "record_learnings": only_for(task, raising(), first_sentences)}
    run, state = await finished(tmp_path, rules)
    assert statuses(state) == {**dict.fromkeys("12345", "completed"), broken: "failed"}
    assert sorted(run.begun) == ["1", "2", "3", "4", "5"]
    [reason] = [packet["reason"] for packet in run.of_type("step_done") if packet["step_id"] == broken]
    assert reason == "an error stopped it (ValueError)"
    assert state.run and state.run.status == "completed_with_gaps"
    assert state.report and state.report.sources
    assert f"Not researched to the end: {task}: an error stopped it" in state.messages[-1].text
    assert await run.replays_alike()


@pytest.mark.behaviour("A-19")
async def test_a_hybrid_step_is_given_the_thoughts_of_its_parents_once_and_its_description_never_grows(
    tmp_path: Path,
) -> None:
    thought, foreign = "Who made the lamp is not said.", "The ferry has no name."
    hybrid = {**step(KEEPER, after=(1,)), "description": "Finds the keeper."}
    verdicts = only_for(HARBOUR, verdict(True, foreign), verdict(False, "A date of birth is missing.", "Tralee 1870"))
    rules = {
        "make_plan": plan(step(LIGHT), hybrid, step(HARBOUR)),
        "choose_queries": numbered(RULES["choose_queries"], 3),
        "give_verdict": only_for(LIGHT, verdict(True, thought, "whale oil"), verdicts),
    }
    run, state = await finished(tmp_path, rules)
    asked = run.asked("record_learnings", KEEPER)
    assert len(asked) == 3
    for one in asked:
        elements = [element["content"] for element in one.knowledge["elements"]]
        assert elements.count(thought) == elements.count("whale oil") == 1
        assert foreign not in elements
        assert len(elements) == len(set(elements))
    assert "A date of birth is missing." in str(asked[2].messages[-3])
    assert state.steps[1].description == "Finds the keeper."
    assert {packet["task"] for packet in run.of_type("step_started") if packet["step_id"] == "2"} == {KEEPER}
    assert await run.replays_alike()


@pytest.mark.behaviour("A-21")
async def test_without_hybrid_steps_nothing_of_their_phase_is_told(tmp_path: Path) -> None:
    steps = (step(LIGHT), step(HARBOUR), step("Compare them", search=False, previous=True))
    run, _ = await finished(tmp_path, {"make_plan": plan(*steps)})
    assert {packet["kind"] for packet in run.of_type("step_started")} == {"independent", "dependent"}
    turns = [packet["placement"]["turn_index"] for packet in run.of_type("step_started")]
    assert turns[2] - turns[0] <= 2, "no turn is left for a phase that is not there"
    assert await run.replays_alike()

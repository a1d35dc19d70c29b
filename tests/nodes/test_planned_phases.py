"""Planned runs: the order of the steps, what each is given, and what is left out when the time runs
out."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from kit.planned import (
    RULES,
    Asked,
    Rule,
    failing,
    finished,
    first_sentences,
    of_task,
    plan,
    statuses,
    step,
    verdict,
)
from kit.runs import QUESTION, HandClock, Hanging

LIGHT = "Skerry Light lit"
KEEPER = "Ada Moran keeper Tralee"
HARBOUR = "Port Anlow harbour ferry"
TIDE = "spring tide metres"
HEIGHT = "Skerry Light metres tall"
COMPARE, WEIGH = "Compare light and keeper", "Weigh all"
WEIGHED, COMPARED = step(WEIGH, search=False), step(COMPARE, search=False)
SIX = plan(
    *(step(LIGHT), step(TIDE), step(KEEPER, previous=True), WEIGHED),
    *(step(COMPARE, search=False, previous=True), step(HARBOUR)),
)
PHASES = plan(
    *(step(LIGHT), step(KEEPER, after=(1,)), step(HARBOUR, after=(2,)), COMPARED),
    step(WEIGH, search=False, previous=True),
)
FACT = "The Skerry Light was lit for the first time in 1844."
LIMIT = "the time limit of 300 s (max_seconds_planned) was reached"
ALL = {"1", "2", "3", "4", "5"}


def said(asked: Asked) -> dict[str, Any]:
    """A statement that shares no word with any task."""
    return {"statements": [f"Nobody doubts {asked.task.split()[0].lower()}-{len(asked.task)}."]}


@pytest.mark.behaviour("A-13", "A-14", "A-18", "A-20", "A-22", "A-23", "A-26", "A-85")
async def test_searches_come_first_then_what_builds_on_them_then_thoughts_in_turn(
    tmp_path: Path,
) -> None:
    inside: list[str] = []

    async def alone(asked: Asked) -> Any:
        inside.append(asked.task)
        assert len(inside) == 1
        for _ in range(50):
            await asyncio.sleep(0)
        inside.remove(asked.task)
        return said(asked)

    rules = {"make_plan": SIX, "record_analysis": alone}
    run, state = await finished(tmp_path, rules, limits={"max_parallel_researchers": 1})
    kinds = {packet["step_id"]: packet["kind"] for packet in run.of_type("step_started")}
    independent = dict.fromkeys("126", "independent")
    assert kinds == {**independent, "3": "hybrid", "4": "dependent", "5": "dependent"}
    assert state.plan
    shown = [
        line.rpartition(" (")[2] for line in state.plan.text.splitlines() if line.endswith(")")
    ]
    assert shown == ["builds on 1, 2)", "thought alone)", "thought alone; builds on 1, 2, 3, 4)"]
    assert run.begun == ["1", "2", "6", "3", "4", "5"], (
        "the hybrid phase begins when all independent steps are done"
    )
    assert state.steps[2].depends_on == ("1", "2"), (
        "a step that names nothing builds on all before it"
    )
    for before, after in (("1", "3"), ("3", "4"), ("4", "5")):
        assert run.position_of("step_done", before) < run.position_of("step_started", after)
    assert set(statuses(state).values()) == {"completed"}
    assert [len(run.asked("choose_queries", task)) for task in (WEIGH, COMPARE)] == [0, 0]
    for form in ("choose_queries", "record_learnings", "give_verdict"):
        assert FACT in run.asked(form, KEEPER)[0].known
    assert all(FACT not in asked.known for asked in run.asked("choose_queries", HARBOUR))
    [weighed], [compared] = (
        run.asked("record_analysis", WEIGH),
        run.asked("record_analysis", COMPARE),
    )
    found = {learning.text for learning in state.learnings.values() if learning.source}
    assert set(weighed.known) == found, "also what shares no word with the task"
    assert said(weighed)["statements"][0] in compared.known


@pytest.mark.behaviour("A-15", "A-17", "A-21")
async def test_independent_steps_are_at_work_up_to_the_limit_and_the_next_starts_with_the_same_snapshot(
    tmp_path: Path,
) -> None:
    inside: set[str] = set()
    is_full, is_last_begun = asyncio.Event(), asyncio.Event()
    most = 0

    async def work(asked: Asked) -> Any:
        nonlocal most
        inside.add(asked.task)
        most = max(most, len(inside))
        for event, is_due in ((is_full, len(inside) == 3), (is_last_begun, asked.task == HEIGHT)):
            if is_due:
                event.set()
        async with asyncio.timeout(60):
            await (is_last_begun if asked.task == LIGHT else is_full).wait()
        # Any other step that may start does so now.
        for _ in range(20):
            await asyncio.sleep(0)
        inside.remove(asked.task)
        return RULES["choose_queries"](asked)

    rules = {
        "make_plan": plan(*map(step, (LIGHT, KEEPER, HARBOUR, TIDE, HEIGHT))),
        "choose_queries": work,
    }
    run, state = await finished(tmp_path, rules)
    assert most == 3
    assert {packet["kind"] for packet in run.of_type("step_started")} == {"independent"}
    assert [packet["num_parallel_branches"] for packet in run.of_type("top_level_branching")] == [5]
    assert set(statuses(state).values()) == {"completed"}
    last_begun = run.position_of("step_started", "5")
    assert (
        run.position_of("step_done", "1")
        > last_begun
        > min(run.position_of("step_done", key) for key in "234")
    )
    assert {learning.step for learning in state.learnings.values()} >= {"1", "2", "3", "4", "5"}
    for form in ("choose_queries", "give_verdict"):
        assert run.asked(form, HEIGHT)[0].known == [], (
            "what its siblings have brought is not in the snapshot"
        )


@pytest.mark.behaviour("A-15", "A-18", "A-24", "A-28")
async def test_every_step_is_begun_at_most_once_and_ends_in_a_final_status(tmp_path: Path) -> None:
    steps = [step(LIGHT), step(KEEPER, after=(1,)), step(HARBOUR), COMPARED, WEIGHED]
    gone = failing(ValueError("gone"))
    needless = {"needless": [{"step": "5", "reason": "It is known"}]}
    rules: dict[str, Rule] = {
        "make_plan": plan(*steps, step("Nothing at all", after=(1, 2, 3))),
        "record_learnings": of_task(LIGHT, gone, first_sentences),
        "record_analysis": of_task(COMPARE, gone, said),
        "update_plan": lambda asked: needless if asked.number == 1 else {},
    }
    run, state = await finished(tmp_path, rules)
    done = {
        "1": "failed",
        "2": "completed",
        "3": "completed",
        "4": "failed",
        "5": "skipped",
        "6": "completed",
    }
    assert statuses(state) == done
    assert max(Counter(run.begun).values()) == 1
    ended = {
        packet["step_id"]: (packet["status"], packet["reason"])
        for packet in run.of_type("step_done")
    }
    assert {key: status for key, (status, _) in ended.items()} == {
        k: s for k, s in done.items() if k != "5"
    }
    assert ended["1"] == ("failed", "an error stopped it (ValueError)")
    assert state.run and state.run.status == "completed_with_gaps"
    assert state.report and state.report.sources
    assert "Not done: About Weigh all: It is known." in state.messages[-1].text
    assert f"Not researched to the end: {LIGHT}: an error stopped it" in state.messages[-1].text
    assert await run.replays_alike()


TALL = "How many metres the Skerry Light is tall."


@pytest.mark.sweep(first=2)
@pytest.mark.parametrize(
    ("clock_moves", "limits", "added"),
    [(0, {}, 1), (0, {"max_follow_ups": 0}, 0), (250, {}, 0), (0, {"whole_characters": 30_000}, 0)],
    ids=["searched", "no further steps", "late", "read whole"],
)
async def test_what_an_analysis_misses_is_searched_for_in_the_next_phase_if_limits_allow(
    tmp_path: Path, clock_moves: float, limits: dict[str, int], added: int
) -> None:
    clock = HandClock()
    deciding = {"statements": ["The taller one wins."], "missing": [TALL, f"{TALL} ", LIGHT]}
    weighed = of_task(COMPARE, clock.after(clock_moves, lambda _: deciding), said)
    answers = of_task(
        TALL, lambda asked: {**first_sentences(asked), "answered_gaps": [1]}, first_sentences
    )
    steps = plan(step(LIGHT), COMPARED, WEIGHED)
    rules = {"make_plan": steps, "record_analysis": weighed, "record_learnings": answers}
    run, state = await finished(tmp_path, rules, clock=clock, limits=limits)
    new = ["4"] * added
    assert run.begun == ["1", "2", *new, "3"]
    assert {step.status for step in state.steps} == {"completed"}
    assert [step.task for step in state.steps[3:]] == [TALL] * added
    # The next analysis knows what was found, and what is still missing is said.
    [weighing] = run.asked("record_analysis", WEIGH)
    assert len(weighing.known) > 1
    assert not state.run or not state.run.stop_reason
    assert (f"Not found: {TALL[:-1]}" in state.messages[-1].text) == (not added)
    assert not run.asked("update_plan")


@pytest.mark.behaviour("A-19")
async def test_a_step_gets_the_conclusions_of_its_parent_once(tmp_path: Path) -> None:
    thought, foreign = "Who made the lamp is not said.", "The ferry has no name."
    hybrid = {**step(KEEPER, after=(1,)), "description": "Finds the keeper."}
    verdicts = of_task(
        HARBOUR,
        verdict(True, foreign),
        verdict(False, "A date of birth is missing.", "Tralee 1870"),
    )
    rules = {
        "make_plan": plan(step(LIGHT), hybrid, step(HARBOUR)),
        "give_verdict": of_task(LIGHT, verdict(True, thought, "whale oil"), verdicts),
    }
    run, state = await finished(tmp_path, rules, limits={"max_step_iterations": 3})
    asked = run.asked("record_learnings", KEEPER)
    assert len(asked) == 3
    for request in asked:
        elements = [element["content"] for element in request.knowledge["elements"]]
        assert elements.count(thought) == elements.count("whale oil") == 1
        assert foreign not in elements
        assert len(elements) == len(set(elements))
    assert "A date of birth is missing." in str(asked[2].messages[-3])
    assert state.steps[1].description == "Finds the keeper."
    assert {
        packet["task"] for packet in run.of_type("step_started") if packet["step_id"] == "2"
    } == {KEEPER}


@pytest.mark.behaviour("A-24", "A-28")
async def test_a_plan_without_searches_gets_a_search_for_the_question(tmp_path: Path) -> None:
    run, state = await finished(tmp_path, {"make_plan": plan(COMPARED, WEIGHED)})
    assert statuses(state) == {"1": "completed", "2": "completed", "3": "completed"}
    assert run.begun == ["3", "1", "2"]
    assert state.steps[-1].task == QUESTION
    assert state.report and state.report.sources


@pytest.mark.behaviour("A-24")
async def test_a_plan_whose_steps_name_themselves_each_other_or_nobody_comes_to_its_end(
    tmp_path: Path,
) -> None:
    steps = (step(LIGHT, after=(1, 3)), step(KEEPER, after=(3, 2, 9)), step(HARBOUR, after=(1, -1)))
    run, state = await finished(tmp_path, {"make_plan": plan(*steps)})
    assert set(statuses(state).values()) == {"completed"}
    assert sorted(run.begun) == ["1", "2", "3"]
    assert all(
        set(step.depends_on) < {"1", "2", "3"} and step.id not in step.depends_on
        for step in state.steps
    )


@pytest.mark.sweep(first=2)
@pytest.mark.behaviour("A-16", "A-21", "A-71", "A-28")
@pytest.mark.parametrize(
    ("form", "task", "undone"),
    [
        ("make_plan", "", ALL),
        ("give_verdict", LIGHT, ALL - {"1"}),
        ("update_plan", "", ALL - {"1"}),
        ("record_learnings", KEEPER, {"3", "4", "5"}),
        ("record_analysis", COMPARE, {"5"}),
    ],
)
async def test_time_up_leaves_out_steps_not_begun(
    tmp_path: Path, form: str, task: str, undone: set[str]
) -> None:
    clock = HandClock()
    rules: dict[str, Rule] = {**RULES, "make_plan": PHASES}
    rules[form] = of_task(task, clock.after(300, rules[form]), rules[form])
    run, state = await finished(tmp_path, rules, clock=clock)
    titles = {step.id: step.title for step in state.steps}
    assert {key for key, status in statuses(state).items() if status == "skipped"} == undone
    assert {step.reason for step in state.steps if step.id in undone} == {LIMIT}
    assert set(run.begun) == ALL - undone
    assert state.run and (state.run.status, state.run.stop_reason) == ("completed_with_gaps", LIMIT)
    words = state.messages[-1].text
    assert f"Research ended early: {LIMIT}." in words
    assert all(f"Not done: {titles[key]}: {LIMIT}." in words for key in undone)
    assert LIMIT in run.asked("report")[0].reminder
    assert state.report and bool(state.report.sources) == (undone != ALL)
    assert words.startswith("*This text cites no source.*") == (undone == ALL)
    above = [packet["above"] for packet in run.of_type("notes_added") if packet["above"]]
    if undone == ALL:
        assert above == ["This text cites no source."]
    else:
        # The writer, which is asked for the same text in each case, leaves out what was researched.
        assert all(line.startswith("No sentence of this text uses the research") for line in above)
    assert await run.replays_alike()


@pytest.mark.sweep
@pytest.mark.behaviour("A-71")
@pytest.mark.parametrize(
    ("form", "task", "cut"), [("record_learnings", KEEPER, "2"), ("record_analysis", COMPARE, "3")]
)
async def test_a_call_that_outlasts_the_time_is_cut(
    tmp_path: Path, form: str, task: str, cut: str
) -> None:
    clock = HandClock()
    judged = RULES["evaluate_outcome"]
    rules = {
        "make_plan": plan(step(LIGHT), step(KEEPER, after=(1,)), step(COMPARE, search=False)),
        # Less than a second is left after the first step.
        "evaluate_outcome": of_task(LIGHT, clock.after(299.7, judged), judged),
        form: of_task(task, Hanging(), RULES[form]),
    }
    run, state = await finished(tmp_path, rules, clock=clock)
    assert statuses(state)[cut] == "failed"
    assert set(statuses(state).values()) <= {"completed", "failed"}
    assert state.report and state.report.sources
    assert (
        f"Not researched to the end: {task}: the time of the plan was over (max_seconds_planned)."
        in (state.messages[-1].text)
    )
    assert await run.replays_alike()

"""How many researchers or steps go out at once: what is beyond that waits, in both strategies, also after a stop."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from lab import REPORT, Lab, every_call_has_one_result, in_order, lab, many, research, results, simple_research
from planned_lab import RULES, Asked, finished, only_for, plan, planned_lab, statuses, step

from deep_research.core.records.research import Spent
from deep_research.core.run.limits import Limits
from deep_research.core.run.spending import dispatched_now

TASKS = [f"task {number}." for number in range(5)]
FIVE = research(*TASKS, ids=("a", "b", "c", "d", "e"))
STEPS = ("Skerry Light", "Ada Moran", "Port Anlow", "The spring tide", "Its height")


class Hanging:
    """A call that never ends."""

    def __init__(self) -> None:
        self.is_begun = asyncio.Event()

    async def __call__(self, *_: Any) -> str:
        self.is_begun.set()
        await asyncio.Event().wait()
        return "never"


async def stopped_at(run: Lab, call: Hanging, siblings: int) -> None:
    """Ask, and cancel the run in this call, once so many others of its round have ended."""
    asking = asyncio.create_task(run.ask())
    await call.is_begun.wait()
    await run.until_finished(siblings)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking


def rounds(run: Lab) -> list[tuple[int, int]]:
    """Turn and tab of each researcher, in order."""
    places = [packet["placement"] for packet in run.packets if packet["type"] == "research_agent_start"]
    return sorted((place["turn_index"], place["tab_index"]) for place in places)


@pytest.mark.parametrize(("most", "spent", "researchers"), [(None, 0, 3), (9, 0, 3), (9, 7, 2), (9, 9, 1)])
def test_no_more_go_out_than_have_room_and_searches_and_tool_calls(
    most: int | None, spent: int, researchers: int
) -> None:
    spending = {"a": Spent(role="internal_search", searches=spent, tool_calls=spent)}
    for limits in (Limits(max_searches=most), Limits(max_tool_calls=most), Limits(max_tool_calls=most, max_searches=9)):
        assert dispatched_now(range(5), limits, spending) == [*range(researchers)]
        in_slots = dispatched_now(range(5), limits, spending, has_slots=True)
        assert in_slots == [*range(5 if researchers == 3 else researchers)]


@pytest.mark.behaviour("O-32", "O-33")
async def test_tasks_beyond_the_limit_go_out_in_the_next_round_before_the_orchestrator_is_asked(tmp_path: Path) -> None:
    run = lab(tmp_path, orchestrator=[FIVE, REPORT], researcher=many(5))
    state = await run.ask()
    assert [(finding.task, finding.cycle) for finding in in_order(state)] == [*zip(TASKS, (0, 0, 0, 1, 1), strict=True)]
    assert rounds(run) == [(1, 0), (1, 1), (1, 2), (2, 0), (2, 1)]
    assert [p["num_parallel_branches"] for p in run.packets if p["type"] == "top_level_branching"] == [3, 2]
    asked = run.calls("orchestrator")
    assert list(results(asked[1].messages)) == ["a", "b", "c", "d", "e"]
    assert "A round has at most 3 tasks" in asked[0].messages[0].text
    assert "Cycle 3 of 8" in asked[1].messages[-1].text
    assert "Before you call for the report, check" in asked[1].messages[-1].text
    assert every_call_has_one_result(state.transcript)


async def test_calls_with_the_same_task_in_one_message_are_researched_once(tmp_path: Path) -> None:
    run = lab(tmp_path, orchestrator=[research("task 0.", "task 1.", "task 0. "), REPORT], researcher=many(2))
    state = await run.ask()
    assert [finding.task for finding in in_order(state)] == TASKS[:2]
    assert "another call of this message has the same task" in [*results(state.transcript).values()][2]
    assert every_call_has_one_result(state.transcript)


@pytest.mark.parametrize("limits", [{"max_searches": 2}, {"max_tool_calls": 2}])
async def test_as_many_tasks_go_out_as_searches_are_left_and_the_report_names_the_others(
    tmp_path: Path, limits: dict[str, int]
) -> None:
    run = lab(tmp_path, orchestrator=[FIVE], researcher=many(2), limits=limits)
    state = await run.ask()
    assert [finding.task for finding in in_order(state)] == TASKS[:2]
    for task in TASKS[2:]:
        assert f"Not found: {task}" in state.messages[-1].text


async def test_tasks_that_wait_when_the_cycles_are_over_are_named_in_the_report(tmp_path: Path) -> None:
    run = lab(tmp_path, orchestrator=[FIVE], researcher=many(3), limits={"max_cycles": 2})
    state = await run.ask()
    assert len(state.findings) == 3
    assert "Not found: task 3." in state.messages[-1].text
    assert "the last of 2 cycles was reached (max_cycles)" in state.messages[-1].text


@pytest.mark.parametrize("number", [0, 2, 3, 4])
async def test_a_run_that_was_stopped_goes_on_with_the_tasks_that_wait(tmp_path: Path, number: int) -> None:
    call, scripts = Hanging(), many(5)
    scripts[TASKS[number]].insert(0, call)
    run = lab(tmp_path, orchestrator=[FIVE, REPORT], researcher=scripts)
    await stopped_at(run, call, siblings=2 if number < 3 else 1)
    state = await run.ask(None)
    assert [(finding.task, finding.ended) for finding in in_order(state)] == [(task, "done") for task in TASKS]
    assert len(run.calls("orchestrator")) == 2
    assert len(run.calls("researcher")) == 3 * len(TASKS) + 1
    assert run.all_used()


async def test_a_message_after_a_stop_is_put_to_the_orchestrator_before_any_task_that_waits(tmp_path: Path) -> None:
    call = Hanging()
    scripts = {**many(2), TASKS[2]: [call], "The harbour.": simple_research("A harbour. [1]")}
    run = lab(tmp_path, orchestrator=[FIVE, research("The harbour."), REPORT], researcher=scripts)
    await stopped_at(run, call, siblings=2)
    state = await run.ask("Only the harbour, please.")
    assert [finding.task for finding in in_order(state) if finding.cycle] == ["The harbour."]
    shown = run.calls("orchestrator")[1].messages
    assert "Not run: the research was interrupted" in results(shown)["e"]
    assert "Only the harbour, please." in shown[-2].text


@pytest.mark.behaviour("A-15")
@pytest.mark.parametrize(("number", "slots", "siblings"), [(0, 1, 0), (4, 3, 4)])
async def test_a_planned_run_that_was_stopped_goes_on_with_the_steps_that_wait(
    tmp_path: Path, number: int, slots: int, siblings: int
) -> None:
    call = Hanging()

    def once(asked: Asked) -> Any:
        return call() if asked.number == 1 else RULES["choose_queries"](asked)

    rules = {
        "make_plan": plan(*map(step, STEPS)),
        "choose_queries": only_for(STEPS[number], once, RULES["choose_queries"]),
    }
    run = planned_lab(tmp_path, rules, limits={"max_parallel_researchers": slots})
    await stopped_at(run, call, siblings)
    state = await run.ask(None)
    assert statuses(state) == dict.fromkeys("12345", "completed")
    assert len(run.asked("make_plan")) == 1


@pytest.mark.parametrize("limits", [{"max_searches": 2}, {"max_tool_calls": 2}])
async def test_as_many_steps_are_begun_as_searches_are_left_and_the_others_say_why_they_are_not(
    tmp_path: Path, limits: dict[str, int]
) -> None:
    run, state = await finished(tmp_path, {"make_plan": plan(*map(step, STEPS))}, limits=limits)
    assert run.begun == ["1"] or run.begun == ["1", "2"]
    assert {status for step_id, status in statuses(state).items() if step_id in "345"} == {"skipped"}
    assert next(iter(limits)) in state.messages[-1].text

"""How many researchers or steps run at once, and the placement of their packets in the stream."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.planned import RULES, in_turn, of_task, plan, planned_lab, statuses, step
from kit.runs import (
    REPORT,
    Hanging,
    Lab,
    answered,
    every_call_has_one_result,
    in_order,
    lab,
    many,
    research,
    results,
    search,
    simple_research,
    stopped_at,
    think,
)
from langchain_core.messages import AIMessage

from deep_research.core.models.ask import StreamedThought
from deep_research.core.records.research import Spent
from deep_research.core.settings.limits import Limits
from deep_research.nodes._budget import Budget

TASKS = [f"task {number}." for number in range(5)]
FIVE = research(*TASKS, ids=("a", "b", "c", "d", "e"))
STEPS = ("Skerry Light", "Ada Moran", "Port Anlow", "The spring tide", "Its height")
SEEN_AT_TOP = {
    "deep_research_plan_start": "plan",
    "reasoning_start": "think",
    "research_agent_start": "agents",
    "message_start": "report",
}


@pytest.mark.parametrize(
    ("most", "spent", "researchers"), [(None, 0, 3), (9, 0, 3), (9, 7, 2), (9, 9, 1)]
)
def test_dispatch_respects_slots_searches_and_tool_calls(
    most: int | None, spent: int, researchers: int
) -> None:
    spending = {"a": Spent(role="internal_search", searches=spent, tool_calls=spent)}
    for limits in (
        Limits(max_searches=most),
        Limits(max_tool_calls=most),
        Limits(max_tool_calls=most, max_searches=9),
    ):
        assert Budget(limits, spending).dispatched_now(range(5)) == [*range(researchers)]
        in_slots = Budget(limits, spending).dispatched_now(range(5), has_slots=True)
        assert in_slots == [*range(5 if researchers == 3 else researchers)]


@pytest.mark.behaviour("O-32", "O-33")
async def test_tasks_beyond_the_limit_go_out_in_the_next_round_before_the_orchestrator_is_asked(
    tmp_path: Path,
) -> None:
    run, state = await answered(tmp_path, orchestrator=[FIVE, REPORT], researcher=many(5))
    assert [(finding.task, finding.cycle) for finding in in_order(state)] == [
        *zip(TASKS, (0, 0, 0, 1, 1), strict=True)
    ]
    placements = [packet["placement"] for packet in run.of_type("research_agent_start")]
    turns_and_tabs = sorted(
        (placement["turn_index"], placement["tab_index"]) for placement in placements
    )
    assert turns_and_tabs == [(1, 0), (1, 1), (1, 2), (2, 0), (2, 1)]
    assert [packet["num_parallel_branches"] for packet in run.of_type("top_level_branching")] == [
        3,
        2,
    ]
    asked = run.calls("orchestrator")
    assert list(results(asked[1].messages)) == ["a", "b", "c", "d", "e"]
    assert "A round has at most 3 tasks" in asked[0].messages[0].text
    assert "Cycle 3 of 8" in asked[1].messages[-1].text
    assert "Before you call for the report, check" in asked[1].messages[-1].text
    assert every_call_has_one_result(state.transcript)


@pytest.mark.sweep
@pytest.mark.fault("R13")
@pytest.mark.parametrize("limit", ["max_searches", "max_tool_calls"])
async def test_tasks_beyond_the_searches_left_are_reported_with_the_limit(
    tmp_path: Path, limit: str
) -> None:
    _, state = await answered(tmp_path, orchestrator=[FIVE], researcher=many(2), limits={limit: 2})
    assert [finding.task for finding in in_order(state)] == TASKS[:2]
    assert limit in state.run.stop_reason and limit in state.messages[-1].text
    for task in TASKS[2:]:
        assert f"Not found: {task}" in state.messages[-1].text


@pytest.mark.sweep
@pytest.mark.parametrize("number", [0, 2, 3, 4])
async def test_a_run_that_was_stopped_goes_on_with_the_tasks_that_wait(
    tmp_path: Path, number: int
) -> None:
    call, scripts = Hanging(), many(5)
    scripts[TASKS[number]].insert(0, call)
    run = lab(tmp_path, orchestrator=[FIVE, REPORT], researcher=scripts)
    await stopped_at(run, call.is_begun, siblings=2 if number < 3 else 1)
    state = await run.ask(None)
    assert [(finding.task, finding.ended) for finding in in_order(state)] == [
        (task, "done") for task in TASKS
    ]
    assert len(run.calls("orchestrator")) == 2
    assert len(run.calls("researcher")) == 3 * len(TASKS) + 1
    assert run.all_used()


async def test_a_message_after_a_stop_is_put_to_the_orchestrator_before_any_task_that_waits(
    tmp_path: Path,
) -> None:
    call = Hanging()
    scripts = {**many(2), TASKS[2]: [call], "The harbour.": simple_research("A harbour. [1]")}
    run = lab(tmp_path, orchestrator=[FIVE, research("The harbour."), REPORT], researcher=scripts)
    await stopped_at(run, call.is_begun, siblings=2)
    state = await run.ask("Only the harbour, please.")
    assert [finding.task for finding in in_order(state) if finding.cycle] == ["The harbour."]
    shown = run.calls("orchestrator")[1].messages
    assert "Not run: the research was interrupted" in results(shown)["e"]
    assert "Only the harbour, please." in shown[-2].text


@pytest.mark.sweep
@pytest.mark.behaviour("A-15")
@pytest.mark.parametrize(("number", "slots", "siblings"), [(0, 1, 0), (4, 3, 4)])
async def test_a_stopped_planned_run_resumes(
    tmp_path: Path, number: int, slots: int, siblings: int
) -> None:
    call, usual = Hanging(), RULES["choose_queries"]
    rules = {
        "make_plan": plan(*map(step, STEPS)),
        "choose_queries": of_task(STEPS[number], in_turn(call, usual), usual),
    }
    run = planned_lab(tmp_path, rules, limits={"max_parallel_researchers": slots})
    await stopped_at(run, call.is_begun, siblings)
    state = await run.ask(None)
    assert statuses(state) == dict.fromkeys("12345", "completed")
    assert len(run.asked("make_plan")) == 1


@pytest.mark.behaviour("O-77")
async def test_a_researchers_steps_are_counted_below_its_place_and_its_finding_is_not(
    tmp_path: Path,
) -> None:
    steps = [
        think("First."),
        search("Skerry Light"),
        search("Port Anlow"),
        think("Enough."),
        REPORT,
    ]
    finding = AIMessage(
        "Lit in 1844. [1]", additional_kwargs={"reasoning_content": "How to put it?"}
    )
    scripts: Any = {
        "task 0.": [*steps, finding],
        "task 1.": [search("keeper"), REPORT, "Nobody knows."],
    }
    run, _ = await answered(
        tmp_path, orchestrator=[research("task 0.", "task 1."), REPORT], researcher=scripts
    )
    first = [
        p
        for p in run.packets
        if p["placement"]["tab_index"] == 0 and p["placement"]["turn_index"] == 1
    ]
    shown = ("reasoning_start", "search_tool_start", "intermediate_report_start", "section_end")
    assert [
        (p["type"].rpartition("_")[0], p["placement"]["sub_turn_index"])
        for p in first
        if p["type"] in shown
    ] == [
        ("reasoning", 0),
        *(("search_tool", 1), ("section", 1)),
        *(("search_tool", 2), ("section", 2)),
        *(("reasoning", 3), ("reasoning", 4)),
        *(("intermediate_report", None), ("section", None)),
    ]
    second = {
        p["placement"]["sub_turn_index"] for p in run.packets if p["placement"]["tab_index"] == 1
    }
    assert second == {None, 0, 1}


@pytest.mark.behaviour("O-76", "O-80", "O-81")
async def test_thoughts_rounds_and_the_report_take_a_turn_each_and_thoughts_are_streamed_whole(
    tmp_path: Path,
) -> None:
    words = 'Is "1844" right?\nThe tower – 38 m – says so. \U0001f5fc Done.'
    beside = "I shall look at the tower first."
    decision = research("task 0.").model_copy(update={"content": beside})
    script = [
        think(words),
        decision,
        think("Once more."),
        research("task 1."),
        think("Enough."),
        REPORT,
    ]
    run, _ = await answered(tmp_path, orchestrator=script, researcher=many(2))
    assert thoughts(run) == [words, beside, "Once more.", "Enough."]
    at_top = [packet for packet in run.packets if packet["placement"]["sub_turn_index"] is None]
    blocks = [
        (SEEN_AT_TOP.get(packet["type"], ""), packet["placement"]["turn_index"])
        for packet in at_top
    ]
    expected = [
        "plan@0",
        "think@1",
        "think@2",
        "agents@3",
        "think@4",
        "agents@5",
        "think@6",
        "report@7",
    ]
    assert [*dict.fromkeys(f"{kind}@{turn}" for kind, turn in blocks if kind)] == expected
    assert beside not in run.words("message_delta")
    assert [p["type"] for p in run.packets].count("reasoning_delta") > 3
    again = [
        packet.reasoning for packet in await run.replayed() if packet.type == "reasoning_delta"
    ]
    assert again == thoughts(run)


def thoughts(run: Lab) -> list[str]:
    """Complete thoughts of a run."""
    whole: list[str] = []
    for packet in run.packets:
        if packet["type"] == "reasoning_start":
            whole.append("")
        if packet["type"] == "reasoning_delta":
            whole[-1] += packet["reasoning"]
    return whole


@pytest.mark.behaviour("O-81")
@given(
    st.text(),
    st.booleans(),
    st.sampled_from([(", ", ": "), (",", ":"), (" ,\n ", " :\t")]),
    st.data(),
)
def test_thoughts_survive_any_json(
    words: str, is_ascii: bool, separators: tuple[str, str], data: st.DataObject
) -> None:
    text = json.dumps(
        {"mood": [1], "reasoning": words}, ensure_ascii=is_ascii, separators=separators
    )
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
    pieces = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    thought = StreamedThought()
    assert "".join(thought.feed(piece) for piece in pieces) == words

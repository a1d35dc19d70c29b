"""The orchestrator's turns: cycles, precedence, reminders, limits, answers to every call."""

from __future__ import annotations

from pathlib import Path

import pytest
from lab import (
    REPORT,
    HandClock,
    every_call_has_one_result,
    in_order,
    lab,
    many,
    research,
    results,
    search,
    simple_research,
    think,
)
from langchain_core.messages import ToolMessage
from scripted import call, calls


@pytest.mark.fault("R13")
@pytest.mark.behaviour("O-19")
@pytest.mark.parametrize(("reasons", "decisions"), [(False, 7), (True, 3)])
async def test_the_last_cycle_writes_the_report_without_asking(tmp_path: Path, reasons: bool, decisions: int) -> None:
    run = lab(
        tmp_path,
        orchestrator=[research(f"task {number}.") for number in range(decisions)],
        researcher=many(decisions),
        profile={"reasoning_output": reasons},
    )
    state = await run.ask()
    assert state.report
    assert len(run.calls("orchestrator")) == decisions
    assert len(run.calls("writer")) == 1
    assert len(state.findings) == decisions


@pytest.mark.behaviour("O-20", "O-38")
async def test_a_thought_is_acknowledged_and_costs_no_cycle(tmp_path: Path) -> None:
    script = [step for number in range(7) for step in (think(f"thought {number}"), research(f"task {number}."))]
    run = lab(tmp_path, orchestrator=script, researcher=many(7))
    state = await run.ask()
    assert len(state.findings) == 7
    thoughts = [m for m in state.transcript if isinstance(m, ToolMessage) and m.content == "Noted."]
    assert len(thoughts) == 7
    assert every_call_has_one_result(state.transcript)


@pytest.mark.behaviour("O-21")
@pytest.mark.parametrize(("seconds", "goes_on"), [(1800, True), (1801, False)])
async def test_the_clock_forces_the_report_only_when_it_is_over(tmp_path: Path, seconds: int, goes_on: bool) -> None:
    clock = HandClock()
    run = lab(
        tmp_path,
        orchestrator=[clock.after(seconds, research("first task")), *([REPORT] if goes_on else [])],
        clock=clock,
    )
    state = await run.ask()
    assert run.all_used()
    assert state.run and ("max_seconds" in state.run.stop_reason) is not goes_on
    assert state.run.status == ("completed" if goes_on else "completed_with_gaps")
    assert ("Research ended early" in state.messages[-1].text) is not goes_on


@pytest.mark.behaviour("O-22")
async def test_a_round_that_has_begun_is_completed_when_the_clock_runs_out(tmp_path: Path) -> None:
    clock = HandClock()
    run = lab(
        tmp_path,
        orchestrator=[research("first task")],
        researcher=[search("light"), REPORT, clock.after(2000, "One. [1]")],
        clock=clock,
    )
    state = await run.ask()
    assert [finding.ended for finding in in_order(state)] == ["done"]
    assert state.run and "max_seconds" in state.run.stop_reason


@pytest.mark.behaviour("O-23", "O-24", "O-25")
async def test_the_reminder_counts_cycles_and_warns_once_after_the_first_results(tmp_path: Path) -> None:
    run = lab(
        tmp_path,
        orchestrator=[think(), research("task 0."), think(), research("task 1."), REPORT],
        researcher=many(2),
    )
    await run.ask()
    for asked in run.calls("orchestrator"):
        assert (asked.settings["tool_choice"], asked.settings["max_tokens"]) == ("any", 1024)
    reminders = [asked.messages[-1].text for asked in run.calls("orchestrator")]
    assert [int(text.split("Cycle ")[1].split()[0]) for text in reminders] == [1, 1, 2, 2, 3]
    # A thought after the first results does not use the warning up.
    assert ["every part of the request" in text for text in reminders] == [False, False, True, True, False]


@pytest.mark.behaviour("O-26")
async def test_silence_in_the_first_cycle_is_nudged_once_and_then_the_plan_is_researched(tmp_path: Path) -> None:
    run = lab(
        tmp_path,
        orchestrator=["I would rather talk.", "Still talking.", REPORT],
        researcher={
            "History of the Skerry Light": simple_research("A. [1]"),
            "Its keeper Ada Moran": simple_research("B. [1]"),
            "The harbour beside it": simple_research("C. [1]"),
        },
    )
    state = await run.ask()
    assert "no effect" not in run.calls("orchestrator")[0].messages[-1].text
    assert "no effect" in run.calls("orchestrator")[1].messages[-1].text
    assert state.plan and tuple(finding.task for finding in in_order(state)) == state.plan.steps
    assert every_call_has_one_result(state.transcript)
    assert state.report


@pytest.mark.behaviour("O-27")
async def test_silence_after_research_leads_to_the_report(tmp_path: Path) -> None:
    run = lab(tmp_path, orchestrator=[research("When was it lit?"), "Enough, I think."])
    state = await run.ask()
    assert state.report
    assert run.all_used()


@pytest.mark.behaviour("O-28")
async def test_report_wins_over_thought_and_thought_over_research(tmp_path: Path) -> None:
    both = calls(call("research_agent", task="not now", id="r"), call("think_tool", reasoning="hm", id="t"))
    all_three = calls(
        call("research_agent", task="never", id="r2"),
        call("think_tool", reasoning="hm", id="t2"),
        call("generate_report", id="g2"),
    )
    run = lab(tmp_path, orchestrator=[both, research("When was it lit?", ids=("first",)), all_three])
    state = await run.ask()
    answers = results(state.transcript)
    assert answers["t"] == "Noted."
    assert answers["r"].startswith("Not run")
    assert answers["g2"] == "Noted."
    assert answers["r2"].startswith("Not run")
    assert set(state.findings) == {"first"}
    assert every_call_has_one_result(state.transcript)


@pytest.mark.behaviour("O-29")
async def test_a_model_that_knows_only_unknown_tools_ends_in_the_report(tmp_path: Path) -> None:
    unknown = calls(call("browse", url="x"))
    run = lab(tmp_path, orchestrator=[research("When was it lit?"), unknown, unknown, unknown])
    state = await run.ask()
    assert state.report
    answer = next(m.text for m in state.transcript if isinstance(m, ToolMessage) and "browse" in m.text)
    assert "no tool 'browse'" in answer
    assert "research_agent" in answer
    assert every_call_has_one_result(state.transcript)


@pytest.mark.behaviour("O-30")
async def test_an_unknown_tool_beside_research_is_answered_and_the_research_runs(tmp_path: Path) -> None:
    mixed = calls(call("browse", url="x", id="b"), call("research_agent", task="When was it lit?", id="r"))
    run = lab(tmp_path, orchestrator=[mixed, REPORT])
    state = await run.ask()
    assert set(state.findings) == {"r"}
    assert "no tool 'browse'" in results(state.transcript)["b"]
    assert "1844" in next(
        m.text for m in run.calls("orchestrator")[1].messages if getattr(m, "tool_call_id", "") == "r"
    )


@pytest.mark.behaviour("O-31", "O-33")
async def test_ids_used_again_are_made_unique_and_several_tasks_are_told_as_branches(
    tmp_path: Path,
) -> None:
    run = lab(
        tmp_path,
        orchestrator=[
            research("task 0.", "task 1.", ids=("same", "same")),
            research("task 2.", ids=("same",)),
            REPORT,
        ],
        researcher=many(3),
    )
    state = await run.ask()
    assert set(state.findings) == {"same", "same-2", "same-3"}
    branchings = [packet for packet in run.packets if packet["type"] == "top_level_branching"]
    assert [packet["num_parallel_branches"] for packet in branchings] == [2]
    assert run.types().index("top_level_branching") < run.types().index("research_agent_start")
    assert every_call_has_one_result(state.transcript)


@pytest.mark.behaviour("O-34")
async def test_results_stand_in_the_order_of_the_calls(tmp_path: Path) -> None:
    run = lab(
        tmp_path,
        orchestrator=[research("slow task", "fast task", ids=("s", "f")), REPORT],
        researcher={
            "slow task": [search("light"), search("keeper"), search("harbour"), REPORT, "Slow. [1]"],
            "fast task": [search("tides"), REPORT, "Fast. [1]"],
        },
        writer=["Slow [1], fast [2]."],
    )
    state = await run.ask()
    shown = [m for m in run.calls("orchestrator")[1].messages if isinstance(m, ToolMessage)]
    assert [m.text for m in shown] == ["Slow. [1]", "Fast. [2]"]
    assert state.findings["s"].sources != state.findings["f"].sources

"""Models that go round in circles come to an end, and what was found is used."""

from __future__ import annotations

from pathlib import Path

import pytest
from lab import REPORT, in_order, lab, research, results, search, think
from scripted import calls

from deep_research.core.run.transcripts import MOST_GAPS


@pytest.mark.fault(17)
async def test_the_very_same_call_is_not_made_a_third_time(tmp_path: Path) -> None:
    same = [search("Skerry Light") for _ in range(3)]
    run = lab(tmp_path, researcher=[*same, "It was lit in 1844. [1]"])
    state = await run.ask()
    finding = in_order(state)[0]
    assert [action.inputs for action in finding.actions] == [("Skerry Light",)] * 2
    assert (finding.ended, finding.numbered) == ("done", "It was lit in 1844. [1]")
    assert "made 2 times before" in "".join(results(run.calls("researcher")[-1].messages).values())


@pytest.mark.fault(18, "R13", logs="WARNING nodes.researcher.think_or_act")
async def test_a_researcher_that_never_ends_writes_when_its_rounds_are_over(tmp_path: Path) -> None:
    endless = [search(f"Skerry Light {number}") for number in range(2)]
    run = lab(tmp_path, researcher=[*endless, "Lit in 1844. [1]"], limits={"max_iterations": 2})
    finding = in_order(await run.ask())[0]
    assert (finding.ended, finding.numbered) == ("partial", "Lit in 1844. [1]")
    assert "max_iterations" in finding.reason


@pytest.mark.fault(18)
async def test_a_researcher_without_searches_is_told_to_write(tmp_path: Path) -> None:
    endless = [search(f"Skerry Light {number}") for number in range(3)]
    run = lab(tmp_path, researcher=[*endless, REPORT, "Lit in 1844. [1]"], limits={"max_searches": 1})
    finding = in_order(await run.ask())[0]
    assert finding.numbered == "Lit in 1844. [1]"
    assert [bool(action.found) for action in finding.actions] == [True, False, False]
    assert "max_searches" in finding.actions[1].problems[0]


@pytest.mark.fault(19, logs="INFO nodes.orchestrate")
async def test_an_end_before_anything_was_researched_is_asked_about_once_and_then_said_in_the_report(
    tmp_path: Path,
) -> None:
    run = lab(tmp_path, orchestrator=[REPORT, think(), REPORT], writer=["No source was consulted."])
    state = await run.ask()
    assert state.run and state.run.status == "completed_with_gaps"
    assert "no source was consulted" in run.calls("writer")[0].messages[-1].text
    assert "no source" in state.messages[-1].text.lower()


@pytest.mark.fault(16, "R13", logs="WARNING core.writing.turn")
async def test_of_two_hundred_calls_those_go_out_for_which_there_are_cycles_and_all_are_answered(
    tmp_path: Path,
) -> None:
    many = calls(*(call for n in range(200) for call in research(f"task {n}.").tool_calls))
    simple = {f"task {n}.": [search("Skerry Light"), REPORT, "Lit in 1844. [1]"] for n in range(21)}
    run = lab(tmp_path, orchestrator=[many], researcher=simple)
    state = await run.ask()
    assert [finding.ended for finding in state.findings.values()] == ["done"] * 21
    assert len(results(state.transcript)) == 200
    assert state.messages[-1].text.count("Not found: task ") == MOST_GAPS

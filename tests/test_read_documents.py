"""Where the user's documents are short, each researcher begins by reading them all, and searches none of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from lab import DOCUMENTS, REPORT, in_order, lab, research, results
from planned_lab import finished, plan, step, verdict

TASK = research("Find out when the light was lit.")
WHOLE = {"whole_characters": 30_000}


async def test_short_documents_are_read_whole_at_once_and_count_as_read(tmp_path: Path) -> None:
    run = lab(tmp_path, orchestrator=[TASK, REPORT], researcher=[REPORT, "It was lit in 1844. [2]"], limits=WHOLE)
    state = await run.ask()
    first, last = run.calls("researcher")
    [shown] = results(first.messages).values()
    assert shown.count('"is_whole": true') == len(DOCUMENTS)
    assert last.messages[: len(first.messages) - 1] == first.messages[:-1], "the finding is asked for in the same words"
    assert "Round 1 of" in first.messages[-1].text
    assert [*first.tools] == ["generate_report", "think_tool"]
    [finding] = in_order(state)
    assert [action.tool for action in finding.actions] == ["read_documents"]
    assert len(finding.actions[0].found) == len(DOCUMENTS)
    assert all(state.sources[key].content_hash for key in finding.sources)
    assert run.types().count("open_url_documents") == 1
    assert state.run and state.run.status == "completed"


async def test_a_step_of_a_plan_reads_short_documents_whole_and_is_one_call(tmp_path: Path) -> None:
    two = plan(step("Skerry Light"), step("Ada Moran"))
    run, state = await finished(tmp_path, {"make_plan": two, "give_verdict": verdict(False)}, limits=WHOLE)
    assert not run.asked("choose_queries")
    [asked] = run.asked("record_learnings", "Ada Moran")
    assert len(asked.results) == len(DOCUMENTS) and all(result["is_whole"] for result in asked.results)
    assert {action.tool for finding in state.findings.values() for action in finding.actions} == {"read_documents"}
    assert [len(outcome.iterations) for outcome in state.outcomes.values()] == [1, 1]
    assert state.report and await run.is_told_again()


@pytest.mark.parametrize("limits", [{"whole_characters": 200}, {"whole_characters": 0}])
async def test_longer_documents_are_searched(tmp_path: Path, limits: dict[str, int]) -> None:
    run = lab(tmp_path, orchestrator=[TASK, REPORT], limits=limits)
    await run.ask()
    first = run.calls("researcher")[0]
    assert results(first.messages) == {}
    assert "internal_search" in [*first.tools]

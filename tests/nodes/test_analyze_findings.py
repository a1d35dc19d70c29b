"""The orchestrator can have its findings compared or challenged: no search, no cycle, the sources' own numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from lab import PLAN, REPORT, Lab, lab, research, simple_research
from langchain_core.messages import AIMessage
from scripted import call, calls

TASK = "Challenge that the light is from 1844."
CONCLUSION = "Nothing speaks against 1844, though only one source says so [1]."


def analyze(task: str = TASK) -> AIMessage:
    """The orchestrator has its findings thought over."""
    return calls(call("analyze_findings", task=task))


def concluded(*conclusions: str) -> Any:
    """What follows, as it is handed in."""
    return calls(call("record_conclusions", conclusions=list(conclusions)))


def analyzing(tmp_path: Path, decisions: list[Any], answers: list[Any], **settings: Any) -> Lab:
    """A run whose orchestrator decides so after its first round."""
    first = research("When was the Skerry Light lit?")
    scripts = {"": [first, *decisions], "record_conclusions": answers}
    return lab(tmp_path, orchestrator=scripts, planner=[PLAN], **settings)


async def test_conclusions_reach_the_writer_with_the_numbers_of_the_sources(tmp_path: Path) -> None:
    run = analyzing(tmp_path, [analyze(), REPORT], [concluded(CONCLUSION, "It is old [7].")])
    state = await run.ask()
    [asked] = [one for one in run.calls("orchestrator") if "record_conclusions" in one.tools]
    assert "It was lit in 1844. [1]" in asked.text and TASK in asked.text
    # A number that no finding has is taken out.
    prompt = run.calls("writer")[0].text
    assert CONCLUSION in prompt and "It is old." in prompt and "[7]" not in prompt
    assert state.progress.cycle == 1, "an analysis takes no cycle"
    assert len([one for one in run.types() if one == "research_agent_start"]) == 2
    assert state.run.status == "completed"


async def test_research_comes_first_and_analyses_have_a_limit(tmp_path: Path) -> None:
    both = calls(call("research_agent", task="Who kept it?"), call("analyze_findings", task=TASK))
    run = analyzing(
        tmp_path,
        [both, analyze(), analyze(), REPORT],
        [concluded(CONCLUSION)],
        researcher={"When was": simple_research(), "Who kept": simple_research("Ada Moran kept it. [1]")},
        limits={"max_analyses": 1},
    )
    state = await run.ask()
    assert [one.is_analysis for one in state.findings.values()] == [False, False, True]
    prompts = [one.text for one in run.calls("orchestrator") if "research_agent" in one.tools]
    assert ["research comes first" in one for one in prompts] == [False, False, True, True, True]
    assert "all 1 analyses (max_analyses) were made" in prompts[-1]


@pytest.mark.parametrize("answers", [["I would rather not.", "No."], [concluded(), concluded()]])
async def test_without_conclusions_the_run_goes_on_and_says_so(tmp_path: Path, answers: list[Any]) -> None:
    run = analyzing(tmp_path, [analyze(), REPORT], answers)
    state = await run.ask()
    assert state.report and state.report.text
    assert "its model drew no conclusions" in state.messages[-1].text

"""Research memory and analyses of the orchestrated strategy, as orchestrator and writer see them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from kit.models import call, calls
from kit.runs import PLAN, REPORT, Lab, answered, lab, research, search, simple_research

from deep_research.core.evidence.memory.observations import open_gaps, report_notes

LIT, OTHER = "The Skerry Light was lit in 1844.", "The Skerry Light was lit in 1846."
OPEN = "Nobody says who built it."
TASK = "Challenge that the light is from 1844."
ANALYZE = calls(call("analyze_findings", task=TASK))
CONCLUSION = "Nothing speaks against 1844, though only one source says so [1]."


def shown(prompt: str) -> dict[str, Any]:
    """Knowledge shown in a reminder."""
    found = re.search(r"<(data-\w+)>\s*(\{.*?\})\s*</\1>", prompt, re.DOTALL)
    return dict(json.loads(found.group(2))["knowledge"]) if found else {}


def finds(finding: str, *missing: str) -> list[Any]:
    """Script of a researcher that finds both documents and writes this finding."""
    return [search("Skerry Light", "Ada Moran"), calls(call("generate_report", missing=[*missing])), finding]


async def test_a_gap_stays_until_somebody_says_that_it_is_closed(tmp_path: Path) -> None:
    script = [research("task 0."), research("task 1."), calls(call("generate_report", missing=[]))]
    researchers = {"task 0.": finds(f"{LIT} [1]", OPEN), "task 1.": finds("Alan built it, he says. [1]")}
    run, state = await answered(tmp_path, orchestrator=script, researcher=researchers)
    prompts = [shown(call.messages[-1].text) for call in run.calls("orchestrator")]
    assert prompts == [{}, {"gaps": [OPEN]}, {"gaps": [OPEN]}]
    assert open_gaps(state.memory.values()) == []
    assert state.run and state.run.status == "completed"


async def test_what_the_orchestrator_misses_is_reported_once(tmp_path: Path) -> None:
    left = "what it cost"
    script = [research("task 0."), calls(call("generate_report", missing=[left]))]
    run, state = await answered(tmp_path, orchestrator=script, researcher=finds(f"{LIT} [1]", OPEN))
    assert state.run and state.run.status == "completed_with_gaps"
    assert state.report and state.report.audit and state.report.audit.open_gaps == (left,)
    assert [note for note in report_notes(state) if "Not found" in note] == [f"Not found: {left}"]
    assert run.calls("writer")[0].text.count(left) == 1
    assert OPEN not in run.calls("writer")[0].messages[-1].text


async def test_a_declared_contradiction_reaches_orchestrator_writer_and_reader(tmp_path: Path) -> None:
    said = {"claim": LIT, "document": 1, "other": OTHER, "other_document": 2}
    useless = [{**said, "document": 9}, {**said, "other_document": 1}, {**said, "other": LIT}, "none"]
    declared = calls(call("generate_report", contradictions=[said, *useless]))
    script = [search("Skerry Light", "Ada Moran"), declared, f"{LIT} [1] {OTHER} [2]"]
    run, state = await answered(tmp_path, researcher=script, writer=[f"{LIT} [1] Others say 1846. [2]"], verify="off")
    assert shown(run.calls("orchestrator")[1].messages[-1].text) == {"contradictions": [[LIT, OTHER]]}
    assert f"– but: {OTHER}" in run.calls("writer")[0].messages[-1].text
    table = state.messages[-1].text.partition("## Contradictions")[2].partition("## Sources")[0]
    assert (table.count(LIT), table.count(OTHER), table.count("[1]"), table.count("[2]")) == (1, 1, 1, 1)


def concluded(*conclusions: str) -> Any:
    """A call of `record_conclusions`."""
    return calls(call("record_conclusions", conclusions=list(conclusions)))


def analyzing(tmp_path: Path, decisions: list[Any], answers: list[Any], **settings: Any) -> Lab:
    """A run with these orchestrator decisions after the first round."""
    first = research("When was the Skerry Light lit?")
    scripts = {"": [first, *decisions], "record_conclusions": answers}
    return lab(tmp_path, orchestrator=scripts, planner=[PLAN], **settings)


async def test_conclusions_reach_the_writer_with_the_numbers_of_the_sources(tmp_path: Path) -> None:
    run = analyzing(tmp_path, [ANALYZE, REPORT], [concluded(CONCLUSION, "It is old [7].")])
    state = await run.ask()
    [asked] = [asked for asked in run.calls("orchestrator") if "record_conclusions" in asked.tools]
    assert "It was lit in 1844. [1]" in asked.text and TASK in asked.text
    # Numbers that no finding has are removed.
    prompt = run.calls("writer")[0].text
    assert CONCLUSION in prompt and "It is old." in prompt and "[7]" not in prompt
    assert state.progress.cycle == 1, "an analysis takes no cycle"
    assert len([kind for kind in run.types() if kind == "research_agent_start"]) == 2
    assert state.run.status == "completed"


async def test_research_comes_first_and_analyses_have_a_limit(tmp_path: Path) -> None:
    both = calls(call("research_agent", task="Who kept it?"), call("analyze_findings", task=TASK))
    researchers = {"When was": simple_research(), "Who kept": simple_research("Ada Moran kept it. [1]")}
    decisions = [both, ANALYZE, ANALYZE, REPORT]
    limits = {"max_analyses": 1}
    run = analyzing(tmp_path, decisions, [concluded(CONCLUSION)], researcher=researchers, limits=limits)
    state = await run.ask()
    assert [finding.is_analysis for finding in state.findings.values()] == [False, False, True]
    prompts = [asked.text for asked in run.calls("orchestrator") if "research_agent" in asked.tools]
    assert ["research comes first" in prompt for prompt in prompts] == [False, False, True, True, True]
    assert "all 1 analyses (max_analyses) were made" in prompts[-1]


@pytest.mark.parametrize("answers", [["I would rather not.", "No."], [concluded(), concluded()]])
async def test_without_conclusions_the_run_goes_on_and_says_so(tmp_path: Path, answers: list[Any]) -> None:
    run = analyzing(tmp_path, [ANALYZE, REPORT], answers)
    state = await run.ask()
    assert state.report and state.report.text
    assert "its model drew no conclusions" in state.messages[-1].text

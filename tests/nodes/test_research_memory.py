"""The orchestrated strategy feeds the research memory, and its orchestrator is shown what stays open."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from lab import REPORT, in_order, lab, research, search
from scripted import call, calls

from deep_research.core.evidence.memory.observations import insights, notes_of, open_gaps

LIT, OTHER = "The Skerry Light was lit in 1844.", "The Skerry Light was lit in 1846."
OPEN = "Nobody says who built it."


def shown(prompt: str) -> dict[str, Any]:
    """What a reminder says is known."""
    found = re.search(r"<(data-\w+)>\s*(\{.*?\})\s*</\1>", prompt, re.DOTALL)
    return dict(json.loads(found.group(2))["knowledge"]) if found else {}


def finds(finding: str, *missing: str) -> list[Any]:
    """A researcher that sees both documents, and writes this."""
    return [search("Skerry Light", "Ada Moran"), calls(call("generate_report", missing=[*missing])), finding]


async def test_open_gaps_are_shown_to_the_orchestrator(tmp_path: Path) -> None:
    run = lab(
        tmp_path,
        orchestrator=[research("task 0.", "task 1."), REPORT],
        researcher={"task 0.": finds(f"{LIT} [1]", OPEN), "task 1.": finds(f"{OTHER} [2]")},
    )
    state = await run.ask()
    first, second = run.calls("orchestrator")
    assert shown(first.messages[-1].text) == {}
    assert shown(second.messages[-1].text) == {"gaps": [OPEN]}
    assert [learning.text for learning in state.learnings.values()] == [LIT, OTHER]
    assert len(open_gaps(state.memory.values())) == 1
    assert insights(state.memory.values()) == []


async def test_a_gap_stays_until_somebody_says_that_it_is_closed(tmp_path: Path) -> None:
    done = calls(call("generate_report", missing=[]))
    run = lab(
        tmp_path,
        orchestrator=[research("task 0."), research("task 1."), done],
        researcher={"task 0.": finds(f"{LIT} [1]", OPEN), "task 1.": finds("Alan built it, he says. [1]")},
    )
    state = await run.ask()
    prompts = [shown(call.messages[-1].text) for call in run.calls("orchestrator")]
    assert prompts == [{}, {"gaps": [OPEN]}, {"gaps": [OPEN]}]
    assert open_gaps(state.memory.values()) == []
    assert state.run and state.run.status == "completed"


async def test_a_task_that_is_done_again_is_a_gap_no_more(tmp_path: Path) -> None:
    run = lab(
        tmp_path,
        orchestrator=[research("task 0.", ids=("one",)), research("task 0.", ids=("two",)), REPORT],
        researcher=[search("Skerry Light"), REPORT, "Nothing was found.", "Nothing was found.", *finds(f"{LIT} [1]")],
    )
    state = await run.ask()
    assert [finding.text for finding in in_order(state)] == ["Nothing was found.", f"{LIT} [1]"]
    assert open_gaps(state.memory.values()) == []


async def test_what_the_orchestrator_says_is_missing_is_told_once_in_every_way_out(tmp_path: Path) -> None:
    left = "what it cost"
    run = lab(
        tmp_path,
        orchestrator=[research("task 0."), calls(call("generate_report", missing=[left]))],
        researcher={"task 0.": finds(f"{LIT} [1]", OPEN)},
    )
    state = await run.ask()
    assert state.run and state.run.status == "completed_with_gaps"
    assert state.report and state.report.audit and state.report.audit.open_gaps == (left,)
    assert [note for note in notes_of(state) if "Not found" in note] == [f"Not found: {left}"]
    assert run.calls("writer")[0].text.count(left) == 1
    assert OPEN not in run.calls("writer")[0].messages[-1].text


async def test_a_researcher_that_consults_nothing_writes_nothing_from_memory(tmp_path: Path) -> None:
    run = lab(
        tmp_path,
        orchestrator=[research("task 0."), research("task 1."), REPORT],
        researcher={"task 0.": [REPORT], "task 1.": finds(f"{LIT} [1]")},
    )
    state = await run.ask()
    first, _ = in_order(state)
    assert (first.text, first.ended, first.reason) == ("", "failed", "it consulted no source")
    assert state.run and state.run.status == "completed_with_gaps"
    assert [note for note in notes_of(state) if "task 0" in note] == [
        "Not researched to the end: task 0: it consulted no source."
    ]


async def test_a_contradiction_that_a_researcher_declares_reaches_orchestrator_writer_and_reader(
    tmp_path: Path,
) -> None:
    said = {"claim": LIT, "document": 1, "other": OTHER, "other_document": 2}
    useless = [{**said, "document": 9}, {**said, "other_document": 1}, {**said, "other": LIT}, "none"]
    declared = calls(call("generate_report", contradictions=[said, *useless]))
    run = lab(
        tmp_path,
        orchestrator=[research("task 0."), REPORT],
        researcher=[search("Skerry Light", "Ada Moran"), declared, f"{LIT} [1] {OTHER} [2]"],
        writer=[f"{LIT} [1] Others say 1846. [2]"],
        verify="off",
    )
    state = await run.ask()
    assert shown(run.calls("orchestrator")[1].messages[-1].text) == {"contradictions": [[LIT, OTHER]]}
    assert f"– but: {OTHER}" in run.calls("writer")[0].messages[-1].text
    table = state.messages[-1].text.partition("## Contradictions")[2].partition("## Sources")[0]
    assert (table.count(LIT), table.count(OTHER), table.count("[1]"), table.count("[2]")) == (1, 1, 1, 1)

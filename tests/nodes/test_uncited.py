"""A text that cites nothing, though sources were shown, is requested once more."""

from __future__ import annotations

from pathlib import Path

from lab import REPORT, in_order, lab, research, search
from scripted import call, calls

from deep_research.core.evidence.memory.observations import notes_of

LIT = "The Skerry Light was lit in 1844."
FINDS = [search("Skerry Light"), REPORT]
AGAIN = "names no source by its number"


async def test_a_finding_that_cites_nothing_is_requested_once_more(tmp_path: Path) -> None:
    run = lab(
        tmp_path,
        orchestrator=[research("task 0."), REPORT],
        researcher=[*FINDS, LIT, f"{LIT} 【1†source】"],
        writer=[f"{LIT} [1]"],
    )
    state = await run.ask()
    *_, first, second = run.calls("researcher")
    assert AGAIN not in first.text and AGAIN in second.messages[-1].text
    assert second.messages[-2].text == LIT
    assert [(finding.text, len(finding.sources) > 0) for finding in in_order(state)] == [(f"{LIT} [1]", True)]
    shown = "".join(p["content"] for p in run.packets if p["type"] == "intermediate_report_delta")
    assert shown == LIT
    [cited] = [p["cited_docs"] for p in run.packets if p["type"] == "intermediate_report_cited_docs"]
    assert len(cited) == 1


async def test_a_report_that_cites_nothing_is_requested_once_more_and_shown_as_revised(tmp_path: Path) -> None:
    run = lab(
        tmp_path,
        orchestrator=[research("task 0."), REPORT],
        researcher=[*FINDS, f"{LIT} [1]"],
        writer=[LIT, f"{LIT} [1]"],
        verify="off",
    )
    state = await run.ask()
    assert AGAIN in run.calls("writer")[1].messages[-1].text
    assert state.report and state.report.text == f"{LIT} [1]" and len(state.report.sources) == 1
    [revised] = [p for p in run.packets if p["type"] == "report_revised"]
    assert "[1]" in revised["content"]
    answer = state.messages[-1].text
    assert answer.startswith(f"{LIT} [1]") and "cites no source" not in answer


async def test_one_that_cites_nothing_again_stays_as_it_was(tmp_path: Path) -> None:
    run = lab(
        tmp_path,
        orchestrator=[research("task 0."), REPORT],
        researcher=[*FINDS, f"{LIT} [1]"],
        writer=["It is lit.", "It is lit, I think."],
        verify="off",
    )
    state = await run.ask()
    assert len(run.calls("writer")) == 2
    assert state.report and state.report.text == "It is lit."
    assert "names none of the sources" in " ".join(notes_of(state))


async def test_what_a_finding_declares_missing_stays_when_it_is_requested_again(tmp_path: Path) -> None:
    missing = calls(call("generate_report", missing=["who built it"]))
    run = lab(
        tmp_path,
        orchestrator=[research("task 0."), REPORT],
        researcher=[search("Skerry Light"), missing, LIT, f"{LIT} [1]"],
        writer=[f"{LIT} [1]"],
    )
    state = await run.ask()
    [finding] = in_order(state)
    assert (finding.text, finding.missing) == (f"{LIT} [1]", ("who built it",))

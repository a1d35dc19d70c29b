"""A text without citations gets those of the sources that say the same, is requested once more, or is replaced."""

from __future__ import annotations

from pathlib import Path

from lab import REPORT, in_order, lab, research, search
from scripted import call, calls

from deep_research.core.evidence.memory.observations import notes_of

LIT = "The Skerry Light was lit in 1844."
UNCITED = "Since the forties of that century ships have seen it."
"""What no source says in these words."""
FINDS = [search("Skerry Light"), REPORT]
AGAIN = "names no source by its number"


async def test_a_finding_without_numbers_gets_those_of_the_sources_that_say_the_same(tmp_path: Path) -> None:
    run = lab(
        tmp_path,
        orchestrator=[research("task 0."), REPORT],
        researcher=[*FINDS, f"{LIT} It is thought to be pretty."],
        writer=[f"{LIT} [1]"],
    )
    state = await run.ask()
    assert [finding.text for finding in in_order(state)] == [f"{LIT} [1] It is thought to be pretty."]
    assert len(run.calls("researcher")) == len(FINDS) + 1


async def test_a_finding_whose_sources_cannot_be_told_is_requested_once_more(tmp_path: Path) -> None:
    run = lab(
        tmp_path,
        orchestrator=[research("task 0."), REPORT],
        researcher=[*FINDS, UNCITED, f"{UNCITED} 【1†source】"],
        writer=[f"{LIT} [1]"],
    )
    state = await run.ask()
    *_, first, second = run.calls("researcher")
    assert AGAIN not in first.text and AGAIN in second.messages[-1].text
    assert second.messages[-2].text == UNCITED
    assert [(finding.text, len(finding.sources) > 0) for finding in in_order(state)] == [(f"{UNCITED} [1]", True)]
    shown = "".join(p["content"] for p in run.packets if p["type"] == "intermediate_report_delta")
    assert shown == UNCITED
    [cited] = [p["cited_docs"] for p in run.packets if p["type"] == "intermediate_report_cited_docs"]
    assert len(cited) == 1


async def test_passages_stand_in_for_a_finding_with_figures_and_no_source(tmp_path: Path) -> None:
    made_up = "It was switched on in 1799."
    run = lab(
        tmp_path,
        orchestrator=[research("task 0."), REPORT],
        researcher=[*FINDS, made_up, made_up],
        writer=[f"{LIT} [1]"],
    )
    [finding] = in_order(await run.ask())
    assert made_up not in finding.text and "lit for the first time in 1844" in finding.text and "[1]" in finding.text
    assert (finding.ended, "named no source" in finding.reason) == ("partial", True)


async def test_a_finding_that_declares_what_is_missing_stays_without_a_source(tmp_path: Path) -> None:
    nothing = "Nothing is said about the years before 1799."
    run = lab(
        tmp_path,
        orchestrator=[research("task 0."), REPORT],
        researcher=[search("Skerry Light"), calls(call("generate_report", missing=["who built it"])), nothing, nothing],
        writer=[f"{LIT} [1]"],
    )
    [finding] = in_order(await run.ask())
    assert (finding.text, finding.missing, finding.ended) == (nothing, ("who built it",), "done")


async def test_a_report_without_numbers_gets_those_of_the_sources_that_say_the_same(tmp_path: Path) -> None:
    run = lab(
        tmp_path,
        orchestrator=[research("task 0."), REPORT],
        researcher=[*FINDS, f"{LIT} [1]"],
        writer=[LIT],
        verify="off",
    )
    state = await run.ask()
    assert state.report and state.report.text == f"{LIT} [1]" and len(state.report.sources) == 1
    assert len(run.calls("writer")) == 1


async def test_a_report_whose_sources_cannot_be_told_is_requested_once_more(tmp_path: Path) -> None:
    run = lab(
        tmp_path,
        orchestrator=[research("task 0."), REPORT],
        researcher=[*FINDS, f"{LIT} [1]"],
        writer=[UNCITED, f"{UNCITED} [1]"],
        verify="off",
    )
    state = await run.ask()
    assert AGAIN in run.calls("writer")[1].messages[-1].text
    assert state.report and state.report.text == f"{UNCITED} [1]" and len(state.report.sources) == 1
    [revised] = [p for p in run.packets if p["type"] == "report_revised"]
    assert "[1]" in revised["content"]
    answer = state.messages[-1].text
    assert answer.startswith(f"{UNCITED} [1]") and "cites no source" not in answer


async def test_findings_stand_in_for_a_report_that_cites_nothing_again(tmp_path: Path) -> None:
    run = lab(
        tmp_path,
        orchestrator=[research("task 0."), REPORT],
        researcher=[*FINDS, f"{LIT} [1]"],
        writer=["It is lit.", "It is lit, I think."],
        verify="off",
    )
    state = await run.ask()
    assert len(run.calls("writer")) == 2
    assert state.report and state.report.text == f"{LIT} [1]"
    assert "Quotations stand in for its report" in " ".join(notes_of(state))


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

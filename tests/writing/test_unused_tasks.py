"""A part of the question of which the report has no sentence is a gap, whichever graph researched it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from kit.planned import facts, finished, of_task, plan, step
from kit.runs import REPORT, answered, research, search, simple_research

from deep_research.core.evidence.citations.labels import labels
from deep_research.core.evidence.citations.rendering import write_document
from deep_research.core.records.plan import Learning, PlanStep
from deep_research.core.records.report import Report
from deep_research.core.records.research import NO_RUN, Action, Finding, Plan
from deep_research.core.records.sources import Source
from deep_research.core.writing.notes import ReportNotes
from deep_research.state import ResearchState

KEYS = ("docs:light.md", "docs:quay.md", "docs:ferry.md")
SOURCES = {
    key: Source(key=key, title=key, location=key, address=key, kind="document", number=number)
    for number, key in enumerate(KEYS, 1)
}
KEPT_BY = "Who kept the light?"
RUN = NO_RUN.model_copy(update={"id": "question"})


def found(id: str, task: str, text: str, **more: Any) -> Finding:
    """A finding whose text cites the sources by their numbers in the thread."""
    fields: dict[str, Any] = {"cycle": 0, "position": 0, "ended": "done", **more}
    return Finding(id=id, question_id=RUN.id, task=task, text=text, numbered=text, **fields)


def unused(*findings: Finding, cited: tuple[str, ...] = KEYS[:1], **channels: Any) -> list[str]:
    by_id = {finding.id: finding for finding in findings}
    state = ResearchState(run=RUN, findings=by_id, sources=SOURCES, **channels)
    return ReportNotes(state).unused_tasks(cited)


LIGHT = found("a", "When was the light lit?", "In 1844. [1]")


@pytest.mark.parametrize(
    "other, left_out",
    [
        (found("b", "How long is the quay?", "240 metres. [2]"), ["How long is the quay?"]),
        (found("b", "How long is the quay?", "240 metres. [2] It was lit. [1]"), []),
        (found("b", "Who is buried there?", "Nothing is known."), ["Who is buried there?"]),
        (found("b", "What is 2 + 2?", "4.", actions=(Action(id="", tool="calculate", inputs=()),)), []),
        (found("b", "Compare both.", "Both are old. [2]", is_analysis=True), []),
        (found("open-b", "How long is the quay?", "240 metres. [2]"), []),
        (found("b", "The quay", "", ended="failed", reason="no search succeeded"), []),
        (found("b", "The quay", "It is long. [2]", failures=("A search failed.",)), []),
    ],
    ids=["unused", "shared", "nothing", "calculated", "analysis", "graded", "failed", "explained"],
)  # fmt: skip
def test_a_task_is_unused_if_the_report_cites_no_source_of_its_finding(
    other: Finding, left_out: list[str]
) -> None:
    assert unused(LIGHT, other) == left_out


def test_parts_that_a_report_leaves_out_are_named_above_its_text() -> None:
    report = Report(text="Lit in 1844. [1]", sources=KEYS[:1], numbers=(1,))
    parts = ["How long is the quay?", "The ferry.", "The tides " * 20, "The wind"]
    above = write_document(
        report, [SOURCES[KEYS[0]]], [], labels("en"), was_researched=True, left_out=parts
    )
    first, _, text = above.partition("\n\n")
    words = "No sentence of this text uses the research on: How long is the quay; The ferry; The"
    assert first.startswith(f"*{words}")
    assert first.endswith("…; ….*") and len(first) < 300
    assert text.startswith("Lit in 1844. [1]")


def test_a_task_whose_fact_is_cited_from_another_source_is_used() -> None:
    again = found("b", "Confirm the year.", "The light was lit in 1844. [2]")
    learned = [
        Learning(text="The light was lit in 1844.", source=key, step=id, question_id=RUN.id)
        for id, key in zip("ab", KEYS, strict=False)
    ]
    learnings = {learning.id: learning for learning in learned}
    assert unused(LIGHT, again) == ["Confirm the year."]
    assert unused(LIGHT, again, learnings=learnings) == []


def test_a_step_counts_with_its_follow_ups_and_a_step_added_later_does_not_count() -> None:
    steps = [
        PlanStep(id="1", title="", task="The light", requires_search=True),
        PlanStep(id="2", title="", task="The quay", requires_search=True),
        PlanStep(id="2.1", title="", task="Its length", requires_search=True, parent="2"),
        PlanStep(id="3", title="", task="The tides", requires_search=True),
    ]
    findings = [
        found("q-1", "The light", "In 1844. [1]", step="1"),
        found("q-2", "The quay", "It is long. [2]", step="2"),
        found("q-2.1", "Its length", "240 metres. [3]", step="2.1"),
        found("q-3", "The tides", "High. [2]", step="3"),
    ]
    planned = Plan(text="", steps=("The light", "The quay"))
    assert unused(*findings, steps=steps, plan=planned) == ["The quay"]
    assert unused(*findings, steps=steps, plan=planned, cited=(KEYS[0], KEYS[2])) == []


@pytest.mark.sweep
@pytest.mark.fault("69")
@pytest.mark.parametrize(
    "written, status, left_out",
    [
        ("The Skerry Light was lit in 1844. [1]", "completed_with_gaps", (KEPT_BY,)),
        ("It was lit in 1844. [1] Ada Moran kept it from 1901 to 1932. [2]", "completed", ()),
    ],
)
async def test_a_topic_of_a_researcher_that_the_writer_leaves_out_is_named_and_the_status_says_so(
    tmp_path: Path, written: str, status: str, left_out: tuple[str, ...]
) -> None:
    _, state = await answered(
        tmp_path,
        orchestrator=[research("When was it lit?", KEPT_BY), REPORT],
        researcher={
            "When was": [search("Skerry Light"), REPORT, "It was lit in 1844. [1]"],
            KEPT_BY: [search("Ada Moran"), REPORT, "Ada Moran kept it from 1901 to 1932. [1]"],
        },
        writer=[written],
    )
    assert state.report and state.report.audit
    assert (state.run.status, state.report.audit.open_gaps) == (status, left_out)
    notes = [note for note in ReportNotes(state).lines() if note.startswith("Not in the report")]
    assert notes == [f"Not in the report: {task}" for task in left_out]
    assert all(note in state.messages[-1].text for note in notes)


@pytest.mark.sweep(first=2)
@pytest.mark.parametrize(
    "tasks, left_out",
    [
        (["History of the Skerry Light"], ["Its keeper Ada Moran", "The harbour beside it"]),
        (["History of the Skerry Light", "Who kept it?"], []),
        (["History of the Skerry Light", "Its keeper Ada Moran", "The harbour beside it"], []),
    ],
    ids=["steps left out", "tasks in other words", "all steps"],
)
async def test_a_step_of_the_plan_that_nobody_researched_is_a_gap(
    tmp_path: Path, tasks: list[str], left_out: list[str]
) -> None:
    _, state = await answered(
        tmp_path,
        orchestrator=[research(*tasks), REPORT],
        researcher={task: simple_research() for task in tasks},
    )
    notes = [note for note in ReportNotes(state).lines() if note.startswith("Not researched: ")]
    assert notes == [f"Not researched: {step}" for step in left_out]
    assert state.run.status == ("completed_with_gaps" if left_out else "completed")


@pytest.mark.sweep
@pytest.mark.fault("69")
@pytest.mark.parametrize("verify", ["repair", "off"])
async def test_a_step_of_a_typed_plan_that_the_writer_leaves_out_is_named_and_the_status_says_so(
    tmp_path: Path, verify: str
) -> None:
    rules = {
        "make_plan": plan(step("Skerry Light"), step("Ada Moran")),
        "record_learnings": of_task(
            "Ada Moran",
            facts("Ada Moran kept it from 1901 to 1932."),
            facts("It was lit in 1844."),
        ),
    }
    _, state = await finished(tmp_path, rules, verify=verify)
    assert state.report and state.run.status == "completed_with_gaps"
    assert "Not in the report: Ada Moran" in ReportNotes(state).lines()
    assert ReportNotes(state).gaps() == ["Ada Moran"]
    earlier = replace(state, run=state.run.model_copy(update={"status": "completed"}))
    assert "Not in the report: Ada Moran" not in ReportNotes(earlier).lines()

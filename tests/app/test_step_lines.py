"""The steps of a typed plan, as `show` prints them and as programs read them."""

from __future__ import annotations

import json
from typing import Any, Literal

import pytest
from exported import SOURCES

from deep_research.app.output import run_json, run_page
from deep_research.app.run_name import RunName
from deep_research.app.runs import StoredRun
from deep_research.core.records.plan import (
    FINAL_CHECK,
    Iteration,
    Learning,
    Observation,
    PlanStep,
    StepOutcome,
    Verdict,
)
from deep_research.core.records.research import Run
from deep_research.state import ResearchState


def step(id: str, title: str, status: Literal["pending", "completed", "skipped"], **fields: Any) -> PlanStep:
    own = {"depth": id.count("."), "parent": id.rpartition(".")[0], "requires_search": True}
    return PlanStep(id=id, title=title, task=f"{title}?", status=status, **{**own, **fields})


@pytest.fixture
def stored() -> StoredRun:
    """A planned run with a follow-up, a step that was skipped, gaps, and two claims that contradict each other."""
    lit, later = (
        Learning(text=text, source=source.key, step="1", question_id="q")
        for text, source in zip(("In 1844.", "In 1845."), SOURCES, strict=False)
    )
    verdict = Verdict(query="lit", is_complete=False, reasoning="No dates.", key_elements=("a date",))
    rounds = [
        Iteration(number=1, queries=("lit",), learnings=(lit.id,), confidence=0.725, at="2026", verdicts=(verdict,))
    ]
    suspected = Observation(
        kind="contradiction",
        text=lit.text,
        other=later.text,
        question_id="q",
        step="1",
        learnings=(lit.id, later.id),
    )
    gap = Observation(kind="gap", text="Who built it?", question_id="q", step="1", is_open=True, score=0.5)
    noticed = [
        suspected,
        suspected.model_copy(update={"step": FINAL_CHECK}),
        gap,
        gap.model_copy(update={"text": "How tall is it?", "is_open": False}),
        gap.model_copy(update={"text": "What is the weather?", "question_id": "an earlier question"}),
    ]
    state = ResearchState(
        run=Run(id="q", question="What?", date="", language="", is_resumable=True, version="1", status="completed"),
        steps=[
            step("1", "The light", "completed"),
            step("1.1", "Its builder", "completed", depends_on=("1",)),
            step("2", "Its \x1b[31mkeeper", "skipped", depends_on=("1",), reason="its time was over"),
            step("3", "What follows", "pending", requires_search=False),
        ],
        outcomes={"1": StepOutcome(step="1", iterations=tuple(rounds), completeness=0.5, quality=0.75)},
        learnings={one.id: one for one in (lit, later)},
        sources={source.key: source for source in SOURCES},
        memory={one.key: one for one in noticed},
    )
    return StoredRun("0", "light", "planned", state, {}, is_unfinished=False, changed="", failure="")


def test_a_planned_run_shows_its_steps_its_follow_ups_below_them_and_what_was_not_found(stored: StoredRun) -> None:
    page = run_page(stored, RunName("light", None))
    assert page.startswith("Run       0 [light]\nStrategy  planned\n")
    assert (
        "\nSteps\n"
        "  1 The light – completed, independent, 1 iteration, confidence 0.72\n"
        "    1.1 Its builder – completed, hybrid\n"
        "  2 Its [31mkeeper – skipped, hybrid\n"
        "      its time was over\n"
        "  3 What follows – pending, dependent\n"
        "\nNot found\n"
        "  - Who built it?\n" in f"{page}\n"
    )
    assert "How tall" not in page and "weather" not in page


def test_programs_read_steps_gaps_and_contradictions(stored: StoredRun) -> None:
    shown = json.loads(run_json(stored))
    first, second, third, _ = shown["steps"]
    assert (first["id"], first["title"], first["task"]) == ("1", "The light", "The light?")
    assert (first["kind"], first["status"], first["depends_on"]) == ("independent", "completed", [])
    assert (first["completeness"], first["quality"]) == (0.5, 0.75)
    verdict = {"query": "lit", "is_complete": False, "reasoning": "No dates.", "key_elements": ["a date"]}
    assert first["iterations"] == [
        {"number": 1, "queries": ["lit"], "learnings": 1, "confidence": 0.725, "verdicts": [verdict]}
    ]
    assert (second["parent"], second["kind"], third["reason"]) == ("1", "hybrid", "its time was over")
    assert (third["iterations"], third["completeness"]) == ([], None)
    assert shown["gaps"] == [{"question": "Who built it?", "relevance": 0.5, "step": "1"}]
    claims = [
        {"text": "In 1844.", "source": SOURCES[0].location},
        {"text": "In 1845.", "source": SOURCES[1].location},
    ]
    assert shown["contradictions"] == [{"claims": claims, "step": "1", "is_confirmed": True}]

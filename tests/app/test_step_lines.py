"""The steps of a typed plan, as `show` prints them and as programs read them."""

from __future__ import annotations

import json
from typing import Any, Literal

import pytest

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
from deep_research.core.records.research import Plan, Run
from deep_research.core.records.sources import Source
from deep_research.state import ResearchState

NAME = RunName("light", None)
SOURCES = {
    name: Source(
        key=name, title=name, location=f"file:///{name}.md", address=f"docs:{name}.md", kind="document", number=number
    )
    for number, name in enumerate(("light", "keeper"), 1)
}


def step(id: str, title: str, status: Literal["pending", "completed", "skipped"], **fields: Any) -> PlanStep:
    depth = id.count(".")
    return PlanStep(
        id=id,
        title=title,
        task=f"{title}?",
        status=status,
        depth=depth,
        parent=id.rpartition(".")[0],
        **{"requires_search": True, **fields},
    )


def learning(text: str, source: str, question_id: str = "q") -> Learning:
    return Learning(text=text, source=source, step="1", question_id=question_id)


def iteration(number: int, confidence: float, *learnings: Learning, is_complete: bool = False) -> Iteration:
    verdict = Verdict(query=f"query {number}", is_complete=is_complete, reasoning="No dates.", key_elements=("a date",))
    return Iteration(
        number=number,
        queries=(f"query {number}",),
        learnings=tuple(one.id for one in learnings),
        confidence=confidence,
        at="2026-03-04T05:06:07",
        verdicts=(verdict,),
    )


def gap(text: str, *, is_open: bool = True, question_id: str = "q", number: int = 1) -> Observation:
    return Observation(
        kind="gap", text=text, question_id=question_id, step="1", iteration=number, is_open=is_open, score=0.5
    )


def standing(state: ResearchState, **fields: Any) -> StoredRun:
    return StoredRun(
        **{
            "thread": "0",
            "name": "light",
            "strategy": "planned",
            "state": state,
            "waiting": {},
            "is_unfinished": False,
            "changed": "",
            "failure": "",
            **fields,
        }
    )


STEPS = [
    step("1", "The light", "completed"),
    step("1.1", "Its builder", "completed", depends_on=("1",)),
    step("2", "Its \x1b[31mkeeper", "skipped", depends_on=("1",), reason="its time was over"),
    step("3", "What follows", "pending", requires_search=False),
]


@pytest.fixture
def state() -> ResearchState:
    lit, later = learning("Lit in 1844.", "light"), learning("Lit in 1845.", "keeper")
    disagree = Observation(
        kind="contradiction",
        text=lit.text,
        other=later.text,
        question_id="q",
        step=FINAL_CHECK,
        learnings=(lit.id, later.id),
    )
    suspected = disagree.model_copy(update={"step": "1"})
    noticed = [
        suspected,
        Observation(kind="contradiction", text="It is tall.", other="It is low.", question_id="q", step="2"),
        gap("Who built it?"),
        gap("How tall is it?"),
        gap("How tall is it?", is_open=False, number=2),
        gap("What is the weather?", question_id="an earlier question"),
        disagree,
    ]
    return ResearchState(
        run=Run(id="q", question="What?", date="", language="", is_resumable=True, version="1", status="completed"),
        plan=Plan(text="1. The light", steps=("The light",)),
        steps=STEPS,
        outcomes={
            "1": StepOutcome(
                step="1",
                iterations=(iteration(1, 0.41, lit), iteration(2, 0.725, later, is_complete=True)),
                completeness=0.5,
                quality=0.75,
            ),
            "1.1": StepOutcome(step="1.1", iterations=(iteration(1, 0.3),)),
        },
        learnings={one.id: one for one in (lit, later)},
        sources=SOURCES,
        memory={one.key: one for one in noticed},
    )


def test_a_planned_run_shows_its_steps_its_follow_ups_below_them_and_what_was_not_found(state: ResearchState) -> None:
    page = run_page(standing(state), NAME)
    assert page.startswith("Run       0 [light]\nStrategy  planned\n")
    assert (
        "\nSteps\n"
        "  1 The light – completed, independent, 2 iterations, confidence 0.72\n"
        "    1.1 Its builder – completed, hybrid, 1 iteration, confidence 0.3\n"
        "  2 Its [31mkeeper – skipped, hybrid\n"
        "      its time was over\n"
        "  3 What follows – pending, dependent\n"
        "\nNot found\n"
        "  - Who built it?\n" in f"{page}\n"
    )
    assert "How tall" not in page and "weather" not in page


def test_programs_read_steps_gaps_and_contradictions(state: ResearchState) -> None:
    shown = json.loads(run_json(standing(state)))
    first, second, third, _ = shown["steps"]
    assert (first["id"], first["title"], first["task"]) == ("1", "The light", "The light?")
    assert (first["kind"], first["status"], first["depends_on"]) == ("independent", "completed", [])
    assert (first["parent"], first["reason"]) == ("", "")
    assert (first["completeness"], first["quality"]) == (0.5, 0.75)
    assert first["iterations"][1] == {
        "number": 2,
        "queries": ["query 2"],
        "learnings": 1,
        "confidence": 0.725,
        "verdicts": [
            {"query": "query 2", "is_complete": True, "reasoning": "No dates.", "key_elements": ["a date"]},
        ],
    }
    assert (second["parent"], second["kind"], third["reason"]) == ("1", "hybrid", "its time was over")
    assert (third["iterations"], third["completeness"]) == ([], None)
    assert shown["gaps"] == [{"question": "Who built it?", "relevance": 0.5, "step": "1"}]
    assert shown["contradictions"] == [
        {
            "claims": [
                {"text": "Lit in 1844.", "source": "file:///light.md"},
                {"text": "Lit in 1845.", "source": "file:///keeper.md"},
            ],
            "step": "1",
            "is_confirmed": True,
        },
        {
            "claims": [{"text": "It is tall.", "source": ""}, {"text": "It is low.", "source": ""}],
            "step": "2",
            "is_confirmed": False,
        },
    ]
    assert shown["strategy"] == "planned"

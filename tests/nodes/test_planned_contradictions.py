"""Planned runs over contradicting sources: the final check and the table in the report."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from kit.planned import Asked, PlannedLab, Rule, failing, finished, plan, planned_lab, step

from deep_research.core.records.plan import FINAL_CHECK
from deep_research.state import ResearchState

OLD = "The Skerry Light stands 38 metres tall."
NEW = "The Skerry Light stands 41 metres tall."
DOCUMENTS = {
    "survey.md": f"---\ntitle: Old survey\ndate: 2001-05-01\n---\n# Old survey\n\n{OLD}\n",
    "guide.html": "<html><head><title>New guide</title><meta name='date' content='2019-03-04'></head>"
    f"<body><h1>New guide</h1><p>{NEW}</p></body></html>",
}
TASK = "height of the Skerry Light"
ASKED = "How tall is the Skerry Light?"


def last_lines(asked: Asked) -> Any:
    """Learn the last line of each result; the first two contradict each other."""
    learned = [{"text": result["text"].split("\n")[-1], "document": result["document"]} for result in asked.results]
    pairs = [{"claim": learned[0], "other": learned[1]}] if len(learned) > 1 else []
    return {"learnings": learned, "contradictions": pairs}


async def compared(tmp_path: Path, rules: dict[str, Rule] | None = None) -> tuple[PlannedLab, ResearchState]:
    """A run over `DOCUMENTS` that learns the last line of each."""
    usual = {"make_plan": plan(step(TASK)), "record_learnings": last_lines, "report": lambda _: f"{OLD} [1]"}
    run = planned_lab(tmp_path, {**usual, **(rules or {})}, data_dir=tmp_path / "data")
    run.folder = tmp_path / "documents"
    run.folder.mkdir()
    for name, text in DOCUMENTS.items():
        (run.folder / name).write_text(text, encoding="utf-8")
    return run, await run.ask(ASKED)


def table_of(state: ResearchState) -> list[list[str]]:
    """Rows of the report's table, without its header."""
    lines = [line for line in state.messages[-1].text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


def confirmed(state: ResearchState) -> list[tuple[str, str]]:
    return [(noticed.text, noticed.other) for noticed in state.memory.values() if noticed.step == FINAL_CHECK]


@pytest.mark.behaviour("A-72", "A-73")
async def test_a_contradiction_of_two_documents_stands_in_the_report_as_a_row(tmp_path: Path) -> None:
    run, state = await compared(tmp_path)
    [pair] = confirmed(state)
    assert set(pair) == {OLD, NEW}
    assert "\n## Contradictions\n\n| Claim | Other claim | Sources | Dates | Newer |\n" in state.messages[-1].text
    dates = "2019-03-04 / 2001-05-01"
    assert table_of(state) == [[NEW, OLD, "New guide [1] / Old survey", dates, "New guide [1]"]]
    written = run.asked("report")[0].reminder
    assert all(words in written for words in (OLD, NEW, "2001-05-01", "2019-03-04", "[1] is newer"))
    prose = re.sub(r"<(data-\w+)>.*?</\1>", "", written, flags=re.DOTALL)
    assert "New guide" not in prose, "a title may hold anything: it stands in the list of sources, as data"
    [packet] = run.of_type("contradictions_found")
    [found] = packet["contradictions"]
    claims = {found["claim"]: found["document_id"], found["other_claim"]: found["other_document_id"]}
    assert claims == {OLD: (run.folder / "survey.md").as_uri(), NEW: (run.folder / "guide.html").as_uri()}
    assert found["newer_document_id"] == claims[NEW]
    assert run.packets.index(packet) < run.packets.index(run.of_type("message_start")[0])
    assert await run.replays_alike()


@pytest.mark.behaviour("A-72")
async def test_with_an_insight_learnings_are_checked_and_only_pairs_of_them_are_kept(tmp_path: Path) -> None:
    pairs = [{"claim": 1, "other": 1}, {"claim": 1, "other": 99}, {"claim": 0, "other": 2}, {"claim": 3, "other": 1}]
    rules: dict[str, Rule] = {
        "record_insights": lambda _: {"insights": ["It is the oldest light."]},
        "record_inconsistencies": lambda _: {"inconsistencies": [*pairs, {"claim": 1, "other": 3}]},
        "report": lambda _: "The Skerry Light was lit for the first time in 1844. [1]",
    }
    run, state = await finished(tmp_path, rules)
    asked = run.asked("record_inconsistencies")[0]
    assert "candidates" not in asked.knowledge
    assert confirmed(state) == [(asked.known[0], asked.known[2])]
    assert len(table_of(state)) == 1


@pytest.mark.behaviour("A-70", "A-72")
@pytest.mark.parametrize(
    ("rule", "errors"),
    [
        (lambda _: {"inconsistencies": []}, 0),
        (failing(ValueError("the line is dead")), 1),
        (lambda _: "They agree.", 1),
    ],
)
async def test_what_the_final_check_does_not_confirm_is_left_out_also_if_it_fails(
    tmp_path: Path, rule: Rule, errors: int
) -> None:
    run, state = await compared(tmp_path, {"record_inconsistencies": rule})
    assert run.asked("record_inconsistencies")[0].knowledge["candidates"]
    assert (confirmed(state), table_of(state), run.of_type("contradictions_found")) == ([], [], [])
    assert "contradict each other; say so" not in run.asked("report")[0].reminder
    assert state.report and state.report.sources
    assert state.run and state.run.status == "completed"
    said = [packet["message"].partition(": ")[0] for packet in run.of_type("error")]
    assert said == ["Part of a step failed"] * errors


@pytest.mark.behaviour("A-72")
async def test_the_most_relevant_learnings_are_checked_within_the_window(tmp_path: Path) -> None:
    def many(asked: Asked) -> Any:
        [first, *_] = asked.results
        facts = [f"Buoy {number} is red." for number in range(40)]
        facts += [f"The keeper of the Skerry Light wrote letter {number}." for number in range(20)]
        return {"learnings": [{"text": fact, "document": first["document"]} for fact in facts]}

    rules: dict[str, Rule] = {
        "record_learnings": many,
        "record_insights": lambda _: {"insights": ["She wrote much."]},
    }
    run, state = await finished(tmp_path, rules, limits={"memory_tokens": 900})
    assert len(state.learnings) == 60
    known = run.asked("record_inconsistencies")[0].known
    assert 20 < len(known) < 60
    assert sum(text.startswith("The keeper") for text in known) == 20


@pytest.mark.behaviour("A-72")
async def test_a_gap_that_another_step_has_answered_is_closed_by_the_final_check(tmp_path: Path) -> None:
    insights = {"insights": [], "gaps": [{"question": "Who kept the Skerry Light?", "relevance": 0.9}]}
    rules = {
        "make_plan": plan(step("Skerry Light"), step("Ada Moran")),
        "record_insights": lambda asked: insights if asked.task == "Skerry Light" else {"insights": []},
        "record_inconsistencies": lambda asked: {
            "inconsistencies": [],
            "answered_gaps": [1 + asked.knowledge["gaps"].index("Who kept the Skerry Light?")],
        },
    }
    run, state = await finished(tmp_path, rules)
    assert run.asked("record_inconsistencies")
    assert "Not found" not in state.messages[-1].text
    assert state.run and state.run.status == "completed"
    assert await run.replays_alike()

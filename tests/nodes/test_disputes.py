"""Disputes from whoever declares them to the report."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from kit.models import ScriptedChatModel, by_figures, call, calls
from kit.planned import contrary, finished, numbered, of_task, plan, step
from kit.runs import REPORT, Lab, answered, lab, research, search
from langchain_core.language_models import ModelProfile
from langchain_core.messages import HumanMessage

from deep_research.core.evidence.memory.observations import ThreadDisputes
from deep_research.core.records.sources import UNRESOLVED
from deep_research.nodes._disputes import StatedDispute
from deep_research.state import ResearchState

LIT, LATER = "The Skerry Light was lit in 1844.", "The Skerry Light was lit in 1846."
KEEP, SELL = "The trust advises to keep the lamp.", "The council recommends to sell the lamp."
OTHER_WORDS = (
    (LIT, LATER),
    ("Its first night was in 1844.", "Its lamp first burned two years after that, in 1846."),
    ("1844 is the year of the first light.", "The register has 1846 as the year of the opening."),
)
REGISTER = "the register is kept on site and closer to the fact"


def dispute(claims: Sequence[str], about: str = "fact") -> dict[str, Any]:
    """A dispute between the first two results of a researcher."""
    claim, other = claims
    return {"claim": claim, "document": 1, "other": other, "other_document": 2, "about": about}


def declaring(finding: str, *disputes: Any) -> list[Any]:
    """A researcher that finds both documents, declares these disputes, and writes this finding."""
    declared = calls(call("generate_report", contradictions=list(disputes)))
    return [search("Skerry Light", "Ada Moran"), declared, finding]


def settling(*found: dict[str, Any]) -> dict[str, Any]:
    """An orchestrator that sends out one researcher, and settles what is declared like this."""
    form = calls(call("record_contradictions", contradictions=list(found)))
    return {"": [research("task 0."), REPORT], "record_contradictions": [form]}


def rows_of(state: ResearchState) -> list[list[str]]:
    """The table of disputes in the report: its head and its rows."""
    _, _, below = state.messages[-1].text.partition("## Contradictions")
    lines = [line for line in below.partition("\n## ")[0].splitlines() if line.startswith("|")]
    rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    return [*rows[:1], *rows[2:]]


def candidates_in(run: Lab) -> Any:
    """What the final check is shown as declared."""
    [asked] = [
        asked for asked in run.calls("orchestrator") if "record_contradictions" in asked.tools
    ]
    shown = re.search(r"<(data-\w+)>\s*(\{.*?\})\s*</\1>", asked.messages[-1].text, re.DOTALL)
    assert shown
    return json.loads(shown[2])["knowledge"]["candidates"]


async def test_a_dispute_about_a_fact_reaches_everyone_and_stands_in_a_table_with_its_resolution(
    tmp_path: Path,
) -> None:
    said = dispute((LIT, LATER))
    useless = [{**said, "document": 9}, {**said, "other_document": 1}, {**said, "other": LIT}, "-"]
    found = {**numbered(2, 1), "resolution": REGISTER}
    run, state = await answered(
        tmp_path,
        orchestrator=settling(found),
        researcher=declaring(f"{LIT} [1]", said, *useless),
        writer=["The light is old. [1]"],
        verify="off",
    )
    [finding] = state.findings.values()
    [declared] = finding.contradictions
    assert (declared.claims, declared.resolution) == ((LIT, LATER), "open")
    [decision] = [asked for asked in run.calls("orchestrator") if LATER in asked.text][:1]
    assert "research_agent" in decision.tools, "the orchestrator knows it before it decides"
    [candidate] = candidates_in(run)
    assert (candidate["about"], candidate["resolution"]) == ("fact", "open")
    line = next(line for line in run.calls("writer")[0].text.splitlines() if LATER in line)
    assert f"resolved: {REGISTER}" in line and "[1]" in line and "[2]" in line
    assert rows_of(state) == [
        ["Claim", "Other claim", "Resolution"],
        [f"{LIT} [1]", f"{LATER} [2]", REGISTER],
    ]
    listed = state.messages[-1].text.partition("## Sources")[2]
    assert "- [2] " in listed and "[2]: <file:" in listed, "the text itself does not cite it"
    [packet] = run.of_type("contradictions_found")
    assert [shown["resolution"] for shown in packet["contradictions"]] == [REGISTER]


async def test_a_dispute_about_advice_that_the_text_names_has_no_table(tmp_path: Path) -> None:
    run, state = await answered(
        tmp_path,
        orchestrator=settling({**numbered(1, 2), "about": "advice", "resolution": "open"}),
        researcher=declaring(f"{KEEP} [1]", dispute((KEEP, SELL), "advice")),
        writer=["The trust would keep the lamp [1].\n\nThe council, however, would sell it [2]."],
        verify="off",
    )
    [confirmed] = ThreadDisputes(state).confirmed()
    assert (confirmed.about, confirmed.is_resolved) == ("advice", False)
    assert KEEP in run.calls("writer")[0].text
    assert rows_of(state) == []


@pytest.mark.sweep(first=2)
@pytest.mark.parametrize(
    ("cites", "resolution", "most_words", "is_named"),
    [
        ("[1] and [2]", "open", 0, True),
        ("[1]", "open", 500, False),
        ("[1]", REGISTER, 0, False),
        ("[1]", REGISTER, 500, True),
    ],
    ids=["both sides", "open", "no length is asked for", "resolved, and a length is asked for"],
)
async def test_the_editor_says_which_disputes_need_no_row(
    tmp_path: Path, cites: str, resolution: str, most_words: int, is_named: bool
) -> None:
    text = f"Old things deserve care, say some, money is short, say others {cites}."
    grades = [{"number": 1, "verdict": "answered"}]
    form = calls(call("grade_report", grades=grades, named_disputes=[1], most_words=most_words))
    judge = {"grade_report": [form], "": lambda messages, _: by_figures(messages[-1].text)}
    _, state = await answered(
        tmp_path,
        planner=["1. The lamp\n\n## Checklist\n- What to do with it"],
        orchestrator=settling({**numbered(1, 2), "about": "advice", "resolution": resolution}),
        researcher=declaring(f"{KEEP} [1]", dispute((KEEP, SELL), "advice")),
        writer=[text],
        verifier=ScriptedChatModel(replies=judge, profile=ModelProfile(max_input_tokens=100_000)),
    )
    assert state.report and state.report.audit
    assert [found.is_named for found in state.report.audit.disagreements] == [is_named]
    assert bool(rows_of(state)) != is_named


@pytest.mark.sweep
@pytest.mark.parametrize("is_answered", [True, False])
async def test_one_pair_that_three_researchers_declare_in_other_words_is_merged_by_the_final_check(
    tmp_path: Path, is_answered: bool
) -> None:
    script = settling(numbered(3, 4)) if is_answered else {"": [None, REPORT]}
    script[""][0] = research("task 0.", "task 1.", "task 2.")
    researchers = {
        f"task {number}.": declaring(f"{claims[0]} [1]", dispute(claims))
        for number, claims in enumerate(OTHER_WORDS)
    }
    run, state = await answered(
        tmp_path, orchestrator=script, researcher=researchers, writer=["It is old. [1]"]
    )
    assert len(candidates_in(run)) == 3
    head, *rows = rows_of(state)
    assert [row[-1] for row in rows] == ["open"] * (1 if is_answered else 3)
    assert all("[1]" in row[0] and "[2]" in row[1] for row in rows), head
    assert state.report and state.report.audit
    assert len(state.report.audit.disagreements) == len(rows)


@pytest.mark.parametrize("is_seen_by_the_orchestrator", [False, True])
async def test_what_one_researcher_with_all_documents_declares_is_not_compared_again(
    tmp_path: Path, is_seen_by_the_orchestrator: bool
) -> None:
    said = {**dispute((LATER, LIT)), "document": 2, "other_document": 3}
    declared = calls(
        call("generate_report", contradictions=[said], missing=["Its cost"]),
        text=f"{LIT} [3] {LATER} [2]",
    )
    script = settling(numbered(1, 2))
    script[""][1] = calls(call("generate_report", is_disputed=is_seen_by_the_orchestrator))
    run, state = await answered(
        tmp_path,
        orchestrator=script,
        researcher=[declared],
        writer=["It is old. [1]"],
        verify="off",
        limits={"whole_characters": 30_000},
    )
    asked = [asked for asked in run.calls("orchestrator") if "record_contradictions" in asked.tools]
    assert len(asked) == is_seen_by_the_orchestrator
    [confirmed] = ThreadDisputes(state).confirmed()
    assert set(confirmed.claims) == {LIT, LATER}
    assert len(rows_of(state)) == 2 and len(run.of_type("contradictions_found")) == 1


async def test_what_only_the_orchestrator_sees_between_two_researchers_is_settled_too(
    tmp_path: Path,
) -> None:
    script = settling({**numbered(1, 2), "resolution": REGISTER})
    script[""] = [research("task 0.", "task 1."), calls(call("generate_report", is_disputed=True))]
    researchers = {
        "task 0.": [search("Skerry Light"), REPORT, f"{LIT} [1]"],
        "task 1.": [search("Ada Moran"), REPORT, f"{LATER} [1]"],
    }
    run, state = await answered(
        tmp_path, orchestrator=script, researcher=researchers, writer=["It is old. [1]"]
    )
    [settled] = ThreadDisputes(state).confirmed()
    assert (set(settled.claims), settled.resolution) == ({LIT, LATER}, REGISTER)
    assert len(rows_of(state)) == 2
    assert run.all_used() and not state.progress.is_disputed


@pytest.mark.slow
async def test_what_two_steps_of_a_plan_declare_in_other_words_is_merged(tmp_path: Path) -> None:
    tasks = ("Skerry Light", "Skerry Light and its keeper")
    rules: dict[str, Any] = {
        "make_plan": plan(*map(step, tasks)),
        "record_learnings": of_task(tasks[0], contrary(*OTHER_WORDS[0]), contrary(*OTHER_WORDS[1])),
        "record_contradictions": lambda asked: {
            "contradictions": [numbered(*asked.knowledge["candidates"][1]["numbers"])]
        },
    }
    run, state = await finished(tmp_path, rules)
    assert len(run.asked("record_contradictions")[0].knowledge["candidates"]) == 2
    [settled] = ThreadDisputes(state).confirmed()
    assert set(settled.claims) in map(set, OTHER_WORDS[:2])
    [_, row] = rows_of(state)
    assert row[-1] == "open" and "[" in row[0] and "[" in row[1]


@pytest.mark.parametrize(
    ("given", "resolution"),
    [
        ("open", UNRESOLVED),
        ("Open: both are of 2025", UNRESOLVED),
        ("", UNRESOLVED),
        (None, UNRESOLVED),
        ("Open data of 2025 are newer", "Open data of 2025 are newer"),
    ],
)
def test_a_dispute_is_open_only_if_the_model_says_so(given: object, resolution: str) -> None:
    fields = {"claim": "a", "document": 1, "other": "b", "other_document": 2}
    stated = StatedDispute.model_validate({**fields, "resolution": given})
    assert stated.resolution == resolution


@pytest.mark.sweep
@pytest.mark.parametrize("is_found_again", [True, False])
async def test_an_edit_leaves_the_disputes_of_the_report_as_they_were(
    tmp_path: Path, is_found_again: bool
) -> None:
    """A dispute of the first question concerns the second report only if it is found again."""
    said = dispute((LIT, LATER))
    forms = [calls(call("record_contradictions", contradictions=[numbered(2, 1)]))]
    again = [search("Skerry Light", "Ada Moran"), REPORT, "It is old. [1]"]
    if is_found_again:
        forms *= 2
        again = declaring(f"{LIT} [1]", said)
    replaced = {"kind": "replace_words", "block": 2, "words": "old", "text": "very old"}
    edited = calls(call("edit_report", edits=[replaced], done="It is very old."))
    text = "## The light\n\nThe light is old. [1]\n\n## The rest\n\nNothing else is known."
    run = lab(
        tmp_path,
        clarify="off",
        planner=["1. The light"] * 2,
        orchestrator={
            "": [research("task 0."), REPORT, research("task 1."), REPORT],
            "record_contradictions": forms,
        },
        researcher={"task 0.": declaring(f"{LIT} [1]", said), "task 1.": again},
        writer={"": [text] * 2, "edit_report": [edited]},
        verify="check",
    )
    await run.ask()
    second = await run.ask("And today?")
    before = rows_of(second)
    assert len(before) == 2 * is_found_again
    state = await run.ask({"messages": [HumanMessage("Say that it is very old.")], "edit": True})
    assert state.report and "very old" in state.report.text
    assert rows_of(state) == before

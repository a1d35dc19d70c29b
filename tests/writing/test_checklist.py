"""The draft is graded against the checklist of the request; what it leaves open is researched once
and added."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from kit.models import ScriptedChatModel, by_figures, call, calls
from kit.planned import finished, plan, step
from kit.runs import REPORT, Lab, lab, search
from langchain_core.language_models import ModelProfile

from deep_research.app.embed import build_graph
from deep_research.core.dialogue.plan_text import PlanText
from deep_research.core.errors import RateLimited
from deep_research.state import ResearchState

CHECKLIST = ("When the light was lit", "Its keeper and her years", "Its range at sea")
TITLE = "The Skerry Light and its keeper"
STEPS = "1. History of the light\n2. Its keeper"
PLAN = "\n- ".join([f"# {TITLE}\n\n{STEPS}\n\n## Checklist\n", *CHECKLIST])
DRAFT = "It was lit in 1844. [1]\n\nNothing else is known."
KEEPER, RANGE = "Who kept the Skerry Light, and when?", "How far is the Skerry Light seen?"
ADDED = "Ada Moran kept it from 1901 to 1932. [2]"
OPEN = [(1, "answered", ""), (2, "not answered", KEEPER), (3, "partly", RANGE)]
ALL_ANSWERED = [(number, "answered", "") for number in (1, 2, 3)]
STILL_OPEN = [(1, "answered", ""), (2, "not answered", RANGE)]


def graded(*grades: tuple[int, str, str]) -> dict[str, Any]:
    """Grades by the verifier."""
    return {"grades": [{"number": n, "verdict": v, "missing": m, "task": m} for n, v, m in grades]}


def adding(**addition: Any) -> dict[str, Any]:
    """A writer that adds this passage to the draft."""
    edit = {"kind": "insert_after", **addition}
    return {"edit_report": [calls(call("edit_report", edits=[edit]))], "": [DRAFT]}


def checklist_lab(tmp_path: Path, *grades: Any, **settings: Any) -> Lab:
    """A run whose draft answers the first of three requirements; its verifier grades so, and judges
    by figures."""
    given = [
        reply if isinstance(reply, str) else calls(call("grade_report", **reply))
        for reply in grades
    ]
    judge = {"grade_report": given, "": lambda messages, _: by_figures(messages[-1].text)}
    scripts: dict[str, Any] = {
        "planner": [PLAN],
        "researcher": {
            "When was": [search("Skerry Light"), REPORT, "It was lit in 1844. [1]"],
            KEEPER: [search("Ada Moran"), REPORT, "Ada Moran kept it from 1901 to 1932. [1]"],
            RANGE: [search("range"), REPORT, "Nothing is said of its range."],
        },
        "writer": adding(block=1, text=ADDED),
        "verifier": ScriptedChatModel(
            replies=judge, profile=ModelProfile(max_input_tokens=100_000)
        ),
    }
    return lab(tmp_path, **{**scripts, **settings})


def notes(state: ResearchState) -> str:
    """The notes below the report."""
    return state.messages[-1].text.partition("## Notes")[2]


async def test_what_the_draft_leaves_open_is_researched_once_and_added_and_nothing_else_changes(
    tmp_path: Path,
) -> None:
    run = checklist_lab(tmp_path, graded(*OPEN), graded(*STILL_OPEN))
    state = await run.ask_for_report()
    assert [finding.task for finding in state.findings.values()] == [
        "When was the Skerry Light lit?",
        KEEPER,
        RANGE,
    ]
    assert state.report and state.report.text == DRAFT.replace("[1]\n\n", f"[1]\n\n{ADDED}\n\n")
    assert [grade.verdict for grade in state.report.grades] == [
        "answered",
        "answered",
        "not answered",
    ]
    # Only open requirements are graded again, and no further research starts.
    first, second = (asked.text for asked in run.calls("verifier") if "grade_report" in asked.tools)
    assert (
        all(requirement in first for requirement in CHECKLIST)
        and "It was lit in 1844. [1]" in first
    )
    assert CHECKLIST[0] not in second.partition("The checklist:")[2]
    packets = run.of_type("report_graded")
    assert [(len(packet["grades"]), packet["is_researched"]) for packet in packets] == [
        (3, True),
        (3, False),
    ]
    assert notes(state).count(RANGE) == 1
    assert state.run.status == "completed_with_gaps"
    assert len(run.calls("orchestrator")) == 2
    # The additions were shown before the check.
    assert ADDED.split("[")[0] in run.of_type("report_revised")[0]["content"]
    assert state.messages[-1].text.startswith(f"# {TITLE}\n\nIt was lit in 1844.")
    assert run.all_used()


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("note", "added", "expected"),
    [
        ("[^1]: By gas.", "[^1]: After her father.", "\\[^a]: By gas.\n\n\\[^b]: After her father."),
        ("", "[^1]: After her father.", "\\[^a]: After her father."),
        ("[^1]: By gas.", "", "\\[^a]: By gas."),
        ("[^1]: By gas.", "[^1]: By gas.", "\\[^a]: By gas.\n\n\\[^b]: By gas."),
    ],
)  # fmt: skip
async def test_footnotes_of_additions_are_labelled_anew(
    tmp_path: Path, note: str, added: str, expected: str
) -> None:
    draft = DRAFT.replace("1844.", "1844.[^1]" if note else "1844.")
    passage = ADDED.replace("1932.", "1932.[^1]" if added else "1932.")
    writer = adding(block=1, text=f"{passage}\n\n{added}".strip())
    writer[""] = [f"{draft}\n\n{note}".strip()]
    run = checklist_lab(tmp_path, graded(*OPEN), graded(*STILL_OPEN), writer=writer, verify="off")
    state = await run.ask_for_report()
    first, second = ("[^a]", "[^b]") if note else ("", "[^a]")
    body = DRAFT.replace("1844.", f"1844.{first}")
    new = ADDED.replace("1932.", f"1932.{second if added else ''}")
    assert state.report
    body = body.replace("[1]", f"[1]\n\n{new}")
    assert state.report.text == f"{body}\n\n{expected}"


async def test_facts_already_in_the_findings_are_added_without_a_search(tmp_path: Path) -> None:
    found = {"grades": [{"number": 2, "verdict": "not answered", "is_found": True}]}
    researcher = [search("Skerry Light", "Ada Moran"), REPORT, f"It was lit in 1844. [1] {ADDED}"]
    writer = adding(block=2, is_continued=True, text=ADDED)
    run = checklist_lab(
        tmp_path, found, graded((1, "answered", "")), researcher=researcher, writer=writer
    )
    state = await run.ask_for_report()
    assert state.report and state.report.text == f"{DRAFT} {ADDED}"
    assert len(state.findings) == 1 and state.run.status == "completed"
    assert [packet["is_researched"] for packet in run.of_type("report_graded")] == [False, False]
    assert run.all_used()


async def test_steps_of_a_typed_plan_research_what_the_draft_leaves_open(tmp_path: Path) -> None:
    grades = [OPEN[:2], STILL_OPEN[:1]]

    def with_new_number(reminder: str) -> str:
        number = re.search(r"Ada Moran[^\"]*?\[(\d+)\]", reminder)
        assert number, reminder
        return f"Ada Moran kept the Skerry Light from 1901 to 1932. [{number[1]}]"

    rules = {
        "make_plan": lambda _: {
            **plan(step("Skerry Light"))(_),
            "title": TITLE,
            "requirements": CHECKLIST[:2],
        },
        "report": lambda _: DRAFT,
        "grade_report": lambda _: graded(*grades.pop(0)),
        "edit_report": lambda asked: {
            "edits": [{"kind": "insert_after", "block": 1, "text": with_new_number(asked.reminder)}]
        },
    }
    run, state = await finished(tmp_path, rules)
    steps = [(step.id, step.task, step.status) for step in state.steps]
    assert steps == [("1", "Skerry Light", "completed"), ("2", KEEPER, "completed")]
    assert state.report
    before, passage, after = state.report.text.split("\n\n")
    assert (before, after) == tuple(DRAFT.split("\n\n"))
    assert "Ada Moran" in passage and re.search(r"\[\d\]", passage)
    assert [grade.verdict for grade in state.report.grades] == ["answered", "answered"]
    assert [packet["is_researched"] for packet in run.of_type("report_graded")] == [True, False]
    assert state.run.status == "completed"
    assert len([kind for kind in run.types() if kind == "report_framing"]) <= 1


@pytest.mark.sweep(first=2)
@pytest.mark.parametrize(
    ("grades", "settings", "noted"),
    [
        ([graded(*OPEN)], {"limits": {"checklist_rounds": 0}}, ()),
        ([graded(*OPEN)], {"limits": {"max_searches": 1}}, (KEEPER, RANGE)),
        ([graded((3, "not answered", ""))], {}, (CHECKLIST[2],)),
        (["I like it.", "Very much."], {}, ("was not compared with the checklist",)),
        ([], {"planner": [STEPS]}, ()),
    ],
    ids=["no rounds", "no searches left", "searched in vain", "unreadable grades", "no checklist"],
)
async def test_no_extra_round_starts_if_it_is_disabled_or_cannot_succeed(
    tmp_path: Path, grades: Any, settings: Any, noted: Any
) -> None:
    run = checklist_lab(tmp_path, *grades, **settings)
    state = await run.ask_for_report()
    assert len(state.findings) == 1
    assert state.report and state.report.text == DRAFT
    assert state.report.audit and state.report.audit.checked
    assert all(note in notes(state) for note in noted)
    is_graded = bool(noted) and "compared" not in noted[0]
    assert bool(state.report.grades) == is_graded == bool(run.of_type("report_graded"))


async def test_a_run_that_is_stopped_within_the_round_goes_on_there(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    broken = {"edit_report": [RateLimited("busy"), RateLimited("busy")], "": [DRAFT]}
    run = checklist_lab(
        tmp_path, graded(*OPEN), graph=build_graph(checkpointer=path), writer=broken
    )
    with pytest.raises(RateLimited):
        await run.ask()
    again = checklist_lab(tmp_path, graded(*STILL_OPEN), graph=build_graph(checkpointer=path))
    state = await again.ask(None)
    assert state.report and ADDED in state.report.text
    # Nothing that was paid for is done again.
    assert not again.calls("researcher") and not again.calls("orchestrator")
    assert len(again.calls("writer")) == 1


async def test_an_edited_checklist_is_the_one_that_counts(tmp_path: Path) -> None:
    run = checklist_lab(tmp_path, graded((1, "answered", "")), review_plan=True)
    await run.ask()
    state = await run.ask(f"{STEPS}\n\n## Checklist\n\n- {CHECKLIST[0]}")
    assert state.plan and state.plan.requirements == CHECKLIST[:1]
    assert state.title == TITLE
    assert state.report and [grade.requirement for grade in state.report.grades] == [CHECKLIST[0]]


@pytest.mark.parametrize(
    ("text", "title", "requirements"),
    [
        (PLAN, TITLE, CHECKLIST),
        ("1. One\n2. Two", "", ()),
        ("# Title\n\n- one\n- two", "Title", ()),
        ("## Phase 1\n1. One\n\n## Phase 2\n2. Two", "Phase 1", ()),
        ("1. One\n\n**Note:** nothing.\n\n### Prüfliste\n* Wann?\n* Wo?", "", ("Wann?", "Wo?")),
    ],
)
def test_a_plan_is_split_into_title_steps_and_checklist(
    text: str, title: str, requirements: tuple[str, ...]
) -> None:
    plan = PlanText.read(text).plan(6)
    assert (plan.title, plan.requirements) == (title, requirements)
    assert plan.text == text.strip()


async def test_what_the_draft_says_already_is_not_rewritten(tmp_path: Path) -> None:
    rewriting = call("edit_report", edits=[{"kind": "replace", "block": 2, "text": ADDED}])
    writer = {"edit_report": [calls(rewriting), calls(rewriting)], "": [DRAFT]}
    run = checklist_lab(tmp_path, graded(*OPEN), graded(*OPEN[1:]), writer=writer)
    state = await run.ask_for_report()
    assert state.report and state.report.text == DRAFT
    assert "so it is only added to" in run.calls("writer")[-1].text
    assert "A change was left out (replace, block 2: Nothing else is known." in notes(state)


TWICE = f"{DRAFT}\n\nThe light was lit in 1844. [1]"


def remarked(*remarks: tuple[list[int], str], **length: int) -> dict[str, Any]:
    """A verifier to whom all requirements are answered, with remarks: block numbers, problem."""
    given = [{"blocks": blocks, "problem": problem} for blocks, problem in remarks]
    return {**graded(*ALL_ANSWERED), "remarks": given, **length}


def editing(*edits: dict[str, Any], draft: str = TWICE) -> dict[str, Any]:
    """A writer that changes its draft so."""
    return {"edit_report": [calls(call("edit_report", edits=list(edits)))], "": [draft]}


async def test_what_the_editor_remarks_is_changed_once_before_the_check(tmp_path: Path) -> None:
    remark = ([3], "Block 1 says this already: delete it.")
    delete = {"kind": "delete", "block": 3}
    run = checklist_lab(tmp_path, remarked(remark, ([9], "No such block.")), writer=editing(delete))
    state = await run.ask_for_report()
    assert state.report and state.report.text == DRAFT
    grading = [asked for asked in run.calls("verifier") if "grade_report" in asked.tools]
    assert len(grading) == 1 and "Block 3:\nThe light was lit in 1844. [1]" in grading[0].text
    edited = run.calls("writer")[-1].text
    assert f"Block 3: {remark[1]}" in edited and "No such block" not in edited
    assert "requirements that the report leaves open" not in edited
    assert state.draft and not state.draft.remarks
    assert run.types().count("report_revised") == 1


async def test_blocks_that_no_remark_names_are_only_added_to(tmp_path: Path) -> None:
    changes: list[dict[str, Any]] = [
        {"kind": "replace", "block": 1, "text": "It was lit in 1845. [1]"},
        {"kind": "delete", "block": 2, "last": 3},
        {"kind": "insert_after", "block": 2, "text": "No keeper is named."},
    ]
    writer = editing(*changes)
    writer["edit_report"].append(calls(call("edit_report", edits=[])))
    run = checklist_lab(tmp_path, remarked(([3], "Said twice."), most_words=90), writer=writer)
    state = await run.ask_for_report()
    body = TWICE.replace("is known.", "is known.\n\nNo keeper is named.")
    assert state.report and state.report.text == body
    assert notes(state).count("A change was left out") == 2


@pytest.mark.parametrize("is_mended", [True, False])
async def test_a_draft_of_the_wrong_length_is_changed_and_else_the_length_is_noted(
    tmp_path: Path, is_mended: bool
) -> None:
    edits = [{"kind": "delete", "block": 2, "last": 3}] if is_mended else []
    given = remarked(most_words=6, fewest_words=5)
    run = checklist_lab(tmp_path, given, writer=editing(*edits))
    state = await run.ask_for_report()
    asked = run.calls("writer")[-1].text
    assert "It has 15 words" in asked and "shorten it by 9 words" in asked
    assert ("the request asks for 6" in notes(state)) is not is_mended


async def test_remarks_wait_for_the_research_on_open_requirements(tmp_path: Path) -> None:
    given = {**graded(*OPEN), "remarks": [{"blocks": [3], "problem": "Said twice."}]}
    given["most_words"] = 16
    edits = [{"kind": "delete", "block": 3}, {"kind": "insert_after", "block": 1, "text": ADDED}]
    run = checklist_lab(tmp_path, given, graded(*STILL_OPEN), writer=editing(*edits))
    state = await run.ask_for_report()
    assert state.report and state.report.text == DRAFT.replace("[1]\n\n", f"[1]\n\n{ADDED}\n\n")
    _, second = (asked.text for asked in run.calls("verifier") if "grade_report" in asked.tools)
    assert "`remarks`" not in second
    # The additions must not make it too long.
    assert "what you add beyond 1 words has to go elsewhere" in run.calls("writer")[-1].text
    assert len([asked for asked in run.calls("writer") if "edit_report" in asked.tools]) == 1

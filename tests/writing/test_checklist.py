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
from deep_research.app.words import ReportTrust
from deep_research.core.dialogue.plan_text import PlanText
from deep_research.core.errors import RateLimited
from deep_research.core.writing.notes import ReportNotes
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


def graded(*grades: tuple[int, str, str], **more: Any) -> dict[str, Any]:
    """Grades by the verifier, with the other fields of its form."""
    given = [{"number": n, "verdict": v, "missing": m, "task": m} for n, v, m in grades]
    return {"grades": given, **more}


def adding(text: str = ADDED, block: int = 1, **more: Any) -> list[dict[str, Any]]:
    """Edits by the verifier: this text is added to the draft."""
    return [{"kind": "insert_after", "block": block, "text": text, **more}]


def checklist_lab(tmp_path: Path, *grades: Any, **settings: Any) -> Lab:
    """A run whose draft answers the first of three requirements; its verifier grades so, and judges
    by figures."""
    given = [
        calls(call("grade_report", **reply)) if isinstance(reply, dict) else reply
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
        "writer": [DRAFT],
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
    run = checklist_lab(tmp_path, graded(*OPEN), graded(*STILL_OPEN, edits=adding()))
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
    assert len(run.calls("writer")) == 1
    # The additions were shown before the check.
    assert ADDED.split("[")[0] in run.of_type("report_revised")[0]["content"]
    assert state.messages[-1].text.startswith(f"# {TITLE}\n\nIt was lit in 1844.")
    assert run.all_used()


async def test_questions_to_ask_next_come_with_the_first_grades_without_a_call_of_their_own(
    tmp_path: Path,
) -> None:
    # Too many, one on what stays open, one too long, and one that is no text.
    given = ["Who built\nthe light?", RANGE, {"question": "Who?"}, "a" * 201, "B?", "C?", "D?"]
    run = checklist_lab(
        tmp_path,
        graded(*OPEN, follow_ups=given),
        graded(*STILL_OPEN, edits=adding(), follow_ups=["Not asked for?"]),
    )
    state = await run.ask_for_report()
    assert state.report and state.report.follow_ups == ("Who built the light?", "B?", "C?")
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
    written = f"{draft}\n\n{note}".strip()
    given = graded(*STILL_OPEN, edits=adding(f"{passage}\n\n{added}".strip()))
    run = checklist_lab(tmp_path, graded(*OPEN), given, writer=[written], verify="off")
    state = await run.ask_for_report()
    first, second = ("[^a]", "[^b]") if note else ("", "[^a]")
    body = DRAFT.replace("1844.", f"1844.{first}")
    new = ADDED.replace("1932.", f"1932.{second if added else ''}")
    assert state.report
    body = body.replace("[1]", f"[1]\n\n{new}")
    assert state.report.text == f"{body}\n\n{expected}"


async def test_facts_already_in_the_findings_are_added_with_the_grades(tmp_path: Path) -> None:
    given = graded((2, "answered", ""), edits=adding(block=2, is_continued=True))
    researcher = [search("Skerry Light", "Ada Moran"), REPORT, f"It was lit in 1844. [1] {ADDED}"]
    run = checklist_lab(tmp_path, given, researcher=researcher)
    state = await run.ask_for_report()
    assert state.report and state.report.text == f"{DRAFT} {ADDED}"
    assert len(state.findings) == 1 and state.run.status == "completed"
    assert [packet["is_researched"] for packet in run.of_type("report_graded")] == [False]
    assert ADDED.split("[")[0] in run.of_type("report_revised")[0]["content"]
    assert run.all_used()


async def test_steps_of_a_typed_plan_research_what_the_draft_leaves_open(tmp_path: Path) -> None:
    grades = [OPEN[:2]]

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
        "grade_report": lambda asked: (
            graded(*grades.pop())
            if grades
            else graded((1, "answered", ""), edits=adding(with_new_number(asked.reminder)))
        ),
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
        ([graded(*ALL_ANSWERED[:2], (3, "not answered", ""))], {}, (CHECKLIST[2],)),
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


@pytest.mark.slow
async def test_a_run_that_is_stopped_within_the_round_goes_on_there(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    broken = [graded(*OPEN), RateLimited("busy"), RateLimited("busy")]
    run = checklist_lab(tmp_path, *broken, graph=build_graph(checkpointer=path))
    with pytest.raises(RateLimited):
        await run.ask()
    given = graded(*STILL_OPEN, edits=adding())
    again = checklist_lab(tmp_path, given, graph=build_graph(checkpointer=path))
    state = await again.ask(None)
    assert state.report and ADDED in state.report.text
    # Nothing that was paid for is done again.
    assert not (again.calls("researcher") or again.calls("orchestrator") or again.calls("writer"))


async def test_an_edited_checklist_is_the_one_that_counts(tmp_path: Path) -> None:
    run = checklist_lab(tmp_path, graded((1, "answered", "")), review_plan=True)
    await run.ask_for_report()
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


TWICE = f"{DRAFT}\n\nThe light was lit in 1844. [1]"
REPEATED = {"kind": "delete", "block": 3}


def gradings(run: Lab) -> list[str]:
    """What the verifier was shown to grade a draft."""
    return [asked.text for asked in run.calls("verifier") if "grade_report" in asked.tools]


async def test_the_draft_is_edited_and_graded_in_one_call_before_the_check(tmp_path: Path) -> None:
    beyond = {"kind": "delete", "block": 9}
    words = {"kind": "replace_words", "block": 2, "words": "Nothing else", "text": "No more"}
    given = graded(*ALL_ANSWERED, edits=[REPEATED, beyond, words], most_words=12)
    run = checklist_lab(tmp_path, given, writer=[f"# The old light\n\n{TWICE}"])
    state = await run.ask_for_report()
    assert state.report and state.report.text == DRAFT.replace("Nothing else", "No more")
    [shown] = gradings(run)
    assert '{"block": 3, "kind": "paragraph", "words": 6, "text": "The light was lit' in shown
    assert "The title of the draft: The old light" in shown and "It has 15 words" in shown
    assert len(run.calls("writer")) == 1
    assert run.types().count("report_revised") == 1
    assert "left out" not in state.messages[-1].text


async def test_edits_most_of_which_cannot_be_made_are_returned_once_and_then_named(
    tmp_path: Path,
) -> None:
    uncited = {"kind": "replace", "block": 1, "text": "The light was lit in 1844."}
    beyond = {"kind": "delete", "block": 9}
    first = graded(*ALL_ANSWERED, edits=[uncited, beyond, REPEATED])
    second = graded(*ALL_ANSWERED, edits=[beyond], title="Lit in 1844")
    run = checklist_lab(tmp_path, first, second, writer=[f"# The old light\n\n{TWICE}"])
    state = await run.ask_for_report()
    assert state.draft and state.draft.title == "Lit in 1844"
    assert state.report and state.report.text == DRAFT
    _, shown = gradings(run)
    assert "it drops [1], but keeps the statement" in shown and '"block": 3' not in shown
    assert "there is no block 9" in shown and "left out" not in state.messages[-1].text


async def test_grades_count_also_if_an_edit_beside_them_is_none(tmp_path: Path) -> None:
    useless = [{"kind": "improve", "block": 1}, "Make it better.", {"kind": "delete"}]
    given = graded(*OPEN[:2], (3, "not answered", ""), edits=[*useless, REPEATED])
    given["grades"][1]["task"] = ""
    run = checklist_lab(tmp_path, given, writer=[TWICE])
    state = await run.ask_for_report()
    assert state.report and state.report.text == DRAFT
    verdicts = [grade.verdict for grade in state.report.grades]
    assert verdicts == ["answered", "not answered", "not answered"]
    assert len(gradings(run)) == 1


@pytest.mark.parametrize("is_graded_then", [True, False])
async def test_a_requirement_without_a_grade_is_asked_for_once_more_and_never_counts_as_answered(
    tmp_path: Path, is_graded_then: bool
) -> None:
    first = graded((1, "answered", ""), (3, "partly", ""))
    second = graded((2, "answered", "")) if is_graded_then else graded((1, "answered", ""))
    run = checklist_lab(tmp_path, first, second)
    state = await run.ask_for_report()
    _, shown = gradings(run)
    assert "no grade to these requirements: 2\n" in shown
    assert state.report and state.draft
    verdicts = [grade.verdict for grade in state.report.grades]
    assert verdicts == ["answered", "answered" if is_graded_then else "not judged", "partly"]
    trust = ReportTrust.of(state.report, ReportNotes(state).gaps())
    assert (trust.answered, trust.points, trust.open) == (1 + is_graded_then, 3, 1)
    said = f"Not judged whether the report answers: {CHECKLIST[1]}"
    assert notes(state).count(said) == (not is_graded_then)
    # What nobody has judged is not researched, and does not count as open.
    assert len(state.findings) == 1
    assert [grade.requirement for grade in state.draft.open_grades] == [CHECKLIST[2]]


@pytest.mark.parametrize("is_mended", [True, False])
async def test_a_draft_that_is_too_long_is_returned_once_and_else_its_length_is_noted(
    tmp_path: Path, is_mended: bool
) -> None:
    first = graded(*ALL_ANSWERED, most_words=6, fewest_words=5, edits=[REPEATED])
    edits = [{"kind": "delete", "block": 2}] if is_mended else []
    run = checklist_lab(tmp_path, first, graded(*ALL_ANSWERED, edits=edits), writer=[TWICE])
    state = await run.ask_for_report()
    _, shown = gradings(run)
    assert "It has 9 words" in shown and "asks for 6 words: take out 3," in shown
    assert ("the request asks for 6" in notes(state)) is not is_mended


async def test_what_research_adds_is_kept_within_the_length(tmp_path: Path) -> None:
    first = graded(*OPEN, edits=[REPEATED], most_words=16)
    second = graded(*STILL_OPEN, edits=adding())
    run = checklist_lab(tmp_path, first, second, writer=[TWICE])
    state = await run.ask_for_report()
    assert state.report and state.report.text == DRAFT.replace("[1]\n\n", f"[1]\n\n{ADDED}\n\n")
    shown = gradings(run)[-1]
    assert "there is room for 7; what you add beyond that has to go elsewhere" in shown
    assert "`most_words`" not in shown
    assert run.types().count("report_revised") == 2

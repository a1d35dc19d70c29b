"""What a run has not found is counted once, and all who show it say the same."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from kit.models import ScriptedChatModel, by_figures, call, calls
from kit.planned import finished, insights, plan, step
from kit.runs import answered, research, search
from langchain_core.language_models import ModelProfile

from deep_research.app._settings import RunName
from deep_research.app.exports._page import report_page
from deep_research.app.exports.finished import finished_report
from deep_research.app.output import end_line, listed_run, run_json, run_page
from deep_research.app.runs import StoredRun
from deep_research.app.server._routes import run_data
from deep_research.state import ResearchState

COST, KEEPER = "What the Skerry Light cost", "Who kept it after 1932"
CHECKLIST = "\n- ".join(["1. The light\n\n## Checklist\n", "When it was lit", "Its keeper"])
LIT = "It was lit in 1844. [1]"
Ask = Callable[[Path], Awaitable[tuple[Any, ResearchState]]]


def declaring(*missing: str) -> list[Any]:
    """An orchestrator that sends out one researcher, and declares this as missing."""
    first = research("When was the Skerry Light lit?")
    return [first, calls(call("generate_report", missing=list(missing)))]


def editor(verdict: str, *answered_gaps: int, **more: Any) -> ScriptedChatModel:
    """A verifier that gives the second requirement this verdict, and judges by figures; `more`:
    other fields of its form."""
    grades = [
        {"number": 1, "verdict": "answered"},
        {"number": 2, "verdict": verdict, "missing": "its keeper"},
    ]
    form = calls(call("grade_report", grades=grades, answered_gaps=list(answered_gaps), **more))
    judge = {"grade_report": [form], "": lambda messages, _: by_figures(messages[-1].text)}
    return ScriptedChatModel(replies=judge, profile=ModelProfile(max_input_tokens=100_000))


async def ask_planned(tmp_path: Path, *answered_gaps: int) -> tuple[Any, ResearchState]:
    rules: Any = {
        "make_plan": lambda asked: {
            **plan(step("Skerry Light"))(asked),
            "requirements": ["Its age"],
        },
        "grade_report": lambda _: {
            "grades": [{"number": 1, "verdict": "answered"}],
            "answered_gaps": [*answered_gaps],
        },
        "record_insights": insights(gaps={COST: 0.4, KEEPER: 0.9}),
    }
    run, state = await finished(tmp_path, rules)
    assert run.asked("grade_report")
    return run, state


def orchestrated(**settings: Any) -> Ask:
    """Ask a run with these scripts and settings."""
    return lambda tmp_path: answered(tmp_path, writer=[LIT], **settings)


RUNS: dict[str, tuple[Ask, list[str]]] = {
    "nothing is missing": (orchestrated(orchestrator=declaring()), []),
    "declared, in its order": (orchestrated(orchestrator=declaring(KEEPER, COST)), [KEEPER, COST]),
    "declared, and only ticks": (
        orchestrated(
            orchestrator=declaring(COST), planner=[CHECKLIST], verifier=editor("answered")
        ),
        [COST],
    ),
    "named by a grade too": (
        orchestrated(
            orchestrator=declaring(KEEPER, COST),
            planner=[CHECKLIST],
            verifier=editor("not answered", 1),
        ),
        ["its keeper", COST],
    ),
    "the last cycle": (
        orchestrated(
            orchestrator=[research("When was the Skerry Light lit?")],
            researcher=[
                search("Skerry Light"),
                calls(call("generate_report", missing=[COST])),
                LIT,
            ],
            limits={"max_cycles": 2},
            verify="off",
        ),
        [COST, "Research ended early: the last of 2 cycles was reached (max_cycles)."],
    ),
    "planned, and only ticks": (ask_planned, [KEEPER, COST]),
    "planned, and one is answered": (lambda tmp_path: ask_planned(tmp_path, 1), [COST]),
}


async def test_a_gap_that_a_researcher_names_more_precisely_is_shown_once_and_closed_with_it(
    tmp_path: Path,
) -> None:
    precise, reworded = f"{KEEPER}, and until when", "What the Skerry Light has cost"
    declared = calls(call("generate_report", missing=[precise, reworded]))
    verifier = editor("answered", 2)
    _, state = await answered(
        tmp_path,
        orchestrator=declaring(KEEPER, COST),
        planner=[CHECKLIST],
        researcher=[search("Skerry Light"), declared, LIT],
        writer=[LIT],
        verifier=verifier,
    )
    asked = next(asked.text for asked in verifier.calls if "grade_report" in asked.tools)
    shown = [{"number": 1, "question": COST}, {"number": 2, "question": precise}]
    assert json.dumps({"knowledge": {"gaps": shown}}) in asked
    assert state.report and state.report.audit and state.report.audit.open_gaps == (COST,)


async def test_a_gap_that_the_report_itself_names_stays_open_and_has_no_note(
    tmp_path: Path,
) -> None:
    run, state = await answered(
        tmp_path,
        orchestrator=declaring(KEEPER, COST),
        planner=[CHECKLIST],
        writer=[f"{LIT}\n\nWhat it cost is not known."],
        verifier=editor("answered", named_gaps=[2]),
    )
    notes = state.messages[-1].text.partition("## Notes")[2]
    assert f"Still open: {KEEPER}" in notes and COST not in notes
    assert state.report and state.report.audit
    assert state.report.audit.open_gaps == (KEEPER, COST)
    assert run.of_type("stop")[-1]["stop_reason"] == "completed_with_gaps"


LIGHT = RunName("light", None)


@pytest.mark.sweep(first=3)
@pytest.mark.parametrize(("ask", "missing"), RUNS.values(), ids=RUNS)
async def test_status_notes_page_list_and_json_count_the_same_gaps(
    tmp_path: Path, ask: Ask, missing: list[str]
) -> None:
    run, state = await ask(tmp_path)
    assert state.report
    assert state.run.status == ("completed_with_gaps" if missing else "completed")
    assert run.of_type("stop")[-1]["stop_reason"] == state.run.status
    notes = state.messages[-1].text.partition("## Notes")[2].splitlines()
    assert all(sum(note.endswith(gap) for note in notes) == 1 for gap in missing)
    strategy = state.run.strategy
    stored = StoredRun("0", "", strategy, state, {}, is_unfinished=False, changed="", failure="")
    parts = {part["name"]: part for part in run_data(stored)["trust"]["parts"]}
    listed_open = parts["open"]["items"] if missing else []
    assert [gap["text"] for gap in listed_open] == missing and ("open" in parts) == bool(missing)
    data = json.loads(run_json(stored))
    assert [gap["question"] for gap in data["gaps"]] == missing
    count = f"{len(missing)} open"
    for line in (end_line(stored), listed_run(stored).line("0"), run_page(stored, LIGHT)):
        assert {*re.findall(r"\d+ open", line)} == ({count} if missing else set())
    if state.report.audit:
        assert list(state.report.audit.gaps) == missing
        listed = report_page(finished_report(stored)).partition('id="gaps"')[2]
        assert listed.partition("</section>")[0].count("<li") == len(missing)

"""Models calculate over numbers that results state; the check accepts what follows from it."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

import lxml.html
import pytest
from docx import Document
from kit.models import ScriptedChatModel, call, calls, judged, units_shown
from kit.planned import Asked, first_sentences, plan, planned_lab, step
from kit.reports import finished
from kit.runs import CLEAR, REPORT, lab, research, search
from langchain_core.language_models import ModelProfile
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from pypdf import PdfReader

from deep_research.app.exports._page import report_page, report_pdf
from deep_research.app.exports._word import report_docx
from deep_research.core.evidence.checking.calculator import Calculator
from deep_research.core.writing.calculating import Analysis, Calculations
from deep_research.core.writing.versions import ThreadVersions, document_of
from deep_research.state import ResearchState

KEPT = "Ada Moran kept the Skerry Light from 1901 to 1932."


LINES = (
    "Years of service: 1932 [1] - 1901 [1] = years",
    "Months of service: [calc 1] in months",
    "Oil burnt: [calc 2] * 60 litres/month (request) = litres",
    "Months of service: [calc 1] * 12 months",
    "Half of it: [calc 1] / 2",
)
DRAFT = """\
Ada Moran kept the light for 31 years [calc 1], or 372 months [calc 2]. [1]

| Service | Oil |
| --- | --: |
| Moran | 22,320 litres [calc 3] |

That is nearly a third of a century."""
QUESTION = "How much oil did Ada Moran burn, at 60 litres a month?"
EDIT = "She only began in 1911. Change it."


def agreeing(messages: list[BaseMessage], _: dict[str, Any]) -> AIMessage:
    """A judge that names the words, and not how a number follows from them."""
    units, _passages = units_shown("\n".join(message.text for message in messages))
    return judged(*[("supported", KEPT)] * len(units))


async def test_a_chain_of_calculations_goes_to_all_exports_and_follows_a_changed_input(
    tmp_path: Path,
) -> None:
    script = [
        search("Ada Moran"),
        calls(call("calculate", calculations=[*LINES])),
        REPORT,
        "She kept it for 31 years [calc 1], from 1901 to 1932. [1]",
    ]
    profile = ModelProfile(max_input_tokens=100_000)
    changed_words = {"kind": "replace", "block": 3, "text": "That is more than two decades."}
    ordered = (
        # The second one cannot be carried out, and is not corrected.
        ["[calc 1] = 1932 [1] -", "[calc 5] = [calc 9] / 2"],
        ["[calc 1] = x + 1911 (request) = 1932 [1]"],
    )
    forms = [calls(call("edit_report", edits=[], calculations=lines)) for lines in ordered]
    forms.append(calls(call("edit_report", edits=[changed_words], done="She began in 1911.")))
    run = lab(
        tmp_path,
        researcher=script,
        writer={"": [DRAFT, DRAFT.partition("\n")[0]], "edit_report": forms},
        clarifier=[CLEAR, calls(call("answer_from_read"))],
        verifier=ScriptedChatModel(replies={"": agreeing}, profile=profile),
        orchestrator=[research(QUESTION), REPORT],
    )
    state = await run.ask(QUESTION)
    results = (
        "[calc 1] Years of service: 1932 - 1901 = 31 years",
        "[calc 2] Months of service: [calc 1] = 372 months",
        "[calc 3] Oil burnt: [calc 2] * 60 litres/month = 22\u202f320 litres",
    )
    for result in results:
        assert result in run.calls("researcher")[2].text
        assert result in run.calls("writer")[0].text
    assert state.report and state.report.text == DRAFT
    shown = [verdict.shown for verdict in state.report.verdicts]
    assert shown.count("supported") == len(shown)
    years, _months, oil = state.report.calculations
    assert {given.words for given in years.inputs} == {KEPT}
    assert [given.origin for given in oil.inputs] == ["calculation", "request"]
    for name, text in shown_everywhere(state).items():
        cited = "31 years calc 1" if name == "html" else "31 years [calc 1]"
        assert cited in text.replace("\xa0", " ")
        assert "Calculations" in text and "1932 - 1901 = 31 years" in text

    edited = await run.ask({"messages": [HumanMessage(EDIT)], "edit": True})
    assert edited.report and edited.report.text == (
        DRAFT.replace("31", "21").replace("372", "252").replace("22,320", "15,120")
    ).replace("That is nearly a third of a century.", "That is more than two decades.")
    assert [calculation.value for calculation in edited.report.calculations] == [21, 252, 15_120]
    corrected, final = run.calls("writer")[-2:]
    assert "[calc 1] = 1932 [1] -: not calculated, since a number is missing" in corrected.text
    assert "Correct by `calculations` what could not be calculated" in corrected.text
    assert "31 years [calc 1], or 372 months [calc 2]" in corrected.text
    assert "21 years [calc 1], or 252 months [calc 2]" in final.text
    assert "[calc 1] Years of service: x + 1911 = 1932; x = 21" in final.text
    assert "Nothing more is calculated" in final.text and "a number is missing" not in final.text
    assert "[calc 5]: not calculated anew, since there is no [calc 9]" in final.text
    assert edited.run.notices == (
        "She began in 1911.",
        "Calculated again: Years of service: 31 years → 21 years; Months of service: 372 months → "
        "252 months; Half of it: 15.5 years → 10.5 years; Oil burnt: 22\u202f320 litres → 15\u202f120 litres.",
        "Calculation 5 could not be made anew: there is no [calc 9].",
    )
    await run.ask("For how long did she keep the light?")
    new = "x + 1911 = 1932; x = 21 years; 1911 (your request), 1932 [1]"
    found = "(calculated anew for the user; the findings still have 31 years)"
    assert f"{new} {found}" in run.calls("writer")[-1].text
    first, second = edited.versions.values()
    assert (first.kind, second.kind) == ("research", "edit")


def shown_everywhere(state: ResearchState) -> dict[str, str]:
    """The report of a run as text, by export format."""
    assert state.report
    report = finished(
        report=state.report,
        cited=state.report.cited(state.sources),
        sources=state.sources,
        contradictions=(),
        notes=(),
    )
    with_pages = PdfReader(BytesIO(report_pdf(report))).pages
    return {
        "md": document_of(ThreadVersions(state).finished(state.report)),
        "html": " ".join(lxml.html.fromstring(report_page(report)).text_content().split()),
        "docx": "\n".join(
            paragraph.text for paragraph in Document(BytesIO(report_docx(report))).paragraphs
        ),
        "pdf": " ".join(" ".join(page.extract_text() for page in with_pages).split()),
    }


async def test_steps_and_analyses_of_a_plan_calculate_and_pay_for_a_call_only_if_they_do(
    tmp_path: Path,
) -> None:
    def facts(asked: Asked) -> dict[str, Any]:
        lines = ["Years of service: 1932 - 1901 = years"]
        return {**first_sentences(asked), "calculations": lines}

    def conclusions(asked: Asked) -> dict[str, Any]:
        if "plain" in asked.task:
            return {"statements": ["Nothing follows."]}
        if "had calculated" not in asked.reminder:
            return {"statements": [], "calculations": ["Months of service: [calc 1] in"]}
        if "not calculated" in asked.reminder and "372" not in asked.reminder:
            return {"statements": [], "calculations": ["Months of service: [calc 1] in months"]}
        assert "[calc 2] Months of service: [calc 1] = 372 months" in asked.reminder
        return {"statements": ["So she served 372 months [calc 2]."]}

    report = "Ada Moran kept it for 31 years [calc 1], or 372 months [calc 2]."
    steps = [
        step("Ada Moran"),
        step("Weigh it", search=False, after=(1,)),
        step("Weigh plain facts", search=False, after=(1,)),
    ]
    rules = {
        "make_plan": plan(*steps),
        "record_learnings": facts,
        "record_analysis": conclusions,
        "report": lambda _: report,
    }
    run = planned_lab(tmp_path, rules, verify="off")
    state = await run.ask(QUESTION)
    assert len(run.asked("record_analysis", "Weigh it")) == 3
    assert len(run.asked("record_analysis", "Weigh plain")) == 1
    [asked] = run.asked("report")
    for line in (
        "[calc 1] Years of service: 1932 - 1901 = 31 years",
        "Months of service: [calc 1]",
    ):
        assert line in asked.reminder
    assert "So she served 372 months [calc 2]." in {
        learning.text for learning in state.learnings.values()
    }
    assert state.report and state.report.text == report
    assert [found.value for found in state.report.calculations] == [31, 372]


async def test_analyses_and_the_writer_have_calculated_what_is_missing(tmp_path: Path) -> None:
    analysis = [
        calls(call("record_analysis", statements=[], calculations=["1932 [1] - 1901 [1]"])),
        calls(call("record_analysis", statements=["She served 31 years [calc 1]. [1]"])),
    ]
    lines = ["Months of service: [calc 1] * 12 months"]
    report = "Ada Moran kept it for 372 months [calc 2]."
    run = lab(
        tmp_path,
        researcher=[search("Ada Moran"), REPORT, f"{KEPT} [1]"],
        orchestrator={
            "": [
                research(QUESTION),
                calls(call("analyze_findings", task="How long?")),
                REPORT,
            ],
            "record_analysis": analysis,
        },
        writer=[
            calls(call("calculate", calculations=["Months of service: [calc 1] *"])),
            calls(call("calculate", calculations=lines)),
            report,
        ],
        verify="off",
    )
    state = await run.ask(QUESTION)
    assert run.all_used()
    first, second, third = run.calls("writer")
    assert "[calc 1] 1932 - 1901 = 31" in first.text
    assert first.tools == second.tools == third.tools == ("calculate",)
    # Providers cache what is the same from the beginning.
    assert second.messages[: len(first.messages)] == first.messages
    assert third.messages[: len(second.messages)] == second.messages
    assert "Months of service: [calc 1] *: not calculated, since" in second.text
    assert "[calc 2] Months of service: [calc 1] * 12 months = 372 months" in third.text
    assert [asked.settings["tool_choice"] for asked in (second, third)] == ["auto", "none"]
    assert state.report and state.report.text == report
    assert [found.number for found in state.report.calculations] == [1, 2]


@pytest.mark.parametrize(
    ("ordered", "asked", "values"),
    [
        # The last answer is carried out as well, but not answered.
        (["1 + 1", "[calc 1] + 1", "[calc 2] + 1", "[calc 3] + 1"], 3, [2, 3, 4]),
        (["1 + 1", "1 + 1", "1 + 2"], 2, [2]),
        (["1 +", "1 + 2", ""], 3, [3]),
    ],
)
async def test_a_model_is_asked_again_at_most_twice_and_only_with_something_new(
    ordered: list[str], asked: int, values: list[float]
) -> None:
    shown = list[tuple[str, bool]]()

    async def calculator() -> Calculator:
        return Calculator({}, "")

    async def fill(*, results: str, is_last: bool) -> Analysis:
        shown.append((results, is_last))
        line = ordered[len(shown) - 1]
        return Analysis(statements=[], calculations=[line] if line else [])

    calculations = Calculations(calculator)
    form = await calculations.ask(fill)
    assert form and len(shown) == asked
    assert [is_last for _, is_last in shown] == [False, False, True][:asked]
    assert [found.value for found in calculations.changed.values()] == values

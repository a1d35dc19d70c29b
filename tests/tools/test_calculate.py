"""Models calculate over numbers that results state; the check accepts what follows from it."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import lxml.html
from docx import Document
from kit.models import ScriptedChatModel, call, calls, judged
from kit.reports import finished
from kit.runs import REPORT, lab, search
from langchain_core.language_models import ModelProfile
from pypdf import PdfReader

from deep_research.app.exports._page import report_page, report_pdf
from deep_research.app.exports._word import report_docx
from deep_research.core.writing.versions import document_of, finished_of
from deep_research.state import ResearchState

KEPT = "Ada Moran kept the Skerry Light from 1901 to 1932."


async def test_a_calculated_number_is_supported_by_its_calculation_alone(tmp_path: Path) -> None:
    script = [
        search("Ada Moran"),
        calls(call("calculate", calculations=["Years of service: 1932 [1] - 1901 [1] = years"])),
        REPORT,
        "She kept it for 31 years [calc 1], from 1901 to 1932. [1]",
    ]
    # The judge names the words, and not how the number follows from them.
    judge = ScriptedChatModel(
        replies={"": lambda *_: judged(("supported", KEPT))},
        profile=ModelProfile(max_input_tokens=100_000),
    )
    writer = ["Ada Moran kept the light for 31 years [calc 1]. [1]"]
    run = lab(tmp_path, researcher=script, writer=writer, verifier=judge)
    state = await run.ask()
    result = "[calc 1] Years of service: 1932 - 1901 = 31 years"
    assert result in run.calls("researcher")[2].text
    assert result in run.calls("writer")[0].text
    assert state.report and [verdict.shown for verdict in state.report.verdicts] == ["supported"]
    [calculation] = state.report.calculations
    assert calculation.is_proved and {given.words for given in calculation.inputs} == {KEPT}
    assert state.report.text == "Ada Moran kept the light for 31 years [calc 1]. [1]"
    assert run.types().count("search_tool_start") == 1
    for name, text in shown_everywhere(state).items():
        cited = "31 years calc 1" if name == "html" else "31 years [calc 1]"
        assert cited in text.replace("\xa0", " ")
        assert "Calculations" in text and "1932 - 1901 = 31 years" in text


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
        "md": document_of(finished_of(state, state.report)),
        "html": " ".join(lxml.html.fromstring(report_page(report)).text_content().split()),
        "docx": "\n".join(
            paragraph.text for paragraph in Document(BytesIO(report_docx(report))).paragraphs
        ),
        "pdf": " ".join(" ".join(page.extract_text() for page in with_pages).split()),
    }

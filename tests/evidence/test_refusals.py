"""The lines of an extractive report that say what was not found are no claims."""

from __future__ import annotations

from pathlib import Path

import pytest
from kit.commands import desk_in
from langchain_core.messages import HumanMessage

from deep_research.core.evidence.checking.units import report_units
from deep_research.core.evidence.citations.labels import labels
from deep_research.core.evidence.citations.rendering import is_refusal, warning_above
from deep_research.core.models.extractive.chat import ExtractiveChatModel
from deep_research.core.models.request import Facts
from deep_research.core.records.report import Report
from deep_research.core.writing.language import named_language

LANGUAGES = ("ar", "de", "en", "es", "fr", "it", "ja", "ko", "nl", "pl", "pt", "ru", "zh")


def refusal(question: str, code: str = "en") -> str:
    """The extractive writer's text for a question on which nothing was found."""
    facts = Facts(request=question, language=named_language(code).name)
    return str(ExtractiveChatModel(role="writer").invoke([HumanMessage(question)], facts=facts).text)


@pytest.mark.parametrize("code", LANGUAGES)
def test_a_refusal_states_no_claim_in_any_language(code: str) -> None:
    text = refusal("When was Hall 7 built?", code)
    assert labels(code).unanswered in text and "Hall 7" in text
    for refused in (text, refusal("The hall was built in 1904. Was it sold in 1910? Who bought it?", code)):
        assert is_refusal(refused)
        assert report_units(refused, {}) == []


@pytest.mark.parametrize(
    "text",
    [
        "The documents do not answer this question. The hall was built in 1904.",
        f"{refusal('Hall 7?')} The hall was built in 1904.",
        f"{refusal('Hall 7?')} The hall was built in 1904 [1]. See also “y”.",
    ],
)
def test_other_statements_beside_a_refusal_are_checked(text: str) -> None:
    assert any("1904" in claim.text for claim in report_units(text, {}))
    assert not is_refusal(text)
    assert warning_above(Report(text=text, sources=()), labels("en"), was_researched=True) == labels("en").no_citation


def test_a_refusal_has_no_marks_or_warnings(tmp_path: Path) -> None:
    desk = desk_in(tmp_path)
    question = "Who carved the oak ceiling of Hall 7 of Brandt, and with which light?"
    ended = desk.call("ask", question, "--docs", str(desk.docs), "--thread", "hall", "--yes")
    heading, refused, *_ = ended.out.split("\n\n")
    assert heading == "## Who carved the oak ceiling of Hall 7 of Brandt?"
    assert ended.code == 0
    assert is_refusal(refused)
    assert "Hall 7 of Brandt" in refused
    assert not any(words in ended.out for words in ("not verified", "cites no source", "Sentences marked"))
    assert "not verified" not in desk.call("audit", "hall").out
    page = desk.call("export", "hall", "--format", "html").out
    assert "Hall 7" in page and "cites no source" not in page

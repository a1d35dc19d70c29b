"""What a report that only quotes says where the documents do not answer is no claim about them."""

from __future__ import annotations

from pathlib import Path

import pytest
from command import desk_in
from langchain_core.messages import HumanMessage

from deep_research.core.evidence.checking.units import units_of
from deep_research.core.evidence.citations.labels import labels
from deep_research.core.evidence.citations.rendering import is_refusal, said_above
from deep_research.core.models.extractive.chat import ExtractiveChatModel
from deep_research.core.models.request import Facts
from deep_research.core.records.report import Report
from deep_research.core.writing.language import named_language

LANGUAGES = ("ar", "de", "en", "es", "fr", "it", "ja", "ko", "nl", "pl", "pt", "ru", "zh")


def refusal(question: str, code: str = "en") -> str:
    """What the writer says of a question on which nothing was found."""
    facts = Facts(request=question, language=named_language(code).name)
    return str(ExtractiveChatModel(role="writer").invoke([HumanMessage(question)], facts=facts).text)


@pytest.mark.parametrize("code", LANGUAGES)
def test_a_refusal_with_figures_claims_nothing_in_any_language(code: str) -> None:
    text = refusal("When was Hall 7 built?", code)
    assert labels(code).unanswered in text and "Hall 7" in text
    assert is_refusal(text)
    assert units_of(text, {}) == []


@pytest.mark.parametrize(
    "question",
    [
        "The hall was built in 1904. Was it sold in 1910? Who bought it?",
        "Which granite tower guarded the passing ships of the western coast?",
    ],
)
def test_a_refusal_of_several_sentences_claims_nothing_as_a_whole(question: str) -> None:
    text = refusal(question)
    assert is_refusal(text)
    assert units_of(text, {}) == []


@pytest.mark.parametrize(
    "text",
    [
        "The documents do not answer this question. The hall was built in 1904.",
        f"{refusal('Hall 7?')} The hall was built in 1904.",
        f"{refusal('Hall 7?')} The hall was built in 1904 [1]. See also “y”.",
    ],
)
def test_what_else_is_said_beside_a_refusal_is_checked(text: str) -> None:
    assert any("1904" in claim.text for claim in units_of(text, {}))
    assert not is_refusal(text)
    assert said_above(Report(text=text, sources=()), labels("en"), was_researched=True) == labels("en").no_citation


def test_a_refusal_stands_alone_and_without_marks(tmp_path: Path) -> None:
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

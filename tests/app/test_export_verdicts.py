"""What an exported page says of how well a sentence is supported, and by whose word."""

from __future__ import annotations

import pytest
from exported import QUOTE, REPORT, claim, finished, passage
from shown_page import tree, words

from deep_research.core.evidence.citations.labels import all_labels, labels
from deep_research.core.evidence.citations.rendering import with_marks
from deep_research.core.records.report import Report


@pytest.mark.parametrize("language", all_labels())
@pytest.mark.parametrize("judge", ["openai:judge-1", ""])
def test_a_verdict_bears_the_name_of_the_model_that_gave_it(language: str, judge: str) -> None:
    checked = claim("Some 4,000 ships passed in 1905.", "supported", passage(1, "supported", QUOTE, judge=judge))
    page = tree(finished(language_code=language, report=REPORT.model_copy(update={"claims": (checked,)})))
    said = labels(language)
    expected = f"{said.supported} {said.judge} {judge}" if judge else said.supported
    assert words(page.find(".//tr[@id='evidence-0']/td[2]")) == expected
    assert words(page.find(".//aside[@id='quote-0']/p[2]")) == expected


@pytest.mark.parametrize("language", ["en", "de", "zh"])
def test_a_sentence_that_is_not_verified_says_so_once(language: str) -> None:
    text = "It was lit in 1844. [1] It burned."
    checked = claim("It was lit in 1844. [1]", "unsupported", text=text)
    text, claims = with_marks(text, [checked], labels(language))
    page = tree(finished(language_code=language, report=Report(text=text, sources=REPORT.sources, claims=claims)))
    assert words(page.find(".//article")).count(labels(language).not_verified) == 1
    assert claims[0].is_marked

"""What an exported page says of how well a sentence is supported, and by whose word."""

from __future__ import annotations

import pytest
from exported import AUDIT, CLAIMS, QUOTE, REPORT, claim, finished, passage
from shown_page import at, tree, words

from deep_research.core.evidence.citations.labels import all_labels, labels
from deep_research.core.evidence.citations.rendering import with_marks
from deep_research.core.records.report import Audit, ClaimCheck, Report


@pytest.mark.parametrize("language", all_labels())
@pytest.mark.parametrize("judge", ["openai:judge-1", ""])
def test_a_verdict_bears_the_name_of_the_model_that_gave_it(language: str, judge: str) -> None:
    checked = claim("Some 4,000 ships passed in 1905.", "supported", passage(1, "supported", QUOTE, judge=judge))
    page = tree(finished(language_code=language, report=REPORT.model_copy(update={"claims": (checked,)})))
    said = labels(language)
    told = f"{said.supported} {said.judge} {judge}" if judge else said.supported
    assert words(page.find(".//tr[@id='evidence-0']/td[2]")) == told
    assert words(page.find(".//aside[@id='quote-0']/p[2]")) == told


@pytest.mark.parametrize("language", ["en", "de", "zh"])
def test_a_sentence_that_is_not_verified_says_so_once(language: str) -> None:
    text = "It was lit in 1844. [1] It burned."
    checked = claim("It was lit in 1844. [1]", "unsupported", text=text)
    text, claims = with_marks(text, [checked], labels(language))
    page = tree(finished(language_code=language, report=Report(text=text, sources=REPORT.sources, claims=claims)))
    assert words(page.find(".//article")).count(labels(language).not_verified) == 1
    assert claims[0].is_marked


@pytest.mark.fault(44)
def test_a_verdict_that_there_is_no_more_is_read_as_the_one_that_took_its_place() -> None:
    told = CLAIMS[1].model_dump(mode="json")
    told["verdict"] = told["passages"][1]["verdict"] = "partly"
    earlier = ClaimCheck.model_validate(told)
    assert (earlier.verdict, earlier.passages[1].verdict) == ("unchecked", "unchecked")
    figures = AUDIT.model_dump(mode="json")
    counts = {name: figures.pop(name) for name in ("checked", "corrected", "not_verified", "reasoning")}
    earlier_counts = {"sentences": 7, "cited": 4, "unchecked": 1, "unsupported": 1, "uncited": 1, "repaired": 1}
    assert counts == {"checked": 7, "corrected": 1, "not_verified": 1, "reasoning": 2}
    read = Audit.model_validate({**figures, **earlier_counts})
    assert read == AUDIT.model_copy(update={"checked": 5, "reasoning": 0})
    page = tree(finished(report=REPORT.model_copy(update={"claims": (earlier,)})))
    assert at(page, "//tr[@id='evidence-0']/td[2]") == ["not checked by a model"]

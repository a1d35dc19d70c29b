"""The page of a report contains only allowed markup, whatever the report's fields contain."""

from __future__ import annotations

import lxml.html
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.reports import (
    HARM,
    QUESTION,
    REPORT,
    claim_on,
    faults,
    finished,
    harmful,
    passage,
    written,
)

from deep_research.app.exports._page import report_page
from deep_research.app.exports._word import report_docx
from deep_research.app.exports.finished import Finished
from deep_research.core.records.report import Report

SIGNS = ["[1]", "**", "`", "<", '"', "'", "&", "]]>", "⁅b0⁆"]
PIECES = st.sampled_from(
    [*HARM[:12], *SIGNS, "[2, 3]", "\n", "\n\n", "# ", "- ", "> ", "| ", "1. "]
)
WORDS = st.one_of(
    st.text(max_size=40), st.lists(PIECES | st.text(max_size=5), max_size=12).map("".join)
)


def article(page: Finished) -> lxml.html.HtmlElement:
    """The report's own text on its page."""
    (found,) = lxml.html.document_fromstring(report_page(page)).iter("article")
    return found


@pytest.mark.sweep(first=4)
@pytest.mark.parametrize(
    "words", HARM, ids=lambda words: words[:20].encode("ascii", "replace").decode()
)
def test_hostile_fields_leave_the_page_safe_and_the_document_readable(
    words: str,
) -> None:
    for is_on_paper in (False, True):
        assert list(faults(report_page(harmful(words), is_on_paper=is_on_paper))) == []
    assert report_docx(harmful(words)).startswith(b"PK")


@pytest.mark.fault("R16")
@given(WORDS)
def test_no_text_injects_markup_into_a_page(words: str) -> None:
    assert list(faults(report_page(harmful(words)))) == []


@given(WORDS, st.data())
def test_sentences_may_begin_and_end_anywhere(words: str, data: st.DataObject) -> None:
    bounds = data.draw(st.lists(st.integers(0, len(words)), min_size=2, max_size=6).map(sorted))
    claim = claim_on("", "unchecked", passage(1, "unchecked", words), text="")
    pairs = zip(bounds[::2], bounds[1::2], strict=False)
    claims = tuple(claim.model_copy(update={"start": start, "end": end}) for start, end in pairs)
    page = finished(
        report=Report(text=words, sources=REPORT.sources, numbers=REPORT.numbers, claims=claims)
    )
    assert list(faults(report_page(page))) == []
    assert not {"⁅", "⁆"} & set(article(page).text_content()), (
        "marks for sentences and citations never show"
    )


@pytest.mark.fault("R15", "R16")
def test_a_text_has_no_links_but_its_citations() -> None:
    text = "[one](https://lights.example/skerry) [two](https://lights.example/?q=secret) <https://evil.example/> [1]"
    body = article(written(text))
    assert [(link.text_content(), link.get("href")) for link in body.iter("a")] == [
        ("1", "#source-1")
    ]
    assert body.text_content().split() == ["one", "two", "<https://evil.example/>", "1"]


@pytest.mark.fault(51)
def test_characters_that_change_the_direction_of_text_are_removed() -> None:
    page = report_page(
        finished(
            question=f"{QUESTION}\u202e\x1b",
            report=Report(text="a\u202eb &#x202e;c", sources=(), numbers=()),
        )
    )
    assert not {"\u202e", "\x1b"} & set(page)

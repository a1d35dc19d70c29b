"""Links to the very words of a page."""

from __future__ import annotations

from urllib.parse import unquote, urlsplit

import pytest
from exported import SOURCES
from hypothesis import given
from hypothesis import strategies as st

from deep_research.core.evidence.citations.rendering import WHOLE, link_to

WEB, DOCUMENT, ANCHORED = SOURCES


def directive(quote: str) -> str:
    """What stands behind `:~:text=` in the link to a quote."""
    return link_to(WEB, quote).partition("#:~:text=")[2]


@pytest.mark.parametrize(
    ("quote", "expected"),
    [
        ("Lit in 1844.", "Lit%20in%201844."),
        ("well-kept, & dry", "well%2Dkept%2C%20%26%20dry"),
        ("## A heading", "A%20heading"),
        ("a | much longer cell | b", "much%20longer%20cell"),
        ("one " * 15 + "two " * 15, "one%20one%20one%20one%20one,two%20two%20two%20two%20two"),
        ("灯塔" * 40, ",".join(2 * [6 * "%E7%81%AF%E5%A1%94"])),
    ],
)
def test_a_quote_is_named_by_its_words(quote: str, expected: str) -> None:
    assert directive(quote) == expected


def test_a_quote_is_found_on_a_page_that_has_a_place_of_its_own() -> None:
    assert link_to(ANCHORED, "Power.") == "https://www.coast.example/a?b=1&c=2#power:~:text=Power."


def test_without_a_quote_the_link_leads_to_the_page() -> None:
    assert link_to(WEB) == "https://lights.example/skerry"


def test_a_document_and_a_pdf_without_known_pages_are_opened_at_their_beginning() -> None:
    assert link_to(DOCUMENT, "Granite.") == "file:///docs/the%20keeper.md"
    paper = WEB.model_copy(update={"location": "https://lights.example/paper.PDF?x=1"})
    assert link_to(paper, "Granite.") == "https://lights.example/paper.PDF?x=1"


def test_a_document_with_pages_is_opened_at_the_page() -> None:
    assert link_to(DOCUMENT, "Granite.", 7) == "file:///docs/the%20keeper.md#page=7"
    paper = WEB.model_copy(update={"location": "https://lights.example/paper?x=1#top"})
    assert link_to(paper, "Granite.", 1) == "https://lights.example/paper?x=1#page=1"
    assert link_to(WEB.model_copy(update={"location": "javascript:alert(1)"}), "x", 3) == ""


@pytest.mark.parametrize(
    "location", ["javascript:alert(1)", "//evil.example/", "data:text/html,x", "", "file:///etc/x"]
)
def test_a_page_that_is_not_on_the_web_has_no_link(location: str) -> None:
    assert link_to(WEB.model_copy(update={"location": location}), "x") == ""


@given(st.text())
def test_a_link_keeps_its_form_whatever_is_quoted(quote: str) -> None:
    link = link_to(WEB, quote)
    parts = urlsplit(link)
    assert link.isascii() and not set(link) & set("\"'<>\\^`{|} ")
    assert (parts.scheme, parts.netloc, parts.path, parts.query) == ("https", "lights.example", "/skerry", "")


@given(st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=WHOLE))
def test_a_short_quote_is_told_in_full(quote: str) -> None:
    assert unquote(directive(quote)) == quote

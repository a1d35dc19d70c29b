"""Links to the quoted words of a page."""

from __future__ import annotations

from urllib.parse import unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.reports import SOURCES

from deep_research.core.evidence.citations.rendering import WHOLE, link_to

WEB, DOCUMENT, ANCHORED = SOURCES


def directive(quote: str) -> str:
    """The text directive in the link to a quote."""
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
def test_a_quote_is_encoded_by_its_words(quote: str, expected: str) -> None:
    assert directive(quote) == expected


def test_a_link_leads_to_the_page_or_to_its_anchor_and_quote() -> None:
    assert link_to(WEB) == "https://lights.example/skerry"
    assert link_to(ANCHORED, "Power.") == "https://www.coast.example/a?b=1&c=2#power:~:text=Power."


def test_a_document_is_opened_at_the_page_if_that_is_known() -> None:
    assert link_to(DOCUMENT, "Granite.") == "file:///docs/the%20keeper.md"
    assert link_to(DOCUMENT, "Granite.", 7) == "file:///docs/the%20keeper.md#page=7"
    pdf, paper = (
        WEB.model_copy(update={"location": f"https://lights.example/{path}"}) for path in ("a.PDF?x=1", "b?x=1#top")
    )
    assert link_to(pdf, "Granite.") == "https://lights.example/a.PDF?x=1"
    assert link_to(paper, "Granite.", 1) == "https://lights.example/b?x=1#page=1"


@pytest.mark.parametrize(
    "location", ["javascript:alert(1)", "//evil.example/", "data:text/html,x", "", "file:///etc/x"]
)
def test_an_address_outside_the_web_has_no_link(location: str) -> None:
    assert link_to(WEB.model_copy(update={"location": location}), "x") == ""
    assert link_to(WEB.model_copy(update={"location": location}), "x", 3) == ""


@given(st.text())
def test_a_link_keeps_its_form_whatever_is_quoted(quote: str) -> None:
    link = link_to(WEB, quote)
    parts = urlsplit(link)
    assert link.isascii() and not set(link) & set("\"'<>\\^`{|} ")
    assert (parts.scheme, parts.netloc, parts.path, parts.query) == ("https", "lights.example", "/skerry", "")


@given(st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=WHOLE))
def test_a_short_quote_is_linked_in_full(quote: str) -> None:
    assert unquote(directive(quote)) == quote

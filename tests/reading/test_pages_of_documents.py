"""The page number of a quote, from the file to the exported report."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.commands import Desk, desk_in
from kit.runs import QUESTION
from kit.web import pdf_of
from pypdf import PdfReader, PdfWriter

from deep_research.core.evidence.text.sentences import PAGE_END, page_of
from deep_research.core.reading.documents.worker import parse

PAGES = (
    "The board of trade met in Tralee, and paid for the granite.",
    "",
    "The Skerry Light was lit in 1844. It stands 38 metres tall.",
    "Ada Moran kept the Skerry Light from 1901 to 1932.",
)


def book_of(pages: Sequence[str]) -> bytes:
    """A PDF with a page for each text; a page may be empty."""
    writer, written = PdfWriter(), io.BytesIO()
    for page in pages:
        writer.append(PdfReader(io.BytesIO(pdf_of(page))))
    writer.write(written)
    return written.getvalue()


@pytest.mark.parametrize("pages", [PAGES, PAGES[1:], PAGES[:3], ("", *PAGES[1:])])
def test_each_page_of_a_book_knows_its_number(pages: Sequence[str]) -> None:
    text = parse(book_of(pages), "book.pdf").text
    for number, page in enumerate(pages, 1):
        if page:
            assert page_of(text, text.index(page)) == number
            assert page_of(text, text.index(page) + len(page) - 1) == number


def test_texts_with_a_single_page_or_none_have_no_page_numbers() -> None:
    assert page_of(parse(pdf_of(PAGES[0]), "a.pdf").text, 5) == 0
    for name in ("a.txt", "a.md", "a.html"):
        text = parse(b"<p>One page.\f\n\nAnother\x0cpage.</p>", name).text
        assert PAGE_END not in text


@given(st.lists(st.text(alphabet="ab \n", min_size=1).map(str.strip), min_size=2))
def test_pages_are_counted_by_their_separators(pages: list[str]) -> None:
    text, offset = PAGE_END.join(pages), 0
    for number, page in enumerate(pages, 1):
        assert page_of(text, offset) == number
        offset += len(page) + len(PAGE_END)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """A desk with one book, and the finished run `light` about it."""
    desk = desk_in(tmp_path_factory.mktemp("library"))
    folder = desk.folder / "books"
    folder.mkdir()
    (folder / "light.pdf").write_bytes(book_of(PAGES))
    assert desk.call("ask", QUESTION, "--docs", str(folder), "--thread", "light").code == 0
    return desk


def test_a_quote_of_a_book_is_opened_at_its_page(library: Desk) -> None:
    run = json.loads(library.call("export", "light", "--format", "json").out)
    pages = {passage["quote"]: passage["page"] for claim in run["claims"] for passage in claim["passages"]}
    assert pages["The Skerry Light was lit in 1844."] == 3
    html = library.call("export", "light", "--format", "html").out
    assert "books/light.pdf#page=3" in html
    assert ", page 3" in html
    assert PAGE_END not in html

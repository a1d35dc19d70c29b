"""Footnotes of a report in each format."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import docx
import pytest
from kit.reports import BOTH, at, faults, tree, words, written
from kit.runs import report_of
from pypdf import PdfReader

from deep_research.app.exports._page import report_page, report_pdf
from deep_research.app.exports._word import report_docx
from deep_research.core.evidence.citations.foreign import read_foreign
from deep_research.core.reading.documents.records import readable_suffixes

TEXT = "Gas grew by 5 %.[^a] Oil fell. [1]\n\n| Fuel[^b] | 2024 |\n|---|---|\n| Gas | 5 |\n"
NOTES = ["Provisional figures.", "Without lignite [2]."]
REPORT = written(f"{TEXT}\n\\[^a]: {NOTES[0]}\n\n\\[^b]: {NOTES[1]}")


def test_a_page_links_a_raised_letter_to_the_text_of_the_footnote() -> None:
    page = tree(REPORT)
    assert at(page, "//a[@class='note']") == ["a", "b"]
    for letter, note in zip("ab", ["a Provisional figures.", "b Without lignite 2."], strict=True):
        [link] = page.xpath(f"//a[@href='#note-{letter}']")
        assert words(link) == letter
        [paragraph] = page.xpath("//*[@id=$id]", id=f"note-{letter}")
        assert words(paragraph) == note
    assert "[^" not in words(page)
    assert not list(faults(report_page(REPORT)))


def test_a_word_document_raises_the_letter_and_links_it_to_the_text() -> None:
    document = docx.Document(BytesIO(report_docx(REPORT)))
    links = document.element.xpath("//w:hyperlink[starts-with(@w:anchor, 'note_')]")
    assert [link.xpath("string(.)") for link in links] == ["a", "b"]
    assert all(link.xpath(".//w:vertAlign[@w:val='superscript']") for link in links)
    marked = document.element.xpath("//w:bookmarkStart[starts-with(@w:name, 'note_')]")
    noted = [mark.getparent().xpath("string(.)") for mark in marked]
    assert [" ".join(text.split()) for text in noted] == [
        "a Provisional figures.",
        "b Without lignite [2].",
    ]


@pytest.mark.slow
def test_a_pdf_has_the_text_of_the_footnote_and_a_link_to_it() -> None:
    pytest.importorskip("weasyprint")
    reader = PdfReader(BytesIO(report_pdf(REPORT)))
    text = " ".join(" ".join(page.extract_text() for page in reader.pages).split())
    assert "Provisional figures." in text
    assert "Without lignite" in text
    assert {"note-a", "note-b"} <= reader.named_destinations.keys()


@pytest.mark.sweep
@pytest.mark.parametrize("label", ["1", "2", "x", "note"])
async def test_a_report_in_markdown_and_on_a_terminal_keeps_the_footnote(
    tmp_path: Path, label: str
) -> None:
    note = "Counted from the first of May."
    text = f"It was lit in 1844.[^{label}] Ada Moran kept it. [2]\n\n[^{label}]: {note}"
    _, state = await report_of(tmp_path, writer=[text], researcher=BOTH, verify="off")
    assert state.report
    assert state.report.text.startswith("It was lit in 1844.[^a] Ada Moran kept it. [2]")
    assert state.report.numbers == (2,)
    assert f"\\[^a]: {note}" in state.messages[-1].text


WEB = "https://lights.example/skerry"


@pytest.mark.parametrize(
    ("text", "expected", "targets"),
    [
        (
            f"Lit.[^1] White.[^2]\n\n[^1]: The light, {WEB}\n[^2]: Provisional.",
            "Lit.[1] White.[^a]\n\n\\[^a]: Provisional.",
            {1: ("The light", WEB)},
        ),
        (
            "Lit.[^sk] Tall.[^b]\n\n## Notes\n\n[^sk]: The light, skerry.md\n[^b]: Keeper, keeper.md",
            "Lit.[1] Tall.[2]",
            {1: ("The light, skerry.md", "skerry.md"), 2: ("Keeper, keeper.md", "keeper.md")},
        ),
        (
            f"Lit [1]. White.[^1]\n\n## Sources\n\n1. The light, {WEB}\n\n[^1]: Since May.",
            "Lit [1]. White.[^a]\n\n\\[^a]: Since May.",
            {1: ("The light", WEB)},
        ),
        (
            f"Lit [1]. White.[^1]\n\n## Sources\n\n1. Keeper, keeper.md\n\n[^1]: The light, {WEB}",
            "Lit [1]. White.[2]",
            {1: ("Keeper, keeper.md", "keeper.md"), 2: ("The light", WEB)},
        ),
    ],
)
def test_a_footnote_of_a_foreign_report_is_a_citation_only_if_it_names_a_source(
    text: str, expected: str, targets: dict[int, tuple[str, str]]
) -> None:
    found = read_foreign(text, readable_suffixes())
    assert found.text == expected
    named = {number: (target.title, target.address) for number, target in found.targets.items()}
    assert named == targets

"""How much of the check an export shows, and in which words."""

from __future__ import annotations

from io import BytesIO

import docx
import lxml.html
import pytest
from command import Desk
from exported import AUDIT, QUOTE, REPORT, SOURCES, claim, finished, passage
from shown_page import at, tree, words

from deep_research.app.exports.page import report_page
from deep_research.app.exports.word import report_docx
from deep_research.core.evidence.citations.labels import labels
from deep_research.core.evidence.citations.rendering import with_marks
from deep_research.core.records.report import Report

TABLE = """## Debt

| Year | Debt | `Cash` |
|---|---:|---:|
| 2024 | 20.7 [1] | **3.4** [1] |
| 2025 | 21.3 [1] | 4.2 |
"""


def test_in_short_an_export_lists_what_was_corrected_marked_or_not_verified() -> None:
    page = lxml.html.document_fromstring(report_page(finished(), "short", is_on_paper=True))
    assert not page.xpath("//*[@id='evidence'] | //*[contains(@class, 'legend')]") and QUOTE not in words(page)
    assert at(page, "//section[@aria-labelledby='audit']/h3") == [
        "Statements corrected",
        "Statements marked as not verified",
        "Statements not verified",
    ]
    assert at(page, "//ul[@class='remarks']/li") == [
        "It stands 38 metres tall, on granite.",
        "It was electrified in 1937. “Power Light · Electric Skerry · 1973” 3",
        "Some 4,000 ships passed in 1905.",
    ]
    assert {one.get("href") for one in page.xpath("//a[@class='cite']")} == {f"#source-{n}" for n in (1, 2, 3)}
    (figures,) = at(page, "//section[@aria-labelledby='audit']/p")
    assert figures.startswith(f"Statements checked: {AUDIT.checked} · Supported: {AUDIT.supported} · ")
    assert "Tokens" not in words(page) and "Judged by openai:judge-1" in words(page)


def test_a_document_for_word_shows_as_much_as_is_wanted() -> None:
    texts = {}
    for evidence in ("none", "short", "full"):
        document = docx.Document(BytesIO(report_docx(finished(), evidence)))
        tables = [cell.text for table in document.tables for row in table.rows for cell in row.cells]
        texts[evidence] = "\n".join([*(paragraph.text for paragraph in document.paragraphs), *tables])
    assert QUOTE in texts["full"] and QUOTE not in texts["short"] + texts["none"]
    assert "Statements corrected" in texts["short"] and "Audit" not in texts["none"]
    assert all("It was electrified in 1937." in text for text in texts.values())


def test_a_long_list_says_how_many_more_there_are() -> None:
    verdicts = tuple(REPORT.verdicts[-3].model_copy(update={"text": f"Ship {n} passed."}) for n in range(20))
    page = report_page(finished(report=REPORT.model_copy(update={"verdicts": verdicts})), "short")
    listed = at(lxml.html.document_fromstring(page), "//ul[@class='remarks']/li")
    assert (listed[0], listed[-1], len(listed)) == ("It stands 38 metres tall, on granite.", "… + 5", 17)


def test_cells_are_named_by_row_and_column_and_nothing_is_raw_markdown() -> None:
    quote = "## Accounts\n\n| Year | **Debt** |\n|:---|---:|\n| 2025 | `21.3` |\n\n- a **half sen"
    checked = [
        claim("20.7 [1]", "supported", passage(1, "supported", quote), text=TABLE),
        claim(
            "**3.4** [1]",
            "unsupported",
            passage(1, "unsupported", "", reasons=("the source says: **3.1** |",)),
            text=TABLE,
        ),
        claim("21.3 [1]", "supported", passage(1, "supported", quote), text=TABLE),
    ]
    text, claims = with_marks(TABLE, checked, labels("en"))
    page = tree(finished(report=Report(text=text, sources=REPORT.sources, claims=claims), cited=SOURCES))
    assert at(page, "//tr[starts-with(@id, 'evidence-')]/td[1]") == [
        "2024, Debt: 20.7",
        "2024, Cash: 3.4",
        "2025, Debt: 21.3",
    ]
    assert at(page, "//tr[@id='evidence-0']//blockquote") == ["Accounts Year · Debt 2025 · 21.3 a half sen"]
    assert "the source says: 3.1" in at(page, "//tr[@id='evidence-1']/td[3]")[0]


@pytest.mark.parametrize("name", ["report.html", "report.docx"])
def test_the_command_takes_how_much_is_shown(library: Desk, name: str) -> None:
    file = library.folder / name
    sizes = []
    for evidence in ("none", "short", "full"):
        assert library.call("export", "light", "--out", str(file), "--evidence", evidence).code == 0
        sizes.append(len(file.read_bytes()))
    assert sizes == sorted(set(sizes))

"""A report as a Word document, as a reader of such documents finds it."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import docx
import pytest
from exported import QUESTION, QUOTE, UNCHECKED, finished, written

from deep_research.app.exports.finished import Finished
from deep_research.app.exports.word import report_docx


def document(report: Finished) -> Any:
    return docx.Document(BytesIO(report_docx(report, "full")))


def headings(found: Any) -> list[tuple[str, str]]:
    return [(p.style.name, p.text) for p in found.paragraphs if p.style.name.startswith(("Heading", "Title"))]


def cells(table: Any) -> list[list[str]]:
    return [[cell.text for cell in row.cells] for row in table.rows]


def test_the_document_has_an_outline() -> None:
    found = document(finished(title="The light of Skerry"))
    assert headings(found) == [
        ("Title", "The light of Skerry"),
        ("Heading 1", "The Skerry Light"),
        ("Heading 2", "Keepers"),
        ("Heading 1", "Contradictions"),
        ("Heading 1", "What remains open"),
        ("Heading 1", "Notes"),
        ("Heading 1", "Sources"),
        ("Heading 1", "Evidence"),
        ("Heading 1", "What could not be read"),
        ("Heading 1", "Audit"),
    ]
    assert found.core_properties.title == "The light of Skerry"
    assert [p.text for p in found.paragraphs if p.style.name == "Subtitle"] == [QUESTION]
    assert found.sections[0].footer._element.xpath(".//w:fldSimple/@w:instr") == ["PAGE", "NUMPAGES"]
    assert {table.style.name for table in found.tables} == {"Report Table"}


def test_a_long_report_begins_with_its_contents() -> None:
    titles = ["Summary", "Light", "Keepers", "Harbour", "Tides", "Costs", "Conclusion"]
    long = document(written("\n\n".join(f"## {title}\n\nWords." for title in titles)))
    contents = [p for p in long.paragraphs if p.style.name.startswith("toc ")]
    assert [p.text for p in contents][: len(titles)] == titles
    assert contents[0]._p.xpath(".//w:instrText")[0].text.startswith(" TOC ")
    assert len(contents[0]._p.xpath(".//w:hyperlink[@w:anchor='section_1']")) == 1
    short = document(written("## Summary\n\nWords."))
    assert not [p for p in short.paragraphs if p.style.name.startswith("toc ")]


def test_lists_and_emphasis_are_real_ones() -> None:
    found = document(written("- one\n- two\n\n1. a\n2. b\n\nThen **bold** and *leaning*, `code`.\n\n5. e\n\n> Said."))
    styles = {p.text: p.style.name for p in found.paragraphs}
    assert (styles["one"], styles["b"], styles["Said."]) == ("List Bullet", "List Number", "Quote")
    (mixed,) = [p for p in found.paragraphs if p.text.startswith("Then")]
    formats = {run.text: (run.bold, run.italic, run.font.name) for run in mixed.runs}
    assert formats["bold"] == (True, None, None)
    assert formats["leaning"] == (None, True, None)
    assert formats["code"] == (None, None, "Consolas")


def test_lines_of_a_paragraph_are_joined_and_those_of_code_are_kept() -> None:
    found = document(written("One\n**two**\nthree\n\n```\na\n  b\n```"))
    texts = [p.text for p in found.paragraphs]
    assert "One two three" in texts and "a\n  b" in texts


def test_each_numbered_list_begins_with_its_own_number() -> None:
    found = document(written("1. a\n2. b\n\nThen.\n\n5. e\n6. f"))
    numbering = found.part.numbering_part.element
    starts = {}
    for paragraph in found.paragraphs:
        if paragraph.style.name == "List Number":
            number = numbering.num_having_numId(paragraph._p.pPr.numPr.numId.val)
            starts[paragraph.text] = int(number.xpath("./w:lvlOverride/w:startOverride/@w:val")[0])
    assert starts == {"a": 1, "b": 1, "e": 5, "f": 5}


def test_a_list_within_a_list_stands_below_its_item() -> None:
    found = document(written("- one\n  - inner\n    1. deep\n- two"))
    styles = [(p.text, p.style.name) for p in found.paragraphs if p.style.name.startswith("List")][:4]
    assert styles == [
        ("one", "List Bullet"),
        ("inner", "List Bullet 2"),
        ("deep", "List Number 3"),
        ("two", "List Bullet"),
    ]


def test_the_evidence_stands_in_a_table_whose_head_is_repeated() -> None:
    found = document(finished())
    skerry, contradictions, evidence, not_read = found.tables
    assert cells(skerry) == [["Light", "Height"], ["Skerry", "38 m\u00a0[1]"]]
    assert cells(evidence)[0] == ["Sentence", "Verdict", "Quote"]
    assert cells(evidence)[1] == [
        "The Skerry Light was lit in 1844.",
        "supported",
        f"{QUOTE}\n[1] Skerry Light – Register",
    ]
    assert "no word of '38'" in cells(evidence)[3][2]
    assert cells(evidence)[5][1] == "not supported Judged by openai:judge-1"
    assert evidence.rows[0]._tr.xpath("./w:trPr/w:tblHeader")
    assert cells(contradictions)[1][2] == "Skerry Light – Register"
    assert cells(not_read)[1] == ["https://closed.example/", "the server asks for a password"]
    assert any(paragraph.text.startswith("Statements checked: 7 · ") for paragraph in found.paragraphs)


@pytest.mark.parametrize(
    ("report", "expected"),
    [
        (finished(), ["evidence_0", "evidence_1", "evidence_2", "evidence_4", "evidence_5", "source_1", "source_3"]),
        (finished(report=UNCHECKED), ["source_1", "source_1", "source_2", "source_3", "source_1"]),
    ],
    ids=["checked", "unchecked"],
)
def test_citations_lead_to_places_in_the_document(report: Finished, expected: list[str]) -> None:
    body = document(report).element.body
    anchors = body.xpath(".//w:hyperlink/@w:anchor")
    assert [one for one in anchors if one.startswith(("evidence_", "source_"))] == expected
    assert set(anchors) <= set(body.xpath(".//w:bookmarkStart/@w:name"))


def test_sources_can_be_opened_at_the_quote() -> None:
    found = document(finished())
    targets = [rel.target_ref for rel in found.part.rels.values() if rel.is_external]
    assert "file:///docs/the%20keeper.md" in targets
    assert any(target.startswith("https://lights.example/skerry#:~:text=First") for target in targets)


def test_verdicts_can_be_told_by_the_kind_of_line() -> None:
    runs = [run for p in document(finished()).paragraphs for run in p.runs if run.underline]
    assert {(run.text, run.underline.name) for run in runs} >= {
        ("It was electrified in 1937.", "WAVY"),
    }


@pytest.mark.parametrize(("language", "is_rtl"), [("en", False), ("ar", True)])
def test_text_runs_as_its_language_does(language: str, is_rtl: bool) -> None:
    normal = document(finished(language_code=language)).styles["Normal"].element
    assert bool(normal.xpath("./w:pPr/w:bidi")) == is_rtl
    assert normal.xpath("./w:rPr/w:lang/@w:val") == [language]

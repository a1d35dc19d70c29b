"""A report as a Word document, and its charts."""

from __future__ import annotations

import sys
from io import BytesIO
from typing import Any

import docx
import lxml.html
import pytest
from docx.enum.text import WD_ALIGN_PARAGRAPH
from kit.reports import QUESTION, QUOTE, UNCHECKED, at, faults, finished, tree, words, written

from deep_research.app.exports._page import report_page
from deep_research.app.exports._series import series_of
from deep_research.app.exports._word import report_docx
from deep_research.app.exports.finished import Finished

DEBT = """## Debt and cash

| Year | Debt (million euros) | Cash (million euros) | Source |
|---|---:|---:|---|
| 2024 | 1,021.3 | 4.2 | [1] |
| 2023 | 920.7 | – | [2] |
| 2022 | 918.2 | 2.6 *(not verified)* | [2] |
| 2021 | 914.9 | 3.0 | [1] |
| 2020 | 912.4 | 3.1 | [1] |
"""
HEAD = ["", "2021", "2022", "2023"]


def document(report: Finished) -> Any:
    return docx.Document(BytesIO(report_docx(report, "full")))


def cells(table: Any) -> list[list[str]]:
    return [[cell.text for cell in row.cells] for row in table.rows]


def test_the_document_has_an_outline() -> None:
    found = document(finished(title="The light of Skerry"))
    own = (
        "Contradictions",
        "What remains open",
        "Notes",
        "Sources",
        "Evidence",
        "What could not be read",
        "Audit",
    )
    headings = [
        (p.style.name, p.text)
        for p in found.paragraphs
        if p.style.name.startswith(("Heading", "Title"))
    ]
    outline = [
        ("Title", "The light of Skerry"),
        ("Heading 1", "The Skerry Light"),
        ("Heading 2", "Keepers"),
    ]
    corrected = ("Heading 2", "Statements corrected")
    assert headings == [*outline, *(("Heading 1", heading) for heading in own), corrected]
    assert found.core_properties.title == "The light of Skerry"
    assert [p.text for p in found.paragraphs if p.style.name == "Subtitle"] == [QUESTION]
    assert found.sections[0].footer._element.xpath(".//w:fldSimple/@w:instr") == [
        "PAGE",
        "NUMPAGES",
    ]
    assert {table.style.name for table in found.tables} == {"Report Table"}


def test_lists_and_emphasis_are_real_ones() -> None:
    found = document(
        written(
            "- one\n- two\n\n1. a\n2. b\n\nThen **bold** and *leaning*, `code`.\n\n5. e\n\n> Said."
        )
    )
    styles = {p.text: p.style.name for p in found.paragraphs}
    assert (styles["one"], styles["b"], styles["Said."]) == ("List Bullet", "List Number", "Quote")
    (mixed,) = [p for p in found.paragraphs if p.text.startswith("Then")]
    formats = {run.text: (run.bold, run.italic, run.font.name) for run in mixed.runs}
    assert formats["bold"] == (True, None, None)
    assert formats["leaning"] == (None, True, None)
    assert formats["code"] == (None, None, "Consolas")


def test_the_evidence_stands_in_a_table_whose_head_is_repeated() -> None:
    found = document(finished())
    skerry, contradictions, evidence, not_read = found.tables
    assert cells(skerry) == [["Light", "Height"], ["Skerry", "38 m\u00a0[1]"]]
    assert cells(evidence)[0] == ["Sentence", "Verdict", "Quote"]
    quoted = f"{QUOTE}\n[1] Skerry Light – Register"
    assert cells(evidence)[1] == ["The Skerry Light was lit in 1844.", "supported", quoted]
    assert "no word of '38'" in cells(evidence)[3][2]
    assert cells(evidence)[5][1] == "not supported Judged by openai:judge-1"
    assert evidence.rows[0]._tr.xpath("./w:trPr/w:tblHeader")
    assert cells(contradictions)[1][2] == "open"
    assert cells(not_read)[1] == ["https://closed.example/", "the server asks for a password"]
    assert any(
        paragraph.text.startswith("Statements checked: 7 · ") for paragraph in found.paragraphs
    )


@pytest.mark.parametrize(
    ("report", "expected"),
    [
        (
            finished(),
            [
                "evidence_0",
                "evidence_1",
                "evidence_2",
                "evidence_4",
                "evidence_5",
                "source_1",
                "source_3",
                "source_1",
                "source_3",
            ],
        ),
        (
            finished(report=UNCHECKED),
            ["source_1", "source_1", "source_2", "source_3", "source_1", "source_1", "source_3"],
        ),
    ],
    ids=["checked", "unchecked"],
)
def test_citations_link_to_bookmarks_in_the_document(report: Finished, expected: list[str]) -> None:
    body = document(report).element.body
    anchors = body.xpath(".//w:hyperlink/@w:anchor")
    assert [anchor for anchor in anchors if anchor.startswith(("evidence_", "source_"))] == expected
    assert set(anchors) <= set(body.xpath(".//w:bookmarkStart/@w:name"))


def charts(report: Finished) -> Any:
    return tree(report).xpath("//figure[@class='chart']")


def test_a_yearly_table_has_a_chart_below_with_its_heading_citations_and_figures_in_words() -> None:
    pytest.importorskip("matplotlib")
    page = report_page(written(DEBT))
    (chart,) = lxml.html.document_fromstring(page).xpath(
        "//div[@class='wide']/following-sibling::*[1][self::figure]"
    )
    narrow, image = chart.find("picture")
    assert narrow.get("media") == "(max-width: 30rem)"
    assert narrow.get("srcset").startswith("data:image/svg+xml;base64,")
    assert image.get("src").startswith("data:image/svg+xml;base64,")
    assert image.get("alt") == (
        "Debt and cash. Debt (million euros): 2024 1,021.3, 2023 920.7, 2022 918.2, 2021 914.9, 2020 912.4; "
        "Cash (million euros): 2024 4.2, 2021 3.0, 2020 3.1"
    )
    assert words(chart.find("figcaption")) == "Debt and cash 12"
    assert list(faults(page)) == []


@pytest.mark.parametrize(
    ("rows", "language", "lines"),
    [
        ([HEAD, ["Income in euros", "5", "6", "7"]], "en", {"Income in euros": [5, 6, 7]}),
        (
            [["Quarter", "Ships"], ["Q1 2024", "5"], ["Q2 2024", "7"], ["Q3 2024", "6"]],
            "en",
            {"Ships": [5, 7, 6]},
        ),
        (
            [["Monat", "Anteil"], ["März", "5,5 %"], ["April", "−7 %"], ["Mai", "6 %"]],
            "de",
            {"Anteil": [5.5, -7, 6]},
        ),
        (
            [["", "A"], ["2024-01-31", "$5"], ["2024-02-29", "$6"], ["2024-03-31", "$7"]],
            "en",
            {"A": [5, 6, 7]},
        ),
        (
            [["Port", "2024"], ["Skerry", "5"], ["Ellen", "6"], ["North", "7"]],
            "en",
            {"2024": [5, 6, 7]},
        ),
        ([["Year", "Debt"], ["2021", "5"], ["2022", "6"]], "en", None),
        ([["Year", "Debt"], ["2021", "5"], ["2023", "6"], ["2022", "7"]], "en", None),
        ([["Year", "Debt"], ["2021", "5"], ["Q2 2022", "6"], ["2023", "7"]], "en", None),
        ([["Year", "Debt"], ["2021", "5"], ["2022", "about 6"], ["2023", "7"]], "en", None),
        (
            [["Year", "Debt"], ["2021", "5 million"], ["2022", "6 billion"], ["2023", "7 million"]],
            "en",
            {"Debt": [5e6, 6e9, 7e6]},
        ),
        (
            [["Year", "Debt"], ["2021", "12.4"], ["2022", "14.9"], ["2023", "18.2"]],
            "de",
            {"Debt": [12.4, 14.9, 18.2]},
        ),
        # Three digits behind a point: which it is depends on the language.
        (
            [["Year", "Result"], ["2021", "1.250"], ["2022", "(3,500)"], ["2023", "2½"]],
            "en",
            {"Result": [1.25, -3500, 2.5]},
        ),
        (
            [["Jahr", "Ergebnis"], ["2021", "1.250"], ["2022", "−3.500"], ["2023", "2½"]],
            "de",
            {"Ergebnis": [1250, -3500, 2.5]},
        ),
        ([["Year", "Lamp"], ["2021", "LX-40"], ["2022", "LX-60"], ["2023", "LX-80"]], "en", None),
        (
            [["Year", "Debt", "Ships"], ["2021", "5", "1"], ["2022", "6", "2"], ["2023", "7", "3"]],
            "en",
            None,
        ),
        (
            [HEAD, ["Debt (euros)", "5", "6", "7"], ["Share (%)", "5", "6", "7"]],
            "en",
            {"Debt (euros)": [5, 6, 7]},
        ),
        # Changes and a total are no part of a series.
        (
            [[*HEAD, "Change"], ["Debt", "$5", "$6", "$7", "+40 %"]],
            "en",
            {"Debt": [5, 6, 7]},
        ),
        (
            [["Year", "Debt"], ["2021", "5"], ["2022", "6"], ["2023", "7"], ["Total", "18"]],
            "en",
            {"Debt": [5, 6, 7]},
        ),
        (
            [
                ["System", "Cost", "Lifetime (years)", "Cost in 2024", "Growth", "Note"],
                ["Boiler", "£2,500", "12", "£2,700", "3 %", "common"],
                ["Pump", "£11,300", "20", "£11,500", "2 %", "loud"],
                ["Pellets", "not given", "18", "–", "4 %", "rare"],
                ["Panels", "£4,100", "10", "£4,000", "5 %", "new"],
            ],
            "en",
            {"Cost": [2500, 11300, 4100], "Cost in 2024": [2700, 11500, 4000]},
        ),
        (
            [["Port", "Ships"], ["Skerry", "5"], ["Ellen", "6"], ["North", "7"], ["All", "18"]],
            "en",
            {"Ships": [5, 6, 7]},
        ),
        (
            [
                ["Port", "Debt", "Rent"],
                ["Skerry", "€5", "€1"],
                ["Ellen", "€6", "€2"],
                ["North", "€7", "€3"],
                ["All", "€18", "–"],
            ],
            "en",
            {"Debt": [5, 6, 7], "Rent": [1, 2, 3]},
        ),
        (
            [["", "Skerry", "Ellen", "North"], ["Height", "5 m", "6 m", "7 m"]],
            "en",
            {"Height": [5, 6, 7]},
        ),
        # Beside the costs, the savings would be invisible.
        (
            [["", "Cost", "Saving"], ["A", "£7,500", "£90"], ["B", "£9", "£0"], ["C", "£1", "£2"]],
            "en",
            {"Cost": [7500, 9, 1]},
        ),
        # Years, ranks, changes, mixed units and two numbers are no comparison.
        ([["Port", "Built"], ["Skerry", "1905"], ["Ellen", "1844"], ["North", "1990"]], "en", None),
        ([["Port", "Rank"], ["Skerry", "1"], ["Ellen", "2"], ["North", "3"]], "en", None),
        ([["Port", "A"], ["Skerry", "+1 %"], ["Ellen", "−2 %"], ["North", "0 %"]], "en", None),
        ([["Port", "A"], ["Skerry", "5 m"], ["Ellen", "6 kg"], ["North", "7 %"]], "en", None),
        ([["What", "Value"], ["Ports", "5"], ["Ships", "60"], ["Crew", "700"]], "en", None),
        ([["Port", "Ships"], ["Skerry", "5"], ["Ellen", "6"]], "en", None),
        ([["Port", "A"], ["Skerry", "5"], ["Ellen", "5–6"], ["North", "n/a"]], "en", None),
        ([["年", "债务"], ["2021", "5"], ["2022", "6"], ["2023", "7"]], "zh", None),
        ([["Word"], ["2021"]], "en", None),
    ],
)
def test_series_and_comparisons_in_one_unit_become_charts(
    rows: Any, language: str, lines: Any
) -> None:
    series = series_of(rows, "", language)
    assert (series.lines if series else None) == lines


def test_columns_of_numbers_are_aligned_to_the_right_by_most_of_their_cells_or_by_the_writer() -> (
    None
):
    table = """| Port | Ships | Depth | Note |
|---|---|---|---:|
| Skerry | 5 [1] | deep | good |
| Ellen | not given | deep | 5 |
| North | 7 | 6 m | bad |
"""
    found = written(table)
    rows = tree(found).xpath("//article//tr")
    classes = [[cell.get("class") for cell in row] for row in rows]
    assert classes == [
        [None, "figure", None, "figure"],
        [None, "figure", None, "right"],
        [None, "right", None, "figure"],
        [None, "figure", None, "right"],
    ]
    [word_table, *_] = document(found).tables
    sides = [[cell.paragraphs[0].alignment for cell in row.cells] for row in word_table.rows]
    right = WD_ALIGN_PARAGRAPH.RIGHT
    assert sides == [[None, right, None, right]] * 4


@pytest.mark.slow
def test_a_report_has_at_most_three_charts_and_none_without_the_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("matplotlib")
    few = "## Ships\n\n| Port | Ships |\n|---|---|\n| A | 5 |\n| B | 6 |\n| C | 7 |\n| D | 8 |\n"
    few = f"{few}| E | 9 |\n"
    ships = f"{few}| F | 10 |\n\n"
    report = written(ships + DEBT * 3)
    # The charts of the tables with most numbers.
    assert [words(chart).split()[0] for chart in charts(report)] == ["Debt"] * 3
    assert len(at(tree(report), "//article//table")) == 4
    assert [words(chart).split()[0] for chart in charts(written(ships))] == ["Ships"]
    assert charts(written(few)) == [], "the table alone is as clear"
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert charts(report) == []

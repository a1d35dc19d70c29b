"""Which tables of a report are drawn, and what the chart says."""

from __future__ import annotations

import sys
from io import BytesIO
from typing import Any

import docx
import lxml.html
import pytest
from exported import written
from page_check import faults
from shown_page import at, tree, words

from deep_research.app.exports.chart import series_of
from deep_research.app.exports.finished import Finished
from deep_research.app.exports.page import report_page
from deep_research.app.exports.word import report_docx

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


def charts(report: Finished) -> Any:
    return tree(report).xpath("//figure[@class='chart']")


def test_a_yearly_table_has_a_chart_below_with_its_heading_citations_and_figures_in_words() -> None:
    pytest.importorskip("matplotlib")
    page = report_page(written(DEBT))
    (chart,) = lxml.html.document_fromstring(page).xpath("//div[@class='wide']/following-sibling::*[1][self::figure]")
    image = chart.find("img")
    assert image.get("src").startswith("data:image/svg+xml;base64,")
    assert image.get("alt") == (
        "Debt and cash. Debt (million euros): 2024 1,021.3, 2023 920.7, 2022 918.2, 2021 914.9, 2020 912.4; "
        "Cash (million euros): 2024 4.2, 2021 3, 2020 3.1"
    )
    assert words(chart.find("figcaption")) == "Debt and cash 12"
    assert list(faults(page)) == []


def test_word_gets_the_chart_as_a_picture_with_its_words() -> None:
    pytest.importorskip("matplotlib")
    document: Any = docx.Document(BytesIO(report_docx(written(DEBT))))
    (picture,) = document.inline_shapes
    assert picture._inline.docPr.get("descr").startswith("Debt and cash. Debt (million euros): 2024 1,021.3")
    assert [p.text for p in document.paragraphs if p.style.name == "Caption"] == ["Debt and cash\u00a0[1][2]"]


@pytest.mark.parametrize(
    ("rows", "language", "lines"),
    [
        ([HEAD, ["Income in euros", "5", "6", "7"]], "en", {"Income in euros": [5, 6, 7]}),
        ([["Quarter", "Ships"], ["Q1 2024", "5"], ["Q2 2024", "7"], ["Q3 2024", "6"]], "en", {"Ships": [5, 7, 6]}),
        ([["Monat", "Anteil"], ["März", "5,5 %"], ["April", "−7 %"], ["Mai", "6 %"]], "de", {"Anteil": [5.5, -7, 6]}),
        ([["", "A"], ["2024-01-31", "$5"], ["2024-02-29", "$6"], ["2024-03-31", "$7"]], "en", {"A": [5, 6, 7]}),
        ([["Port", "2024"], ["Skerry", "5"], ["Ellen", "6"], ["North", "7"]], "en", None),
        ([["Year", "Debt"], ["2021", "5"], ["2022", "6"]], "en", None),
        ([["Year", "Debt"], ["2021", "5"], ["2023", "6"], ["2022", "7"]], "en", None),
        ([["Year", "Debt"], ["2021", "5"], ["Q2 2022", "6"], ["2023", "7"]], "en", None),
        ([["Year", "Debt"], ["2021", "5"], ["2022", "about 6"], ["2023", "7"]], "en", None),
        ([["Year", "Debt"], ["2021", "5 million"], ["2022", "6 billion"], ["2023", "7 million"]], "en", None),
        ([["Year", "Debt"], ["2021", "12.4"], ["2022", "14.9"], ["2023", "18.2"]], "de", None),
        ([["Year", "Debt", "Ships"], ["2021", "5", "1"], ["2022", "6", "2"], ["2023", "7", "3"]], "en", None),
        ([HEAD, ["Debt (euros)", "5", "6", "7"], ["Share (%)", "5", "6", "7"]], "en", None),
        ([["年", "债务"], ["2021", "5"], ["2022", "6"], ["2023", "7"]], "zh", None),
        ([["Word"], ["2021"]], "en", None),
    ],
)
def test_only_what_is_plainly_one_series_is_drawn(rows: Any, language: str, lines: Any) -> None:
    series = series_of(rows, "", language)
    assert (series.lines if series else None) == lines


def test_a_report_has_at_most_three_charts_and_none_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    report = written(DEBT * 5)
    assert len(charts(report)) == 3 and len(at(tree(report), "//article//table")) == 5
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert charts(report) == []

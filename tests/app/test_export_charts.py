"""Tables of cited figures are drawn below the table, from the cells alone; others are not."""

from __future__ import annotations

import re
from io import BytesIO
from itertools import pairwise
from pathlib import Path

import lxml.html
import pytest
from exported import finished, written
from hypothesis import given
from hypothesis import strategies as st
from openai_server import say
from page_check import faults
from pypdf import PdfReader
from search_api import Answer, found
from shown_page import at, tree, words
from wire import FACTS, QUESTION
from wire_desk import wire_desk

from deep_research.app.exports.chart import FEWEST, MOST, chart_of
from deep_research.app.exports.page import report_page
from deep_research.app.exports.word import report_docx
from deep_research.core.records.report import Report

HEIGHTS = """# Lights

| Light | Height |
|---|---:|
| Skerry | 38 m [1] |
| Fastnet & Co <b> | **54 m** [2] |
| Hook | 35.5 m [1, 2] |

The end. [3]
"""
SHIPS = """| Year | Steam (ships) | Sail (ships) | Source |
|---|---:|---:|---|
| 1871 | 17 | 1,195 | [1] |
| 1870 | 13 | 1,192 | [2] |
| 1869 | 9 | 1,189 | [1] |
"""


def drawn(text: str, language: str = "en") -> list[lxml.html.HtmlElement]:
    found: list[lxml.html.HtmlElement] = tree(written(text, language_code=language)).xpath("//article//figure")
    return found


def rows_of(table: str) -> list[list[str]]:
    lines = [line for line in table.splitlines() if line and not set(line) <= set("|-: ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_names_become_bars_from_zero_with_the_cells_and_their_citations() -> None:
    (figure,) = drawn(HEIGHTS)
    bars = [float(bar.get("width")) for bar in figure.xpath(".//rect")]
    assert [round(bar / bars[1], 2) for bar in bars] == [0.7, 1.0, 0.66]
    assert {bar.get("x") for bar in figure.xpath(".//rect")} == {"0.0"}
    assert [words(text) for text in figure.xpath(".//text")] == [
        *("Skerry", "38 m", "Fastnet & Co <b>", "54 m", "Hook", "35.5 m"),
    ]
    drawing = figure.find("svg")
    assert drawing.get("role") == "img"
    name, description = (figure.get_element_by_id(one) for one in drawing.get("aria-labelledby").split())
    assert (name.text, description.text) == ("Light: Height", "Skerry: 38 m; Fastnet & Co <b>: 54 m; Hook: 35.5 m")
    page = tree(written(HEIGHTS))
    in_table = [(one.text, one.get("href")) for one in page.xpath("//article//td//*[contains(@class, 'cite')]")]
    below = [(one.text, one.get("href")) for one in page.xpath("//figcaption//*[contains(@class, 'cite')]")]
    assert below == list(dict.fromkeys(in_table)) == [("1", "#source-1"), ("2", "#source-2")]
    assert list(faults(report_page(written(HEIGHTS)))) == []


def test_years_become_lines_in_the_order_of_time() -> None:
    (figure,) = drawn(SHIPS)
    steam, sail = (
        [tuple(map(float, point.split(","))) for point in line.get("points").split()]
        for line in figure.xpath(".//polyline")
    )
    for line in (steam, sail):
        assert all(one[0] < other[0] and one[1] > other[1] for one, other in pairwise(line)), (
            "later stands to the right"
        )
    texts = [words(text) for text in figure.xpath(".//text")]
    assert texts[:2] == ["Steam (ships)", "Sail (ships)"]
    assert {"9", "13", "17", "1,189", "1,195", "1869", "1870", "1871"} <= set(texts)
    assert [words(one) for one in figure.xpath(".//figcaption/*")] == ["1", "2"]
    assert figure.xpath(".//desc")[0].text == "1869: 9, 1,189; 1870: 13, 1,192; 1871: 17, 1,195"


def table(*cells: str, head: str = "| Light | Height |", names: str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ") -> str:
    rows = "\n".join(f"| Light {name} | {cell} [1] |" for name, cell in zip(names, cells, strict=False))
    return f"{head}\n|---|---|\n{rows}\n"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(table("38 m", "54 ft", "35 m"), id="mixed units"),
        pytest.param(table("38 m", "", "35 m"), id="a missing cell"),
        pytest.param(table("38 m", "–", "35 m"), id="a dash"),
        pytest.param(table("38 m", "not known", "35 m"), id="words"),
        pytest.param(table("38 m", "54 m in all", "35 m"), id="a figure with words"),
        pytest.param(table("38 m", "50–54 m", "35 m"), id="a range"),
        pytest.param(table("38 m", "50 to 54 m", "35 m"), id="a range in words"),
        pytest.param(table("38 m", "~54 m", "35 m"), id="a rough figure"),
        pytest.param(table("38 m", "54 m (2019)", "35 m"), id="a remark"),
        pytest.param(table("38 m", "> 54 m", "35 m"), id="a bound"),
        pytest.param(table("38", "1,234.5", "1.234,5", "2.345"), id="two ways to write figures"),
        pytest.param(table("38 m", "54 m"), id="two rows"),
        pytest.param(table(*["38 m"] * (MOST + 1)), id="too many rows"),
        pytest.param(table("0", "0", "0"), id="nothing but zero"),
        pytest.param(table("1844", "1850", "1911"), id="years are no amounts"),
        pytest.param(table("1st", "2nd", "3rd"), id="ranks"),
        pytest.param(table("38 m", "54 m", "35 m", names="AAB"), id="a name twice"),
        pytest.param(table("38 m", "54 m", "35 m").replace("35 m [1]", "35 m"), id="a row without a source"),
        pytest.param(table("38 m", "54 m", "35 m").replace("Light A", "1844"), id="a year among names"),
        pytest.param(SHIPS.replace("1870", "1869"), id="a year twice"),
        pytest.param(SHIPS.replace("1870", "1900"), id="years in no order"),
        pytest.param(SHIPS.replace("Sail (ships)", "Sail (tons)"), id="columns of two units"),
        pytest.param(SHIPS.replace("(ships)", ""), id="columns that may be of two units"),
        pytest.param("| Light | Told |\n|---|---|\n| A | [1] |\n| B | [1] |\n| C | [1] |\n", id="no figures at all"),
    ],
)
def test_what_could_be_misread_is_not_drawn(text: str) -> None:
    page = tree(written(text))
    assert page.xpath("//article//table") and not page.xpath("//figure | //svg")


def test_a_table_with_a_doubtful_cell_is_not_drawn() -> None:
    start = HEIGHTS.index("| Hook")
    doubt = {"start": start, "end": HEIGHTS.index("\n\nThe end"), "verdict": "unsupported", "is_marked": True}
    report = Report.model_validate({**written(HEIGHTS).report.model_dump(), "claims": [doubt]})
    assert not tree(finished(report=report)).xpath("//figure")


@pytest.mark.parametrize(
    ("language", "cells", "values"),
    [
        ("en", ("1,234", "2,345", "900"), (1234, 2345, 900)),
        ("de", ("1,234", "2,345", "0,900"), (1.234, 2.345, 0.9)),
        ("de", ("1.234", "2.345", "900"), (1234, 2345, 900)),
        ("de", ("1.234", "2,345", "1,234.5"), (1.234, 2345, 1234.5)),
        ("en", ("£1.2 million", "£900,000", "£2 bn"), (1.2e6, 9e5, 2e9)),
        ("fr", ("12,5 %", "\u22123 %", "1 200 %"), (12.5, -3, 1200)),
    ],
)
def test_figures_are_read_as_the_language_of_the_report_writes_them(
    language: str, cells: tuple[str, ...], values: tuple[float, ...]
) -> None:
    chart = chart_of([["Light", "Cost"], *zip("ABC", cells, strict=True)], language)
    assert chart and chart.series[0].values == pytest.approx(values)


FIGURES = st.integers(0, 10**7).map(lambda value: f"{value:,}") | st.floats(0.1, 999).map(lambda value: f"{value:.1f}")
UNDRAWABLE = st.sampled_from(
    ["", "–", "n/a", "12–14", "about 12", "12 of 20", "12 or 13", "±3", "<5", "?", "12 [a]", "5 5"]
)
NAMES = st.lists(st.text("abcdefghij", min_size=3, max_size=12), min_size=FEWEST, max_size=MOST, unique=True)


@given(NAMES, st.sampled_from(["", " m", " %", " ships"]), st.data())
def test_one_undrawable_cell_leaves_a_table_undrawn(names: list[str], unit: str, data: st.DataObject) -> None:
    cells = [data.draw(FIGURES) + unit for _ in names]
    rows = [["Name", "Value"], *([name, cell] for name, cell in zip(names, cells, strict=True))]
    chart = chart_of(rows, "en")
    values = [float(cell.removesuffix(unit).replace(",", "")) for cell in cells]
    are_years = not unit and all(1000 <= value <= 2100 and value.is_integer() for value in values)
    assert (chart is None) == (are_years or not any(values))
    if chart:
        assert chart.series[0].values == pytest.approx(values) and list(chart.series[0].labels) == cells
    place = data.draw(st.integers(1, len(names)))
    rows[place][1] = data.draw(UNDRAWABLE)
    assert chart_of(rows, "en") is None
    rows[place][1] = cells[0].removesuffix(unit) + " furlongs"
    assert chart_of(rows, "en") is None


def test_word_keeps_the_table_alone() -> None:
    assert b"svg" not in report_docx(written(HEIGHTS))
    assert at(tree(written(HEIGHTS)), "//article//table//td")[:2] == ["Skerry", "38 m 1"]


def test_a_run_is_exported_with_its_chart(tmp_path: Path) -> None:
    counts = {"1869": "198", "1870": "205", "1871": "212", "1872": "240"}
    rows = "\n".join(f"| {year} | {count} [1] |" for year, count in counts.items())
    report = f"Ships became more. [1]\n\n| Year | Ships |\n|---|---:|\n{rows}"
    page = " ".join(f"In the year {year}, {count} ships passed the light." for year, count in counts.items())
    with wire_desk(tmp_path, writer=lambda _: say(report)) as wire:
        text = f"{FACTS['light']} {page} Ships became more."
        ships = found(wire.lab.web.publish("/ships", f"<html><title>Ships</title><p>{text}</p></html>"), "Ships", text)
        wire.lab.engine.on("light", Answer([ships]))
        assert wire.desk.call("ask", QUESTION, "--thread", "light").code == 0
        for name in ("report.html", "report.pdf"):
            assert wire.desk.call("export", "light", "--out", str(tmp_path / name)).code == 0
    html = (tmp_path / "report.html").read_text("utf-8")
    (figure,) = lxml.html.document_fromstring(html).xpath("//article//figure")
    assert [words(text) for text in figure.xpath(".//text")][:4] == list(counts.values())
    links = {one.get("popovertarget") for one in figure.xpath(".//figcaption/button")}
    assert links == set(re.findall(r'<td[^>]*>.*?popovertarget="(quote-\d+)"', html))
    paper = PdfReader(BytesIO((tmp_path / "report.pdf").read_bytes()))
    shown = " ".join(paper.pages[0].extract_text().split())
    assert re.search("198 205 212 240 1869 1872 1870 1871 Year: Ships", shown), shown

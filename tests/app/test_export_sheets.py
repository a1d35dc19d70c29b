"""The table of a report as CSV and as an Excel workbook."""

from __future__ import annotations

import csv
import io
from datetime import date, datetime
from typing import Any

import openpyxl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kit.reports import SOURCES, finished

from deep_research.app.exports._sheets import report_csv, report_xlsx
from deep_research.app.exports.finished import Finished, readable
from deep_research.core.evidence.citations.labels import labels
from deep_research.core.evidence.citations.rendering import plain_line
from deep_research.core.records.report import CitedPassage, ClaimCheck, Report
from deep_research.core.records.table import RowBlanks, TableColumn
from deep_research.core.tables.report_tables import sheets_of

COLUMNS = (
    TableColumn(name="Grant", is_key=True),
    TableColumn(name="Amount", kind="money"),
    TableColumn(name="Change", kind="number", unit="%"),
    TableColumn(name="Deadline", kind="date"),
    TableColumn(name="Open", kind="yes/no"),
)
MARK = f" *({labels('en').not_verified})*"
LINES = [
    "| Grant | Amount | Change (%) | Deadline | Open |",
    "| --- | --- | --- | --- | --- |",
    "| Harbour \\| Fund [1] | 1 200 000.5 EUR [1] | -3.5 % [2] | 2026-03-31 [1] | yes [1] |",
    f"| =HYPERLINK(1) [1] | – | 12 % [2]{MARK} | 2026-05 [1] | no [1] |",
    "| +44 Trust [1] | 5 EUR [1]; 6 EUR [2] | – | – | – |",
]
TEXT = "Three grants.\n\n" + "\n".join(LINES)
KEYS = tuple(source.key for source in SOURCES[:2])


def report(text: str = TEXT, **fields: Any) -> Report:
    given = {"sources": KEYS, "numbers": (1, 2), "columns": COLUMNS, **fields}
    return Report(text=text, **given)


def exported(shown: Report | None = None) -> Finished:
    return finished(report=shown or report(), cited=SOURCES[:2])


def pages(shown: Finished) -> dict[str, list[list[Any]]]:
    """The rows of each sheet, as a program reads them."""
    book = openpyxl.load_workbook(io.BytesIO(report_xlsx(shown)))
    return {
        page.title: [[cell.value for cell in row] for row in page.iter_rows()]
        for page in book.worksheets
    }


def test_a_workbook_has_the_values_of_the_table_in_their_types() -> None:
    rows = pages(exported())["Table"]
    assert rows == [
        ["Grant", "Amount", "Change (%)", "Deadline", "Open", "Not verified"],
        ["Harbour | Fund", 1_200_000.5, -3.5, datetime(2026, 3, 31), True, None],
        ["=HYPERLINK(1)", None, 12, "2026-05", False, "Change"],
        ["+44 Trust", "5 EUR; 6 EUR", None, None, None, None],
    ]


def test_texts_from_pages_cannot_become_formulas_and_negative_numbers_stay_numbers() -> None:
    book = openpyxl.load_workbook(io.BytesIO(report_xlsx(exported())))
    cells = {cell.value: cell for row in book["Table"].iter_rows() for cell in row}
    assert (cells["=HYPERLINK(1)"].data_type, cells["=HYPERLINK(1)"].quotePrefix) == ("s", True)
    assert cells[-3.5].data_type == "n"
    assert cells[1_200_000.5].number_format == '#,##0.0 "EUR"'
    text = report_csv(exported())
    assert "'=HYPERLINK(1)" in text and "'+44 Trust" in text and ",-3.5,%," in text


def test_money_is_shown_with_its_decimals_and_its_sign_as_in_the_report() -> None:
    text = "| Grant | Amount |\n| --- | --- |\n| A [1] | £13.50 [1] |\n| B [1] | £7 [1] |"
    shown = exported(report(text, columns=(COLUMNS[0], TableColumn(name="Amount", kind="money"))))
    book = openpyxl.load_workbook(io.BytesIO(report_xlsx(shown)))
    cells = [row[1] for row in book["Table"].iter_rows(min_row=2)]
    assert [(cell.value, cell.number_format) for cell in cells] == [
        (13.5, '"£"#,##0.00'),
        (7, '"£"#,##0'),
    ]
    assert "A,13.5,£" in report_csv(shown)


def test_a_cell_that_is_not_verified_keeps_its_type_and_is_named_in_both_files() -> None:
    text = f"| Grant | Deadline |\n| --- | --- |\n| A [1] | 2026-02-18 [1]{MARK} |\n| B [1] | – |"
    shown = exported(report(text, columns=(COLUMNS[0], COLUMNS[3])))
    sheet = openpyxl.load_workbook(io.BytesIO(report_xlsx(shown)))["Table"]
    assert [cell.value for cell in sheet[2]] == ["A", datetime(2026, 2, 18), "Deadline"]
    assert sheet["B2"].fill.fgColor.rgb.endswith("FFF2CC") and not sheet["A2"].fill.fill_type
    assert "Grant,Deadline,Not verified\r\nA,2026-02-18,Deadline\r\nB,,\r\n" in report_csv(shown)


def test_a_number_without_a_unit_has_that_of_its_column() -> None:
    text = "| Grant | Change (%) |\n| --- | --- |\n| A [1] | -5 [1] |"
    shown = exported(report(text, columns=(COLUMNS[0], COLUMNS[2])))
    assert "Grant,Change,Change (unit)\r\nA,-5,%\r\n" in report_csv(shown)


def test_links_of_sources_can_be_clicked_and_days_are_dates() -> None:
    sheet = openpyxl.load_workbook(io.BytesIO(report_xlsx(exported())))["Sources"]
    headings = [cell.value for cell in sheet[1]]
    linked = [row[headings.index("Link")] for row in sheet.iter_rows(min_row=2)]
    linked = [cell for cell in linked if str(cell.value).startswith("http")]
    assert linked and all(cell.hyperlink.target == cell.value for cell in linked)
    read = {row[headings.index("Read")].value for row in sheet.iter_rows(min_row=2)}
    assert any(isinstance(day, datetime) for day in read)


def unescaped(field: str) -> str:
    return field.removeprefix("'")


def test_csv_is_utf8_with_a_byte_order_mark_and_gives_the_table_back() -> None:
    data = report_csv(exported()).encode()
    assert data.startswith(b"\xef\xbb\xbf")
    header, *rows = csv.reader(io.StringIO(data.decode("utf-8-sig")))
    assert header == [
        *("Grant", "Amount", "Amount (unit)", "Change", "Change (unit)", "Deadline", "Open"),
        "Not verified",
    ]
    assert [[unescaped(field) for field in row] for row in rows] == [
        ["Harbour | Fund", "1200000.5", "EUR", "-3.5", "%", "2026-03-31", "yes", ""],
        ["=HYPERLINK(1)", "", "", "12", "%", "2026-05", "no", "Change"],
        ["+44 Trust", "5 EUR; 6 EUR", "", "", "", "", "", ""],
    ]


def test_the_passage_and_the_verdict_behind_each_cell_stand_in_a_sheet_of_their_own() -> None:
    start = TEXT.index("1 200 000.5")
    passage = CitedPassage(
        source=KEYS[0],
        verdict="supported",
        quote="=The fund pays 1,200,000.50 euros.",
        start=0,
        end=5,
        content_hash="2b",
    )
    claim = ClaimCheck(start=start, end=start + 5, verdict="supported", passages=(passage,))
    rows = pages(exported(report(claims=(claim,))))["Sources"]
    [amount] = [row for row in rows if row[:2] == ["Harbour | Fund", "Amount"]]
    assert amount[2:6] == [1_200_000.5, "supported", 1, SOURCES[0].shown_title]
    assert amount[-1] == "=The fund pays 1,200,000.50 euros."


def test_an_empty_cell_says_where_it_was_looked_for() -> None:
    blanks = RowBlanks(row="+44 Trust", read=("https://a.example/", "trusts.md"))
    shown = exported(report(blanks=(blanks,)))
    rows = pages(shown)["Sources"]
    looked = "https://a.example/; trusts.md"
    position = rows[0].index("Looked in")
    assert [[*row[1:6], row[position]] for row in rows if row[3] == "not found"] == [
        ["Change", None, "not found", None, None, looked],
        ["Deadline", None, "not found", None, None, looked],
        ["Open", None, "not found", None, None, looked],
    ]
    assert pages(shown)["Table"][3][2:5] == [None, None, None]


@pytest.mark.slow
@settings(max_examples=30)
@given(st.lists(st.text(max_size=12), min_size=1, max_size=4))
def test_any_text_is_read_back_from_both_files(texts: list[str]) -> None:
    names = [" ".join(plain_line(text).split()) or "x" for text in texts]
    lines = ["| Grant |", "| --- |", *(f"| a{name} |" for name in names)]
    shown = exported(report("\n".join(lines), columns=COLUMNS[:1]))
    [sheet] = sheets_of(shown.report)
    expected = [readable(row[0].text) for row in sheet.rows]
    assert len(expected) == len(names)
    [_, *rows] = pages(shown)["Table"]
    assert [row[0] for row in rows] == expected
    [_, *fields] = csv.reader(io.StringIO(report_csv(shown).removeprefix("\ufeff")))
    assert [unescaped(field[0]) for field in fields] == expected


def test_the_table_is_data_too() -> None:
    [sheet] = sheets_of(report())
    data = sheet.data
    assert data["columns"][1] == {"name": "Amount", "kind": "money"}
    first, second, third = data["rows"]
    assert first[1] == {"value": 1_200_000.5, "unit": "EUR", "sources": [1]}
    assert first[3] == {"value": "2026-03-31", "sources": [1]}
    assert second[2] == {"value": 12.0, "unit": "%", "sources": [2], "is_marked": True}
    assert third[1] == {"value": "5 EUR; 6 EUR", "sources": [1, 2]}
    assert second[1] == {"value": None}


def test_a_report_without_a_table_has_no_rows() -> None:
    plain = exported(report("No table.", columns=()))
    assert report_csv(plain) == ""
    assert list(pages(plain)) == ["Sources"]


@pytest.mark.parametrize("text", ["2026-03-31", "5 EUR"])
def test_columns_of_unknown_kind_stay_texts(text: str) -> None:
    shown = report(f"| What |\n| --- |\n| {text} |", columns=())
    [sheet] = sheets_of(shown)
    assert sheet.rows[0][0].value == text and not isinstance(sheet.rows[0][0].value, date)

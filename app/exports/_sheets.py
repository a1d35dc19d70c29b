"""Exports the table of a report as CSV, and its tables and their sources as an Excel workbook."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator
from datetime import date
from typing import Any

from openpyxl import Workbook
from openpyxl.styles import Alignment, Font, PatternFill
from openpyxl.utils import get_column_letter
from openpyxl.worksheet.worksheet import Worksheet

from ...core.evidence.citations.rendering import link_to
from ...core.records.report import CitedPassage, ClaimCheck
from ...core.tables.report_tables import ReportSheet, SheetCell, sheets_of
from ...core.tables.rows import heading_of
from .finished import Finished, readable

_FORMULA = tuple("=+-@'＝＋－＠")
"""Beginnings of a text that a spreadsheet might run as a formula, and of one that looks escaped."""
_DECIMALS = re.compile(r"\d\.(\d+)")
_LONGEST_TEXT = 32_000
"""Maximum characters of a cell; Excel takes a few more."""
_WIDEST = 60
"""Maximum width of a column, in characters."""
_SOURCE_HEADINGS = (
    "Row",
    "Column",
    "Value",
    "Verdict",
    "Source",
    "Title",
    "Date",
    "Link",
    "Read",
    "Looked in",
    "Passage",
)
_UNVERIFIED = "Not verified"
"""Heading of the column that names the columns of a row's cells that are marked so."""
_MARKED = PatternFill("solid", fgColor="FFF2CC")
_LINKED = Font(color="0563C1", underline="single")
_LINK = re.compile(r"(?:https?://|file:///(?!/))\S{1,2000}", re.IGNORECASE)
"""Matches an address that a workbook can have as a link: of the web, or a file of this machine."""
_BYTE_ORDER_MARK = "\ufeff"
"""Tells spreadsheets that a file is UTF-8."""


def escaped(text: str) -> str:
    """Return a text, without control characters, that no spreadsheet runs as a formula; without the
    apostrophe before it, it is the text as it was."""
    plain = readable(text)
    return f"'{plain}" if plain.startswith(_FORMULA) else plain


def report_csv(finished: Finished) -> str:
    """Return the largest table of a report as CSV: UTF-8 with a byte order mark, decimal points and
    ISO dates; empty without a table.

    Units of a column with numbers stand in a column of their own; the last column names the cells
    that are marked as not verified, if there are any.
    """
    sheets = sheets_of(finished.report)
    if not sheets:
        return ""
    sheet = max(sheets, key=lambda sheet: len(sheet.rows))
    written = io.StringIO()
    writer = csv.writer(written)
    headings = list[str]()
    for number, column in enumerate(sheet.columns):
        headings.append(escaped(column.name))
        if sheet.has_units(number):
            headings.append(escaped(f"{column.name} (unit)"))
    if sheet.has_unverified:
        headings.append(_UNVERIFIED)
    writer.writerow(headings)
    for row in sheet.rows:
        fields = list[str]()
        for number, cell in enumerate(row):
            is_text = isinstance(cell.value, str)
            fields.append(escaped(cell.shown_value) if is_text else cell.shown_value)
            if sheet.has_units(number):
                fields.append(escaped(cell.unit))
        if sheet.has_unverified:
            fields.append(escaped(sheet.unverified(row)))
        writer.writerow(fields)
    return _BYTE_ORDER_MARK + written.getvalue()


def report_xlsx(finished: Finished) -> bytes:
    """Return an Excel workbook: a sheet for each table of a report, with values in their types, and
    one with the sources and passages behind the cells."""
    book = Workbook()
    book.remove(book.active)
    sheets = sheets_of(finished.report)
    for number, sheet in enumerate(sheets, 1):
        page = book.create_sheet("Table" if len(sheets) == 1 else f"Table {number}")
        headings = [heading_of(column) for column in sheet.columns]
        if sheet.has_unverified:
            headings.append(_UNVERIFIED)
        _write_row(page, headings)
        for row in sheet.rows:
            _write_row(page, [*row, sheet.unverified(row)])
        _lay_out(page)
    page = book.create_sheet("Sources")
    _write_row(page, _SOURCE_HEADINGS)
    for sheet in sheets:
        for fields in _sources_of(sheet, finished):
            _write_row(page, fields)
    _lay_out(page)
    written = io.BytesIO()
    book.save(written)
    return written.getvalue()


def _number_format(cell: SheetCell) -> str:
    """Return the format of a number with its unit, as the report writes it."""
    unit = cell.unit.replace('"', "")
    decimals = _DECIMALS.search(cell.text)
    figure = "#,##0"
    if decimals:
        figure += f".{'0' * len(decimals[1])}"
    if cell.text.startswith(cell.unit):
        return f'"{unit}"{figure}'
    return f'{figure} "{unit}"'


def _write_row(page: Worksheet, values: Iterable[Any]) -> None:
    """Write a row below the last one; texts are texts, whatever they begin with, and cells of a
    report have the format of their unit and the fill of those that are not verified."""
    line = 1 if page.max_row == 1 and page.cell(1, 1).value is None else page.max_row + 1
    for position, given in enumerate(values, 1):
        value = given.value if isinstance(given, SheetCell) else given
        if value is None or value == "":
            continue
        cell = page.cell(line, position)
        if isinstance(given, SheetCell) and given.unit:
            cell.number_format = _number_format(given)
        if isinstance(given, SheetCell) and given.is_marked:
            cell.fill = _MARKED
        if not isinstance(value, str):
            cell.value = value
            continue
        text = readable(value)[:_LONGEST_TEXT]
        cell.value = text
        cell.data_type = "s"
        cell.quotePrefix = text.startswith(_FORMULA)
        if _LINK.fullmatch(text):
            cell.hyperlink = text
            cell.font = _LINKED


def _lay_out(page: Worksheet) -> None:
    """Set the heading apart, and make columns as wide as their texts."""
    page.freeze_panes = "A2"
    page.auto_filter.ref = page.dimensions
    for heading in page[1]:
        heading.font = Font(bold=True)
    for number, column in enumerate(page.iter_cols(), 1):
        longest = max(len(str(cell.value or "")) for cell in column)
        page.column_dimensions[get_column_letter(number)].width = min(longest + 2, _WIDEST)
        for cell in column:
            cell.alignment = Alignment(vertical="top", wrap_text=longest > _WIDEST)


def _sources_of(sheet: ReportSheet, finished: Finished) -> Iterator[list[Any]]:
    """Yield the lines of the sheet with sources: one for each source that a cell cites, and one for
    an empty cell that says where it was looked for."""
    sources = {source.number: source for source in finished.cited}
    claims = {claim.start: claim for claim in finished.report.claims}
    for row in sheet.rows:
        label = row[0].text if row else ""
        for column, cell in zip(sheet.columns, row, strict=True):
            if cell.looked_in:
                looked = readable("; ".join(cell.looked_in))
                yield [label, column.name, "", "not found", *[""] * 5, looked]
            claim = claims.get(cell.start)
            for number in cell.numbers:
                source = sources.get(number)
                if source is None:
                    continue
                passage = _passage(claim, source.key)
                quote = passage.quote if passage else ""
                page = passage.page if passage else 0
                yield [
                    label,
                    column.name,
                    cell,
                    _verdict(claim),
                    number,
                    readable(source.shown_title),
                    source.shown_time,
                    link_to(source, quote, page) or readable(source.short_location),
                    _day(source.read_at),
                    "",
                    readable(" ".join(quote.split())),
                ]


def _day(time: str) -> date | str:
    """Return the day of a time in ISO 8601; the text if it names none."""
    try:
        return date.fromisoformat(time[:10])
    except ValueError:
        return time


def _passage(claim: ClaimCheck | None, key: str) -> CitedPassage | None:
    """Return the passage of a source that a checked cell cites; None if there is none."""
    for passage in claim.passages if claim else ():
        if passage.source == key:
            return passage
    return None


def _verdict(claim: ClaimCheck | None) -> str:
    """Return the verdict on a cell, for readers."""
    if claim is None:
        return ""
    return "not verified" if claim.is_marked else claim.verdict

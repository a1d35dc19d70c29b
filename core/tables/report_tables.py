"""The tables of a finished report, with values in their types."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from typing import Any, NamedTuple

from ..errors import QuestionRefused
from ..evidence.checking.units import report_units
from ..evidence.citations.markers import marker_numbers, replace_markers
from ..evidence.citations.rendering import without_marks
from ..records.report import Report
from ..records.sources import in_one_line
from ..records.table import (
    CellQuotations,
    CellState,
    Quotation,
    RowCandidate,
    RowRecord,
    TableCell,
    TableColumn,
)
from ..writing.blocks import ReportBlock, TableRow, report_blocks
from .design import design_without_model
from .rows import heading_of, row_id, value_of
from .values import EMPTY_CELL, TypedValue, read_amount, typed

_ONLY_COLUMNS = (
    "Without a language model, a follow-up on a table adds the columns that it names behind a "
    "colon, as in “Add a column: deadline (date)”. For anything else choose a model (models); for "
    "another table, begin a new thread."
)
_CITATION = "\0"
_CITATIONS = re.compile(rf"\s*{_CITATION}")
"""Citations, with the white space before them."""


class SheetCell(NamedTuple):
    """A cell of a report's table."""

    raw: str
    """As it stands in the report."""
    start: int
    """Offset of its words in the text of the report."""
    text: str
    """Its words, without citations and marks; empty if nothing was found."""
    value: TypedValue
    """The words in the type of the column."""
    unit: str = ""
    """Unit of measure or currency of a number."""
    looked_in: tuple[str, ...] = ()
    """Where it was looked for in vain: addresses of pages, paths of documents."""

    @property
    def numbers(self) -> tuple[int, ...]:
        """Numbers of the sources that it cites."""
        return tuple(marker_numbers(self.raw))

    @property
    def is_marked(self) -> bool:
        """Whether it is marked as not verified."""
        return without_marks(self.raw) != self.raw

    @property
    def data(self) -> dict[str, Any]:
        """It as JSON: its value, and what else there is to say of it."""
        data: dict[str, Any] = {"value": self.value}
        if isinstance(self.value, date):
            data["value"] = self.value.isoformat()
        if self.unit:
            data["unit"] = self.unit
        if self.numbers:
            data["sources"] = list(self.numbers)
        if self.is_marked:
            data["is_marked"] = True
        if self.looked_in:
            data["looked_in"] = list(self.looked_in)
        return data

    @property
    def shown_value(self) -> str:
        """Its value as CSV has it, not escaped."""
        if isinstance(self.value, bool):
            return "yes" if self.value else "no"
        if isinstance(self.value, float):
            return f"{self.value:.15g}"
        if isinstance(self.value, date):
            return self.value.isoformat()
        return self.value or ""


class ReportSheet(NamedTuple):
    """A table of a report, with values in their types."""

    columns: Sequence[TableColumn]
    rows: Sequence[Sequence[SheetCell]]

    @property
    def data(self) -> dict[str, Any]:
        """It as JSON: its columns, and its rows as lists of cells."""
        columns = list[dict[str, Any]]()
        for column in self.columns:
            columns.append(column.model_dump(mode="json", exclude_defaults=True))
        rows = list[list[dict[str, Any]]]()
        for row in self.rows:
            rows.append([cell.data for cell in row])
        return {"columns": columns, "rows": rows}

    def name_of(self, row: Sequence[SheetCell]) -> str:
        """Return the words of the key cells of a row."""
        return " · ".join(cell.text for cell in self.key_of(row))

    def key_of(self, row: Sequence[SheetCell]) -> Sequence[SheetCell]:
        """Return the key cells of a row; the first one if no column is known as a key, since its
        heading was edited."""
        key = list[SheetCell]()
        for column, cell in zip(self.columns, row, strict=True):
            if column.is_key:
                key.append(cell)
        return key or row[:1]

    def unverified(self, row: Sequence[SheetCell]) -> str:
        """Return the names of the columns of a row's cells that are marked as not verified."""
        names = list[str]()
        for column, cell in zip(self.columns, row, strict=True):
            if cell.is_marked:
                names.append(column.name)
        return "; ".join(names)

    @property
    def has_unverified(self) -> bool:
        """Whether any cell is marked as not verified."""
        return any(map(self.unverified, self.rows))

    def has_units(self, column: int) -> bool:
        """Whether numbers of a column have a unit."""
        return any(row[column].unit for row in self.rows)


def sheets_of(report: Report) -> list[ReportSheet]:
    """Return the tables of a report, in order.

    Columns that the report knows the kind of have their values in its type, all others as text.
    """
    looked_in = {blanks.row: blanks.read for blanks in report.blanks}
    sheets = list[ReportSheet]()
    for sheet in _sheets(report.text, report.columns):
        rows = list[Sequence[SheetCell]]()
        for row in sheet.rows:
            places = looked_in.get(sheet.name_of(row), ())
            rows.append([cell if cell.text else cell._replace(looked_in=places) for cell in row])
        sheets.append(sheet._replace(rows=rows))
    return sheets


def check_adds_columns(question: str, report: Report | None) -> None:
    """Raise `QuestionRefused` if a follow-up on a report with a table adds no column to it, which
    is all that can be done without a model."""
    known = report.columns if report else ()
    if known and len(design_without_model(question, 0, known).columns) == len(known):
        raise QuestionRefused(_ONLY_COLUMNS)


def kept_rows(report: Report) -> list[RowRecord]:
    """Return the rows of the table of a report, whose cells stay as they are written."""
    sheets = sheets_of(report)
    if not sheets:
        return []
    sheet = max(sheets, key=lambda sheet: len(sheet.rows))
    return [_kept_row(sheet, row, report.keys) for row in sheet.rows]


def _kept_row(
    sheet: ReportSheet, row: Sequence[SheetCell], sources: Mapping[int, str]
) -> RowRecord:
    """Return a row of a table as a record; `sources` are keys by number."""
    key = tuple(cell.text for cell in sheet.key_of(row))
    cited = dict[str, None]()
    cells = list[TableCell]()
    for column, cell in zip(sheet.columns, row, strict=True):
        cited |= {sources[number]: None for number in cell.numbers if number in sources}
        state: CellState = "found" if cell.text else "not found"
        written = without_marks(cell.raw).strip() or EMPTY_CELL
        cells.append(TableCell(column=column.name, state=state, written=written))
    candidates = list[RowCandidate]()
    for source in list(cited) or [""]:
        candidates.append(RowCandidate(key=key, source=source))
    return RowRecord(id=row_id(candidates[0]), candidates=tuple(candidates), cells=tuple(cells))


class TableChanges(NamedTuple):
    """What differs between two tables, in words."""

    new_rows: Sequence[str]
    """Names of the rows that only the second one has."""
    gone_rows: Sequence[str]
    """Names of the rows that only the first one has."""
    cells: Sequence[str]
    """Cells of rows and columns that both have, with the words of each."""


def table_changes(report: Report, table: str, columns: Sequence[TableColumn]) -> TableChanges:
    """Return how a table with these columns differs from that of the report before."""
    before = _words_by_row(report.text, report.columns)
    after = _words_by_row(table, columns)
    cells = list[str]()
    for name, words in after.items():
        known = before.get(name, {})
        for column, text in words.items():
            if column in known and known[column] != text:
                changed = f"{known[column] or EMPTY_CELL} → {text or EMPTY_CELL}"
                cells.append(f"{name}, {column}: {changed}")
    return TableChanges(
        new_rows=[name for name in after if name not in before],
        gone_rows=[name for name in before if name not in after],
        cells=cells,
    )


def _words_by_row(text: str, columns: Sequence[TableColumn]) -> dict[str, dict[str, str]]:
    """Return the words of the cells of a text's tables by column, by the name of their row."""
    rows = dict[str, dict[str, str]]()
    for sheet in _sheets(text, columns):
        for row in sheet.rows:
            words = dict[str, str]()
            for column, cell in zip(sheet.columns, row, strict=True):
                words[column.name] = cell.text
            rows.setdefault(sheet.name_of(row), words)
    return rows


def row_names(table: str, columns: Sequence[TableColumn]) -> list[str]:
    """Return the words of the key cells of each row of a table, in order."""
    names = list[str]()
    for sheet in _sheets(table, columns):
        names += map(sheet.name_of, sheet.rows)
    return names


def cell_quotations(
    table: str, columns: Sequence[TableColumn], rows: Iterable[RowRecord]
) -> CellQuotations:
    """Return the words of sources from which the cells of a table were taken; `rows` are those from
    which it was written, in order."""
    by_start = dict[int, list[Quotation]]()
    for sheet in _sheets(table, columns):
        for row, cells in zip(rows, sheet.rows, strict=False):
            for column, cell in zip(sheet.columns, cells, strict=True):
                by_start[cell.start] = row.quotations(column)
    by_unit: dict[str, tuple[Quotation, ...]] = {}
    for unit in report_units(table, {}):
        quotations = by_start.get(unit.start)
        if quotations:
            by_unit[unit.text] = (*by_unit.get(unit.text, ()), *quotations)
    return CellQuotations(by_unit=by_unit)


def _sheets(text: str, columns: Sequence[TableColumn]) -> Iterator[ReportSheet]:
    """Yield the tables of a text; `columns` are those of which the kind is known."""
    known = dict(zip(map(heading_of, columns), columns, strict=True))
    for block in report_blocks(text):
        if block.kind == "table":
            yield _sheet(block, known)


def _sheet(block: ReportBlock, known: Mapping[str, TableColumn]) -> ReportSheet:
    """Return the table in a block of a report."""
    header, _, *lines = block.text.split("\n")
    columns = list[TableColumn]()
    for cell in TableRow.read(header).values:
        name = _words(cell)
        columns.append(known.get(name) or TableColumn(name=name))
    start = block.text.index("\n", len(header) + 1) + 1 + block.start
    rows = list[list[SheetCell]]()
    for line in lines:
        rows.append(list(_cells(line, start, columns)))
        start += len(line) + 1
    return ReportSheet(columns, rows)


def _cells(line: str, start: int, columns: Sequence[TableColumn]) -> Iterator[SheetCell]:
    """Yield the cells of a row that begins at this offset of a report, one for each column."""
    row = TableRow.read(line)
    start += len(row.before)
    for number, column in enumerate(columns):
        raw = ""
        if number < len(row.cells):
            raw = row.cells[number]
        text = _words(raw)
        if text == EMPTY_CELL:
            text = ""
        value = typed(text, column)
        unit = ""
        amount = read_amount(text)
        if amount and isinstance(value, float):
            # One that a source does not name is that of the column, as its heading says.
            unit = amount.unit or column.unit
        indent = len(raw) - len(raw.lstrip())
        yield SheetCell(raw, start + indent, text, value, unit)
        start += len(raw) + 1


def _words(cell: str) -> str:
    """Return the words of a cell, without citations, marks and escapes."""
    plain = _CITATIONS.sub("", replace_markers(without_marks(cell), _CITATION))
    return value_of(in_one_line(plain.replace("\\|", "|")))

"""Parses Excel documents: a heading for each sheet, and its tables with computed values.

Hidden sheets, rows and columns are not read; a note says so.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime, time, timedelta
from functools import partial
from io import BytesIO
from itertools import chain
from typing import Any
from zipfile import ZipFile

from openpyxl import load_workbook

from ._number_format import shown_duration, shown_time, shown_value
from ._office import SMALL_BYTES, open_office, replace_members
from ._sheet_layout import SheetLayout, read_layout
from ._tables import Cell, tables_of, tables_of_grid, up_to_limit
from ._tagged import Shift, run_text
from .records import Extract

_FORMATTED = re.compile(rb"(<rPr>(?:(?!</rPr>).)*?</rPr>\s*<t[^>]*>)([^<]*)", re.DOTALL)
"""Matches a run of letters with formatting of its own."""
_SHIFT = re.compile(rb'<vertAlign val="(sup|sub)(?:er)?script"/>')
_STRUCK = re.compile(rb'<strike(?: val="(?:1|true)")?\s*/>')
_MOST_NAMED = 10
"""Maximum number of sheets named in a note."""
_MOST_SPANNED = 63
"""Maximum number of columns that a merged cell is repeated in, and of rows that count for its
height, besides its first."""
_EMPTY = Cell("")
_TEXTS = ("xl/sharedStrings.xml", "xl/worksheets/")
_BARE = {
    "xl/styles.xml": b'<styleSheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"/>',
    "docProps/core.xml": b"<coreProperties"
    b' xmlns="http://schemas.openxmlformats.org/package/2006/metadata/core-properties"/>',
    "docProps/custom.xml": b"<Properties"
    b' xmlns="http://schemas.openxmlformats.org/officeDocument/2006/custom-properties"/>',
}


def parse_xlsx(data: bytes) -> Extract:
    """Return title, text and modification date of an Excel document."""
    office = open_office(data)
    _mark_runs(office.file)
    opened = partial(load_workbook, office.file, read_only=True, data_only=True, keep_links=False)
    with warnings.catch_warnings():
        # The library warns about unknown formatting.
        warnings.simplefilter("ignore")
        try:
            book = opened()
        except (ValueError, TypeError):
            # The library rejects styles and properties that other programs accept.
            with ZipFile(office.file) as archive:
                members = archive.namelist()
            bare = {name: part for name, part in _BARE.items() if name in members}
            replace_members(office.file, bare)
            book = opened()
        shown = [sheet for sheet in book.worksheets if sheet.sheet_state == "visible"]
        hidden = [sheet.title for sheet in book.worksheets if sheet.sheet_state != "visible"]
        layouts = [_layout(sheet) for sheet in shown]
        is_struck = any(font.strike for font in book._fonts)
        sheets = chain.from_iterable(map(partial(_sheet, has_struck=is_struck), shown, layouts))
        text = "\n\n".join(up_to_limit(sheets))
    in_part = list[str]()
    for sheet, layout in zip(shown, layouts, strict=True):
        if layout.hidden_rows or layout.hidden_columns:
            in_part.append(sheet.title)
    notes = list[str]()
    if hidden:
        notes.append(f"not read, because hidden: the sheets {_listed(hidden)}")
    if in_part:
        notes.append(f"hidden rows or columns were not read: in the sheets {_listed(in_part)}")
    return Extract(office.title, text, changed=office.changed, note="; ".join(notes))


def _listed(titles: list[str]) -> str:
    listed = [repr(title) for title in titles[:_MOST_NAMED]]
    if len(titles) > _MOST_NAMED:
        listed.append("and others")
    return ", ".join(listed)


def _layout(sheet: Any) -> SheetLayout:
    with sheet.parent._archive.open(sheet._worksheet_path) as member:
        return read_layout(member)


def _mark_runs(file: BytesIO) -> None:
    """Mark superscripts and subscripts in the XML of the cells, and drop struck-out text.

    The library drops formatting inside cells.
    """
    marked = dict[str, bytes]()
    with ZipFile(file) as archive:
        for member in archive.infolist():
            name = member.filename
            if not name.startswith(_TEXTS) or member.file_size >= SMALL_BYTES:
                continue
            part = archive.read(member)
            if b"<rPr>" in part:
                marked[name] = _FORMATTED.sub(_with_signs, part)
            else:
                # Of two members with the same name, the later one counts.
                marked.pop(name, None)
    replace_members(file, marked)


def _with_signs(run: re.Match[bytes]) -> bytes:
    """Return the XML of a run with the control characters for its formatting."""
    before, words = run.groups()
    shift = _SHIFT.search(before)
    tag: Shift = ""
    if shift:
        tag = "sup" if shift[1] == b"sup" else "sub"
    shown = run_text(words.decode(), tag, is_struck=_STRUCK.search(before) is not None)
    return before + shown.encode()


def _sheet(sheet: Any, layout: SheetLayout, *, has_struck: bool) -> Iterator[str]:
    # The stated size of a sheet is often wrong.
    sheet.reset_dimensions()
    shown = partial(_shown, has_struck=has_struck)
    rows = (list(map(shown, row)) for row in sheet.iter_rows())
    if layout.merged or layout.hidden_rows or layout.hidden_columns:
        blocks = tables_of_grid(_cells(rows, layout))
    else:
        blocks = tables_of(rows)
    first = next(blocks, None)
    # An empty sheet gets no heading.
    if first is not None:
        yield f"# {' '.join(sheet.title.split())}"
        yield first
        yield from blocks


def _cells(rows: Iterable[list[str]], layout: SheetLayout) -> Iterator[list[Cell]]:
    """Yield the visible cells of each visible row; a merged cell is in all that it spans."""
    merged = dict[int, tuple[Cell, int]]()
    last_merged_row = 0
    for number, texts in enumerate(rows, 1):
        if number > last_merged_row:
            merged.clear()
        for span in layout.merged.get(number, ()):
            text = texts[span.first_column - 1] if span.first_column <= len(texts) else ""
            columns = range(
                span.first_column, min(span.last_column, span.first_column + _MOST_SPANNED) + 1
            )
            lines = range(span.first_row, min(span.last_row, span.first_row + _MOST_SPANNED) + 1)
            cell = Cell(
                " ".join(text.split()),
                columns=len([column for column in columns if column not in layout.hidden_columns]),
                rows=len([line for line in lines if line not in layout.hidden_rows]),
            )
            merged |= dict.fromkeys(columns, (cell, span.last_row))
            last_merged_row = max(last_merged_row, span.last_row)
        if number not in layout.hidden_rows:
            yield _visible_cells(texts, number, merged, layout)


def _visible_cells(
    texts: list[str],
    number: int,
    merged: Mapping[int, tuple[Cell, int]],
    layout: SheetLayout,
) -> list[Cell]:
    """Return the visible cells of a row; `merged`: by column, merged cells and their last rows."""
    row = list[Cell]()
    width = max([len(texts), *merged])
    for column in range(1, width + 1):
        if column in layout.hidden_columns:
            continue
        cell, last_row = merged.get(column, (_EMPTY, 0))
        if number <= last_row:
            row.append(cell)
        elif column <= len(texts) and texts[column - 1]:
            row.append(Cell(" ".join(texts[column - 1].split())))
        else:
            row.append(_EMPTY)
    return row


def _shown(cell: Any, *, has_struck: bool) -> str:
    """Format the value of a cell approximately as the sheet shows it."""
    value = cell.value
    if value is None:
        return ""
    number_format = ""
    # Unknown styles raise `LookupError`.
    with suppress(LookupError):
        if has_struck and cell.font.strike:
            return ""
        if not isinstance(value, str):
            number_format = cell.number_format or ""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, datetime):
        return shown_time(value, number_format)
    if isinstance(value, timedelta):
        return shown_duration(value)
    if isinstance(value, time):
        return value.isoformat("seconds" if value.second else "minutes")
    if isinstance(value, (int, float)):
        return shown_value(value, number_format)
    return str(value)

"""Parses Excel documents: a heading for each sheet, and its tables with computed values."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, time
from functools import partial
from io import BytesIO
from itertools import chain
from typing import Any
from zipfile import ZipFile

from openpyxl import load_workbook

from ._office import SMALL_BYTES, open_office, replace_members
from ._raised import END, LOWERED, RAISED
from ._tables import shown_number, tables_of, up_to_limit
from .records import Extract

_SHIFTED = re.compile(
    rb'(<vertAlign val="(super|sub)script"/>(?:(?!</?r>).)*?<t[^>]*>)([^<]*)', re.DOTALL
)
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
    _mark_shifted(office.file)
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
        sheets = chain.from_iterable(map(_sheet, book.worksheets))
        text = "\n\n".join(up_to_limit(sheets))
    return Extract(office.title, text, changed=office.changed)


def _mark_shifted(file: BytesIO) -> None:
    """Mark superscripts and subscripts in the XML of the cells.

    The library drops formatting inside cells.
    """
    marked = dict[str, bytes]()
    with ZipFile(file) as archive:
        for member in archive.infolist():
            name = member.filename
            if not name.startswith(_TEXTS) or member.file_size >= SMALL_BYTES:
                continue
            part = _SHIFTED.sub(_with_signs, archive.read(member))
            if b"vertAlign" in part:
                marked[name] = part
            else:
                # Of two members with the same name, the later one counts.
                marked.pop(name, None)
    replace_members(file, marked)


def _with_signs(text: re.Match[bytes]) -> bytes:
    """Enclose a shifted text in a cell in control characters."""
    before, kind, words = text.groups()
    sign = RAISED if kind == b"super" else LOWERED
    return b"".join([before, sign.encode(), words, END.encode()])


def _sheet(sheet: Any) -> Iterator[str]:
    # The stated size of a sheet is often wrong.
    sheet.reset_dimensions()
    rows = (list(map(_shown, row)) for row in sheet.iter_rows())
    blocks = tables_of(rows)
    first = next(blocks, None)
    # An empty sheet gets no heading.
    if first is not None:
        yield f"# {' '.join(sheet.title.split())}"
        yield first
        yield from blocks


def _shown(cell: Any) -> str:
    """Format the value of a cell approximately as the sheet shows it."""
    value = cell.value
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, datetime):
        is_day = value.time() == time()
        return value.date().isoformat() if is_day else value.isoformat(" ", "minutes")
    if isinstance(value, (int, float)):
        # Unknown styles raise `LookupError`.
        with suppress(LookupError):
            if "%" in (getattr(cell, "number_format", "") or ""):
                return f"{shown_number(100 * value)}%"
        return shown_number(value)
    return str(value)

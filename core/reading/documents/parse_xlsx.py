"""Parses Excel documents: for each sheet a heading, and its tables with the last computed values."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, time
from functools import partial
from itertools import chain
from typing import Any
from zipfile import ZipFile

from openpyxl import load_workbook

from ..records import Extract
from .office import SMALL_BYTES, open_office, replace_members
from .raised import END, LOWERED, RAISED
from .tables import shown_number, tables_of, up_to_limit

_SHIFTED = re.compile(rb'(<vertAlign val="(super|sub)script"/>(?:(?!</?r>).)*?<t[^>]*>)([^<]*)', re.DOTALL)
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
    # Mark superscripts and subscripts in the XML, since the library drops formatting inside cells.
    signs = {b"super": RAISED.encode(), b"sub": LOWERED.encode()}
    with ZipFile(office.file) as archive:
        names = archive.namelist()
        infos = [info for info in archive.infolist() if info.filename.startswith(_TEXTS)]
        parts = {info.filename: archive.read(info) for info in infos if info.file_size < SMALL_BYTES}
    for name, part in parts.items():
        parts[name] = _SHIFTED.sub(lambda found: found[1] + signs[found[2]] + found[3] + END.encode(), part)
    replace_members(office.file, {name: part for name, part in parts.items() if b"vertAlign" in part})
    opened = partial(load_workbook, office.file, read_only=True, data_only=True, keep_links=False)
    with warnings.catch_warnings():
        # The library warns about unknown formatting.
        warnings.simplefilter("ignore")
        try:
            book = opened()
        except (ValueError, TypeError):
            # The library rejects styles and properties that other programs accept.
            replace_members(office.file, {name: part for name, part in _BARE.items() if name in names})
            book = opened()
        text = "\n\n".join(up_to_limit(chain.from_iterable(map(_sheet, book.worksheets))))
    return Extract(office.title, text, changed=office.changed)


def _sheet(sheet: Any) -> Iterator[str]:
    # The stated size of a sheet is often wrong.
    sheet.reset_dimensions()
    blocks = tables_of(list(map(_shown, row)) for row in sheet.iter_rows())
    # An empty sheet gets no heading.
    if (first := next(blocks, None)) is not None:
        yield from (f"# {' '.join(sheet.title.split())}", first)
        yield from blocks


def _shown(cell: Any) -> str:
    """Format the value of a cell approximately as the sheet shows it."""
    value = cell.value
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, datetime):
        return value.date().isoformat() if value.time() == time() else value.isoformat(" ", "minutes")
    if isinstance(value, (int, float)):
        # Unknown styles raise `LookupError`.
        with suppress(LookupError):
            if "%" in (getattr(cell, "number_format", "") or ""):
                return f"{shown_number(100 * value)}%"
        return shown_number(value)
    return "" if value is None else str(value)

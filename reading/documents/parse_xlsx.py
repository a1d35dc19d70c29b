"""Excel documents to text: a heading for each sheet, and its tables with the values that were last computed."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator
from datetime import datetime, time
from io import BytesIO
from itertools import chain
from typing import Any
from zipfile import ZipFile

from openpyxl import load_workbook

from ..records import Extract
from .office import open_office, put_in
from .parse_csv import tables_of, up_to_limit

SHEET_BYTES = 10_000_000
"""Of a longer sheet the beginning is read: more text than is kept."""

_SHEETS = "xl/worksheets/"
_LAST_ROW = re.compile(rb"</((?:\w+:)?)row>")
_BARE = {
    "xl/styles.xml": b'<styleSheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"/>',
    "docProps/core.xml": b"<coreProperties"
    b' xmlns="http://schemas.openxmlformats.org/package/2006/metadata/core-properties"/>',
    "docProps/custom.xml": b"<Properties"
    b' xmlns="http://schemas.openxmlformats.org/officeDocument/2006/custom-properties"/>',
}


def shortened_sheets(file: BytesIO) -> dict[str, bytes]:
    """The beginnings of those sheets that are too long, by their names."""
    found: dict[str, bytes] = {}
    with ZipFile(file) as archive:
        for member in archive.infolist():
            if member.filename.startswith(_SHEETS) and member.file_size > SHEET_BYTES:
                with archive.open(member) as sheet:
                    found[member.filename] = _closed(sheet.read(SHEET_BYTES))
    return found


def without_looks(file: BytesIO) -> dict[str, bytes]:
    """Empty ones in place of its styles and properties."""
    with ZipFile(file) as archive:
        names = set(archive.namelist())
    return {name: part for name, part in _BARE.items() if name in names}


def _closed(beginning: bytes) -> bytes:
    """The beginning of a sheet up to the last row that is whole, as a sheet."""
    ends = list(_LAST_ROW.finditer(beginning))
    if not ends:
        return beginning
    prefix = ends[-1].group(1)
    return beginning[: ends[-1].end()] + b"</" + prefix + b"sheetData></" + prefix + b"worksheet>"


DIGITS = 12


def parse_xlsx(data: bytes) -> Extract:
    """Title, text and last change of an Excel document."""
    office = open_office(data)
    shortened = shortened_sheets(office.file)
    put_in(office.file, shortened)
    with warnings.catch_warnings():
        # The library warns of looks that it does not know.
        warnings.simplefilter("ignore")
        blocks = chain.from_iterable(map(_sheet, _book(office.file).worksheets))
        text = "\n\n".join(up_to_limit(blocks))
    return Extract(office.title, text, is_cut=bool(shortened), changed=office.changed)


def _book(file: BytesIO) -> Any:
    try:
        return load_workbook(file, read_only=True, data_only=True, keep_links=False)
    except (ValueError, TypeError):
        # The library is strict about looks and properties, which other programs write as they like.
        put_in(file, without_looks(file))
        return load_workbook(file, read_only=True, data_only=True, keep_links=False)


def _sheet(sheet: Any) -> Iterator[str]:
    # What a sheet says of its own size is often wrong.
    sheet.reset_dimensions()
    name = f"# {' '.join(sheet.title.split())}"
    for block in tables_of(_rows(sheet.iter_rows())):
        if name:
            # An empty sheet is not worth its heading.
            yield name
            name = ""
        yield block


def _rows(rows: Iterable[Iterable[Any]]) -> Iterator[list[str]]:
    for row in rows:
        yield [_shown(cell.value, _is_share(cell)) for cell in row]


def _is_share(cell: Any) -> bool:
    try:
        return "%" in (getattr(cell, "number_format", "") or "")
    except LookupError:
        return False


def _shown(value: object, is_share: bool) -> str:
    """A value nearly as its sheet shows it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, datetime):
        return value.date().isoformat() if value.time() == time() else value.isoformat(" ", "minutes")
    if isinstance(value, (int, float)):
        number = f"{value * 100 if is_share else value:.{DIGITS}g}"
        return f"{number}%" if is_share else number
    return str(value)

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
from .office import SMALL_BYTES, open_office, put_in
from .parse_csv import shown_number, tables_of, up_to_limit
from .raised import END, LOWERED, RAISED

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
    """Return title, text and last change of an Excel document."""
    office = open_office(data)
    _sign_raised(office.file)
    with warnings.catch_warnings():
        # The library warns of looks that it does not know.
        warnings.simplefilter("ignore")
        blocks = chain.from_iterable(map(_sheet, _book(office.file).worksheets))
        text = "\n\n".join(up_to_limit(blocks))
    return Extract(office.title, text, changed=office.changed)


def _sign_raised(file: BytesIO) -> None:
    """Put the signs of raised and lowered text into the texts of cells: the library joins their parts."""
    signs = {b"super": RAISED.encode(), b"sub": LOWERED.encode()}
    with ZipFile(file) as archive:
        members = [one for one in archive.infolist() if one.filename.startswith(_TEXTS) and one.file_size < SMALL_BYTES]
        parts = {one.filename: archive.read(one) for one in members}
    shifted = {name: part for name, part in parts.items() if b"vertAlign" in part}
    for name, part in shifted.items():
        shifted[name] = _SHIFTED.sub(lambda found: found[1] + signs[found[2]] + found[3] + END.encode(), part)
    put_in(file, shifted)


def _book(file: BytesIO) -> Any:
    try:
        return load_workbook(file, read_only=True, data_only=True, keep_links=False)
    except (ValueError, TypeError):
        # The library is strict about looks and properties, which other programs write as they like.
        with ZipFile(file) as archive:
            names = set(archive.namelist())
        put_in(file, {name: part for name, part in _BARE.items() if name in names})
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
    """Return a value nearly as its sheet shows it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, datetime):
        return value.date().isoformat() if value.time() == time() else value.isoformat(" ", "minutes")
    if isinstance(value, (int, float)):
        return f"{shown_number(100 * value)}%" if is_share else shown_number(value)
    return str(value)

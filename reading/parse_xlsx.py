"""Excel documents to text: a heading for each sheet, and its tables with the values that were last computed."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from datetime import datetime, time
from io import BytesIO
from itertools import chain
from typing import Any

from openpyxl import load_workbook

from .archives import put_in
from .office import open_office
from .records import Extract
from .sheet_parts import shortened_sheets, without_looks
from .tables import tables_of, up_to_limit

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

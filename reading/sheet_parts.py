"""What in an Excel document is replaced before a library opens it: sheets that are too long, looks that it refuses."""

from __future__ import annotations

import re
from io import BytesIO
from zipfile import ZipFile

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

"""Merged cells, hidden rows and hidden columns of an Excel sheet, which the library does not
report when it reads row by row."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import IO, NamedTuple

_CHUNK_BYTES = 1_000_000
_TAG_BYTES = 2000
"""Longest tag that is looked at."""
_MOST_MERGED = 50_000
"""Maximum number of merged cells."""
_MOST_COLUMNS = 16_384
_TAG = re.compile(
    rb'<(?:\w+:)?(row|col)\b([^<>]*\bhidden="(?:1|true)"[^<>]*)>|<(?:\w+:)?(mergeCell)\b([^<>]*)>'
)
_ATTRIBUTE = re.compile(rb'\b(r|min|max|ref)="([^"]*)"')
_RANGE = re.compile(rb"\$?([A-Z]{1,3})\$?(\d{1,7}):\$?([A-Z]{1,3})\$?(\d{1,7})")
_LETTERS = 26


class Merged(NamedTuple):
    """A merged cell; rows and columns count from 1."""

    first_row: int
    first_column: int
    last_row: int
    last_column: int


class SheetLayout(NamedTuple):
    """What is merged and hidden in a sheet."""

    merged: Mapping[int, Sequence[Merged]]
    """Merged cells by their first row."""
    hidden_rows: frozenset[int]
    hidden_columns: frozenset[int]


def read_layout(sheet: IO[bytes]) -> SheetLayout:
    """Read the layout of a sheet from its XML, in pieces."""
    merged = defaultdict[int, list[Merged]](list)
    hidden_rows = set[int]()
    hidden_columns = set[int]()
    count = 0
    rest = b""
    while chunk := sheet.read(_CHUNK_BYTES):
        piece = rest + chunk
        end = 0
        for tag in _TAG.finditer(piece):
            end = tag.end()
            attributes = dict(_ATTRIBUTE.findall(tag[2] or tag[4] or b""))
            if tag[1] == b"row" and attributes.get(b"r", b"").isdigit():
                hidden_rows.add(int(attributes[b"r"]))
            elif tag[1] == b"col" and {b"min", b"max"} <= attributes.keys():
                last = min(int(attributes[b"max"]), _MOST_COLUMNS)
                hidden_columns.update(range(int(attributes[b"min"]), last + 1))
            elif tag[3] and count < _MOST_MERGED:
                found = _RANGE.fullmatch(attributes.get(b"ref", b""))
                if found:
                    count += 1
                    left, top, right, bottom = found.groups()
                    cell = Merged(int(top), _column(left), int(bottom), _column(right))
                    merged[cell.first_row].append(cell)
        rest = piece[max(end, len(piece) - _TAG_BYTES) :]
    return SheetLayout(merged, frozenset(hidden_rows), frozenset(hidden_columns))


def _column(letters: bytes) -> int:
    number = 0
    for letter in letters:
        number = number * _LETTERS + letter - ord("A") + 1
    return number

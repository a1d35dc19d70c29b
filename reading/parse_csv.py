"""Tables of text to Markdown tables, by whatever sign their cells are parted."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator
from typing import Literal

from .decode import TEXT_BYTES, clean, decode
from .records import TEXT_CHARACTERS, Extract
from .tables import tables_of, up_to_limit

DELIMITERS = ",;\t|"
SAMPLED_LINES = 50

_DECLARED = re.compile(r"sep=(.)\n", re.IGNORECASE)


def parse_csv(data: bytes, charset: str = "") -> Extract:
    """The text of a table; it states neither title nor date."""
    text = clean(decode(data, charset)).lstrip("\n")
    declared = _DECLARED.match(text)
    text = text[declared.end() :] if declared else text
    delimiter = declared.group(1) if declared else _delimiter(text)
    try:
        blocks = list(up_to_limit(tables_of(_rows(text, delimiter, csv.QUOTE_MINIMAL))))
    except csv.Error:
        # A quotation mark that is never closed: it is a sign like others.
        blocks = list(up_to_limit(tables_of(_rows(text, delimiter, csv.QUOTE_NONE))))
    return Extract("", "\n\n".join(blocks), is_cut=len(data) > TEXT_BYTES)


def _rows(text: str, delimiter: str, quoting: Literal[0, 3]) -> Iterator[list[str]]:
    csv.field_size_limit(TEXT_CHARACTERS)
    return csv.reader(text.splitlines(keepends=True), delimiter=delimiter, quoting=quoting, skipinitialspace=True)


def _delimiter(text: str) -> str:
    """The sign that leaves no quotation marks and cuts most first lines into equally many cells, at least two."""
    lines = text.split("\n", SAMPLED_LINES)[:SAMPLED_LINES]
    return max(DELIMITERS, key=lambda sign: _evenness(lines, sign))


def _evenness(lines: list[str], delimiter: str) -> tuple[int, int, int]:
    rows = list(csv.reader(lines, delimiter=delimiter, skipinitialspace=True))
    marks = sum(cell.count('"') for row in rows for cell in row)
    widths = Counter(len(row) for row in rows if len(row) > 1)
    width, rows_of_it = widths.most_common(1)[0] if widths else (0, 0)
    return -marks, rows_of_it, width

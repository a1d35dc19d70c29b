"""Tables of text to Markdown tables; long ones are cut so that each piece stands under its own header."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from ..records import TEXT_CHARACTERS, Extract

PIECE_CHARACTERS = 1000
LONG_HEADER = 400
"""Characters; a longer header is not repeated."""
CELL_CHARACTERS = 100_000
"""Of one cell: a longer one begins with a quotation mark that is never closed."""
DIGITS = 14
"""Of a number that a program computed."""

Row = Sequence[str]
DELIMITERS = ",;\t|"
SAMPLED_LINES = 50
_DECLARED = re.compile(r"sep=(.)\n", re.IGNORECASE)


def tables_of(rows: Iterable[Row]) -> Iterator[str]:
    """Yield the tables of a sheet one after the other; empty rows separate them.

    A table that alone is more than is kept of a text ends there.
    """
    block: list[Row] = []
    length = 0
    for row in rows:
        cells = [" ".join(cell.split()) for cell in row]
        if any(cells):
            block.append(cells)
        elif block:
            yield from table_of(block)
            block, length = [], 0
        length += sum(map(len, cells))
        if length > TEXT_CHARACTERS:
            break
    yield from table_of(block)


def up_to_limit(blocks: Iterable[str]) -> Iterator[str]:
    """Yield the blocks of a text until there is more than is kept of one; no more of them are asked for."""
    length = 0
    for block in blocks:
        yield block
        length += len(block)
        if length > TEXT_CHARACTERS:
            return


def shown_number(number: float) -> str:
    """Return a number without the last figures, which come from binary arithmetic."""
    return f"{number:.{DIGITS}g}"


def table_of(rows: Sequence[Row]) -> Iterator[str]:
    """Return one table with its first row as header; lines before it that fill one cell only stand above it as text."""
    used = sorted({place for row in rows for place, cell in enumerate(row) if cell})
    filled = [[row[place] if place < len(row) else "" for place in used] for row in rows]
    width = max(map(len, filled), default=0)
    while filled and (width == 1 or (filled[0][0] and not any(filled[0][1:]))):
        yield "".join(filled.pop(0))
    if filled:
        yield from _pieces(filled, width)


def _pieces(rows: list[list[str]], width: int) -> Iterator[str]:
    top = f"{_line(rows[0])}\n|{' --- |' * width}"
    piece = top
    for row in rows[1:]:
        line = _line(row)
        if len(top) <= LONG_HEADER and len(piece) > len(top) and len(piece) + len(line) > PIECE_CHARACTERS:
            yield piece
            piece = top
        piece += f"\n{line}"
    yield piece


def _line(row: Row) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"


def parse_csv(text: str) -> Extract:
    """Return the text of a table; it states neither title nor date."""
    text = text.lstrip("\n")
    declared = _DECLARED.match(text)
    text = text[declared.end() :] if declared else text
    lines = text.split("\n", SAMPLED_LINES)[:SAMPLED_LINES]
    # The sign that leaves no quotation marks and cuts most first lines into the same number of cells.
    delimiter = declared.group(1) if declared else max(DELIMITERS, key=lambda sign: _evenness(lines, sign))
    try:
        blocks = list(up_to_limit(tables_of(_rows(text, delimiter, csv.QUOTE_MINIMAL))))
    except csv.Error:
        # A quotation mark that is never closed: it is a sign like others.
        blocks = list(up_to_limit(tables_of(_rows(text, delimiter, csv.QUOTE_NONE))))
    return Extract("", "\n\n".join(blocks))


def _rows(text: str, delimiter: str, quoting: Literal[0, 3]) -> Iterator[list[str]]:
    csv.field_size_limit(CELL_CHARACTERS)
    return csv.reader(text.splitlines(keepends=True), delimiter=delimiter, quoting=quoting, skipinitialspace=True)


def _evenness(lines: list[str], delimiter: str) -> tuple[int, int, int]:
    rows = list(csv.reader(lines, delimiter=delimiter, skipinitialspace=True))
    marks = sum(cell.count('"') for row in rows for cell in row)
    widths = Counter(len(row) for row in rows if len(row) > 1)
    width, rows_of_it = widths.most_common(1)[0] if widths else (0, 0)
    return -marks, rows_of_it, width

"""Writes tables as Markdown: repeats merged cells, joins header rows, and splits long tables under repeated headers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ..records import TEXT_CHARACTERS

_MOST_COLUMNS = 64
"""Maximum number of columns that a cell can span."""
_MOST_REPEATED = 50_000
"""Maximum number of extra cells made when a table's merged cells are expanded."""
_MOST_HEADINGS = 4
"""Maximum number of header rows."""
_PIECE_CHARACTERS = 1000
"""A longer table is split into pieces of about this length, each with the header."""
_LONG_HEADER = 400
"""Maximum length of a table header that is repeated."""
_DIGITS = 14
"""Significant digits of a computed number."""
_FIGURE = re.compile(r"\d")
_DIGITS_MEET = re.compile(r"(?<=\d)\s*\n\s*(?=\d)")


class Cell(NamedTuple):
    """A table cell; `columns` and `rows` are how many of them it spans."""

    text: str
    columns: int = 1
    rows: int = 1
    is_heading: bool = False


def cell_text(text: str) -> str:
    """Join the lines of a cell; numbers on separate lines stay separate."""
    return " ".join(_DIGITS_MEET.sub("; ", text.strip()).split())


def tables_of_cells(rows: Sequence[Sequence[Cell]]) -> Iterator[str]:
    """Yield a table as Markdown; merged cells are repeated and header rows joined.

    A cell that spans a whole row becomes a line above the rows that follow. Two columns without column headers become
    lines with a label and a value.
    """
    grid = [row for row in _grid(rows) if any(cell.text for cell in row)]
    width = max(map(len, grid), default=0)
    depth = 0
    while len(grid) - depth > 1 and _is_line(grid[depth], width):
        depth += 1
    yield from (row[0].text for row in grid[:depth])
    header, body = _header_and_body(grid[depth:], width)
    block = [header]
    for row in body:
        if _is_line(row, width):
            yield from _table(block)
            yield row[0].text
            block = [header]
        else:
            block.append([cell.text for cell in row])
    if len(block) > 1 or not body:
        yield from _table(block)


def tables_of(rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield the tables of a sheet as Markdown, up to the maximum length of a text; empty rows separate tables."""
    block: list[Sequence[str]] = []
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
    """Yield blocks of text until their total length exceeds `TEXT_CHARACTERS`."""
    length = 0
    for block in blocks:
        yield block
        length += len(block)
        if length > TEXT_CHARACTERS:
            return


def shown_number(number: float) -> str:
    """Format a number without binary rounding errors."""
    return f"{number:.{_DIGITS}g}"


def table_of(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield a table as Markdown, its first row as header; rows before it with a single cell become text above."""
    used = sorted({column for row in rows for column, cell in enumerate(row) if cell})
    filled = [[row[column] if column < len(row) else "" for column in used] for row in rows]
    width = max(map(len, filled), default=0)
    while filled and (width == 1 or (filled[0][0] and not any(filled[0][1:]))):
        yield "".join(filled.pop(0))
    if not filled:
        return
    top = f"{_line(filled[0])}\n|{' --- |' * width}"
    piece = top
    for row in filled[1:]:
        line = _line(row)
        if len(top) <= _LONG_HEADER and len(piece) > len(top) and len(piece) + len(line) > _PIECE_CHARACTERS:
            yield piece
            piece = top
        piece += f"\n{line}"
    yield piece


def _line(row: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"


def _is_line(row: list[Cell], width: int) -> bool:
    """Whether a row is a single cell across the whole table, such as a subheading."""
    return len(row) == width and all(cell is row[0] for cell in row)


def _table(block: list[list[str]]) -> Iterator[str]:
    if len(block[0]) == 2 and not any(block[0]):
        yield "\n".join(": ".join(filter(None, row)) for row in block[1:])
    elif len(block) > 1 or any(block[0]):
        yield from table_of(block)


def _header_and_body(grid: list[list[Cell]], width: int) -> tuple[list[str], list[list[Cell]]]:
    """Return the column headers and the rows below; the headers are empty if the table has only row headers."""
    is_header = [all(cell.is_heading for cell in row) and not _is_line(row, width) for row in grid]
    depth = is_header.index(False) if False in is_header else 1
    if not depth and any(cell.is_heading for row in grid for cell in row):
        return [""] * width, grid
    first, second = [*grid, [], []][:2]
    if any(cell.columns > 1 for cell in first):
        has_figures = any(_FIGURE.search(cell.text) for cell in second if cell not in first)
        depth = max(depth, 1 if has_figures else 2, *(cell.rows for cell in first))
    depth = min(max(depth, 1), _MOST_HEADINGS, max(len(grid) - 1, 1))
    columns = ([row[index].text for row in grid[:depth] if index < len(row)] for index in range(width))
    return [" / ".join(dict.fromkeys(filter(None, column))) for column in columns], grid[depth:]


def _grid(rows: Sequence[Sequence[Cell]]) -> list[list[Cell]]:
    """Return the rows of a table with each merged cell repeated in all rows and columns that it spans."""
    grid = [dict[int, Cell]() for _ in rows]
    room = _MOST_REPEATED
    for line, row in enumerate(rows):
        column = 0
        for cell in row:
            while column in grid[line]:
                column += 1
            columns, height = max(1, min(cell.columns, _MOST_COLUMNS)), max(1, min(cell.rows, len(rows) - line))
            room -= columns * height - 1
            columns, height = (columns, height) if room >= 0 else (1, 1)
            kept = cell._replace(columns=columns, rows=height)
            for below in range(line, line + height):
                grid[below].update(dict.fromkeys(range(column, column + columns), kept))
            column += columns
    empty = Cell("")
    return [[row.get(column, empty) for column in range(max(row, default=-1) + 1)] for row in grid]

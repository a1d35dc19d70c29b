"""Resolves merged cells and multi-row headers of tables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from .parse_csv import table_of

MOST_COLUMNS = 64
MOST_REPEATED = 50_000
"""Maximum number of extra cells by which the merged cells of a table are expanded."""
MOST_HEADINGS = 4
_FIGURE = re.compile(r"\d")
_DIGITS_MEET = re.compile(r"(?<=\d)\s*\n\s*(?=\d)")


class Cell(NamedTuple):
    """A table cell with its spans."""

    text: str
    columns: int = 1
    rows: int = 1
    is_heading: bool = False


def cell_text(text: str) -> str:
    """Join the lines of a cell; figures on two lines stay separate."""
    return " ".join(_DIGITS_MEET.sub("; ", text.strip()).split())


def tables_of_cells(rows: Sequence[Sequence[Cell]]) -> Iterator[str]:
    """Yield a table as Markdown, with merged cells repeated.

    Rows of headings become one. A cell that takes a whole row stands above the rows that follow, as a line of its own.
    A table of two columns whose rows have names and whose columns have none becomes lines of fields.
    """
    grid = [row for row in _grid(rows) if any(cell.text for cell in row)]
    width = max(map(len, grid), default=0)
    depth = 0
    while len(grid) - depth > 1 and _is_line(grid[depth], width):
        depth += 1
    yield from (row[0].text for row in grid[:depth])
    header, body = _parted(grid[depth:], width)
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


def _is_line(row: list[Cell], width: int) -> bool:
    return len(row) == width and all(cell is row[0] for cell in row)


def _table(block: list[list[str]]) -> Iterator[str]:
    if len(block[0]) == 2 and not any(block[0]):
        yield "\n".join(": ".join(filter(None, row)) for row in block[1:])
    elif len(block) > 1 or any(block[0]):
        yield from table_of(block)


def _parted(grid: list[list[Cell]], width: int) -> tuple[list[str], list[list[Cell]]]:
    """Return the column headers and the rows below; the headers are empty if only the rows have headers."""
    is_head = [all(cell.is_heading for cell in row) and not _is_line(row, width) for row in grid]
    depth = is_head.index(False) if False in is_head else 1
    if not depth and any(cell.is_heading for row in grid for cell in row):
        return [""] * width, grid
    first, second = [*grid, [], []][:2]
    if any(cell.columns > 1 for cell in first):
        has_figures = any(_FIGURE.search(cell.text) for cell in second if cell not in first)
        depth = max(depth, 1 if has_figures else 2, *(cell.rows for cell in first))
    depth = min(max(depth, 1), MOST_HEADINGS, max(len(grid) - 1, 1))
    columns = ([row[place].text for row in grid[:depth] if place < len(row)] for place in range(width))
    return [" / ".join(dict.fromkeys(filter(None, column))) for column in columns], grid[depth:]


def _grid(rows: Sequence[Sequence[Cell]]) -> list[list[Cell]]:
    """Expand merged cells."""
    grid = [dict[int, Cell]() for _ in rows]
    room = MOST_REPEATED
    for line, row in enumerate(rows):
        place = 0
        for cell in row:
            while place in grid[line]:
                place += 1
            columns, height = max(1, min(cell.columns, MOST_COLUMNS)), max(1, min(cell.rows, len(rows) - line))
            room -= columns * height - 1
            columns, height = (columns, height) if room >= 0 else (1, 1)
            kept = cell._replace(columns=columns, rows=height)
            for below in range(line, line + height):
                grid[below].update(dict.fromkeys(range(place, place + columns), kept))
            place += columns
    empty = Cell("")
    return [[row.get(place, empty) for place in range(max(row, default=-1) + 1)] for row in grid]

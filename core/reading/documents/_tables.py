"""Writes tables as Markdown: repeats merged cells, joins header rows, splits long tables."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from .records import TEXT_CHARACTERS

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
_YEAR = re.compile(r"(?:1[89]|20|21)\d\d")
_DIGITS_MEET = re.compile(r"(?<=\d)\s*\n\s*(?=\d)")


class Cell(NamedTuple):
    """A table cell; `columns` and `rows` are how many of them it spans."""

    text: str
    columns: int = 1
    rows: int = 1
    is_heading: bool = False


_NO_CELL = Cell("")


def cell_text(text: str) -> str:
    """Join the lines of a cell; numbers on separate lines stay separate."""
    return " ".join(_DIGITS_MEET.sub("; ", text.strip()).split())


def joined_names(names: Iterable[str]) -> str:
    """Join the names above a column, from several header rows, without repetitions."""
    return " / ".join(dict.fromkeys(filter(None, names)))


def tables_of_cells(rows: Sequence[Sequence[Cell]]) -> Iterator[str]:
    """Yield a table as Markdown; merged cells are repeated and header rows joined.

    A cell that spans a whole row becomes a line above the rows that follow. Two columns without
    column headers become lines with a label and a value.
    """
    yield from _tables_of_grid([row for row in _grid(rows) if any(map(_text, row))])


def tables_of_grid(rows: Iterable[Sequence[Cell]]) -> Iterator[str]:
    """Yield the tables of a sheet as Markdown, up to the maximum length of a text.

    A merged cell is the same `Cell` in all rows and columns that it spans. Empty rows separate
    tables.
    """
    block: list[Sequence[Cell]] = []
    length = 0
    for row in rows:
        is_covered = bool(block) and _repeats(row, block[-1])
        if any(map(_text, row)):
            if not is_covered:
                block.append(row)
        elif block:
            yield from _sheet_table(block)
            block = []
            length = 0
        length += sum(len(cell.text) for cell in row)
        if length > TEXT_CHARACTERS:
            break
    yield from _sheet_table(block)


def _repeats(row: Sequence[Cell], above: Sequence[Cell]) -> bool:
    """Whether a row has no text of its own, but that of merged cells above."""
    own = [cell for cell in row if cell.text and (cell.rows == 1 or cell not in above)]
    return not own and any(map(_text, row))


def _sheet_table(block: list[Sequence[Cell]]) -> Iterator[str]:
    if not any(cell.columns > 1 or cell.rows > 1 for row in block for cell in row):
        yield from table_of([list(map(_text, row)) for row in block])
        return
    used = set[int]()
    for row in block:
        previous = _NO_CELL
        for column, cell in enumerate(row):
            # A title that is wider than its table makes no column.
            if cell.text and cell is not previous:
                used.add(column)
            previous = cell
    columns = sorted(used)
    grid = list[list[Cell]]()
    for row in block:
        cells = dict(enumerate(row))
        grid.append([cells.get(column, _NO_CELL) for column in columns])
    while len(grid) > 1 and _is_title(grid[0]):
        yield grid.pop(0)[0].text
    yield from _tables_of_grid(grid)


def _is_title(row: list[Cell]) -> bool:
    """Whether a row above a table has a single text, which begins in the first column."""
    first = row[0]
    others = [cell for cell in row if cell is not first and cell.text]
    return bool(first.text) and not others and (first.rows == 1 or row[-1] is first)


def _tables_of_grid(grid: list[list[Cell]]) -> Iterator[str]:
    width = max(map(len, grid), default=0)
    title_rows = 0
    while len(grid) - title_rows > 1 and _is_line(grid[title_rows], width):
        yield grid[title_rows][0].text
        title_rows += 1
    header, body = _header_and_body(grid[title_rows:], width)
    block = [header]
    for row in body:
        if _is_line(row, width):
            yield from _table(block)
            yield row[0].text
            block = [header]
        else:
            block.append(list(map(_text, row)))
    if len(block) > 1 or not body:
        yield from _table(block)


def tables_of(rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield the tables of a sheet as Markdown, up to the maximum length of a text.

    Empty rows separate tables.
    """
    block: list[Sequence[str]] = []
    length = 0
    for row in rows:
        cells = [" ".join(cell.split()) for cell in row]
        if any(cells):
            block.append(cells)
        elif block:
            yield from table_of(block)
            block = []
            length = 0
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
    """Yield a table as Markdown, its first row as header.

    Rows before it with a single cell become text above.
    """
    used = set[int]()
    for row in rows:
        used.update(column for column, cell in enumerate(row) if cell)
    filled = deque[list[str]]()
    for row in rows:
        cells = dict(enumerate(row))
        filled.append([cells.get(column, "") for column in sorted(used)])
    width = len(used)
    while filled and (width == 1 or (filled[0][0] and not any(filled[0][1:]))):
        yield "".join(filled.popleft())
    if not filled:
        return
    top = f"{_line(filled.popleft())}\n|{' --- |' * width}"
    is_repeated = len(top) <= _LONG_HEADER
    piece = top
    for row in filled:
        line = _line(row)
        is_full = len(piece) + len(line) > _PIECE_CHARACTERS
        if is_repeated and len(piece) > len(top) and is_full:
            yield piece
            piece = top
        piece += f"\n{line}"
    yield piece


def _line(row: Sequence[str]) -> str:
    cells = [cell.replace("|", "\\|") for cell in row]
    return f"| {' | '.join(cells)} |"


def _text(cell: Cell) -> str:
    return cell.text


def _is_heading(cell: Cell) -> bool:
    return cell.is_heading


def _is_line(row: list[Cell], width: int) -> bool:
    """Whether a row is a single cell across the whole table, such as a subheading."""
    return len(row) == width and all(cell is row[0] for cell in row)


def _table(block: list[list[str]]) -> Iterator[str]:
    header, *body = block
    if any(header):
        yield from table_of(block)
    elif len(header) == 2:
        yield "\n".join(": ".join(filter(None, row)) for row in body)
    elif body:
        yield from table_of(block)


def _header_and_body(grid: list[list[Cell]], width: int) -> tuple[list[str], list[list[Cell]]]:
    """Return the column headers and the rows below.

    The headers are empty if the table has only row headers.
    """
    depth = _depth_of_header(grid, width)
    if not depth:
        return [""] * width, grid
    columns: list[list[str]] = [[] for _ in range(width)]
    for row in grid[:depth]:
        for index, cell in enumerate(row):
            columns[index].append(cell.text)
    return list(map(joined_names, columns)), grid[depth:]


def _depth_of_header(grid: list[list[Cell]], width: int) -> int:
    """Return the number of header rows; 0 if the table has only row headers."""
    depth = 0
    while depth < len(grid) and _is_header(grid[depth], width):
        depth += 1
    if depth == len(grid):
        depth = 1
    if not depth and any(map(_is_heading, chain.from_iterable(grid))):
        return 0
    if grid and any(cell.columns > 1 for cell in grid[0]):
        # The second row names the columns below each merged cell, unless it has numbers.
        names_rows = 2
        second = grid[1] if len(grid) > 1 else []
        if not _are_names(second, grid[0]):
            names_rows = 1
        depth = max(depth, names_rows, *(cell.rows for cell in grid[0]))
    return min(max(depth, 1), _MOST_HEADINGS, max(len(grid) - 1, 1))


def _are_names(row: list[Cell], above: list[Cell]) -> bool:
    """Whether a row below a merged cell names columns.

    It has no figures; or nothing below the names of single columns; or, below an empty corner, no
    figures but years.
    """
    own = [cell for cell in row if cell.text and cell not in above]
    figures = [cell.text for cell in own if _FIGURE.search(cell.text)]
    if not figures:
        return True
    below_names = list[Cell]()
    for cell, head in zip(row, above, strict=False):
        if head.text and head.columns == 1:
            below_names.append(cell)
    if below_names:
        return not any(cell.text and cell not in above for cell in below_names)
    return len(figures) < len(own) and all(map(_YEAR.fullmatch, figures))


def _is_header(row: list[Cell], width: int) -> bool:
    return all(map(_is_heading, row)) and not _is_line(row, width)


def _grid(rows: Sequence[Sequence[Cell]]) -> list[list[Cell]]:
    """Return a table's rows; each merged cell is in all rows and columns that it spans."""
    grid = [dict[int, Cell]() for _ in rows]
    room = _MOST_REPEATED
    for line, row in enumerate(rows):
        column = 0
        for cell in row:
            while column in grid[line]:
                column += 1
            columns = max(1, min(cell.columns, _MOST_COLUMNS))
            height = max(1, min(cell.rows, len(rows) - line))
            room -= columns * height - 1
            if room < 0:
                columns = 1
                height = 1
            kept = cell._replace(columns=columns, rows=height)
            for below in range(line, line + height):
                grid[below].update(dict.fromkeys(range(column, column + columns), kept))
            column += columns
    expanded = list[list[Cell]]()
    for cells in grid:
        width = max(cells, default=-1) + 1
        expanded.append([cells.get(column, _NO_CELL) for column in range(width)])
    return expanded

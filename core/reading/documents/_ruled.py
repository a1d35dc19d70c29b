"""Ruled tables of a page: the lines around cells show which columns and rows a cell spans."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, pairwise, product
from typing import NamedTuple

from ._figures import is_figure
from ._lines import Line, Rule, rows_of
from ._table_cells import Cells, markdown_of

THICK = 3.0
"""Maximum thickness of a ruled line and maximum gap between the lines of a grid, in points."""
_SPACING = 7.0
"""Maximum distance between the boxes of neighbouring cells, in points."""
_FILLED = 0.5
"""Minimum share of grid cells that contain text; diagrams have fewer."""
_DIVIDED = 0.3
"""Minimum share of the rows that a vertical line between two columns divides."""
_MOST_CELLS = 5_000
"""Maximum number of cells of a grid; drawings have more."""


class Grid(NamedTuple):
    """The ruled lines of a table."""

    columns: Sequence[float]
    """Positions of its vertical lines."""
    rows: Sequence[float]
    """Positions of its horizontal lines."""
    vertical: Sequence[Rule]
    horizontal: Sequence[Rule]


def grids_of(vertical: Sequence[Rule], horizontal: Sequence[Rule]) -> list[Grid]:
    """Return the ruled tables of a page, from top to bottom."""
    groups = list[list[Rule]]()
    bottom = -math.inf
    for rule in sorted(vertical):
        if not groups or rule.start > bottom + _SPACING:
            groups.append([])
        groups[-1].append(rule)
        bottom = max(bottom, rule.end)
    grids = list[Grid]()
    for group in groups:
        top = group[0].start - THICK
        bottom = top
        for rule in group:
            bottom = max(bottom, rule.end + THICK)
        inside = list[Rule]()
        for rule in horizontal:
            if top < rule.at < bottom:
                inside.append(rule)
        for columns in _connected(_distinct(rule.at for rule in group), inside):
            own = [rule for rule in inside if _reaches(rule, columns[0], columns[-1])]
            rows = _distinct(rule.at for rule in own)
            columns = _dividing(columns, rows, group)
            if len(columns) > 2 and 2 < len(rows) < _MOST_CELLS / len(columns):
                grids.append(Grid(columns, rows, group, own))
    return grids


def _connected(columns: Sequence[float], horizontal: Sequence[Rule]) -> Iterator[list[float]]:
    """Yield groups of vertical lines that horizontal lines connect."""
    group = list(columns[:1])
    for column, following in pairwise(columns):
        middle = (column + following) / 2
        if not any(rule.start < middle < rule.end for rule in horizontal):
            yield group
            group = []
        group.append(following)
    yield group


def _dividing(
    columns: Sequence[float], rows: Sequence[float], vertical: Sequence[Rule]
) -> list[float]:
    """Return the outer vertical lines, and those between that are in several rows.

    The ends of highlighted lines of text are in one row each.
    """
    fewest = min(2, len(rows) - 2)
    dividing = list(columns[:1])
    for column, rules in list(zip(columns, _rules_at(columns, vertical), strict=True))[1:-1]:
        crossed = 0
        for top, bottom in pairwise(rows):
            if _is_crossed(rules, (top + bottom) / 2):
                crossed += 1
        if crossed >= max(fewest, _DIVIDED * (len(rows) - 1)):
            dividing.append(column)
    return [*dividing, *columns[-1:]]


def _reaches(rule: Rule, left: float, right: float) -> bool:
    """Whether a horizontal line lies within a table."""
    return rule.start < right - THICK and left + THICK < rule.end


def _distinct(values: Iterable[float]) -> list[float]:
    """Return the middles of groups of values that are near each other, as edges of boxes are."""
    groups = list[list[float]]()
    for value in sorted(values):
        if not groups or value > groups[-1][-1] + _SPACING:
            groups.append([])
        groups[-1].append(value)
    return [(group[0] + group[-1]) / 2 for group in groups]


def with_grid(lines: Sequence[Line], grid: Grid) -> list[Line]:
    """Replace the lines inside a ruled table with one line that contains its Markdown.

    The text of a cell is repeated in all columns and rows that it spans. If the rules do not divide
    the lines into cells, the lines are returned unchanged.
    """
    columns, rows = grid.columns, grid.rows
    table = Line(columns[0], rows[0], columns[-1], rows[-1])
    inside = set[Line]()
    for line in lines:
        if table.top < line.middle < table.bottom and line.overlaps(table):
            inside.add(line)
    width = len(columns) - 1
    height = len(rows) - 1
    first_of = _merged(grid)
    texts = defaultdict[tuple[int, int], list[str]](list)
    for cell, text in _texts(inside, columns, rows):
        if cell not in first_of:
            return list(lines)
        texts[first_of[cell]].append(text)
    for cell_texts in texts.values():
        if sum(map(is_figure, cell_texts)) > 1:
            # With two numbers in a cell, the rules do not separate all columns or rows.
            return list(lines)
    # Lines of text may be boxed and underlined without being cells.
    own_cells = len(set(first_of.values()))
    if own_cells < _FILLED * width * height or len(texts) < _FILLED * own_cells:
        return list(lines)
    table_rows = list[Cells]()
    titles = list[str]()
    for row in range(height):
        firsts = [first_of[row, column] for column in range(width)]
        row_cells = [" ".join(texts.get(first, ())) for first in firsts]
        if len(set(firsts)) == 1:
            # A cell across the table is its title or a subheading.
            row_cells[1:] = [""] * (width - 1)
            if not table_rows:
                titles += filter(None, row_cells)
                continue
        if any(row_cells):
            table_rows.append(row_cells)
    blocks = list(titles)
    if table_rows:
        blocks += markdown_of(table_rows)
    outside = [line for line in lines if line not in inside]
    return [*outside, table._replace(bottom=table.top + 1, text="\n\n".join(blocks))]


def _merged(grid: Grid) -> dict[tuple[int, int], tuple[int, int]]:
    """Return for the row and column of each cell those of the first one that no line separates."""
    walls = _rules_at(grid.columns, grid.vertical)
    floors = _rules_at(grid.rows, grid.horizontal)
    first_of: dict[tuple[int, int], tuple[int, int]] = {}
    for row, column in product(range(len(grid.rows) - 1), range(len(grid.columns) - 1)):
        middle_y = (grid.rows[row] + grid.rows[row + 1]) / 2
        middle_x = (grid.columns[column] + grid.columns[column + 1]) / 2
        first = (row, column)
        if column and not _is_crossed(walls[column], middle_y):
            first = first_of[row, column - 1]
        elif row and not _is_crossed(floors[row], middle_x):
            first = first_of[row - 1, column]
        first_of[row, column] = first
    return first_of


def _rules_at(positions: Sequence[float], rules: Sequence[Rule]) -> list[list[Rule]]:
    """Return the ruled lines at each of these positions."""
    rules_at = list[list[Rule]]([] for _ in positions)
    for rule in rules:
        index = bisect_right(positions, rule.at)
        near = range(max(0, index - 1), min(index + 1, len(positions)))
        nearest = min(near, key=lambda position: abs(positions[position] - rule.at))
        if abs(positions[nearest] - rule.at) <= _SPACING:
            rules_at[nearest].append(rule)
    return rules_at


def _is_crossed(rules: Sequence[Rule], middle: float) -> bool:
    """Whether one of these ruled lines separates two cells."""
    return any(rule.start <= middle <= rule.end for rule in rules)


def _texts(
    lines: Iterable[Line], columns: Sequence[float], rows: Sequence[float]
) -> Iterator[tuple[tuple[int, int], str]]:
    """Yield the texts in a ruled table, with the indexes of their row and column."""
    for line in chain.from_iterable(rows_of(lines)):
        parts = [line]
        for rule in columns[1:-1]:
            rest = parts.pop()
            parts += rest.cut(rule - 1, rule + 1)
        for part in parts:
            row = bisect_right(rows, part.middle) - 1
            column = bisect_right(columns, part.centre) - 1
            yield (row, column), part.text

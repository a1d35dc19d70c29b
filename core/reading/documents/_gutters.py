"""Divides a page at its gutters, the white strips beside running text, before tables are sought."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Sequence
from itertools import chain, pairwise
from typing import NamedTuple

from ._figures import is_figure
from ._lines import Line, extent_of, figures_among, middle_of, rows_of, running_stacks
from ._page_tables import aligned_columns
from ._table_cells import steps_of

_COLUMN_LINES = 4
"""Minimum number of lines on each side of a gutter."""
_NARROW = 0.5
"""Minimum width of a gutter, in letter heights."""
_MOST_GUTTERS = 12
"""Maximum number of gutter candidates to try, starting with those crossed by the fewest lines."""
_BAND_GAP = 0.4
"""Minimum height of a white strip across both columns, in letter heights."""
_FOOT_GAP = 1.5
"""Minimum height of the white strip above a page number, in letter heights."""
_FILLING = 0.75
"""Minimum share of a column that a line alone in it must fill to belong to running text."""
_BLOCK_ROWS = 3
"""Minimum number of rows of a block beside running text; cells beside a wrapped one have fewer."""
_BLOCK_STEP = 2.0
"""Maximum distance between two rows of a block, in letter heights."""
_BESIDE = 2
"""Minimum number of these rows directly beside lines of running text."""
_SHARED = 3
"""Minimum number of rows or paragraphs on both sides that are compared."""
_CROSSED = 0.15
"""Maximum number of lines across a gutter beside running text, as a share of that text's lines."""
_APART = 0.75
"""Minimum width of a gutter beside text that is not running, in letter heights."""
_EDGE = 0.6
"""Minimum share of the rows beside a gutter that begin or end at the same position."""
_NEAR = 0.25
"""Maximum distance between aligned positions, in letter heights."""
_TABLE_ROWS = 3
"""Minimum number of rows of a table between columns that no white strip separates from them."""
_TABLE_STEP = 4.0
"""Maximum distance between two of its rows, in letter heights."""
_SAME_BASE = 0.12
"""Maximum difference between the base lines of a row's cells, in letter heights."""
_UNEVEN = 1.25
"""A step between two rows that is this many times the smallest one separates paragraphs."""
_ALIGNED = 0.8
"""Minimum share of paragraphs that start at the same height in both columns of a table."""


class _Band(NamedTuple):
    """Lines between two white strips or dividers."""

    lines: list[Line]
    is_across: bool
    """Whether it is a table that reaches across the gutter, or a line that does."""


def blocks_in_order(lines: Sequence[Line]) -> Iterator[Sequence[Line]]:
    """Yield the lines in groups, in reading order.

    Tables and lines across a gutter separate the columns above them from those below.
    """
    gutter = _gutter(lines)
    if gutter is None:
        yield lines
        return
    parts = _cut_at(gutter, lines)
    columns = list[Line]()
    across = list[Line]()
    for band in [*_bands(parts, gutter), _Band([], True), _Band([], False)]:
        if band.is_across:
            yield from _column_blocks(columns, gutter)
            columns = []
            across += band.lines
            continue
        if across and len(across) < len(parts):
            yield from blocks_in_order(across)
        elif across:
            yield across
        across = []
        columns += band.lines


def _column_blocks(lines: Sequence[Line], gutter: float) -> Iterator[Sequence[Line]]:
    """Yield the groups of the column on the left of the gutter, then those of the other column."""
    for column in _columns_beside(gutter, lines):
        if column:
            yield from blocks_in_order(column)


def _cut_at(gutter: float, lines: Sequence[Line]) -> list[Line]:
    """Split the lines that have a gap at the gutter."""
    parts = list[Line]()
    for line in lines:
        parts += line.cut(gutter, gutter + 1, _NARROW)
    return parts


def _columns_beside(gutter: float, lines: Collection[Line]) -> tuple[list[Line], list[Line]]:
    """Return the lines that end before the gutter, and those that start after it."""
    left = [line for line in lines if line.right <= gutter]
    right = [line for line in lines if line.left >= gutter]
    return left, right


def _gutter(lines: Sequence[Line]) -> float | None:
    """Return the position between two columns of a page; None for a single column or a table."""
    lefts, rights = _sorted_edges(lines)
    long_lefts, long_rights = _sorted_edges([line for line in lines if line.is_long])
    candidates: list[tuple[int, int, float]] = []
    for right in sorted(set(rights)):
        before = bisect_right(rights, right)
        behind = len(lines) - bisect_left(lefts, right)
        # Text says more about a gutter than cells of tables across it.
        long_across = bisect_left(long_lefts, right) - bisect_right(long_rights, right)
        if min(before, behind) >= _COLUMN_LINES:
            candidates.append((long_across, len(lines) - before - behind, right))
    beside: float | None = None
    for *_, gutter in sorted(candidates)[:_MOST_GUTTERS]:
        parts = _cut_at(gutter, lines)
        left, right_column = _columns_beside(gutter, parts)
        if not any(line.is_long for line in chain(left, right_column)):
            continue
        on_left = running_stacks(left)
        on_right = running_stacks(right_column)
        if _is_crossed(gutter, parts, [*on_left, *on_right]):
            continue
        running = {*chain(*on_left, *on_right)}
        if on_left and on_right:
            is_even = _has_edge(gutter, [*left, *right_column], running)
            if is_even and not _start_together(gutter, parts, running):
                return gutter
        elif beside is None:
            if _are_beside(on_left, left, right_column):
                beside = gutter
            if _are_beside(on_right, right_column, left):
                beside = gutter
    return beside


def _sorted_edges(lines: Sequence[Line]) -> tuple[list[float], list[float]]:
    """Return the left edges of lines, and their right edges, each in order."""
    lefts = list[float]()
    rights = list[float]()
    for line in lines:
        lefts.append(line.left)
        rights.append(line.right)
    return sorted(lefts), sorted(rights)


def _is_crossed(gutter: float, parts: Sequence[Line], stacks: Sequence[Sequence[Line]]) -> bool:
    """Whether many lines cross a gutter beside running text."""
    middles = list[float]()
    for line in sorted(parts, key=middle_of):
        if line.left < gutter < line.right:
            middles.append(line.middle)
    running = sum(map(len, stacks))
    crossing = 0
    for stack in stacks:
        first = bisect_left(middles, stack[0].middle)
        crossing += bisect_left(middles, stack[-1].middle) - first
    return crossing > _CROSSED * running


def _has_edge(gutter: float, lines: Sequence[Line], running: set[Line]) -> bool:
    """Whether lines beside running text are aligned at a gutter, as gaps within lines are not."""
    starts = list[float]()
    ends = list[float]()
    for row in rows_of(lines):
        left, right = _columns_beside(gutter, row)
        if left and right and not running.isdisjoint(row):
            starts.append(right[0].left)
            ends.append(extent_of(left).right)
    if len(starts) < _SHARED:
        return True
    near = _NEAR * lines[0].height
    return max(_aligned(starts, near), _aligned(ends, near)) >= _EDGE * len(starts)


def _aligned(positions: Sequence[float], near: float) -> int:
    """Return the largest number of positions that are near each other."""
    ordered = sorted(positions)
    most = 0
    for index, position in enumerate(ordered):
        most = max(most, bisect_right(ordered, position + near) - index)
    return most


def _are_beside(
    stacks: Sequence[Sequence[Line]], own: Sequence[Line], others: Sequence[Line]
) -> bool:
    """Whether a block of other text stands directly beside running text."""
    running = list(chain(*stacks))
    rows = 0
    beside = 0
    above: Line | None = None
    for row in rows_of(others):
        if above and row[0].middle - above.middle > _BLOCK_STEP * above.height:
            rows = beside = 0
        above = row[0]
        rows += 1
        if any(_is_next_to(line, row, own) for line in running):
            beside += 1
        if rows >= _BLOCK_ROWS and beside >= _BESIDE:
            return True
    return False


def _is_next_to(line: Line, row: Sequence[Line], own: Sequence[Line]) -> bool:
    """Whether a line stands beside a row, and no other line of its own side in between."""
    nearest = min(row, key=lambda part: max(part.left - line.right, line.left - part.right))
    distance = max(nearest.left - line.right, line.left - nearest.right)
    is_beside = nearest.top < line.bottom and line.top < nearest.bottom
    if not is_beside or distance <= _APART * line.height:
        return False
    is_on_right = nearest.left > line.right
    for other in own:
        is_between = other.right <= line.left
        if is_on_right:
            is_between = other.left >= line.right
        if is_between and other.top < line.middle < other.bottom:
            return False
    return True


def _start_together(gutter: float, parts: Sequence[Line], running: set[Line]) -> bool:
    """Whether paragraphs on two sides start at the same heights, as the cells of a table do."""
    left, right = _columns_beside(gutter, parts)
    tables = list[list[Line]]()
    for table in _tables_across(parts, gutter, running):
        if not _is_aligned(table, gutter, running):
            tables.append(table)
    left_starts = _starts(left, tables)
    right_starts = _starts(right, tables)
    most = max(len(left_starts), len(right_starts))
    together = 0
    for start in left_starts:
        if any(abs(start.middle - other.middle) < start.height / 2 for other in right_starts):
            together += 1
    return together >= _SHARED and together >= _ALIGNED * most


def _is_aligned(table: Sequence[Line], gutter: float, running: set[Line]) -> bool:
    """Whether the cells behind a gutter begin where running text does, as cells of one table."""
    _, prose = _columns_beside(gutter, running)
    aligned = 0
    rows = rows_of(table)
    for row in rows:
        _, behind = _columns_beside(gutter, row)
        if not behind:
            continue
        cell = behind[0]
        near = _NEAR * cell.height
        if any(abs(cell.left - line.left) <= near for line in prose):
            aligned += 1
    return aligned * 2 > len(rows)


def _starts(column: Sequence[Line], tables: Sequence[Sequence[Line]]) -> list[Line]:
    """Return the first lines of the paragraphs of a column that white strips separate.

    Text below one of the `tables` across both columns starts there on both sides anyway.
    """
    inside = set(chain(*tables))
    rows = rows_of(line for line in column if line not in inside)
    firsts = [row[0] for row in rows]
    steps = steps_of(rows)
    usual = min(steps, default=0.0)
    starts = firsts[:1]
    for (above, row), step in zip(pairwise(firsts), steps, strict=True):
        is_resumed = any(above.middle < table[0].middle < row.middle for table in tables)
        if step > _UNEVEN * usual and not is_resumed:
            starts.append(row)
    return starts


def _bands(parts: Sequence[Line], gutter: float) -> Iterator[_Band]:
    """Yield the parts of a page from top to bottom."""
    left, right = _columns_beside(gutter, parts)
    running = set(chain(*running_stacks(left), *running_stacks(right)))
    width = (gutter - extent_of(left).left, extent_of(right).right - gutter)
    dividers = list(_tables_across(parts, gutter, running))
    apart = {*_alone(parts), *chain(*dividers)}
    beside = sorted([line for line in [*left, *right] if line not in apart], key=middle_of)
    apart = {*chain(*dividers), *beside}
    for line in parts:
        if line not in apart:
            dividers.append([line])
    start = 0
    for divider in [*sorted(dividers, key=_middle_of_first), None]:
        stop = len(beside)
        if divider is not None:
            stop = bisect_left(beside, divider[0].middle, key=middle_of)
        yield from _bands_beside(beside[start:stop], gutter, width, running)
        start = stop
        if divider is not None:
            yield _Band(divider, True)


def _middle_of_first(lines: Sequence[Line]) -> float:
    return lines[0].middle


def _tables_across(
    parts: Sequence[Line], gutter: float, running: set[Line]
) -> Iterator[list[Line]]:
    """Yield the tables across the gutter, even if no white strip separates them from columns.

    The cells of their rows stand on one base line, and their columns are the same in all rows.
    """
    rows = rows_of(parts)
    # The last cell above running text may have been taken for a short line of it.
    prose = {line for line in running if line.is_long}
    start = 0
    while start < len(rows):
        stop = start
        across = list[list[Line]]()
        for index in range(start, len(rows)):
            row = rows[index]
            step = row[0].middle - rows[max(start, index - 1)][0].middle
            if not prose.isdisjoint(row) or step > _TABLE_STEP * row[0].height:
                break
            if _is_row_across(row, gutter):
                across.append(row)
                stop = index + 1
            elif not across:
                break
        columns = aligned_columns(across)
        is_table = len(across) >= _TABLE_ROWS and len(columns) > 1
        is_table = is_table and columns[0][0] < gutter < columns[-1][1]
        if is_table and _are_two_tables(list(chain(*across)), gutter):
            start = stop
        elif is_table:
            first, stop = _with_near_rows(rows, start, stop, running)
            yield list(chain(*rows[first:stop]))
            start = stop
        else:
            start += 1


def _is_row_across(row: Sequence[Line], gutter: float) -> bool:
    """Whether the cells of a row stand on one base line, on both sides of a gutter or across it."""
    bases = [line.bottom - line.height / 4 for line in row]
    if max(bases) - min(bases) > _SAME_BASE * row[0].height:
        return False
    is_row = len(row) > 2 or bool(figures_among(row[1:]))
    return is_row and row[0].left < gutter < row[-1].right


def _with_near_rows(
    rows: Sequence[Sequence[Line]], start: int, stop: int, running: set[Line]
) -> tuple[int, int]:
    """Extend a table by rows that are as near to it as its own rows are to each other.

    What is beyond them is further away. They are headings, or further lines of its last cells.
    """
    widest = max(_gaps_between(rows[start:stop])) + _NEAR * rows[start][0].height
    gaps_above = _gaps_between(rows[: start + 1])
    gaps_below = _gaps_between(rows[stop - 1 :])
    above = _near_rows(rows[:start][::-1], gaps_above[::-1], widest, running)
    below = _near_rows(rows[stop:], gaps_below, widest, running)
    return start - above, stop + below


def _near_rows(
    rows: Sequence[Sequence[Line]], gaps: Sequence[float], widest: float, running: set[Line]
) -> int:
    """Return how many rows beside a table belong to it; `gaps` are those on their near sides."""
    count = 0
    for row, gap in zip(rows, gaps, strict=True):
        if gap > widest:
            return count
        if not running.isdisjoint(row):
            return 0
        count += 1
    return count


def _gaps_between(rows: Sequence[Sequence[Line]]) -> list[float]:
    """Return the heights of the white strips between rows; negative where they overlap."""
    gaps = list[float]()
    for above, below in pairwise(map(extent_of, rows)):
        gaps.append(below.top - above.bottom)
    return gaps


def _alone(parts: Sequence[Line]) -> Iterator[Line]:
    """Yield the lines at the top and bottom of a page with nothing beside them.

    They are titles above all columns, or page numbers below them.
    """
    bands = list(_between_white_strips(parts))
    for band in bands:
        if len(band) > 1:
            break
        yield from band
    for above, band in pairwise(bands[-2:]):
        line = band[0]
        bottom = extent_of(above).bottom
        if len(band) == 1 and line.top - bottom > _FOOT_GAP * line.height:
            yield line


def _bands_beside(
    lines: Sequence[Line], gutter: float, width: tuple[float, float], running: set[Line]
) -> Iterator[_Band]:
    """Yield columns, and the tables across the gutter, between two lines across it."""
    table = list[Line]()
    table_rows = 0
    for band in [*_between_white_strips(lines), []]:
        rows = rows_of(band)
        across = 0
        for row in rows:
            if _is_across(row, gutter, width):
                across += 1
        if band and across * 2 >= len(rows) and running.isdisjoint(band):
            table += band
            table_rows += across
            continue
        if table:
            # One row may be two headings beside each other.
            is_one = table_rows > 1 and not _are_two_tables(table, gutter)
            yield _Band(table, is_one)
        table = []
        table_rows = 0
        if band:
            yield _Band(band, False)


def _are_two_tables(lines: Sequence[Line], gutter: float) -> bool:
    """Whether a table ends with figures before a gutter, and another one begins with labels."""
    rows = 0
    divided = 0
    for row in rows_of(lines):
        left, right = _columns_beside(gutter, row)
        if len(left) > 1 and len(right) > 1:
            rows += 1
            is_label = not is_figure(right[0].text) and is_figure(right[1].text)
            if is_label and is_figure(left[-1].text):
                divided += 1
    return divided > 1 and divided >= rows - 1


def _between_white_strips(lines: Sequence[Line]) -> Iterator[list[Line]]:
    """Yield the groups of lines that white strips across the page separate."""
    band = list[Line]()
    bottom = 0.0
    for line in sorted(lines, key=_top_of):
        if band and line.top > bottom + _BAND_GAP * line.height:
            yield band
            band = []
        bottom = max(bottom, line.bottom) if band else line.bottom
        band.append(line)
    if band:
        yield band


def _top_of(line: Line) -> float:
    return line.top


def _is_across(row: Sequence[Line], gutter: float, width: tuple[float, float]) -> bool:
    """Whether a row has cells on both sides of a gutter, none of them a line of running text."""
    if len(row) < 3 and not figures_among(row[1:]):
        return False
    for column, whole in zip(_columns_beside(gutter, row), width, strict=True):
        if not column:
            return False
        line = column[0]
        if len(column) == 1 and line.is_long and line.right - line.left > _FILLING * whole:
            return False
    return True

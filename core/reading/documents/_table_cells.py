"""Converts the rows of a table on a page to cells, headings over several columns to its header."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise

from ._figures import is_figure
from ._lines import Line
from ._tables import joined_names, table_of

_GAP = 1.7
"""Maximum ratio of the distance to the next line of a cell to the letter height."""
_PADDED = 1.25
"""Minimum ratio of the distance between rows to the distance between lines within a cell."""
_COVERED = 0.8
"""Minimum share of a column that a spanning cell must cover to count as part of it."""
_HEADER_ROWS = 4
_CENTRED = 0.3
"""Maximum distance between the centres of a heading and of the columns that it spans, as a share of
their width."""
_EXACT = 0.5
"""Maximum difference, in letter heights, between edges or centres that are aligned."""
_STARTS = 0.25
"""The same for words of one line that are cells of several columns."""
_MOST_STUBS = 3
"""Maximum number of columns with row labels."""
_MOST_COLUMNS = 30
"""Maximum number of columns of a table with headings over several columns."""

Cells = list[str]
Columns = Sequence[tuple[float, float]]
"""Left and right edges of a table's columns."""


def cells_of(rows: Sequence[Sequence[Line]], columns: Columns, body: int) -> list[Cells]:
    """Return the cells of a table, given its columns and the index of its first row of data."""
    cell_rows = list[Cells]()
    for row in rows[body:]:
        cell_rows.append(_cells(row, columns))
    names = [""] * len(columns)
    for row in reversed(rows[:body]):
        names = _heads(row, columns, names)
        cell_rows.insert(0, names)
    return _joined(rows, cell_rows)


def _heads(row: Sequence[Line], columns: Columns, names: Cells) -> Cells:
    """Return the cells of a header row; a heading belongs to all columns it is centred over.

    `names` are the cells of the header row below.
    """
    parts = parts_of_row(row, columns)
    stub_edge = columns[0][1]
    heads = [part for part in parts if part.left >= stub_edge]
    spans = _head_spans(heads, columns, names)
    if not spans:
        return _cells(row, columns)
    stub = " ".join(part.text for part in parts if part.left < stub_edge)
    cells = [stub, *[""] * (len(columns) - 1)]
    for head, (first, last) in zip(heads, spans, strict=True):
        for column in range(first, last + 1):
            cells[column] = f"{cells[column]} {head.text}".strip()
    return cells


def _head_spans(heads: Sequence[Line], columns: Columns, names: Cells) -> list[tuple[int, int]]:
    """Return the first and last column of each heading of a row.

    Empty if none of the headings is centred over several columns.
    """
    if not heads or len(heads) >= len(columns) - 1 or len(columns) > _MOST_COLUMNS:
        return []
    for stubs in range(1, _MOST_STUBS + 1):
        spans = _equal_spans(heads, columns, stubs)
        if spans and all(_are_distinct(names[first : last + 1]) for first, last in spans):
            return spans
    spans = _widest_spans(heads, columns, names)
    if any(first < last for first, last in spans):
        return spans
    return []


def _are_distinct(names: Sequence[str]) -> bool:
    """Whether the names below one heading are different, but for headings over several columns."""
    groups = [name for name, _ in groupby(filter(None, names))]
    return len(set(groups)) == len(groups)


def _equal_spans(
    heads: Sequence[Line], columns: Columns, stubs: int
) -> list[tuple[int, int]] | None:
    """Return spans of one size that cover all columns but the stubs; None if there are none."""
    size, rest = divmod(len(columns) - stubs, len(heads))
    if rest or size < 2 or heads[0].left < columns[stubs - 1][1]:
        return None
    spans = [(stubs + size * index, stubs + size * index + size - 1) for index in range(len(heads))]
    is_lone_middle = len(heads) == 1 and size % 2 == 1
    for head, (first, last) in zip(heads, spans, strict=True):
        distance, width = _distance(head, columns, first, last)
        if distance > _CENTRED * width:
            return None
        single = _single_distance(head, columns)
        if is_lone_middle and single <= _EXACT * head.height:
            # A name of two lines over the middle column looks the same.
            return None
        if distance > _EXACT * head.height and single < _STARTS * head.height:
            return None
    return spans


def _distance(head: Line, columns: Columns, first: int, last: int) -> tuple[float, float]:
    """Return the distance between the centres of a heading and of columns, and their width.

    Cells aligned on the right reach to the column before, others may reach to the next one.
    """
    left = columns[first][0]
    right = columns[last][1]
    widest = columns[first - 1][1] if first else left
    centres = [(left + right) / 2, (widest + right) / 2]
    if last + 1 < len(columns):
        centres.append((left + columns[last + 1][0]) / 2)
    return min(abs(head.centre - centre) for centre in centres), right - left


def _single_distance(head: Line, columns: Columns) -> float:
    """Return how far a heading is from being aligned with one column."""
    distances = list[float]()
    for left, right in columns[1:]:
        distances.append(abs(head.left - left))
        distances.append(abs(head.right - right))
        distances.append(abs(head.centre - (left + right) / 2))
    return min(distances)


def _widest_spans(heads: Sequence[Line], columns: Columns, names: Cells) -> list[tuple[int, int]]:
    """Return the spans that cover most columns, each below the centre of its heading."""
    count = len(columns)
    wide = [list(_possible_spans(head, columns, names, with_odd=True)) for head in heads]
    several = [[span for span in spans if span[0] < span[1]] for spans in wide]
    complete = _best_spans(several)
    if complete and sum(last - first + 1 for first, last in complete) == count - complete[0][0]:
        return complete
    return _best_spans(
        [list(_possible_spans(head, columns, names, with_odd=False)) for head in heads]
    )


def _best_spans(choices: Sequence[Sequence[tuple[int, int, float]]]) -> list[tuple[int, int]]:
    """Return one of the possible spans of each heading, so that they cover most columns."""
    best: dict[int, tuple[int, float, list[tuple[int, int]]]] = {0: (0, 0.0, [])}
    for possible in choices:
        reached: dict[int, tuple[int, float, list[tuple[int, int]]]] = {}
        for end, (covered, error, spans) in best.items():
            for first, last, distance in possible:
                if first <= end:
                    continue
                choice = (covered + last - first + 1, error - distance, [*spans, (first, last)])
                if last not in reached or choice[:2] > reached[last][:2]:
                    reached[last] = choice
        best = reached
    if not best:
        return []
    return max(best.values(), key=_coverage)[2]


def _coverage(choice: tuple[int, float, list[tuple[int, int]]]) -> tuple[int, float]:
    covered, error, _ = choice
    return covered, error


def _possible_spans(
    head: Line, columns: Columns, names: Cells, *, with_odd: bool
) -> Iterator[tuple[int, int, float]]:
    """Yield first column, last column, and distance between the centres.

    Over the middle of an odd number of columns, the first line of a name looks the same.
    """
    covered = _covered(head, columns)
    yield covered[0], covered[-1], 0.0
    single = _single_distance(head, columns)
    for first in range(1, len(columns)):
        for last in range(first + 1, len(columns)):
            is_odd = (last - first) % 2 == 0
            if is_odd and len(covered) == 1 and not with_odd:
                continue
            distance, width = _distance(head, columns, first, last)
            most = max(single, _EXACT * head.height)
            if with_odd:
                most = width
            if distance <= min(_CENTRED * width, most) and _are_distinct(names[first : last + 1]):
                yield first, last, distance / width


def _cells(row: Sequence[Line], columns: Columns) -> Cells:
    """Return the cells of a row; a cell that spans several columns is repeated in each."""
    cells = [""] * len(columns)
    for part in parts_of_row(row, columns):
        for index in _covered(part, columns):
            cells[index] = f"{cells[index]} {part.text}".strip()
    return cells


def _covered(part: Line, columns: Columns) -> list[int]:
    """Return the indexes of the columns that a part of a row covers, or of the nearest one."""
    overlaps = [min(part.right, right) - max(part.left, left) for left, right in columns]
    most = max(overlaps)
    covered = list[int]()
    for index, (left, right) in enumerate(columns):
        if overlaps[index] == most or overlaps[index] > _COVERED * (right - left):
            covered.append(index)
    return covered


def parts_of_row(row: Sequence[Line], columns: Columns) -> list[Line]:
    """Split the lines of a row that contain several cells.

    The gap between two headings or before a wide number can be as narrow as a space.
    """
    parts = list[Line]()
    for line in row:
        spanned = list[tuple[float, float]]()
        for left, right in columns:
            if line.left < right and left < line.right:
                spanned.append((left, right))
        cut = _cut(line, spanned)
        is_whole = len(row) > 1 or (len(cut) > 2 and len(cut) == len(columns))
        if is_whole and len(cut) == len(spanned) and _are_aligned(cut, spanned):
            parts += cut
        else:
            parts += _cut(line, spanned, only_figures=True)
    return parts


def _cut(line: Line, columns: Columns, *, only_figures: bool = False) -> list[Line]:
    """Split a line between columns, or only where one of the parts is a number."""
    parts = list[Line]()
    rest = line
    for (_, end), (begin, _) in pairwise(columns):
        gaps = [gap for _, gap in rest.gaps if gap[0] < begin + 1 and end - 1 < gap[1]]
        if not gaps:
            continue
        nearest = min(gaps, key=lambda gap: abs(gap[1] - begin))
        pair = rest.cut(*nearest)
        has_figure = any(part.text.isdigit() or is_figure(part.text) for part in pair)
        if has_figure or not only_figures:
            *before, rest = pair
            parts += before
    return [*parts, rest]


def _are_aligned(parts: Sequence[Line], columns: Columns) -> bool:
    """Whether cells are aligned with their columns, all but the first one in the same way."""
    own = list(zip(parts, columns, strict=True))
    shared = {0, 1, 2}
    for part, (left, right) in own[1:]:
        distances = (part.left - left, part.right - right, part.centre - (left + right) / 2)
        for kind, distance in enumerate(distances):
            if abs(distance) > _STARTS * part.height:
                shared.discard(kind)
    return bool(shared)


def _joined(rows: Sequence[Sequence[Line]], cell_rows: Sequence[Cells]) -> list[Cells]:
    """Return the cells of each row of a table, which may be printed on several lines."""
    steps = steps_of(rows)
    distances = [_distance_between(row, below) for row, below in pairwise(rows)]
    has_figures = [any(map(is_figure, cells)) for cells in cell_rows]
    close = _PADDED * min(steps, default=0)
    # Whether the line distances show where rows start.
    is_padded = max(steps, default=0) > close
    for step, (above_has, below_has) in zip(steps, pairwise(has_figures), strict=True):
        if step < close and above_has and below_has:
            is_padded = False
    if not is_padded:
        close = 0.0
    joined = [cell_rows[0]]
    for index, step in enumerate(steps, 1):
        above = joined[-1]
        cells = cell_rows[index]
        height = rows[index][0].height
        continues = distances[index - 1] < 0.8 * height
        if step < close:
            has_figure = has_figures[index - 1] or has_figures[index]
            is_partial = _is_partial(cells, above) or _is_partial(above, cells)
            continues = continues or not has_figure or is_partial
        first = next(filter(None, cells), " ")
        if first[0].islower() and step < _GAP * height and not has_figures[index]:
            continues = True
        if continues:
            pairs = zip(above, cells, strict=True)
            joined[-1] = [f"{upper} {lower}".strip() for upper, lower in pairs]
        else:
            joined.append(cells)
    return joined


def _distance_between(row: Sequence[Line], below: Sequence[Line]) -> float:
    """Return the distance between the nearest lines of two rows.

    A cell of two lines may have its first one in the row of cells that are centred beside it.
    """
    lowest = max(line.middle for line in row)
    return min(line.middle for line in below) - lowest


def _is_partial(cells: Cells, above: Cells) -> bool:
    """Whether a row has an empty cell below a filled one."""
    return any(upper and not cell for upper, cell in zip(above, cells, strict=True))


def markdown_of(cells: Sequence[Cells]) -> Iterator[str]:
    """Yield a table as Markdown.

    Two columns without a header become lines with a label and a value.
    """
    first, *_ = cells
    width = len(first)
    header_rows = 0
    has_figures = any(map(is_figure, first[1:]))
    if _numbers_columns(cells):
        header_rows = 1
    elif not has_figures and not first[0].endswith(":"):
        header_rows = _header_rows(cells)
    elif width == 2:
        lines = list[str]()
        for label, value in cells:
            entry = (label.rstrip(" :"), value)
            lines.append(": ".join(filter(None, entry)))
        yield "\n".join(lines)
        return
    header = [""] * width
    if header_rows:
        header = list(map(joined_names, zip(*cells[:header_rows], strict=True)))
    yield from table_of([header, *cells[header_rows:]])


def _header_rows(cells: Sequence[Cells]) -> int:
    """Return the number of header rows of a table whose first row is one of them."""
    count = 1
    while count < min(_HEADER_ROWS, len(cells) - 1):
        names = cells[count - 1][1:]
        row = cells[count]
        is_complete = all(names) and len(set(names)) == len(names)
        if not any(row[1:]) or any(map(is_figure, row)):
            break
        # Below a complete header, a row without a label has the units.
        if is_complete and (row[0] or not _is_named(cells)):
            break
        count += 1
    return count


def _is_named(cells: Sequence[Cells]) -> bool:
    """Whether most rows of a table have a label."""
    named = sum(1 for row in cells if row[0])
    return named * 2 > len(cells)


def _numbers_columns(cells: Sequence[Cells]) -> bool:
    """Whether the first row has whole numbers that name columns of other numbers."""
    first, *others = cells
    names = first[1:]
    if not first[0] or len(names) < 2 or len(set(names)) < len(names) or not all(names):
        return False
    below = [cell for row in others for cell in row[1:] if is_figure(cell)]
    whole = [cell for cell in below if cell.isdigit()]
    return bool(below) and not whole and all(map(str.isdigit, names))


def steps_of(rows: Sequence[Sequence[Line]]) -> list[float]:
    """Return the distance from each row to the next one."""
    return [following[0].middle - row[0].middle for row, following in pairwise(rows)]

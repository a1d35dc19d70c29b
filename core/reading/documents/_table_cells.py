"""Converts the rows of a table on a page to cells, headings over several columns to its header."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, pairwise
from statistics import fmean

from ._figures import is_figure
from ._headings import Columns, Header, covered_columns, head_spans
from ._lines import Line, Rule, extent_of, middle_of, rows_of, text_of_row
from ._tables import joined_names, table_of

_GAP = 1.7
"""Maximum ratio of the distance to the next line of a cell to the letter height."""
_PADDED = 1.25
"""Minimum ratio of the distance between rows to the distance between lines within a cell."""
_HEADER_ROWS = 4
_STARTS = 0.25
"""Maximum difference, in letter heights, between the edges or centres of cells of a column."""

_TOUCHING = 1.0
"""Maximum distance between ruled lines that are drawn cell by cell, in points."""

_ALIGNMENTS = ("left", "right", "centre")

Cells = list[str]


def cells_of(
    rows: Sequence[Sequence[Line]], columns: Columns, body: int, rules: Sequence[Rule]
) -> list[Cells]:
    """Return the cells of a table, given its columns and the index of its first row of data.

    `rules` are the horizontal ruled lines of the page.
    """
    rows = [*rows[:body], *_with_whole_labels(rows[body:], columns)]
    cell_rows = list[Cells]()
    for row in rows[body:]:
        cell_rows.append(_cells(row, columns))
    stubs = _stubs(cell_rows)
    names = [""] * len(columns)
    for index in range(body - 1, -1, -1):
        below = list[Rule]()
        if index + 1 < len(rows):
            below = rules_between(rules, rows[index], rows[index + 1])
        is_lowest = index == body - 1
        header = Header(columns, stubs, names, below)
        names = _heads(rows[index], header, is_lowest=is_lowest)
        cell_rows.insert(0, names)
    return _joined(rows, cell_rows)


def _with_whole_labels(
    rows: Sequence[Sequence[Line]], columns: Columns
) -> Sequence[Sequence[Line]]:
    """Join the lines of each row's label if the other cells are centred beside them.

    The rows are returned unchanged if not all of them are like that.
    """
    edge = columns[1][0]
    labels = list[Line]()
    cells = list[Line]()
    for line in sorted(chain.from_iterable(rows), key=middle_of):
        if line.right <= edge:
            labels.append(line)
        else:
            cells.append(line)
    others = rows_of(cells)
    if len(labels) <= len(others):
        return rows
    whole = list[list[Line]]()
    start = 0
    for other in others:
        stop = _end_of_label(labels, start, other[0])
        if stop is None:
            return rows
        own = labels[start:stop]
        right = extent_of(own).right
        position = other[0]._replace(left=own[0].left, right=right, gaps=())
        whole.append([position._replace(text=text_of_row(own)), *other])
        start = stop
    return whole if start == len(labels) else rows


def _end_of_label(labels: Sequence[Line], start: int, beside: Line) -> int | None:
    """Return the index after the last line of the label that is centred beside a cell."""
    middles = list[float]()
    for index in range(start, len(labels)):
        line = labels[index]
        if middles and line.middle - middles[-1] > _GAP * line.height:
            return None
        middles.append(line.middle)
        distance = fmean(middles) - beside.middle
        if abs(distance) <= _STARTS * line.height:
            return index + 1
        if distance > 0:
            return None
    return None


def rules_between(rules: Sequence[Rule], row: Sequence[Line], below: Sequence[Line]) -> list[Rule]:
    """Return the horizontal ruled lines between two rows, those that touch as one."""
    top, bottom = row[0].middle, below[0].middle
    joined = list[Rule]()
    for rule in sorted(rule for rule in rules if top < rule.at < bottom):
        if joined and rule.start <= joined[-1].end + _TOUCHING:
            last = joined.pop()
            rule = last._replace(end=max(last.end, rule.end))
        joined.append(rule)
    return joined


def _stubs(cell_rows: Sequence[Cells]) -> int:
    """Return the number of columns before the first one in which most cells are figures."""
    for index, column in enumerate(zip(*cell_rows, strict=True)):
        filled = [cell for cell in column if cell]
        if index and sum(map(is_figure, filled)) * 2 > len(filled):
            return index
    return 1


def _heads(row: Sequence[Line], header: Header, *, is_lowest: bool) -> Cells:
    """Return the cells of a header row; a heading belongs to all columns it is centred over."""
    columns = header.columns
    parts = parts_of_row(row, columns)
    if not is_lowest:
        whole = parts_of_row(row, columns, only_figures=True)
        cells = _spanning_cells(whole, header)
        if cells:
            return cells
    return _spanning_cells(parts, header) or _cells(row, columns)


def _spanning_cells(parts: Sequence[Line], header: Header) -> Cells:
    """Return the cells of a header row with headings over several columns; else an empty list."""
    stub_edge = header.columns[0][1]
    heads = list[Line]()
    labels = list[Line]()
    for part in parts:
        if part.left >= stub_edge:
            heads.append(part)
        else:
            labels.append(part)
    spans = head_spans(heads, header)
    if not spans:
        return []
    cells = [text_of_row(labels), *[""] * (len(header.columns) - 1)]
    for head, (first, last) in zip(heads, spans, strict=True):
        for column in range(first, last + 1):
            cells[column] = f"{cells[column]} {head.text}".strip()
    return cells


def _cells(row: Sequence[Line], columns: Columns) -> Cells:
    """Return the cells of a row; a cell that spans several columns is repeated in each."""
    cells = [""] * len(columns)
    for part in parts_of_row(row, columns):
        for index in covered_columns(part, columns):
            cells[index] = f"{cells[index]} {part.text}".strip()
    return cells


def parts_of_row(
    row: Sequence[Line], columns: Columns, *, only_figures: bool = False
) -> list[Line]:
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
        if (
            is_whole
            and not only_figures
            and len(cut) == len(spanned)
            and _are_aligned(cut, spanned)
        ):
            parts += cut
        else:
            parts += _cut(line, spanned, only_figures=True)
    return parts


def _cut(line: Line, columns: Columns, *, only_figures: bool = False) -> list[Line]:
    """Split a line between columns, or only where one of the parts is a number."""
    parts = list[Line]()
    rest = line
    for (_, end), (begin, _) in pairwise(columns):
        gaps = list[tuple[float, float]]()
        for _, (left, right) in rest.gaps:
            if left < begin + 1 and end - 1 < right:
                gaps.append((left, right))
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
    """Whether cells are aligned with their columns.

    Below the first one, those with text are aligned on the left, those with figures in one way.
    """
    figures = set(_ALIGNMENTS)
    for part, column in list(zip(parts, columns, strict=True))[:0:-1]:
        aligned = _alignments(part, column)
        if figures & aligned:
            figures &= aligned
        elif "left" in aligned:
            figures = {"left"}
        else:
            return False
    return True


def _alignments(part: Line, column: tuple[float, float]) -> set[str]:
    """Return in which ways a cell is aligned with its column."""
    left, right = column
    distances = (part.left - left, part.right - right, part.centre - (left + right) / 2)
    near = _STARTS * part.height
    names = set[str]()
    for name, distance in zip(_ALIGNMENTS, distances, strict=True):
        if abs(distance) <= near:
            names.add(name)
    return names


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
    figures = list[str]()
    for row in others:
        figures += filter(is_figure, row[1:])
    has_whole = any(map(str.isdigit, figures))
    return bool(figures) and not has_whole and all(map(str.isdigit, names))


def steps_of(rows: Sequence[Sequence[Line]]) -> list[float]:
    """Return the distance from each row to the next one."""
    return [following[0].middle - row[0].middle for row, following in pairwise(rows)]

"""Converts positioned text fragments to text in reading order: columns, tables and paragraphs."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, pairwise
from statistics import median
from typing import NamedTuple

from .raised import END, LOWERED, RAISED
from .tables import table_of

_LONG_LINE = 8
"""Minimum ratio of width to height for a line of running text; table cells are shorter."""
_COLUMN_LINES = 4
"""Minimum number of lines in a column of running text."""
_GAP = 1.7
"""A paragraph ends if the distance to the next line exceeds the usual distance by this factor."""
_NARROW = 0.5
"""Minimum width of the gutter between columns, in letter heights."""
_FAR = 2.6
"""Line distance, in letter heights, that always separates two paragraphs."""
_OTHER_SIZE = 1.25
"""Ratio of two line heights that separates two paragraphs."""
_ROW_GAP = 4
"""Maximum distance between two rows of a table, in letter heights."""
_PADDED = 1.25
"""Minimum ratio of the distance between rows to the distance between lines within a cell."""
_COVERED = 0.8
"""Minimum share of a column that a spanning cell must cover to count as part of it."""
_SURE_GUTTER = 2
"""Two rows without numbers make a table only if the gap between their columns is wider than this, in letter heights."""
_MOST_GUTTERS = 30
"""Maximum number of gutter candidates to try, starting with those crossed by the fewest lines."""
_FILLED = 0.5
"""Minimum share of grid cells that contain text; diagrams have fewer."""
_HEADER_ROWS = 3
_TABLE = "| "

_SHORT_LINE = 0.6
"""A line shorter than this share of the page width ends its paragraph."""
_ROOM = 0.85
"""A line that would be shorter than this share even with the next word ends its paragraph too, unless that word starts
with a lower-case letter."""

_SECTION = re.compile(r"(?:\d{1,2}[.)]|\d{1,2}\.\d{1,2}\.?|\([a-z\d]{1,2}\)|[•▪‣◦·\x7f\ue000-\uf8ff])\s+[^\W\d_]")
"""Start of a list item or section."""
_LIGATURES = str.maketrans({"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"})
_FIGURE = re.compile(
    r"(?!(?:19|20)\d\d\b)[^\w]*(?:[A-Z]{0,3}[$€£¥]|[A-Z]{3}\b)?[^\w]*\d[\d\s.,'’/:%()–−-]*[^\W\d_]{0,3}\W*"
)
"""A cell with a number. Years do not count, because they occur as column headers."""
_FIGURES = re.compile(r"(?:(?:^|\s)[^\w\s]*(?:\d[\d.,'’]*[.,'’]\d+|(?<=\()\d+)[^\w\s]*){2,}$")
"""Consecutive numbers with a separator or in brackets; in others, a space may be a thousands separator."""
_SCRIPT = re.compile(rf"[{RAISED}{LOWERED}][^{END}]*{END}")
_MARKER = re.compile(
    r"\(?(?:\d{1,3}|[a-z]|[ivx]{1,5})[.)]|[•▪‣◦·–—*\x7f\ue000-\uf8ff-]|\d{1,2}(?:\.\d{1,2})+\.?", re.IGNORECASE
)
"""A list item's marker or a heading's number."""

Cells = list[str]


class Line(NamedTuple):
    """A line of text or a table cell, with its position on the upright page; vertical positions grow downwards."""

    left: float
    top: float
    right: float
    bottom: float
    text: str = ""
    gaps: tuple[tuple[int, tuple[float, float]], ...] = ()
    """Gaps between its words: (offset of the next word in `text`, (left edge, right edge of the gap))."""

    @property
    def height(self) -> float:
        """Approximate letter height."""
        return self.bottom - self.top

    @property
    def middle(self) -> float:
        """Vertical centre."""
        return (self.top + self.bottom) / 2

    def cut(self, left: float, right: float, width: float = 0.0) -> list[Line]:
        """Split at the first gap between `left` and `right` that is wider than `width` line heights.

        Returns the two parts, or the whole line if there is no such gap.
        """
        for index, (start, (begin, end)) in enumerate(self.gaps):
            if begin < right and left < end and end - begin > width * self.height:
                gaps = tuple((offset - start, ends) for offset, ends in self.gaps[index + 1 :])
                before = self._replace(right=begin, text=self.text[:start].rstrip(), gaps=self.gaps[:index])
                return [before, self._replace(left=end, text=self.text[start:], gaps=gaps)]
        return [self]

    def overlaps(self, other: Line) -> bool:
        """Whether the two lines overlap horizontally."""
        return self.left < other.right and other.left < self.right


def in_order(lines: Sequence[Line]) -> str:
    """Return the text of the lines in reading order, as paragraphs and Markdown tables."""
    text = "\f".join("\n\n".join(_parts(rows_of(block))) for block in _blocks(lines))
    # Text that starts with a lower-case letter continues the previous column or a widely spaced line.
    text = re.sub(r"(?<=[^\W\d_])-(?:\f|\n\n)(?=[a-zß-ÿ])", "", text)
    return re.sub(r"(?<=[\w,])\f(?=[a-zß-ÿ])", " ", text).replace("\f", "\n\n")


def with_grid(lines: Sequence[Line], columns: Sequence[float], rows: Sequence[float]) -> list[Line]:
    """Replace the lines inside a ruled table with one line that contains its Markdown.

    `columns` and `rows` are the positions of its vertical and horizontal rules. If they do not divide the lines into
    cells, the lines are returned unchanged.
    """
    table = Line(columns[0], rows[0], columns[-1], rows[-1])
    inside = {line for line in lines if table.top < line.middle < table.bottom and line.overlaps(table)}
    cells: dict[tuple[int, int], list[str]] = {}
    for row in rows_of(inside):
        for line in row:
            parts = [line]
            for rule in columns[1:-1]:
                parts = [*parts[:-1], *parts[-1].cut(rule - 1, rule + 1)]
            for part in parts:
                cell = bisect_right(rows, part.middle) - 1, bisect_right(columns, (part.left + part.right) / 2) - 1
                cells.setdefault(cell, []).append(part.text)
    width, height = len(columns) - 1, len(rows) - 1
    is_plain = any(sum(map(_is_figure, texts)) > 1 for texts in cells.values())
    if is_plain or len(cells) < _FILLED * width * height or any(not 0 <= column < width for _, column in cells):
        return list(lines)
    shown = [[" ".join(cells.get((row, column), ())) for column in range(width)] for row in range(height)]
    text = "\n\n".join(_markdown([row for row in shown if any(row)]))
    return [*(line for line in lines if line not in inside), table._replace(bottom=table.top + 1, text=text)]


def rows_of(lines: Iterable[Line]) -> list[list[Line]]:
    """Group lines into rows, ordered from top to bottom and from left to right."""
    rows: list[list[Line]] = []
    for line in sorted(lines, key=lambda line: line.middle):
        if rows and line.middle - rows[-1][0].middle < rows[-1][0].height / 2:
            rows[-1].append(line)
        else:
            rows.append([line])
    return [sorted(row) for row in rows]


def _blocks(lines: Sequence[Line]) -> Iterator[Sequence[Line]]:
    """Yield the lines in groups, in reading order; tables and lines across the whole page separate columns."""
    gutter = _gutter(lines)
    if gutter is None:
        yield lines
        return
    lines = [part for line in lines for part in line.cut(gutter, gutter + 1, _NARROW)]
    # Rows of at least three short lines are tables.
    rows = (row for row in rows_of(lines) if len(row) > 2 and not any(map(_is_long, row)))
    in_table = set(chain.from_iterable(rows))
    between = [line for line in lines if line.left < gutter < line.right or line in in_table]
    rest = sorted(set(lines).difference(between), key=lambda line: line.middle)
    block = list[Line]()
    for divider in [*sorted(between, key=lambda line: line.middle), None]:
        count = len(rest) if divider is None else bisect_left(rest, divider.middle, key=lambda line: line.middle)
        above, rest = rest[:count], rest[count:]
        if above:
            if block:
                yield block
            left = [line for line in above if line.right <= gutter]
            right = [line for line in above if line.left >= gutter]
            yield from (part for column in (left, right) if column for part in _blocks(column))
            block = []
        if divider:
            block.append(divider)
    if block:
        yield block


def _is_long(line: Line) -> bool:
    """Whether a line is long enough for running text."""
    return line.right - line.left >= _LONG_LINE * line.height


def _gutter(lines: Sequence[Line]) -> float | None:
    """Return the position between two columns of running text; None for a single column or a table."""
    lefts, rights = sorted(line.left for line in lines), sorted(line.right for line in lines)
    found: list[tuple[int, float]] = []
    for right in sorted(set(rights)):
        on_left, on_right = bisect_right(rights, right), len(lines) - bisect_left(lefts, right)
        spanning = len(lines) - on_left - on_right
        if min(on_left, on_right) >= _COLUMN_LINES and spanning * 2 < len(lines):
            found.append((spanning, right))
    for _, gutter in sorted(found)[:_MOST_GUTTERS]:
        cut = [part for line in lines for part in line.cut(gutter, gutter + 1, _NARROW)]
        columns = [line for line in cut if line.right <= gutter], [line for line in cut if line.left >= gutter]
        if all(len(column) >= _COLUMN_LINES and sum(map(_is_long, column)) * 2 >= len(column) for column in columns):
            return gutter
    return None


def _parts(rows: Sequence[list[Line]]) -> Iterator[str]:
    """Yield the tables in a block, as Markdown, and the paragraphs between them."""
    rows = list(map(_regrouped, rows))
    start = plain = 0
    while start < len(rows):
        is_written = rows[start][0].text.startswith(_TABLE)
        stop = start + 1 if is_written else _end_of_table(rows, start)
        columns = _columns(rows[start:stop])
        if not is_written and len(columns) < 2:
            start += 1
            continue
        yield from filter(None, [_text(rows[plain:start])])
        if is_written:
            yield rows[start][0].text
        else:
            yield from _markdown(_joined(rows[start:stop], [_cells(row, columns) for row in rows[start:stop]]))
        start = plain = stop
    yield from filter(None, [_text(rows[plain:])])


def _regrouped(row: list[Line]) -> list[Line]:
    """Join a list marker with its item, and split two or more numbers at the end of a line into cells."""
    if len(row) == 2 and _MARKER.fullmatch(row[0].text) and not _is_figure(row[1].text):
        mark, item = row
        row = [item._replace(left=mark.left, text=f"{mark.text} {item.text}", gaps=())]
    parts = list[Line]()
    for line in row:
        # A sentence does not end with two numbers.
        if found := _FIGURES.search(line.text):
            for start, blank in line.gaps:
                if start >= found.start() and line.text:
                    *before, line = line.cut(*blank)
                    parts += before
        parts.append(line)
    return parts


def _end_of_table(rows: Sequence[list[Line]], start: int) -> int:
    """Return the index after the last row of the table that starts at `start`; `start` if there is no table."""
    if len(rows[start]) < 2:
        return start
    stop = start + 1
    for index in range(start + 1, len(rows)):
        row, above = rows[index], rows[index - 1]
        step, height = row[0].middle - above[0].middle, max(row[0].height, above[0].height)
        if row[0].text.startswith(_TABLE) or step > _ROW_GAP * height:
            break
        if len(row) > 1:
            stop = index + 1
        elif index - stop > 1 or sum(map(row[0].overlaps, rows[stop - 1])) > 1:
            break
    # Cells of the last row may have further lines, each below exactly one of them.
    while stop < len(rows) and stop - start > 1:
        row, (line, *others) = rows[stop - 1], rows[stop]
        is_near = line.middle - row[0].middle <= _GAP * row[0].height
        if others or not is_near or sum(map(line.overlaps, row)) != 1 or not line.text[:1].islower():
            break
        stop += 1
    return stop


def _columns(rows: Sequence[list[Line]]) -> list[tuple[float, float]]:
    """Return the left and right edges of the columns of a table; empty if the rows have no gaps at the same places."""
    most = max(map(len, rows), default=0)
    for width in range(most, 1, -1):
        full = [row for row in rows if len(row) >= width]
        columns: list[tuple[float, float]] = []
        for line in sorted(line for row in full for line in row):
            if columns and line.left < columns[-1][1]:
                columns[-1] = columns[-1][0], max(columns[-1][1], line.right)
            else:
                columns.append((line.left, line.right))
        gutter = min((begin - end for (_, end), (begin, _) in pairwise(columns)), default=0)
        # In two justified lines, gaps may align by chance.
        is_sure = (
            len(full) > 2
            or gutter > _SURE_GUTTER * full[0][0].height
            or any(_is_figure(line.text) for row in full for line in row)
        )
        if len(columns) >= width and len(full) > 1 and is_sure:
            return columns
    return []


def _markdown(cells: Sequence[Cells]) -> Iterator[str]:
    """Yield a table as Markdown; two columns without a header become lines with a label and a value."""
    width, count = len(cells[0]), 0
    if not any(map(_is_figure, cells[0][1:])) and not cells[0][0].endswith(":"):
        count = 1
        while count < min(_HEADER_ROWS, len(cells) - 1):
            above, row = cells[count - 1][1:], cells[count]
            is_whole = all(above) and len(set(above)) == len(above)
            if is_whole or not any(row[1:]) or any(map(_is_figure, row)):
                break
            count += 1
    elif width == 2:
        yield "\n".join(": ".join(filter(None, [label.rstrip(" :"), value])) for label, value in cells)
        return
    header = [" / ".join(dict.fromkeys(filter(None, names))) for names in zip(*cells[:count], strict=True)]
    yield from table_of([header or [""] * width, *cells[count:]])


def _cells(row: Sequence[Line], columns: Sequence[tuple[float, float]]) -> Cells:
    """Return the cells of a row; a cell that spans several columns is repeated in each."""
    cells = [""] * len(columns)
    for line in row:
        below = [index for index, (left, right) in enumerate(columns) if line.left < right and left < line.right]
        parts = [line]
        for index, following in pairwise(below):
            # The gap before a wide number can be as narrow as a space.
            *before, last = parts
            pair = last.cut(columns[index][1] - 1, columns[following][0] + 1)
            is_cell = any(part.text.isdigit() or _is_figure(part.text) for part in pair)
            parts = [*before, *pair] if is_cell else parts
        for part in parts:
            overlaps = [min(part.right, right) - max(part.left, left) for left, right in columns]
            most = max(overlaps)
            for index, overlap in enumerate(overlaps):
                left, right = columns[index]
                if overlap == most or overlap > _COVERED * (right - left):
                    cells[index] = f"{cells[index]} {part.text}".strip()
    return cells


def _joined(rows: Sequence[list[Line]], cell_rows: Sequence[Cells]) -> list[Cells]:
    """Return the cells of each row of a table, which may be printed on several lines."""
    steps = [after[0].middle - row[0].middle for row, after in pairwise(rows)]
    close = _PADDED * min(steps, default=0)
    has_figures = [any(map(_is_figure, cells)) for cells in cell_rows]
    pairs = list(zip(steps, pairwise(has_figures), strict=True))
    if max(steps, default=0) <= close or any(step < close and all(both) for step, both in pairs):
        # The line distances do not show where rows start.
        close = 0
    joined = [cell_rows[0]]
    for index, (step, both) in enumerate(pairs, 1):
        cells, height = cell_rows[index], rows[index][0].height
        first = next(filter(None, cells), " ")
        is_partial = any(above and not cell for above, cell in zip(joined[-1], cells, strict=True))
        is_same = step < 0.8 * height or (step < close and (is_partial or not any(both)))
        goes_on = first[0].islower() and step < _GAP * height and not both[1]
        if is_same or goes_on:
            joined[-1] = [f"{above} {cell}".strip() for above, cell in zip(joined[-1], cells, strict=True)]
        else:
            joined.append(cells)
    return joined


def _is_figure(cell: str) -> bool:
    """Whether a cell is a number other than a year, with a unit or signs at most."""
    return _FIGURE.fullmatch(_SCRIPT.sub("", cell)) is not None


def _text(rows: Sequence[list[Line]]) -> str:
    """Return the text of these rows as paragraphs."""
    steps = [after[0].middle - row[0].middle for row, after in pairwise(rows)] or [0.0]
    usual = median(steps)
    text = ""
    for row, following in pairwise([*rows, *rows[-1:]]):
        smaller, larger = sorted((row[0].height, following[0].height))
        step = following[0].middle - row[0].middle
        is_last = step > min(_GAP * usual, _FAR * larger) or larger > _OTHER_SIZE * smaller
        text += " ".join(line.text for line in row) + ("\n\n" if is_last else "\n")
    return "\n\n".join(map(_paragraphs, text.strip().split("\n\n")))


def _paragraphs(page: str) -> str:
    """Join printed lines into paragraphs."""
    lines = [line.strip() for line in page.translate(_LIGATURES).splitlines()]
    width = max(map(len, lines), default=0)
    text = ""
    for line, following in pairwise([*lines, ""]):
        is_last = not line or not following or len(line) < _SHORT_LINE * width or bool(_SECTION.match(following))
        if not is_last and not following[0].islower():
            # The next word would have fitted on the line.
            is_last = len(line) + len(following.split()[0]) < _ROOM * width
        text += line + ("\n\n" if is_last else "\n")
    text = re.sub(r"(?<=[^\W\d_])-\n(?=[a-zß-ÿ])", "", text)
    return re.sub(r"(?<!\n)\n(?!\n)", " ", text).strip()

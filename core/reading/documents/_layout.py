"""Converts positioned text fragments to text in reading order: columns, tables and paragraphs."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, pairwise
from statistics import median
from typing import NamedTuple

from ._raised import END, LOWERED, RAISED
from ._tables import joined_names, table_of

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
"""Two rows without numbers make a table only if the gap between their columns is wider than this,
in letter heights."""
_MOST_GUTTERS = 30
"""Maximum number of gutter candidates to try, starting with those crossed by the fewest lines."""
_FILLED = 0.5
"""Minimum share of grid cells that contain text; diagrams have fewer."""
_HEADER_ROWS = 3
_TABLE = "| "

_SHORT_LINE = 0.6
"""A line shorter than this share of the page width ends its paragraph."""
_ROOM = 0.85
"""A line that would be shorter than this share even with the next word ends its paragraph too,
unless that word starts with a lower-case letter."""

_SECTION = re.compile(
    r"(?:\d{1,2}[.)]|\d{1,2}\.\d{1,2}\.?|\([a-z\d]{1,2}\)|[•▪‣◦·\x7f\ue000-\uf8ff])\s+[^\W\d_]"
)
"""Start of a list item or section."""
_LIGATURES = str.maketrans(
    {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"}
)
_FIGURE = re.compile(
    r"(?!(?:19|20)\d\d\b)[^\w]*(?:[A-Z]{0,3}[$€£¥]|[A-Z]{3}\b)?[^\w]*\d[\d\s.,'’/:%()–−-]*[^\W\d_]{0,3}\W*"
)
"""A cell with a number. Years do not count, because they occur as column headers."""
_FIGURES = re.compile(r"(?:(?:^|\s)[^\w\s]*(?:\d[\d.,'’]*[.,'’]\d+|(?<=\()\d+)[^\w\s]*){2,}$")
"""Consecutive numbers with a separator or in brackets; in others, a space may be a thousands
separator."""
_SCRIPT = re.compile(rf"[{RAISED}{LOWERED}][^{END}]*{END}")
_MARKER = re.compile(
    r"\(?(?:\d{1,3}|[a-z]|[ivx]{1,5})[.)]|[•▪‣◦·–—*\x7f\ue000-\uf8ff-]|\d{1,2}(?:\.\d{1,2})+\.?",
    re.IGNORECASE,
)
"""A list item's marker or a heading's number."""

Cells = list[str]


class Line(NamedTuple):
    """A line of text or a table cell, with its position on the upright page.

    Vertical positions grow downwards.
    """

    left: float
    top: float
    right: float
    bottom: float
    text: str = ""
    gaps: tuple[tuple[int, tuple[float, float]], ...] = ()
    """Gaps between its words: (offset of the next word in `text`, (left edge, right edge of the
    gap))."""

    @property
    def height(self) -> float:
        """Approximate letter height."""
        return self.bottom - self.top

    @property
    def middle(self) -> float:
        """Vertical centre."""
        return (self.top + self.bottom) / 2

    def cut(self, left: float, right: float, width: float = 0.0) -> list[Line]:
        """Split at the first gap between `left` and `right` wider than `width` line heights.

        Returns the two parts, or the whole line if there is no such gap.
        """
        for index, (start, (begin, end)) in enumerate(self.gaps):
            if begin < right and left < end and end - begin > width * self.height:
                before = self._replace(
                    right=begin, text=self.text[:start].rstrip(), gaps=self.gaps[:index]
                )
                gaps = tuple((offset - start, edges) for offset, edges in self.gaps[index + 1 :])
                after = self._replace(left=end, text=self.text[start:], gaps=gaps)
                return [before, after]
        return [self]

    def overlaps(self, other: Line) -> bool:
        """Whether the two lines overlap horizontally."""
        return self.left < other.right and other.left < self.right


def in_order(lines: Sequence[Line]) -> str:
    """Return the text of the lines in reading order, as paragraphs and Markdown tables."""
    blocks = list[str]()
    for block in _blocks(lines):
        parts = _parts(rows_of(block))
        blocks.append("\n\n".join(parts))
    text = "\f".join(blocks)
    # Text that starts with a lower-case letter continues the previous column or a widely spaced
    # line.
    text = re.sub(r"(?<=[^\W\d_])-(?:\f|\n\n)(?=[a-zß-ÿ])", "", text)
    return re.sub(r"(?<=[\w,])\f(?=[a-zß-ÿ])", " ", text).replace("\f", "\n\n")


def with_grid(lines: Sequence[Line], columns: Sequence[float], rows: Sequence[float]) -> list[Line]:
    """Replace the lines inside a ruled table with one line that contains its Markdown.

    `columns` and `rows` are the positions of its vertical and horizontal rules. If they do not
    divide the lines into cells, the lines are returned unchanged.
    """
    table = Line(columns[0], rows[0], columns[-1], rows[-1])
    inside = set[Line]()
    for line in lines:
        if table.top < line.middle < table.bottom and line.overlaps(table):
            inside.add(line)
    cells = _grid_cells(inside, columns, rows)
    width = len(columns) - 1
    height = len(rows) - 1
    if len(cells) < _FILLED * width * height:
        return list(lines)
    for (_, column), texts in cells.items():
        # With two numbers in a cell, the rules do not separate all columns or rows.
        if not 0 <= column < width or sum(map(_is_figure, texts)) > 1:
            return list(lines)
    filled = list[Cells]()
    for row in range(height):
        row_cells = [" ".join(cells.get((row, column), ())) for column in range(width)]
        if any(row_cells):
            filled.append(row_cells)
    text = "\n\n".join(_markdown(filled))
    outside = [line for line in lines if line not in inside]
    return [*outside, table._replace(bottom=table.top + 1, text=text)]


def _grid_cells(
    lines: Iterable[Line], columns: Sequence[float], rows: Sequence[float]
) -> dict[tuple[int, int], list[str]]:
    """Return the texts in each cell of a ruled table, by the indexes of its row and column."""
    cells = defaultdict[tuple[int, int], list[str]](list)
    for line in chain.from_iterable(rows_of(lines)):
        parts = [line]
        for rule in columns[1:-1]:
            rest = parts.pop()
            parts += rest.cut(rule - 1, rule + 1)
        for part in parts:
            row = bisect_right(rows, part.middle) - 1
            column = bisect_right(columns, (part.left + part.right) / 2) - 1
            cells[row, column].append(part.text)
    return cells


def rows_of(lines: Iterable[Line]) -> list[list[Line]]:
    """Group lines into rows, ordered from top to bottom and from left to right."""
    rows: list[list[Line]] = []
    for line in sorted(lines, key=_middle):
        if rows and line.middle - rows[-1][0].middle < rows[-1][0].height / 2:
            rows[-1].append(line)
        else:
            rows.append([line])
    return list(map(sorted, rows))


def _middle(line: Line) -> float:
    return line.middle


def _blocks(lines: Sequence[Line]) -> Iterator[Sequence[Line]]:
    """Yield the lines in groups, in reading order.

    Tables and lines across the whole page separate columns.
    """
    gutter = _gutter(lines)
    if gutter is None:
        yield lines
        return
    parts = _cut_at(gutter, lines)
    in_table = set[Line]()
    for row in rows_of(parts):
        # Rows of at least three short lines are tables.
        if len(row) > 2 and not any(map(_is_long, row)):
            in_table.update(row)
    dividers = list[Line]()
    for line in parts:
        if line.left < gutter < line.right or line in in_table:
            dividers.append(line)
    rest = sorted(set(parts).difference(dividers), key=_middle)
    block = list[Line]()
    for divider in sorted(dividers, key=_middle):
        count = bisect_left(rest, divider.middle, key=_middle)
        if count:
            if block:
                yield block
            yield from _column_blocks(rest[:count], gutter)
            rest = rest[count:]
            block = []
        block.append(divider)
    if block:
        yield block
    yield from _column_blocks(rest, gutter)


def _column_blocks(lines: Sequence[Line], gutter: float) -> Iterator[Sequence[Line]]:
    """Yield the groups of the column on the left of the gutter, then those of the other column."""
    for column in _columns_beside(gutter, lines):
        if column:
            yield from _blocks(column)


def _cut_at(gutter: float, lines: Sequence[Line]) -> list[Line]:
    """Split the lines that have a gap at the gutter."""
    parts = list[Line]()
    for line in lines:
        parts += line.cut(gutter, gutter + 1, _NARROW)
    return parts


def _columns_beside(gutter: float, lines: Sequence[Line]) -> tuple[list[Line], list[Line]]:
    """Return the lines that end before the gutter, and those that start after it."""
    left = [line for line in lines if line.right <= gutter]
    right = [line for line in lines if line.left >= gutter]
    return left, right


def _is_long(line: Line) -> bool:
    """Whether a line is long enough for running text."""
    return line.right - line.left >= _LONG_LINE * line.height


def _is_prose(column: Sequence[Line]) -> bool:
    """Whether a column is running text."""
    if len(column) < _COLUMN_LINES:
        return False
    long_lines = sum(map(_is_long, column))
    return long_lines * 2 >= len(column)


def _gutter(lines: Sequence[Line]) -> float | None:
    """Return the position between two columns of text; None for a single column or a table."""
    lefts = sorted(line.left for line in lines)
    rights = sorted(line.right for line in lines)
    candidates: list[tuple[int, float]] = []
    for right in sorted(set(rights)):
        on_left = bisect_right(rights, right)
        on_right = len(lines) - bisect_left(lefts, right)
        spanning = len(lines) - on_left - on_right
        if min(on_left, on_right) >= _COLUMN_LINES and spanning * 2 < len(lines):
            candidates.append((spanning, right))
    for _, gutter in sorted(candidates)[:_MOST_GUTTERS]:
        left_column, right_column = _columns_beside(gutter, _cut_at(gutter, lines))
        if _is_prose(left_column) and _is_prose(right_column):
            return gutter
    return None


def _parts(rows: Sequence[list[Line]]) -> Iterator[str]:
    """Yield the tables in a block, as Markdown, and the paragraphs between them."""
    rows = list(map(_regrouped, rows))
    start = 0
    text_start = 0
    while start < len(rows):
        if rows[start][0].text.startswith(_TABLE):
            stop = start + 1
            tables = [rows[start][0].text]
        else:
            stop = _end_of_table(rows, start)
            columns = _columns(rows[start:stop])
            if len(columns) < 2:
                start += 1
                continue
            cell_rows = [_cells(row, columns) for row in rows[start:stop]]
            tables = list(_markdown(_joined(rows[start:stop], cell_rows)))
        text = _text(rows[text_start:start])
        if text:
            yield text
        yield from tables
        start = stop
        text_start = stop
    text = _text(rows[text_start:])
    if text:
        yield text


def _regrouped(row: list[Line]) -> list[Line]:
    """Join a list marker with its item, and split several numbers at a line's end into cells."""
    if len(row) == 2 and _MARKER.fullmatch(row[0].text) and not _is_figure(row[1].text):
        mark, item = row
        row = [item._replace(left=mark.left, text=f"{mark.text} {item.text}", gaps=())]
    parts = list[Line]()
    for line in row:
        rest = line
        # A sentence does not end with two numbers.
        figures = _FIGURES.search(line.text)
        if figures:
            for start, gap in line.gaps:
                if start >= figures.start() and rest.text:
                    *before, rest = rest.cut(*gap)
                    parts += before
        parts.append(rest)
    return parts


def _end_of_table(rows: Sequence[list[Line]], start: int) -> int:
    """Return the index after the last row of the table that starts at `start`.

    If there is no table, it is `start`.
    """
    if len(rows[start]) < 2:
        return start
    stop = start + 1
    for index in range(start + 1, len(rows)):
        row = rows[index]
        above = rows[index - 1]
        step = row[0].middle - above[0].middle
        height = max(row[0].height, above[0].height)
        if row[0].text.startswith(_TABLE) or step > _ROW_GAP * height:
            break
        if len(row) > 1:
            stop = index + 1
        elif index - stop > 1 or sum(map(row[0].overlaps, rows[stop - 1])) > 1:
            break
    # Cells of the last row may have further lines, each below exactly one of them.
    while stop < len(rows) and stop - start > 1:
        row = rows[stop - 1]
        line, *others = rows[stop]
        is_near = line.middle - row[0].middle <= _GAP * row[0].height
        is_below_one = sum(map(line.overlaps, row)) == 1
        if others or not is_near or not is_below_one or not line.text[:1].islower():
            break
        stop += 1
    return stop


def _columns(rows: Sequence[list[Line]]) -> list[tuple[float, float]]:
    """Return the left and right edges of a table's columns.

    They are empty if the rows have no gaps at the same places.
    """
    most = max(map(len, rows), default=0)
    for count in range(most, 1, -1):
        full = [row for row in rows if len(row) >= count]
        lines = sorted(chain.from_iterable(full))
        columns = _spans(lines)
        if len(columns) < count or len(full) < 2:
            continue
        gutters = [begin - end for (_, end), (begin, _) in pairwise(columns)]
        # In two justified lines, gaps may align by chance.
        if len(full) > 2 or min(gutters, default=0) > _SURE_GUTTER * full[0][0].height:
            return columns
        if any(_is_figure(line.text) for line in lines):
            return columns
    return []


def _spans(lines: Sequence[Line]) -> list[tuple[float, float]]:
    """Return the left and right edges of groups of overlapping lines; `lines` are sorted."""
    spans: list[tuple[float, float]] = []
    for line in lines:
        if spans and line.left < spans[-1][1]:
            left, right = spans[-1]
            spans[-1] = left, max(right, line.right)
        else:
            spans.append((line.left, line.right))
    return spans


def _markdown(cells: Sequence[Cells]) -> Iterator[str]:
    """Yield a table as Markdown.

    Two columns without a header become lines with a label and a value.
    """
    first, *_ = cells
    width = len(first)
    header_rows = 0
    if not any(map(_is_figure, first[1:])) and not first[0].endswith(":"):
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
        if is_complete or not any(row[1:]) or any(map(_is_figure, row)):
            break
        count += 1
    return count


def _cells(row: Sequence[Line], columns: Sequence[tuple[float, float]]) -> Cells:
    """Return the cells of a row; a cell that spans several columns is repeated in each."""
    parts = list[Line]()
    for line in row:
        parts += _parts_of_cells(line, columns)
    cells = [""] * len(columns)
    for part in parts:
        overlaps = [min(part.right, right) - max(part.left, left) for left, right in columns]
        most = max(overlaps)
        for index, (left, right) in enumerate(columns):
            overlap = overlaps[index]
            if overlap == most or overlap > _COVERED * (right - left):
                cells[index] = f"{cells[index]} {part.text}".strip()
    return cells


def _parts_of_cells(line: Line, columns: Sequence[tuple[float, float]]) -> list[Line]:
    """Split a line between two columns if one of the parts is a number.

    The gap before a wide number can be as narrow as a space.
    """
    spanned = list[tuple[float, float]]()
    for left, right in columns:
        if line.left < right and left < line.right:
            spanned.append((left, right))
    parts = list[Line]()
    rest = line
    for (_, end), (begin, _) in pairwise(spanned):
        pair = rest.cut(end - 1, begin + 1)
        if any(part.text.isdigit() or _is_figure(part.text) for part in pair):
            *before, rest = pair
            parts += before
    return [*parts, rest]


def _joined(rows: Sequence[list[Line]], cell_rows: Sequence[Cells]) -> list[Cells]:
    """Return the cells of each row of a table, which may be printed on several lines."""
    steps = _steps(rows)
    has_figures = [any(map(_is_figure, cells)) for cells in cell_rows]
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
        continues = step < 0.8 * height
        if step < close:
            has_figure = has_figures[index - 1] or has_figures[index]
            continues = continues or not has_figure or _is_partial(cells, above)
        first = next(filter(None, cells), " ")
        if first[0].islower() and step < _GAP * height and not has_figures[index]:
            continues = True
        if continues:
            pairs = zip(above, cells, strict=True)
            joined[-1] = [f"{upper} {lower}".strip() for upper, lower in pairs]
        else:
            joined.append(cells)
    return joined


def _is_partial(cells: Cells, above: Cells) -> bool:
    """Whether a row has an empty cell below a filled one."""
    return any(upper and not cell for upper, cell in zip(above, cells, strict=True))


def _steps(rows: Sequence[list[Line]]) -> list[float]:
    """Return the distance from each row to the next one."""
    return [following[0].middle - row[0].middle for row, following in pairwise(rows)]


def _is_figure(cell: str) -> bool:
    """Whether a cell is a number other than a year, with a unit or signs at most."""
    return _FIGURE.fullmatch(_SCRIPT.sub("", cell)) is not None


def _text(rows: Sequence[list[Line]]) -> str:
    """Return the text of these rows as paragraphs."""
    if not rows:
        return ""
    steps = _steps(rows)
    usual = median(steps or [0.0])
    text = _row_text(rows[0])
    for step, (row, following) in zip(steps, pairwise(rows), strict=True):
        smaller, larger = sorted((row[0].height, following[0].height))
        is_far = step > min(_GAP * usual, _FAR * larger)
        if is_far or larger > _OTHER_SIZE * smaller:
            text += "\n"
        text += f"\n{_row_text(following)}"
    return "\n\n".join(map(_paragraphs, text.strip().split("\n\n")))


def _row_text(row: list[Line]) -> str:
    return " ".join(line.text for line in row)


def _paragraphs(page: str) -> str:
    """Join printed lines into paragraphs."""
    lines = [line.strip() for line in page.translate(_LIGATURES).splitlines()]
    width = max(map(len, lines), default=0)
    text = ""
    for line, following in pairwise([*lines, ""]):
        text += f"{line}\n"
        if _ends_paragraph(line, following, width):
            text += "\n"
    text = re.sub(r"(?<=[^\W\d_])-\n(?=[a-zß-ÿ])", "", text)
    return re.sub(r"(?<!\n)\n(?!\n)", " ", text).strip()


def _ends_paragraph(line: str, following: str, width: int) -> bool:
    """Whether a paragraph ends with a line, on a page whose longest line has `width` characters."""
    if not line or not following or len(line) < _SHORT_LINE * width:
        return True
    if _SECTION.match(following):
        return True
    if following[0].islower():
        return False
    # The next word would have fitted on the line.
    next_word, *_ = following.split()
    return len(line) + len(next_word) < _ROOM * width

"""Finds tables among the rows of a page by their columns."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from itertools import chain, pairwise
from statistics import median
from typing import NamedTuple

from ._figures import is_figure
from ._headings import Columns, covered_columns
from ._lines import Line, Rule, extent_of, figures_among, running_stacks
from ._table_cells import cells_of, markdown_of, parts_of_row, rules_between, steps_of

_GAP = 1.7
"""Maximum distance to a further line of a cell, in letter heights."""
_ROW_GAP = 4
"""Maximum distance between two rows of a table, in letter heights."""
_HEAD_GAP = 2.2
"""Maximum distance from a row of headings to the header below it, in letter heights."""
_NAME_GAP = 1.5
"""The same if both have text in the first column."""
_EVEN_STEP = 1.1
"""Maximum ratio of an even distance between rows to the usual one."""
_HEAD_STEP = 1.6
"""The same, as a multiple of the usual distance between rows."""
_HEAD_ROWS = 3
"""Maximum number of rows of headings above a header."""
_OTHER_SIZE = 1.25
"""Ratio of two letter heights that do not occur in one table."""
_SET_APART = 1.5
"""Minimum ratio of the distance above another table to the usual distance between rows."""
_LABEL_WORDS = 4
"""Maximum number of words of a label before a number."""
_SAME = 0.2
"""Maximum distance between aligned positions, in letter heights."""
_PROSE = 0.75
"""Minimum width of running text that is no cell, as a share of the width of all rows."""
_LINE_STEP = 0.8
"""Minimum distance between two lines below each other, in letter heights."""
_SURE_GUTTER = 2
"""Two rows without numbers make a table only if the gap between their columns is wider than this,
in letter heights."""
_BLOCK_ROWS = 10
"""Maximum number of rows of addresses beside each other."""
_BLOCK_STEP = 1.6
"""Maximum distance between two lines of an address, in letter heights."""
_BLOCK_APART = 1.4
"""Minimum ratio of the distance from an address to a table below to that between its lines."""
_BLOCK_GAP = 3
"""Minimum distance between two addresses beside each other, in letter heights."""
_STRIP = 0.5
"""Minimum width of a strip between aligned cells, in letter heights; spaces are narrower."""
_STRIP_ROWS = 3
"""Minimum number of rows with cells on both sides of it."""
_PADDED = 1.25
"""Minimum ratio of the distance between rows to the distance between lines within a cell."""
TABLE = "| "
"""How a table begins."""

_FIGURES = re.compile(r"(?:(?:^|\s)[^\w\s]*(?:\d[\d.,'’]*[.,'’]\d+|(?<=\()\d+)[^\w\s]*){2,}$")
"""Consecutive numbers with a separator or in brackets; in others, a space may be a thousands
separator."""
_THOUSANDS = re.compile(r"(?<![\d.,])\d{1,3} \d{3}(?!\d)")
"""A space that may separate thousands."""
_WORD = re.compile(r"\w")
"""A letter or digit, which signs of currencies do not contain."""
_MARKER = re.compile(
    r"\(?(?:\d{1,3}|[a-z]|[ivx]{1,5})[.)]|[•▪‣◦·–—*\x7f\ue000-\uf8ff-]|\d{1,2}(?:\.\d{1,2})+\.?",
    re.IGNORECASE,
)
"""A list item's marker or a heading's number."""


class TextBlocks(NamedTuple):
    """Blocks of text beside each other, such as the addresses of an invoice."""

    first: int
    """Index of their first row."""
    stop: int
    """Index after their last row."""
    blocks: Sequence[Sequence[Line]]


class PageTable(NamedTuple):
    """A table among the rows of a page."""

    first: int
    """Index of its first row."""
    stop: int
    """Index after its last row."""
    columns: Columns
    body: int
    """Number of header rows, as far as positions show it."""


def regrouped(row: list[Line]) -> list[Line]:
    """Join a list marker with its item, and split several numbers at a line's end into cells."""
    if len(row) == 2 and _MARKER.fullmatch(row[0].text) and not is_figure(row[1].text):
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


def with_aligned_cells(rows: Sequence[list[Line]]) -> list[list[Line]]:
    """Split lines before a number that is aligned with one in the row above or below.

    The gap between a long label and a number can be as narrow as a space.
    """
    cells = list(rows)
    for order in (range(1, len(rows)), range(len(rows) - 2, -1, -1)):
        for index in order:
            near = cells[index - 1] if order.step > 0 else cells[index + 1]
            step = abs(cells[index][0].middle - near[0].middle)
            figures = figures_among(near)
            if not figures or step > _ROW_GAP * near[0].height:
                continue
            parts = list[Line]()
            for line in cells[index]:
                parts += _cut_at_numbers(line, figures)
            cells[index] = parts
    return cells


def _cut_at_numbers(line: Line, figures: Sequence[Line]) -> list[Line]:
    """Split a line around its numbers that are aligned with others."""
    words = [word for word in line.text.split() if not is_figure(word)]
    if not line.gaps or len(words) > _LABEL_WORDS:
        return [line]
    parts = list[Line]()
    rest = line
    for index, (start, (begin, left)) in enumerate(line.gaps):
        if not all(map(is_figure, line.text[start:].split())):
            continue
        right, stop = line.right, len(line.text)
        if index + 1 < len(line.gaps):
            stop, (right, _) = line.gaps[index + 1]
        word = line._replace(left=left, right=right, text=line.text[start:stop].strip(), gaps=())
        before = line.text.rfind(" ", 0, start - 1) + 1
        # The space may separate thousands, or a number from the sign of its currency.
        is_within = _THOUSANDS.match(line.text, before) or not _WORD.search(line.text[before:start])
        if not is_within and any(_are_aligned(word, figure) for figure in figures):
            *cut, rest = rest.cut(begin, left)
            parts += cut
    return [*parts, rest]


def _are_aligned(word: Line, figure: Line) -> bool:
    """Whether an edge or the centre of two numbers is at the same position."""
    distances = (word.left - figure.left, word.right - figure.right, word.centre - figure.centre)
    return min(map(abs, distances)) <= _SAME * word.height


def tables_among(
    rows: Sequence[list[Line]],
    rules: Sequence[Rule],
    prose: Collection[Line],
    start: int = 0,
    stop: int | None = None,
) -> list[PageTable]:
    """Return the tables among rows, from top to bottom.

    `rules` are the horizontal ruled lines of the page, `prose` lines that are in no table.
    """
    tables = list[PageTable]()
    stop = len(rows) if stop is None else stop
    free = start
    while start < stop:
        if rows[start][0].text.startswith(TABLE):
            tables.append(PageTable(start, start + 1, (), 0))
            start = free = start + 1
            continue
        end = _end_of_table(rows[:stop], start)
        for index in range(start, end):
            if rows[index][-1] in prose:
                end = index
                break
        columns = aligned_columns(rows[start:end])
        if len(columns) < 2:
            start += 1
            continue
        columns = _with_narrow_gaps(rows[start:end], columns)
        header, body = _header(rows, start, end, columns)
        is_named = header < body
        first = _first_row(rows, rules, free, header, end, columns, is_named=is_named)
        if first > start:
            tables += tables_among(rows, rules, prose, start, first)
        tables.append(PageTable(first, end, columns, body - first))
        start = free = end
    return tables


def wide_prose(rows: Sequence[list[Line]]) -> set[Line]:
    """Return the lines of running text that are about as wide as all rows together."""
    lines = list(chain.from_iterable(rows))
    if not lines:
        return set()
    whole = extent_of(lines)
    least = _PROSE * (whole.right - whole.left)
    wide = set[Line]()
    for line in chain.from_iterable(running_stacks(lines)):
        if line.right - line.left > least:
            wide.add(line)
    return wide


def _header(rows: Sequence[list[Line]], start: int, stop: int, columns: Columns) -> tuple[int, int]:
    """Return the indexes of the lowest row of the header and of the first row of data.

    What stands above its own header is no part of a table.
    """
    width = len(columns)
    for index in range(start, stop):
        parts = parts_of_row(rows[index], columns)
        figures = figures_among(parts[1:])
        if figures and (len(parts) == width or _keeps_to(parts, columns)):
            later = _named_row(rows, index + 1, stop, columns)
            if len(parts) < width and later is not None:
                return later, later + 1
            return index, index
        if len(parts) == width:
            return index, index + 1
    return start, start + 1


def _named_row(rows: Sequence[list[Line]], start: int, stop: int, columns: Columns) -> int | None:
    """Return the index of a row that names all columns, unless one with data in all comes first."""
    for index in range(start, stop):
        parts = parts_of_row(rows[index], columns)
        figures = figures_among(parts[1:])
        if len(parts) == len(columns):
            return None if figures else index
        if len(figures) > 1:
            return None
    return None


def _keeps_to(parts: Sequence[Line], columns: Columns) -> bool:
    """Whether no part of a row reaches from the first column into another one."""
    (_, end), (begin, _) = columns[:2]
    return not any(part.left < end and part.right > begin for part in parts)


def _first_row(
    rows: Sequence[list[Line]],
    rules: Sequence[Rule],
    free: int,
    header: int,
    stop: int,
    columns: Columns,
    *,
    is_named: bool,
) -> int:
    """Return the index of the topmost row of headings that belongs to a header."""
    steps = steps_of(rows[header:stop])
    usual_limit = _HEAD_GAP * rows[header][0].height
    if steps:
        usual_limit = max(usual_limit, _HEAD_STEP * median(steps))
    first = header
    count = lone = 0
    while first > free and count <= _HEAD_ROWS:
        parts = parts_of_row(rows[first - 1], columns)
        step = rows[first][0].middle - rows[first - 1][0].middle
        above = rows[first - 1]
        is_row = len(parts) > 1
        is_lone = False
        if not is_row:
            below = rules_between(rules, above, rows[first])
            is_row = _is_heading(above[0], columns, below)
            # It may also be the second line of a name.
            is_lone = not is_row and above[0].left >= columns[0][1]
            is_row = is_row or is_lone
        limit = usual_limit
        if first == header and not is_named:
            limit = _ROW_GAP * rows[first][0].height
        is_below_name = is_named or first < header
        if is_below_name and max(parts[0].left, rows[first][0].left) < columns[0][1]:
            # Two lines of one name are close to each other, rows at the usual distance.
            usual = _EVEN_STEP * median(steps or [0.0])
            limit = min(limit, max(usual, _NAME_GAP * rows[first][0].height))
        if step > limit or figures_among(parts) or not is_row or not _keeps_to(parts, columns):
            break
        lone = lone + 1 if is_lone else 0
        first -= 1
        # Names of one and two lines beside each other have other base lines.
        if step > _LINE_STEP * rows[first][0].height:
            count += 1
    first += lone
    if count > _HEAD_ROWS:
        # So many rows above a header are another block of text.
        return header
    return first


def _is_heading(line: Line, columns: Columns, below: Sequence[Rule]) -> bool:
    """Whether a line alone in its row is a heading of columns and not the title of the table.

    `below` are the ruled lines between it and the header; one below a title spans all columns.
    """
    (_, stub_end), (begin, _) = columns[:2]
    end = columns[-1][1]
    if line.left < stub_end or line.right > end + line.height:
        return False
    for rule in below:
        if rule.start < stub_end and rule.end > begin:
            return False
    if any(rule.start < line.centre < rule.end for rule in below):
        return True
    distances = (line.centre - (begin + end) / 2, line.centre - (stub_end + end) / 2)
    return min(map(abs, distances)) <= line.height / 2


def address_blocks(
    rows: Sequence[list[Line]], tables: Sequence[PageTable], index: int, free: int
) -> TextBlocks | None:
    """Return the blocks of text that a table is, if a table of figures is below it.

    They are set apart by a wide strip, have no header, and no figures but beside labels. `free` is
    the first row that may belong to them.
    """
    table = tables[index]
    own = rows[table.first : table.stop]
    below = tables[index + 1 :]
    if not table.columns or not 1 < len(own) <= _BLOCK_ROWS:
        return None
    if not any(not other.columns or _figure_columns(rows, other) for other in below):
        return None
    height = own[0][0].height
    gutters = [(left, right) for (_, left), (right, _) in pairwise(table.columns)]
    widest = max(right - left for left, right in gutters)
    is_tight = median(steps_of(own)) <= _BLOCK_STEP * height
    if not is_tight or widest < _BLOCK_GAP * height:
        return None
    edges = list[float]()
    for left, right in gutters:
        if right - left >= max(_BLOCK_GAP * height, widest / 3):
            edges.append((left + right) / 2)
    for column in _figure_columns(rows, table):
        gap = table.columns[column][0] - table.columns[column - 1][1]
        is_labelled = column > 1 and column - 1 not in _figure_columns(rows, table)
        if table.body or not is_labelled or gap * 2 > widest:
            return None
    counts = {len(parts_of_row(row, table.columns)) for row in own}
    is_full = counts <= {1, len(table.columns)}
    if is_full and len(edges) > 1:
        return None
    first, stop = table.first, table.stop
    while first > free and _continues(rows, first - 1, first, edges):
        first -= 1
    while stop < below[0].first and _continues(rows, stop - 1, stop, edges):
        stop += 1
    if stop == below[0].first:
        apart = rows[stop][0].middle - rows[stop - 1][0].middle
        if apart < _BLOCK_APART * median(steps_of(own)):
            return None
    blocks: list[list[Line]] = [[] for _ in range(len(edges) + 1)]
    for line in chain.from_iterable(rows[first:stop]):
        blocks[bisect_left(edges, line.centre)].append(line)
    return TextBlocks(first, stop, blocks)


def _figure_columns(rows: Sequence[list[Line]], table: PageTable) -> list[int]:
    """Return the indexes of the columns in which more than half of the cells are figures."""
    cells = defaultdict[int, list[str]](list)
    for row in rows[table.first : table.stop]:
        for part in parts_of_row(row, table.columns):
            cells[covered_columns(part, table.columns)[0]].append(part.text)
    columns = list[int]()
    for index, texts in sorted(cells.items()):
        figures = sum(map(is_figure, texts))
        # The first cell may be a heading.
        if index and figures and figures * 2 > len(texts) - 1:
            columns.append(index)
    return columns


def _continues(rows: Sequence[list[Line]], above: int, below: int, edges: Sequence[float]) -> bool:
    """Whether two rows belong to the same blocks of text, and no line reaches into two of them."""
    step = rows[below][0].middle - rows[above][0].middle
    for line in (*rows[above], *rows[below]):
        if any(line.left < edge < line.right for edge in edges):
            return False
    return step <= _BLOCK_STEP * rows[above][0].height


def text_of_table(
    rows: Sequence[list[Line]], rules: Sequence[Rule], table: PageTable
) -> Iterator[str]:
    """Yield a table as Markdown."""
    own = rows[table.first : table.stop]
    if not table.columns:
        yield own[0][0].text
        return
    yield from markdown_of(cells_of(own, table.columns, table.body, rules))


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
        if row[0].text.startswith(TABLE) or step > _ROW_GAP * height:
            break
        if height > _OTHER_SIZE * min(row[0].height, above[0].height):
            break
        if index - start > 1 and _starts_table(rows, start, index):
            break
        if len(row) > 1:
            stop = index + 1
        elif index - stop > 1 or sum(map(row[0].overlaps, rows[stop - 1])) > 1:
            break
    steps = steps_of(rows[start:stop])
    close = min(steps, default=0.0) / _PADDED
    # Cells of the last row may have further lines, each below exactly one of them.
    while stop < len(rows) and stop - start > 1:
        row = rows[stop - 1]
        line, *others = rows[stop]
        is_near = line.middle - row[0].middle <= _GAP * row[0].height
        is_below_one = sum(map(line.overlaps, row)) == 1
        distance = line.middle - row[0].middle
        is_further = line.text[:1].islower() or distance < close
        is_further = is_further or _is_centred(rows[start:stop], line)
        if others or not is_near or not is_below_one or not is_further:
            break
        stop += 1
    return stop


def _is_centred(rows: Sequence[list[Line]], line: Line) -> bool:
    """Whether the cells of the last row are halfway between a line below and one above them."""
    cell = rows[-1][-1]
    mirrored = 2 * cell.middle - line.middle
    candidates = list(rows[-1])
    if len(rows) > 1 and len(rows[-2]) == 1:
        candidates += rows[-2]
    for above in candidates:
        is_mirrored = abs(above.middle - mirrored) <= _SAME * line.height
        if is_mirrored and above.overlaps(line) and above.right < cell.left:
            return True
    return False


def _starts_table(rows: Sequence[list[Line]], start: int, index: int) -> bool:
    """Whether a row names the columns of another table, set apart from the rows above it."""
    if len(rows[index]) < 2 or index + 1 == len(rows):
        return False
    above, row, below = rows[index - 1 : index + 2]
    step = row[0].middle - above[0].middle
    usual = median(steps_of(rows[start:index]))
    has_names = all(re.search(r"[^\W\d_]{2}|\b(?:19|20)\d\d\b", line.text) for line in row[1:])
    if step <= _SET_APART * usual or not has_names or figures_among(row):
        return False
    return len(below) > 1 and figures_among(below[1:]) == below[1:]


def aligned_columns(rows: Sequence[list[Line]]) -> list[tuple[float, float]]:
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
        if figures_among(lines):
            return columns
    return []


def _with_narrow_gaps(
    rows: Sequence[list[Line]], columns: list[tuple[float, float]]
) -> list[tuple[float, float]]:
    """Split the columns in which a narrow strip goes through all rows.

    It lies between two numbers, or is wider than a space and beside aligned parts.
    """
    split = list[tuple[float, float]]()
    lines = list(chain.from_iterable(rows))
    for left, right in columns:
        others = [column for column in columns if column != (left, right)]
        own = list[Line]()
        for line in lines:
            if left <= line.centre <= right and not _reaches_into(line, others):
                own.append(line)
        strip = _strip_between_numbers(own)
        strips = [strip] if strip else list(_strips_beside_aligned_parts(own))
        for begin, end in strips:
            split.append((left, begin))
            left = end
        split.append((left, right))
    return split


def _reaches_into(line: Line, columns: Columns) -> bool:
    return any(line.left < right and left < line.right for left, right in columns)


def _strip_between_numbers(lines: Sequence[Line]) -> tuple[float, float] | None:
    """Return the strip between two numbers of all lines that have one; None without one."""
    gaps = list[tuple[float, float]]()
    count = 0
    for line in lines:
        if re.search(r"\d", line.text):
            count += 1
            gaps += _gap_between_numbers(line)
    strip = _common(gaps)
    return strip if len(gaps) == count > 2 else None


def _common(gaps: Sequence[tuple[float, float]]) -> tuple[float, float] | None:
    """Return the strip that all gaps have in common; None if there is none."""
    if not gaps:
        return None
    begin, end = gaps[0]
    for left, right in gaps[1:]:
        begin = max(begin, left)
        end = min(end, right)
    return (begin, end) if begin < end else None


def _strips_beside_aligned_parts(lines: Sequence[Line]) -> Iterator[tuple[float, float]]:
    """Yield the strips, wider than a space, between parts that are aligned."""
    wide_gaps = filter(None, map(_wide_gaps, lines))
    for gap in min(wide_gaps, key=len, default=[]):
        cells = list[list[Line]]()
        gaps = list[tuple[float, float]]()
        below = list[Line]()
        for line in lines:
            parts = line.cut(*gap, _STRIP)
            if len(parts) > 1:
                before, after = parts
                cells.append(parts)
                gaps.append((before.right, after.left))
            # What is above the first cells may be headings of several columns.
            if cells:
                below.append(line)
        strip = _common(gaps)
        if strip and len(cells) * 2 > len(below) and _are_cells(cells):
            left, right = strip
            across = [line for line in below if line.left < right and left < line.right]
            if all(len(line.cut(*strip)) > 1 for line in across):
                yield strip


def _wide_gaps(line: Line) -> list[tuple[float, float]]:
    """Return the gaps of a line that are wider than a space."""
    return [gap for _, gap in line.gaps if gap[1] - gap[0] > _STRIP * line.height]


def _are_cells(parts: Sequence[Sequence[Line]]) -> bool:
    """Whether the words before and behind a strip are cells, and not a list item or a unit."""
    befores = [before for before, _ in parts]
    afters = [after for _, after in parts]
    for line in (*befores, *afters):
        if not _WORD.search(line.text):
            return False
    has_markers = all(_MARKER.fullmatch(before.text) for before in befores)
    if has_markers and figures_among(afters) != afters:
        return False
    # A heading may be centred over its column.
    return _aligned(afters) >= max(len(afters) - 1, _STRIP_ROWS)


def _aligned(lines: Sequence[Line]) -> int:
    """Return the number of lines that are aligned with the last one, on one side or centred."""
    last = lines[-1]
    near = _SAME * last.height
    lefts = 0
    rights = 0
    centres = 0
    for line in lines:
        if abs(line.left - last.left) <= near:
            lefts += 1
        if abs(line.right - last.right) <= near:
            rights += 1
        if abs(line.centre - last.centre) <= near:
            centres += 1
    return max(lefts, rights, centres)


def _gap_between_numbers(line: Line) -> list[tuple[float, float]]:
    """Return the gap of a line that is two numbers, unless it may separate thousands."""
    if len(line.gaps) != 1:
        return []
    before, after = line.text.split(" ", 1)
    if not is_figure(before) or not is_figure(after) or _THOUSANDS.search(line.text):
        return []
    return [line.gaps[0][1]]


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

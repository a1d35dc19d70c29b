"""Positioned and ruled lines of a page, rows of lines, and which lines are running text."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from ._figures import is_figure

_LONG_LINE = 8
"""Minimum ratio of width to height for a line of running text; table cells are shorter."""
_RUNNING_LINES = 4
"""Minimum number of lines of running text below each other."""
_RUNNING_STEP = 2.0
"""Maximum distance between two lines of running text, in letter heights."""
_UNEVEN = 1.25
"""Ratio of two line distances, or of two line heights, that ends running text."""
_INDENT = 3.0
"""Maximum difference between the left edges of two lines of running text, in letter heights."""
_EVEN = 1.3
"""Maximum ratio of two spaces of a justified line."""
_WIDEST = 3.0
"""Maximum width of a space of a justified line, in letter heights."""
_SAME = 0.3
"""Maximum distance between the edges of two lines of a justified paragraph, in letter heights."""
_FULL = 0.7
"""Minimum share of lines of running text that the next word would not have fitted on."""
_LETTERS = 2.0
"""Width of two letters of a script without spaces, in letter heights."""
_RUNNING_WORDS = 4
"""Minimum average number of words in a line of running text, if its script separates words."""


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

    @property
    def centre(self) -> float:
        """Horizontal centre."""
        return (self.left + self.right) / 2

    @property
    def is_long(self) -> bool:
        """Whether it is long enough for running text."""
        return self.right - self.left >= _LONG_LINE * self.height

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


class Rule(NamedTuple):
    """A vertical or horizontal ruled line; vertical positions grow downwards."""

    start: float
    end: float
    at: float
    """Its x if it is vertical, its y if it is horizontal."""


def rows_of(lines: Iterable[Line]) -> list[list[Line]]:
    """Group lines into rows, ordered from top to bottom and from left to right."""
    rows: list[list[Line]] = []
    for line in sorted(lines, key=middle_of):
        if rows and line.middle - rows[-1][0].middle < rows[-1][0].height / 2:
            rows[-1].append(line)
        else:
            rows.append([line])
    return list(map(sorted, rows))


def extent_of(lines: Sequence[Line]) -> Line:
    """Return the area that lines take up together."""
    left, top, right, bottom = lines[0][:4]
    for line in lines[1:]:
        left = min(left, line.left)
        top = min(top, line.top)
        right = max(right, line.right)
        bottom = max(bottom, line.bottom)
    return Line(left, top, right, bottom)


def text_of_row(row: Sequence[Line]) -> str:
    """Return the text of the lines of a row."""
    return " ".join(line.text for line in row)


def figures_among(lines: Sequence[Line]) -> list[Line]:
    """Return the lines that are figures."""
    return [line for line in lines if is_figure(line.text)]


def without_wide_spaces(lines: Sequence[Line]) -> list[Line]:
    """Join the parts of justified lines whose spaces are as wide as gaps between cells.

    Their spaces are all equally wide, and they reach as far as a line above or below.
    """
    joined = list[Line]()
    rows = rows_of(lines)
    for above, row, below in zip([[], *rows], rows, [*rows[1:], []], strict=False):
        near = [*above, *below]
        start = 0
        while start < len(row):
            stop = _evenly_spaced(row, start)
            whole = _as_one(row[start:stop])
            is_text = whole.is_long and _has_words([whole])
            if not is_text or not any(_is_as_wide(whole, line) for line in near):
                whole = row[start]
                stop = start + 1
            joined.append(whole)
            start = stop
    return joined


def _evenly_spaced(row: Sequence[Line], start: int) -> int:
    """Return the index after the last part of a row that equal spaces separate."""
    spaces = _spaces(row[start])
    stop = start + 1
    while stop < len(row):
        line = row[stop]
        spaces.append(line.left - row[stop - 1].right)
        spaces += _spaces(line)
        if max(spaces) > _EVEN * min(spaces) or max(spaces) > _WIDEST * line.height:
            break
        stop += 1
    return stop


def _spaces(line: Line) -> list[float]:
    """Return the widths of the gaps between the words of a line."""
    return [end - begin for _, (begin, end) in line.gaps]


def _as_one(parts: Sequence[Line]) -> Line:
    """Return the parts of a row as one line."""
    whole = parts[0]
    for part in parts[1:]:
        start = len(whole.text) + 1
        own = [(start + offset, edges) for offset, edges in part.gaps]
        gaps = (*whole.gaps, (start, (whole.right, part.left)), *own)
        text = f"{whole.text} {part.text}"
        whole = whole._replace(right=part.right, text=text, gaps=gaps)
    return whole


def _is_as_wide(line: Line, other: Line) -> bool:
    """Whether two lines begin and end at the same positions and may belong to one paragraph."""
    near = _SAME * line.height
    is_near = abs(line.middle - other.middle) <= _RUNNING_STEP * line.height
    return is_near and abs(line.left - other.left) <= near and abs(line.right - other.right) <= near


def middle_of(line: Line) -> float:
    """Return the vertical centre of a line, to sort by it."""
    return line.middle


def running_stacks(lines: Iterable[Line]) -> list[list[Line]]:
    """Return the stacks of lines that are running text.

    Running text breaks where the next word does not fit on the line; labels and values below each
    other end anywhere.
    """
    running = list[list[Line]]()
    for stack in _stacks(lines):
        running += filter(_is_running, _segments(stack))
    return running


def _segments(stack: Sequence[Line]) -> list[list[Line]]:
    """Split a stack between two lines that the next word would have fitted on."""
    edge = extent_of(stack).right
    segments: list[list[Line]] = [[]]
    was_full = True
    for line, following in zip(stack, [*stack[1:], None], strict=True):
        is_full = following is None or _is_full(line, following, edge)
        if not was_full and not is_full:
            segments.append([])
        segments[-1].append(line)
        was_full = is_full
    return segments


def _is_running(segment: Sequence[Line]) -> bool:
    if len(segment) < _RUNNING_LINES or not _has_words(segment):
        return False
    edge = extent_of(segment).right
    full = 0
    for line, below in pairwise(segment):
        if _is_full(line, below, edge):
            full += 1
    return full >= _RUNNING_LINES - 1 and full >= _FULL * (len(segment) - 1)


def _is_full(line: Line, below: Line, edge: float) -> bool:
    """Whether a line is long, and the first word of the next one would not have fitted on it."""
    word = _first_word(below)
    if " " not in below.text:
        # The script does not separate words.
        word = min(word, _LETTERS * line.height)
    return line.is_long and line.right + word > edge


def _has_words(stack: Sequence[Line]) -> bool:
    """Whether lines have as many words as running text."""
    spaces = sum(line.text.count(" ") for line in stack)
    return not spaces or spaces >= (_RUNNING_WORDS - 1) * len(stack)


def _first_word(line: Line) -> float:
    """Return the approximate width of a line's first word and the space before it."""
    if not line.text:
        return 0.0
    length = line.text.find(" ") + 1 or len(line.text) + 1
    return (line.right - line.left) * length / len(line.text)


def _stacks(lines: Iterable[Line]) -> list[list[Line]]:
    """Group lines that stand below each other at an even distance."""
    ordered = sorted(lines, key=middle_of)
    middles = [line.middle for line in ordered]
    stacks = list[list[Line]]()
    stack_of = dict[int, list[Line]]()
    for index, line in enumerate(ordered):
        stack = stack_of.get(index)
        if stack is None:
            stack = [line]
            stacks.append(stack)
        following = _line_below(ordered, middles, index)
        if following is None or following in stack_of:
            continue
        below = ordered[following]
        if len(stack) > 1:
            step = line.middle - stack[-2].middle
            smaller, larger = sorted((step, below.middle - line.middle))
            if larger > _UNEVEN * smaller:
                continue
        stack.append(below)
        stack_of[following] = stack
    return stacks


def _line_below(ordered: Sequence[Line], middles: Sequence[float], index: int) -> int | None:
    """Return the index of the nearest line below one, if it may continue it."""
    line = ordered[index]
    start = bisect_left(middles, line.middle + line.height / 2)
    for following in range(start, len(ordered)):
        below = ordered[following]
        if below.middle - line.middle > _RUNNING_STEP * line.height:
            return None
        if not line.overlaps(below):
            continue
        smaller, larger = sorted((line.height, below.height))
        is_even = larger <= _UNEVEN * smaller
        is_below = abs(below.left - line.left) <= _INDENT * line.height
        return following if is_even and is_below else None
    return None

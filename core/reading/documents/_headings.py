"""Finds the columns that a heading of a table belongs to: a centred one to all below it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from ._lines import Line, Rule

_COVERED = 0.8
"""Minimum share of a column that a spanning cell must cover to count as part of it."""
_CENTRED = 0.3
"""Maximum distance between the centres of a heading and of the columns that it spans, as a share of
their width."""
_EXACT = 0.5
"""Maximum difference, in letter heights, between edges or centres that are aligned."""
_ALIGNED = 0.25
"""The same for a heading that is certainly aligned with a single column."""
_MOST_PLAIN = 2
"""Maximum number of columns of figures before those with headings over several columns."""
_MOST_COLUMNS = 30
"""Maximum number of columns of a table with headings over several columns."""

Columns = Sequence[tuple[float, float]]
"""Left and right edges of a table's columns."""
Span = tuple[int, int]
"""Indexes of the first and the last column of a heading."""


class Header(NamedTuple):
    """What is known of a table when a row of its header is read."""

    columns: Columns
    stubs: int
    """Number of columns with row labels."""
    names: Sequence[str]
    """Cells of the header row below."""
    rules: Sequence[Rule]
    """Horizontal ruled lines between the two rows."""


def head_spans(heads: Sequence[Line], header: Header) -> Sequence[Span]:
    """Return the columns of each heading of a row.

    Empty if none of the headings belongs to several columns.
    """
    count = len(header.columns)
    if not heads or len(heads) >= count - 1 or count > _MOST_COLUMNS:
        return []
    ruled = _ruled_spans(heads, header)
    if ruled:
        return ruled
    for stubs in range(header.stubs, header.stubs + _MOST_PLAIN + 1):
        equal = _equal_spans(heads, header, stubs)
        if equal:
            return equal
    spans = _widest_spans(heads, header)
    if any(first < last for first, last in spans):
        return spans
    return []


def covered_columns(part: Line, columns: Columns) -> list[int]:
    """Return the indexes of the columns that a part of a row covers, or of the nearest one."""
    overlaps = [min(part.right, right) - max(part.left, left) for left, right in columns]
    most = max(overlaps)
    covered = list[int]()
    for index, (left, right) in enumerate(columns):
        if overlaps[index] == most or overlaps[index] > _COVERED * (right - left):
            covered.append(index)
    return covered


def _ruled_spans(heads: Sequence[Line], header: Header) -> list[Span]:
    """Return the columns above which each heading has a ruled line of its own, if all have one."""
    spans = list[Span]()
    for head in heads:
        below = list[int]()
        for rule in header.rules:
            others = [other for other in heads if rule.start < other.centre < rule.end]
            if others == [head]:
                below += _columns_within(rule, header.columns)
        if not below or below[0] == 0 or (spans and below[0] <= spans[-1][1]):
            return []
        spans.append((below[0], below[-1]))
    return spans


def _columns_within(rule: Rule, columns: Columns) -> list[int]:
    """Return the indexes of the columns whose centre is above or below a ruled line."""
    within = list[int]()
    for index, (left, right) in enumerate(columns):
        if rule.start < (left + right) / 2 < rule.end:
            within.append(index)
    return within


def _are_distinct(names: Sequence[str]) -> bool:
    """Whether the names below one heading are different, but for headings over several columns."""
    groups = [name for name, _ in groupby(filter(None, names))]
    return len(set(groups)) == len(groups)


def _equal_spans(heads: Sequence[Line], header: Header, stubs: int) -> list[Span]:
    """Return spans of one size that cover all columns but the first ones, if they fit."""
    columns = header.columns
    if stubs >= len(columns):
        return []
    size, rest = divmod(len(columns) - stubs, len(heads))
    if rest or size < 2 or heads[0].left < columns[stubs - 1][1]:
        return []
    is_lone_middle = len(heads) == 1 and size % 2 == 1
    groups = set[tuple[str, ...]]()
    for first in range(stubs, len(columns), size):
        groups.add(tuple(header.names[first : first + size]))
    are_repeated = len(heads) > 1 and len(groups) == 1
    spans = list[Span]()
    for index, head in enumerate(heads):
        first = stubs + size * index
        last = first + size - 1
        distance, width = _distance(head, columns, first, last)
        single = _single_distance(head, columns)
        is_off = distance > _EXACT * head.height and single < _ALIGNED * head.height
        # A name of two lines over the middle column looks the same.
        is_name = is_lone_middle and single <= _EXACT * head.height
        # Above names that are the same in each group, headings need not be centred.
        is_first = are_repeated and abs(head.left - columns[first][0]) <= _EXACT * head.height
        if not is_first and (distance > _CENTRED * width or is_off or is_name):
            return []
        if not _are_distinct(header.names[first : last + 1]):
            return []
        spans.append((first, last))
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


class _Choice(NamedTuple):
    """Spans of the first headings of a row."""

    covered: int
    """Number of columns that they cover."""
    closeness: float
    """Negative sum of the distances from their centres."""
    spans: tuple[Span, ...]


def _widest_spans(heads: Sequence[Line], header: Header) -> Sequence[Span]:
    """Return the spans that cover most columns, each below the centre of its heading."""
    several = list[list[tuple[Span, float]]]()
    for head in heads:
        possible = _possible_spans(head, header, with_odd=True)
        several.append([(span, distance) for span, distance in possible if span[0] < span[1]])
    complete = _best_spans(several)
    covered = 0
    for first, last in complete:
        covered += last - first + 1
    if covered == len(header.columns) - header.stubs:
        return complete
    return _best_spans([list(_possible_spans(head, header, with_odd=False)) for head in heads])


def _best_spans(possible: Sequence[Sequence[tuple[Span, float]]]) -> Sequence[Span]:
    """Return one of the possible spans of each heading, so that they cover most columns."""
    best = {0: _Choice(0, 0.0, ())}
    for choices in possible:
        reached: dict[int, _Choice] = {}
        for end, before in best.items():
            for (first, last), distance in choices:
                if first <= end:
                    continue
                covered = before.covered + last - first + 1
                closeness = before.closeness - distance
                choice = _Choice(covered, closeness, (*before.spans, (first, last)))
                if last not in reached or choice > reached[last]:
                    reached[last] = choice
        best = reached
    if not best:
        return ()
    return max(best.values()).spans


def _possible_spans(head: Line, header: Header, *, with_odd: bool) -> Iterator[tuple[Span, float]]:
    """Yield spans of a heading, with the distance of their centre as a share of their width.

    Over the middle of an odd number of columns, the first line of a name looks the same.
    """
    columns = header.columns
    covered = covered_columns(head, columns)
    yield (covered[0], covered[-1]), 0.0
    single = _single_distance(head, columns)
    for first in range(header.stubs, len(columns)):
        for last in range(first + 1, len(columns)):
            is_odd = (last - first) % 2 == 0
            if is_odd and len(covered) == 1 and not with_odd:
                continue
            distance, width = _distance(head, columns, first, last)
            is_near = distance <= _CENTRED * width
            if not with_odd:
                is_near = is_near and distance <= max(single, _EXACT * head.height)
            if is_near and _are_distinct(header.names[first : last + 1]):
                yield (first, last), distance / width

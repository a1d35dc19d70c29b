"""A small picture of where the evidence came from: a bar for each source, by verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from .quotes import Quote

WIDTH = 400
"""Width of the picture in its own units; it grows and shrinks with the page."""
ROW = 30
"""Height of a row in the same units."""
MOST_BARS = 20
"""Bars at most: the sources that are cited most."""
_LONGEST = 360
_TITLE_CHARACTERS = 56
_PAINTS = {"supported": ("#1d6b45", "none"), "unchecked": ("url(#hatched)", "none"), "unsupported": ("none", "#a01b14")}
"""Fill and stroke by verdict, for what does not read the page's style in a picture: each can be told without colour."""


class Segment(NamedTuple):
    """The passages of one verdict in a bar."""

    verdict: str
    passages: int
    start: float
    width: float
    fill: str
    stroke: str


class Bar(NamedTuple):
    """The passages of one source."""

    number: int
    title: str
    total: int
    top: int
    segments: Sequence[Segment]


def bars_of(quotes: Sequence[Quote]) -> list[Bar]:
    """The bars in the order of the sources' numbers, the longest as wide as there is room; empty without passages."""
    cited = [quote for quote in quotes if quote.number]
    totals = Counter(quote.number for quote in cited)
    shown = sorted(number for number, _ in totals.most_common(MOST_BARS))
    titles = {quote.number: quote.title for quote in cited}
    unit = _LONGEST / max(totals.values(), default=1)
    counts = Counter[tuple[int, str]]((quote.number, quote.verdict) for quote in cited)
    return [
        Bar(
            number,
            _short(titles[number]),
            totals[number],
            place * ROW,
            _segments([counts[number, verdict] for verdict in _PAINTS], unit),
        )
        for place, number in enumerate(shown)
    ]


def _segments(counts: Sequence[int], unit: float) -> list[Segment]:
    segments, start = list[Segment](), 0.0
    for (verdict, paint), count in zip(_PAINTS.items(), counts, strict=True):
        if count:
            segments.append(Segment(verdict, count, round(start, 2), round(count * unit, 2), *paint))
        start += count * unit
    return segments


def _short(title: str) -> str:
    return title if len(title) <= _TITLE_CHARACTERS else title[: _TITLE_CHARACTERS - 1].rstrip() + "…"

"""Marks in the Markdown of a report where its sentences begin and end and where it cites, to be found again later."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from ...audit import ClaimCheck
from ...evidence.citations.markers import Marker
from ...evidence.citations.scanner import scan
from ...state import Report

# Brackets that no report needs: punctuation like those of a marker, so that Markdown reads what is around as before.
OPEN, CLOSE = "⁅", "⁆"
MARK = re.compile(rf"{OPEN}([bce])([0-9]+){CLOSE}")
"""A mark: where a sentence begins (b) or ends (e), or a citation (c), and which one, from 0."""
_REPLACED = str.maketrans({OPEN: "[", CLOSE: "]"})
_BLOCK = re.compile(r"(?:\s|\||[-*+•>#]{1,6}\s|\d{1,9}[.)]\s)*")


class Citation(NamedTuple):
    """A source cited at one place."""

    number: int
    """Number of the source."""
    claim: int
    """Number of the sentence among those that were checked, from 0; -1 where it is none of them."""


class Marked(NamedTuple):
    """The Markdown of a report with marks."""

    text: str
    citations: Sequence[Citation]


def mark_report(report: Report) -> Marked:
    """Mark the sentences and citations of a report; a number that no source has stays as it is written."""
    citations: list[Citation] = []
    text = report.text.translate(_REPLACED)
    bounds, starts = _bounds(report.claims, text), [claim.start for claim in report.claims]
    pieces: list[str] = []
    for piece, place in _pieces(text, [bound for bound, _ in bounds]):
        while bounds and bounds[0][0] <= place:
            pieces.append(bounds.pop(0)[1])
        if isinstance(piece, Marker) and all(1 <= number <= len(report.sources) for number in piece.numbers):
            claim = _claim_at(place, starts, report.claims)
            pieces += [_mark("c", len(citations) + step) for step in range(len(piece.numbers))]
            citations += [Citation(number, claim) for number in piece.numbers]
        else:
            pieces.append(piece.raw if isinstance(piece, Marker) else piece)
    pieces += [mark for _, mark in bounds]
    return Marked("".join(pieces), citations)


def _pieces(text: str, bounds: Sequence[int]) -> Iterator[tuple[str | Marker, int]]:
    """The parts of a text with their places, cut where a sentence begins or ends."""
    place = 0
    for part in scan(text):
        length = len(part.raw if isinstance(part, Marker) else part)
        if isinstance(part, Marker):
            yield part, place
        else:
            inner = bounds[bisect_right(bounds, place) : bisect_right(bounds, place + length - 1)]
            for start, end in pairwise([0, *sorted({bound - place for bound in inner}), length]):
                yield part[start:end], place + start
        place += length


def _bounds(claims: Sequence[ClaimCheck], text: str) -> list[tuple[int, str]]:
    """Where the sentences begin and end, in order, each with its mark; what Markdown reads as layout stays outside."""
    found: list[tuple[int, int, str]] = []
    for number, claim in enumerate(claims):
        begin = _BLOCK.match(text, claim.start, claim.end)
        start = begin.end() if begin else claim.start
        end = claim.start + len(text[claim.start : claim.end].rstrip(" \t\n|"))
        if start < end:
            # An end comes before the beginning at the same place.
            found += [(start, 1, _mark("b", number)), (end, 0, _mark("e", number))]
    return [(place, mark) for place, _, mark in sorted(found)]


def _claim_at(place: int, starts: Sequence[int], claims: Sequence[ClaimCheck]) -> int:
    number = bisect_right(starts, place) - 1
    return number if number >= 0 and place < claims[number].end else -1


def _mark(kind: str, number: int) -> str:
    return f"{OPEN}{kind}{number}{CLOSE}"

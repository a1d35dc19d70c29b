"""Finds what a unit of a report rests on in a source: its own words, or else the sentences that share most with it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import NamedTuple

from .source_text import FIGURE, SourceText, words_and_figures
from .units import Unit

LONGEST = 2000
"""Maximum number of characters of a unit that are looked for."""
WIDEST = 3
"""Maximum number of neighbouring sentences in a passage."""
WIDER = 0.04
"""Share of the unit that each further sentence of a passage must add."""
AROUND = 80
"""Characters before and behind a quote in which the end of the next sentence is looked for."""
_PIECE = re.compile(r"\w+|[^\w\s]")
_HAS_WORD = re.compile(r"[^\W_]")
_ENDS = ("", *".!?…。！？\n\r")
_OPENS = (*_ENDS, *"'\"”»]#*_`-•>|")


class Passage(NamedTuple):
    """A part of a source."""

    start: int
    """Where it begins in the text, in characters."""
    end: int
    share: float
    """Share of the unit's words and figures that it contains, the rare ones counting more; 1 if it quotes the unit."""
    is_quote: bool = False
    """Whether it says the unit word for word."""


def best_passage(unit: Unit, source: SourceText) -> Passage:
    """Return the passage that says a unit word for word, else the sentences that share most with it; may be empty."""
    if quote := find_quote(unit, source):
        return quote
    wanted = words_and_figures(unit.text[:LONGEST])
    total, counts = len(source.sentences), source.counts
    weights = {key: math.log(1 + total / (counts[key] or 1)) * (FIGURE if key[0].isdigit() else 1) for key in wanted}
    best, whole = Passage(0, 0, 0.0), sum(weights.values())
    for first, sentence in enumerate(source.sentences):
        held = frozenset[str]()
        for size, last in enumerate(source.sentences[first : first + WIDEST]):
            held |= last.keys & wanted
            share = sum(weights[key] for key in held) / whole - WIDER * size if held else 0.0
            if share > best.share:
                best = Passage(sentence.start, last.end, share)
    return best


def find_quote(unit: Unit, source: SourceText) -> Passage | None:
    """Return where a source says a unit word for word, as a whole sentence, line or row of a table; none if nowhere.

    White space and emphasis do not matter. A quote may begin with the heading above it: "Report of May: It rained."
    """
    if unit.rows:
        head, row = unit.rows
        return next(_verbatim(row, source.text), None) if any(_verbatim(head, source.text)) else None
    if quote := next(_verbatim(unit.text, source.text), None):
        return quote
    for joint in re.finditer(": ", unit.text):
        below = [window for window in source.windows.windows if window.head == unit.text[: joint.start()]]
        for quote in _verbatim(unit.text[joint.end() :], source.text) if below else ():
            if any(window.start <= quote.start < window.end for window in below):
                return quote
    return None


def _verbatim(words: str, text: str) -> Iterator[Passage]:
    """Yield where words stand as a whole sentence or line."""
    if len(words) > LONGEST or not _HAS_WORD.search(words):
        return
    pattern, end = "", 0
    for piece in _PIECE.finditer(words):
        gap = r"[*_`]*\s[\s*_`]*" if piece.start() > end else "[*_`]*"
        pattern += f"{gap if end else ''}{re.escape(piece.group())}"
        end = piece.end()
    for found in re.finditer(pattern, text):
        before = text[max(0, found.start() - AROUND) : found.start()].rstrip(" \t")
        behind = text[found.end() : found.end() + AROUND].lstrip(" \t*_`")
        if before[-1:] in _OPENS and (found.group()[-1] in _ENDS or behind[:1] in _ENDS):
            yield Passage(*found.span(), 1.0, is_quote=True)

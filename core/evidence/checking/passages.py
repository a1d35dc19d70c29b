"""Finds what a unit of a report rests on in a source: its own words, or else the sentences that share most with it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import NamedTuple

from .source_text import FIGURE, SourceSentence, SourceText, words_and_figures
from .units import ReportUnit

LONGEST = 2000
"""Maximum number of characters of a unit that are looked for."""
WIDEST = 3
"""Maximum number of neighbouring sentences in a passage."""
WIDER = 0.04
"""Share of the unit that each further sentence of a passage must add."""
AROUND = 80
"""Characters before and behind a quote in which the end of the next sentence is looked for."""
ROWS = 500
"""Maximum number of characters of the rows below the head of a table."""
_ROWS = re.compile(r"[ \t|]*\n[ \t]*\|[ \t:|-]+(?:\n[ \t]*\|.*)+")
_PIECE = re.compile(r"\w+|[^\w\s]")
_HAS_WORD = re.compile(r"[^\W_]")
_ENDS = ("", *".!?…。！？\n\r")
_OPENS = (*_ENDS, *"'\"”»]#*_`-•>|")


class PassageMatch(NamedTuple):
    """A part of a source, and how much of a unit it contains."""

    start: int
    """Where it begins in the text, in characters."""
    end: int
    share: float
    """Share of the unit's words and figures that it contains, the rare ones counting more; 1 if it quotes the unit."""
    is_quote: bool = False
    """Whether it says the unit word for word."""


def best_passage(unit: ReportUnit, source: SourceText) -> PassageMatch:
    """Return the passage that says a unit word for word, else the sentences that share most with it.

    Of a text that shares nothing with it that is the first sentence; of one without a sentence it is empty.
    """
    if quote := find_quote(unit, source):
        return quote
    wanted = words_and_figures(unit.text[:LONGEST])
    total, counts = len(source.sentences), source.counts
    weights = {key: math.log(1 + total / (counts[key] or 1)) * (FIGURE if key[0].isdigit() else 1) for key in wanted}
    opening = source.sentences[0] if source.sentences else SourceSentence(0, 0, frozenset())
    best, whole = PassageMatch(opening.start, opening.end, 0.0), sum(weights.values())
    for first, sentence in enumerate(source.sentences):
        held = frozenset[str]()
        for size, last in enumerate(source.sentences[first : first + WIDEST]):
            held |= last.keys & wanted
            # Sums of the same numbers differ in their last digit.
            share = min(1.0, math.fsum(weights[key] for key in held) / whole) - WIDER * size if held else 0.0
            if share > best.share:
                best = PassageMatch(sentence.start, last.end, share)
    return _with_rows(best, source.text)


def _with_rows(passage: PassageMatch, text: str) -> PassageMatch:
    """Return a passage that ends in the head of a table with the rows below it: a head alone proves nothing."""
    below = _ROWS.match(text, passage.end)
    if not below:
        return passage
    end, last = below.end(), passage.end + ROWS
    return passage._replace(end=end if end <= last else text.rindex("\n", passage.end, last))


def find_quote(unit: ReportUnit, source: SourceText) -> PassageMatch | None:
    """Return where a source says a unit word for word, as a whole sentence, line or row of a table; none if nowhere.

    White space and emphasis do not matter. A quote may begin with its heading or title: "Report of May: It rained."
    """
    if unit.rows:
        lines = (rf"(?m)^[ \t|]*{_pattern(words)}[ \t|]*$" for words in unit.rows)
        head, row = (next(_found(line, words, source.text), None) for line, words in zip(lines, unit.rows, strict=True))
        return head and row
    for heading, words in _splits(unit.text):
        parts = _parts_below(heading, source)
        for quote in _found(_pattern(words), words, source.text) if parts else ():
            if _is_whole(quote, source.text) and any(quote.start in part for part in parts):
                return quote
    return None


def _splits(text: str) -> Iterator[tuple[str, str]]:
    """Yield a text without a heading, then each way to split it into a heading and the words below it."""
    yield "", text
    for joint in re.finditer(": ", text):
        yield text[: joint.start()], text[joint.end() :]


def _parts_below(heading: str, source: SourceText) -> list[range]:
    """Return the parts of a source below a heading; below its first line, or no heading, stands all of it."""
    title = source.text.strip().partition("\n")[0].strip("# \t")
    if heading in ("", title):
        return [range(len(source.text))]
    return [range(one.start, one.end) for one in source.windows.windows if one.head == heading]


def _pattern(words: str) -> str:
    """Return a regular expression for words that may be emphasised and broken into lines."""
    pattern, end = "", 0
    for piece in _PIECE.finditer(words):
        gap = r"[*_`]*\s[\s*_`]*" if piece.start() > end else "[*_`]*"
        pattern += f"{gap if end else ''}{re.escape(piece.group())}"
        end = piece.end()
    return pattern


def _found(pattern: str, words: str, text: str) -> Iterator[PassageMatch]:
    if len(words) <= LONGEST and _HAS_WORD.search(words):
        yield from (PassageMatch(*found.span(), 1.0, is_quote=True) for found in re.finditer(pattern, text))


def _is_whole(quote: PassageMatch, text: str) -> bool:
    """Whether a quote begins where a sentence or line does, and ends where one does."""
    before = text[max(0, quote.start - AROUND) : quote.start].rstrip(" \t")
    behind = text[quote.end : quote.end + AROUND].lstrip(" \t*_`|")
    return before[-1:] in _OPENS and (text[quote.end - 1] in _ENDS or behind[:1] in _ENDS)

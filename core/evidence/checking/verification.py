"""Checks the units of a report against their cited sources without a model; only verbatim quotes count as supported."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ...records.report import CitedPassage, ClaimCheck, ClaimVerdict, SupportVerdict
from ...records.sources import Source
from ..text.sentences import page_of, printed_page
from .proof import ProofPassage
from .source_text import FIGURE, SourceSentence, SourceText, words_and_figures
from .units import ReportUnit

_NO_TEXT = "the source's text is not stored"
_LONGEST = 2000
"""Maximum number of characters of a unit to search for."""
_WIDEST = 3
"""Maximum number of neighbouring sentences in a passage."""
_WIDER = 0.04
"""Share of the unit that each further sentence must add to be included in a passage."""
_AROUND = 80
"""Number of characters before and after a quote to search for a sentence end."""
ROWS = 500
"""Maximum length of the rows added below a table header, in characters."""
_ROWS = re.compile(r"[ \t|]*\n[ \t]*\|[ \t:|-]+(?:\n[ \t]*\|.*)+")
_PIECE = re.compile(r"\w+|[^\w\s]")
_HAS_WORD = re.compile(r"[^\W_]")
_ENDS = ("", *".!?…。！？\n\r")
_OPENS = (*_ENDS, *"'\"”»]#*_`-•>|")


def with_independence(claims: Iterable[ClaimCheck], organisations: Mapping[str, str]) -> tuple[ClaimCheck, ...]:
    """Return the claims with the number of supporting organisations set; `organisations` are by source key."""
    counted = list[ClaimCheck]()
    for claim in claims:
        supporting = {organisations[found.source] for found in claim.passages if found.verdict == "supported"}
        counted.append(claim.model_copy(update={"independent": len(supporting)}))
    return tuple(counted)


def read_sources(sources: Mapping[str, Source], found: Iterable[str]) -> int:
    """Count the sources with keys in `found` whose text was read."""
    return sum(1 for key in {*found} if key in sources and sources[key].content_hash)


class Verifier:
    """Finds (and caches) each unit's best passages; verbatim quotes are `supported`, everything else is `unchecked`."""

    def __init__(self, texts: Mapping[str, Sequence[SourceText]]) -> None:
        """`texts`, by source key: the whole text of each source, or its excerpts."""
        self._texts = texts
        self._passages: dict[tuple[str, str], CitedPassage] = {}

    def passage(self, unit: ReportUnit, source: str) -> CitedPassage:
        """Return the passage of a source that matches a unit best."""
        if (unit.text, source) not in self._passages:
            self._passages[unit.text, source] = self._found(unit, source)
        return self._passages[unit.text, source]

    def check(self, unit: ReportUnit) -> ClaimCheck:
        """Return the verdict on a unit, and its passages."""
        passages = tuple(self.passage(unit, source) for source in unit.sources)
        # A cited unit may have no sources, if its citation names an unknown source.
        verdict: ClaimVerdict = "unchecked" if passages else "unsupported" if unit.is_cited else "uncited"
        if any(passage.verdict == "supported" for passage in passages):
            verdict = "supported"
        return ClaimCheck(start=unit.start, end=unit.end, verdict=verdict, passages=passages)

    def at(self, passage: ProofPassage) -> CitedPassage:
        """Convert a proof's passage to a supported cited passage."""
        text = next(
            source_text
            for source_text in self._texts[passage.source]
            if source_text.content_hash == passage.content_hash
        )
        return _passage(passage.source, text, passage.start, passage.end, "supported")

    def is_quoted(self, unit: ReportUnit, source: str) -> bool:
        """Whether a source contains a unit word for word, as a whole sentence, line or row."""
        return any(find_quote(unit, text) for text in self._texts.get(source, ()))

    def _found(self, unit: ReportUnit, source: str) -> CitedPassage:
        found = [(best_passage(unit, text), text) for text in self._texts.get(source, ())]
        if not found:
            return CitedPassage(
                source=source, verdict="unchecked", quote="", start=0, end=0, content_hash="", reasons=(_NO_TEXT,)
            )
        best, text = max(found, key=lambda pair: pair[0].share)
        return _passage(source, text, best.start, best.end, "supported" if best.is_quote else "unchecked")


def _passage(source: str, text: SourceText, start: int, end: int, verdict: SupportVerdict) -> CitedPassage:
    page = page_of(text.text, start)
    return CitedPassage(
        source=source,
        verdict=verdict,
        quote=text.text[start:end],
        start=start,
        end=end,
        content_hash=text.content_hash,
        page=page,
        printed_page=printed_page(text.text, page),
    )


class PassageMatch(NamedTuple):
    """A part of a source, and how much of a unit it contains."""

    start: int
    """Offset in the text, in characters."""
    end: int
    share: float
    """Share of the unit's words and numbers in it, weighted by rarity; 1 for a quote."""
    is_quote: bool = False
    """Whether it contains the unit word for word."""


def best_passage(unit: ReportUnit, source: SourceText) -> PassageMatch:
    """Return the passage that contains a unit word for word, or else the most similar sentences.

    This is the first sentence if none is similar, and empty if the source has no sentences.
    """
    if quote := find_quote(unit, source):
        return quote
    wanted = words_and_figures(unit.text[:_LONGEST])
    total, counts = len(source.sentences), source.counts
    weights = {key: math.log(1 + total / (counts[key] or 1)) * (FIGURE if key[0].isdigit() else 1) for key in wanted}
    opening = source.sentences[0] if source.sentences else SourceSentence(0, 0, frozenset())
    best, whole = PassageMatch(opening.start, opening.end, 0.0), sum(weights.values())
    for first, sentence in enumerate(source.sentences):
        held = frozenset[str]()
        for size, last in enumerate(source.sentences[first : first + _WIDEST]):
            held |= last.keys & wanted
            # Summing the same numbers in another order changes the last digit.
            share = min(1.0, math.fsum(weights[key] for key in held) / whole) - _WIDER * size if held else 0.0
            if share > best.share:
                best = PassageMatch(sentence.start, last.end, share)
    # A table header alone proves nothing, so the rows below it are added.
    below, limit = _ROWS.match(source.text, best.end), best.end + ROWS
    if not below:
        return best
    return best._replace(end=below.end() if below.end() <= limit else source.text.rindex("\n", best.end, limit))


def find_quote(unit: ReportUnit, source: SourceText) -> PassageMatch | None:
    """Find where a source contains a unit word for word, as a whole sentence, line or table row; None if nowhere.

    White space and emphasis are ignored. A quote may begin with its heading or title: "Report of May: It rained."
    """
    if unit.rows:
        lines = (rf"(?m)^[ \t|]*{_pattern(words)}[ \t|]*$" for words in unit.rows)
        head, row = (next(_found(line, words, source.text), None) for line, words in zip(lines, unit.rows, strict=True))
        return head and row
    title = source.text.strip().partition("\n")[0].strip("# \t")
    joints = ((joint.start(), joint.end()) for joint in re.finditer(": ", unit.text))
    for heading, words in (("", unit.text), *((unit.text[:end], unit.text[start:]) for end, start in joints)):
        # The first line of a source is the heading of all of it.
        parts = [range(len(source.text))]
        if heading not in ("", title):
            windows = source.windows.windows
            parts = [range(window.start, window.end) for window in windows if window.head == heading]
        for quote in _found(_pattern(words), words, source.text) if parts else ():
            if _is_whole(quote, source.text) and any(quote.start in part for part in parts):
                return quote
    return None


def _pattern(words: str) -> str:
    """Return a regular expression for words that may be emphasised or span lines."""
    pattern, end = "", 0
    for piece in _PIECE.finditer(words):
        gap = r"[*_`]*\s[\s*_`]*" if piece.start() > end else "[*_`]*"
        pattern += f"{gap if end else ''}{re.escape(piece.group())}"
        end = piece.end()
    return pattern


def _found(pattern: str, words: str, text: str) -> Iterator[PassageMatch]:
    if len(words) <= _LONGEST and _HAS_WORD.search(words):
        yield from (PassageMatch(*found.span(), 1.0, is_quote=True) for found in re.finditer(pattern, text))


def _is_whole(quote: PassageMatch, text: str) -> bool:
    """Whether a quote begins and ends where a sentence or line does."""
    before = text[max(0, quote.start - _AROUND) : quote.start].rstrip(" \t")
    behind = text[quote.end : quote.end + _AROUND].lstrip(" \t*_`|")
    return before[-1:] in _OPENS and (text[quote.end - 1] in _ENDS or behind[:1] in _ENDS)

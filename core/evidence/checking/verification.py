"""Checks the units of a report (sentences, headings, cells) against their sources without a model: quotes alone count.

Also compares a second check of a report with the first, and finds source texts that have changed since.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ...records.report import CitedPassage, ClaimCheck, ClaimVerdict, Report, SupportVerdict
from ...records.sources import Source, text_hash
from ..citations.rendering import without_marks
from ..text.sentences import page_of, printed_page
from .proof import ProofPassage
from .source_text import NUMBER_WEIGHT, SourceSentence, SourceText, words_and_figures
from .units import ReportUnit

_NO_TEXT = "the source's text is not stored"
_LONGEST = 2000
"""Number of characters at the start of a unit that are searched for; a longer unit is never a quote."""
_MOST_SENTENCES = 3
"""Maximum number of neighbouring sentences in a passage."""
_LEAST_ADDED = 0.04
"""Minimum share of a unit's words, weighted by rarity, that each further sentence of a passage must add."""
_AROUND = 80
"""Number of characters before and after a quote in which the sentences around it may end and begin."""
_LONGEST_ROWS = 500
"""Maximum length of the rows added below a table header, in characters."""
_ROWS = re.compile(r"[ \t|]*\n[ \t]*\|[ \t:|-]+(?:\n[ \t]*\|.*)+")
_PIECE = re.compile(r"\w+|[^\w\s]")
_HAS_WORD = re.compile(r"[^\W_]")
# Characters that a whole sentence or line ends with, and that may precede one; empty at the ends of a text.
_ENDS = ("", *".!?…。！？\n\r")
_OPENS = (*_ENDS, *"'\"”»]#*_`-•>|")


def with_independence(claims: Iterable[ClaimCheck], organisations: Mapping[str, str]) -> tuple[ClaimCheck, ...]:
    """Return the claims with `independent` set: how many organisations support each (`organisations`: by source)."""
    counted = list[ClaimCheck]()
    for claim in claims:
        supporting = {organisations[found.source] for found in claim.passages if found.verdict == "supported"}
        counted.append(claim.model_copy(update={"independent": len(supporting)}))
    return tuple(counted)


def read_sources(sources: Mapping[str, Source], found: Iterable[str]) -> int:
    """Return the number of sources in `sources` that have a key in `found` and whose text was read."""
    return sum(1 for key in {*found} if key in sources and sources[key].content_hash)


class Verifier:
    """Finds (and caches) the best passage of a source for a unit: `supported` if word for word, else `unchecked`."""

    def __init__(self, texts: Mapping[str, Sequence[SourceText]]) -> None:
        """`texts`: the whole text of each source, or its excerpts, by source key."""
        self._texts = texts
        self._passages: dict[tuple[str, str], CitedPassage] = {}

    def passage(self, unit: ReportUnit, source: str) -> CitedPassage:
        """Return the passage of a source that has most of a unit's words; an empty one if the source has no text."""
        key = (unit.text, source)
        if key not in self._passages:
            self._passages[key] = self._best(unit, source)
        return self._passages[key]

    def _best(self, unit: ReportUnit, source: str) -> CitedPassage:
        found = [(best_passage(unit, text), text) for text in self._texts.get(source, ())]
        if not found:
            return CitedPassage(
                source=source, verdict="unchecked", quote="", start=0, end=0, content_hash="", reasons=(_NO_TEXT,)
            )
        best, text = max(found, key=lambda pair: pair[0].share)
        return _passage(source, text, best.start, best.end, "supported" if best.is_quote else "unchecked")

    def check(self, unit: ReportUnit) -> ClaimCheck:
        """Return the verdict on a unit, and the best passage of each source that it cites."""
        passages = tuple(self.passage(unit, source) for source in unit.sources)
        # A cited unit may have no sources, if its citation names an unknown source.
        verdict: ClaimVerdict = "unchecked" if passages else "unsupported" if unit.is_cited else "uncited"
        if any(passage.verdict == "supported" for passage in passages):
            verdict = "supported"
        return ClaimCheck(start=unit.start, end=unit.end, verdict=verdict, passages=passages)

    def at(self, passage: ProofPassage) -> CitedPassage:
        """Return a passage of a proof as a cited passage with the verdict `supported`."""
        text = next(text for text in self._texts[passage.source] if text.content_hash == passage.content_hash)
        return _passage(passage.source, text, passage.start, passage.end, "supported")

    def is_quoted(self, unit: ReportUnit, source: str) -> bool:
        """Whether a source contains a unit word for word, as a whole sentence, line or row."""
        return any(find_quote(unit, text) for text in self._texts.get(source, ()))


def _passage(source: str, text: SourceText, start: int, end: int, verdict: SupportVerdict) -> CitedPassage:
    """Return the part of a source's text between two offsets, with its page."""
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
    """A part of a source, and how many of a unit's words it has."""

    start: int
    """Offset in the text, in characters."""
    end: int
    share: float
    """Share (0 to 1) of the unit's words and numbers in it, weighted by rarity; 1 for a quote."""
    is_quote: bool = False
    """Whether it has the unit word for word."""


def best_passage(unit: ReportUnit, source: SourceText) -> PassageMatch:
    """Return the passage of a source that has a unit word for word, or else the most similar sentences.

    Without any similarity, that is the first sentence; empty if the source has no sentences.
    """
    if quote := find_quote(unit, source):
        return quote
    wanted = words_and_figures(unit.text[:_LONGEST])
    total, counts = len(source.sentences), source.counts
    weights = {
        key: math.log(1 + total / (counts[key] or 1)) * (NUMBER_WEIGHT if key[0].isdigit() else 1) for key in wanted
    }
    opening = source.sentences[0] if source.sentences else SourceSentence(0, 0, frozenset())
    best, whole = PassageMatch(opening.start, opening.end, 0.0), math.fsum(weights.values())
    for first, sentence in enumerate(source.sentences):
        held = frozenset[str]()
        for further, last in enumerate(source.sentences[first : first + _MOST_SENTENCES]):
            held |= last.keys & wanted
            # Summing the same numbers in another order changes the last digit.
            share = min(1.0, math.fsum(weights[key] for key in held) / whole) - _LEAST_ADDED * further if held else 0.0
            if share > best.share:
                best = PassageMatch(sentence.start, last.end, share)
    # A table header alone proves nothing, so the rows below it are added.
    below, limit = _ROWS.match(source.text, best.end), best.end + _LONGEST_ROWS
    if not below:
        return best
    return best._replace(end=below.end() if below.end() <= limit else source.text.rindex("\n", best.end, limit))


def find_quote(unit: ReportUnit, source: SourceText) -> PassageMatch | None:
    """Return where a source has a unit word for word, as a whole sentence, line or table row; None if nowhere.

    White space and emphasis do not matter. The unit may begin with the heading or title above the quote: "Report of
    May: It rained."
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
            before = source.text[max(0, quote.start - _AROUND) : quote.start].rstrip(" \t")
            behind = source.text[quote.end : quote.end + _AROUND].lstrip(" \t*_`|")
            is_whole = before[-1:] in _OPENS and (source.text[quote.end - 1] in _ENDS or behind[:1] in _ENDS)
            if is_whole and any(quote.start in part for part in parts):
                return quote
    return None


def _pattern(words: str) -> str:
    """Return a regular expression for these words, each of which may be emphasised and on the next line."""
    pattern, end = "", 0
    for piece in _PIECE.finditer(words):
        gap = r"[*_`]*\s[\s*_`]*" if piece.start() > end else "[*_`]*"
        pattern += f"{gap if end else ''}{re.escape(piece.group())}"
        end = piece.end()
    return pattern


def _found(pattern: str, words: str, text: str) -> Iterator[PassageMatch]:
    """Yield the quotes in a text that match the pattern of these words; none if the words are too long or empty."""
    if len(words) <= _LONGEST and _HAS_WORD.search(words):
        yield from (PassageMatch(*found.span(), 1.0, is_quote=True) for found in re.finditer(pattern, text))


class Rechecked(NamedTuple):
    """A unit of a report that was checked a second time."""

    words: str
    """Its words in the report, without the mark for unsupported statements."""
    check: ClaimCheck
    """The result of the second check."""
    before: ClaimVerdict | None
    """The verdict of the first check; None if that had no such unit."""
    is_marked: bool
    """Whether the report marks it as not verified."""

    @property
    def is_new(self) -> bool:
        """Whether its verdict differs from that of the first check."""
        return self.before not in (None, self.check.verdict)


class Reaudit(NamedTuple):
    """The result of a second check of a report."""

    claims: tuple[Rechecked, ...]
    """The units, in the order of the report."""
    faults: tuple[str, ...]
    """Messages about source texts or quotes that have changed since the first check."""

    @property
    def unmarked(self) -> list[Rechecked]:
        """The unsupported units that the report does not mark."""
        return [claim for claim in self.claims if claim.check.verdict == "unsupported" and not claim.is_marked]


def compare_checks(report: Report, again: Report, texts: Mapping[str, Sequence[SourceText]]) -> Reaudit:
    """Compare a report with the same report checked a second time; `texts` are the sources' texts by source key."""
    before = defaultdict[str, list[ClaimCheck]](list)
    for words, claim in checks_of(report):
        before[words].append(claim)
    claims = list[Rechecked]()
    for words, check in checks_of(again):
        # Units with the same words are paired in order.
        first = before[words].pop(0) if before[words] else None
        claims.append(Rechecked(words, check, first.verdict if first else None, bool(first and first.is_marked)))
    return Reaudit(tuple(claims), faults_of(report, texts))


def checks_of(report: Report) -> list[tuple[str, ClaimCheck]]:
    """Return the words (without marks) and the check of each unit of a report."""
    return [(without_marks(report.text[claim.start : claim.end]), claim) for claim in report.claims]


def faults_of(report: Report, texts: Mapping[str, Sequence[SourceText]]) -> tuple[str, ...]:
    """Return messages about source texts (stored ones by key: `texts`) and quotes that have changed since the check."""
    faults = list[str]()
    for passage in (passage for claim in report.claims for passage in claim.passages if passage.content_hash):
        source, stored = passage.source, texts.get(passage.source, ())
        text = next((text.text for text in stored if text.content_hash == passage.content_hash), None)
        if text is None:
            faults.append(f"The text of {source} is no longer stored, or cannot be read.")
        elif text_hash(text) != passage.content_hash:
            faults.append(f"The text of {source} has changed since it was read.")
        elif text[passage.start : passage.end] != passage.quote:
            faults.append(f"A quote is no longer at its position in {source}: {passage.quote[:80]!r}.")
    return tuple(dict.fromkeys(faults))

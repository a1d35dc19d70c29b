"""Checks the units of a report (sentences, headings, cells) against their sources without a model:
quotes alone count."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ...records.report import CitedPassage, ClaimCheck, ClaimVerdict, SupportVerdict
from ..text.sentences import page_at
from .proof import ProofPassage
from .source_text import SourceText, rarity_weight, words_and_figures
from .units import ReportUnit

_NO_TEXT = "the source's text is not stored"
_LONGEST = 2000
"""Number of characters at the start of a unit that are searched for; a longer unit is never a
quote."""
_MOST_SENTENCES = 3
"""Maximum number of neighbouring sentences in a passage."""
_LEAST_ADDED = 0.04
"""Minimum share of a unit's words, weighted by rarity, that each further sentence of a passage must
add."""
_AROUND = 80
"""Number of characters before and after a quote in which the sentences around it may end and
begin."""
_LONGEST_ROWS = 500
"""Maximum length of the rows added below a table header, in characters."""
_ROWS = re.compile(r"[ \t|]*\n[ \t]*\|[ \t:|-]+(?:\n[ \t]*\|.*)+")
_PIECE = re.compile(r"\w+|[^\w\s]")
_HAS_WORD = re.compile(r"[^\W_]")
# Characters that a whole sentence or line ends with, and that may precede one; empty at the ends of
# a text.
_ENDS = ("", *".!?…。！？\n\r")
_OPENS = (*_ENDS, *"'\"”»]#*_`-•>|")


class Verifier:
    """Finds (and caches) the best passage of a source for a unit: `supported` if word for word,
    else `unchecked`."""

    def __init__(self, texts: Mapping[str, Sequence[SourceText]]) -> None:
        """`texts`: the whole text of each source, or its excerpts, by source key."""
        self._texts = texts
        self._passages: dict[tuple[str, str], CitedPassage] = {}
        self._are_quoted: dict[tuple[str, tuple[str, ...], str], bool] = {}

    def passage(self, unit: ReportUnit, source: str) -> CitedPassage:
        """Return the passage of a source that has most of a unit's words.

        It is empty if the source has no text.
        """
        key = (unit.text, source)
        if key not in self._passages:
            self._passages[key] = self._best(unit, source)
        return self._passages[key]

    def _best(self, unit: ReportUnit, source: str) -> CitedPassage:
        best: tuple[PassageMatch, SourceText] | None = None
        for text in self._texts.get(source, ()):
            match = best_passage(unit, text)
            if best is None or match.share > best[0].share:
                best = match, text
        if best is None:
            return CitedPassage(
                source=source,
                verdict="unchecked",
                quote="",
                start=0,
                end=0,
                content_hash="",
                reasons=(_NO_TEXT,),
            )
        match, text = best
        verdict: SupportVerdict = "supported" if match.is_quote else "unchecked"
        return _passage(source, text, match.start, match.end, verdict)

    def check(self, unit: ReportUnit) -> ClaimCheck:
        """Return the verdict on a unit, and the best passage of each source that it cites."""
        passages = tuple(self.passage(unit, source) for source in unit.sources)
        verdict: ClaimVerdict
        if any(passage.verdict == "supported" for passage in passages):
            verdict = "supported"
        elif passages:
            verdict = "unchecked"
        elif unit.is_cited:
            # Its citation names an unknown source.
            verdict = "unsupported"
        else:
            verdict = "uncited"
        return ClaimCheck(start=unit.start, end=unit.end, verdict=verdict, passages=passages)

    def at(self, passage: ProofPassage) -> CitedPassage:
        """Return a passage of a proof as a cited passage with the verdict `supported`."""
        texts = self._texts[passage.source]
        text = next(text for text in texts if text.content_hash == passage.content_hash)
        return _passage(passage.source, text, passage.start, passage.end, "supported")

    def is_quoted(self, unit: ReportUnit, source: str) -> bool:
        """Whether a source contains a unit word for word, as a whole sentence, line or row."""
        key = (unit.text, unit.rows, source)
        if key not in self._are_quoted:
            texts = self._texts.get(source, ())
            self._are_quoted[key] = any(find_quote(unit, text) for text in texts)
        return self._are_quoted[key]


def _passage(
    source: str, text: SourceText, start: int, end: int, verdict: SupportVerdict
) -> CitedPassage:
    """Return the part of a source's text between two offsets, with its page."""
    page = page_at(text.text, start)
    return CitedPassage(
        source=source,
        verdict=verdict,
        quote=text.text[start:end],
        start=start,
        end=end,
        content_hash=text.content_hash,
        page=page.number,
        printed_page=page.printed,
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
    """Return the passage of a source that has a unit word for word, or else the most similar
    sentences.

    Without any similarity, that is the first sentence; empty if the source has no sentences.
    """
    quote = find_quote(unit, source)
    if quote:
        return quote
    best = _most_similar(unit, source)
    # A table header alone proves nothing, so the rows below it are added.
    rows = _ROWS.match(source.text, best.end)
    if not rows:
        return best
    end = rows.end()
    limit = best.end + _LONGEST_ROWS
    if end > limit:
        end = source.text.rindex("\n", best.end, limit)
    return best._replace(end=end)


def _most_similar(unit: ReportUnit, source: SourceText) -> PassageMatch:
    """Return the neighbouring sentences that have most of a unit's words.

    The first is returned if none has any.
    """
    sentences = source.sentences
    wanted = words_and_figures(unit.text[:_LONGEST])
    weights = dict[str, float]()
    for key in wanted:
        weights[key] = rarity_weight(key, len(sentences), source.counts[key] or 1)
    whole = math.fsum(weights.values())
    best = PassageMatch(0, 0, 0.0)
    if sentences:
        best = PassageMatch(sentences[0].start, sentences[0].end, 0.0)
    for index, first in enumerate(sentences):
        shared = frozenset[str]()
        for added, last in enumerate(sentences[index : index + _MOST_SENTENCES]):
            shared |= last.keys & wanted
            if not shared:
                continue
            # Summing the same numbers in another order changes the last digit.
            share = math.fsum(weights[key] for key in shared) / whole
            share = min(1.0, share) - _LEAST_ADDED * added
            if share > best.share:
                best = PassageMatch(first.start, last.end, share)
    return best


def find_quote(unit: ReportUnit, source: SourceText) -> PassageMatch | None:
    """Return where a source has a unit word for word, as a whole sentence, line or table row.

    None if nowhere. White space and emphasis do not matter. The unit may begin with the heading or
    title above the quote: "Report of May: It rained."
    """
    if unit.rows:
        header, row = unit.rows
        if not _find_row(header, source.text):
            return None
        return _find_row(row, source.text)
    title = source.text.strip().partition("\n")[0].strip("# \t")
    splits = [("", unit.text)]
    for joint in re.finditer(": ", unit.text):
        if len(unit.text) - joint.end() > _LONGEST:
            # What follows is too long for a quote.
            continue
        splits.append((unit.text[: joint.start()], unit.text[joint.end() :]))
    for heading, words in splits:
        parts = list[range]()
        if heading in ("", title):
            # The first line of a source is the heading of all of it.
            parts.append(range(len(source.text)))
        else:
            for window in source.windows.windows:
                if window.head == heading:
                    parts.append(range(window.start, window.end))
        if not parts:
            continue
        for quote in _matches(_pattern(words), words, source.text):
            is_below = any(quote.start in part for part in parts)
            if is_below and _is_whole(source.text, quote.start, quote.end):
                return quote
    return None


def _find_row(words: str, text: str) -> PassageMatch | None:
    """Return the first line of a text that consists of these words and table borders."""
    line = rf"(?m)^[ \t|]*{_pattern(words)}[ \t|]*$"
    return next(_matches(line, words, text), None)


def _is_whole(text: str, start: int, end: int) -> bool:
    """Whether a part of a text begins and ends where a sentence, line or cell may begin and end."""
    before = text[max(0, start - _AROUND) : start].rstrip(" \t")
    after = text[end : end + _AROUND].lstrip(" \t*_`|")
    may_begin = before[-1:] in _OPENS
    may_end = text[end - 1] in _ENDS or after[:1] in _ENDS
    return may_begin and may_end


def _pattern(words: str) -> str:
    """Return a regular expression for these words, which may be emphasised and on several lines."""
    pattern = ""
    end = 0
    for piece in _PIECE.finditer(words):
        if not pattern:
            gap = ""
        elif piece.start() > end:
            gap = r"[*_`]*\s[\s*_`]*"
        else:
            gap = "[*_`]*"
        pattern += gap + re.escape(piece.group())
        end = piece.end()
    return pattern


def _matches(pattern: str, words: str, text: str) -> Iterator[PassageMatch]:
    """Yield the quotes in a text that match the pattern of these words.

    There are none if the words are too long or empty.
    """
    if len(words) > _LONGEST or not _HAS_WORD.search(words):
        return
    for match in re.finditer(pattern, text):
        yield PassageMatch(match.start(), match.end(), 1.0, is_quote=True)

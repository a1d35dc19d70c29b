"""Judges whether a source text supports a sentence, without a model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from ..words import UNSPACED
from .alignment import Alignment, best_alignment, best_windows
from .conflicts import Conflict, conflicts_of
from .fitted import probability
from .matching import Matches, match
from .number_words import MONTHS
from .reading import Evidence, read_evidence
from .signals import signals_of
from .terms import Term, terms_of

Verdict = Literal["supported", "partly", "unsupported"]
SUPPORTED = 0.5
"""Score from which on a sentence counts as supported."""
PARTLY = 0.2
"""Score from which on a part of it does."""
DOUBTFUL = 0.49
"""The highest score where the passage says something else of the same."""
SLOPE = 0.1
"""How far such scores spread below it."""
MOST = 5
"""Words named as missing at most."""
LONGEST = 2000
"""Characters of a sentence that are looked at."""
_MARKERS = re.compile(r"^\s*\d{1,3}[.)]\s+|\[\^?\d[\d,\s^–-]{0,40}\]")
_HAS_WORD = re.compile(r"[^\W_]")
_ENDS = ("", *".!?…。！？\n\r")
_OPENS = (*_ENDS, *'"”»]#*-•>|')


class Check(NamedTuple):
    """What became of holding a sentence against a source."""

    verdict: Verdict
    score: float
    """How well the source supports it, from 0 to 1; supported from 0.5 on."""
    quote: str
    """The passage of the source that fits it best, as it stands there; empty if the source is."""
    start: int
    """Where the quote begins in the source."""
    end: int
    """Where it ends."""
    reasons: tuple[str, ...]
    """What speaks against it, in plain words, the weightiest first; none if nothing does."""


def score_support(claim: str, evidence: str | Evidence) -> float:
    """How well a source supports a sentence, from 0 to 1; supported from 0.5 on."""
    return check_claim(claim, evidence).score


def check_claim(claim: str, evidence: str | Evidence) -> Check:
    """Hold a sentence against a source; read the source once with `read_evidence` to hold many against it."""
    read = read_evidence(evidence) if isinstance(evidence, str) else evidence
    if span := _verbatim(claim, read):
        return Check("supported", 1.0, read.text[span[0] : span[1]], *span, ())
    terms = terms_of(_MARKERS.sub(" ", claim)[:LONGEST])
    if not terms or not read.passages:
        return Check("unsupported", 0.0, "", 0, 0, ("there is nothing to compare",))
    matches = match(terms, read)
    windows = best_windows(matches)
    alignment = best_alignment(matches, read, windows)
    conflicts = conflicts_of(matches, alignment)
    score = probability(signals_of(matches, read, windows, alignment, conflicts))
    is_contrary = any(conflict.is_clear for conflict in conflicts)
    if is_contrary:
        score = min(score, DOUBTFUL - SLOPE * (1 - score))
    elif alignment.is_quote:
        score = 1.0
    verdict: Verdict = "unsupported" if is_contrary else _verdict(score)
    return _check(read, alignment, verdict, score, _reasons(matches, alignment, conflicts, score))


def stands_in(claim: str, evidence: Evidence) -> bool:
    """Return whether a claim stands word by word in a source, as a whole sentence or line."""
    return _verbatim(claim, evidence) is not None


def _verbatim(claim: str, evidence: Evidence) -> tuple[int, int] | None:
    """Where a claim stands word by word as a whole sentence; its white space may be another."""
    words = claim[:LONGEST].split()
    if not _HAS_WORD.search(claim) or len(claim) > LONGEST or " ".join(words) not in evidence.plain:
        return None
    found = re.finditer(r"\s+".join(map(re.escape, words)), evidence.text)
    return next((match.span() for match in found if _is_whole(match)), None)


def _is_whole(match: re.Match[str]) -> bool:
    """Whether what was found begins behind the end of a sentence or line, and ends with one."""
    before, behind = match.string[: match.start()].rstrip(" \t"), match.string[match.end() :].lstrip(" \t")
    return before[-1:] in _OPENS and (match.group()[-1] in _ENDS or behind[:1] in _ENDS)


def _verdict(score: float) -> Verdict:
    if score >= SUPPORTED:
        return "supported"
    return "partly" if score >= PARTLY else "unsupported"


def _check(evidence: Evidence, alignment: Alignment, verdict: Verdict, score: float, reasons: Iterable[str]) -> Check:
    window = alignment.window
    start, end = evidence.passages[window.first].start, evidence.passages[window.last].end
    return Check(verdict, score, evidence.text[start:end], start, end, tuple(reasons))


def _reasons(matches: Matches, alignment: Alignment, conflicts: Sequence[Conflict], score: float) -> Iterator[str]:
    yield from (conflict.reason for conflict in conflicts)
    parts = {part for term in alignment.terms if term.amount for part in term.raw.split()}
    missing = [term.raw for term in matches.terms if _is_missing(term, alignment) and term.raw not in parts]
    if missing and score < SUPPORTED:
        yield f"not in the passage: {', '.join(dict.fromkeys(missing[:MOST]))}"


def _is_missing(term: Term, alignment: Alignment) -> bool:
    # A pair of signs from writing without spaces is no word, and a month may stand in a date.
    is_word = term.kind == "word" and not re.match(f"[{UNSPACED}]", term.raw) and term.raw.lower() not in MONTHS
    return is_word and term.key not in alignment.keys

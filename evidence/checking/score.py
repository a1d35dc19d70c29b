"""Says how well a text supports a statement, and by which of its passages, without a model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from ..text.words import UNSPACED
from .alignment import Alignment, best_alignment, best_windows
from .conflicts import Conflict, conflicts_of
from .figures import Figures
from .matching import Matches, match
from .number_words import MONTHS
from .reading import Evidence
from .signals import probability, signals_of
from .terms import Term, terms_of

Verdict = Literal["supported", "contradicted", "unchecked"]
SUPPORTED = 0.5
"""Score from which on a sentence counts as supported."""
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


def score_support(claim: str, evidence: str) -> float:
    """Return how well a text supports a statement, from 0 to 1; supported from 0.5 on."""
    return best_passage(claim, evidence).score


def check_claim(claim: str, evidence: str) -> Check:
    """Hold a statement against a text, without a model.

    `contradicted` is said only where the text gives another figure, unit or year; `unchecked` where that is not so and
    its words do not show whether it supports the statement.
    """
    read = Evidence(evidence)
    check, figures = best_passage(claim, read), Figures(claim, claim, claim, [read], is_cell=False)
    wrong = figures.otherwise() or list(filter(None, [figures.against_itself()]))
    wrong = wrong or (figures.foreign() if check.verdict != "supported" else [])
    if not wrong or not read.passages:
        return check
    doubts = (f"the text does not say {one} so" for one in wrong)
    return check._replace(verdict="contradicted", reasons=tuple(dict.fromkeys((*check.reasons, *doubts))))


def best_passage(claim: str, evidence: str | Evidence) -> Check:
    """Return the passage of a source that fits a sentence best, and whether its words show that it supports it.

    A text that many sentences are held against is read once, as `Evidence`.
    """
    read = Evidence(evidence) if isinstance(evidence, str) else evidence
    if span := _verbatim(claim, read):
        return Check("supported", 1.0, read.text[span[0] : span[1]], *span, ())
    terms = terms_of(_MARKERS.sub(" ", claim)[:LONGEST])
    if not terms or not read.passages:
        return Check("unchecked", 0.0, "", 0, 0, ("there is nothing to compare",))
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
    verdict: Verdict = "supported" if score >= SUPPORTED and not is_contrary else "unchecked"
    return _check(read, alignment, verdict, score, _reasons(matches, alignment, conflicts, score))


def stands_in(claim: str, evidence: Evidence) -> bool:
    """Return whether a claim stands word by word in a source, as a whole sentence or line."""
    return _verbatim(claim, evidence) is not None


def _verbatim(claim: str, evidence: Evidence) -> tuple[int, int] | None:
    """Where a claim stands word by word as a whole sentence; its white space may be another."""
    words = claim[:LONGEST].split()
    if not _HAS_WORD.search(claim) or len(claim) > LONGEST:
        return None
    found = re.finditer(r"\s+".join(map(re.escape, words)), evidence.text)
    return next((match.span() for match in found if _is_whole(match)), None)


def _is_whole(match: re.Match[str]) -> bool:
    """Whether what was found begins behind the end of a sentence or line, and ends with one."""
    before, behind = match.string[: match.start()].rstrip(" \t"), match.string[match.end() :].lstrip(" \t")
    return before[-1:] in _OPENS and (match.group()[-1] in _ENDS or behind[:1] in _ENDS)


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

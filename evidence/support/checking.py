"""Judges whether a source text supports a sentence, without a model."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

from deep_research.evidence.support.alignment import Window, best_alignment, best_windows
from deep_research.evidence.support.conflicts import Conflict, conflicts_of
from deep_research.evidence.support.fitted import probability
from deep_research.evidence.support.matching import match
from deep_research.evidence.support.reading import Evidence, read_evidence
from deep_research.evidence.support.signals import signals_of
from deep_research.evidence.support.terms import Term, terms_of

Verdict = Literal["supported", "partly", "unsupported"]
SUPPORTED = 0.5
"""Score from which on a sentence counts as supported."""
PARTLY = 0.2
"""Score from which on a part of it does."""
TURNED = 0.4
"""What is left of the score of a near quote that says something else in one place."""
LONGEST = 2000
"""Characters of a sentence that are looked at."""
_MARKERS = re.compile(r"^\s*\d{1,3}[.)]\s+|\[\^?\d[\d,\s^–-]{0,40}\]")


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
    """What speaks against it, in plain words; none if nothing does."""


def score_support(claim: str, evidence: str | Evidence) -> float:
    """How well a source supports a sentence, from 0 to 1; supported from 0.5 on."""
    return check_claim(claim, evidence).score


def check_claim(claim: str, evidence: str | Evidence) -> Check:
    """Hold a sentence against a source; read the source once with `read_evidence` to hold many against it."""
    read = read_evidence(evidence) if isinstance(evidence, str) else evidence
    terms = _without_false_names(terms_of(_MARKERS.sub(" ", claim)[:LONGEST]), read)
    if not terms or not read.passages:
        return Check("unsupported", 0.0, "", 0, 0, ("there is nothing to compare",))
    matches = match(terms, read)
    windows = best_windows(matches)
    alignment = best_alignment(matches, read, windows)
    conflicts = conflicts_of(matches, alignment)
    score = probability(signals_of(matches, read, windows, alignment, conflicts))
    if any(conflict.is_turning for conflict in conflicts):
        score *= TURNED
    elif alignment.is_quote or _is_contained(claim, read):
        score = 1.0
    return _check(read, alignment.window, score, conflicts)


def _is_contained(claim: str, evidence: Evidence) -> bool:
    """Whether a claim of several sentences stands in the source as it is, but for white space."""
    return " ".join(claim.split()) in " ".join(evidence.text.split())


def _without_false_names(terms: Sequence[Term], evidence: Evidence) -> list[Term]:
    """The terms of a claim; what is a name only by its capital letter at the beginning of a sentence is a word."""
    return [
        term._replace(kind="word") if term.kind == "name" and term.is_first and term.key in evidence.lower else term
        for term in terms
    ]


def _check(evidence: Evidence, window: Window, score: float, conflicts: list[Conflict]) -> Check:
    verdict: Verdict = "supported" if score >= SUPPORTED else "partly" if score >= PARTLY else "unsupported"
    start, end = evidence.passages[window.first].start, evidence.passages[window.last].end
    reasons = tuple(conflict.reason for conflict in conflicts)
    return Check(verdict, score, evidence.text[start:end], start, end, reasons)

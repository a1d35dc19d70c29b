"""Judges whether a source text supports a sentence, without a model."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from deep_research.evidence.support.alignment import Window, align, best_window, best_windows
from deep_research.evidence.support.conflicts import Conflict, conflicts_of
from deep_research.evidence.support.fitted import probability
from deep_research.evidence.support.matching import match
from deep_research.evidence.support.reading import Evidence, read_evidence
from deep_research.evidence.support.signals import signals_of
from deep_research.evidence.support.terms import terms_of

Verdict = Literal["supported", "partly", "unsupported"]
SUPPORTED = 0.5
"""Score from which on a sentence counts as supported."""
PARTLY = 0.2
"""Score from which on a part of it does."""
LONGEST = 2000
"""Characters of a sentence that are looked at."""
_MARKERS = re.compile(r"\[\^?\d[\d,\s^–-]{0,40}\]")


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
    terms = terms_of(_MARKERS.sub(" ", claim)[:LONGEST])
    if not terms or not read.passages:
        return Check("unsupported", 0.0, "", 0, 0, ("there is nothing to compare",))
    matches = match(terms, read)
    windows = best_windows(matches)
    window = best_window(windows)
    alignment = align(matches, read, window)
    conflicts = conflicts_of(matches, read, alignment)
    score = probability(signals_of(matches, read, windows, alignment, conflicts))
    return _check(read, window, score, conflicts)


def _check(evidence: Evidence, window: Window, score: float, conflicts: list[Conflict]) -> Check:
    verdict: Verdict = "supported" if score >= SUPPORTED else "partly" if score >= PARTLY else "unsupported"
    start, end = evidence.passages[window.first].start, evidence.passages[window.last].end
    reasons = tuple(conflict.reason for conflict in conflicts)
    return Check(verdict, score, evidence.text[start:end], start, end, reasons)

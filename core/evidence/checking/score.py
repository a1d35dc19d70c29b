"""Scores how well a text supports a claim, and finds the passage that does, without a model.

`check_claim` is the entry. It reads the text (`source_text`) and the claim (`terms`, `amounts`), lays the claim beside
the passage that fits it best (`alignment`), looks for differences (`conflicts`, `figures`) and scores the result.
"""

from __future__ import annotations

import math
import re
from collections.abc import Container, Iterator, Mapping, Sequence
from functools import reduce
from itertools import pairwise
from operator import or_
from typing import Literal, NamedTuple

from ..text.words import UNSPACED
from .alignment import Alignment, Matches, Window, best_alignment, best_windows, match
from .amounts import MONTHS
from .conflicts import Conflict, conflicts_of
from .figures import Figures
from .source_text import Evidence
from .terms import Term, has_meaning, terms_of

LEAST_WEIGHT = 0.2
"""Weight of a word above which it counts in a pair."""
FIGURES = ("number", "unit", "date")
"""Kinds of conflicts that speak against a claim even where claim and passage are worded freely."""
WEIGHTS: Mapping[str, float] = {
    "everywhere": 1.25,
    "in one sentence": 1.19,
    "in order": 1.11,
    "pairs": 1.05,
    "names in passage": 1.11,
    "first person": -1.51,
    "other figures": -1.85,
}
"""What a signal adds to the logarithm of the odds.

Divided by their standard deviations, all shares count alike: with 151 labelled pairs of a claim and a text, such equal
weights held better on pairs left out than fitted ones.
"""
CONSTANT = -2.92
_SPEAKERS = ("i", "my", "me", "we", "our", "ich", "mich", "wir", "je", "nous", "yo", "nosotros")


def _probability(
    matches: Matches, evidence: Evidence, windows: Sequence[Window], alignment: Alignment, conflicts: Sequence[Conflict]
) -> float:
    """Return how likely the source supports the claim, from 0 to 1."""
    everywhere = matches.share(reduce(or_, matches.masks, 0))
    names = [bit for bit, term in enumerate(matches.terms) if term.kind == "name"]
    signals = {
        "everywhere": everywhere,
        "in one sentence": windows[0].share,
        "in order": alignment.share,
        "pairs": _share_of_pairs(matches, evidence, everywhere),
        "names in passage": sum(alignment.window.mask >> bit & 1 for bit in names) / len(names) if names else 1.0,
        "first person": float(_is_first_person(matches.own) and not _is_first_person(evidence.places)),
        "other figures": max((one.weight for one in conflicts if one.kind in FIGURES), default=0.0),
    }
    return 1 / (1 + math.exp(-CONSTANT - sum(weight * signals[name] for name, weight in WEIGHTS.items())))


def _is_first_person(keys: Container[str]) -> bool:
    return any(key in keys for key in _SPEAKERS)


def _share_of_pairs(matches: Matches, evidence: Evidence, otherwise: float) -> float:
    """Return how many neighbours of the claim are neighbours in one sentence of the source as well."""
    keys = matches.keys
    weighty = (term.key for term, weight in zip(matches.terms, matches.weights, strict=True) if weight > LEAST_WEIGHT)
    pairs = list(pairwise(weighty))
    several = (evidence.passages[place] for place, mask in enumerate(matches.masks) if mask & mask - 1)
    beside = (pairwise(term.key for term in passage.terms if has_meaning(term)) for passage in several)
    held = {(keys[one], keys[other]) for near in beside for one, other in near if one in keys and other in keys}
    return sum(pair in held for pair in pairs) / len(pairs) if pairs else otherwise


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
    """The result of comparing a claim with a source."""

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
    """Return how well a text supports a claim, from 0 to 1; supported from 0.5 on."""
    return best_passage(claim, evidence).score


def check_claim(claim: str, evidence: str) -> Check:
    """Check a claim against a text, without a model.

    It is `contradicted` only if the text gives another figure, unit or year, and `unchecked` if its words do not show
    whether it supports the claim.
    """
    read = Evidence(evidence)
    check, figures = best_passage(claim, read), Figures(claim, claim, claim, [read], is_cell=False)
    wrong = figures.in_other_unit() or list(filter(None, [figures.wrong_direction()]))
    wrong = wrong or (figures.missing() if check.verdict != "supported" else [])
    if not wrong or not read.passages:
        return check
    doubts = (f"the text does not say {one} so" for one in wrong)
    return check._replace(verdict="contradicted", reasons=tuple(dict.fromkeys((*check.reasons, *doubts))))


def best_passage(claim: str, evidence: str | Evidence) -> Check:
    """Return the passage of a source that fits a claim best, and whether its words support it.

    A text that many claims are compared with is read once, as `Evidence`.
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
    score = _probability(matches, read, windows, alignment, conflicts)
    is_contrary = any(conflict.is_clear for conflict in conflicts)
    if is_contrary:
        score = min(score, DOUBTFUL - SLOPE * (1 - score))
    elif alignment.is_quote:
        score = 1.0
    verdict: Verdict = "supported" if score >= SUPPORTED and not is_contrary else "unchecked"
    window = alignment.window
    start, end = read.passages[window.first].start, read.passages[window.last].end
    return Check(
        verdict, score, read.text[start:end], start, end, tuple(_reasons(matches, alignment, conflicts, score))
    )


def stands_in(claim: str, evidence: Evidence) -> bool:
    """Return whether a claim stands word by word in a source, as a whole sentence or line."""
    return _verbatim(claim, evidence) is not None


def _verbatim(claim: str, evidence: Evidence) -> tuple[int, int] | None:
    """Return where a claim stands word for word as a whole sentence, whatever the white space."""
    words = claim[:LONGEST].split()
    if not _HAS_WORD.search(claim) or len(claim) > LONGEST:
        return None
    found = re.finditer(r"\s+".join(map(re.escape, words)), evidence.text)
    return next((match.span() for match in found if _is_whole(match)), None)


def _is_whole(match: re.Match[str]) -> bool:
    """Whether the match begins where a sentence or line does, and ends where one does."""
    before, behind = match.string[: match.start()].rstrip(" \t"), match.string[match.end() :].lstrip(" \t")
    return before[-1:] in _OPENS and (match.group()[-1] in _ENDS or behind[:1] in _ENDS)


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

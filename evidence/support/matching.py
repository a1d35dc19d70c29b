"""Which words and amounts of a claim a source holds, and in which of its sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from .amounts import Amount, says
from .reading import STEM, Evidence
from .synonyms import RELATED
from .terms import Term, weight_of

ALIKE = 0.68
"""Share of the longer word that two words must begin with in common to count as forms of one word."""
ALIKE_NAMES = 0.8
"""The same of names."""

LETTERS = 2
"""Letters that two forms of a word can have in common by chance behind what both are formed from, and one."""
_ENDINGS = """
ae al ally an ance ans ant ants ar ary ate ated ater ating ation ational ations ative ator ators ed en ence ent er ers
ery ese i ia ian ians iat iated iation ible ic ical ically ician icians ics ies ification ified ify ility ing ion
ional ions ise ised ish ism ist ists ities itive ity ive ively iveness ization ize ized ly ment ments ness or ors ory
ous ously r rs ship sion t ted th tion tions ty ual ually ure ures y yed ying
"""
ENDINGS = frozenset(["", *_ENDINGS.split()])
"""Endings with which words are formed from words; the plain words have lost `s`, `ed`, `ing` and `e` before."""


class Matches(NamedTuple):
    """A claim's words and amounts as a source holds them."""

    terms: tuple[Term, ...]
    """Words and amounts of the claim, in order."""
    weights: tuple[float, ...]
    """What each of them tells."""
    masks: tuple[int, ...]
    """For each sentence of the source: which of the claim's terms stand in it, a bit for each."""
    keys: dict[str, str]
    """Words and amounts of the source that say what one of the claim says, with that one's key."""
    own: frozenset[str]
    """The claim's words and amounts, by their keys."""
    held: frozenset[str]
    """Those of them that the source holds."""

    def share(self, mask: int) -> float:
        """How much of the claim the terms of a mask make up, from 0 to 1."""
        total = sum(self.weights)
        return sum(weight for bit, weight in enumerate(self.weights) if mask >> bit & 1) / total if total else 0.0


def match(terms: Sequence[Term], evidence: Evidence) -> Matches:
    """Look for the words and amounts of a claim in a source."""
    masks = [0] * len(evidence.passages)
    keys = {term.key: term.key for term in terms if term.key in evidence.places}
    for bit, term in enumerate(terms):
        for key in _said_as(term, evidence):
            keys.setdefault(key, term.key)
            for place in evidence.places[key]:
                masks[place] |= 1 << bit
    own = frozenset(term.key for term in terms)
    return Matches(tuple(terms), tuple(map(weight_of, terms)), tuple(masks), keys, own, frozenset(keys.values()))


def _said_as(term: Term, evidence: Evidence) -> set[str]:
    found = {term.key} if term.key in evidence.places else set[str]()
    if term.amount:
        return {other.key for other in evidence.amounts if other.amount and _says(other.amount, term.amount, evidence)}
    if term.kind in ("word", "name"):
        found |= set(_forms(term, evidence))
        found |= {key for key in RELATED.get(term.key, ()) if key in evidence.places}
    return found


def _says(other: Amount, amount: Amount, evidence: Evidence) -> bool:
    if not says(other, amount):
        return False
    years = {time.first for time in amount.times} - {0}
    # A text that tells of one year need not name it at each day, but must name it somewhere.
    return not years or any(time.first for time in other.times) or bool(other.values) or bool(years & evidence.years)


def _forms(term: Term, evidence: Evidence) -> Iterator[str]:
    if len(term.key) >= STEM:
        least = ALIKE_NAMES if term.kind == "name" else ALIKE
        for key in evidence.beginnings.get(term.key[:STEM], ()):
            common = _begin_alike(key, term.key)
            is_long = min(len(key), len(term.key)) > STEM
            if (is_long and common >= least * max(len(key), len(term.key))) or _are_derived(key, term.key, common):
                yield key


def _are_derived(one: str, other: str, common: int) -> bool:
    """Whether two words that begin alike are formed from one: history, historical; Libya, Libyan."""
    return any(one[place:] in ENDINGS and other[place:] in ENDINGS for place in range(common, STEM - 1, -1)[:LETTERS])


def _begin_alike(one: str, other: str) -> int:
    """With how many letters in common two words begin."""
    pairs = zip(one, other, strict=False)
    return next((place for place, (mine, theirs) in enumerate(pairs) if mine != theirs), min(len(one), len(other)))

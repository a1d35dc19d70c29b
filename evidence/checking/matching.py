"""Which words and amounts of a claim a source holds, and in which of its sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .amounts import Amount, says
from .reading import Evidence
from .terms import Term, weight_of


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
    if term.amount:
        return {other.key for other in evidence.amounts if other.amount and _says(other.amount, term.amount, evidence)}
    return {term.key} & evidence.places.keys()


def _says(other: Amount, amount: Amount, evidence: Evidence) -> bool:
    if not says(other, amount):
        return False
    years = {time.first for time in amount.times} - {0}
    # A text that tells of one year need not name it at each day, but must name it somewhere.
    return not years or any(time.first for time in other.times) or bool(other.values) or bool(years & evidence.years)

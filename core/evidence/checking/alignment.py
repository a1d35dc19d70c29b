"""Aligns a claim with the passage that fits it best: which words and amounts match, and where they differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from functools import reduce
from operator import or_
from typing import NamedTuple

from .amounts import Amount, says
from .source_text import Evidence
from .terms import Term, weight_of


class Matches(NamedTuple):
    """Which words and amounts of a claim stand in a source."""

    terms: tuple[Term, ...]
    """Words and amounts of the claim, in order."""
    weights: tuple[float, ...]
    """The weight of each of them."""
    masks: tuple[int, ...]
    """For each sentence of the source, the terms of the claim that stand in it, one bit each."""
    keys: dict[str, str]
    """Keys of the source's terms that match one of the claim, each with the key of that one."""
    own: frozenset[str]
    """Keys of the claim's terms."""
    held: frozenset[str]
    """Those of them that the source contains."""

    def share(self, mask: int) -> float:
        """Return how much of the claim the terms of a mask make up, from 0 to 1."""
        total = sum(self.weights)
        return sum(weight for bit, weight in enumerate(self.weights) if mask >> bit & 1) / total if total else 0.0


def match(terms: Sequence[Term], evidence: Evidence) -> Matches:
    """Find the words and amounts of a claim in a source."""
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
    # A text about one year need not repeat it with each day, but must name it somewhere.
    return not years or any(time.first for time in other.times) or bool(other.values) or bool(years & evidence.years)


WIDEST = 3
"""Sentences of a passage at most."""
WIDER = 0.04
"""What a further sentence must add to the share of the claim that a passage covers."""

QUOTED = 0.6
"""Share of the claim that must stand in a sentence in the same order for it to be compared with that alone."""

SLOT = 6
"""Words of a claim at most that can stand in the place of others."""


class Window(NamedTuple):
    """Neighbouring sentences of a source."""

    first: int
    last: int
    """The last of them."""
    mask: int
    """Which of the claim's terms stand in them."""
    share: float
    """How much of the claim these make up, from 0 to 1."""


class Difference(NamedTuple):
    """Where claim and passage differ: the words of the one in the place of those of the other."""

    claim: tuple[Term, ...]
    passage: tuple[Term, ...]
    before: int
    """Equal terms right before it."""
    after: int
    """Equal terms right after it."""
    is_between: bool
    """Whether both sides of it are equal, or an end of the claim."""
    rest: float
    """Share of the rest of the claim that stands in the passage in the same order, from 0 to 1."""


class Alignment(NamedTuple):
    """A claim aligned with a passage."""

    window: Window
    terms: tuple[Term, ...]
    """The terms of the passage; those that match one of the claim have its key."""
    differences: tuple[Difference, ...]
    share: float
    """Share of the claim that stands in the passage in the same order, from 0 to 1."""
    keys: frozenset[str]
    """Keys of the terms of the passage."""

    @property
    def is_quote(self) -> bool:
        """Whether the claim stands in the passage word by word."""
        return not any(one.claim or (one.before and one.after) for one in self.differences)


def best_windows(matches: Matches) -> list[Window]:
    """Return the one, two and three neighbouring sentences that cover most of the claim."""
    shares: dict[int, float] = {}
    return [_best_of(size, matches, shares) for size in range(1, min(WIDEST, len(matches.masks)) + 1)]


def _best_of(size: int, matches: Matches, shares: dict[int, float]) -> Window:
    best = Window(0, 0, 0, -1.0)
    for first in range(len(matches.masks) - size + 1):
        mask = reduce(or_, matches.masks[first : first + size])
        if mask not in shares:
            shares[mask] = matches.share(mask)
        if shares[mask] > best.share:
            best = Window(first, first + size - 1, mask, shares[mask])
    return best


def best_alignment(matches: Matches, evidence: Evidence, windows: Sequence[Window]) -> Alignment:
    """Return the claim's alignment with the passage that covers most of it in few sentences, or nearly quotes it."""
    nearest = align(matches, evidence, windows[0])
    widest = max(windows, key=lambda window: window.share - WIDER * (window.last - window.first))
    return nearest if nearest.share >= QUOTED or widest == windows[0] else align(matches, evidence, widest)


def align(matches: Matches, evidence: Evidence, window: Window) -> Alignment:
    """Return the alignment of a claim with a passage."""
    passages = evidence.passages[window.first : window.last + 1]
    terms = tuple(
        term._replace(key=matches.keys.get(term.key, term.key)) for passage in passages for term in passage.terms
    )
    ours, theirs = [term.key for term in matches.terms], [term.key for term in terms]
    steps = SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes()
    equal = sum(sum(matches.weights[begin:end]) for tag, begin, end, _, _ in steps if tag == "equal")
    total = sum(matches.weights)
    differences = tuple(_differences(steps, matches, terms, equal))
    return Alignment(window, terms, differences, equal / total if total else 0.0, frozenset(theirs))


def _differences(
    steps: Sequence[tuple[str, int, int, int, int]], matches: Matches, terms: tuple[Term, ...], equal: float
) -> Iterator[Difference]:
    lengths = [0, *(end - begin if tag == "equal" else 0 for tag, begin, end, _, _ in steps), 0]
    for number, (tag, begin, end, left, right) in enumerate(steps):
        if tag != "equal":
            before, after = lengths[number], lengths[number + 2]
            is_between = (before > 0 or begin == 0) and (after > 0 or end == len(matches.terms))
            rest = _share_of_rest(matches.weights, begin, end, equal)
            yield Difference(matches.terms[begin:end], terms[left:right], before, after, is_between, rest)


def _share_of_rest(weights: Sequence[float], begin: int, end: int, equal: float) -> float:
    total = sum(weights)
    rest = total - sum(weights[begin:end]) if end - begin <= SLOT and equal >= total / 2 else total
    return equal / rest if rest else 0.0

"""Finds learnings that cannot both hold, without a model; it rather misses one than names a false one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from ...knowledge import Learning
from ..text.cues import CHANGING, RESTRICTING_STEMS
from ..text.likeness import NEAR, likeness
from .claims import Claim, claims_of

ALIKE = 0.6
"""Likeness of their words from which on two claims are taken to speak of the same thing."""
LONGER = 0.4
"""The same where one claim says all that the other says, in at least `MANY` words, and more."""
MANY = 4


def contradicting(learnings: Sequence[Learning]) -> list[tuple[Learning, Learning]]:
    """Pairs of learnings from different sources of which at most one is true, each pair once, in the order of
    their words.

    Two sentences are compared only if the words of the one are among those of the other, and neither is doubtful, rough
    or about another thing by its names. They contradict each other if exactly one is negated; if they give different
    dates of what happens once; or if they count or measure the same differently, for the same time.
    """
    claims = [claim for one in {one.id: one for one in learnings if one.source}.values() for claim in claims_of(one)]
    found: dict[tuple[str, str], tuple[Learning, Learning]] = {}
    for part, whole in _candidates(claims):
        if part.learning.source != whole.learning.source and _exclude(part, whole):
            first, second = sorted((part.learning, whole.learning), key=lambda learning: (learning.text, learning.id))
            found[first.id, second.id] = (first, second)
    return sorted(found.values(), key=lambda pair: [(one.text, one.id) for one in pair])


def _candidates(claims: Sequence[Claim]) -> Iterator[tuple[Claim, Claim]]:
    """Pairs of claims, the second of which has all words of the first."""
    holders: dict[str, set[int]] = defaultdict(set)
    for place, claim in enumerate(claims):
        for word in claim.words:
            holders[word].add(place)
    for place, claim in enumerate(claims):
        for other in set.intersection(*sorted((holders[word] for word in claim.words), key=len)):
            if len(claims[other].words) > len(claim.words) or other > place:
                yield claim, claims[other]


def _exclude(part: Claim, whole: Claim) -> bool:
    if not _are_of_one_thing(part, whole):
        return False
    if part.is_negated != whole.is_negated:
        return _deny(part, whole)
    if part.is_negated:
        return False
    if part.figures.quantities or whole.figures.quantities:
        return _count_differently(part, whole)
    return _date_differently(part, whole)


def _are_of_one_thing(part: Claim, whole: Claim) -> bool:
    further = whole.words - part.words
    if part.figures.labels != whole.figures.labels or not RESTRICTING_STEMS.isdisjoint(further):
        return False
    is_long = len(part.words) >= MANY
    if further & whole.names and (part.names or not is_long):
        return False
    return likeness(part.words, whole.words) >= (LONGER if is_long else ALIKE)


def _deny(part: Claim, whole: Claim) -> bool:
    # What is denied of a part of the cases is not denied of all: the longer claim must be the positive one.
    if part.figures[:3] != whole.figures[:3] or (whole.is_negated and whole.words != part.words):
        return False
    return not _differ_in_tense(part, whole) and likeness(part.words, whole.words) >= NEAR


def _date_differently(part: Claim, whole: Claim) -> bool:
    dates, others = part.figures.dates, whole.figures.dates
    if len(dates) != len(others) or part.events != whole.events or not dates:
        return False
    relations = {date.relation for date in dates}
    if relations != {date.relation for date in others}:
        return False
    is_once = bool(part.events) and part.is_of_one and whole.is_of_one
    return (is_once or "in" not in relations) and all(one.excludes(other) for one in dates for other in others)


def _count_differently(part: Claim, whole: Claim) -> bool:
    years, others = ({date.time.first for date in claim.figures.dates} for claim in (part, whole))
    if (years and others and years != others) or _differ_in_tense(part, whole):
        return False
    if (years != others or not part.names) and not CHANGING.isdisjoint(part.words):
        return False
    counted = {(quantity.unit, quantity.relation) for quantity in part.figures.quantities}
    return any(_differ_in(kind, part, whole) for kind in counted)


def _differ_in(kind: tuple[str, str], part: Claim, whole: Claim) -> bool:
    ours, theirs = (
        [quantity for quantity in claim.figures.quantities if (quantity.unit, quantity.relation) == kind]
        for claim in (part, whole)
    )
    return bool(theirs) and all(one.excludes(other) for one in ours for other in theirs)


def _differ_in_tense(part: Claim, whole: Claim) -> bool:
    return len(part.tenses) == len(whole.tenses) == 1 and part.tenses != whole.tenses

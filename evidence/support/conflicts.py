"""Where a passage says something else than a claim."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from deep_research.evidence.support.alignment import Alignment, Difference
from deep_research.evidence.support.amounts import Amount, counts_as
from deep_research.evidence.support.matching import Matches
from deep_research.evidence.support.opposites import are_opposite
from deep_research.evidence.support.reading import Evidence
from deep_research.evidence.support.terms import Term

Kind = Literal["number", "unit", "date", "name", "negation", "opposite"]
NEAR = 0.5
"""Share of the claim that must stand in a passage in the same order for differences to be compared word by word."""
SCOPE = 3
"""Words behind a negation that it may be about."""


class Conflict(NamedTuple):
    """Something that a passage says differently."""

    kind: Kind
    reason: str
    """It in plain words."""
    is_sure: bool
    """Whether claim and passage agree on both sides of it."""


def conflicts_of(matches: Matches, evidence: Evidence, alignment: Alignment) -> list[Conflict]:
    """What a passage says differently from a claim."""
    found = [
        *_amounts(matches, evidence, alignment),
        *_names(matches, evidence, alignment),
        *_negations(alignment),
        *_opposites(matches, alignment),
    ]
    return list({conflict.reason: conflict for conflict in sorted(found, key=lambda one: one.is_sure)}.values())


def _amounts(matches: Matches, evidence: Evidence, alignment: Alignment) -> Iterator[Conflict]:
    known = {term.key for term in alignment.terms}
    ours = {term.key for term in matches.terms}
    strangers = [term for term in alignment.terms if term.amount and term.key not in ours]
    for difference in alignment.differences:
        opposite = [term for term in difference.passage if term.amount]
        for term in difference.claim:
            if not term.amount:
                continue
            others = [other for other in opposite if _comparable(term.amount, other.amount)]
            is_close = difference.is_between and alignment.share >= NEAR
            if term.key in known:
                if others and is_close and alignment.share >= 0.7:
                    yield _other_amount(term, others[0], is_sure=True)
                continue
            others = others or [other for other in strangers if _comparable(term.amount, other.amount)]
            if others:
                yield _other_amount(term, others[0], is_sure=True)
            elif term.key not in matches.keys.values():
                yield Conflict("date" if term.amount.times else "number", f"the source does not say {term.raw}", True)
            else:
                yield Conflict("date" if term.amount.times else "number", f"the passage does not say {term.raw}", False)


def _comparable(one: Amount, other: Amount | None) -> bool:
    if other is None or bool(one.times) != bool(other.times):
        return False
    return (one.unit == "ordinal") == (other.unit == "ordinal")


def _other_amount(term: Term, other: Term, is_sure: bool) -> Conflict:
    mine, theirs = term.amount, other.amount
    if mine and theirs and mine.values and not mine.times and counts_as(theirs, mine) and mine.unit != theirs.unit:
        return Conflict("unit", f"the passage says {other.raw} {theirs.unit}, not {term.raw} {mine.unit}", is_sure)
    kind: Kind = "date" if mine and mine.times else "number"
    return Conflict(kind, f"the passage says {other.raw}, not {term.raw}", is_sure)


def _names(matches: Matches, evidence: Evidence, alignment: Alignment) -> Iterator[Conflict]:
    known = {term.key for term in alignment.terms}
    everywhere = set(matches.keys.values())
    for difference in alignment.differences:
        is_close = difference.is_between and alignment.share >= NEAR
        others = [term for term in difference.passage if term.kind == "name"]
        for term in difference.claim:
            if term.kind != "name":
                continue
            if others and is_close and (term.key not in known or alignment.share >= 0.7):
                other = others[0]
                yield Conflict("name", f"the passage says '{other.raw}', not '{term.raw}'", True)
            elif term.key not in everywhere:
                yield Conflict("name", f"no word of '{term.raw}' in the source", is_close)
            elif term.key not in known:
                yield Conflict("name", f"no word of '{term.raw}' in the passage", False)


def _negations(alignment: Alignment) -> Iterator[Conflict]:
    ours = [one for one in alignment.differences for term in one.claim if term.kind == "negation"]
    theirs = [one for one in alignment.differences if _denies(one)]
    if alignment.share < NEAR or (len(ours) + len(theirs)) % 2 == 0:
        return
    if ours:
        yield Conflict("negation", "the claim denies what the passage says", True)
    else:
        yield Conflict("negation", "the passage denies it", True)


def _denies(difference: Difference) -> bool:
    places = [place for place, term in enumerate(difference.passage) if term.kind == "negation"]
    return bool(places) and len(difference.passage) - places[-1] <= SCOPE and difference.after > 0


def _opposites(matches: Matches, alignment: Alignment) -> Iterator[Conflict]:
    known, ours = {term.key for term in alignment.terms}, {term.key for term in matches.terms}
    for difference in alignment.differences:
        is_close = difference.is_between and alignment.share >= NEAR
        for term in difference.claim:
            for other in difference.passage if is_close else alignment.terms:
                is_open = is_close or (term.key not in known and other.key not in ours)
                if is_open and are_opposite(term.key, other.key):
                    yield Conflict("opposite", f"the passage says '{other.raw}', not '{term.raw}'", is_close)

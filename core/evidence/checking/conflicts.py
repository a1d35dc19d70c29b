"""Finds where a passage says something else than a claim: another value or name, a negation, the opposite."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Literal, NamedTuple

from .alignment import Alignment, Difference, Matches
from .amounts import Amount, counts_as
from .terms import SOFTENING, Term, are_opposite, has_meaning

NEAR = 0.5
"""Share of the claim that must stand in a passage in the same order for the two to be compared word by word."""
CLOSE = 0.55
"""Share of the claim that a passage must cover for the rest to be compared wherever it stands."""
REACH = 3
"""Words between a word and its neighbour at most, and one."""
SCOPE = 5
"""Words after a negation that it can deny."""
HEADS = 2
"""Words with a meaning after a negation that it denies."""


def _negations(matches: Matches, alignment: Alignment) -> Iterator[tuple[str, bool]]:
    """Yield a reason for each negation that only one side has, and whether both sides are about the same."""
    ours, theirs = denied(matches.terms), denied(alignment.terms)
    is_close = alignment.share >= NEAR or alignment.window.share >= CLOSE
    if ours and theirs and alignment.share < NEAR:
        # Each may deny the same in its own words.
        return
    if any(heads & alignment.keys and not heads & _all(theirs) for heads in ours):
        yield "the claim denies what the passage says", is_close
    elif ours and is_close and not any(term.kind == "negation" for term in alignment.terms):
        yield "the claim denies what the passage says", True
    affirmed = {term.key for term in matches.terms if has_meaning(term)}
    if any(heads & affirmed and not heads & _all(ours) and not _is_affirmed(heads, alignment) for heads in theirs):
        yield "the passage denies it", is_close


def _all(groups: Sequence[frozenset[str]]) -> frozenset[str]:
    return frozenset[str]().union(*groups)


def denied(terms: Sequence[Term]) -> list[frozenset[str]]:
    """Return the words that each negation denies."""
    found = list[frozenset[str]]()
    for place, term in enumerate(terms):
        behind = terms[place + 1 : place + 1 + SCOPE]
        if term.kind == "negation" and not (behind and behind[0].raw.lower() in SOFTENING):
            found.append(frozenset([one.key for one in behind if has_meaning(one)][:HEADS]))
    return found


def _is_affirmed(heads: frozenset[str], alignment: Alignment) -> bool:
    """Whether the passage says the same elsewhere without a negation."""
    terms = alignment.terms
    return any(
        term.key in heads and all(one.kind != "negation" for one in terms[max(0, place - SCOPE) : place])
        for place, term in enumerate(terms)
    )


def _opposites(matches: Matches, alignment: Alignment) -> Iterator[tuple[str, bool]]:
    """Yield a reason for each pair of opposites, and whether the one stands in the place of the other."""
    for difference in alignment.differences:
        is_beside = difference.is_between and alignment.share >= NEAR
        for term, other in product(difference.claim, difference.passage if is_beside else alignment.terms):
            is_open = term.key not in alignment.keys and other.key not in matches.own
            if (is_beside or is_open) and are_opposite(term.raw, other.raw):
                around = _neighbours(matches.terms, term.key) & _neighbours(alignment.terms, other.key)
                is_sure = is_beside or bool(around) or alignment.window.share >= CLOSE
                yield f"the passage says '{other.raw}', not '{term.raw}'", is_sure


def _neighbours(terms: Sequence[Term], key: str) -> frozenset[tuple[int, str]]:
    """Return the words with a meaning right before (-1) and right after (1) a word."""
    found = set[tuple[int, str]]()
    for place, term in enumerate(terms):
        if term.key == key:
            before = [one.key for one in terms[max(0, place - REACH) : place] if has_meaning(one) and not one.amount]
            behind = [one.key for one in terms[place + 1 : place + 1 + REACH] if has_meaning(one) and not one.amount]
            found |= {(-1, one) for one in before[-1:]} | {(1, one) for one in behind[:1]}
    return frozenset(found)


Kind = Literal["number", "unit", "date", "name", "negation", "opposite"]
NEARER = 0.7
"""Share of the rest of the claim that must stand in a passage in the same order for words to be held to their place."""
NEARLY_QUOTED = 0.8
"""The same for the claim to be a near quote, in which another name is a mistake."""
CLEAR = 0.6
"""What `closeness` is at least where a passage says something else of the same."""
LOOSE = 0.75
"""The most that `closeness` can be where the order does not show it."""
UNEVEN = 5
"""Words at most that can stand in the place of a name."""


class Conflict(NamedTuple):
    """Something that a passage says differently, or does not say."""

    kind: Kind
    reason: str
    """It in plain words."""
    closeness: float
    """How much of the rest of the claim the passage says, from 0 to 1; 0 if it says nothing in its place."""

    @property
    def is_clear(self) -> bool:
        """Whether both are close enough to speak of the same; for names, whether one nearly quotes it."""
        return self.closeness >= (NEARLY_QUOTED if self.kind == "name" else CLEAR)

    @property
    def weight(self) -> float:
        """How much it speaks against a claim, from 0 to 1; little if the rest of the claim stands elsewhere as well."""
        return self.closeness**2


def conflicts_of(matches: Matches, alignment: Alignment) -> list[Conflict]:
    """Return what a passage says differently from a claim, the closest first, each once."""
    found = list[Conflict]()
    for difference in alignment.differences:
        for term in difference.claim:
            if term.amount:
                found += _amount(term, term.amount, difference, matches, alignment)
            elif term.kind == "name":
                found += _name(term, difference, matches, alignment)
    closeness = max(alignment.share, _loosely(alignment))
    found += [Conflict("negation", reason, closeness * is_sure) for reason, is_sure in _negations(matches, alignment)]
    found += [Conflict("opposite", reason, closeness * is_sure) for reason, is_sure in _opposites(matches, alignment)]
    found.sort(key=lambda conflict: -conflict.closeness)
    return list({conflict.reason: conflict for conflict in reversed(found)}.values())[::-1]


def _amount(
    term: Term, amount: Amount, difference: Difference, matches: Matches, alignment: Alignment
) -> Iterator[Conflict]:
    is_held, kind = term.key in alignment.keys, _kind(amount)
    closeness = max(difference.rest if difference.is_between else 0.0, _loosely(alignment))
    other = _in_place(term, amount, difference, alignment)
    if other := other or (None if is_held else _rival(amount, matches, alignment)):
        yield _other_amount(term, other, closeness, is_held)
    elif term.key in matches.held and not is_held:
        yield Conflict(kind, f"the passage does not say {term.raw}", 0.0)
    elif not is_held:
        yield Conflict(kind, f"the source does not say {term.raw}", closeness)


def _name(term: Term, difference: Difference, matches: Matches, alignment: Alignment) -> Iterator[Conflict]:
    if term.key in alignment.keys:
        return
    is_near = difference.is_between and difference.rest >= NEARLY_QUOTED
    is_level = difference.is_between and alignment.share >= NEAR and len(difference.passage) <= UNEVEN
    others = (one for one in difference.passage if one.kind == "name" and is_level)
    if other := next(others, None):
        yield Conflict("name", f"the passage says '{other.raw}', not '{term.raw}'", difference.rest * is_near)
    elif term.key in matches.held:
        yield Conflict("name", f"no word of '{term.raw}' in the passage", 0.0)
    else:
        is_sure = is_near and not term.is_first
        yield Conflict("name", f"no word of '{term.raw}' in the source", difference.rest * is_sure)


def _loosely(alignment: Alignment) -> float:
    """Return the share of a claim that a passage says, where word order does not show that both mean the same."""
    return min(LOOSE, max(alignment.window.share, 0.1))


def _kind(amount: Amount) -> Kind:
    return "date" if amount.times else "number"


def _instead(theirs: str, ours: str, is_held: bool) -> str:
    return (
        f"the passage says {theirs} where the claim says {ours}"
        if is_held
        else f"the passage says {theirs}, not {ours}"
    )


def _are_level(difference: Difference) -> bool:
    return abs(len(difference.claim) - len(difference.passage)) <= 1


def _in_place(term: Term, amount: Amount, difference: Difference, alignment: Alignment) -> Term | None:
    """Return another amount of the passage that stands where the claim has its own."""
    if not difference.is_between or alignment.share < NEAR:
        return None
    if term.key in alignment.keys and not (difference.rest >= NEARER and _are_level(difference)):
        return None
    return next(
        (one for one in difference.passage if one.key != term.key and _are_comparable(amount, one.amount)), None
    )


def _rival(amount: Amount, matches: Matches, alignment: Alignment) -> Term | None:
    """Return what the passage counts and the claim does not: as many of another unit, or another number of the same."""
    others = (one for one in alignment.terms if one.key not in matches.own and _are_comparable(amount, one.amount))
    for one in others:
        if one.amount and (counts_as(one.amount, amount) or (amount.unit and amount.unit == one.amount.unit)):
            return one
    return None


def _are_comparable(one: Amount, other: Amount | None) -> bool:
    if other is None or bool(one.times) != bool(other.times):
        return False
    return (one.unit == "ordinal") == (other.unit == "ordinal")


def _other_amount(term: Term, other: Term, closeness: float, is_held: bool) -> Conflict:
    mine, theirs = term.amount, other.amount
    if mine and theirs and not mine.times and counts_as(theirs, mine) and mine.unit != theirs.unit:
        return Conflict("unit", _instead(_with_unit(other, theirs), _with_unit(term, mine), is_held), closeness)
    return Conflict(_kind(mine) if mine else "number", _instead(other.raw, term.raw, is_held), closeness)


def _with_unit(term: Term, amount: Amount) -> str:
    return f"{term.raw} {amount.unit}".strip()

"""Where a passage says something else than a claim."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from .alignment import Alignment, Difference
from .amounts import Amount, counts_as
from .matching import Matches
from .polarity import CLOSE, NEAR, denials, neighbours, reversals
from .terms import Term

Kind = Literal["number", "unit", "date", "name", "negation", "opposite"]
NEARER = 0.7
"""Share of the rest of the claim that must stand in a passage in the same order for words to be held to their place."""
NEARLY_QUOTED = 0.8
"""The same for the claim to be a near quote, in which another name is a mistake."""
CLEAR = 0.6
"""What `closeness` is at least where a passage says something else of the same."""
LOOSE = 0.75
"""The most that `closeness` can be where the order does not show it."""
UNEVEN = 4
"""Words by which a name and what stands in its place can differ."""


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
    """What a passage says differently from a claim, the closest first, each once."""
    found = list[Conflict]()
    for difference in alignment.differences:
        for term in difference.claim:
            if term.amount:
                found += _amount(term, term.amount, difference, matches, alignment)
            elif term.kind == "name":
                found += _name(term, difference, matches, alignment)
    closeness = max(alignment.share, _loosely(alignment))
    for term in matches.terms:
        if term.amount and (other := _in_slot(term, term.amount, matches, alignment)):
            found.append(_other_amount(term, other, closeness, term.key in alignment.keys))
    found += [Conflict("negation", reason, closeness * is_sure) for reason, is_sure in denials(matches, alignment)]
    found += [Conflict("opposite", reason, closeness * is_sure) for reason, is_sure in reversals(matches, alignment)]
    found.sort(key=lambda conflict: -conflict.closeness)
    return list({conflict.reason: conflict for conflict in reversed(found)}.values())[::-1]


def _amount(
    term: Term, amount: Amount, difference: Difference, matches: Matches, alignment: Alignment
) -> Iterator[Conflict]:
    is_held, kind = term.key in alignment.keys, _kind(amount)
    closeness = max(difference.rest if difference.is_between else 0.0, _loosely(alignment))
    other = _in_place(term, amount, difference, alignment)
    if other := other or (None if is_held else _stranger(amount, matches, alignment)):
        yield _other_amount(term, other, closeness, is_held)
    elif term.key in matches.held and not is_held:
        yield Conflict(kind, f"the passage does not say {term.raw}", 0.0)
    elif not is_held:
        yield Conflict(kind, f"the source does not say {term.raw}", closeness)


def _name(term: Term, difference: Difference, matches: Matches, alignment: Alignment) -> Iterator[Conflict]:
    is_held, is_near = term.key in alignment.keys, difference.is_between and difference.rest >= NEARLY_QUOTED
    others = [one for one in difference.passage if one.kind == "name"] if alignment.share >= NEAR else []
    other = next((one for one in others if is_near or one.key not in matches.own), None)
    is_even = abs(len(difference.claim) - len(difference.passage)) <= UNEVEN
    is_swapped = is_near and _are_level(difference) and all(one.kind == "name" for one in difference.passage)
    if other and is_even and difference.is_between and (not is_held or is_swapped):
        yield Conflict("name", _instead(f"'{other.raw}'", f"'{term.raw}'", is_held), difference.rest * is_near)
    elif term.key in matches.held and not is_held:
        yield Conflict("name", f"no word of '{term.raw}' in the passage", 0.0)
    elif not is_held:
        is_sure = is_near and not term.is_first
        yield Conflict("name", f"no word of '{term.raw}' in the source", difference.rest * is_sure)


def _loosely(alignment: Alignment) -> float:
    """How much of a claim a passage says, where the order does not show that both speak of the same."""
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
    """Another amount of the passage in the place of the claim's."""
    if not difference.is_between or alignment.share < NEAR:
        return None
    if term.key in alignment.keys and not (difference.rest >= NEARER and _are_level(difference)):
        return None
    return next(
        (one for one in difference.passage if one.key != term.key and _are_comparable(amount, one.amount)), None
    )


def _in_slot(term: Term, amount: Amount, matches: Matches, alignment: Alignment) -> Term | None:
    """Another amount of the passage before or behind the same word as the claim's."""
    around = neighbours(matches.terms, term.key)
    if around & neighbours(alignment.terms, term.key):
        return None
    strangers = (one for one in alignment.terms if one.key not in matches.own and _measure_alike(amount, one.amount))
    return next((one for one in strangers if around & neighbours(alignment.terms, one.key)), None)


def _stranger(amount: Amount, matches: Matches, alignment: Alignment) -> Term | None:
    """An amount of the passage that the claim lacks and that measures the same; any other date, if both are close."""
    for one in alignment.terms:
        if one.amount and one.key not in matches.own and _are_comparable(amount, one.amount):
            is_date = bool(amount.times) and alignment.window.share >= CLOSE
            if is_date or counts_as(one.amount, amount) or (amount.unit and amount.unit == one.amount.unit):
                return one
    return None


def _are_comparable(one: Amount, other: Amount | None) -> bool:
    if other is None or bool(one.times) != bool(other.times):
        return False
    return (one.unit == "ordinal") == (other.unit == "ordinal")


def _measure_alike(one: Amount, other: Amount | None) -> bool:
    if other is None or (one.unit and other.unit not in ("", one.unit)):
        return False
    return _are_comparable(one, other) or bool(not one.times and other.times and other.values and not one.unit)


def _other_amount(term: Term, other: Term, closeness: float, is_held: bool) -> Conflict:
    mine, theirs = term.amount, other.amount
    if mine and theirs and not mine.times and counts_as(theirs, mine) and mine.unit != theirs.unit:
        return Conflict("unit", _instead(_with_unit(other, theirs), _with_unit(term, mine), is_held), closeness)
    return Conflict(_kind(mine) if mine else "number", _instead(other.raw, term.raw, is_held), closeness)


def _with_unit(term: Term, amount: Amount) -> str:
    return f"{term.raw} {amount.unit}".strip()

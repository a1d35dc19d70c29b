"""Where a passage says something else than a claim."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from deep_research.evidence.support.alignment import Alignment, Difference
from deep_research.evidence.support.amounts import Amount, counts_as
from deep_research.evidence.support.matching import Matches
from deep_research.evidence.support.terms import Term
from deep_research.evidence.support.turning import denials, neighbours, reversals

Kind = Literal["number", "unit", "date", "name", "negation", "opposite"]
NEAR = 0.5
"""Share of the claim that must stand in a passage in the same order for differences to be compared word by word."""
CLOSE = 0.55
"""Share of the claim that a passage must cover for what is left to be compared wherever it stands."""
NEARER = 0.7
"""The same where what stands in one place of the claim stands in another place of the passage."""

LOOSE = 0.75
"""The most that `closeness` can be where the order does not show it."""
NEARLY_QUOTED = 0.8
"""Share of the rest of the claim that must stand in a passage in the same order for another name to be a mistake."""


class Conflict(NamedTuple):
    """Something that a passage says differently, or does not say."""

    kind: Kind
    reason: str
    """It in plain words."""
    closeness: float
    """How much of the rest of the claim the passage says, from 0 to 1; 0 if it does not say anything in its place."""

    @property
    def is_sure(self) -> bool:
        """Whether the passage, or the whole source, leaves no room for it."""
        return self.closeness > 0

    @property
    def is_turning(self) -> bool:
        """Whether but for it the claim would be a near quote."""
        return self.closeness >= NEARLY_QUOTED


def conflicts_of(matches: Matches, alignment: Alignment) -> list[Conflict]:
    """What a passage says differently from a claim, the sure ones first, each once."""
    found = list[Conflict]()
    for difference in alignment.differences:
        for term in difference.claim:
            if term.amount:
                found += _amount(term, difference, matches, alignment)
            elif term.kind == "name":
                found += _name(term, difference, matches, alignment)
    for kind, turned in (("negation", denials(matches, alignment)), ("opposite", reversals(matches, alignment))):
        found += [
            Conflict(kind, reason, max(alignment.share, _loosely(alignment)) if is_sure else 0.0)
            for reason, is_sure in turned
        ]
    return list({one.reason: one for one in sorted(found, key=lambda one: -one.closeness)}.values())


def _closeness(difference: Difference, alignment: Alignment) -> float:
    return max(difference.rest if difference.is_between else 0.0, _loosely(alignment))


def _loosely(alignment: Alignment) -> float:
    """What a passage covers of a claim, where the order does not show that both speak of the same."""
    return min(LOOSE, max(alignment.window.share, 0.1))


def _amount(term: Term, difference: Difference, matches: Matches, alignment: Alignment) -> Iterator[Conflict]:
    amount, is_held = term.amount, term.key in alignment.keys
    others = [other for other in _instead(difference, matches, alignment) if other.amount]
    other = next((one for one in others if amount and _comparable(amount, one.amount)), None)
    kind: Kind = "date" if amount and amount.times else "number"
    closeness = _closeness(difference, alignment)
    slot = _in_slot(term, matches, alignment)
    if other and (not is_held or _is_in_place(term, other, difference, alignment)):
        yield _other_amount(term, other, kind, closeness)
    elif slot:
        yield _other_amount(term, slot, kind, closeness)
    elif is_held:
        return
    elif stranger := _stranger(term, matches, alignment):
        yield _other_amount(term, stranger, kind, closeness)
    elif term.key in matches.held:
        yield Conflict(kind, f"the passage does not say {term.raw}", 0.0)
    else:
        yield Conflict(kind, f"the source does not say {term.raw}", closeness)


def _instead(difference: Difference, matches: Matches, alignment: Alignment) -> Sequence[Term]:
    """What the passage says in place of the claim's words, if both can be laid beside each other."""
    return difference.passage if difference.is_between and alignment.share >= NEAR else ()


def _is_in_place(term: Term, other: Term, difference: Difference, alignment: Alignment) -> bool:
    """Whether a word that the passage has elsewhere stands in the place of another one there."""
    if difference.rest < NEARER or term.key == other.key:
        return False
    return len(difference.claim) <= len(difference.passage) + 1 and len(difference.passage) <= len(difference.claim) + 1


def _comparable(one: Amount, other: Amount | None) -> bool:
    if other is None or bool(one.times) != bool(other.times):
        return False
    return (one.unit == "ordinal") == (other.unit == "ordinal")


def _stranger(term: Term, matches: Matches, alignment: Alignment) -> Term | None:
    """A number of the passage that the claim lacks and that measures the same, or a date if it has another one."""
    ours = {one.key for one in matches.terms}
    for other in alignment.terms:
        if term.amount and other.amount and other.key not in ours and _comparable(term.amount, other.amount):
            if counts_as(other.amount, term.amount) or (term.amount.unit and term.amount.unit == other.amount.unit):
                return other
            if term.amount.times and alignment.window.share >= CLOSE:
                return other
    return None


def _in_slot(term: Term, matches: Matches, alignment: Alignment) -> Term | None:
    """Another number of the passage before or behind the same word as the claim's."""
    ours = {one.key for one in matches.terms}
    around = neighbours(matches.terms, term.key)
    if around & neighbours(alignment.terms, term.key):
        return None
    for other in alignment.terms:
        if term.amount and other.key not in ours and _comparable(term.amount, other.amount):
            if around & neighbours(alignment.terms, other.key):
                return other
    return None


def _other_amount(term: Term, other: Term, kind: Kind, closeness: float) -> Conflict:
    mine, theirs = term.amount, other.amount
    if mine and theirs and not mine.times and counts_as(theirs, mine) and mine.unit != theirs.unit:
        return Conflict("unit", f"the passage says {other.raw} {theirs.unit}, not {term.raw} {mine.unit}", closeness)
    return Conflict(kind, f"the passage says {other.raw}, not {term.raw}", closeness)


def _name(term: Term, difference: Difference, matches: Matches, alignment: Alignment) -> Iterator[Conflict]:
    ours, is_held = {one.key for one in matches.terms}, term.key in alignment.keys
    is_sure = difference.is_between and difference.rest >= NEARLY_QUOTED
    others = [one for one in _instead(difference, matches, alignment) if one.kind == "name"]
    other = next((one for one in others if is_sure or one.key not in ours), None)
    closeness = difference.rest if is_sure else 0.0
    if other and (not is_held or (is_sure and _is_in_place(term, other, difference, alignment))):
        yield Conflict("name", f"the passage says '{other.raw}', not '{term.raw}'", closeness)
    elif not is_held and term.key in matches.held:
        yield Conflict("name", f"no word of '{term.raw}' in the passage", 0.0)
    elif not is_held:
        yield Conflict("name", f"no word of '{term.raw}' in the source", 0.0 if term.is_first else closeness)

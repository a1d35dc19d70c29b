"""Where a passage says something else than a claim: other values, a negation, the opposite."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product, takewhile, zip_longest
from typing import Literal, NamedTuple

from .alignment import Alignment, Difference, Matches
from .amounts import Amount, counts_as
from .terms import DENYING, Term, are_opposite, is_telling

NEAR = 0.5
"""Share of the claim that must stand in a passage in the same order for opposites to be compared word by word."""
CLOSE = 0.55
"""Share of the claim that a passage must cover for what is left to be compared wherever it stands."""
REACH = 3
"""Words between a word and its neighbour at most, and one."""
SCOPE = 5
"""Words behind a negation that it can be about."""
HEADS = 2
"""Words with a meaning behind a negation that it is about."""
DOUBLED = 3
"""Words before a denying word that can deny it."""
_CLOSING = frozenset({"nicht", "nie", "niemals"})
"""Negations that at the end of a part of a sentence are about what stands before them."""
_JOINTS = frozenset({"and", "but", "und", "aber"})
"""Words with which another part of a sentence begins."""
_STARTS = {
    "or",
    "because",
    "it",
    "he",
    "she",
    "they",
    "we",
    "i",
    "you",
    "who",
    "which",
    "oder",
    "weil",
    "er",
    "sie",
    "es",
}
_BREAKS = _JOINTS | _STARTS
"""These, and the words with which one can begin."""
_SOFTENING = frozenset({"only", "just", "merely", "simply", "nur", "seulement", "solo", "limited", "necessarily"})


def denials(matches: Matches, alignment: Alignment) -> Iterator[tuple[str, bool]]:
    """Whether claim or passage deny what the other says, in plain words, and whether both are about the same."""
    terms, others = _in_front(matches.terms), _in_front(alignment.terms)
    ours, theirs = _denied(terms), _denied(others)
    is_close = alignment.share >= NEAR or alignment.window.share >= CLOSE
    yield from ((reason, is_close) for reason in _doubled(terms, others))
    if ours and theirs and alignment.share < NEAR:
        # Each may deny the same in words of its own.
        return
    if any(heads & alignment.keys and not heads & _all(theirs) for heads in ours):
        yield "the claim denies what the passage says", is_close
    elif ours and is_close and not any(term.kind == "negation" for term in alignment.terms):
        yield "the claim denies what the passage says", True
    affirmed = {term.key for term in matches.terms if is_telling(term)}
    if any(heads & affirmed and not heads & _all(ours) and not _is_affirmed(heads, others) for heads in theirs):
        yield "the passage denies it", is_close


def _doubled(terms: Sequence[Term], others: Sequence[Term]) -> Iterator[str]:
    """Where only one of both denies a word that is a denial itself: failed, never failed."""
    ours, theirs = _denying(terms), _denying(others)
    for word in sorted(ours.keys() & theirs.keys()):
        if ours[word].isdisjoint(theirs[word]):
            yield "the claim denies what the passage says" if True in ours[word] else "the passage denies it"


def _denying(terms: Sequence[Term]) -> dict[str, set[bool]]:
    """The words that are a denial themselves, each with whether it is denied; both if it stands there twice."""
    found: dict[str, set[bool]] = {}
    for place, term in enumerate(terms):
        if word := DENYING.get(term.raw.lower()):
            found.setdefault(word, set()).add(_is_negated(terms[max(0, place - DOUBLED) : place]))
    return found


def _is_negated(before: Sequence[Term]) -> bool:
    """Whether the words before a word deny it; those of another part of the sentence do not."""
    for term in reversed(before):
        if term.raw.lower() in _BREAKS:
            return False
        if term.kind == "negation":
            return True
    return False


def _in_front(terms: Sequence[Term]) -> list[Term]:
    """The terms, with a negation behind what it is about put before it."""
    found = list[Term]()
    for term, following in zip_longest(terms, terms[1:]):
        is_behind = term.raw.lower() in _CLOSING and not (following and _goes_on(following))
        found.insert(max(0, len(found) - HEADS) if is_behind else len(found), term)
    return found


def _all(groups: Sequence[frozenset[str]]) -> frozenset[str]:
    return frozenset[str]().union(*groups)


def _denied(terms: Sequence[Term]) -> list[frozenset[str]]:
    """For each negation, the words that it is about."""
    found = list[frozenset[str]]()
    for place, term in enumerate(terms):
        behind = list(takewhile(_goes_on, terms[place + 1 : place + 1 + SCOPE]))
        if term.kind == "negation" and not (behind and behind[0].raw.lower() in _SOFTENING):
            heads = [one.key for one in behind if is_telling(one)]
            found.append(frozenset(heads[:HEADS]))
    return found


def _goes_on(term: Term) -> bool:
    """Whether a negation before a word reaches over it."""
    return not term.is_first and term.raw.lower() not in _JOINTS


def _is_affirmed(heads: frozenset[str], terms: Sequence[Term]) -> bool:
    """Whether the passage says the same in another place without a negation."""
    for place, term in enumerate(terms):
        if term.key in heads and all(one.kind != "negation" for one in terms[max(0, place - SCOPE) : place]):
            return True
    return False


def reversals(matches: Matches, alignment: Alignment) -> Iterator[tuple[str, bool]]:
    """Opposites in claim and passage, in plain words, and whether one stands in the place of the other."""
    for difference in alignment.differences:
        is_beside = difference.is_between and alignment.share >= NEAR
        for term, other in product(difference.claim, difference.passage if is_beside else alignment.terms):
            is_open = term.key not in alignment.keys and other.key not in matches.own
            if (is_beside or is_open) and are_opposite(term.raw, other.raw):
                around = neighbours(matches.terms, term.key) & neighbours(alignment.terms, other.key)
                is_sure = is_beside or bool(around) or alignment.window.share >= CLOSE
                yield f"the passage says '{other.raw}', not '{term.raw}'", is_sure


def neighbours(terms: Sequence[Term], key: str) -> frozenset[tuple[int, str]]:
    """The words with a meaning right before (-1) and right behind (1) a word or amount."""
    found = set[tuple[int, str]]()
    for place, term in enumerate(terms):
        if term.key == key:
            before = [one.key for one in terms[max(0, place - REACH) : place] if _is_telling(one)]
            behind = [one.key for one in terms[place + 1 : place + 1 + REACH] if _is_telling(one)]
            found |= {(-1, one) for one in before[-1:]} | {(1, one) for one in behind[:1]}
    return frozenset(found)


def _is_telling(term: Term) -> bool:
    return is_telling(term) and term.amount is None


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

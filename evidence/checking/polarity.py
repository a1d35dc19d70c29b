"""Negations and opposites: where a passage says the contrary of a claim."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product, takewhile, zip_longest

from .alignment import Alignment
from .matching import Matches
from .opposites import DENYING, are_opposite
from .terms import Term, is_telling

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

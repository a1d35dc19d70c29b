"""Splits a sentence into terms: words and amounts, each with a weight."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import combinations
from typing import NamedTuple

from ..text.words import NEGATIONS as _COUNTED
from ..text.words import STOP_WORDS, tokens, word_tables
from .amounts import MONTHS, Amount, amounts_of, key_of, pieces_of, plain

_WORDS = word_tables(__package__)

NEGATIONS = _COUNTED | frozenset(tokens(_WORDS["negations"]))
"""Words that negate."""
SOFTENING = frozenset(_WORDS["softening"].split())
"""Words after a negation with which it denies nothing: not only."""
CJK_NEGATIONS = ("不", "没", "沒", "未", "无", "無", "非", "ない", "않", "아니")
"""Signs that negate in writing without spaces."""


def _pairs() -> frozenset[tuple[str, str]]:
    found = set[tuple[str, str]]()
    for line in _WORDS["opposites"].strip().splitlines():
        sides = [{key_of(word) for word in side.split("|")} for side in line.split()]
        for one, other in combinations(sides, 2):
            found |= {pair for mine in one for theirs in other for pair in ((mine, theirs), (theirs, mine))}
    return frozenset((one, other) for one, other in found if one != other)


OPPOSITES = _pairs()
"""Stems of words that exclude each other, in both orders."""


def are_opposite(one: str, other: str) -> bool:
    """Whether two words exclude each other."""
    return (key_of(plain(one)), key_of(plain(other))) in OPPOSITES


_ENDS = frozenset(".!?")
COMMON = frozenset(map(key_of, _WORDS["common"].split()))
"""Stems of words that are common in texts of all kinds."""


class Term(NamedTuple):
    """A word or an amount."""

    key: str
    """What it is compared by: the stem of a word, the text and unit of an amount."""
    raw: str
    """As it was written."""
    kind: str
    """`word`, `name`, `amount`, `negation`, or `stop` for a word without weight."""
    amount: Amount | None = None
    is_first: bool = False
    """Whether it is the first word of a sentence."""


def terms_of(sentence: str) -> list[Term]:
    """Return the words and amounts of a sentence, in order."""
    pieces = pieces_of(sentence)
    amounts = {amount.first: amount for amount in amounts_of(pieces)}
    terms, place = list[Term](), 0
    while place < len(pieces):
        piece, amount = pieces[place], amounts.get(place)
        if amount:
            raw = sentence[piece.start : pieces[amount.last].end]
            terms.append(Term(f"#{raw.lower()} {amount.unit}", raw, "amount", amount))
            place = amount.last
        elif piece.kind == "wide":
            terms += _pairs_terms(piece.raw)
        elif piece.kind == "word":
            is_first = not terms or sentence[max(0, piece.start - 2) : piece.start].rstrip()[-1:] in _ENDS
            terms.append(_word(piece.raw, piece.word, is_first))
        place += 1
    return terms


def has_meaning(term: Term) -> bool:
    """Whether a term is neither a function word nor a negation."""
    return term.kind not in ("stop", "negation")


def weight_of(term: Term) -> float:
    """Return how specific a term is, from 0 for a negation to 1.5 for an amount."""
    if term.kind == "amount":
        return 1.5
    if term.kind in ("stop", "negation"):
        return 0.05 if term.kind == "stop" else 0.0
    if term.key in COMMON:
        return 0.25
    return 1.3 if term.kind == "name" else 1.0


@lru_cache(maxsize=1 << 16)
def _word(raw: str, word: str, is_first: bool) -> Term:
    key, kind = _known(word)
    is_opening = is_first and (key in COMMON or word.endswith("ly"))
    # A month alone is no name.
    if kind == "word" and raw[0].isupper() and not is_opening and word not in MONTHS:
        kind = "name"
    return Term(key, raw, kind, is_first=is_first)


def _known(word: str) -> tuple[str, str]:
    if word in NEGATIONS or word.endswith("n't"):
        return "not", "negation"
    if word in STOP_WORDS or len(word) == 1:
        return key_of(word), "stop"
    return key_of(word), "word"


def _pairs_terms(run: str) -> Iterator[Term]:
    for pair in tokens(run):
        is_negation = pair.startswith(CJK_NEGATIONS)
        yield Term(pair, pair, "negation" if is_negation else "word")

"""Finds texts that say nearly the same."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import NamedTuple, TypeVar

from .words import NEGATIONS, NUMBER_WORDS, QUESTION_WORDS, STOP_WORDS, stem, stems, tokens


def rarity(total: int, count: int) -> float:
    """Return the inverse document frequency (of BM25) of a word that stands in `count` of `total` passages."""
    return math.log(1 + (total - count + 0.5) / (count + 0.5))


Item = TypeVar("Item")

NEAR = 0.8
"""Similarity of their stems from which on two texts say the same, if their decisive words are the same."""
KEPT = 4096
"""Texts whose meaning is cached: each is compared with many."""
_DECISIVE = NEGATIONS | QUESTION_WORDS | (NUMBER_WORDS.keys() - {"one"})
_WRITTEN_OUT = (
    (re.compile(r"\bcan(?:['’]t|not)\b", re.IGNORECASE), "can not"),
    (re.compile(r"\bwon['’]t\b", re.IGNORECASE), "will not"),
    (re.compile(r"n['’]t\b", re.IGNORECASE), " not"),
)
_LATER_WORD = re.compile(r"(?<=[^\W_])[^\w.!?。！？]+([^\W\d_][\w’'-]*)")


class Meaning(NamedTuple):
    """What a text is compared by."""

    stems: frozenset[str]
    """Stems of the words that carry meaning; of all words if none does."""
    decisive: frozenset[str]
    """Numbers, negations and question words: with another one of these it is another statement."""
    names: frozenset[str]
    """Stems of the names in it."""


@lru_cache(maxsize=KEPT)
def meaning(text: str) -> Meaning:
    """Return what a text is compared by."""
    decisive = frozenset(token for token in tokens(expand_negations(text)) if is_decisive(token))
    return Meaning(frozenset(normalised(text).split()) - NEGATIONS - QUESTION_WORDS, decisive, inner_names(text))


def is_decisive(token: str) -> bool:
    """Whether another word in its place would make another statement."""
    return token in _DECISIVE or any(character.isdigit() for character in token)


@lru_cache(maxsize=KEPT)
def normalised(text: str) -> str:
    """Return the words without case, endings and function words; texts that share them count as the same."""
    words = tokens(expand_negations(text))
    kept = [word if word in _DECISIVE else stem(word) for word in words if word in _DECISIVE or word not in STOP_WORDS]
    return " ".join(kept or words) or " ".join(text.split())


def expand_negations(text: str) -> str:
    """Return the text with `n't` written out."""
    for short, whole in _WRITTEN_OUT:
        text = short.sub(whole, text)
    return text


def inner_names(text: str) -> frozenset[str]:
    """Return the stems of the capitalised words that do not begin a sentence."""
    inner = (match.group(1) for match in _LATER_WORD.finditer(text))
    return frozenset(part for word in inner if word[0].isupper() for part in stems(word))


def jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the Jaccard index of two sets, from 0 to 1."""
    return len(one & other) / len(one | other) if one or other else 1.0


def is_same(one: Meaning, other: Meaning) -> bool:
    """Whether two texts say nearly the same: of the same names, with the same numbers and negations."""
    if one.decisive != other.decisive or (one.names - other.names and other.names - one.names):
        return False
    return jaccard(one.stems, other.stems) >= NEAR


def components(items: Iterable[Item], are_alike: Callable[[Item, Item], bool]) -> list[list[Item]]:
    """Return the connected components of a relation; the order of the items makes no difference to the groups."""
    left, groups = list(items), []
    while left:
        group, left = [left[0]], left[1:]
        for member in group:
            alike = [are_alike(member, item) for item in left]
            group += [item for item, is_alike in zip(left, alike, strict=True) if is_alike]
            left = [item for item, is_alike in zip(left, alike, strict=True) if not is_alike]
        groups.append(group)
    return groups

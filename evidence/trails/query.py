"""A question as the search for trails reads it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from ..text.inflection.inflected import Inflections
from ..text.inflection.wording import sought_words
from ..text.rarity import rarity
from ..text.vocabulary import FAMILIES, GENERIC_WORDS, STOP_WORDS
from ..text.words import names, plain_run, stem, stem_run, stems, tokens

MEMBERS: dict[str, tuple[str, ...]] = {
    family: tuple(word for word, own in FAMILIES.items() if own == family) for family in set(FAMILIES.values())
}
MOST_STEMS = 40
"""Stems that are sought, the rarest of a question: one that a person asks has fewer, a pasted text has hundreds."""


class SoughtName(NamedTuple):
    """A name of several words in a question."""

    run: str
    """Its words in their stems, between spaces."""
    stems: tuple[str, ...]


class Query(NamedTuple):
    """What is sought."""

    text: str
    weights: dict[str, float]
    """The share, from 0 to 1, of the question that each of its rarest stems makes up; together 1."""
    words: dict[str, tuple[str, ...]]
    """For each stem the words to search for."""
    names: tuple[SoughtName, ...]
    run: str
    """All its words in their stems, between spaces."""
    plain: str
    """All its words as they are, between spaces."""
    inflections: Inflections
    """Finds its words in other forms."""


def read_query(text: str, total: int, counted: Callable[[Sequence[str]], int]) -> Query:
    """Take a question apart.

    Args:
        text: The question, or the words to search for.
        total: How many passages there are.
        counted: Tells in how many passages each of some words stands, added up, as `Shelf.counted` does.
    """
    words = _words(text)
    # A passage that holds several forms of a word is counted for each: to look it up as one costs more than it tells.
    counts = {own: min(total, counted(forms)) for own, forms in words.items()}
    rarities = {own: rarity(total, count) for own, count in counts.items() if count}
    rarities = _rarest(rarities)
    whole = sum(rarities.values()) or 1.0
    weights = {own: weight / whole for own, weight in rarities.items()}
    inflections = Inflections(sought_words(text))
    return Query(text, weights, words, tuple(_names(text, weights)), stem_run(text), plain_run(text), inflections)


def _rarest(rarities: Mapping[str, float]) -> dict[str, float]:
    rarest = frozenset(sorted(rarities, key=lambda own: (-rarities[own], own))[:MOST_STEMS])
    return {own: weight for own, weight in rarities.items() if own in rarest}


def _words(text: str) -> dict[str, tuple[str, ...]]:
    content = [token for token in tokens(text) if token not in STOP_WORDS]
    telling = [token for token in content if token not in GENERIC_WORDS and stem(token) not in GENERIC_WORDS]
    forms: dict[str, list[str]] = {}
    for token in telling or content or tokens(text):
        forms.setdefault(stem(token), []).append(token)
    return {own: tuple(dict.fromkeys((*found, *MEMBERS.get(own, ())))) for own, found in forms.items()}


def _names(text: str, weights: dict[str, float]) -> list[SoughtName]:
    found = ((name, tuple(own for own in dict.fromkeys(stems(name)) if own in weights)) for name in names(text))
    return [SoughtName(stem_run(name), own) for name, own in found if len(own) > 1]

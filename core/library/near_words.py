"""Finds replacements for a word that an index lacks: words with similar spelling, or parts of a compound."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher, get_close_matches
from itertools import chain
from string import ascii_lowercase

from ..evidence.text.stems import TAG, index_term
from ..evidence.text.words import STOP_WORDS

_FEWEST_LETTERS = 5
"""Minimum letters of a word to correct, and of a part of a compound."""
_FEWEST_OF_COMPOUND = 8
_BEFORE_END, _BEHIND_BEGINNING = 3, 5
"""Minimum letters before a known end, and after a known beginning of a compound, whose end carries its meaning."""
LIKE = 0.8
"""Minimum similarity of the stems of a word and a correction."""
_LIKE_AS_WRITTEN = 0.85
"""Minimum similarity of the words themselves; "change" and "charge" are just below it."""
_FURTHEST = 2
"""Maximum difference in length."""
_SURE = 3
"""Number of first letters that must be right if more than one other letter is wrong, which keeps the search small."""
_MOST_NEAR = 8
"""Maximum words per language (those with the most similar stems) to compare as written."""
MOST_MEANT = 3
"""Maximum number of equally similar words to search for."""

WORD = re.compile(rf"[^\W\d_]{{{_FEWEST_LETTERS},}}")
"""A word that may be corrected."""
_LIKE = "SELECT term FROM vocabulary WHERE term >= ? AND term < ? AND length (term) BETWEEN ? AND ?"
_KNOWN = "SELECT term FROM json_each (?) CROSS JOIN vocabulary ON vocabulary.term = json_each.value"
_LAST = "\U0010ffff"


def misspelt(connection: sqlite3.Connection, word: str, languages: Sequence[str]) -> list[str]:
    """Return the index terms most similar to this word's, for each language."""
    return [near for language in languages for near in _alike(connection, index_term(word, language))]


def parts(connection: sqlite3.Connection, word: str, languages: Sequence[str]) -> list[str]:
    """Return the longest beginning and then the longest end of a compound that the index contains as words."""
    if len(word) < _FEWEST_OF_COMPOUND:
        return []
    longest = len(word) - _BEHIND_BEGINNING, len(word) - _BEFORE_END
    lengths = [range(length, _FEWEST_LETTERS - 1, -1) for length in longest]
    beginnings, ends = [word[:length] for length in lengths[0]], [word[-length:] for length in lengths[1]]
    terms = {piece: [index_term(piece, code) for code in languages] for piece in (*beginnings, *ends)}
    known = known_terms(connection, chain.from_iterable(terms.values()))
    words = {piece for piece in terms if piece not in STOP_WORDS and not known.isdisjoint(terms[piece])}
    return [*[piece for piece in beginnings if piece in words][:1], *[piece for piece in ends if piece in words][:1]]


def written(text: str, language: str, term: str) -> str:
    """Return the first word of a text whose index term in this language is `term`, as written."""
    return next((word for word in WORD.findall(text) if index_term(word.casefold(), language) == term), "")


def _alike(connection: sqlite3.Connection, term: str) -> list[str]:
    """Return similar terms of the same language."""
    tag, separator, stem = term.rpartition(TAG)
    tag += separator
    begins, length = f"{tag}{stem[:_SURE]}", len(term)
    near = connection.execute(_LIKE, (begins, begins + _LAST, length - _FURTHEST, length + _FURTHEST))
    found = {*(found for (found,) in near), *known_terms(connection, (tag + other for other in _variants(stem)))}
    stems = [other[len(tag) :] for other in found]
    return [tag + other for other in get_close_matches(stem, stems, _MOST_NEAR, LIKE)]


def _variants(stem: str) -> Iterator[str]:
    """Yield the corrections of one wrong letter among the first `_SURE` letters, but not the very first."""
    for index in range(1, min(_SURE, len(stem))):
        before, letter, after = stem[:index], stem[index], stem[index + 1 :]
        yield before + after
        yield before + after[:1] + letter + after[1:]
        for other in ascii_lowercase:
            yield before + other + after
            yield before + other + letter + after


def spelt_most_like(word: str, candidates: Iterable[str]) -> list[str]:
    """Return the candidates most similar to a word, if similar enough."""
    likeness = {other: SequenceMatcher(None, word, other.casefold()).ratio() for other in candidates}
    best = max(likeness.values(), default=0.0)
    return [other for other in likeness if likeness[other] == best >= _LIKE_AS_WRITTEN]


def known_terms(connection: sqlite3.Connection, terms: Iterable[str]) -> frozenset[str]:
    """Return the terms that the index contains."""
    return frozenset(term for (term,) in connection.execute(_KNOWN, (json.dumps([*dict.fromkeys(terms)]),)))

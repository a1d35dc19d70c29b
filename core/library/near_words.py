"""Words of an index near one that it does not hold: spelt alike, or parts of a compound."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher, get_close_matches
from string import ascii_lowercase

from ..evidence.text.stems import TAG, index_term
from ..evidence.text.words import STOP_WORDS

FEWEST_LETTERS = 5
"""Letters of a word that may be misspelt, and of a part of a compound."""
FEWEST_OF_COMPOUND = 8
BEFORE_END, BEHIND_BEGINNING = 3, 5
"""Letters of a compound beside the end or the beginning that is found: what it is stands at the end."""
LIKE = 0.8
"""Likeness of their stems from which on two words may be one of them misspelt."""
LIKE_AS_WRITTEN = 0.85
"""The same of the words: "change" and "charge" are two words, and just as like."""
FURTHEST = 2
"""Letters by which their lengths may differ."""
SURE = 3
"""Letters at the beginning that are right where more than one of the others may be wrong: few words begin with them."""
MOST_NEAR = 8
"""Words of each language that are looked at as they are written, those with the likest stems."""
MOST_MEANT = 3
"""Words that are equally like one, of which all may be meant."""

WORD = re.compile(rf"[^\W\d_]{{{FEWEST_LETTERS},}}")
"""A word that may be misspelt."""
_LIKE = "SELECT term FROM vocabulary WHERE term >= ? AND term < ? AND length (term) BETWEEN ? AND ?"
_KNOWN = "SELECT term FROM json_each (?) CROSS JOIN vocabulary ON vocabulary.term = json_each.value"
_LAST = "\U0010ffff"


def misspelt(connection: sqlite3.Connection, word: str, languages: Sequence[str]) -> list[str]:
    """Return the terms of an index that are spelt most like what this word would be indexed by, in each language."""
    return [near for language in languages for near in _alike(connection, index_term(word, language))]


def parts(connection: sqlite3.Connection, word: str, languages: Sequence[str]) -> list[str]:
    """Return the longest beginning and the longest end of a compound that an index holds as words, in their order."""
    if len(word) < FEWEST_OF_COMPOUND:
        return []
    longest = len(word) - BEHIND_BEGINNING, len(word) - BEFORE_END
    beginnings, ends = (range(length, FEWEST_LETTERS - 1, -1) for length in longest)
    pieces = [[word[:length] for length in beginnings], [word[-length:] for length in ends]]
    terms = {piece: [index_term(piece, one) for one in languages] for piece in (*pieces[0], *pieces[1])}
    known = known_terms(connection, (term for ones in terms.values() for term in ones))
    held = ((one for one in ones if one not in STOP_WORDS and not known.isdisjoint(terms[one])) for ones in pieces)
    return [piece for ones in held for piece in [*ones][:1]]


def written(text: str, language: str, term: str) -> str:
    """Return the word of a text in this language that is indexed by this term, as it is written there."""
    return next((word for word in WORD.findall(text) if index_term(word.casefold(), language) == term), "")


def _alike(connection: sqlite3.Connection, term: str) -> list[str]:
    """Return the terms of the same language that are like this one."""
    tag, separator, stem = term.rpartition(TAG)
    tag += separator
    begins, length = f"{tag}{stem[:SURE]}", len(term)
    near = connection.execute(_LIKE, (begins, begins + _LAST, length - FURTHEST, length + FURTHEST))
    found = {*(found for (found,) in near), *known_terms(connection, (tag + other for other in _variants(stem)))}
    return [tag + one for one in get_close_matches(stem, [one[len(tag) :] for one in found], MOST_NEAR, LIKE)]


def _variants(stem: str) -> Iterator[str]:
    """Return the ways to mend one letter behind the first one, where a letter may be wrong."""
    for place in range(1, min(SURE, len(stem))):
        before, letter, behind = stem[:place], stem[place], stem[place + 1 :]
        yield before + behind
        yield before + behind[:1] + letter + behind[1:]
        for other in ascii_lowercase:
            yield before + other + behind
            yield before + other + letter + behind


def spelt_most_like(word: str, names: Iterable[str]) -> list[str]:
    """Return those of these words that are most like another one, if they are like it at all."""
    likeness = {name: SequenceMatcher(None, word, name.casefold()).ratio() for name in names}
    best = max(likeness.values(), default=0.0)
    return [name for name in likeness if likeness[name] == best >= LIKE_AS_WRITTEN]


def known_terms(connection: sqlite3.Connection, terms: Iterable[str]) -> frozenset[str]:
    """Return those of these terms that the index holds."""
    return frozenset(term for (term,) in connection.execute(_KNOWN, (json.dumps([*dict.fromkeys(terms)]),)))

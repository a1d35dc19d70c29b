"""Words of an index near one that it does not hold, and the passages that are worth comparing for a question."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import accumulate
from math import prod
from string import ascii_lowercase
from typing import NamedTuple, Protocol

from ..evidence.language import IN_QUESTION, common_words, language_by_words
from ..evidence.text.stems import TAG, index_term, sought_words, words_of
from ..evidence.text.words import FUNCTION_WORDS, GENERIC_WORDS, STOP_WORDS

LONGEST_TITLE = 10
"""Words of a title that a question may mention: longer runs cost look-ups and hardly ever are one."""
_ASKING = frozenset({"find", "following", "give", "here", "list", "many", "much", "name", "one", "tell"})
_CONTRACTED = frozenset({"d", "ll", "m", "re", "ve"})
_STOP_WORDS = FUNCTION_WORDS["en"] | _ASKING | _CONTRACTED
"""What an English question is worded with, and what contractions leave behind."""


def terms_of(question: str) -> list[str]:
    """Return the different words of a question that are worth searching for; all of them if none is."""
    words = sought_words(question)
    stop_words = _STOP_WORDS | common_words().get(language_by_words(words, IN_QUESTION), frozenset())
    terms = list(dict.fromkeys(words))
    return [word for word in terms if word not in stop_words] or terms


def mentions(question: str) -> list[str]:
    """Return every run of words in a question that might be a title, as `title_key` would write it."""
    words = words_of(question)
    runs = (words[start:end] for start in range(len(words)) for end in range(start + 1, start + LONGEST_TITLE + 1))
    return list(dict.fromkeys(" ".join(run) for run in runs if not _STOP_WORDS.issuperset(run)))


MOST = 3_000
"""Passages that one search compares; each takes some microseconds, and a question makes many searches."""
TOGETHER = 3
"""Common words that are sought together, at most: to look for one takes the longer the more passages hold it."""


class _Word(NamedTuple):
    passages: int
    """How many hold it."""
    match: str
    """What it is indexed by, as a search of FTS5."""


def narrowed(words: Sequence[Mapping[str, int]], total: int, most: int) -> list[str]:
    """Return the searches, for FTS5, that find the passages for these words; none if no passage holds any of them.

    `words`: for each, the terms that it is indexed by, and how many of all passages hold them. If those that hold
    any word are more than `most`, the search asks for one of the rare words, or for the rarest of the others together.
    """
    known = sorted(_Word(sum(counts.values()), _any(map(quoted, counts))) for counts in words if counts)
    if total <= most:
        return [_any(word.match for word in known)] if known else []
    rare = sum(so_far <= most for so_far in accumulate(word.passages for word in known))
    searches = [_any(word.match for word in known[:rare]), _all(_rare_together(known[rare:], total, most))]
    return list(filter(None, searches))


def _rare_together(words: Sequence[_Word], total: int, most: int) -> Sequence[_Word]:
    """Return the fewest words that would rarely stand together if they were independent of each other."""
    for number in range(1, min(TOGETHER, len(words))):
        if total * prod(word.passages / total for word in words[:number]) <= most:
            return words[:number]
    return words[:TOGETHER]


def _any(matches: Iterable[str]) -> str:
    return " OR ".join(matches)


def _all(words: Iterable[_Word]) -> str:
    return " AND ".join(f"({word.match})" for word in words)


def quoted(stem: str) -> str:
    """Return the search for passages that hold this text, whatever characters are in it."""
    return '"' + stem.replace('"', '""') + '"'


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
"""Words that are looked at as they are written, those with the likest stems."""
MOST_MEANT = 3
"""Words that are equally like one, of which all may be meant."""
MOST_UNKNOWN = 3
"""Unknown words of a question: more of them are of another language than the documents, or a pasted text."""

_WORD = re.compile(rf"[^\W\d_]{{{FEWEST_LETTERS},}}")
_LIKE = "SELECT term FROM vocabulary WHERE term >= ? AND term < ? AND length (term) BETWEEN ? AND ?"
_KNOWN = "SELECT term FROM json_each (?) CROSS JOIN vocabulary ON vocabulary.term = json_each.value"
_LAST = "\U0010ffff"


class Near(NamedTuple):
    """A word that may be meant by another one."""

    likeness: float
    term: str
    """What it is indexed by."""


class _Shelf(Protocol):
    def counted(self, words: Sequence[str]) -> int:
        """Tell in how many passages these words stand."""

    def near(self, word: str) -> list[str]:
        """Find the words of the documents that are near this one."""


def with_near_words(query: str, shelf: _Shelf) -> str:
    """Return the query with near words of the documents in place of those that stand in none."""
    sought = frozenset(terms_of(query)) - GENERIC_WORDS
    words = (word for word in dict.fromkeys(_WORD.findall(query)) if word.casefold() in sought)
    unknown = [word for word in words if not shelf.counted([word.casefold()])]
    if not 0 < len(unknown) <= MOST_UNKNOWN:
        return query
    near = {word: " ".join(shelf.near(word.casefold())) for word in unknown}
    return _WORD.sub(lambda found: near.get(found[0]) or found[0], query)


def misspelt(connection: sqlite3.Connection, word: str, languages: Iterable[str]) -> list[Near]:
    """Return the words of an index whose stems are spelt most like this one's, in any of the languages, best first."""
    found = [near for language in languages for near in _alike(connection, index_term(word, language))]
    return sorted(found, key=lambda near: (-near.likeness, near.term))[:MOST_NEAR]


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
    return next((word for word in _WORD.findall(text) if index_term(word.casefold(), language) == term), "")


def _alike(connection: sqlite3.Connection, term: str) -> Iterator[Near]:
    """Return the terms of the same language that are like this one."""
    tag, _, stem = term.rpartition(TAG)
    tag = f"{tag}{TAG}" if tag else ""
    begins, length = f"{tag}{stem[:SURE]}", len(term)
    near = connection.execute(_LIKE, (begins, begins + _LAST, length - FURTHEST, length + FURTHEST))
    for one in {*(found for (found,) in near), *known_terms(connection, (tag + other for other in _variants(stem)))}:
        likeness = likeness_of(stem, one.removeprefix(tag), LIKE)
        if likeness:
            yield Near(likeness, one)


def _variants(stem: str) -> Iterator[str]:
    """Return the ways to mend one letter behind the first one, where a letter may be wrong."""
    for place in range(1, min(SURE, len(stem))):
        before, letter, behind = stem[:place], stem[place], stem[place + 1 :]
        yield before + behind
        yield before + behind[:1] + letter + behind[1:]
        for other in ascii_lowercase:
            yield before + other + behind
            yield before + other + letter + behind


def likeness_of(one: str, other: str, least: float) -> float:
    """Return how much two words are spelt alike, from 0 to 1; 0 if that is too little to count."""
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    bounds: tuple[Callable[[], float], ...] = (matcher.real_quick_ratio, matcher.quick_ratio, matcher.ratio)
    return matcher.ratio() if all(bound() >= least for bound in bounds) else 0.0


def known_terms(connection: sqlite3.Connection, terms: Iterable[str]) -> frozenset[str]:
    """Return those of these terms that the index holds."""
    return frozenset(term for (term,) in connection.execute(_KNOWN, (json.dumps([*dict.fromkeys(terms)]),)))

"""The search of one index: from the words of a question to queries of FTS5, and from these to passages."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, chain
from math import prod
from typing import NamedTuple

from ..evidence.text.similarity import spread
from ..evidence.text.stems import forms_of, index_term, sought_words
from ..records.sources import DateKind
from .index_file import PLACES, POSITION_BITS
from .near_words import known_terms, misspelt, parts, written

MOST = 3_000
"""Passages that one search compares; each takes some microseconds, and a question makes many searches."""
TOGETHER = 3
"""Common words that are sought together, at most: to look for one takes the longer the more passages hold it."""
_HOLDER = "SELECT rowid FROM passages WHERE passages MATCH ? LIMIT 1"
_COUNT = "SELECT count (*) FROM (SELECT 1 FROM passages WHERE passages MATCH ? LIMIT ?)"
_RANKED = """
SELECT id FROM (
    SELECT rowid AS id, bm25 (passages, 4.0, 2.0, 1.0) AS score FROM passages WHERE passages MATCH ? LIMIT ?
) ORDER BY score, id LIMIT ?
"""
OF_TEXT = 3
"""Passages of one document that come before those of others: a long one may hold the words everywhere."""
FOR_SPREADING = 10
"""Times as many passages as are wanted among which those of other documents are looked for."""
_KNOWN_TITLES = """
SELECT value FROM json_each (?) WHERE EXISTS (SELECT 1 FROM documents WHERE title_key = value)
"""
_TITLED = f"""
SELECT texts.id << {POSITION_BITS} FROM documents JOIN texts ON texts.content_hash = documents.content_hash
JOIN spans ON spans.text = texts.id
WHERE documents.title_key = ? AND spans.position = 0 ORDER BY documents.path LIMIT ?
"""  # noqa: S608
_PASSAGE = f"""
SELECT documents.path, spans.start, spans.heading, documents.title, documents.date, documents.date_kind,
    documents.period, documents.publisher, documents.is_draft,
    documents.superseded_by, documents.valid_from, documents.content_hash, documents.is_cut, texts.language,
    substr (spans.piece, 1, spans.stop - spans.start)
FROM spans JOIN texts ON texts.id = spans.text JOIN documents ON documents.id = (
    SELECT id FROM documents AS holder WHERE holder.content_hash = texts.content_hash
    ORDER BY length (holder.path), holder.path LIMIT 1
) WHERE spans.text = ?1 >> {POSITION_BITS} AND spans.position = ?1 & {PLACES}
"""  # noqa: S608


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


class IndexedPassage(NamedTuple):
    """A passage as the index stores it, with the facts on its document."""

    path: str
    start: int
    """Offset of the passage in the document's text."""
    heading: str
    title: str
    date: str
    date_kind: DateKind
    period: str
    publisher: str
    is_draft: int
    superseded_by: str
    valid_from: str
    content_hash: str
    is_cut: int
    """Whether (1) the document is longer than what was read of it, or not (0)."""
    language: str
    """By whose rules its words are stemmed (ISO 639-1); empty if by those of English."""
    text: str


class IndexReader:
    """The passages of one index, by their numbers in it, as long as it is open."""

    def __init__(self, connection: sqlite3.Connection, counts: dict[tuple[int, str], int], most: int) -> None:
        """One search compares `most` passages. To count a common word takes long, so `counts` keeps the numbers."""
        self._most = most
        self._connection = connection
        self._kept = counts
        self.size, self._state = connection.execute("SELECT passages, state FROM totals").fetchone()

    @cached_property
    def _languages(self) -> list[str]:
        """The languages of the documents whose words have a stemmer of their own, behind the empty one."""
        step = "SELECT min (language) FROM texts WHERE language > ?"
        found = [""]
        # Step by step through the index, where DISTINCT would look at every row.
        while language := self._connection.execute(step, found[-1:]).fetchone()[0]:
            found.append(language)
        return found

    def counts(self, words: Sequence[str]) -> list[dict[str, int]]:
        """Return for each word what it is indexed by, and how many passages hold that."""
        forms = forms_of(words, self._languages)
        return [{form: count for form in of_word if (count := self._count(form))} for of_word in forms]

    def held(self, words: Sequence[str]) -> list[str]:
        """Return those of these words that stand in any passage."""
        forms = dict(zip(words, forms_of(words, self._languages), strict=True))
        known = known_terms(self._connection, chain(*forms.values()))
        return [word for word, of_word in forms.items() if not known.isdisjoint(of_word)]

    def best(self, words: Sequence[str], limit: int) -> list[int]:
        """Return the passages that match these words best, best first; a few of each document, then the others."""
        searches = narrowed(self.counts(words), self.size, self._most)
        found = (self._ranked(match, limit * FOR_SPREADING) for match in searches)
        rows = spread(chain.from_iterable(found), lambda row: row >> POSITION_BITS, OF_TEXT)
        return list(dict.fromkeys(rows))[:limit]

    def misspelt(self, word: str) -> list[str]:
        """Return the words that are spelt most like this one, as passages have them."""
        return [self._written(term) for term in misspelt(self._connection, word, self._languages)]

    def parts(self, word: str) -> list[str]:
        """Return the beginning and the end of a compound, if passages hold them as words."""
        return parts(self._connection, word, self._languages)

    def titled(self, titles: Sequence[str], limit: int) -> list[int]:
        """Return the first passages of documents with one of these titles, as `title_key` writes them."""
        known = self._connection.execute(_KNOWN_TITLES, (json.dumps(titles),)).fetchall()
        return [row for (title,) in known for (row,) in self._connection.execute(_TITLED, (title, limit))]

    def holders(self, name: str, bound: int) -> int:
        """Return how many passages hold the words of a name in a row, up to a bound."""
        match = self._run(name)
        return int(self._connection.execute(_COUNT, (match, bound)).fetchone()[0]) if match else 0

    def holding(self, name: str, limit: int, words: Sequence[str] = (), *, in_title: bool = False) -> list[int]:
        """Return the passages that hold a name, best first: in the title, or together with one of these words."""
        match = self._run(name)
        if not match:
            return []
        among = f" AND ({_any(map(quoted, chain(*forms_of(words, self._languages))))})" if words else ""
        return self._ranked(f"{'title : ' if in_title else ''}{match}{among}", limit)

    def passage(self, number: int) -> IndexedPassage:
        """Return the passage of this number."""
        return IndexedPassage(*self._connection.execute(_PASSAGE, (number,)).fetchone())

    def _written(self, term: str) -> str:
        (number,) = self._connection.execute(_HOLDER, (quoted(term),)).fetchone()
        found = self.passage(number)
        return written(f"{found.text} {found.heading} {found.title}", found.language, term)

    def _ranked(self, match: str, limit: int) -> list[int]:
        """Return the passages that a search of FTS5 finds, best first; it compares the first ones by number."""
        return [row for (row,) in self._connection.execute(_RANKED, (match, self._most, limit))]

    def _count(self, term: str) -> int:
        # Another state of the index has other numbers.
        key = self._state, term
        if key not in self._kept:
            self._kept[key] = self._connection.execute(_COUNT, (quoted(term), -1)).fetchone()[0]
        return self._kept[key]

    def _run(self, name: str) -> str:
        """Return the search for the words of a name in a row, in any of the languages."""
        words = sought_words(name)
        if not words:
            return ""
        runs = (" ".join(index_term(word, code) for word in words) for code in self._languages)
        return f"({' OR '.join(map(quoted, dict.fromkeys(runs)))})"

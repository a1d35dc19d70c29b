"""Searches one index: turns the words of a question into FTS5 queries, and reads the passages found."""

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
from .index_file import POSITION_BITS, POSITION_MASK
from .near_words import known_terms, misspelt, parts, written

MOST = 3_000
"""Number of passages that a search compares; each takes microseconds, and a question makes many searches."""
_TOGETHER = 3
"""Maximum common words per search, since looking up a word takes longer the more passages contain it."""
_HOLDER = "SELECT rowid FROM passages WHERE passages MATCH ? LIMIT 1"
_COUNT = "SELECT count (*) FROM (SELECT 1 FROM passages WHERE passages MATCH ? LIMIT ?)"
_RANKED = """
SELECT id FROM (
    SELECT rowid AS id, bm25 (passages, 4.0, 2.0, 1.0) AS score FROM passages WHERE passages MATCH ? LIMIT ?
) ORDER BY score, id LIMIT ?
"""
OF_TEXT = 3
"""Maximum passages of one document to rank before other documents', since a long one may match everywhere."""
_FOR_SPREADING = 10
"""How many times more passages are read than wanted, to find those of other documents."""
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
) WHERE spans.text = ?1 >> {POSITION_BITS} AND spans.position = ?1 & {POSITION_MASK}
"""  # noqa: S608


class _Word(NamedTuple):
    passages: int
    """Number of passages that contain the word."""
    match: str
    """FTS5 query for its terms."""


def narrowed(words: Sequence[Mapping[str, int]], total: int, most: int) -> list[str]:
    """Return FTS5 queries that find passages with these words; an empty list if no passage contains any of them.

    `words`: for each word its index terms, with the number of passages that contain each. If there are more than `most`
    passages, one query matches any rare word, and another matches all of the rarest common words at once.
    """
    known = sorted(_Word(sum(counts.values()), _any(counts)) for counts in words if counts)
    if total <= most:
        return [" OR ".join(word.match for word in known)] if known else []
    rare = sum(so_far <= most for so_far in accumulate(word.passages for word in known))
    common = _rare_together(known[rare:], total, most)
    searches = [" OR ".join(word.match for word in known[:rare]), " AND ".join(f"({word.match})" for word in common)]
    return list(filter(None, searches))


def _rare_together(words: Sequence[_Word], total: int, most: int) -> Sequence[_Word]:
    """Return the fewest words that would rarely occur together if they were statistically independent."""
    for number in range(1, min(_TOGETHER, len(words))):
        if total * prod(word.passages / total for word in words[:number]) <= most:
            return words[:number]
    return words[:_TOGETHER]


def _any(terms: Iterable[str]) -> str:
    return " OR ".join(map(_quoted, terms))


def _quoted(term: str) -> str:
    """Quote a text of any characters as an FTS5 query."""
    return '"' + term.replace('"', '""') + '"'


class IndexedPassage(NamedTuple):
    """A passage in the index, with data on its document."""

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
    """1 if only part of the document was read, else 0."""
    language: str
    """Language used for stemming it (ISO 639-1); empty for English."""
    text: str


class IndexReader:
    """Passages of an open index, by number."""

    def __init__(self, connection: sqlite3.Connection, counts: dict[tuple[int, str], int], most: int) -> None:
        """`most`: number of passages that a search compares; `counts`: cache, since counting a common word is slow."""
        self._most = most
        self._connection = connection
        self._cached_counts = counts
        self.size, self._state = connection.execute("SELECT passages, state FROM totals").fetchone()

    @cached_property
    def _languages(self) -> list[str]:
        """Codes of the texts' languages that have their own stemmers, after the empty code for all others."""
        step = "SELECT min (language) FROM texts WHERE language > ?"
        found = [""]
        # Skip through the index, since DISTINCT would read every row.
        while language := self._connection.execute(step, found[-1:]).fetchone()[0]:
            found.append(language)
        return found

    def counts(self, words: Sequence[str]) -> list[dict[str, int]]:
        """Return for each word its index terms with the number of passages that contain each."""
        forms = forms_of(words, self._languages)
        return [{form: count for form in of_word if (count := self._count(form))} for of_word in forms]

    def known(self, words: Sequence[str]) -> list[str]:
        """Return the words that occur in any passage."""
        forms = dict(zip(words, forms_of(words, self._languages), strict=True))
        known = known_terms(self._connection, chain(*forms.values()))
        return [word for word, of_word in forms.items() if not known.isdisjoint(of_word)]

    def best(self, words: Sequence[str], limit: int) -> list[int]:
        """Return the passages that match these words best, best first; a few per document, then the others."""
        searches = narrowed(self.counts(words), self.size, self._most)
        found = (self._ranked(match, limit * _FOR_SPREADING) for match in searches)
        rows = spread(chain.from_iterable(found), lambda row: row >> POSITION_BITS, OF_TEXT)
        return list(dict.fromkeys(rows))[:limit]

    def misspelt(self, word: str) -> list[str]:
        """Return the words with the most similar spelling, as written in passages."""
        return [self._written(term) for term in misspelt(self._connection, word, self._languages)]

    def parts(self, word: str) -> list[str]:
        """Return the beginning and the end of a compound, each if passages contain it as a word."""
        return parts(self._connection, word, self._languages)

    def titled(self, titles: Sequence[str], limit: int) -> list[int]:
        """Return the first passages of documents with one of these titles, normalised like `title_key`."""
        known = self._connection.execute(_KNOWN_TITLES, (json.dumps(titles),)).fetchall()
        return [row for (title,) in known for (row,) in self._connection.execute(_TITLED, (title, limit))]

    def name_count(self, name: str, bound: int) -> int:
        """Return the number of passages that contain the words of a name in a row, counting up to `bound`."""
        match = self._run(name)
        return int(self._connection.execute(_COUNT, (match, bound)).fetchone()[0]) if match else 0

    def with_name(self, name: str, limit: int, words: Sequence[str] = (), *, in_title: bool = False) -> list[int]:
        """Return the passages with a name, best first; optionally only in titles, or only with any of these words."""
        match = self._run(name)
        if not match:
            return []
        among = f" AND ({_any(chain(*forms_of(words, self._languages)))})" if words else ""
        return self._ranked(f"{'title : ' if in_title else ''}{match}{among}", limit)

    def passage(self, number: int) -> IndexedPassage:
        """Return the passage with this number."""
        return IndexedPassage(*self._connection.execute(_PASSAGE, (number,)).fetchone())

    def _written(self, term: str) -> str:
        (number,) = self._connection.execute(_HOLDER, (_quoted(term),)).fetchone()
        found = self.passage(number)
        return written(f"{found.text} {found.heading} {found.title}", found.language, term)

    def _ranked(self, match: str, limit: int) -> list[int]:
        """Return the passages that match an FTS5 query, best first; only those with the lowest numbers are compared."""
        return [row for (row,) in self._connection.execute(_RANKED, (match, self._most, limit))]

    def _count(self, term: str) -> int:
        # Counts are only valid for one state of the index.
        key = self._state, term
        if key not in self._cached_counts:
            self._cached_counts[key] = self._connection.execute(_COUNT, (_quoted(term), -1)).fetchone()[0]
        return self._cached_counts[key]

    def _run(self, name: str) -> str:
        """Return an FTS5 query for the words of a name in a row, in any of the languages."""
        words = sought_words(name)
        if not words:
            return ""
        runs = (" ".join(index_term(word, code) for word in words) for code in self._languages)
        return f"({_any(dict.fromkeys(runs))})"

"""The search of one index: from the words of a question to queries of FTS5, and from these to passages."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from math import prod
from typing import NamedTuple

from ..evidence.text.stems import forms_of, index_term, sought_words
from .index_file import PLACES, POSITION_BITS
from .near_words import LIKE_AS_WRITTEN, known_terms, likeness_of, misspelt, parts, written

MOST = 3_000
"""Passages that one search compares; each takes some microseconds, and a question makes many searches."""
TOGETHER = 3
"""Common words that are sought together, at most: to look for one takes the longer the more passages hold it."""
_HOLDER = "SELECT rowid FROM passages WHERE passages MATCH ? LIMIT 1"
_COUNT = "SELECT count (*) FROM (SELECT 1 FROM passages WHERE passages MATCH ? LIMIT ?)"
_SCORED = """
WITH scored AS (
    SELECT rowid AS id, bm25 (passages, 4.0, 2.0, 1.0) AS score FROM passages WHERE passages MATCH :match LIMIT :most
)"""
_BEHIND = 1e6
"""What is added to the score of a passage, which is negative and the smaller the better, to put it behind others."""
_SPREAD = f""", placed AS MATERIALIZED (
    SELECT id, score + {_BEHIND} * (row_number () OVER (PARTITION BY id >> {POSITION_BITS} ORDER BY score, id) > :each)
        AS score
    FROM scored
)"""  # noqa: S608
# Looking up the texts of all that was scored would take ten times as long as scoring it.
_BEST = """
SELECT {from_}.id FROM {from_} JOIN texts ON texts.id = {from_}.id >> {bits}
WHERE score <= (SELECT max (score) FROM (SELECT score FROM {from_} ORDER BY score LIMIT :limit))
ORDER BY score, texts.content_hash, {from_}.id & {places} LIMIT :limit
"""
_RANKED = _SCORED + _BEST.format(from_="scored", bits=POSITION_BITS, places=PLACES)
_RANKED_SPREAD = _SCORED + _SPREAD + _BEST.format(from_="placed", bits=POSITION_BITS, places=PLACES)
OF_TEXT = 3
"""Passages of one document that come before those of others: a long one may hold the words everywhere."""
_KNOWN_TITLES = """
SELECT value FROM json_each (?) WHERE EXISTS (SELECT 1 FROM documents WHERE title_key = value)
"""
TITLED = f"""
SELECT texts.id << {POSITION_BITS} FROM documents JOIN texts ON texts.content_hash = documents.content_hash
JOIN spans ON spans.text = texts.id
WHERE documents.title_key = ? AND spans.position = 0 ORDER BY documents.path LIMIT ?
"""  # noqa: S608
_PASSAGES = f"""
SELECT documents.path, spans.start, spans.heading, documents.title, documents.date, documents.is_draft,
    documents.superseded_by, documents.valid_from, documents.content_hash, documents.is_cut, texts.language,
    substr (spans.piece, 1, spans.stop - spans.start)
FROM json_each (?) AS wanted JOIN texts ON texts.id = wanted.value >> {POSITION_BITS}
JOIN spans ON spans.text = texts.id AND spans.position = wanted.value & {PLACES} JOIN documents ON documents.id = (
    SELECT id FROM documents AS holder WHERE holder.content_hash = texts.content_hash
    ORDER BY length (holder.path), holder.path LIMIT 1
)
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


class IndexReader:
    """The passages of one index, by their numbers in it, as long as it is open."""

    def __init__(self, connection: sqlite3.Connection, counter: Counter, most: int) -> None:
        """`most` passages are compared by one search."""
        self._most = most
        self._connection = connection
        self._counter = counter
        self.size, self._state = connection.execute("SELECT passages, state FROM totals").fetchone()

    @cached_property
    def _languages(self) -> list[str]:
        return languages(self._connection)

    def counted(self, words: Sequence[str]) -> int:
        """Return in how many passages these words stand, as a sum over all that they are indexed by."""
        forms = list(dict.fromkeys(form for of_word in forms_of(words, self._languages) for form in of_word))
        return sum(self._counter.count(self._connection, self._state, forms).values())

    def held(self, words: Sequence[str]) -> list[str]:
        """Return those of these words that stand in any passage."""
        forms = dict(zip(words, forms_of(words, self._languages), strict=True))
        known = known_terms(self._connection, (form for of_word in forms.values() for form in of_word))
        return [word for word, of_word in forms.items() if not known.isdisjoint(of_word)]

    def best(self, words: Sequence[str], limit: int) -> list[int]:
        """Return the passages that match these words best, best first."""
        searches = narrowed(self._counts(words), self.size, self._most)
        found = (self._ranked(match, limit) for match in searches)
        return list(dict.fromkeys(row for rows in found for row in rows))[:limit]

    def misspelt(self, word: str) -> list[tuple[float, str]]:
        """Return the indexed words that are spelt most like this one, as they are written, and how like they are."""
        found = misspelt(self._connection, word, ["", *self._languages])
        names = dict.fromkeys(self._written(near.term) for near in found)
        alike = ((likeness_of(word, name.casefold(), LIKE_AS_WRITTEN), name) for name in names)
        return [one for one in alike if one[0]]

    def parts(self, word: str) -> list[str]:
        """Return the beginning and the end of a compound, if passages hold them as words."""
        return parts(self._connection, word, ["", *self._languages])

    def titled(self, titles: Sequence[str], limit: int) -> list[int]:
        """Return the first passages of documents with one of these titles, as `title_key` writes them."""
        known = known_titles(self._connection, titles)
        return [row for title in known for (row,) in self._connection.execute(TITLED, (title, limit))]

    def holders(self, name: str, bound: int) -> int:
        """Return how many passages hold the words of a name in a row, up to a bound."""
        match = self._run(name)
        return int(self._connection.execute(_COUNT, (match, bound)).fetchone()[0]) if match else 0

    def holding(self, name: str, limit: int, words: Sequence[str] = (), *, in_title: bool = False) -> list[int]:
        """Return the passages that hold a name, best first: in the title, or together with one of these words."""
        match = self._run(name)
        if not match:
            return []
        among = f" AND ({self._any(words)})" if words else ""
        return self._ranked(f"{'title : ' if in_title else ''}{match}{among}", limit)

    def passage(self, number: int) -> FoundPassage:
        """Return the passage of this number."""
        return passage_of(self._connection, number)

    def _written(self, term: str) -> str:
        (number,) = self._connection.execute(_HOLDER, (quoted(term),)).fetchone()
        found = self.passage(number)
        return written(f"{found.text} {found.heading} {found.title}", found.language, term)

    def _ranked(self, match: str, limit: int) -> list[int]:
        return ranked(self._connection, match, limit, self._most)

    def _counts(self, words: Sequence[str]) -> list[dict[str, int]]:
        forms = forms_of(words, self._languages)
        return [self._counter.count(self._connection, self._state, of_word) for of_word in forms]

    def _any(self, words: Sequence[str]) -> str:
        forms = dict.fromkeys(form for of_word in forms_of(words, self._languages) for form in of_word)
        return " OR ".join(map(quoted, forms))

    def _run(self, name: str) -> str:
        """Return the search for the words of a name in a row, in any of the languages."""
        words = sought_words(name)
        if not words:
            return ""
        runs = (" ".join(index_term(word, code) for word in words) for code in ("", *self._languages))
        return f"({' OR '.join(map(quoted, dict.fromkeys(runs)))})"


class FoundPassage(NamedTuple):
    """A passage that matches a question."""

    path: str
    start: int
    """Offset of the passage in the document's text."""
    heading: str
    title: str
    date: str
    is_draft: int
    superseded_by: str
    valid_from: str
    content_hash: str
    is_cut: int
    """Whether (1) the document is longer than what was read of it, or not (0)."""
    language: str
    """By whose rules its words are stemmed (ISO 639-1); empty if by those of English."""
    text: str


class Found(NamedTuple):
    """What one index holds for a question."""

    total: int
    """Passages in the index."""
    counts: Mapping[str, Mapping[str, int]]
    """For each word of the question: what it is indexed by, and in how many passages."""
    passages: Sequence[FoundPassage]
    """The best ones, and the first ones of documents that the question mentions."""


class Counter:
    """Tells in how many passages a word stands; a common one takes long to count, so the numbers are kept."""

    def __init__(self) -> None:
        self._known: tuple[int, dict[str, int]] = (0, {})

    def count(self, connection: sqlite3.Connection, state: int, stems: Sequence[str]) -> dict[str, int]:
        """Return the numbers of passages for those of these stems that an index of this state holds."""
        if self._known[0] != state:
            self._known = (state, {})
        of_state, counts = self._known
        # Another thread may have seen another state meanwhile.
        known = counts if of_state == state else {}
        for stem in stems:
            if stem not in known:
                known[stem] = _count(connection, stem)
        return {stem: known[stem] for stem in stems if known[stem]}


def passage_of(connection: sqlite3.Connection, number: int) -> FoundPassage:
    """Return the passage of this number."""
    return FoundPassage(*connection.execute(_PASSAGES, (json.dumps([number]),)).fetchone())


def find(
    connection: sqlite3.Connection, counter: Counter, terms: Sequence[str], titles: Iterable[str], limit: int, most: int
) -> Found:
    """Return the passages that match these words best, and the first ones of documents with one of these titles.

    One search compares `most` passages. A text that several documents hold is shown as that of the first, by path,
    whose name is not that of a copy.
    """
    total, state = connection.execute("SELECT passages, state FROM totals").fetchone()
    forms = forms_of(terms, languages(connection))
    counts = [counter.count(connection, state, of_term) for of_term in forms]
    best: set[int] = set()
    for place, match in enumerate(narrowed(counts, total, most)):
        best.update(_spread(connection, match, limit // (place + 1), most))
    for title in known_titles(connection, titles):
        best.update(row for (row,) in connection.execute(TITLED, (title, limit)))
    rows = connection.execute(_PASSAGES, (json.dumps(sorted(best)),))
    return Found(total, dict(zip(terms, counts, strict=True)), sorted(FoundPassage(*row) for row in rows))


def ranked(connection: sqlite3.Connection, match: str, limit: int, most: int) -> list[int]:
    """Return the passages that an FTS5 search finds, best first; at most `most` are compared, the first by number."""
    return [row for (row,) in connection.execute(_RANKED, {"match": match, "most": most, "limit": limit})]


def _spread(connection: sqlite3.Connection, match: str, limit: int, most: int) -> list[int]:
    """Return the same, a few of each document and then the others."""
    asked = {"match": match, "most": most, "each": OF_TEXT, "limit": limit}
    return [row for (row,) in connection.execute(_RANKED_SPREAD, asked)]


def known_titles(connection: sqlite3.Connection, titles: Iterable[str]) -> list[str]:
    """Return those of these titles, as `title_key` writes them, that documents have."""
    return [title for (title,) in connection.execute(_KNOWN_TITLES, (json.dumps(list(titles)),))]


def languages(connection: sqlite3.Connection) -> list[str]:
    """Return the languages of the documents whose words have a stemmer of their own."""
    step = "SELECT min (language) FROM texts WHERE language > ?"
    found = [""]
    # Step by step through the index, where DISTINCT would look at every row.
    while language := connection.execute(step, found[-1:]).fetchone()[0]:
        found.append(language)
    return found[1:]


def _count(connection: sqlite3.Connection, stem: str) -> int:
    found = connection.execute("SELECT count (*) FROM passages WHERE passages MATCH ?", (quoted(stem),))
    count: int = found.fetchone()[0]
    return count

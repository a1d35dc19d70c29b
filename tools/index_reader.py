"""Looks things up in an open index."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import NamedTuple

_BEST = """
SELECT spans.id FROM passages JOIN spans ON spans.id = passages.rowid JOIN documents ON documents.id = spans.document
WHERE passages MATCH ? ORDER BY bm25 (passages, 4.0, 2.0, 1.0), documents.path, spans.position LIMIT ?
"""
_TITLED = """
SELECT spans.id FROM documents JOIN spans ON spans.document = documents.id
WHERE documents.title_key = ? AND spans.position = 0 ORDER BY documents.path LIMIT ?
"""
_AKIN = """
SELECT spans.id FROM passages JOIN spans ON spans.id = passages.rowid JOIN documents ON documents.id = spans.document
WHERE passages MATCH ? AND spans.position = 0 ORDER BY length (documents.title), documents.path LIMIT ?
"""
_PASSAGE = """
SELECT documents.path, spans.start, spans.heading, documents.title, documents.date, documents.content_hash,
    substr (documents.text, spans.start + 1, spans.stop - spans.start)
FROM spans JOIN documents ON documents.id = spans.document WHERE spans.id = ?
"""
_COUNT = "SELECT count(*) FROM (SELECT 1 FROM passages WHERE passages MATCH ? LIMIT ?)"


class FoundPassage(NamedTuple):
    """A passage that matches a question."""

    path: str
    start: int
    """Offset of the passage in the document's text."""
    heading: str
    title: str
    date: str
    content_hash: str
    text: str


class IndexReader:
    """The passages of one index, by their numbers in it."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def size(self) -> int:
        """How many passages there are."""
        (total,) = self._connection.execute("SELECT count(*) FROM spans").fetchone()
        return int(total)

    def best(self, match: str, limit: int) -> list[int]:
        """The passages that an FTS5 query finds, best first."""
        return [row[0] for row in self._connection.execute(_BEST, (match, limit))]

    def titled(self, titles: Sequence[str], limit: int) -> list[int]:
        """The first passages of documents with one of these titles, as `title_key` writes them."""
        rows = (row for title in titles for row in self._connection.execute(_TITLED, (title, limit)))
        return [row[0] for row in rows]

    def akin(self, match: str, limit: int) -> list[int]:
        """The first passages of documents whose titles an FTS5 query finds, those with short titles first."""
        return [row[0] for row in self._connection.execute(_AKIN, (match, limit))]

    def count(self, match: str, bound: int) -> int:
        """How many passages an FTS5 query finds, up to a bound."""
        (count,) = self._connection.execute(_COUNT, (match, bound)).fetchone()
        return int(count)

    def passage(self, number: int) -> FoundPassage:
        """The passage of this number."""
        return FoundPassage(*self._connection.execute(_PASSAGE, (number,)).fetchone())

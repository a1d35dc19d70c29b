"""The vectors of the passages in an index, kept only where passages are also found by meaning."""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from .index_numbers import POSITION_BITS
from .index_search import FoundPassage, passage_of
from .meaning import NUMBERS

BLOCK = 2_048
"""Vectors that are compared at a time: so many fit into a processor's cache."""
LEAST_LIKENESS = 0.2
"""Cosine below which a passage is not near: 94 of 100 passages about something else lie below it."""

# Apart from the rest, so that an index that never needs it is as it was. The rows of a text go with it, whoever deletes
# it; under another title it needs other ones. Vectors of another model need another VERSION of the index.
_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS vectors (text INTEGER PRIMARY KEY, vectors BLOB NOT NULL)",
    """CREATE TRIGGER IF NOT EXISTS vectors_of_gone_texts AFTER DELETE ON texts
    BEGIN DELETE FROM vectors WHERE text = old.id; END""",
    """CREATE TRIGGER IF NOT EXISTS vectors_of_renamed_texts AFTER UPDATE OF title ON texts
    BEGIN DELETE FROM vectors WHERE text = old.id; END""",
)
_LACKING = """
SELECT id, content_hash, title, language FROM texts
WHERE id NOT IN (SELECT text FROM vectors) AND content_hash IN (SELECT value FROM json_each (?)) ORDER BY id
"""
_KEEP = """
INSERT OR REPLACE INTO vectors SELECT id, :vectors FROM texts
WHERE id = :id AND content_hash = :content_hash AND title = :title
"""


class Lacking(NamedTuple):
    """A text without vectors."""

    id: int
    content_hash: str
    title: str
    passages: Sequence[str]
    """What vectors are made of: none for a text in a language that the model does not know."""


class Near(NamedTuple):
    """A passage that means much the same as a question."""

    likeness: float
    """The cosine between the two."""
    passage: FoundPassage


class _Place(NamedTuple):
    likeness: float
    text: int
    position: int


def lacking_hashes(connection: sqlite3.Connection) -> list[str]:
    """The hashes of all texts without vectors."""
    among = " WHERE id NOT IN (SELECT text FROM vectors)" if _has_vectors(connection) else ""
    return [row[0] for row in connection.execute(f"SELECT content_hash FROM texts{among} ORDER BY id")]  # noqa: S608


def lacking(connection: sqlite3.Connection, hashes: Iterable[str]) -> list[Lacking]:
    """Those of these texts that have no vectors; prepares the index for them."""
    for statement in _SCHEMA:
        connection.execute(statement)
    rows = connection.execute(_LACKING, (json.dumps(list(hashes)),)).fetchall()
    return [
        Lacking(row, content_hash, title, [] if language else _passages(connection, row, title))
        for row, content_hash, title, language in rows
    ]


def keep(connection: sqlite3.Connection, texts: Sequence[Lacking], vectors: Iterable[bytes]) -> None:
    """Keep the vectors of these texts, one a passage, unless a text has changed in the meantime."""
    following = iter(vectors)
    rows = [(one, b"".join(islice(following, len(one.passages)))) for one in texts]
    connection.executemany(
        _KEEP,
        [
            {"id": one.id, "content_hash": one.content_hash, "title": one.title, "vectors": joined}
            for one, joined in rows
        ],
    )


def nearest(connection: sqlite3.Connection, vector: bytes, limit: int) -> list[Near]:
    """The passages whose vectors point most the same way, nearest first."""
    if not _has_vectors(connection):
        return []
    found: list[_Place] = []
    for rows in _blocks(connection):
        found = _with_ties([*found, *_compared(rows, vector, limit)], limit)
    asked = json.dumps([place.text for place in found])
    hashes = dict(
        connection.execute("SELECT id, content_hash FROM texts WHERE id IN (SELECT value FROM json_each (?))", (asked,))
    )
    found.sort(key=lambda place: (-place.likeness, hashes[place.text], place.position))
    return [Near(place.likeness, _passage(connection, place)) for place in found[:limit]]


def _has_vectors(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'vectors'").fetchone() is not None


def _passages(connection: sqlite3.Connection, text: int, title: str) -> list[str]:
    pieces = connection.execute(
        "SELECT substr (piece, 1, stop - start) FROM spans WHERE text = ? ORDER BY position", (text,)
    )
    return [f"{title}\n{piece}" for (piece,) in pieces]


def _blocks(connection: sqlite3.Connection) -> Iterator[list[tuple[int, bytes]]]:
    rows: list[tuple[int, bytes]] = []
    size = 0
    for text, vectors in connection.execute("SELECT text, vectors FROM vectors WHERE vectors <> x'' ORDER BY text"):
        rows.append((text, vectors))
        size += len(vectors)
        if size >= BLOCK * NUMBERS:
            yield rows
            rows, size = [], 0
    if rows:
        yield rows


def _compared(rows: Sequence[tuple[int, bytes]], vector: bytes, limit: int) -> list[_Place]:
    import numpy as np

    # Products and sums of so few whole numbers are exact in this type: the order of adding makes no difference.
    block = np.frombuffer(b"".join(vectors for _, vectors in rows), np.int8).reshape(-1, NUMBERS).astype(np.float32)
    sought = np.frombuffer(vector, np.int8).astype(np.float32)
    lengths = np.sqrt(np.maximum(np.einsum("ij,ij->i", block, block), 1) * max(float(sought @ sought), 1))
    # Not by `@`, whose threads take longer to start than so small a block takes, and fight over a busy processor.
    likeness = np.einsum("ij,j->i", block, sought) / lengths
    least = np.partition(likeness, -limit)[-limit] if len(likeness) > limit else -1
    best = np.flatnonzero(likeness >= max(least, LEAST_LIKENESS))
    ends = np.cumsum([len(vectors) // NUMBERS for _, vectors in rows])
    holders = np.searchsorted(ends, best, side="right")
    return [
        _Place(float(likeness[one]), rows[holder][0], int(one - (ends[holder - 1] if holder else 0)))
        for one, holder in zip(best, holders, strict=True)
    ]


def _with_ties(found: list[_Place], limit: int) -> list[_Place]:
    """The nearest ones, and all that are as near as the last of them: which of those are taken is not for the order."""
    found.sort(key=lambda place: -place.likeness)
    least = found[limit - 1].likeness if len(found) > limit else -math.inf
    return [place for place in found if place.likeness >= least]


def _passage(connection: sqlite3.Connection, place: _Place) -> FoundPassage:
    return passage_of(connection, place.text << POSITION_BITS | place.position)

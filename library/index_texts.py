"""The texts in an index: each once, however many files hold it, in passages that can be searched."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import NamedTuple

from ..evidence import editions
from ..evidence.language import IN_TEXT, detect_language, language_by_words
from ..evidence.text.passages import split_passages
from ..evidence.text.stems import ALGORITHMS, tokens_of, words_and_pieces

TEXT_BYTES = 5
"""Of a text's number: even of a million texts hardly two have the same."""
POSITION_BITS = 12
"""Of a passage's number, for its place in the text: more than the longest text has passages."""
PLACES = (1 << POSITION_BITS) - 1
"""The bits of a passage's number that tell its place in the text."""


def number_of(content_hash: str) -> int:
    """The number of the text of this hash, unless another text has it already."""
    return int.from_bytes(hashlib.sha256(content_hash.encode()).digest()[:TEXT_BYTES])


def free_number(connection: sqlite3.Connection, content_hash: str) -> int:
    """The number for a new text of this hash."""
    number = number_of(content_hash)
    while connection.execute("SELECT 1 FROM texts WHERE id = ?", (number,)).fetchone():
        number += 1
    return number


SAMPLE = 600
"""Characters that are looked at, at the beginning and again in the middle."""
IDENTIFIED = 400
"""Characters of these that are shown to the identifier, which is slow."""
LEAST = 100
"""Characters below which the identifier could only guess."""
PIECES_SHARE = 1.0
"""Pieces of unspaced scripts for each word of others, from which on there are no endings to cut."""


def stemmed_in(text: str) -> str:
    """ISO 639-1 code of the text's language, if its words are cut by rules of their own; else empty."""
    middle = max(SAMPLE, len(text) // 2)
    words, pieces = words_and_pieces(f"{text[:SAMPLE]} {text[middle : middle + SAMPLE]}")
    code = language_by_words(words, IN_TEXT)
    if not code and len(text) >= LEAST and len(pieces) < PIECES_SHARE * len(words):
        code = detect_language(text[:IDENTIFIED])
    return code if code in ALGORITHMS else ""


class _Row(NamedTuple):
    id: int
    title: str
    language: str


def settle(connection: sqlite3.Connection, hashes: Iterable[str], texts: Mapping[str, str]) -> None:
    """Make the texts of these hashes fit the documents: add, forget, or put them under another title.

    A text bears the title of the first document, by path, that holds it; `texts` has those that may be new.
    """
    # FTS5 writes what comes in the order of its numbers at one go.
    for content_hash in sorted(hashes, key=number_of):
        title = connection.execute(
            "SELECT title FROM documents WHERE content_hash = ? ORDER BY path LIMIT 1", (content_hash,)
        ).fetchone()
        found = connection.execute(
            "SELECT id, title, language FROM texts WHERE content_hash = ?", (content_hash,)
        ).fetchone()
        if found is None and title:
            _add_text(connection, content_hash, title[0], texts[content_hash])
        elif found and title is None:
            _forget(connection, _Row(*found))
        elif found and title[0] != found[1]:
            _rename(connection, _Row(*found), title[0])
    # Whoever remembers something of the index sees by the number that it is another one now.
    connection.execute("UPDATE totals SET state = random()")


def base_of(title: str) -> str:
    """Return what all editions of a document have in common in their titles."""
    return " ".join(sorted(editions.base_of(title)))


def text_of(connection: sqlite3.Connection, content_hash: str) -> str:
    """The whole text of this hash; empty if there is none."""
    found = connection.execute("SELECT id, lead FROM texts WHERE content_hash = ?", (content_hash,)).fetchone()
    row, lead = found or (0, "")
    pieces = connection.execute("SELECT piece FROM spans WHERE text = ? ORDER BY position", (row,))
    return "".join([lead, *(piece for (piece,) in pieces)])


def _add_text(connection: sqlite3.Connection, content_hash: str, title: str, text: str) -> None:
    language = stemmed_in(text)
    spans = split_passages(text)
    # What stands between passages belongs to the one before, so that all of them together are the text.
    bounds = [*(span.start for span in spans), len(text)]
    row = free_number(connection, content_hash)
    connection.execute(
        "INSERT INTO texts (id, content_hash, title, base, language, lead) VALUES (?, ?, ?, ?, ?, ?)",
        (row, content_hash, title, base_of(title), language, text[: bounds[0]]),
    )
    connection.executemany(
        "INSERT INTO spans (text, position, start, stop, heading, piece) VALUES (?, ?, ?, ?, ?, ?)",
        (
            (row, position, span.start, span.end, span.heading, text[start:stop])
            for position, (span, (start, stop)) in enumerate(zip(spans, pairwise(bounds), strict=True))
        ),
    )
    _count(connection, len(spans))
    _write(connection, _Row(row, title, language), "")


def _forget(connection: sqlite3.Connection, row: _Row) -> None:
    _write(connection, row, "delete")
    _count(connection, -connection.execute("DELETE FROM spans WHERE text = ?", (row.id,)).rowcount)
    connection.execute("DELETE FROM texts WHERE id = ?", (row.id,))


def _count(connection: sqlite3.Connection, more: int) -> None:
    connection.execute("UPDATE totals SET passages = passages + ?", (more,))


def _rename(connection: sqlite3.Connection, row: _Row, title: str) -> None:
    _write(connection, row, "delete")
    connection.execute("UPDATE texts SET title = ?, base = ? WHERE id = ?", (title, base_of(title), row.id))
    _write(connection, row._replace(title=title), "")


def _write(connection: sqlite3.Connection, row: _Row, command: str) -> None:
    """Add the passages of a text to what is searched, or delete them from it, for which FTS5 needs the same words."""
    title = _counted(row.title, row.language)
    passages = connection.execute(
        "SELECT position, heading, substr (piece, 1, stop - start) FROM spans WHERE text = ? ORDER BY position",
        (row.id,),
    ).fetchall()
    names, marks = ("passages, ", "?, ") if command else ("", "")
    given = (command,) if command else ()
    connection.executemany(
        f"INSERT INTO passages ({names}rowid, title, heading, text) VALUES ({marks}?, ?, ?, ?)",  # noqa: S608
        (
            (*given, row.id << POSITION_BITS | position, title, *(_counted(one, row.language) for one in of_passage))
            for position, *of_passage in passages
        ),
    )


def _counted(text: str, language: str) -> str:
    return " ".join(tokens_of(text, language))

"""The search index of one folder or file: its documents and their passages in one SQLite file."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Literal, NamedTuple

from deep_research.run.errors import DatabaseUnusable
from deep_research.tools.index_reader import FoundPassage, IndexReader
from deep_research.tools.passages import split_passages
from deep_research.tools.wording import spaced, title_key

VERSION = 3
BUSY_SECONDS = 60
TOKENIZER = "porter unicode61 remove_diacritics 2"

_SCHEMA = f"""
CREATE TABLE documents (
    id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, size INTEGER, mtime_ns INTEGER, file_hash TEXT, reason TEXT,
    code TEXT,    is_cut INTEGER, title TEXT, title_key TEXT, date TEXT, content_hash TEXT, text TEXT
);
CREATE INDEX documents_by_title ON documents (title_key);
CREATE TABLE spans (
    id INTEGER PRIMARY KEY, document INTEGER NOT NULL, position INTEGER, start INTEGER, stop INTEGER, heading TEXT
);
CREATE INDEX spans_by_document ON spans (document, position);
CREATE VIRTUAL TABLE passages USING fts5 (title, heading, text, tokenize = '{TOKENIZER}');
CREATE VIRTUAL TABLE words USING fts5vocab (passages, row);
PRAGMA user_version = {VERSION};
"""


class Entry(NamedTuple):
    """A file as the index knows it; with a reason if it has no text."""

    path: str
    size: int
    mtime_ns: int
    file_hash: str
    reason: str = ""
    code: str = ""
    is_cut: bool = False
    title: str = ""
    date: str = ""
    content_hash: str = ""
    text: str = ""


class Index:
    """One index file; every method opens it anew, blocks, and may be called from any thread."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def stamps(self) -> dict[str, Entry]:
        """All known files without their texts, by path."""
        with self._transaction() as connection:
            rows = connection.execute("SELECT path, size, mtime_ns, file_hash, reason, code, is_cut FROM documents")
            return {row[0]: Entry(*row) for row in rows}

    def put(self, entries: Iterable[Entry]) -> None:
        """Add these files in one transaction, in place of what was known of them."""
        with self._transaction("IMMEDIATE") as connection:
            for entry in entries:
                _remove(connection, entry.path)
                _add(connection, entry)

    def restamp(self, entries: Iterable[Entry]) -> None:
        """Note a new date of files whose bytes are the same."""
        with self._transaction("IMMEDIATE") as connection:
            stamps = [(entry.size, entry.mtime_ns, entry.path) for entry in entries]
            connection.executemany("UPDATE documents SET size = ?, mtime_ns = ? WHERE path = ?", stamps)

    def remove(self, paths: Iterable[str]) -> None:
        """Forget these files."""
        with self._transaction("IMMEDIATE") as connection:
            for path in paths:
                _remove(connection, path)

    def document(self, path: str) -> Entry | None:
        """One document with its text."""
        with self._transaction() as connection:
            row = connection.execute(
                "SELECT path, size, mtime_ns, file_hash, reason, code, is_cut, title, date, content_hash, text"
                " FROM documents WHERE path = ? AND reason = ''",
                (path,),
            ).fetchone()
            return Entry(*row) if row else None

    def frequencies(self, stems: Sequence[str]) -> tuple[int, dict[str, int]]:
        """How many passages there are, and in how many of them each of these words stands."""
        with self._transaction() as connection:
            (total,) = connection.execute("SELECT count(*) FROM spans").fetchone()
            found = (connection.execute("SELECT term, doc FROM words WHERE term = ?", (stem,)) for stem in stems)
            return total, {term: count for rows in found for term, count in rows}

    def candidates(self, match: str, titles: Sequence[str], limit: int) -> list[FoundPassage]:
        """The passages that match best, and the first ones of documents with one of these titles."""
        with self._transaction() as connection:
            reader = IndexReader(connection)
            found = [*reader.best(match, limit), *reader.titled(titles, limit)]
            return [reader.passage(span) for span in dict.fromkeys(found)]

    @contextmanager
    def reading(self) -> Iterator[IndexReader]:
        """Many look-ups in one state of the index, by the thread that asks for them."""
        with self._transaction() as connection:
            yield IndexReader(connection)

    @contextmanager
    def _transaction(self, mode: Literal["DEFERRED", "IMMEDIATE"] = "DEFERRED") -> Iterator[sqlite3.Connection]:
        try:
            with closing(self._open()) as connection:
                connection.execute(f"BEGIN {mode}")
                yield connection
                connection.execute("COMMIT")
        except (sqlite3.OperationalError, OSError) as error:
            raise DatabaseUnusable(f"{self.file}: the document index cannot be used ({error})") from error

    def _open(self) -> sqlite3.Connection:
        try:
            return _connect(self.file)
        except _Foreign:
            self.discard()
            return _connect(self.file)

    def discard(self) -> None:
        """Delete the index; the next use starts an empty one."""
        for suffix in ("", "-wal", "-shm", "-journal"):
            Path(f"{self.file}{suffix}").unlink(missing_ok=True)


class _Foreign(Exception):
    """The file is no index of this version."""


def _connect(file: Path) -> sqlite3.Connection:
    _create_private(file)
    connection = sqlite3.connect(file, timeout=BUSY_SECONDS, isolation_level=None)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        _prepare(connection)
    except BaseException as error:
        connection.close()
        if isinstance(error, sqlite3.DatabaseError) and is_corrupt(error):
            raise _Foreign from error
        raise
    return connection


def _prepare(connection: sqlite3.Connection) -> None:
    if _version(connection) == VERSION:
        return
    connection.execute("BEGIN IMMEDIATE")
    # Another process may have been faster.
    if _version(connection) != VERSION:
        if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            raise _Foreign
        for statement in _SCHEMA.split(";\n"):
            connection.execute(statement)
    connection.execute("COMMIT")


def _version(connection: sqlite3.Connection) -> int:
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return version


def is_corrupt(error: sqlite3.DatabaseError) -> bool:
    """Whether the file is damaged or no database, so that only a new one helps."""
    return error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def _create_private(file: Path) -> None:
    # Folder by folder: the mode of mkdir does not reach parents that it makes on the way.
    for folder in (file.parent.parent, file.parent):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        # SQLite gives its side files the permissions of this one.
        os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        return


def _remove(connection: sqlite3.Connection, path: str) -> None:
    row = connection.execute("SELECT id FROM documents WHERE path = ?", (path,)).fetchone()
    if row:
        connection.execute("DELETE FROM passages WHERE rowid IN (SELECT id FROM spans WHERE document = ?)", row)
        connection.execute("DELETE FROM spans WHERE document = ?", row)
        connection.execute("DELETE FROM documents WHERE id = ?", row)


def _add(connection: sqlite3.Connection, entry: Entry) -> None:
    document = connection.execute(
        "INSERT INTO documents (path, size, mtime_ns, file_hash, reason, code, is_cut, title, date, content_hash, text,"
        " title_key) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (*entry, title_key(entry.title)),
    ).lastrowid
    title = spaced(entry.title)
    for position, span in enumerate(split_passages(entry.text)):
        row = connection.execute(
            "INSERT INTO spans (document, position, start, stop, heading) VALUES (?, ?, ?, ?, ?)",
            (document, position, span.start, span.end, span.heading),
        ).lastrowid
        connection.execute(
            "INSERT INTO passages (rowid, title, heading, text) VALUES (?, ?, ?, ?)",
            (row, title, spaced(span.heading), spaced(entry.text[span.start : span.end])),
        )

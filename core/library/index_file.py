"""The SQLite file of an index: opened, checked, and filled with texts, each once, in passages."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Literal, NamedTuple
from zlib import crc32

from ..evidence.language import IN_TEXT, detect_language, language_by_words
from ..evidence.text.sentences import split_passages
from ..evidence.text.stems import STEMMED, stemmer_version, tokens_of, words_and_pieces
from ..reading.records import readers
from ..run.errors import DatabaseUnusable

WAITING_SECONDS = 3_600
"""How long is waited for who exchanges an index, which takes as long as to read all its files."""

_of_thread = threading.local()
VERSION = 16
"""Another one wherever what an index keeps is made otherwise: passages, the names of documents. Tables are compared."""
BUSY_SECONDS = 60
MOMENT = 0.01
"""Seconds between two tries at what SQLite does not wait for."""
CACHE_KILOBYTES = 32_000
PAGE_BYTES = 16_384
LOCK = ".lock"
NEW = ".new"
"""Behind the name of an index: its lock, and the one that is being built to take its place."""
_SIDES = ("-wal", "-shm", "-journal")
_SCHEMA = """
CREATE TABLE documents (
    id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, size INTEGER, mtime_ns INTEGER, file_hash TEXT, reason TEXT,
    code TEXT, seconds REAL, tries INTEGER, is_cut INTEGER, note TEXT, title TEXT, title_key TEXT, date TEXT,
    date_kind TEXT, period TEXT, publisher TEXT, is_draft INTEGER, superseded_by TEXT, valid_from TEXT,
    content_hash TEXT
);
CREATE INDEX documents_by_title ON documents (title_key);
CREATE INDEX documents_by_content ON documents (content_hash, path);
CREATE TABLE texts (
    id INTEGER PRIMARY KEY, content_hash TEXT NOT NULL UNIQUE, title TEXT, language TEXT, lead TEXT
);
CREATE INDEX texts_by_language ON texts (language);
CREATE TABLE spans (
    text INTEGER NOT NULL, position INTEGER, start INTEGER, stop INTEGER, heading TEXT, piece TEXT
);
CREATE UNIQUE INDEX spans_by_text ON spans (text, position);
CREATE TABLE totals (passages INTEGER, state INTEGER, root BLOB);
INSERT INTO totals VALUES (0, 0, x'');
CREATE VIRTUAL TABLE passages USING fts5 (title, heading, text, content = '', tokenize = "ascii tokenchars '_'");
CREATE VIRTUAL TABLE vocabulary USING fts5vocab (passages, row);
"""
TEXT_BYTES = 5
"""Of a text's number: even of a million texts hardly two have the same."""
POSITION_BITS = 18
"""Of a passage's number, for its place in the text: more than the longest text has passages."""
PLACES = (1 << POSITION_BITS) - 1
"""The bits of a passage's number that tell its place in the text."""
SAMPLE = 600
"""Characters that are looked at, at the beginning and again in the middle."""
IDENTIFIED = 400
"""Characters of these that are shown to the identifier, which is slow."""
LEAST = 100
"""Characters below which the identifier could only guess."""
PIECES_SHARE = 1.0
"""Pieces of unspaced scripts for each word of others, from which on there are no endings to cut."""


@contextmanager
def used(file: Path) -> Iterator[None]:
    """Use an index; waits while it is being exchanged."""
    mine = _mine()
    if file in mine:
        # To wait here would be to wait for oneself, once somebody waits for this thread to end its use.
        yield
        return
    with _locked(file, "BEGIN"):
        mine.add(file)
        try:
            yield
        finally:
            mine.remove(file)


@contextmanager
def alone(file: Path) -> Iterator[None]:
    """Wait until nobody uses an index, and let nobody use it meanwhile. Not for a thread that uses any."""
    with _locked(file, "BEGIN EXCLUSIVE"):
        yield


def is_using() -> bool:
    """Whether this thread uses an index just now."""
    return bool(_mine())


@contextmanager
def _locked(file: Path, begin: Literal["BEGIN", "BEGIN EXCLUSIVE"]) -> Iterator[None]:
    lock = Path(f"{file}{LOCK}")
    create_private(lock)
    # SQLite's own locks, of a database that stays empty: they hold between threads as well as between processes, on any
    # system, and end with who holds them.
    with closing(sqlite3.connect(lock, timeout=WAITING_SECONDS, isolation_level=None)) as connection:
        connection.execute(begin)
        connection.execute("SELECT count (*) FROM sqlite_master").fetchone()
        yield


def _mine() -> set[Path]:
    if not hasattr(_of_thread, "files"):
        _of_thread.files = set()
    files: set[Path] = _of_thread.files
    return files


class Foreign(Exception):
    """The file is damaged, or an index of another version."""

    def __init__(self, file: Path) -> None:
        super().__init__(f"{file}: not an index of this version")
        self.file = file


@contextmanager
def usable(file: Path) -> Iterator[None]:
    """Tell what goes wrong with an index as what it means: `Foreign`, or `DatabaseUnusable`."""
    try:
        yield
    except (sqlite3.DatabaseError, OSError) as error:
        if isinstance(error, sqlite3.DatabaseError) and is_corrupt(error):
            raise Foreign(file) from error
        raise DatabaseUnusable(f"{file}: the document index cannot be used ({error})") from error


def connect(file: Path) -> sqlite3.Connection:
    """Open the index, which is made if there is none. Raises `Foreign`."""
    create_private(file)
    connection = sqlite3.connect(file, timeout=BUSY_SECONDS, isolation_level=None)
    try:
        # Passages are long for a page of the usual size: a fifth of it would stay empty.
        connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")
        _write_ahead(connection)
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(f"PRAGMA cache_size = -{CACHE_KILOBYTES}")
        _prepare(connection, file)
    except BaseException as error:
        connection.close()
        if isinstance(error, sqlite3.DatabaseError) and is_corrupt(error):
            raise Foreign(file) from error
        raise
    return connection


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Let readers read beside a writer; waits for others who are making the same index."""
    end = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            # SQLite waits for locks, but not for this one.
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                raise
            time.sleep(MOMENT)


def remove(file: Path) -> None:
    """Delete an index, which nobody may use meanwhile; its lock stays, for somebody may be waiting for it."""
    for suffix in ("", *_SIDES):
        Path(f"{file}{suffix}").unlink(missing_ok=True)


def discard(file: Path) -> None:
    """Delete an index that nobody else knows of."""
    remove(file)
    Path(f"{file}{LOCK}").unlink(missing_ok=True)


def exchange(file: Path, fresh: Path) -> None:
    """Put one index in the place of another one; nobody may use either of them meanwhile."""
    with closing(connect(fresh)) as connection:
        connection.execute("PRAGMA wal_checkpoint (TRUNCATE)")
    # What belonged to the old file would be taken for a part of the new one.
    for suffix in _SIDES:
        Path(f"{file}{suffix}").unlink(missing_ok=True)
    fresh.replace(file)
    discard(fresh)


def is_corrupt(error: sqlite3.DatabaseError) -> bool:
    """Whether the file is damaged or no database, so that only a new one helps."""
    return error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def _prepare(connection: sqlite3.Connection, file: Path) -> None:
    # Other rules for stems would seek words under other names than those that they are kept by, and what other readers
    # made of a file need not be what it is taken for now.
    wanted = (VERSION << 24 | (stemmer_version() ^ readers() ^ crc32(_SCHEMA.encode())) & 0xFFFFFF) & 0x7FFFFFFF
    if _version(connection) == wanted:
        return
    connection.execute("BEGIN IMMEDIATE")
    # Another process may have been faster.
    if _version(connection) != wanted:
        if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            raise Foreign(file)
        for statement in _SCHEMA.split(";\n"):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {wanted}")
    connection.execute("COMMIT")


def _version(connection: sqlite3.Connection) -> int:
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return version


def create_private(file: Path) -> None:
    """Make an empty file that is its owner's alone, if there is none."""
    # Folder by folder: the mode of mkdir does not reach parents that it makes on the way.
    for folder in (file.parent.parent, file.parent):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        # SQLite gives its side files the permissions of this one.
        os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        return


def number_of(content_hash: str) -> int:
    """Return the number of the text with this hash, unless another text has it already."""
    return int.from_bytes(hashlib.sha256(content_hash.encode()).digest()[:TEXT_BYTES])


def free_number(connection: sqlite3.Connection, content_hash: str) -> int:
    """Return the number for a new text with this hash."""
    number = number_of(content_hash)
    while connection.execute("SELECT 1 FROM texts WHERE id = ?", (number,)).fetchone():
        number += 1
    return number


def stemmed_in(text: str) -> str:
    """Return the ISO 639-1 code of the text's language, if it has a stemmer of its own; else empty."""
    middle = max(SAMPLE, len(text) // 2)
    words, pieces = words_and_pieces(f"{text[:SAMPLE]} {text[middle : middle + SAMPLE]}")
    code = language_by_words(words, IN_TEXT)
    if not code and len(text) >= LEAST and len(pieces) < PIECES_SHARE * len(words):
        code = detect_language(text[:IDENTIFIED])
    return code if code in STEMMED else ""


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


def text_of(connection: sqlite3.Connection, content_hash: str) -> str:
    """Return the whole text with this hash; empty if there is none."""
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
        "INSERT INTO texts (id, content_hash, title, language, lead) VALUES (?, ?, ?, ?, ?)",
        (row, content_hash, title, language, text[: bounds[0]]),
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
    connection.execute("UPDATE texts SET title = ? WHERE id = ?", (title, row.id))
    _write(connection, row._replace(title=title), "")


def _write(connection: sqlite3.Connection, row: _Row, command: str) -> None:
    """Add the passages of a text to the search table, or delete them, for which FTS5 needs the same words."""
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

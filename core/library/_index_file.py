"""The SQLite file of an index: locked, opened, checked, and filled with passages."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple
from zlib import crc32

from ..errors import DatabaseUnusable
from ..evidence.text.language import detect_language, language_of_text
from ..evidence.text.words import words_and_pieces
from ..reading.documents.records import parsing_version
from ..records.sources import DateKind
from ._passages import split_passages
from ._terms import STEMMED, index_terms, stemmer_version

_WAITING_SECONDS = 3_600
"""Maximum time to wait while an index is replaced, which takes as long as reading all its files."""
_thread_data = threading.local()
_VERSION = 17
"""Increase if index content is computed differently; changes of the tables are detected
automatically."""
_BUSY_SECONDS = 60
_MOMENT = 0.01
"""Seconds between retries where SQLite does not wait by itself."""
_CACHE_KILOBYTES = 32_000
PAGE_BYTES = 16_384
LOCK = ".lock"
NEW_SUFFIX = ".new"
"""File suffixes of an index's lock, and of its replacement during a rebuild."""
_SIDES = ("-wal", "-shm", "-journal")
"""File suffixes of the files that SQLite keeps beside a database."""
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
_TEXT_BYTES = 5
"""Size of a text's row number; collisions are rare even among a million texts."""
POSITION_BITS = 18
"""Number of low bits of a passage's number that hold its position in the text; enough for the
longest text."""
POSITION_MASK = (1 << POSITION_BITS) - 1
_SAMPLE = 600
"""Number of characters at the start, and in the middle, that are used to detect the language."""
_IDENTIFIED = 400
"""Number of first characters passed to the language identifier, which is slow."""
_LEAST = 100
"""Minimum number of characters for the identifier; with fewer it could only guess."""
_PIECES_SHARE = 1.0
"""A text is not stemmed if it has at least this many pieces of unspaced scripts, such as Chinese,
per other word."""


class IndexedFile(NamedTuple):
    """A file in the index, with the columns of its row and its text.

    `reason` is set if it has no text.
    """

    path: str
    size: int
    mtime_ns: int
    file_hash: str
    reason: str = ""
    code: str = ""
    seconds: float = 0.0
    """Time limit (seconds) under which reading it timed out or crashed the parser."""
    tries: int = 0
    """Failed attempts with this limit."""
    is_cut: bool = False
    note: str = ""
    """Says which of its pages were not read or are uncertain."""
    title: str = ""
    date: str = ""
    date_kind: DateKind = ""
    period: str = ""
    publisher: str = ""
    is_draft: bool = False
    superseded_by: str = ""
    valid_from: str = ""
    content_hash: str = ""
    text: str = ""


COLUMNS = IndexedFile._fields[:-1]
"""Columns of the table `documents`; texts are in `spans`."""


@contextmanager
def shared(file: Path) -> Iterator[None]:
    """Acquire an index's shared lock.

    Waits while the index is replaced. Reentrant within a thread.
    """
    files = _files_of_thread()
    if file in files:
        # A second lock would deadlock with a writer that waits for this thread's first one.
        yield
        return
    with _locked(file, "BEGIN"):
        files.add(file)
        try:
            yield
        finally:
            files.remove(file)


@contextmanager
def exclusive(file: Path) -> Iterator[None]:
    """Acquire an index's exclusive lock; the thread must not have a shared one."""
    with _locked(file, "BEGIN EXCLUSIVE"):
        yield


def has_shared_lock() -> bool:
    """Whether this thread has a shared lock on any index."""
    return bool(_files_of_thread())


@contextmanager
def _locked(file: Path, begin: Literal["BEGIN", "BEGIN EXCLUSIVE"]) -> Iterator[None]:
    """Hold the lock of an index, which is a transaction on its lock file: shared, or exclusive."""
    lock = Path(f"{file}{LOCK}")
    create_private(lock)
    # SQLite's locks on an empty database work between threads and processes on any system, and are
    # released with their process.
    with closing(
        sqlite3.connect(lock, timeout=_WAITING_SECONDS, isolation_level=None)
    ) as connection:
        connection.execute(begin)
        connection.execute("SELECT count (*) FROM sqlite_master").fetchone()
        yield


def _files_of_thread() -> set[Path]:
    """Return the indexes on which this thread has a shared lock; the caller may change the set."""
    files: set[Path] = _thread_data.__dict__.setdefault("files", set())
    return files


class RebuildNeeded(Exception):
    """The file is damaged, or is an index of another version."""

    def __init__(self, file: Path) -> None:
        super().__init__(f"{file}: not an index of this version")
        self.file = file


@contextmanager
def translated_errors(file: Path) -> Iterator[None]:
    """Translate SQLite and file system errors to `RebuildNeeded` or `DatabaseUnusable`."""
    try:
        yield
    except (sqlite3.DatabaseError, OSError) as error:
        if isinstance(error, sqlite3.DatabaseError) and is_corrupt(error):
            raise RebuildNeeded(file) from error
        raise DatabaseUnusable(f"{file}: the document index cannot be used ({error})") from error


def connect(file: Path) -> sqlite3.Connection:
    """Open the index, creating it if it does not exist.

    Raises `RebuildNeeded` if it is of another version.
    """
    create_private(file)
    connection = sqlite3.connect(file, timeout=_BUSY_SECONDS, isolation_level=None)
    try:
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(f"PRAGMA cache_size = -{_CACHE_KILOBYTES}")
        if not _is_ready(connection):
            _prepare(connection, file)
    except BaseException:
        # Also if the thread is stopped: an open connection would keep the file locked.
        connection.close()
        raise
    return connection


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Switch to WAL mode, so that readers and a writer can run in parallel.

    Waits for others creating this index.
    """
    end = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            # SQLite does not wait for this lock by itself.
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                raise
            time.sleep(_MOMENT)


def remove(file: Path) -> None:
    """Delete an index (requires the `exclusive` lock).

    Its lock file stays, since others may be waiting for it.
    """
    for suffix in ("", *_SIDES):
        Path(f"{file}{suffix}").unlink(missing_ok=True)


def discard(file: Path) -> None:
    """Delete an unfinished replacement of an index with its lock file."""
    remove(file)
    Path(f"{file}{LOCK}").unlink(missing_ok=True)


def replace(file: Path, fresh: Path) -> None:
    """Replace an index with `fresh`; requires the `exclusive` lock."""
    with closing(connect(fresh)) as connection:
        connection.execute("PRAGMA wal_checkpoint (TRUNCATE)")
    # SQLite would mistake the old side files for parts of the new index.
    for suffix in _SIDES:
        Path(f"{file}{suffix}").unlink(missing_ok=True)
    fresh.replace(file)
    discard(fresh)


def is_corrupt(error: sqlite3.DatabaseError) -> bool:
    """Whether the file is damaged or not a database, and must be rebuilt."""
    return error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


@cache
def _index_version() -> int:
    """Return the version of an index that this code makes, as the file stores it."""
    # New versions of stemmers or parsers make an index outdated.
    computed_by = stemmer_version() ^ parsing_version() ^ crc32(_SCHEMA.encode())
    return (_VERSION << 24 | computed_by & 0xFFFFFF) & 0x7FFFFFFF


def _is_ready(connection: sqlite3.Connection) -> bool:
    """Whether the file is an index of this version."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return bool(version == _index_version())


def _prepare(connection: sqlite3.Connection, file: Path) -> None:
    """Create the tables if the file is empty.

    Raises `RebuildNeeded` for an index of another version.
    """
    # With the default page size a fifth of each page would stay empty, since passages are long.
    connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")
    _write_ahead(connection)
    connection.execute("BEGIN IMMEDIATE")
    # Another process may have created the tables meanwhile.
    if not _is_ready(connection):
        if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            raise RebuildNeeded(file)
        for statement in _SCHEMA.split(";\n"):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {_index_version()}")
    connection.execute("COMMIT")


def create_private(file: Path) -> None:
    """Create an empty file that only its owner can read, unless it exists."""
    if file.exists():
        return
    # Folder by folder, since mkdir does not apply its mode to parents.
    for folder in (file.parent.parent, file.parent):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        # SQLite gives its side files this file's permissions.
        os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        return


def number_of(content_hash: str) -> int:
    """Return the row number for the text with this hash.

    If another text has it, the next free one is used.
    """
    return int.from_bytes(hashlib.sha256(content_hash.encode()).digest()[:_TEXT_BYTES])


def stemmed_in(text: str) -> str:
    """Return the ISO 639-1 code of the text's language; empty if it has no stemmer of its own."""
    middle = max(_SAMPLE, len(text) // 2)
    words, pieces = words_and_pieces(f"{text[:_SAMPLE]} {text[middle : middle + _SAMPLE]}")
    code = language_of_text(words)
    if not code and len(text) >= _LEAST and len(pieces) < _PIECES_SHARE * len(words):
        code = detect_language(text[:_IDENTIFIED])
    return code if code in STEMMED else ""


def update_texts(
    connection: sqlite3.Connection, hashes: Iterable[str], texts: Mapping[str, str]
) -> None:
    """Add, remove or retitle the texts with these hashes, after a change of the documents that have
    them.

    A text gets the title of its first document by path. `texts`: by hash, the texts that may be
    new.
    """
    # FTS5 writes rows fastest in the order of their numbers.
    for content_hash in sorted(hashes, key=number_of):
        title = connection.execute(
            "SELECT title FROM documents WHERE content_hash = ? ORDER BY path LIMIT 1",
            (content_hash,),
        ).fetchone()
        found = connection.execute(
            "SELECT id, title, language FROM texts WHERE content_hash = ?", (content_hash,)
        ).fetchone()
        if found is None:
            if title:
                _add_text(connection, content_hash, title[0], texts[content_hash])
            continue
        row, old_title, language = found
        if title is None:
            _write(connection, row, old_title, language, command="delete")
            deleted = connection.execute("DELETE FROM spans WHERE text = ?", (row,)).rowcount
            connection.execute("UPDATE totals SET passages = passages - ?", (deleted,))
            connection.execute("DELETE FROM texts WHERE id = ?", (row,))
        elif title[0] != old_title:
            _write(connection, row, old_title, language, command="delete")
            connection.execute("UPDATE texts SET title = ? WHERE id = ?", (title[0], row))
            _write(connection, row, title[0], language)
    # Invalidates what readers have cached about the index.
    connection.execute("UPDATE totals SET state = random()")


def indexed_text(connection: sqlite3.Connection, content_hash: str) -> str:
    """Return the whole text with this hash; empty if unknown."""
    found = connection.execute(
        "SELECT id, lead FROM texts WHERE content_hash = ?", (content_hash,)
    ).fetchone()
    row, lead = found or (0, "")
    pieces = connection.execute("SELECT piece FROM spans WHERE text = ? ORDER BY position", (row,))
    return "".join([lead, *(piece for (piece,) in pieces)])


def _add_text(connection: sqlite3.Connection, content_hash: str, title: str, text: str) -> None:
    """Store a new text as passages, and add these to the search table."""
    language = stemmed_in(text)
    spans = split_passages(text)
    # Characters between passages belong to the one before, so that the pieces joined are the text.
    bounds = [span.start for span in spans]
    bounds.append(len(text))
    row = number_of(content_hash)
    while connection.execute("SELECT 1 FROM texts WHERE id = ?", (row,)).fetchone():
        row += 1
    connection.execute(
        "INSERT INTO texts (id, content_hash, title, language, lead) VALUES (?, ?, ?, ?, ?)",
        (row, content_hash, title, language, text[: bounds[0]]),
    )
    for position, span in enumerate(spans):
        piece = text[bounds[position] : bounds[position + 1]]
        connection.execute(
            "INSERT INTO spans (text, position, start, stop, heading, piece)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            (row, position, span.start, span.end, span.heading, piece),
        )
    connection.execute("UPDATE totals SET passages = passages + ?", (len(spans),))
    _write(connection, row, title, language)


def _write(
    connection: sqlite3.Connection, row: int, title: str, language: str, command: str = ""
) -> None:
    """Add the passages of a text to the search table, or remove them with the command "delete"."""

    def terms(text: str) -> str:
        return " ".join(index_terms(text, language))

    passages = connection.execute(
        "SELECT position, heading, substr (piece, 1, stop - start) FROM spans WHERE text = ?"
        " ORDER BY position",
        (row,),
    ).fetchall()
    columns = ["rowid", "title", "heading", "text"]
    if command:
        # FTS5 takes a command in the column with the name of the table.
        columns.insert(0, "passages")
    insert = (
        f"INSERT INTO passages ({', '.join(columns)})"  # noqa: S608
        f" VALUES ({', '.join('?' * len(columns))})"
    )
    for position, heading, text in passages:
        values = [row << POSITION_BITS | position, terms(title), terms(heading), terms(text)]
        if command:
            values.insert(0, command)
        connection.execute(insert, values)

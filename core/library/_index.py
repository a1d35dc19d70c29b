"""Search indexes of the folders and files of `docs`, one SQLite file each."""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Literal, NamedTuple
from urllib.parse import quote_from_bytes, unquote

from ..errors import DocumentsUnreadable
from ..reading.documents.records import KINDS, how_to_convert, kind_of_file
from ..records.sources import DOCUMENT_SCHEME
from ..settings.context import Context
from ..store.pages import AttachedFiles
from ._folder import NOT_IN_NAMES
from ._index_file import (
    COLUMNS,
    NEW_SUFFIX,
    IndexedFile,
    connect,
    discard,
    indexed_text,
    shared,
    translated_errors,
    update_texts,
)
from ._index_search import MOST_COMPARED, IndexReader, SourceOf
from ._terms import title_key

_STAMP = "path, size, mtime_ns, file_hash, reason, code, seconds, tries, is_cut, note"
"""Columns that say whether a file has changed and how it was read: the first fields of
`IndexedFile`."""
_DOCUMENT = (
    f"SELECT {', '.join(COLUMNS)} FROM documents"  # noqa: S608
    " WHERE path = ? AND reason = ''"
)
_INSERT = (
    f"INSERT INTO documents ({', '.join(COLUMNS)}, title_key)"  # noqa: S608
    f" VALUES ({', '.join('?' * len(COLUMNS))}, ?)"
)


class Index:
    """An index file. Every method opens it and blocks; all may be called from any thread.

    Methods raise `RebuildNeeded` if the file is damaged or of another version, and
    `DatabaseUnusable`.
    """

    def __init__(self, file: Path, most: int = MOST_COMPARED) -> None:
        """`most`: maximum number of passages that a search compares."""
        self.file = file
        self._most = most
        self._counts: dict[tuple[int, str], int] = {}

    def stamps(self) -> dict[str, IndexedFile]:
        """Return all files in the index by path, with the columns of `_STAMP` only."""
        with self._transaction() as connection:
            rows = connection.execute(f"SELECT {_STAMP} FROM documents")  # noqa: S608
            return {row[0]: IndexedFile(*row) for row in rows}

    def change(self, entries: Sequence[IndexedFile] = (), gone: Sequence[str] = ()) -> None:
        """Add or replace files and remove paths, in one transaction."""
        if not (entries or gone):
            return
        with self._transaction("IMMEDIATE") as connection:
            hashes = set[str]()
            texts = dict[str, str]()
            for path in gone:
                hashes.add(_remove(connection, path))
            for entry in entries:
                # A folder that changes while it is listed can name a file twice.
                hashes.add(_remove(connection, entry.path))
                *values, _text = entry
                connection.execute(_INSERT, (*values, title_key(entry.title)))
                if not entry.reason:
                    texts[entry.content_hash] = entry.text
            update_texts(connection, (hashes | texts.keys()) - {""}, texts)

    def note_root(self, root: Path) -> None:
        """Record the folder or file that is indexed."""
        # Bytes, since a path may not be valid text.
        path = os.fsencode(root)
        with self._transaction() as connection:
            (known,) = connection.execute("SELECT root FROM totals").fetchone()
        if known != path:
            with self._transaction("IMMEDIATE") as connection:
                connection.execute("UPDATE totals SET root = ?", (path,))

    def restamp(self, entries: Sequence[IndexedFile]) -> None:
        """Record the new size and modification time of files whose content is unchanged."""
        if not entries:
            return
        with self._transaction("IMMEDIATE") as connection:
            stamps = [(entry.size, entry.mtime_ns, entry.path) for entry in entries]
            connection.executemany(
                "UPDATE documents SET size = ?, mtime_ns = ? WHERE path = ?", stamps
            )

    def document(self, path: str) -> IndexedFile | None:
        """Return a document with its text; None if the file is unknown or has no text."""
        return next(iter(self.documents([path])), None)

    def documents(self, paths: Iterable[str]) -> list[IndexedFile]:
        """Return documents with their texts, without files that are unknown or have no text."""
        documents = list[IndexedFile]()
        with self._transaction() as connection:
            for path in paths:
                row = connection.execute(_DOCUMENT, (path,)).fetchone()
                if row:
                    document = IndexedFile(*row)
                    text = indexed_text(connection, document.content_hash)
                    documents.append(document._replace(text=text))
        return documents

    @contextmanager
    def reading(self, source_of: SourceOf) -> Iterator[IndexReader]:
        """Open a consistent snapshot of the index for look-ups by the calling thread."""
        with self._transaction() as connection:
            yield IndexReader(connection, source_of, self._counts, self._most)

    @contextmanager
    def _transaction(
        self, mode: Literal["DEFERRED", "IMMEDIATE"] = "DEFERRED"
    ) -> Iterator[sqlite3.Connection]:
        """Open the index, with its shared lock, for one transaction.

        It is committed at the end of the block.
        """
        with (
            translated_errors(self.file),
            shared(self.file),
            closing(connect(self.file)) as connection,
        ):
            connection.execute(f"BEGIN {mode}")
            yield connection
            connection.execute("COMMIT")

    def identity(self) -> object:
        """Return the inode number of the file, which changes when the index is replaced.

        None if there is no file.
        """
        try:
            return self.file.stat().st_ino
        except OSError:
            return None

    def replacement(self) -> Index:
        """Return an empty index, to be filled and replace this one.

        Requires the `exclusive` lock.
        """
        fresh = Index(Path(f"{self.file}{NEW_SUFFIX}"), self._most)
        # An earlier build may have been killed.
        discard(fresh.file)
        return fresh


def _remove(connection: sqlite3.Connection, path: str) -> str:
    """Remove a document, if there is one; return the hash of its text, empty if it had none."""
    row = connection.execute(
        "SELECT content_hash FROM documents WHERE path = ?", (path,)
    ).fetchone()
    connection.execute("DELETE FROM documents WHERE path = ?", (path,))
    return str(row[0]) if row else ""


class Root(NamedTuple):
    """A folder or file of `docs`; paths below it are relative, with forward slashes."""

    name: str
    path: Path
    is_folder: bool
    store: Index
    is_attached: bool = False
    """Whether it contains a thread's attachments, which may all be unreadable."""

    def address(self, path: str) -> str:
        """Return the address by which a model opens this document with `open_url`."""
        address = f"{DOCUMENT_SCHEME}{self.name}"
        return f"{address}/{path}" if self.is_folder else address

    def uri(self, path: str) -> str:
        """Return the `file:` address of this document."""
        uri = self.path.as_uri()
        if not self.is_folder:
            return uri
        return f"{uri.rstrip('/')}/{quote_from_bytes(os.fsencode(path))}"

    def path_of(self, address: str) -> str:
        """Return the path below this root for an address, or "" if it is elsewhere.

        For look-ups in the index only.
        """
        if not self.is_folder:
            is_this_file = address in (self.address(""), self.uri(""))
            return self.path.name if is_this_file else ""
        uri = self.uri("")
        if address.startswith(uri):
            path = unquote(address.removeprefix(uri))
        else:
            path = address.removeprefix(self.address(""))
        if path == address or NOT_IN_NAMES.search(path):
            return ""
        return path


def open_roots(context: Context) -> Iterator[Root]:
    """Yield the distinct folders and files of `docs`; blocks. Raises `DocumentsUnreadable`."""
    names: set[str] = set()
    paths: list[Path] = []
    attached = AttachedFiles.below(context.data_dir)
    for wanted in context.docs:
        if attached.index_of(wanted) and not wanted.is_dir():
            # Attachments may have been deleted with their thread.
            continue
        paths.append(_resolved(wanted))
    for path in dict.fromkeys(paths):
        if not path.is_dir() and kind_of_file(path.name) is None:
            advice = how_to_convert(path.name)
            raise unreadable(path, advice or f"unsupported format; supported: {' '.join(KINDS)}")
        name = path.name or "root"
        number = 1
        while name in names:
            number += 1
            name = f"{path.name or 'root'}-{number}"
        names.add(name)
        index_of_thread = attached.index_of(path)
        digest = hashlib.sha256(str(path).encode(errors="surrogateescape")).hexdigest()
        file = index_of_thread or context.data_dir / "indexes" / f"{digest[:16]}.sqlite"
        yield Root(name, path, path.is_dir(), Index(file), is_attached=bool(index_of_thread))


def _resolved(path: Path) -> Path:
    """Return the absolute path of a folder or file.

    Raises `DocumentsUnreadable` if it is neither.
    """
    try:
        found = path.expanduser().resolve(strict=True)
    except (OSError, RuntimeError) as error:
        raise unreadable(
            path, "there is no such folder or file; create it or correct the path"
        ) from error
    if not found.is_dir() and not found.is_file():
        raise unreadable(path, "is neither a folder nor a regular file")
    return found


def unreadable(path: Path, words: str) -> DocumentsUnreadable:
    """Return the error for a folder or file of `docs`; `words` say what is wrong with it."""
    return DocumentsUnreadable(f"{path}: {words} (setting `docs`, options `--docs` and `--attach`)")

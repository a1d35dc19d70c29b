"""Keeps page texts in SQLite, in the file of the checkpoints."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from langgraph.store.base import GetOp, Op, PutOp, Result
from langgraph.store.sqlite import SqliteStore

from ..concurrency import Threads
from ..errors import DatabaseUnusable
from .pages import packed, unpacked

BUSY_SECONDS = 30.0
"""Seconds to wait for another process that is writing."""


class PageStore(SqliteStore):
    """LangGraph's SQLite store, with one thread task for each batch; reads do not wait for writers.

    A batch that was begun is carried out, though whoever asked for it is cancelled meanwhile.
    """

    def __init__(self, path: Path) -> None:
        SqliteStore.__init__(self, _connect(path), deserializer=partial(unpacked, file=str(path)))
        self._path = path
        self._reader = _connect(path)
        self._reading = threading.Lock()
        self._readers, self._writers = Threads("read texts", 1), Threads("write texts", 1)

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Carry out the operations in one transaction; raises `DatabaseUnusable`."""
        every = [packed(op) if isinstance(op, PutOp) else op for op in ops]
        try:
            gets = [op for op in every if isinstance(op, GetOp)]
            return self._read(gets) if len(gets) == len(every) else super().batch(every)
        except sqlite3.Error as error:
            # Else a disk that is full would look like the failure of one researcher.
            raise unusable(self._path, error) from error

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Carry out the operations in a thread."""
        every = list(ops)
        threads = self._readers if all(isinstance(op, GetOp) for op in every) else self._writers
        return await threads.run(partial(self.batch, every))

    def _read(self, gets: Iterable[GetOp]) -> list[Result]:
        # LangGraph would write for each item that is read when it is to be forgotten; nothing here ever is.
        wanted = [(place, op._replace(refresh_ttl=False)) for place, op in enumerate(gets)]
        found: list[Result] = [None] * len(wanted)
        with self._reading:
            try:
                self._batch_get_ops(wanted, found, self._reader.cursor())
            except ValueError as error:  # what LangGraph makes of values and names that it has not written
                raise unusable(self._path, error) from error
        return found

    @contextmanager
    def _cursor(self, *, transaction: bool = True) -> Iterator[sqlite3.Cursor]:
        with self.lock:
            # LangGraph's transaction first reads and then writes; SQLite refuses the step from one to the other at
            # once, whatever the timeout, if somebody else wrote in between.
            if transaction:
                self.conn.execute("BEGIN IMMEDIATE")
            try:
                yield self.conn.cursor()
            except BaseException:
                if self.conn.in_transaction:
                    self.conn.execute("ROLLBACK")
                raise
            if transaction:
                self.conn.execute("COMMIT")

    def close(self) -> None:
        """Wait for what is being written and close the file."""
        with self.lock, self._reading:
            self.conn.close()
            self._reader.close()


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA journal_mode = WAL")
    # The next checkpoint takes to the disk what was written before it.
    connection.execute("PRAGMA synchronous = NORMAL")
    return connection


def unusable(path: Path, error: Exception) -> DatabaseUnusable:
    """Return the error that tells the user of a database error."""
    words = error if isinstance(error, sqlite3.Error) else "it cannot be read"
    why = f"The database {str(path)!r} cannot be used: {words} (setting data_dir)."
    if is_damage(error):
        why += " It is damaged: restore a backup, or begin anew elsewhere (--data-dir); see `deep-research doctor`."
    return DatabaseUnusable(why)


def is_damage(error: Exception) -> bool:
    """Whether the error says that the file is damaged."""
    codes = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
    return not isinstance(error, sqlite3.Error) or getattr(error, "sqlite_errorcode", 0) & 0xFF in codes

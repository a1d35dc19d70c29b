"""Keeps page texts in SQLite, in the file of the checkpoints."""

from __future__ import annotations

import base64
import json
import re
import sqlite3
import threading
import zlib
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from langgraph.store.base import GetOp, Item, Op, PutOp, Result
from langgraph.store.sqlite import SqliteStore

from ..concurrency import Threads
from ..errors import DatabaseUnusable
from .pages import DAMAGED

BUSY_SECONDS = 30.0
"""Seconds to wait for another process that is writing."""
RECENT_CHARACTERS = 5_000_000
"""Characters of texts that are held in memory."""
TEXT, PACKED = "text", "zlib"
"""Keys under which a text stands in a value: as it is, and compressed (base64)."""
PACKED_CHARACTERS = 1000
FAST = 1
"""Level of compression that takes a quarter of a millisecond for a page."""
LONGEST_BYTES = 50_000_000
"""More is not read: whoever wrote the file may have meant to fill the memory."""
_HASH = re.compile("[0-9a-f]{64}")


class PageStore(SqliteStore):
    """LangGraph's SQLite store, with one thread task for each batch; reads do not wait for writers.

    A batch that was begun is carried out, though whoever asked for it is cancelled meanwhile.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(_connect(path), deserializer=_value)
        self._path = path
        self._reader = _connect(path)
        self._reading = threading.Lock()
        self._recent = _Recent()
        self._readers, self._writers = Threads("read texts", 1), Threads("write texts", 1)

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Carry out the operations in one transaction; raises `DatabaseUnusable`."""
        every = [_packed(op) if isinstance(op, PutOp) else op for op in ops]
        try:
            gets = [op for op in every if isinstance(op, GetOp)]
            return self._read(gets) if len(gets) == len(every) else super().batch(every)
        except sqlite3.Error as error:
            # Else a disk that is full would look like the failure of one researcher.
            raise unusable(self._path, error) from error

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """As `batch`; texts in the cache are not read again."""
        every = list(ops)
        results: list[Result] = [self._recent.get(op) if isinstance(op, GetOp) else None for op in every]
        left = [place for place, known in enumerate(results) if known is None]
        if left:
            wanted = [every[place] for place in left]
            threads = self._readers if all(isinstance(op, GetOp) for op in wanted) else self._writers
            found = await threads.run(partial(self.batch, wanted))
            for place, result in zip(left, found, strict=True):
                results[place] = result
                self._recent.add(every[place], result)
        return results

    def _read(self, gets: Iterable[GetOp]) -> list[Result]:
        # LangGraph would write for each item that is read when it is to be forgotten; nothing here ever is.
        wanted = [(place, op._replace(refresh_ttl=False)) for place, op in enumerate(gets)]
        found: list[Result] = [None] * len(wanted)
        with self._reading:
            self._batch_get_ops(wanted, found, self._reader.cursor())
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


class _Recent:
    """A cache of the texts used last, which each call of a researcher shows again.

    A text stands under its hash, so that nobody can have changed it meanwhile.
    """

    def __init__(self) -> None:
        self._items: OrderedDict[tuple[tuple[str, ...], str], Item] = OrderedDict()
        self._characters = 0

    def get(self, op: GetOp) -> Item | None:
        """Return the cached text, if there is one."""
        name = (op.namespace, op.key)
        if name in self._items:
            self._items.move_to_end(name)
        return self._items.get(name)

    def add(self, op: Op, result: Result) -> None:
        """Cache what was read or written."""
        if not isinstance(op, GetOp | PutOp) or not _HASH.fullmatch(op.key):
            return
        # Several may have read it at the same time.
        self._forget((op.namespace, op.key))
        if isinstance(op, PutOp):
            now = datetime.now(UTC)
            result = Item(
                value={**(op.value or {})}, key=op.key, namespace=op.namespace, created_at=now, updated_at=now
            )
        if isinstance(result, Item) and _size(result):
            self._items[op.namespace, op.key] = result
            self._characters += _size(result)
            while self._characters > RECENT_CHARACTERS:
                self._forget(next(iter(self._items)))

    def _forget(self, name: tuple[tuple[str, ...], str]) -> None:
        if item := self._items.pop(name, None):
            self._characters -= _size(item)


def _size(item: Item) -> int:
    text = item.value.get(TEXT)
    return len(text) if isinstance(text, str) else 0


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA journal_mode = WAL")
    # The next checkpoint takes to the disk what was written before it.
    connection.execute("PRAGMA synchronous = NORMAL")
    return connection


def _packed(op: PutOp) -> PutOp:
    """Return the operation with its text compressed, if that is long."""
    text = (op.value or {}).get(TEXT)
    if op.value is None or not isinstance(text, str) or len(text) < PACKED_CHARACTERS:
        return op
    packed = base64.b64encode(zlib.compress(text.encode("utf-8", "surrogatepass"), FAST)).decode()
    return op._replace(value={**{name: value for name, value in op.value.items() if name != TEXT}, PACKED: packed})


def _value(stored: Any) -> dict[str, Any]:
    """Decode a stored value; an unreadable one becomes a mark, so that it does not fail the whole batch."""
    try:
        value = json.loads(stored)
        if PACKED in value:
            opened = zlib.decompressobj()
            text = opened.decompress(base64.b64decode(value.pop(PACKED)), LONGEST_BYTES)
            value[TEXT] = text.decode("utf-8", "surrogatepass")
    except (ValueError, TypeError, zlib.error):
        value = None
    return value if isinstance(value, dict) else {DAMAGED: True}


def unusable(path: Path, error: sqlite3.Error) -> DatabaseUnusable:
    """Return the error that tells the user of a database error."""
    return DatabaseUnusable(f"The database {str(path)!r} cannot be used: {error} (setting data_dir).")

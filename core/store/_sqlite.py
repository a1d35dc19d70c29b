"""Stores checkpoints, texts and leases in one SQLite file."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import aiosqlite
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple, get_checkpoint_id
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.checkpoint.sqlite.utils import search_where
from langgraph.store.base import GetOp, Op, PutOp, Result
from langgraph.store.sqlite import SqliteStore
from typing_extensions import override

from ..concurrency import Threads
from ._holder import Holder, Process
from ._lease import FENCED, Lease, Leases
from ._packing import packed, unpacked
from ._saver import CheckpointKey, RunSaver, config_of
from ._serializer import StrictSerializer
from ._shielded import ShieldedTasks
from .location import BUSY_SECONDS, HOLDER, VERSION, is_damage, sqlite_unusable

_REFUSE_WITHOUT_LEASE = f"""
WHEN (SELECT owner FROM main.leases WHERE thread_id = NEW.thread_id)
    IS NOT (SELECT owner FROM held WHERE thread_id = NEW.thread_id)
BEGIN SELECT RAISE(ABORT, '{FENCED}'); END
"""  # noqa: S608 - made of constants
"""End of a trigger that refuses a row unless this connection holds the thread's lease, or nobody
does."""
_SCHEMA = f"""
CREATE TABLE IF NOT EXISTS leases (
    thread_id TEXT PRIMARY KEY, owner TEXT NOT NULL, pid INTEGER NOT NULL, birth TEXT NOT NULL,
    machine TEXT NOT NULL, since TEXT NOT NULL, renewed REAL NOT NULL
);
CREATE TEMP TABLE held (thread_id TEXT PRIMARY KEY, owner TEXT NOT NULL);
CREATE TEMP TRIGGER fence_checkpoints BEFORE INSERT ON main.checkpoints {_REFUSE_WITHOUT_LEASE};
CREATE TEMP TRIGGER fence_writes BEFORE INSERT ON main.writes {_REFUSE_WITHOUT_LEASE};
"""
"""The table of leases, and for this connection a table of the leases that it holds, and
triggers."""
_TAKE = """
INSERT INTO leases (thread_id, owner, pid, birth, machine, since, renewed)
VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (thread_id) DO UPDATE SET owner = excluded.owner, pid = excluded.pid,
    birth = excluded.birth, machine = excluded.machine, since = excluded.since,
    renewed = excluded.renewed
WHERE leases.owner = ?
"""
_LATEST = """
SELECT checkpoint_id FROM checkpoints WHERE thread_id = ? AND checkpoint_ns = ?
ORDER BY rowid DESC LIMIT 1
"""
_BEFORE = (
    "rowid < (SELECT max(rowid) FROM checkpoints WHERE checkpoint_id = ? "
    "AND thread_id = coalesce(?, thread_id))"
)
"""Condition for checkpoints written before this one, of a thread or (NULL) of any."""


class SqliteLeases(Leases):
    """Leases in an SQLite file; over the connection that writes checkpoints, since its triggers
    check them."""

    errors = sqlite3.Error

    def __init__(
        self, connection: aiosqlite.Connection, lock: asyncio.Lock, shielded: ShieldedTasks
    ) -> None:
        super().__init__(shielded)
        self._connection, self._lock = connection, lock

    async def setup(self) -> None:
        """Create the tables and triggers, in a file that already has the tables of checkpoints."""
        async with self._lock:
            await self._connection.executescript(_SCHEMA)

    async def _write_taken(self, lease: Lease, process: Process, stale_owner: str) -> bool:
        since = datetime.now(UTC).isoformat()
        async with self._transaction():
            row = (lease.thread_id, lease.owner, *process, since, time.monotonic(), stale_owner)
            cursor = await self._connection.execute(_TAKE, row)
            if cursor.rowcount < 1:
                return False
            await self._connection.execute("INSERT OR REPLACE INTO held VALUES (?, ?)", row[:2])
            return True

    async def _write_renewed(self, lease: Lease) -> bool:
        async with self._transaction():
            query = "UPDATE leases SET renewed = ? WHERE thread_id = ? AND owner = ?"
            row = (time.monotonic(), lease.thread_id, lease.owner)
            return (await self._connection.execute(query, row)).rowcount > 0

    async def _release(self, lease: Lease) -> None:
        async with self._transaction():
            row = (lease.thread_id, lease.owner)
            await self._connection.execute(
                "DELETE FROM leases WHERE thread_id = ? AND owner = ?", row
            )
            await self._connection.execute(
                "DELETE FROM held WHERE thread_id = ? AND owner = ?", row
            )

    async def _holder(self, thread_id: str) -> Holder | None:
        async with self._lock, self._connection.execute(HOLDER, (thread_id,)) as rows:
            row = await rows.fetchone()
        return Holder.of_row(tuple(row)) if row else None

    @asynccontextmanager
    async def _transaction(self) -> AsyncIterator[None]:
        async with self._lock:
            try:
                yield
                await self._connection.commit()
            except sqlite3.Error:
                await self._connection.rollback()
                raise


class SqliteRunSaver(RunSaver, AsyncSqliteSaver):
    """LangGraph's SQLite saver, with checkpoints ordered by time of writing.

    LangGraph orders them by id, which begins with a timestamp: after a clock was set back, an old
    checkpoint would count as the latest.
    """

    tables: ClassVar[Mapping[str, str]] = {
        "checkpoints": (
            "checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata"
        ),
        "writes": "checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, value",
    }
    order = "rowid"
    run_id = "json_extract(CAST(metadata AS TEXT), '$.run_id')"
    members = "SELECT value FROM json_each(?)"
    join = "CROSS JOIN"
    setting = "data_dir"

    def __init__(self, connection: aiosqlite.Connection, path: Path) -> None:
        RunSaver.__init__(self)
        self._path, self.file = path, f"; the file is {str(path)!r}"
        AsyncSqliteSaver.__init__(self, connection, serde=StrictSerializer(has_checksums=True))
        self.leases: SqliteLeases = SqliteLeases(connection, self.lock, self.shielded)

    @override
    async def rows(self, query: str, *parameters: Any) -> list[tuple[Any, ...]]:
        await self.setup()
        async with self.lock, self.conn.execute(query, parameters) as rows:
            return [tuple(row) async for row in rows]

    @override
    async def change(self, *statements: tuple[str, Iterable[tuple[Any, ...]]]) -> None:
        await self.setup()
        async with self.lock:
            for query, parameters in statements:
                await self.conn.executemany(query, parameters)
            await self.conn.commit()

    @asynccontextmanager
    async def fence(self, thread_id: str) -> AsyncIterator[None]:  # noqa: ARG002 - the connection's triggers check it
        """Roll back a refused transaction, which LangGraph leaves open: it would lock the file for
        all others."""
        try:
            yield
        except sqlite3.Error as error:
            with suppress(sqlite3.Error):
                async with self.lock:
                    await self.conn.rollback()
            if is_damage(error):
                raise sqlite_unusable(self._path, error) from error
            raise

    @override
    async def state_version(self, thread_id: str) -> str:
        rows = await self.rows(f"{VERSION} WHERE thread_id = ? GROUP BY thread_id", thread_id)
        return str(rows[0][0]) if rows else ""

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return the checkpoint with the id in `config`; without an id, the one written last."""
        if not get_checkpoint_id(config):
            thread = str(config["configurable"]["thread_id"])
            namespace = config["configurable"].get("checkpoint_ns", "")
            latest = await self.rows(_LATEST, thread, namespace)
            if not latest:
                return None
            [(checkpoint_id,)] = latest
            config = config_of(CheckpointKey(thread, namespace, checkpoint_id))
        return await super().aget_tuple(config)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Yield checkpoints, the one written last first."""
        where, parameters = search_where(config, filter)
        if before:
            # A copied thread has the same checkpoint ids.
            thread = config["configurable"]["thread_id"] if config else None
            where = f"{where} AND {_BEFORE}" if where else f"WHERE {_BEFORE}"
            parameters = (*parameters, get_checkpoint_id(before), thread)
        if limit is None:
            # SQLite's word for no limit.
            limit = -1
        query = (
            # The conditions are LangGraph's and a constant; values are parameters.
            "SELECT thread_id, checkpoint_ns, checkpoint_id "  # noqa: S608
            f"FROM checkpoints {where} ORDER BY rowid DESC LIMIT ?"
        )
        for row in await self.rows(query, *parameters, limit):
            checkpoint = await self.aget_tuple(config_of(CheckpointKey(*row)))
            if checkpoint:
                yield checkpoint


class PageStore(SqliteStore):
    """LangGraph's SQLite store with a second connection for reads, so that they do not wait for
    writes.

    A batch of operations that has started is completed even if its caller is cancelled.
    """

    def __init__(self, path: Path) -> None:
        SqliteStore.__init__(self, _connect(path), deserializer=partial(unpacked, file=str(path)))
        self._path = path
        self._reader = _connect(path)
        self._reading = threading.Lock()
        self._readers, self._writers = Threads("read texts", 1), Threads("write texts", 1)
        self.setup()

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Run the operations in one transaction; raises `DatabaseUnusable`."""
        batch: list[Op] = []
        gets: list[GetOp] = []
        for op in ops:
            batch.append(packed(op) if isinstance(op, PutOp) else op)
            if isinstance(op, GetOp):
                gets.append(op)
        try:
            if len(gets) == len(batch):
                return self._read(gets)
            return super().batch(batch)
        except sqlite3.Error as error:
            # Otherwise a full disk would look like the failure of one researcher.
            raise sqlite_unusable(self._path, error) from error

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Run the operations in a thread."""
        batch = list(ops)
        only_reads = all(isinstance(op, GetOp) for op in batch)
        threads = self._readers if only_reads else self._writers
        return await threads.run(self.batch, batch)

    def _read(self, gets: Iterable[GetOp]) -> list[Result]:
        # LangGraph would write a new expiry date for each item read; nothing here expires.
        wanted = [(index, op._replace(refresh_ttl=False)) for index, op in enumerate(gets)]
        results: list[Result] = [None] * len(wanted)
        with self._reading:
            try:
                self._batch_get_ops(wanted, results, self._reader.cursor())
            except ValueError as error:  # LangGraph's, for names and values that it has not written
                raise sqlite_unusable(self._path, error) from error
        return results

    @contextmanager
    def _cursor(self, *, transaction: bool = True) -> Iterator[sqlite3.Cursor]:
        with self.lock:
            # LangGraph's transaction reads first and then writes. SQLite refuses that upgrade at
            # once, whatever the timeout, if another connection wrote in between.
            if transaction:
                self.conn.execute("BEGIN IMMEDIATE")
            try:
                yield self.conn.cursor()
            except BaseException:
                # Also if the thread is stopped: a transaction left open would lock out all other
                # writers.
                if self.conn.in_transaction:
                    self.conn.execute("ROLLBACK")
                raise
            if transaction:
                self.conn.execute("COMMIT")

    def close(self) -> None:
        """Wait for running reads and writes, and close the file."""
        with self.lock, self._reading:
            self.conn.close()
            self._reader.close()


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(
        path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA journal_mode = WAL")
    # The next checkpoint, written with FULL, syncs the earlier writes as well.
    connection.execute("PRAGMA synchronous = NORMAL")
    return connection

"""Stores checkpoints, texts and leases in a PostgreSQL database, which processes on several
machines can share."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any, ClassVar
from uuid import UUID

import psycopg
from langgraph.checkpoint.base import id as checkpoint_ids
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.store.base import Item, Op, PutOp, Result
from langgraph.store.postgres.aio import AsyncPostgresStore
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool
from typing_extensions import override

from ..concurrency import Locks, PerLoop
from ..errors import DatabaseUnusable
from ..settings.limits import DATABASE
from ._holder import Holder, Process
from ._lease import FENCED, Lease, Leases
from ._packing import TEXT, packed, unpacked
from ._saver import RunSaver
from ._serializer import StrictSerializer
from ._shielded import ShieldedTasks

_CONNECT_SECONDS = 10
_CONNECTIONS = 8
"""Maximum connections of a process; a run needs one for a few milliseconds at a time."""
_WAIT_SECONDS = 30.0
"""Seconds to wait for a free connection of the pool."""
_SETUP_LOCK = 0x44525331
"""Number of the advisory lock that a process holds while it creates the tables."""
_SETUP_SECONDS = 0.1
"""Seconds between attempts to get that lock."""

_LEASES = """
CREATE TABLE IF NOT EXISTS research_leases (
    thread_id TEXT PRIMARY KEY, owner TEXT NOT NULL, pid INTEGER NOT NULL, birth TEXT NOT NULL,
    machine TEXT NOT NULL, since TEXT NOT NULL, renewed TIMESTAMPTZ NOT NULL
)
"""
_TAKE = """
INSERT INTO research_leases VALUES (%s, %s, %s, %s, %s, %s, clock_timestamp())
ON CONFLICT (thread_id) DO UPDATE SET owner = excluded.owner, pid = excluded.pid,
    birth = excluded.birth, machine = excluded.machine, since = excluded.since,
    renewed = excluded.renewed
WHERE research_leases.owner = %s
"""
_HOLDER = """
SELECT owner, pid, birth, machine, since, extract(epoch FROM clock_timestamp() - renewed)::float8
FROM research_leases WHERE thread_id = %s
"""
_NEWEST = "SELECT max(checkpoint_id) FROM checkpoints WHERE thread_id = %s"

Pool = AsyncConnectionPool[psycopg.AsyncConnection[DictRow]]
_pools = PerLoop(dict[str, tuple[Pool, int]])
"""The connection pools of an event loop by address of the database, each with its number of
users."""
_opening = Locks()
_written_thread: ContextVar[str] = ContextVar("written_thread", default="")
"""Id of the thread whose checkpoint the current asyncio task is writing; empty if none."""


@asynccontextmanager
async def open_postgres(address: str) -> AsyncIterator[tuple[PostgresRunSaver, PostgresPageStore]]:
    """Open the saver and the store of a database; creates missing tables.

    Raises `DatabaseUnusable` if it is unreachable or refuses the user.
    """
    try:
        async with _pool_of(address) as pool:
            saver, store = PostgresRunSaver(pool), PostgresPageStore(pool, address)
            try:
                yield saver, store
            finally:
                await store.shielded.end()
                await saver.shielded.end()
    except psycopg.Error as error:
        raise postgres_unusable(address, error) from error


@asynccontextmanager
async def _pool_of(address: str) -> AsyncIterator[Pool]:
    """Yield the connection pool for a database that all on this event loop share; the last user
    closes it."""
    pools = _pools.get()
    async with _opening.lock(address):
        if address not in pools:
            pools[address] = await _open_pool(address), 0
        pool, users = pools[address]
        pools[address] = pool, users + 1
    try:
        yield pool
    finally:
        async with _opening.lock(address):
            pool, users = pools.pop(address)
            if users > 1:
                pools[address] = pool, users - 1
            else:
                await pool.close()


async def _open_pool(address: str) -> Pool:
    """Create missing tables and return a new connection pool."""
    # As LangGraph connects, but without automatically prepared statements, which do not work
    # through a pooler.
    settings: dict[str, Any] = {
        "autocommit": True,
        "prepare_threshold": None,
        "row_factory": dict_row,
    }
    settings["connect_timeout"] = _CONNECT_SECONDS
    async with await psycopg.AsyncConnection.connect(address, **settings) as connection:
        # Waiting inside the statement would hold a snapshot, and the other process's CREATE INDEX
        # would wait for its end.
        query = "SELECT pg_try_advisory_lock(%s) AS is_ours"
        while True:
            cursor = await connection.execute(query, (_SETUP_LOCK,))
            row = await cursor.fetchone()
            if row and row["is_ours"]:
                break
            await asyncio.sleep(_SETUP_SECONDS)
        await AsyncPostgresSaver(connection).setup()
        await AsyncPostgresStore(connection).setup()
        await connection.execute(_LEASES)
    pool: Pool = AsyncConnectionPool(
        address,
        min_size=1,
        max_size=_CONNECTIONS,
        timeout=_WAIT_SECONDS,
        kwargs=settings,
        check=AsyncConnectionPool.check_connection,
        open=False,
    )
    await pool.open()
    return pool


class PostgresLeases(Leases):
    """Leases in a PostgreSQL database, timed by its clock."""

    errors = psycopg.Error
    table = "research_leases"

    def __init__(self, pool: Pool, shielded: ShieldedTasks) -> None:
        super().__init__(shielded)
        self._pool = pool

    async def _write_taken(self, lease: Lease, process: Process, stale_owner: str) -> bool:
        since = datetime.now(UTC).isoformat()
        async with self._pool.connection() as connection:
            row = (lease.thread_id, lease.owner, *process, since, stale_owner)
            if (await connection.execute(_TAKE, row)).rowcount < 1:
                return False
            newest = await (await connection.execute(_NEWEST, (lease.thread_id,))).fetchone()
        if newest and newest["max"]:
            _go_on_after(newest["max"])
        return True

    async def _write_renewed(self, lease: Lease) -> bool:
        query = (
            "UPDATE research_leases SET renewed = clock_timestamp() "
            "WHERE thread_id = %s AND owner = %s"
        )
        async with self._pool.connection() as connection:
            return (await connection.execute(query, (lease.thread_id, lease.owner))).rowcount > 0

    async def _release(self, lease: Lease) -> None:
        query = "DELETE FROM research_leases WHERE thread_id = %s AND owner = %s"
        async with self._pool.connection() as connection:
            await connection.execute(query, (lease.thread_id, lease.owner))

    async def _holder(self, thread_id: str) -> Holder | None:
        async with self._pool.connection() as connection:
            row = await (await connection.execute(_HOLDER, (thread_id,))).fetchone()
        if row is None:
            return None
        owner, *process, since, age = row.values()
        return Holder(owner, Process(*process), since, age)


def _go_on_after(checkpoint_id: str) -> None:
    """Make the ids of this process's next checkpoints greater than this one.

    LangGraph takes the checkpoint with the greatest id for the latest. Ids begin with a timestamp,
    and the clock of the machine that ran the thread before may be ahead of ours.
    """
    try:
        newest = checkpoint_ids.UUID(hex=UUID(checkpoint_id).hex).time
    except ValueError:
        return
    known: Any = checkpoint_ids
    known._last_v6_timestamp = max(known._last_v6_timestamp or 0, newest)


class PostgresRunSaver(RunSaver, AsyncPostgresSaver):
    """LangGraph's PostgreSQL saver, with leases and several connections at a time."""

    tables: ClassVar[Mapping[str, str]] = {
        "checkpoints": (
            "checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata"
        ),
        "checkpoint_writes": (
            "checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, blob"
        ),
        "checkpoint_blobs": "checkpoint_ns, channel, version, type, blob",
    }
    order = "checkpoint_id"
    run_id = "metadata ->> 'run_id'"
    members = "SELECT json_array_elements_text(?::json)"
    join = "JOIN"
    setting = DATABASE

    def __init__(self, pool: Pool) -> None:
        RunSaver.__init__(self)
        AsyncPostgresSaver.__init__(self, pool, serde=StrictSerializer(has_checksums=True))
        self._pool = pool
        self.leases: PostgresLeases = PostgresLeases(pool, self.shielded)

    @override
    async def rows(self, query: str, *parameters: Any) -> list[tuple[Any, ...]]:
        async with self._pool.connection() as connection:
            found = await connection.execute(_for_psycopg(query), parameters)
            return [tuple(row.values()) for row in await found.fetchall()]

    @override
    async def change(self, *statements: tuple[str, Iterable[tuple[Any, ...]]]) -> None:
        async with (
            self._pool.connection() as connection,
            connection.transaction(),
            connection.cursor() as cursor,
        ):
            for query, parameters in statements:
                await cursor.executemany(_for_psycopg(query), list(parameters))

    @asynccontextmanager
    async def fence(self, thread_id: str) -> AsyncIterator[None]:
        """Have `_cursor` refuse writes in the block unless this process holds the thread's lease,
        or nobody does."""
        token = _written_thread.set(thread_id)
        try:
            yield
        finally:
            _written_thread.reset(token)

    @asynccontextmanager
    async def _cursor(
        self, *, pipeline: bool = False
    ) -> AsyncIterator[psycopg.AsyncCursor[DictRow]]:
        async with _cursor_of(self._pool, pipeline=pipeline) as cursor:
            thread = _written_thread.get()
            if pipeline and thread:
                query = "SELECT owner FROM research_leases WHERE thread_id = %s FOR SHARE"
                row = await (await cursor.execute(query, (thread,))).fetchone()
                owner = row["owner"] if row else None
                if owner != self.leases.owner(thread):
                    raise psycopg.IntegrityError(FENCED)
            yield cursor


class PostgresPageStore(AsyncPostgresStore):
    """LangGraph's PostgreSQL store, with several connections at a time and values like those in an
    SQLite file."""

    def __init__(self, pool: Pool, address: str) -> None:
        AsyncPostgresStore.__init__(self, pool)
        self._pool, self._address = pool, address
        self.shielded = ShieldedTasks()

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Run the operations in one transaction; raises `DatabaseUnusable` for errors of the
        database."""
        batch = list(ops)
        for index, op in enumerate(batch):
            if isinstance(op, PutOp) and op.value is not None:
                # Each value is one text: PostgreSQL's JSON rejects some characters of pages.
                batch[index] = packed(op._replace(value={TEXT: json.dumps(op.value)}))
        try:
            results = await self.shielded.do(super().abatch(batch))
        except psycopg.Error as error:
            raise postgres_unusable(self._address, error) from error
        for result in results:
            for item in result if isinstance(result, list) else [result]:
                if isinstance(item, Item):
                    value = unpacked(json.dumps(item.value))
                    if TEXT in value:
                        value = unpacked(value[TEXT])
                    item.value = value
        return results

    def _cursor(self, *, pipeline: bool = False) -> Any:
        return _cursor_of(self._pool, pipeline=pipeline)


@asynccontextmanager
async def _cursor_of(pool: Pool, *, pipeline: bool) -> AsyncIterator[psycopg.AsyncCursor[DictRow]]:
    """Replace LangGraph's method `_cursor`, which lets only one caller at a time use the pool."""
    async with (
        pool.connection() as connection,
        connection.transaction() if pipeline else nullcontext(),
        connection.cursor(binary=True) as cursor,
    ):
        yield cursor


def _for_psycopg(query: str) -> str:
    """Return a query with `?` parameters in psycopg's notation."""
    return query.replace("?", "%s")


def query_postgres(
    address: str, query: str, parameters: Sequence[str], seconds: float
) -> list[tuple[Any, ...]]:
    """Return the rows of a query with `?` parameters, over a connection of its own; none if there
    is no such table.

    Raises `DatabaseUnusable`, also if no connection is made within this many seconds.
    """
    try:
        with psycopg.connect(
            address, connect_timeout=max(1, round(seconds)), autocommit=True
        ) as connection:
            return connection.execute(_for_psycopg(query).encode(), parameters).fetchall()
    except psycopg.errors.UndefinedTable:
        return []
    except psycopg.Error as error:
        raise postgres_unusable(address, error) from error


def postgres_unusable(address: str, error: psycopg.Error) -> DatabaseUnusable:
    """Return the error for the user that says why a database cannot be used, without the address's
    password."""
    try:
        given = conninfo_to_dict(address)
    except psycopg.Error:
        return DatabaseUnusable(
            "The address of the database cannot be read: write "
            "postgresql://USER:PASSWORD@HOST/NAME, with special characters of the password as %XX "
            f"(setting {DATABASE})."
        )
    database = (
        f"{given.get('host', 'localhost')}:{given.get('port', 5432)}/{given.get('dbname', '')}"
    )
    reason = " ".join(str(error).split())
    password = str(given.get("password") or "")
    if password:
        reason = reason.replace(password, "…")
    return DatabaseUnusable(
        f"The PostgreSQL database at {database} cannot be used: {reason} (setting {DATABASE})."
    )

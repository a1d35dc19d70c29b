"""Keeps checkpoints, page texts and leases in PostgreSQL, for several processes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager, nullcontext
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import psycopg
from langgraph.checkpoint.base import id as checkpoint_ids
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.store.base import Item, Op, PutOp, Result
from langgraph.store.postgres.aio import AsyncPostgresStore
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool

from ..concurrency import Locks, PerLoop, ShieldedTasks
from ..errors import DatabaseUnusable, NewerVersion, StateUnreadable
from ..limits import DATABASE
from .lease import FENCED, Holder, Lease, Leases, Process
from .pages import TEXT, packed, unpacked
from .saver import CheckpointKey, Dialect, RunSaver, config_of
from .serializer import StrictSerializer

CONNECT_SECONDS = 10
CONNECTIONS = 8
"""Connections of a process at most; a run needs one for a few milliseconds at a time."""
WAIT_SECONDS = 30.0
"""Seconds to wait for one of them."""
SETUP_LOCK = 0x44525331
"""Number of the advisory lock under which the tables are made."""
SETUP_SECONDS = 0.1
"""Between two looks at whether another process has made them."""

_LEASES = """
CREATE TABLE IF NOT EXISTS research_leases (
    thread_id TEXT PRIMARY KEY, owner TEXT NOT NULL, pid INTEGER NOT NULL, birth TEXT NOT NULL, machine TEXT NOT NULL,
    since TEXT NOT NULL, renewed TIMESTAMPTZ NOT NULL
)
"""
_TAKE = """
INSERT INTO research_leases VALUES (%s, %s, %s, %s, %s, %s, clock_timestamp())
ON CONFLICT (thread_id) DO UPDATE SET owner = excluded.owner, pid = excluded.pid, birth = excluded.birth,
    machine = excluded.machine, since = excluded.since, renewed = excluded.renewed
WHERE research_leases.owner = %s
"""
_HOLDER = """
SELECT owner, pid, birth, machine, since, extract(epoch FROM clock_timestamp() - renewed)::float8
FROM research_leases WHERE thread_id = %s
"""
_NEWEST = "SELECT max(checkpoint_id) FROM checkpoints WHERE thread_id = %s"
_CHAIN = """
SELECT checkpoint_ns, checkpoint_id, parent_checkpoint_id FROM checkpoints WHERE thread_id = ? ORDER BY checkpoint_id
"""

Pool = AsyncConnectionPool[psycopg.AsyncConnection[DictRow]]
_pools = PerLoop(dict[str, tuple[Pool, int]])
"""The pools of an event loop by their addresses, each with the number of those who have it open."""
_opening = Locks()
_saved: ContextVar[str] = ContextVar("saved", default="")
"""The thread that the task writes a checkpoint of."""


@asynccontextmanager
async def open_postgres(address: str) -> AsyncIterator[tuple[PostgresRunSaver, PostgresPageStore]]:
    """Open the saver and the store of a database, whose tables are made if they are missing.

    Raises `DatabaseUnusable` if it cannot be reached or refuses the user.
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
        raise unusable(address, error) from error


@asynccontextmanager
async def _pool_of(address: str) -> AsyncIterator[Pool]:
    """Give out the pool of a database: one for all that this event loop has open of it, closed with the last."""
    pools = _pools.get()
    async with _opening.alone(address):
        pool, users = pools.get(address) or (await _open_pool(address), 0)
        pools[address] = pool, users + 1
    try:
        yield pool
    finally:
        async with _opening.alone(address):
            pool, users = pools.pop(address)
            if users > 1:
                pools[address] = pool, users - 1
            else:
                await pool.close()


async def _open_pool(address: str) -> Pool:
    # LangGraph's own way of connecting; statements that are prepared by themselves do not pass a pooler.
    settings: dict[str, Any] = {"autocommit": True, "prepare_threshold": None, "row_factory": dict_row}
    async with await psycopg.AsyncConnection.connect(address, connect_timeout=CONNECT_SECONDS, **settings) as one:
        await _set_up(one)
    pool: Pool = AsyncConnectionPool(
        address,
        min_size=1,
        max_size=CONNECTIONS,
        timeout=WAIT_SECONDS,
        kwargs={**settings, "connect_timeout": CONNECT_SECONDS},
        check=AsyncConnectionPool.check_connection,
        open=False,
    )
    await pool.open()
    return pool


async def _set_up(connection: psycopg.AsyncConnection[DictRow]) -> None:
    # To wait within the statement would hold a snapshot, for whose end the index that the other one makes waits.
    query = "SELECT pg_try_advisory_lock(%s) AS is_ours"
    while not (row := await (await connection.execute(query, (SETUP_LOCK,))).fetchone()) or not row["is_ours"]:
        await asyncio.sleep(SETUP_SECONDS)
    await AsyncPostgresSaver(connection).setup()
    await AsyncPostgresStore(connection).setup()
    await connection.execute(_LEASES)


class PostgresLeases(Leases):
    """The leases in a PostgreSQL database; their age is by its clock."""

    errors = psycopg.Error
    table = "research_leases"

    def __init__(self, pool: Pool, unbroken: ShieldedTasks) -> None:
        super().__init__(unbroken)
        self._pool = pool

    async def _write_taken(self, lease: Lease, process: Process, before: str) -> bool:
        since = datetime.now(UTC).isoformat()
        async with self._pool.connection() as connection:
            row = (lease.thread_id, lease.owner, *process, since, before)
            if (await connection.execute(_TAKE, row)).rowcount < 1:
                return False
            newest = await (await connection.execute(_NEWEST, (lease.thread_id,))).fetchone()
        if newest and newest["max"]:
            _go_on_after(newest["max"])
        return True

    async def _write_renewed(self, lease: Lease) -> bool:
        query = "UPDATE research_leases SET renewed = clock_timestamp() WHERE thread_id = %s AND owner = %s"
        async with self._pool.connection() as connection:
            return (await connection.execute(query, (lease.thread_id, lease.owner))).rowcount > 0

    async def _give_back(self, lease: Lease) -> None:
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
    """Let the ids of this process's checkpoints follow this one, whatever its clock says.

    LangGraph takes the checkpoint with the greatest id for the latest. An id begins with the time of day, and the
    machine that ran the thread before may have a clock that is ahead.
    """
    try:
        newest = checkpoint_ids.UUID(hex=UUID(checkpoint_id).hex).time
    except ValueError:
        return
    known: Any = checkpoint_ids
    known._last_v6_timestamp = max(known._last_v6_timestamp or 0, newest)


class PostgresRunSaver(RunSaver, AsyncPostgresSaver):
    """LangGraph's PostgreSQL saver over a pool of connections."""

    dialect = Dialect(
        tables={
            "checkpoints": "checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata",
            "checkpoint_writes": "checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, blob",
            "checkpoint_blobs": "checkpoint_ns, channel, version, type, blob",
        },
        order="checkpoint_id",
        run_id="metadata ->> 'run_id'",
        members="SELECT json_array_elements_text(?::json)",
        join="JOIN",
        setting=DATABASE,
    )

    def __init__(self, pool: Pool) -> None:
        RunSaver.__init__(self)
        AsyncPostgresSaver.__init__(self, pool, serde=StrictSerializer(has_checksums=True))
        self._pool = pool
        self.leases: PostgresLeases = PostgresLeases(pool, self.shielded)

    async def rows(self, query: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """Return the rows of a query, whose parameters stand as `?`."""
        async with self._pool.connection() as connection:
            found = await connection.execute(_placed(query), parameters)
            return [tuple(row.values()) for row in await found.fetchall()]

    async def change(self, *statements: tuple[str, Iterable[tuple[Any, ...]]]) -> None:
        """Carry out statements in one transaction, each for its rows of parameters."""
        async with self._pool.connection() as connection, connection.transaction(), connection.cursor() as cursor:
            for query, parameters in statements:
                await cursor.executemany(_placed(query), list(parameters))

    @asynccontextmanager
    async def fence(self, thread_id: str) -> AsyncIterator[None]:
        """Let what the block writes be refused unless the lease is held here, or by nobody."""
        token = _saved.set(thread_id)
        try:
            yield
        finally:
            _saved.reset(token)

    @asynccontextmanager
    async def _cursor(self, *, pipeline: bool = False) -> AsyncIterator[psycopg.AsyncCursor[DictRow]]:
        async with _cursor_of(self._pool, pipeline=pipeline) as cursor:
            if pipeline and (thread := _saved.get()):
                query = "SELECT owner FROM research_leases WHERE thread_id = %s FOR SHARE"
                row = await (await cursor.execute(query, (thread,))).fetchone()
                if (row["owner"] if row else None) != self.leases.owner(thread):
                    raise psycopg.IntegrityError(FENCED)
            yield cursor

    async def unreadable(self, thread_id: str) -> tuple[set[CheckpointKey], set[tuple[str, str, str, str]]]:
        """Return the checkpoints of a thread that are lost, whether by themselves or by what was written on them."""
        lost, seen = set[CheckpointKey](), set[CheckpointKey]()
        for namespace, checkpoint_id, parent in await self.rows(_CHAIN, thread_id):
            place, above = (
                CheckpointKey(thread_id, namespace, checkpoint_id),
                CheckpointKey(thread_id, namespace, parent),
            )
            seen.add(place)
            if (parent and (above in lost or above not in seen)) or not await self._is_readable(place):
                lost.add(place)
        return lost, set()

    async def _is_readable(self, place: CheckpointKey) -> bool:
        try:
            return bool(await self.aget_tuple(config_of(place)))
        except NewerVersion:
            raise
        except StateUnreadable:
            return False


class PostgresPageStore(AsyncPostgresStore):
    """LangGraph's PostgreSQL store over a pool of connections."""

    def __init__(self, pool: Pool, address: str) -> None:
        AsyncPostgresStore.__init__(self, pool)
        self._pool, self._address = pool, address
        self.shielded = ShieldedTasks()

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Carry out the operations in one transaction; raises `DatabaseUnusable`."""
        every = [_as_text(op) if isinstance(op, PutOp) else op for op in ops]
        try:
            results = await self.shielded.do(super().abatch(every))
        except psycopg.Error as error:
            raise unusable(self._address, error) from error
        return [_from_text(result) for result in results]

    def _cursor(self, *, pipeline: bool = False) -> Any:
        return _cursor_of(self._pool, pipeline=pipeline)


@asynccontextmanager
async def _cursor_of(pool: Pool, *, pipeline: bool) -> AsyncIterator[psycopg.AsyncCursor[DictRow]]:
    # LangGraph's lets one caller at a time use the pool.
    async with (
        pool.connection() as connection,
        connection.transaction() if pipeline else nullcontext(),
        connection.cursor(binary=True) as cursor,
    ):
        yield cursor


def _as_text(op: PutOp) -> PutOp:
    """Return the operation with its value as one text: PostgreSQL takes no JSON with some characters of pages."""
    return op if op.value is None else packed(op._replace(value={TEXT: json.dumps(op.value)}))


def _from_text(result: Result) -> Result:
    for item in result if isinstance(result, list) else [result]:
        if isinstance(item, Item):
            value = unpacked(json.dumps(item.value))
            item.value = unpacked(value[TEXT]) if TEXT in value else value
    return result


def _placed(query: str) -> str:
    return query.replace("?", "%s")


def look_up(address: str, query: str, parameters: Sequence[str], seconds: float) -> list[tuple[Any, ...]]:
    """Return the rows of a query, whose parameters stand as `?`, by a connection of its own.

    Raises `DatabaseUnusable`.
    """
    try:
        with psycopg.connect(address, connect_timeout=max(1, round(seconds)), autocommit=True) as connection:
            return connection.execute(_placed(query).encode(), parameters).fetchall()
    except psycopg.errors.UndefinedTable:
        return []
    except psycopg.Error as error:
        raise unusable(address, error) from error


def unusable(address: str, error: psycopg.Error) -> DatabaseUnusable:
    """Return the error that tells the user of a database error, without the password of the address."""
    try:
        given = conninfo_to_dict(address)
    except psycopg.Error:
        return DatabaseUnusable(
            f"The address of the database cannot be read: write postgresql://USER:PASSWORD@HOST/NAME, with special "
            f"characters of the password as %XX (setting {DATABASE})."
        )
    place = f"{given.get('host', 'localhost')}:{given.get('port', 5432)}/{given.get('dbname', '')}"
    reason = " ".join(str(error).split())
    if password := str(given.get("password") or ""):
        reason = reason.replace(password, "…")
    return DatabaseUnusable(f"The PostgreSQL database at {place} cannot be used: {reason} (setting {DATABASE}).")

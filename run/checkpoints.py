"""Where runs are kept: checkpoints and page texts in one SQLite file."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple

import aiosqlite
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.store.sqlite.aio import AsyncSqliteStore

from deep_research.run.errors import DatabaseUnusable
from deep_research.run.pages import page_namespace
from deep_research.run.serializer import StrictSerializer

FILE_NAME = "runs.sqlite"
APPLICATION_ID = 0x44525331
"""Stamp in the file's header that tells our databases from others."""
BUSY_SECONDS = 30.0
"""Seconds to wait for another process that is writing."""

_OF_RUNS = """
WITH RECURSIVE
    stamped (thread_id, checkpoint_ns, checkpoint_id, parent, run) AS (
        SELECT thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id,
            json_extract(CAST(metadata AS TEXT), '$.run_id')
        FROM checkpoints
    ),
    doomed AS (SELECT * FROM stamped WHERE run IN (SELECT value FROM json_each(?1))),
    needed (thread_id, checkpoint_ns, checkpoint_id, parent) AS (
        SELECT thread_id, checkpoint_ns, checkpoint_id, parent FROM stamped
        WHERE thread_id IN (SELECT thread_id FROM doomed)
            AND (run IS NULL OR run NOT IN (SELECT value FROM json_each(?1)))
        UNION
        SELECT above.thread_id, above.checkpoint_ns, above.checkpoint_id, above.parent_checkpoint_id
        FROM needed JOIN checkpoints AS above ON above.thread_id = needed.thread_id
            AND above.checkpoint_ns = needed.checkpoint_ns AND above.checkpoint_id = needed.parent
    )
SELECT thread_id, checkpoint_ns, checkpoint_id FROM doomed
EXCEPT SELECT thread_id, checkpoint_ns, checkpoint_id FROM needed
"""
_OF_THREAD = "SELECT thread_id, checkpoint_ns, checkpoint_id FROM checkpoints WHERE thread_id = ?"


class Place(NamedTuple):
    """Where a checkpoint stands."""

    thread_id: str
    checkpoint_ns: str
    checkpoint_id: str


class RunSaver(AsyncSqliteSaver):
    """LangGraph's SQLite saver, which takes a thread's page texts along when it is deleted or copied."""

    def __init__(self, connection: aiosqlite.Connection) -> None:
        super().__init__(connection, serde=StrictSerializer())

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Store what a task wrote, unless it was cancelled: then it is to be run anew.

        LangGraph stores what a cancelled node has written so far, perhaps without the edge that leads on from it, and
        takes the task for done when the thread is resumed: it would end there in silence.
        """
        if not any(_is_cancellation(channel, value) for channel, value in writes):
            await super().aput_writes(config, writes, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        """Delete a thread: checkpoints, pending writes and page texts."""
        await super().adelete_thread(thread_id)
        async with self.lock:
            await self.conn.execute("DELETE FROM store WHERE prefix = ?", (_prefix(thread_id),))
            await self.conn.commit()

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy a thread: checkpoints, pending writes and page texts."""
        await self.setup()
        columns = {
            "checkpoints": "checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata",
            "writes": "checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, value",
        }
        async with self.lock:
            for table, names in columns.items():
                await self.conn.execute(
                    # Both names come from the constant above.
                    f"INSERT OR REPLACE INTO {table} (thread_id, {names}) "  # noqa: S608
                    f"SELECT ?, {names} FROM {table} WHERE thread_id = ?",
                    (target_thread_id, source_thread_id),
                )
            await self.conn.execute(
                "INSERT OR REPLACE INTO store (prefix, key, value) SELECT ?, key, value FROM store WHERE prefix = ?",
                (_prefix(target_thread_id), _prefix(source_thread_id)),
            )
            await self.conn.commit()

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete what these runs of the server stored, except for what later checkpoints are built upon.

        Delta channels are rebuilt from all checkpoints before: one that is missing would empty them in silence.
        """
        await self.setup()
        await self._drop(await self._places(_OF_RUNS, json.dumps([str(run_id) for run_id in run_ids])))

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Delete whole threads, or all but the latest checkpoints and those that their channels are rebuilt from."""
        await self.setup()
        for thread_id in map(str, thread_ids):
            if strategy in ("delete", "delete_all"):
                await self.adelete_thread(thread_id)
            elif strategy == "keep_latest":
                places = await self._places(_OF_THREAD, thread_id)
                await self._drop(places - await self._needed(thread_id, {place.checkpoint_ns for place in places}))
            else:
                raise ValueError(f"Unknown strategy {strategy!r}; there are 'keep_latest' and 'delete'.")

    async def _needed(self, thread_id: str, namespaces: Iterable[str]) -> set[Place]:
        """The latest checkpoint of each namespace and its ancestors, back to where all delta channels are whole."""
        needed = set[Place]()
        for namespace in namespaces:
            config: RunnableConfig | None = {"configurable": {"thread_id": thread_id, "checkpoint_ns": namespace}}
            missing: set[str] | None = None
            while config and missing != set() and (found := await self.aget_tuple(config)):
                needed.add(Place(thread_id, namespace, found.checkpoint["id"]))
                if missing is None:
                    missing = set(found.metadata.get("counters_since_delta_snapshot", ()))
                missing -= found.checkpoint["channel_values"].keys()
                config = found.parent_config
        return needed

    async def _places(self, query: str, parameter: str) -> set[Place]:
        async with self.lock, self.conn.execute(query, (parameter,)) as rows:
            return {Place(*row) async for row in rows}

    async def _drop(self, places: Iterable[Place]) -> None:
        """Delete checkpoints and what was written on them."""
        rows = list(places)
        condition = "WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ?"
        async with self.lock:
            await self.conn.executemany(f"DELETE FROM checkpoints {condition}", rows)  # noqa: S608 - a constant
            await self.conn.executemany(f"DELETE FROM writes {condition}", rows)  # noqa: S608 - a constant
            await self.conn.commit()

    async def thread_ids(self) -> list[str]:
        """All threads, the latest first."""
        await self.setup()
        query = "SELECT thread_id FROM checkpoints GROUP BY thread_id ORDER BY max(checkpoint_id) DESC"
        async with self.lock, self.conn.execute(query) as rows:
            return [str(row[0]) async for row in rows]


class PageStore(AsyncSqliteStore):
    """LangGraph's SQLite store, which waits for its turn when the saver or another process is writing.

    LangGraph's opens a transaction that first reads and then writes; SQLite refuses the step from one to the other at
    once, whatever the timeout, if somebody else wrote in between.
    """

    def __init__(self, connection: aiosqlite.Connection, path: Path) -> None:
        """`path` is for messages."""
        super().__init__(connection)
        self._path = path

    @asynccontextmanager
    async def _cursor(self, *, transaction: bool = True) -> AsyncIterator[aiosqlite.Cursor]:
        try:
            async with self.lock, self._transaction(transaction), self.conn.cursor() as cursor:
                yield cursor
        except sqlite3.Error as error:
            # Else a disk that is full would look like the failure of one researcher.
            raise unusable(self._path, error) from error

    @asynccontextmanager
    async def _transaction(self, is_wanted: bool) -> AsyncIterator[None]:
        if not is_wanted:
            yield
            return
        await self.conn.execute("BEGIN IMMEDIATE")
        try:
            yield
        finally:
            await self.conn.commit()

    async def aclose(self) -> None:
        """End the task that the store works with, which would complain if the loop ended before it."""
        if self._task:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)


class Database(NamedTuple):
    """A file of runs, open."""

    saver: RunSaver
    store: PageStore


@asynccontextmanager
async def open_database(path: Path) -> AsyncIterator[Database]:
    """Open a file of runs, made if it is missing; belongs to the event loop that it was opened on.

    Raises `DatabaseUnusable` if the file is corrupt, foreign, locked or cannot be written.
    """
    await asyncio.to_thread(_prepare, path)
    try:
        # The saver groups its writes by itself; the store counts on statements that commit at once.
        async with _connect(path, "DEFERRED") as for_saver, _connect(path, None) as for_store:
            saver, store = RunSaver(for_saver), PageStore(for_store, path)
            await store.setup()
            await saver.setup()
            try:
                yield Database(saver, store)
            finally:
                await store.aclose()
    except sqlite3.Error as error:
        raise unusable(path, error) from error


def unusable(path: Path, error: sqlite3.Error) -> DatabaseUnusable:
    """What to tell the user of a database error."""
    return DatabaseUnusable(f"The database {str(path)!r} cannot be used: {error} (setting data_dir).")


@asynccontextmanager
async def _connect(path: Path, isolation_level: Literal["DEFERRED"] | None) -> AsyncIterator[aiosqlite.Connection]:
    connection = aiosqlite.connect(path, timeout=BUSY_SECONDS, isolation_level=isolation_level)
    # A database that an app never closes must not keep its process alive.
    connection._thread.daemon = True
    async with connection:
        await connection.execute("PRAGMA trusted_schema = OFF")
        await connection.execute("PRAGMA journal_mode = WAL")
        await connection.execute("PRAGMA synchronous = FULL")
        yield connection


def _prepare(path: Path) -> None:
    """Make the folder (0700) and the file (0600) and check that the file is ours."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _create(path)
        with sqlite3.connect(path, timeout=BUSY_SECONDS) as connection:
            known = connection.execute("PRAGMA application_id").fetchone()[0]
            tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
            if not tables and not known:
                connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                known = APPLICATION_ID
        connection.close()
    except OSError as error:
        raise DatabaseUnusable(
            f"The database {str(path)!r} cannot be opened: {error.strerror} (setting data_dir)."
        ) from error
    except sqlite3.Error as error:
        raise unusable(path, error) from error
    if known != APPLICATION_ID:
        raise DatabaseUnusable(f"{str(path)!r} is a database of another program (setting data_dir).")


def _create(path: Path) -> None:
    # A file that exists is left to SQLite: closing it here would drop the locks that this process has on it, and the
    # next process to close the database would take itself for the last one and delete what was not yet merged.
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        return


def _is_cancellation(channel: str, value: Any) -> bool:
    return channel == "__error__" and isinstance(value, asyncio.CancelledError)


def _prefix(thread_id: str) -> str:
    return ".".join(page_namespace(thread_id))

"""Keeps checkpoints in SQLite, with what a server asks of a saver."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, NamedTuple

import aiosqlite
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
    get_checkpoint_id,
)
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.checkpoint.sqlite.utils import search_where

from ...records.research import Value
from ..concurrency import ShieldedTasks, shielded
from ..errors import NewerVersion, NotSaved, StateUnreadable, StopsTheRun
from .lease import FENCED, Leases
from .pages import page_namespace
from .serializer import StrictSerializer

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
PARENTS_CUT = """
UPDATE checkpoints SET parent_checkpoint_id = NULL
WHERE parent_checkpoint_id IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM checkpoints AS above WHERE above.thread_id = checkpoints.thread_id
    AND above.checkpoint_ns = checkpoints.checkpoint_ns AND above.checkpoint_id = checkpoints.parent_checkpoint_id
);
"""
"""Makes first in their chain the checkpoints whose parents were deleted on purpose: any other parent that is missing
was lost."""
_TORN = """
WITH RECURSIVE chain (id, parent) AS (
    SELECT checkpoint_id, parent_checkpoint_id FROM checkpoints
    WHERE thread_id = ?1 AND checkpoint_ns = ?2 AND checkpoint_id = ?3
    UNION
    SELECT above.checkpoint_id, above.parent_checkpoint_id FROM chain CROSS JOIN checkpoints AS above
    ON above.thread_id = ?1 AND above.checkpoint_ns = ?2 AND above.checkpoint_id = chain.parent
)
SELECT 1 FROM chain WHERE parent IS NOT NULL AND parent NOT IN (SELECT id FROM chain)
"""
_CHAIN = """
SELECT checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata
FROM checkpoints WHERE thread_id = ? ORDER BY rowid
"""
_WRITES = "SELECT checkpoint_ns, checkpoint_id, task_id, type, value FROM writes WHERE thread_id = ?"
_LATEST = """
SELECT checkpoint_id FROM checkpoints WHERE thread_id = ? AND checkpoint_ns = ? ORDER BY rowid DESC LIMIT 1
"""
_BEFORE = "rowid < (SELECT max(rowid) FROM checkpoints WHERE checkpoint_id = ? AND thread_id = coalesce(?, thread_id))"


class Place(NamedTuple):
    """Where a checkpoint stands."""

    thread_id: str
    checkpoint_ns: str
    checkpoint_id: str


class BranchNotSaved(NotSaved, StopsTheRun):
    """The same within a branch, whose error handlers it must pass; of the whole run LangGraph would pass it over."""


class RunSaver(AsyncSqliteSaver):
    """LangGraph's SQLite saver, with checkpoints in the order in which they were written.

    LangGraph orders them by their ids, which begin with the time of day: after a clock was set back, an old checkpoint
    would be taken for the latest. It also takes a thread's page texts along when it is deleted or copied.
    """

    def __init__(self, connection: aiosqlite.Connection) -> None:
        super().__init__(connection, serde=StrictSerializer(has_checksums=True))
        self.shielded = ShieldedTasks()
        """What is being written."""
        self.leases = Leases(connection, self.lock, self.shielded)
        """Who may write to which thread."""

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return the checkpoint with this id; without an id, the one of this place that was written last.

        Raises `StateUnreadable`.
        """
        thread, namespace = str(config["configurable"]["thread_id"]), config["configurable"].get("checkpoint_ns", "")
        if not get_checkpoint_id(config):
            await self.setup()
            async with self.lock, self.conn.execute(_LATEST, (thread, namespace)) as rows:
                found = await rows.fetchone()
            if not found:
                return None
            config = _config(Place(thread, namespace, found[0]))
        return await _readable(thread, super().aget_tuple(config))

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """Return what was written to channels since they were last whole; raises `StateUnreadable`."""
        return await _readable(str(config["configurable"]["thread_id"]), self._history(config, channels))

    async def _history(self, config: RunnableConfig, channels: Sequence[str]) -> Mapping[str, DeltaChannelHistory]:
        history = await super().aget_delta_channel_history(config=config, channels=channels)
        # LangGraph takes the end of a chain for its beginning, where all channels are empty.
        if any("seed" not in of_channel for of_channel in history.values()):
            asked = config["configurable"]
            place = (str(asked["thread_id"]), asked.get("checkpoint_ns", ""), get_checkpoint_id(config))
            async with self.lock, self.conn.execute(_TORN, place) as rows:
                if await rows.fetchone():
                    raise StateUnreadable("a checkpoint is missing")
        return history

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """List checkpoints, the one written last first."""
        await self.setup()
        where, parameters = search_where(config, filter)
        if before:
            # A copied thread has the same ids.
            thread = config["configurable"]["thread_id"] if config else None
            where = f"{where} AND {_BEFORE}" if where else f"WHERE {_BEFORE}"
            parameters = (*parameters, get_checkpoint_id(before), thread)
        query = (
            # The conditions are LangGraph's and the constant above; values are parameters.
            f"SELECT thread_id, checkpoint_ns, checkpoint_id FROM checkpoints {where} "  # noqa: S608
            "ORDER BY rowid DESC LIMIT ?"
        )
        async with self.lock, self.conn.execute(query, (*parameters, -1 if limit is None else limit)) as rows:
            places = [Place(*row) async for row in rows]
        for place in places:
            if found := await self.aget_tuple(_config(place)):
                yield found

    @shielded
    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint."""
        async with self._saving(config):
            return await super().aput(config, checkpoint, metadata, new_versions)

    @shielded
    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Store what a task wrote, unless it was cancelled: then it is to be run anew.

        LangGraph stores what a cancelled node has written so far, perhaps without the edge that leads on from it, and
        takes the task for done when the thread is resumed: it would end there in silence.
        """
        if not any(_is_cancellation(channel, value) for channel, value in writes):
            async with self._saving(config):
                await super().aput_writes(config, writes, task_id, task_path)

    @asynccontextmanager
    async def _saving(self, config: RunnableConfig) -> AsyncIterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            with suppress(sqlite3.Error):
                async with self.lock:
                    # LangGraph leaves the transaction open, which would lock the file for all others.
                    await self.conn.rollback()
            place = config["configurable"]
            if FENCED in str(error):
                self.leases.lose(str(place["thread_id"]))
            kind = BranchNotSaved if place.get("checkpoint_ns") else NotSaved
            raise kind(f"The run could not be saved: {error} (setting data_dir).") from error

    @shielded
    async def adelete_thread(self, thread_id: str) -> None:
        """Delete a thread: checkpoints, pending writes and page texts."""
        await super().adelete_thread(thread_id)
        async with self.lock:
            await self.conn.execute("DELETE FROM store WHERE prefix = ?", (_prefix(thread_id),))
            await self.conn.commit()

    @shielded
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
                    f"SELECT ?, {names} FROM {table} WHERE thread_id = ? ORDER BY rowid",
                    (target_thread_id, source_thread_id),
                )
            await self.conn.execute(
                "INSERT OR REPLACE INTO store (prefix, key, value) SELECT ?, key, value FROM store WHERE prefix = ?",
                (_prefix(target_thread_id), _prefix(source_thread_id)),
            )
            await self.conn.commit()

    @shielded
    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete what these runs of the server stored, except for what later checkpoints are built upon.

        Delta channels are rebuilt from all checkpoints before: one that is missing would empty them in silence.
        """
        await self.setup()
        await self._drop(await self._places(_OF_RUNS, json.dumps([str(run_id) for run_id in run_ids])))

    @shielded
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

    @shielded
    async def adrop_unreadable(self, thread_id: str) -> int:
        """Delete the checkpoints that cannot be read and what was built upon them; returns how many.

        Of a checkpoint that can be read, what its tasks wrote may be lost: then these are run anew. Raises
        `NewerVersion`: what that has written is no damage.
        """
        await self.setup()
        lost, tasks = await _readable(thread_id, self._unreadable(thread_id))
        condition = "thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ? AND task_id = ?"
        async with self.lock:
            await self.conn.executemany(f"DELETE FROM writes WHERE {condition}", tasks)  # noqa: S608 - a constant
            await self.conn.commit()
        await self._drop(lost)
        return len(lost | {Place(*task[:3]) for task in tasks})

    async def _unreadable(self, thread: str) -> tuple[set[Place], set[tuple[str, str, str, str]]]:
        """Return the unreadable checkpoints of a thread, and the tasks whose writes are unreadable."""
        lost, tasks = set[Place](), set[tuple[str, str, str, str]]()
        async with self.lock, self.conn.execute(_WRITES, (thread,)) as writes:
            async for namespace, checkpoint_id, task, kind, value in writes:
                if not self._is_readable(kind, value):
                    tasks.add((thread, namespace, checkpoint_id, task))
        torn, seen = {Place(*task[:3]) for task in tasks}, set[Place]()
        async with self.lock, self.conn.execute(_CHAIN, (thread,)) as checkpoints:
            async for namespace, checkpoint_id, parent, kind, value, metadata in checkpoints:
                place, above = Place(thread, namespace, checkpoint_id), Place(thread, namespace, parent)
                seen.add(place)
                is_torn = bool(parent) and (above in lost | torn or above not in seen)
                if is_torn or not self._is_readable(kind, value, metadata):
                    lost.add(place)
        return lost, tasks

    def _is_readable(self, kind: str, value: bytes, metadata: bytes = b"{}") -> bool:
        try:
            self.serde.loads_typed((kind, value))
            return isinstance(json.loads(metadata), dict)
        except NewerVersion:
            raise
        except (StateUnreadable, ValueError, TypeError):
            return False

    async def _needed(self, thread_id: str, namespaces: Iterable[str]) -> set[Place]:
        """Return each namespace's latest checkpoint and its ancestors, back to where all delta channels are whole."""
        needed = set[Place]()
        for namespace in namespaces:
            config: RunnableConfig | None = _config(Place(thread_id, namespace, ""))
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
            await self.conn.execute(PARENTS_CUT)
            await self.conn.commit()

    async def thread_ids(self) -> list[str]:
        """Return all threads, the latest first."""
        await self.setup()
        query = "SELECT thread_id FROM checkpoints GROUP BY thread_id ORDER BY max(rowid) DESC"
        async with self.lock, self.conn.execute(query) as rows:
            return [str(row[0]) async for row in rows]


async def _readable(thread: str, reading: Awaitable[Value]) -> Value:
    """Return what is read; raises an error that names the run."""
    try:
        return await reading
    except NewerVersion as error:
        raise NewerVersion(f"The run {thread} {error}: update deep-research, or ask anew.") from error
    except (StateUnreadable, ValueError, KeyError, TypeError) as error:
        why = error if isinstance(error, StateUnreadable) else "its description is damaged"
        raise StateUnreadable(
            f"What is stored of the run {thread} cannot be read: {why}. Go on from its last good state: "
            f"deep-research resume {thread} --from-last-good"
        ) from error


def _config(place: Place) -> RunnableConfig:
    return {"configurable": {**place._asdict()}}


def _is_cancellation(channel: str, value: Any) -> bool:
    return channel == "__error__" and isinstance(value, asyncio.CancelledError)


def _prefix(thread_id: str) -> str:
    return ".".join(page_namespace(thread_id))

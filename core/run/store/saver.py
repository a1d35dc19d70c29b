"""Keeps checkpoints, with what a server asks of a saver; `sqlite_saver` and `postgres` say in which database."""

from __future__ import annotations

import asyncio
import json
from abc import abstractmethod
from collections.abc import AsyncIterator, Awaitable, Iterable, Mapping, Sequence, Set
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
    get_checkpoint_id,
)

from ...records.research import Value
from ..concurrency import ShieldedTasks, shielded
from ..errors import NewerVersion, NotSaved, StateUnreadable, StopsTheRun
from .attachments import ATTACHMENTS, copy_files, delete_files
from .lease import FENCED, Leases
from .pages import TEXT, page_namespace, unpacked

_OF_RUNS = """
WITH RECURSIVE
    stamped (thread_id, checkpoint_ns, checkpoint_id, parent, run) AS (
        SELECT thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, {run_id} FROM checkpoints
    ),
    doomed AS (SELECT * FROM stamped WHERE run IN ({given})),
    needed (thread_id, checkpoint_ns, checkpoint_id, parent) AS (
        SELECT thread_id, checkpoint_ns, checkpoint_id, parent FROM stamped
        WHERE thread_id IN (SELECT thread_id FROM doomed) AND (run IS NULL OR run NOT IN ({given}))
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
)
"""
"""Makes first in their chain the checkpoints whose parents were deleted on purpose: any other parent that is missing
was lost."""
_TORN = """
WITH RECURSIVE chain (id, parent) AS (
    SELECT checkpoint_id, parent_checkpoint_id FROM checkpoints
    WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ?
    UNION
    SELECT above.checkpoint_id, above.parent_checkpoint_id FROM chain {join} checkpoints AS above
    ON above.thread_id = ? AND above.checkpoint_ns = ? AND above.checkpoint_id = chain.parent
)
SELECT 1 FROM chain WHERE parent IS NOT NULL AND parent NOT IN (SELECT id FROM chain)
"""
_STORED = """
INSERT INTO store (prefix, key, value) SELECT ?, key, value FROM store WHERE prefix = ? ON CONFLICT DO NOTHING
"""


class CheckpointKey(NamedTuple):
    """The key of a checkpoint."""

    thread_id: str
    checkpoint_ns: str
    checkpoint_id: str


class BranchNotSaved(NotSaved, StopsTheRun):
    """The same within a branch, whose error handlers it must pass; of the whole run LangGraph would pass it over."""


class Dialect(NamedTuple):
    """Where the databases differ in what is asked of them here."""

    tables: Mapping[str, str]
    """Tables of a thread with their columns beside the thread: checkpoints, writes, others."""
    order: str
    """Column by which checkpoints stand as they were written."""
    run_id: str
    """Expression for the server's run that wrote a checkpoint."""
    members: str
    """Query for the members of a list that is given as JSON."""
    join: str
    """Join that keeps the order of the tables."""
    setting: str
    """Setting to change if the database takes nothing."""


class RunSaver(BaseCheckpointSaver[str]):
    """What our runs need of a saver, over LangGraph's for a database.

    It deletes and copies a thread's page texts and files with the thread, writes to no thread whose lease another run
    has, and names the run in errors about what cannot be read or saved.
    """

    dialect: Dialect
    leases: Leases
    """Who may write to which thread."""
    file = ""
    """What errors say of the file; of a database at an address, nothing."""

    def __init__(self) -> None:
        self.shielded = ShieldedTasks()
        """What is being written."""

    @abstractmethod
    async def rows(self, query: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """Return the rows of a query, whose parameters stand as `?`."""

    @abstractmethod
    async def change(self, *statements: tuple[str, Iterable[tuple[Any, ...]]]) -> None:
        """Carry out statements in one transaction, each for its rows of parameters."""

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return the checkpoint with this id; without an id, the latest of this place. Raises `StateUnreadable`."""
        return await self._readable(str(config["configurable"]["thread_id"]), super().aget_tuple(config))

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """Return what was written to channels since they were last whole; raises `StateUnreadable`."""
        return await self._readable(str(config["configurable"]["thread_id"]), self._history(config, channels))

    async def _history(self, config: RunnableConfig, channels: Sequence[str]) -> Mapping[str, DeltaChannelHistory]:
        history = await super().aget_delta_channel_history(config=config, channels=channels)
        # LangGraph takes the end of a chain for its beginning, where all channels are empty.
        if any("seed" not in of_channel for of_channel in history.values()):
            asked = config["configurable"]
            place = (str(asked["thread_id"]), asked.get("checkpoint_ns", ""))
            query = _TORN.format(join=self.dialect.join)
            if await self.rows(query, *place, get_checkpoint_id(config), *place):
                raise StateUnreadable("a checkpoint is missing")
        return history

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
        if not any(name == "__error__" and isinstance(value, asyncio.CancelledError) for name, value in writes):
            async with self._saving(config):
                await super().aput_writes(config, writes, task_id, task_path)

    @asynccontextmanager
    async def _saving(self, config: RunnableConfig) -> AsyncIterator[None]:
        place = config["configurable"]
        try:
            async with self.fence(str(place["thread_id"])):
                yield
        except self.leases.errors as error:
            if FENCED in str(error):
                self.leases.lose(str(place["thread_id"]))
            kind = BranchNotSaved if place.get("checkpoint_ns") else NotSaved
            raise kind(f"The run could not be saved: {error} (setting {self.dialect.setting}){self.file}.") from error

    @abstractmethod
    def fence(self, thread_id: str) -> AbstractAsyncContextManager[None]:
        """Let the block write to the thread only while nobody else has its lease."""

    @shielded
    async def adelete_thread(self, thread_id: str) -> None:
        """Delete a thread: attached files, checkpoints, pending writes and page texts."""
        # First, because the note that says where they are goes with the texts.
        for folder in await self._attachments(thread_id):
            await asyncio.to_thread(delete_files, folder, thread_id)
        await super().adelete_thread(thread_id)
        # The lists of finished runs end in hashes of their users.
        listed = "DELETE FROM store WHERE key = ? AND prefix BETWEEN 'runs of 0' AND 'runs of g'"
        await self.change(("DELETE FROM store WHERE prefix = ?", [(_prefix(thread_id),)]), (listed, [(thread_id,)]))

    @shielded
    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy a thread: attached files, checkpoints, pending writes and page texts."""
        for folder in await self._attachments(source_thread_id):
            await asyncio.to_thread(copy_files, folder, source_thread_id, target_thread_id)
        order = {"checkpoints": f"ORDER BY {self.dialect.order}"}
        copies = [
            # All names come from the dialect.
            f"INSERT INTO {table} (thread_id, {names}) SELECT ?, {names} FROM {table} "  # noqa: S608
            f"WHERE thread_id = ? {order.get(table, '')} ON CONFLICT DO NOTHING"
            for table, names in self.dialect.tables.items()
        ]
        places = (target_thread_id, source_thread_id)
        await self.change(*((one, [places]) for one in copies), (_STORED, [tuple(map(_prefix, places))]))

    async def _attachments(self, thread_id: str) -> list[Path]:
        """Return the folder that holds the files of a thread, if it has any."""
        query = "SELECT value FROM store WHERE prefix = ? AND key = ?"
        rows = await self.rows(query, _prefix(thread_id), ATTACHMENTS)
        # PostgreSQL keeps values as one text.
        notes = [unpacked(value.get(TEXT) if isinstance(value, dict) else value) for (value,) in rows]
        return [Path(note["folder"]) for note in notes if isinstance(note.get("folder"), str)]

    @shielded
    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete what these runs of the server stored, except for what later checkpoints are built upon.

        Delta channels are rebuilt from all checkpoints before: one that is missing would empty them in silence.
        """
        given = json.dumps([str(run_id) for run_id in run_ids])
        query = _OF_RUNS.format(run_id=self.dialect.run_id, given=self.dialect.members)
        await self._drop({CheckpointKey(*row) for row in await self.rows(query, given, given)})

    @shielded
    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Delete whole threads, or all but the latest checkpoints and those that their channels are rebuilt from."""
        for thread_id in map(str, thread_ids):
            if strategy in ("delete", "delete_all"):
                await self.adelete_thread(thread_id)
            elif strategy == "keep_latest":
                places = {CheckpointKey(*row) for row in await self.rows(_OF_THREAD, thread_id)}
                await self._drop(places - await self._needed(thread_id, {place.checkpoint_ns for place in places}))
            else:
                raise ValueError(f"Unknown strategy {strategy!r}; there are 'keep_latest' and 'delete'.")

    @shielded
    async def adrop_unreadable(self, thread_id: str) -> int:
        """Delete the checkpoints that cannot be read and what was built upon them; returns how many.

        Of a checkpoint that can be read, what its tasks wrote may be lost: then these are run anew. Raises
        `NewerVersion`: what that has written is no damage.
        """
        lost, tasks = await self._readable(thread_id, self.unreadable(thread_id))
        condition = "thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ? AND task_id = ?"
        _, writes, *_ = self.dialect.tables
        await self.change((f"DELETE FROM {writes} WHERE {condition}", tasks))  # noqa: S608 - constants
        await self._drop(lost)
        return len(lost | {CheckpointKey(*task[:3]) for task in tasks})

    @abstractmethod
    async def unreadable(self, thread_id: str) -> tuple[set[CheckpointKey], set[tuple[str, str, str, str]]]:
        """Return the checkpoints of a thread that are lost, and the tasks of others whose writes are unreadable."""

    async def _needed(self, thread_id: str, namespaces: Iterable[str]) -> set[CheckpointKey]:
        """Return each namespace's latest checkpoint and its ancestors, back to where all delta channels are whole."""
        needed = set[CheckpointKey]()
        for namespace in namespaces:
            config: RunnableConfig | None = config_of(CheckpointKey(thread_id, namespace, ""))
            missing: set[str] | None = None
            while config and missing != set() and (found := await self.aget_tuple(config)):
                needed.add(CheckpointKey(thread_id, namespace, found.checkpoint["id"]))
                if missing is None:
                    missing = set(found.metadata.get("counters_since_delta_snapshot", ()))
                missing -= found.checkpoint["channel_values"].keys()
                config = found.parent_config
        return needed

    async def _drop(self, places: Set[CheckpointKey]) -> None:
        """Delete checkpoints and what was written on them."""
        checkpoints, writes, *_ = self.dialect.tables
        condition = "WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ?"
        await self.change(
            (f"DELETE FROM {checkpoints} {condition}", places),  # noqa: S608 - constants
            (f"DELETE FROM {writes} {condition}", places),  # noqa: S608 - constants
            (f"{PARENTS_CUT} AND thread_id = ?", {(place.thread_id,) for place in places}),
        )

    async def _readable(self, thread: str, reading: Awaitable[Value]) -> Value:
        """Return what is read; raises an error that names the run."""
        try:
            return await reading
        except NewerVersion as error:
            raise NewerVersion(f"The run {thread} {error}: update deep-research, or ask anew.") from error
        except (StateUnreadable, ValueError, KeyError, TypeError) as error:
            why = error if isinstance(error, StateUnreadable) else "its description is damaged"
            raise StateUnreadable(
                f"What is stored of the run {thread} cannot be read: {why}{self.file}. Go on from its last good state: "
                f"deep-research resume {thread} --from-last-good"
            ) from error

    async def thread_ids(self) -> list[str]:
        """Return all threads, the latest first."""
        latest = f"max({self.dialect.order}) DESC"
        query = f"SELECT thread_id FROM checkpoints GROUP BY thread_id ORDER BY {latest}"  # noqa: S608 - a constant
        return [str(row[0]) for row in await self.rows(query)]

    async def versions(self, thread_ids: Sequence[str]) -> dict[str, tuple[Any, ...]]:
        """Return the latest checkpoints of threads that have any, and the owners of their leases."""
        owner = f"(SELECT owner FROM {self.leases.table} AS lease WHERE lease.thread_id = checkpoints.thread_id)"  # noqa: S608
        latest = f"SELECT thread_id, max({self.dialect.order}), {owner} FROM checkpoints"  # noqa: S608 - constants
        query = f"{latest} WHERE thread_id IN ({self.dialect.members}) GROUP BY thread_id"
        return {str(row[0]): row[1:] for row in await self.rows(query, json.dumps(thread_ids))}


def config_of(place: CheckpointKey) -> RunnableConfig:
    """Return the config that names a checkpoint."""
    return {"configurable": {**place._asdict()}}


def _prefix(thread_id: str) -> str:
    return ".".join(page_namespace(thread_id))

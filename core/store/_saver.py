"""`RunSaver`: stores checkpoints, with leases, repair, deletion and copying; common to SQLite and
PostgreSQL."""

from __future__ import annotations

import asyncio
import json
import shutil
from abc import abstractmethod
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

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

from ..errors import NewerVersion, NotSaved, StateUnreadable, StopsTheRun
from ._lease import FENCED, Leases
from ._packing import TEXT, store_prefix, unpacked
from ._shielded import ShieldedTasks, shielded
from .pages import ATTACHMENTS, AttachedFiles

_CHECKPOINTS_OF_RUNS = """
WITH RECURSIVE
    stamped (thread_id, checkpoint_ns, checkpoint_id, parent, run) AS (
        SELECT thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, {run_id}
        FROM checkpoints
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
"""Keys of the checkpoints that these runs of the server wrote, without ancestors of other runs'
checkpoints."""
_CHECKPOINTS_OF_THREAD = (
    "SELECT thread_id, checkpoint_ns, checkpoint_id FROM checkpoints WHERE thread_id = ?"
)
_PARENTS_CUT = """
UPDATE checkpoints SET parent_checkpoint_id = NULL
WHERE parent_checkpoint_id IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM checkpoints AS above WHERE above.thread_id = checkpoints.thread_id
    AND above.checkpoint_ns = checkpoints.checkpoint_ns
    AND above.checkpoint_id = checkpoints.parent_checkpoint_id
)
"""
"""Removes references to parents that were deleted on purpose, so that any other missing parent
means damage."""
_IS_TORN = """
WITH RECURSIVE chain (id, parent) AS (
    SELECT checkpoint_id, parent_checkpoint_id FROM checkpoints
    WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ?
    UNION
    SELECT above.checkpoint_id, above.parent_checkpoint_id FROM chain {join} checkpoints AS above
    ON above.thread_id = ? AND above.checkpoint_ns = ? AND above.checkpoint_id = chain.parent
)
SELECT 1 FROM chain WHERE parent IS NOT NULL AND parent NOT IN (SELECT id FROM chain)
"""
"""A row if an ancestor of a checkpoint is missing."""
_COPY_TEXTS = """
INSERT INTO store (prefix, key, value)
SELECT ?, key, value FROM store WHERE prefix = ? ON CONFLICT DO NOTHING
"""
"""Copies the texts and notes of one thread's namespace to another's."""


class CheckpointKey(NamedTuple):
    """What identifies a checkpoint; `checkpoint_ns` is empty for the main graph, else it names the
    branch."""

    thread_id: str
    checkpoint_ns: str
    checkpoint_id: str


class BranchNotSaved(StopsTheRun, NotSaved):
    """Raised instead of `NotSaved` in a branch, to get past its error handler.

    `NotSaved` itself cannot be a `StopsTheRun`, because LangGraph ignores such an error when it
    saves the main graph.
    """


class RunSaver(BaseCheckpointSaver[str]):
    """Extends LangGraph's saver for a database with what our runs need.

    Deletes and copies a thread's page texts and files with the thread, refuses writes to a thread
    whose lease another run has, and names the run in errors about unreadable or unsaved data.
    """

    tables: ClassVar[Mapping[str, str]]
    """The tables with a thread's data (checkpoints, writes, others), with their columns other than
    `thread_id`."""
    order: str
    """Column that orders checkpoints by time of writing."""
    run_id: str
    """SQL expression for the id of the server's run that wrote a checkpoint."""
    members: str
    """Query that returns the members of a JSON list, its parameter."""
    join: str
    """SQL's word for a join whose left table is read first."""
    setting: str
    """Setting to change if the database accepts no writes, for error messages."""
    leases: Leases
    """The leases of this process."""
    file = ""
    """End of an error message that names the file; empty for PostgreSQL."""

    def __init__(self) -> None:
        self.shielded = ShieldedTasks()
        """The writes in progress."""

    @abstractmethod
    async def rows(self, query: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """Return the rows of a query with `?` parameters."""

    @abstractmethod
    async def change(self, *statements: tuple[str, Iterable[tuple[Any, ...]]]) -> None:
        """Execute statements in one transaction, each once for every row of its `?` parameters."""

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return the checkpoint with the id in `config`; without an id, the latest. Raises
        `StateUnreadable`."""
        with self._naming_run(config["configurable"]["thread_id"]):
            return await super().aget_tuple(config)

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """Return the writes to delta channels since their last snapshot; raises
        `StateUnreadable`."""
        wanted = config["configurable"]
        namespace = (str(wanted["thread_id"]), wanted.get("checkpoint_ns", ""))
        with self._naming_run(wanted["thread_id"]):
            history = await super().aget_delta_channel_history(config=config, channels=channels)
            # If a checkpoint is missing, LangGraph treats the gap as the start of the thread, where
            # all channels are empty.
            is_from_start = any("seed" not in channel for channel in history.values())
            if is_from_start:
                query = _IS_TORN.format(join=self.join)
                if await self.rows(query, *namespace, get_checkpoint_id(config), *namespace):
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
        """Store a checkpoint; raises `NotSaved`."""
        async with self._saving(config):
            return await super().aput(config, checkpoint, metadata, new_versions)

    @shielded
    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Store the writes of a task, unless it was cancelled: then it must be repeated. Raises
        `NotSaved`.

        LangGraph stores what a cancelled node has written so far, perhaps without the edge to the
        next node, and considers the task done on resumption: the run would silently end there.
        """
        for name, value in writes:
            if name == "__error__" and isinstance(value, asyncio.CancelledError):
                return
        async with self._saving(config):
            await super().aput_writes(config, writes, task_id, task_path)

    @asynccontextmanager
    async def _saving(self, config: RunnableConfig) -> AsyncIterator[None]:
        """Raise `NotSaved` for a database error in the block, or if the lease was lost."""
        thread_id = str(config["configurable"]["thread_id"])
        try:
            async with self.fence(thread_id):
                yield
        except self.leases.errors as error:
            if FENCED in str(error):
                self.leases.lose(thread_id)
            kind = BranchNotSaved if config["configurable"].get("checkpoint_ns") else NotSaved
            raise kind(
                f"The run could not be saved: {error} (setting {self.setting}){self.file}."
            ) from error

    @abstractmethod
    def fence(self, thread_id: str) -> AbstractAsyncContextManager[None]:
        """Return a context manager in which the database refuses writes to the thread if another
        run has its lease."""

    @shielded
    async def adelete_thread(self, thread_id: str) -> None:
        """Delete a thread: attached files, checkpoints, pending writes and page texts."""
        # Files first, because the note with their path is deleted with the texts.
        for files in await self._attachments(thread_id):
            await asyncio.to_thread(files.delete, thread_id)
        await super().adelete_thread(thread_id)
        # The namespaces of the lists of finished runs end in a hash of the user.
        listed = "DELETE FROM store WHERE key = ? AND prefix BETWEEN 'runs of 0' AND 'runs of g'"
        await self.change(
            ("DELETE FROM store WHERE prefix = ?", [(store_prefix(thread_id),)]),
            (listed, [(thread_id,)]),
        )

    @shielded
    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy a thread: attached files, checkpoints, pending writes and page texts."""
        for files in await self._attachments(source_thread_id):
            source = files.of_thread(source_thread_id)
            target = files.of_thread(target_thread_id)
            with suppress(FileNotFoundError):
                await asyncio.to_thread(shutil.copytree, source, target, dirs_exist_ok=True)
        threads = (target_thread_id, source_thread_id)
        statements: list[tuple[str, list[tuple[str, ...]]]] = []
        for table, names in self.tables.items():
            order = f"ORDER BY {self.order}" if table == "checkpoints" else ""
            # All names are constants of the class.
            copy_rows = (
                f"INSERT INTO {table} (thread_id, {names}) "  # noqa: S608
                f"SELECT ?, {names} FROM {table} WHERE thread_id = ? {order} ON CONFLICT DO NOTHING"
            )
            statements.append((copy_rows, [threads]))
        statements.append((_COPY_TEXTS, [tuple(map(store_prefix, threads))]))
        await self.change(*statements)

    async def _attachments(self, thread_id: str) -> list[AttachedFiles]:
        """Return the attached files of all threads, in a list, if this thread has some; else
        empty."""
        query = "SELECT value FROM store WHERE prefix = ? AND key = ?"
        found: list[AttachedFiles] = []
        for (value,) in await self.rows(query, store_prefix(thread_id), ATTACHMENTS):
            # PostgreSQL stores values as one text.
            note = unpacked(value.get(TEXT) if isinstance(value, dict) else value)
            folder = note.get("folder")
            if isinstance(folder, str):
                found.append(AttachedFiles(Path(folder)))
        return found

    @shielded
    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete the checkpoints of these runs of the server, except ancestors of other runs'
        checkpoints.

        Delta channels are rebuilt from all earlier checkpoints: a missing one would silently empty
        them.
        """
        given = json.dumps([*map(str, run_ids)])
        query = _CHECKPOINTS_OF_RUNS.format(run_id=self.run_id, given=self.members)
        await self._drop(await self._keys(query, given, given))

    async def _keys(self, query: str, *parameters: str) -> set[CheckpointKey]:
        """Return the keys that a query selects."""
        return {CheckpointKey(*row) for row in await self.rows(query, *parameters)}

    @shielded
    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Delete whole threads (`delete`), or all but what the latest state is rebuilt from
        (`keep_latest`)."""
        for thread_id in map(str, thread_ids):
            if strategy in ("delete", "delete_all"):
                await self.adelete_thread(thread_id)
            elif strategy == "keep_latest":
                keys = await self._keys(_CHECKPOINTS_OF_THREAD, thread_id)
                namespaces = {key.checkpoint_ns for key in keys}
                await self._drop(keys - await self._needed(thread_id, namespaces))
            else:
                raise ValueError(
                    f"Unknown strategy {strategy!r}; choose 'keep_latest' or 'delete'."
                )

    async def _needed(self, thread_id: str, namespaces: Iterable[str]) -> set[CheckpointKey]:
        """Return each namespace's latest checkpoint, and its ancestors back to snapshots of all
        delta channels."""
        needed = set[CheckpointKey]()
        for namespace in namespaces:
            latest = config_of(CheckpointKey(thread_id, namespace, ""))
            checkpoint = await self.aget_tuple(latest)
            if checkpoint is None:
                continue
            # The delta channels whose snapshot is further back.
            missing = set(checkpoint.metadata.get("counters_since_delta_snapshot", ()))
            while checkpoint:
                needed.add(CheckpointKey(thread_id, namespace, checkpoint.checkpoint["id"]))
                missing -= checkpoint.checkpoint["channel_values"].keys()
                parent = checkpoint.parent_config
                if not missing or not parent:
                    break
                checkpoint = await self.aget_tuple(parent)
        return needed

    async def _drop(self, keys: Set[CheckpointKey]) -> None:
        """Delete checkpoints and their writes."""
        checkpoints, writes, *_ = self.tables
        condition = "WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ?"
        await self.change(
            (f"DELETE FROM {checkpoints} {condition}", keys),  # noqa: S608 - constants
            (f"DELETE FROM {writes} {condition}", keys),  # noqa: S608 - constants
            (f"{_PARENTS_CUT} AND thread_id = ?", {(key.thread_id,) for key in keys}),
        )

    @contextmanager
    def _naming_run(self, thread: str) -> Iterator[None]:
        """Raise errors of reads in the block with the name of the run, and with what the user can
        do."""
        try:
            yield
        except NewerVersion as error:
            raise NewerVersion(
                f"The run {thread} {error}: update deep-research, or ask again."
            ) from error
        except (StateUnreadable, ValueError, KeyError, TypeError) as error:
            reason = "its metadata is damaged"
            if isinstance(error, StateUnreadable):
                reason = str(error)
            raise StateUnreadable(
                f"The stored data of the run {thread} cannot be read: {reason}{self.file}. Restore "
                f"the database from a backup, or delete the run: deep-research delete {thread}"
            ) from error

    async def thread_ids(self) -> list[str]:
        """Return the ids of all threads, the one written to last first."""
        # All names are constants of the class.
        query = (
            "SELECT thread_id FROM checkpoints GROUP BY thread_id "  # noqa: S608
            f"ORDER BY max({self.order}) DESC"
        )
        # A damaged index may give a thread several times.
        return list(dict.fromkeys([str(row[0]) for row in await self.rows(query)]))

    async def state_version(self, thread_id: str) -> str:  # noqa: ARG002 - for databases that have one
        """Return the version of a thread's state, which differs after any write to its checkpoints;
        empty if there is none, and for PostgreSQL."""
        return ""

    async def versions(self, thread_ids: Sequence[str]) -> dict[str, tuple[Any, ...]]:
        """Return (latest checkpoint, owner of the lease) by id of the thread, for threads that have
        checkpoints.

        It differs whenever another process has written to the thread, or has started or stopped a
        run on it.
        """
        # All names are constants of the class.
        owner = (
            f"SELECT owner FROM {self.leases.table} AS lease "  # noqa: S608
            "WHERE lease.thread_id = checkpoints.thread_id"
        )
        query = (
            f"SELECT thread_id, max({self.order}), ({owner}) FROM checkpoints "  # noqa: S608
            f"WHERE thread_id IN ({self.members}) GROUP BY thread_id"
        )
        versions: dict[str, tuple[Any, ...]] = {}
        for thread_id, *version in await self.rows(query, json.dumps(thread_ids)):
            versions[str(thread_id)] = tuple(version)
        return versions


def config_of(key: CheckpointKey) -> RunnableConfig:
    """Return the config that names a checkpoint."""
    return {"configurable": key._asdict()}

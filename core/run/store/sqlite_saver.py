"""Keeps checkpoints in SQLite."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import aiosqlite
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple, get_checkpoint_id
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.checkpoint.sqlite.utils import search_where

from ..errors import NewerVersion, StateUnreadable
from .lease import SqliteLeases
from .saver import CheckpointKey, Dialect, RunSaver, config_of
from .serializer import StrictSerializer
from .sqlite_store import is_damage, unusable

_CHAIN = """
SELECT checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata
FROM checkpoints WHERE thread_id = ? ORDER BY rowid
"""
_WRITES = "SELECT checkpoint_ns, checkpoint_id, task_id, type, value FROM writes WHERE thread_id = ?"
_LATEST = """
SELECT checkpoint_id FROM checkpoints WHERE thread_id = ? AND checkpoint_ns = ? ORDER BY rowid DESC LIMIT 1
"""
_BEFORE = "rowid < (SELECT max(rowid) FROM checkpoints WHERE checkpoint_id = ? AND thread_id = coalesce(?, thread_id))"


class SqliteRunSaver(RunSaver, AsyncSqliteSaver):
    """LangGraph's SQLite saver, with checkpoints in the order in which they were written.

    LangGraph orders them by their ids, which begin with the time of day: after a clock was set back, an old checkpoint
    would be taken for the latest.
    """

    dialect = Dialect(
        tables={
            "checkpoints": "checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata",
            "writes": "checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, value",
        },
        order="rowid",
        run_id="json_extract(CAST(metadata AS TEXT), '$.run_id')",
        members="SELECT value FROM json_each(?)",
        join="CROSS JOIN",
        setting="data_dir",
    )

    def __init__(self, connection: aiosqlite.Connection, path: Path) -> None:
        RunSaver.__init__(self)
        self._path, self.file = path, f"; the file is {str(path)!r}"
        AsyncSqliteSaver.__init__(self, connection, serde=StrictSerializer(has_checksums=True))
        self.leases: SqliteLeases = SqliteLeases(connection, self.lock, self.shielded)

    async def rows(self, query: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """Return the rows of a query, whose parameters stand as `?`."""
        await self.setup()
        async with self.lock, self.conn.execute(query, parameters) as rows:
            return [tuple(row) async for row in rows]

    async def change(self, *statements: tuple[str, Iterable[tuple[Any, ...]]]) -> None:
        """Carry out statements in one transaction, each for its rows of parameters."""
        await self.setup()
        async with self.lock:
            for query, parameters in statements:
                await self.conn.executemany(query, parameters)
            await self.conn.commit()

    @asynccontextmanager
    async def fence(self, thread_id: str) -> AsyncIterator[None]:  # noqa: ARG002 - triggers of the connection know it
        """Leave no transaction open that was refused, as LangGraph does: it would lock the file for all others."""
        try:
            yield
        except sqlite3.Error as error:
            with suppress(sqlite3.Error):
                async with self.lock:
                    await self.conn.rollback()
            if is_damage(error):
                raise unusable(self._path, error) from error
            raise

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return the checkpoint with this id; without an id, the one of this place that was written last.

        Raises `StateUnreadable`.
        """
        thread, namespace = str(config["configurable"]["thread_id"]), config["configurable"].get("checkpoint_ns", "")
        if not get_checkpoint_id(config):
            found = await self.rows(_LATEST, thread, namespace)
            if not found:
                return None
            config = config_of(CheckpointKey(thread, namespace, found[0][0]))
        return await super().aget_tuple(config)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """List checkpoints, the one written last first."""
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
        for row in await self.rows(query, *parameters, -1 if limit is None else limit):
            if found := await self.aget_tuple(config_of(CheckpointKey(*row))):
                yield found

    async def unreadable(self, thread_id: str) -> tuple[set[CheckpointKey], set[tuple[str, str, str, str]]]:
        """Return the checkpoints of a thread that are lost, and the tasks of others whose writes are unreadable."""
        lost, tasks = set[CheckpointKey](), set[tuple[str, str, str, str]]()
        async with self.lock, self.conn.execute(_WRITES, (thread_id,)) as writes:
            async for namespace, checkpoint_id, task, kind, value in writes:
                if not self._is_readable(kind, value):
                    tasks.add((thread_id, namespace, checkpoint_id, task))
        torn, seen = {CheckpointKey(*task[:3]) for task in tasks}, set[CheckpointKey]()
        async with self.lock, self.conn.execute(_CHAIN, (thread_id,)) as checkpoints:
            async for namespace, checkpoint_id, parent, kind, value, metadata in checkpoints:
                place, above = (
                    CheckpointKey(thread_id, namespace, checkpoint_id),
                    CheckpointKey(thread_id, namespace, parent),
                )
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

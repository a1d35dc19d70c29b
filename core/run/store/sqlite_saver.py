"""Keeps checkpoints in SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from typing import Any

import aiosqlite
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple, get_checkpoint_id
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from .lease import SqliteLeases
from .saver import Dialect, Place, RunSaver, config_of
from .serializer import StrictSerializer

_LATEST = """
SELECT checkpoint_id FROM checkpoints WHERE thread_id = ? AND checkpoint_ns = ? ORDER BY rowid DESC LIMIT 1
"""


class SqliteRunSaver(RunSaver, AsyncSqliteSaver):
    """LangGraph's SQLite saver, to which the checkpoint that was written last is the latest.

    LangGraph goes by their ids, which begin with the time of day: after a clock was set back, an old checkpoint would
    be taken for the latest.
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

    def __init__(self, connection: aiosqlite.Connection) -> None:
        RunSaver.__init__(self)
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
        except sqlite3.Error:
            with suppress(sqlite3.Error):
                async with self.lock:
                    await self.conn.rollback()
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
            config = config_of(Place(thread, namespace, found[0][0]))
        return await super().aget_tuple(config)

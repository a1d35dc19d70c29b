"""Keeps page texts in SQLite, in the file of the checkpoints."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiosqlite
from langgraph.store.base import Op, Result
from langgraph.store.sqlite.aio import AsyncSqliteStore

from .errors import DatabaseUnusable
from .pages import DAMAGED
from .unbroken import Unbroken, unbroken


class PageStore(AsyncSqliteStore):
    """LangGraph's SQLite store, which waits for its turn when the saver or another process is writing.

    LangGraph's opens a transaction that first reads and then writes; SQLite refuses the step from one to the other at
    once, whatever the timeout, if somebody else wrote in between.
    """

    def __init__(self, connection: aiosqlite.Connection, path: Path) -> None:
        """`path` is for messages."""
        super().__init__(connection, deserializer=_value)
        self._path = path
        self.unbroken = Unbroken()
        """What is being written."""

    @unbroken
    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Carry out the operations, as one."""
        return await super().abatch(ops)

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
        await self.unbroken.end()


def _value(stored: Any) -> dict[str, Any]:
    """A stored value; one mark for all that are no JSON objects, which would fail whatever is asked for with them."""
    try:
        value = json.loads(stored)
    except ValueError:
        value = None
    return value if isinstance(value, dict) else {DAMAGED: True}


def unusable(path: Path, error: sqlite3.Error) -> DatabaseUnusable:
    """What to tell the user of a database error."""
    return DatabaseUnusable(f"The database {str(path)!r} cannot be used: {error} (setting data_dir).")

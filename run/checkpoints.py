"""Where runs are kept: checkpoints and page texts in one SQLite file."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal, NamedTuple

import aiosqlite

from .errors import DatabaseUnusable
from .page_store import PageStore, unusable
from .saver import RunSaver

FILE_NAME = "runs.sqlite"
APPLICATION_ID = 0x44525331
"""Stamp in the file's header that tells our databases from others."""
BUSY_SECONDS = 30.0
"""Seconds to wait for another process that is writing."""


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
                await saver.unbroken.end()
    except sqlite3.Error as error:
        raise unusable(path, error) from error


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

"""Where runs are kept: checkpoints and page texts in one SQLite file."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import aiosqlite

from ..errors import DatabaseUnusable
from .saver import PARENTS_CUT, RunSaver
from .serializer import code_version
from .sqlite_store import BUSY_SECONDS, PageStore, unusable

FILE_NAME = "runs.sqlite"
APPLICATION_ID = 0x44525331
"""Stamp in the file's header that tells our databases from others."""
MIGRATIONS = (PARENTS_CUT,)
"""A statement for each layout that makes the next one of it; files of the first versions bear no number."""
LAYOUT = len(MIGRATIONS)
"""Number of the present layout, in the file's header."""


class Database(NamedTuple):
    """An open file of runs."""

    saver: RunSaver
    store: PageStore


@asynccontextmanager
async def open_database(path: Path) -> AsyncIterator[Database]:
    """Open a file of runs, made if it is missing; belongs to the event loop that it was opened on.

    Raises `DatabaseUnusable` if the file is corrupt, foreign, locked or cannot be written.
    """
    await asyncio.to_thread(_prepare, path)
    try:
        async with _connect(path) as connection:
            store = await asyncio.to_thread(_open_store, path)
            try:
                saver = RunSaver(connection)
                await saver.setup()
                await saver.leases.setup()
                try:
                    yield Database(saver, store)
                finally:
                    await saver.shielded.end()
            finally:
                store.close()
    except sqlite3.Error as error:
        raise unusable(path, error) from error


@asynccontextmanager
async def _connect(path: Path) -> AsyncIterator[aiosqlite.Connection]:
    connection = aiosqlite.connect(path, timeout=BUSY_SECONDS)
    # A database that an app never closes must not keep its process alive.
    connection._thread.daemon = True
    async with connection:
        await connection.execute("PRAGMA trusted_schema = OFF")
        await connection.execute("PRAGMA journal_mode = WAL")
        await connection.execute("PRAGMA synchronous = FULL")
        yield connection


def _open_store(path: Path) -> PageStore:
    store = PageStore(path)
    store.setup()
    return store


def _prepare(path: Path) -> None:
    """Make the folder (0700) and the file (0600), check that the file is ours, and bring it to the present layout."""
    code_version()
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _create(path)
        with sqlite3.connect(path, timeout=BUSY_SECONDS) as connection:
            known = connection.execute("PRAGMA application_id").fetchone()[0]
            tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
            if not tables and not known:
                connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                known = APPLICATION_ID
            layout = connection.execute("PRAGMA user_version").fetchone()[0]
            if known == APPLICATION_ID and layout < LAYOUT:
                for migration in MIGRATIONS[layout:] if tables else ():
                    connection.execute(migration)
                connection.execute(f"PRAGMA user_version = {LAYOUT}")
        connection.close()
    except OSError as error:
        raise DatabaseUnusable(
            f"The database {str(path)!r} cannot be opened: {error.strerror} (setting data_dir)."
        ) from error
    except sqlite3.Error as error:
        raise unusable(path, error) from error
    if known != APPLICATION_ID:
        raise DatabaseUnusable(f"{str(path)!r} is a database of another program (setting data_dir).")
    if layout > LAYOUT:
        raise DatabaseUnusable(
            f"{str(path)!r} was written by a newer version of deep-research than this one, {code_version()} (layout "
            f"{layout}; this one knows {LAYOUT}): update it, or begin anew elsewhere (setting data_dir)."
        )


def _create(path: Path) -> None:
    # A file that exists is left to SQLite: closing it here would drop the locks that this process has on it, and the
    # next process to close the database would take itself for the last one and delete what was not yet merged.
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        return

"""Where runs are kept: checkpoints and page texts, in an SQLite file or in a PostgreSQL database."""

from __future__ import annotations

import asyncio
import os
import re
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing, suppress
from pathlib import Path
from typing import Any, NamedTuple

import aiosqlite
from langgraph.store.base import BaseStore

from ..errors import DatabaseUnusable, ExtraMissing
from ..limits import DATABASE
from .saver import RunSaver
from .serializer import code_version
from .sqlite_saver import SqliteRunSaver
from .sqlite_store import BUSY_SECONDS, PageStore, unusable

FILE_NAME = "runs.sqlite"
POSTGRESQL = re.compile(r"(?:postgresql|postgres)(?:\+\w+)?://", re.IGNORECASE)
"""Begins an address of a PostgreSQL database, also with the driver that SQLAlchemy wants to know."""
_SCHEME = re.compile(r"([a-z][\w+.-]+)://", re.IGNORECASE)
_SQLITE_ERRORS = (sqlite3.Error, ValueError)
"""Errors of a damaged file, whose names may be no text."""
APPLICATION_ID = 0x44525331
"""Stamp in the file's header that tells our databases from others."""
LAYOUT = 1
"""Number of the present layout, in the file's header."""


class Database(NamedTuple):
    """An open database of runs."""

    saver: RunSaver
    store: BaseStore


def place_of_runs(data_dir: Path) -> Path | str:
    """Return where the command line and the server keep runs: where the environment says, or in the data folder."""
    name = os.environ.get(DATABASE)
    return place_named(name) if name else data_dir / FILE_NAME


def place_named(name: str | Path) -> Path | str:
    """Return the path or the address of this name.

    Raises `DatabaseUnusable` for an address of another kind of database, and for a path into a folder that is missing:
    only the data folder is made, as any other path may be mistyped.
    """
    if isinstance(name, str) and (known := POSTGRESQL.match(name)):
        return f"postgresql://{name[known.end() :]}"
    if isinstance(name, str) and (other := _SCHEME.match(name)):
        # The rest may hold a password.
        raise DatabaseUnusable(
            f"A database at {other[1]}:// cannot be used: give the path of a file, which becomes an SQLite database, "
            f"or postgresql://USER:PASSWORD@HOST/NAME (setting {DATABASE})."
        )
    path = Path(name).expanduser()
    if not path.parent.is_dir():
        raise DatabaseUnusable(
            f"The database {str(name)!r} cannot be opened: there is no folder {str(path.parent)!r}; create it, or "
            "correct the path."
        )
    return path


@asynccontextmanager
async def open_database(place: Path | str) -> AsyncIterator[Database]:
    """Open a file of runs, made if it is missing, or a PostgreSQL database by its address.

    What is opened belongs to the running event loop. Raises `DatabaseUnusable` if the file is corrupt, foreign, locked
    or cannot be written, or the database cannot be reached; `ExtraMissing`.
    """
    if isinstance(place, Path):
        async with _open_file(place) as database:
            yield database
    else:
        await asyncio.to_thread(_import_postgres)
        from .postgres import open_postgres

        async with open_postgres(place) as (saver, store):
            yield Database(saver, store)


def look_up(place: Path | str, query: str, *parameters: str, seconds: float) -> list[tuple[Any, ...]]:
    """Return the rows of a query by a connection of its own, which neither makes nor leaves anything.

    There are none where there is no database yet. Raises `DatabaseUnusable`, also if it is busy for so many seconds.
    """
    if isinstance(place, str):
        _import_postgres()
        from .postgres import look_up as look_up_there

        return look_up_there(place, query, parameters, seconds)
    if not place.exists():
        return []
    try:
        file = place.absolute().as_uri()
        with closing(sqlite3.connect(f"{file}?mode=rw", uri=True, timeout=seconds)) as connection:
            return connection.execute(query, parameters).fetchall()
    except _SQLITE_ERRORS as error:
        raise unusable(place, error) from error


def check_whole(place: Path | str) -> None:
    """Raise `DatabaseUnusable` for a file that is damaged anywhere."""
    if isinstance(place, Path):
        [[found], *_] = look_up(place, "PRAGMA quick_check(1)", seconds=BUSY_SECONDS)
        if found != "ok":
            raise unusable(place, ValueError(found))


def _import_postgres() -> None:
    try:
        from . import postgres  # noqa: F401 - what it needs is an extra
    except ImportError as error:
        raise ExtraMissing(
            f'{DATABASE} names a PostgreSQL database, which needs psycopg: pip install ".[postgres]" in the '
            "checkout of deep_research."
        ) from error


@asynccontextmanager
async def _open_file(path: Path) -> AsyncIterator[Database]:
    await asyncio.to_thread(_prepare, path)
    try:
        async with _connect(path) as connection:
            store = await asyncio.to_thread(_open_store, path)
            try:
                saver = SqliteRunSaver(connection, path)
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
    """Make the folder (0700) and the file (0600), check that the file is ours and of the present layout."""
    code_version()
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # A file that exists is left to SQLite: closing it here would drop the locks that this process has on it, and
        # the next process to close the database would take itself for the last one and delete what was not yet merged.
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        with sqlite3.connect(path, timeout=BUSY_SECONDS) as connection:
            known = connection.execute("PRAGMA application_id").fetchone()[0]
            tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
            if not tables and not known:
                connection.execute(f"PRAGMA user_version = {LAYOUT}")
                # Last: a kill before it leaves a file that is still taken for new.
                connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                known = APPLICATION_ID
            layout = connection.execute("PRAGMA user_version").fetchone()[0]
        connection.close()
    except OSError as error:
        raise DatabaseUnusable(
            f"The database {str(path)!r} cannot be opened: {error.strerror} (setting data_dir)."
        ) from error
    except _SQLITE_ERRORS as error:
        raise unusable(path, error) from error
    if known != APPLICATION_ID:
        raise DatabaseUnusable(f"{str(path)!r} is a database of another program (setting data_dir).")
    if layout != LAYOUT:
        age, remedy = ("newer", "update it") if layout > LAYOUT else ("much older", "go on with that one")
        raise DatabaseUnusable(
            f"{str(path)!r} was written by a {age} version of deep-research than this one, {code_version()} (layout "
            f"{layout}; this one knows {LAYOUT}): {remedy}, or begin anew elsewhere (setting data_dir)."
        )

"""Where runs are stored: the location of the database, which plain queries read without LangGraph,
and the id of a run's thread in it."""

from __future__ import annotations

import os
import re
import sqlite3
import uuid
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import DatabaseUnusable, ExtraMissing, how_to_install
from ..settings.limits import DATABASE
from ._holder import Holder
from ._packing import DAMAGED, is_intact, store_prefix, unpacked

FILE_NAME = "runs.sqlite"
APPLICATION_ID = 0x44525331
"""Number in the header of an SQLite file (`application_id`) that identifies our databases."""
LAYOUT = 1
"""Version of the tables, in the header of an SQLite file (`user_version`)."""
BUSY_SECONDS = 30.0
"""Seconds to wait while another process writes."""
_QUICKLY_SECONDS = 0.5
"""Seconds to wait by a query that need not succeed."""
SQLITE_ERRORS = (sqlite3.Error, ValueError)
"""Errors of a damaged file; `ValueError` if a name in it is not valid text."""
_POSTGRESQL = re.compile(r"(?:postgresql|postgres)(?:\+\w+)?://", re.IGNORECASE)
"""Scheme of a PostgreSQL address, with or without a driver's name as in SQLAlchemy's addresses."""
_OTHER_ADDRESS = re.compile(
    r"\s*(?:[a-z][\w+.-]+\s*:/|postgres.*@|.*\bpassword\s*=)", re.IGNORECASE
)
"""Matches the addresses of other databases, and mistyped ones."""

SETTINGS_NOTE = "settings"
"""Name of the note in a thread's store with the name, the label and the chosen settings of its
runs."""
FAILURE_NOTE = "failure"
"""Name of the note with the reason why the last run on a thread failed."""
OVERVIEW_NOTE = "overview"
"""Name of the note with what is listed and shown of a run, and with the version (`VERSION`) of the
thread that it was taken from."""
VERSION = """
SELECT newest.checkpoint_id || ' ' || max(newest.rowid) || ' ' || count(*) || ' ' || (
    SELECT count(*) || ' ' || coalesce(max(rowid), 0) FROM writes
    WHERE writes.thread_id = newest.thread_id
), newest.thread_id
FROM checkpoints AS newest
"""
"""Beginning of a query for the version of a thread's state, which differs after any write to its
checkpoints. SQLite takes the columns without an aggregate from the row with the largest number."""
_NEWEST = """
SELECT type, checkpoint FROM checkpoints WHERE thread_id = ? AND checkpoint_ns = ''
ORDER BY rowid DESC LIMIT 1
"""
_NOTE = "SELECT value FROM store WHERE prefix = ? AND key = ?"
HOLDER = "SELECT owner, pid, birth, machine, since, renewed FROM leases WHERE thread_id = ?"
"""Query for the holder of a thread's lease; see `Holder.of_row`."""


class StoredThread(NamedTuple):
    """What plain queries tell about a thread."""

    thread_id: str
    version: str
    """Version of its state (`VERSION`)."""
    notes: Mapping[str, Mapping[str, Any]]
    """Its notes by name; a missing one is empty."""
    runner: str
    """The process that is running it, in words; empty if there is none."""


class RunsLocation(NamedTuple):
    """Where a database of runs is, or is to be created."""

    target: Path | str
    """The path of an SQLite file, or the address of a PostgreSQL database."""

    @classmethod
    def of(cls, data_dir: Path) -> RunsLocation:
        """Return the location that the environment names, else a file in the data folder."""
        name = os.environ.get(DATABASE)
        if not name:
            return cls(data_dir / FILE_NAME)
        return cls.named(name)

    @classmethod
    def named(cls, name: str | Path) -> RunsLocation:
        """Return the location that the user gave as `name`.

        Raises `DatabaseUnusable` for another kind of database or a mistyped address, and for a path
        into a missing folder: only the data folder is created, since any other path may be
        mistyped.
        """
        if isinstance(name, str):
            postgresql = _POSTGRESQL.match(name)
            if postgresql:
                return cls(f"postgresql://{name[postgresql.end() :]}")
            if _OTHER_ADDRESS.match(name):
                # Not quoted, because it may hold a password.
                raise DatabaseUnusable(
                    "The database cannot be used: give the path of a file, which becomes an SQLite "
                    "database, or postgresql://USER:PASSWORD@HOST/NAME, without spaces (setting "
                    f"{DATABASE})."
                )
        path = Path(name).expanduser()
        if not path.parent.is_dir():
            raise DatabaseUnusable(
                f"The database {str(name)!r} cannot be opened: there is no folder "
                f"{str(path.parent)!r}; create it, or correct the path."
            )
        return cls(path)

    @property
    def may_exist(self) -> bool:
        """Whether there may be a database; unknown for PostgreSQL."""
        return isinstance(self.target, str) or self.target.exists()

    def query(self, query: str, *parameters: str, seconds: float) -> list[tuple[Any, ...]]:
        """Return the rows of a query with `?` parameters, over a connection of its own; none if
        there is no database yet.

        Raises `DatabaseUnusable`, also if the database stays busy for this many seconds.
        """
        if isinstance(self.target, str):
            import_postgres()
            from ._postgres import query_postgres

            return query_postgres(self.target, query, parameters, seconds)
        if not self.target.exists():
            return []
        try:
            with closing(self._connected(seconds)) as connection:
                return connection.execute(query, parameters).fetchall()
        except SQLITE_ERRORS as error:
            raise sqlite_unusable(self.target, error) from error

    def threads(self, thread_id: str = "") -> list[StoredThread] | None:
        """Return the threads of an SQLite file, or only this one, the one written to last first.

        None if the file cannot be read by plain queries, and for PostgreSQL: open the database to
        read it, or to learn what is wrong.
        """
        if isinstance(self.target, str):
            return None
        try:
            with closing(self._connected(_QUICKLY_SECONDS)) as connection:
                header = ("application_id", "user_version")
                found = [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in header]
                if found != [APPLICATION_ID, LAYOUT]:
                    return None
                return _threads(connection, thread_id)
        except (*SQLITE_ERRORS, TypeError):
            return None

    def _connected(self, seconds: float) -> sqlite3.Connection:
        """Return a connection of its own to the SQLite file, which must exist."""
        assert isinstance(self.target, Path)
        address = f"{self.target.absolute().as_uri()}?mode=rw"
        return sqlite3.connect(address, uri=True, timeout=seconds)

    def check_whole(self) -> None:
        """Raise `DatabaseUnusable` if any part of an SQLite file is damaged."""
        if isinstance(self.target, Path):
            # Unlike a quick check, it compares the indexes with the tables.
            [[found], *_] = self.query("PRAGMA integrity_check(1)", seconds=BUSY_SECONDS)
            if found != "ok":
                raise sqlite_unusable(self.target, ValueError(found))


def _threads(connection: sqlite3.Connection, thread_id: str) -> list[StoredThread]:
    """Return the threads of a database, or only this one, the one written to last first."""
    condition = "WHERE thread_id = ?" if thread_id else "WHERE ? = ''"
    query = f"{VERSION} {condition} GROUP BY thread_id ORDER BY max(newest.rowid) DESC"
    threads: list[StoredThread] = []
    for version, thread in connection.execute(query, (thread_id,)).fetchall():
        notes = {
            name: _note(connection, thread, name)
            for name in (SETTINGS_NOTE, FAILURE_NOTE, OVERVIEW_NOTE)
        }
        if not _is_intact(connection, thread):
            notes[OVERVIEW_NOTE] = {}
        threads.append(StoredThread(thread, version, notes, _runner(connection, thread)))
    return threads


def _note(connection: sqlite3.Connection, thread: str, name: str) -> Mapping[str, Any]:
    """Return a note of a thread, empty if there is none; raises `ValueError` if it is damaged."""
    row = connection.execute(_NOTE, (store_prefix(thread), name)).fetchone()
    if row is None:
        return {}
    value = unpacked(row[0])
    if DAMAGED in value:
        raise ValueError(f"the note {name!r} is damaged")
    return value


def _is_intact(connection: sqlite3.Connection, thread: str) -> bool:
    """Whether the newest checkpoint of a thread still has its checksum."""
    kind, data = connection.execute(_NEWEST, (thread,)).fetchone()
    return is_intact(kind, data)


def _runner(connection: sqlite3.Connection, thread: str) -> str:
    """Return the process that holds the lease of a thread, in words; empty if there is none."""
    row = connection.execute(HOLDER, (thread,)).fetchone()
    if row is None:
        return ""
    holder = Holder.of_row(row)
    return str(holder) if holder.is_alive() else ""


def thread_id(name: str) -> str:
    """Return the thread id for a name: the name itself if it is a UUID, else a UUID derived from
    it."""
    try:
        return str(uuid.UUID(name))
    except ValueError:
        return str(uuid.uuid5(uuid.NAMESPACE_URL, f"deep-research:{name}"))


def import_postgres() -> None:
    """Import what PostgreSQL needs; raises `ExtraMissing`."""
    try:
        from . import _postgres as postgres  # noqa: F401 - its packages are an extra
    except ImportError as error:
        raise ExtraMissing(
            f"{DATABASE} names a PostgreSQL database, which needs psycopg: "
            f"{how_to_install('postgres')}."
        ) from error


def sqlite_unusable(path: Path, error: Exception) -> DatabaseUnusable:
    """Return the error for the user that says why an SQLite file cannot be used."""
    reason = "it cannot be read"
    if isinstance(error, sqlite3.Error):
        reason = str(error)
    message = f"The database {str(path)!r} cannot be used: {reason} (setting data_dir)."
    if is_damage(error):
        message += (
            " It is damaged: restore a backup, or use another folder (--data-dir); see "
            "`deep-research doctor`."
        )
    return DatabaseUnusable(message)


def is_damage(error: Exception) -> bool:
    """Whether the error means that the file is damaged, rather than busy, full or read-only."""
    if not isinstance(error, sqlite3.Error):
        return True
    # The lowest byte is the error, the others are its details.
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)

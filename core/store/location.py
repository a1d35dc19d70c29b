"""Where runs are stored: the location of the database, which plain queries read without LangGraph,
and the id of a run's thread in it."""

from __future__ import annotations

import os
import re
import sqlite3
import uuid
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import DatabaseUnusable, ExtraMissing
from ..settings.limits import DATABASE

FILE_NAME = "runs.sqlite"
BUSY_SECONDS = 30.0
"""Seconds to wait while another process writes."""
SQLITE_ERRORS = (sqlite3.Error, ValueError)
"""Errors of a damaged file; `ValueError` if a name in it is not valid text."""
_POSTGRESQL = re.compile(r"(?:postgresql|postgres)(?:\+\w+)?://", re.IGNORECASE)
"""Scheme of a PostgreSQL address, with or without a driver's name as in SQLAlchemy's addresses."""
_SCHEME = re.compile(r"([a-z][\w+.-]+)://", re.IGNORECASE)


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

        Raises `DatabaseUnusable` for another kind of database, and for a path into a missing
        folder: only the data folder is created, since any other path may be mistyped.
        """
        if isinstance(name, str):
            postgresql = _POSTGRESQL.match(name)
            if postgresql:
                return cls(f"postgresql://{name[postgresql.end() :]}")
            scheme = _SCHEME.match(name)
            if scheme:
                # The rest may hold a password.
                raise DatabaseUnusable(
                    f"A database at {scheme[1]}:// cannot be used: give the path of a file, which "
                    "becomes an SQLite database, or postgresql://USER:PASSWORD@HOST/NAME (setting "
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
            address = f"{self.target.absolute().as_uri()}?mode=rw"
            with closing(sqlite3.connect(address, uri=True, timeout=seconds)) as connection:
                return connection.execute(query, parameters).fetchall()
        except SQLITE_ERRORS as error:
            raise sqlite_unusable(self.target, error) from error

    def check_whole(self) -> None:
        """Raise `DatabaseUnusable` if any part of an SQLite file is damaged."""
        if isinstance(self.target, Path):
            [[found], *_] = self.query("PRAGMA quick_check(1)", seconds=BUSY_SECONDS)
            if found != "ok":
                raise sqlite_unusable(self.target, ValueError(found))


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
            'pip install ".[postgres]" in the checkout of deep_research.'
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

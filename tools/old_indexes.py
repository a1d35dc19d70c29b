"""Removes the indexes that nobody will ask any more: those of folders that are gone, and those that cannot be read."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from .index_file import LOCK, NEW, discard, is_corrupt, remove
from .index_lock import alone

KEPT_SECONDS = 90 * 24 * 3600
"""How long the index of a folder that is gone is kept, which may be on a disk that comes back."""


def note_use(file: Path, now: float) -> None:
    """Note when an index was used last."""
    os.utime(f"{file}{LOCK}", (now, now))


def remove_old(folder: Path, now: float) -> None:
    """Remove what was not used for long and belongs to no folder or file any more."""
    for file in sorted(folder.glob("*.sqlite")):
        # What cannot be removed is no reason to end a run.
        with suppress(OSError, sqlite3.Error):
            if _is_old(file, now):
                _remove_unless_wanted(file, now)
    for file in sorted(folder.glob(f"*.sqlite{NEW}")):
        with suppress(OSError):
            if _is_old(file, now):
                discard(file)


def _remove_unless_wanted(file: Path, now: float) -> None:
    with alone(file):
        # Somebody may have used it meanwhile.
        if _is_old(file, now) and not _has_root(file):
            remove(file)


def _is_old(file: Path, now: float) -> bool:
    return now - _last_use(file) > KEPT_SECONDS


def _last_use(file: Path) -> float:
    lock = Path(f"{file}{LOCK}")
    return max((one.stat().st_mtime for one in (file, lock) if one.exists()), default=0.0)


def _has_root(file: Path) -> bool:
    """Whether what was indexed is still there; an index of another version would be built anew in any case."""
    try:
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=rw", uri=True)) as connection:
            (root,) = connection.execute("SELECT root FROM totals").fetchone()
    except sqlite3.DatabaseError as error:
        return not is_corrupt(error) and error.sqlite_errorcode != sqlite3.SQLITE_ERROR
    try:
        return bool(root) and Path(os.fsdecode(root)).exists()
    except OSError:
        return True

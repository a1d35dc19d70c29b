"""One lock for each index: any number of threads and processes use it, or one exchanges it while nobody does."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Literal

from .index_file import LOCK, create_private

WAITING_SECONDS = 3_600
"""How long is waited for who exchanges an index, which takes as long as to read all its files."""

_of_thread = threading.local()


@contextmanager
def used(file: Path) -> Iterator[None]:
    """Use an index; waits while it is being exchanged."""
    mine = _mine()
    if file in mine:
        # To wait here would be to wait for oneself, once somebody waits for this thread to end its use.
        yield
        return
    with _locked(file, "BEGIN"):
        mine.add(file)
        try:
            yield
        finally:
            mine.remove(file)


@contextmanager
def alone(file: Path) -> Iterator[None]:
    """Wait until nobody uses an index, and let nobody use it meanwhile. Not for a thread that uses any."""
    with _locked(file, "BEGIN EXCLUSIVE"):
        yield


def is_using() -> bool:
    """Whether this thread uses an index just now."""
    return bool(_mine())


@contextmanager
def _locked(file: Path, begin: Literal["BEGIN", "BEGIN EXCLUSIVE"]) -> Iterator[None]:
    lock = Path(f"{file}{LOCK}")
    create_private(lock)
    # SQLite's own locks, of a database that stays empty: they hold between threads as well as between processes, on any
    # system, and end with who holds them.
    with closing(sqlite3.connect(lock, timeout=WAITING_SECONDS, isolation_level=None)) as connection:
        connection.execute(begin)
        connection.execute("SELECT count (*) FROM sqlite_master").fetchone()
        yield


def _mine() -> set[Path]:
    if not hasattr(_of_thread, "files"):
        _of_thread.files = set()
    files: set[Path] = _of_thread.files
    return files

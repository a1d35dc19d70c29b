"""Keeps the indexes of a run right: up to date, built anew when damaged, removed when nobody will ask them."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from functools import partial
from itertools import count
from pathlib import Path
from typing import TypeVar

from ..reading.documents.pool import WORKERS, Parser
from ..run.clock import Clock
from ..run.errors import DatabaseUnusable
from ..run.limits import Limits
from .index import Entry, Index, Summary
from .index_file import LOCK, NEW, Foreign, alone, discard, is_corrupt, is_using, remove, usable
from .refresh import Outdated, compare, examine, update
from .roots import Root, unreadable

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


MOST_TRIES = 3
"""So often an index is asked that is found damaged each time."""

Result = TypeVar("Result")


class Upkeep:
    """Looks after the indexes; may be used from several threads."""

    def __init__(self, limits: Limits, clock: Clock) -> None:
        self._limits = limits
        self._clock = clock

    def refresh(self, roots: Sequence[Root], on_progress: Callable[[int, int], None] | None) -> list[Outdated]:
        """Index what is new or changed, and tell what that was."""
        outdated = [self._compared(root) for root in roots]
        step = _counter(outdated, on_progress)
        with ThreadPoolExecutor(WORKERS) as threads, self._parser() as parser:
            for root, one in zip(roots, outdated, strict=True):
                self.asked((root,), partial(update, one, parser, threads, step))
        self._tidy({root.store.file for root in roots})
        return outdated

    def examine(
        self, roots: Sequence[Root], on_progress: Callable[[int, int], None] | None
    ) -> list[tuple[Outdated, Summary]]:
        """Read what is new or changed and keep nothing; tells what would be in each index."""
        outdated = [self._compare(root, root.store, _known(root.store)) for root in roots]
        step = _counter(outdated, on_progress)
        with ThreadPoolExecutor(WORKERS) as threads, self._parser() as parser:
            return [(one, examine(one, parser, threads, step)) for one in outdated]

    def _tidy(self, files: set[Path]) -> None:
        now = self._clock.now().timestamp()
        for file in files:
            note_use(file, now)
        for folder in {file.parent for file in files}:
            remove_old(folder, now)

    def asked(self, roots: Sequence[Root], ask: Callable[[], Result]) -> Result:
        """Ask these indexes; if one turns out to be damaged, build it anew first.

        Raises `Foreign` where this thread uses one already: whoever began that must end it and ask again.
        """
        return self._mended(roots, ask, self._build)

    def _compared(self, root: Root) -> Outdated:
        """What has to be done; a damaged index starts empty, so that one is told how it is built anew."""
        return self._mended((root,), partial(self._compare, root, root.store), lambda _root, _fresh: None)

    def _mended(self, roots: Sequence[Root], ask: Callable[[], Result], build: Callable[[Root, Index], None]) -> Result:
        for _ in range(MOST_TRIES):
            seen = {root.store.file: root.store.identity() for root in roots}
            try:
                return ask()
            except Foreign as error:
                if is_using():
                    raise
                damaged = error.file
            for root in roots:
                if root.store.file == damaged:
                    _exchange(root, seen[damaged], build)
        raise DatabaseUnusable(f"{damaged}: the document index is damaged, however often it is built anew")

    def _build(self, root: Root, fresh: Index) -> None:
        with ThreadPoolExecutor(WORKERS) as threads, self._parser() as parser:
            update(self._compare(root, fresh), parser, threads, lambda: None)

    def _compare(self, root: Root, index: Index, known: dict[str, Entry] | None = None) -> Outdated:
        try:
            return compare(root.path, index, self._limits, known)
        except OSError as error:
            raise unreadable(root.path, f"cannot be opened ({error.strerror or error})") from error

    def _parser(self) -> Parser:
        today = self._clock.now().date().isoformat()
        return Parser(self._limits.parse_seconds, self._limits.max_document_bytes, today=today)


def _known(index: Index) -> dict[str, Entry]:
    """What the index holds; nothing, and none is made, if there is none or it has to be built anew."""
    try:
        return index.stamps() if index.file.exists() else {}
    except Foreign:
        return {}


def _counter(outdated: Sequence[Outdated], on_progress: Callable[[int, int], None] | None) -> Callable[[], None]:
    """What is called for each file that is done, and tells how many of how many are."""
    total, done = sum(len(one.files) for one in outdated), count(1)

    def step() -> None:
        if on_progress:
            on_progress(next(done), total)

    return step


def _exchange(root: Root, seen: object, build: Callable[[Root, Index], None]) -> None:
    """Put a new index in the place of a damaged one, unless another thread or process has done so already."""
    with usable(root.store.file), alone(root.store.file):
        if root.store.identity() == seen:
            fresh = root.store.beside()
            build(root, fresh)
            root.store.exchange(fresh)

"""Maintains the indexes: updates them, rebuilds damaged ones, and removes unused ones."""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import closing, suppress
from functools import partial
from itertools import chain, count, groupby
from pathlib import Path, PurePath
from typing import NamedTuple, TypeVar

from ..errors import DatabaseUnusable, log_failure
from ..reading.documents.pool import Parser
from ..reading.documents.records import Extract, Unreadable, kind_of_file
from ..records.sources import text_hash
from ..settings.context import Clock
from ..settings.limits import Limits
from ._folder import FoundFile, LeftOut, read_file, scan_folder
from ._index import Index, Root, unreadable
from ._index_file import (
    LOCK,
    NEW_SUFFIX,
    IndexedFile,
    RebuildNeeded,
    discard,
    exclusive,
    has_shared_lock,
    is_corrupt,
    remove,
    replace,
    translated_errors,
)

BATCH_FILES = 50
BATCH_BYTES = 4_000_000
"""Maximum files and bytes per transaction: the work lost if indexing is killed."""
_PICTURE_FILES = 10
"""A picture counts as this many files, because text recognition takes long."""
GROUP_FILES = 16
GROUP_BYTES = 200_000
"""Maximum files and bytes sent to a parser together."""
_QUICK = frozenset({"markdown", "text", "html"})
"""File kinds that take less time to parse than to send."""
_AHEAD = 2
"""Batches in progress: while one is stored, the next one is read."""
_NEVER = -1
"""A modification time that no file has."""
_EXTRACTED = (
    "title", "text", "date", "date_kind", "period", "publisher", "is_draft", "superseded_by",
    "valid_from", "is_cut", "note",
)  # fmt: skip
"""Fields of an entry that are copied from the file's extract."""
_UNSURE = frozenset({"timed out", "crashed"})
"""Failures that may not be the file's fault: the machine may be busy, or the limit may have been
raised since."""
MOST_TRIES = 3
"""Attempts with one time limit before such a file counts as unreadable."""
_KEPT_SECONDS = 90 * 24 * 3600
"""Seconds to keep the index of a missing folder, which may be on a removable disk."""
_MOST_REBUILDS = 3
"""Maximum rebuilds of an index that remains damaged before the run fails."""
Result = TypeVar("Result")


def batches(
    files: Iterable[FoundFile], most_files: int = BATCH_FILES, most_bytes: int = BATCH_BYTES
) -> Iterator[list[FoundFile]]:
    """Split files into batches of at most `most_files` files and `most_bytes` bytes.

    A larger file is a batch alone.
    """
    batch: list[FoundFile] = []
    number = size = 0
    for file in files:
        if batch and (number >= most_files or size + file.size > most_bytes):
            yield batch
            batch = []
            number = size = 0
        batch.append(file)
        number += _PICTURE_FILES if kind_of_file(file.path) == "image" else 1
        size += file.size
    if batch:
        yield batch


def groups(files: Iterable[FoundFile]) -> Iterator[list[FoundFile]]:
    """Split files into the groups in which they are sent to a parser.

    Files of slow kinds are sent alone.
    """
    for group in batches(files, GROUP_FILES, GROUP_BYTES):
        for is_quick, run in groupby(group, lambda file: kind_of_file(file.path) in _QUICK):
            if is_quick:
                yield list(run)
            else:
                for file in run:
                    yield [file]


class FolderChanges(NamedTuple):
    """Differences between a folder or file and its index."""

    root: Path
    store: Index
    files: tuple[FoundFile, ...]
    """New or changed files."""
    known: dict[str, IndexedFile]
    """Index entries by path."""
    gone: tuple[str, ...]
    """Paths that no longer exist."""
    left_out: tuple[LeftOut, ...]
    """Files that the scan left out."""
    seconds: float
    """Time limit for reading a file."""
    today: str
    """ISO date; later dates are not dates of a file."""


def compare(root: Path, index: Index, limits: Limits, today: str = "") -> FolderChanges:
    """Compare files with the index.

    Blocks. Raises `DocumentsUnreadable` if the folder cannot be listed. A file counts as unchanged
    if its size and modification time (in nanoseconds) are the same. Changes within one tick of the
    file system's clock, or with the time reset, are missed. A file that timed out or crashed the
    parser is tried a few times, and again whenever the time limit is raised.
    """
    try:
        scan = scan_folder(root, limits.max_document_bytes)
    except OSError as error:
        raise unreadable(root, f"cannot be opened ({error.strerror or error})") from error
    known = index.stamps()
    seconds = limits.parse_seconds

    def is_known(file: FoundFile) -> bool:
        entry = known.get(file.path)
        if entry is None or (entry.size, entry.mtime_ns) != (file.size, file.mtime_ns):
            return False
        return _is_settled(entry, seconds)

    files = tuple(file for file in scan.files if not is_known(file))
    gone = tuple(sorted(known.keys() - {file.path for file in scan.files}))
    return FolderChanges(root, index, files, known, gone, scan.left_out, seconds, today)


def update(
    changes: FolderChanges, parser: Parser, threads: Executor, on_step: Callable[[], None]
) -> None:
    """Read and store new or changed files in batches, so that a kill loses at most one batch.

    Blocks. `on_step` is called for each file that was read.
    """
    if not (changes.files or changes.gone):
        return
    changes.store.note_root(changes.root)
    with closing(_read_ahead(changes, parser, threads)) as batches_read:
        for futures in batches_read:
            same = list[IndexedFile]()
            changed = list[IndexedFile]()
            for future in futures:
                for entry in future.result():
                    if _is_same(entry, changes):
                        same.append(entry)
                    else:
                        changed.append(entry)
                    on_step()
            changes.store.change(changed)
            changes.store.restamp(same)
    # Remove paths last, so that a moved file can reuse the text of its old path.
    changes.store.change(gone=changes.gone)


def _is_same(entry: IndexedFile, changes: FolderChanges) -> bool:
    """Whether the index has this content, and reading it again would change nothing."""
    known = changes.known.get(entry.path)
    if known is None or not _is_settled(known, changes.seconds):
        return False
    return bool(entry.file_hash) and entry.file_hash == known.file_hash


def _is_settled(entry: IndexedFile, seconds: float) -> bool:
    """Whether the file need not be tried again with this time limit."""
    return entry.code not in _UNSURE or (entry.tries >= MOST_TRIES and entry.seconds >= seconds)


def _read_ahead(
    changes: FolderChanges, parser: Parser, threads: Executor
) -> Generator[list[Future[list[IndexedFile]]]]:
    """Yield batches of entries, as futures of a few each.

    While one batch is stored, the next one is read.
    """
    read = partial(_read, changes, _paths_by_content(changes), parser)
    reading: deque[list[Future[list[IndexedFile]]]] = deque()
    try:
        for batch in batches(changes.files):
            reading.append([threads.submit(read, group) for group in groups(batch)])
            if len(reading) == _AHEAD:
                yield reading[0]
                reading.popleft()
        yield from reading
    finally:
        for future in chain.from_iterable(reading):
            future.cancel()


def _paths_by_content(changes: FolderChanges) -> dict[tuple[str, str], str]:
    """Return the paths from which new files may have been moved, by hash and file name."""
    paths: dict[tuple[str, str], str] = {}
    if all(file.path in changes.known for file in changes.files):
        return paths
    for entry in changes.known.values():
        if entry.file_hash and not entry.reason:
            paths[entry.file_hash, PurePath(entry.path).name] = entry.path
    return paths


def _read(
    changes: FolderChanges,
    old_paths: Mapping[tuple[str, str], str],
    parser: Parser,
    files: Sequence[FoundFile],
) -> list[IndexedFile]:
    """Return the entries of files: parsed, or copied from the index if a file was moved; blocks."""
    entries: dict[str, IndexedFile] = {}
    unknown: dict[str, bytes] = {}
    for file in files:
        try:
            data = read_file(changes.root, file, parser.max_bytes)
        except Unreadable as error:
            # Always retried, since permissions may change without a new modification time.
            entries[file.path] = IndexedFile(
                file.path, file.size, _NEVER, "", str(error), error.reason
            )
            continue
        # Size and time are from the scan, so a file that changes while it is read is read again
        # next time.
        entry = IndexedFile(file.path, file.size, file.mtime_ns, hashlib.sha256(data).hexdigest())
        # A moved file keeps its text if its name is the same, as the name may give title and date.
        old_path = old_paths.get((entry.file_hash, PurePath(entry.path).name))
        if old_path and old_path != entry.path:
            moved = changes.store.document(old_path)
            if moved and moved.file_hash == entry.file_hash:
                entry = moved._replace(path=entry.path, size=entry.size, mtime_ns=entry.mtime_ns)
        entries[file.path] = entry
        if not entry.text and not _is_same(entry, changes):
            unknown[file.path] = data
    contents = list[tuple[bytes, str]]()
    for path, data in unknown.items():
        contents.append((data, PurePath(path).name))
    extracts = parser.parse_all(contents, changes.today)
    for path, extract in zip(unknown, extracts, strict=True):
        entries[path] = _with_extract(entries[path], extract, changes)
    return list(entries.values())


def _with_extract(
    entry: IndexedFile, extract: Extract | Unreadable, changes: FolderChanges
) -> IndexedFile:
    """Return an entry with what the parser extracted, or with the reason why it failed."""
    if isinstance(extract, Unreadable):
        entry = entry._replace(reason=str(extract), code=extract.reason)
        if entry.code not in _UNSURE:
            return entry
        # Count the attempts under this time limit.
        before = changes.known.get(entry.path)
        if (
            before is None
            or before.file_hash != entry.file_hash
            or before.seconds < changes.seconds
        ):
            return entry._replace(seconds=changes.seconds, tries=1)
        return entry._replace(seconds=before.seconds, tries=before.tries + 1)
    extracted = {name: getattr(extract, name) for name in _EXTRACTED}
    return entry._replace(**extracted, content_hash=text_hash(extract.text))


def _remove_old(folder: Path, now: float) -> None:
    """Remove indexes that have not been used for long and whose folder or file is gone."""
    for file in sorted(folder.glob("*.sqlite")):
        # A failed removal must not fail the run.
        with suppress(OSError, sqlite3.Error):
            if not _is_old(file, now):
                continue
            with exclusive(file):
                # Another process may have used the index meanwhile.
                if _is_old(file, now) and not _has_root(file):
                    remove(file)
    for file in sorted(folder.glob(f"*.sqlite{NEW_SUFFIX}")):
        with suppress(OSError):
            if _is_old(file, now):
                discard(file)


def _is_old(file: Path, now: float) -> bool:
    """Whether the index and its lock file, which every refresh touches, are both old."""
    last_use = 0.0
    for path in (file, Path(f"{file}{LOCK}")):
        if path.exists():
            last_use = max(last_use, path.stat().st_mtime)
    return now - last_use > _KEPT_SECONDS


def _has_root(file: Path) -> bool:
    """Whether the indexed folder or file still exists.

    False for an index of another version, which is useless.
    """
    try:
        with closing(
            sqlite3.connect(f"{file.absolute().as_uri()}?mode=rw", uri=True)
        ) as connection:
            (root,) = connection.execute("SELECT root FROM totals").fetchone()
    except sqlite3.DatabaseError as error:
        return not is_corrupt(error) and error.sqlite_errorcode != sqlite3.SQLITE_ERROR
    try:
        return bool(root) and Path(os.fsdecode(root)).exists()
    except OSError:
        return True


class Upkeep:
    """Maintains the indexes of a run; may be used from several threads."""

    def __init__(self, limits: Limits, clock: Clock) -> None:
        self._limits = limits
        self._clock = clock

    def refresh(
        self, roots: Sequence[Root], on_progress: Callable[[int, int], None] | None
    ) -> list[FolderChanges]:
        """Index new and changed files.

        Return the changes. `on_progress` gets two numbers of files: done, and all.
        """
        changes_of_roots = list[FolderChanges]()
        for root in roots:
            comparison = partial(self._compare, root.path, root.store)
            # A damaged index is replaced with an empty one.
            changes_of_roots.append(self.run((root,), comparison, is_filled=False))
        total = sum(len(changes.files) for changes in changes_of_roots)
        done = count(1)

        def on_step() -> None:
            if on_progress:
                on_progress(next(done), total)

        with ThreadPoolExecutor(Parser.FILES_AT_ONCE) as threads:
            for root, changes in zip(roots, changes_of_roots, strict=True):
                self.run((root,), partial(update, changes, self._parser, threads, on_step))
        now = self._clock.now().timestamp()
        for root in roots:
            # Record the last use, for `_is_old`.
            os.utime(f"{root.store.file}{LOCK}", (now, now))
        for folder in {root.store.file.parent for root in roots}:
            _remove_old(folder, now)
        return changes_of_roots

    def run(
        self, roots: Sequence[Root], work: Callable[[], Result], *, is_filled: bool = True
    ) -> Result:
        """Return `work()`.

        If an index of these roots turns out to be damaged, rebuild it and call `work` again.
        `is_filled=False`: leave the new index empty. Raises `RebuildNeeded` if this thread has a
        shared lock; the caller must release it and try again.
        """
        for _ in range(_MOST_REBUILDS):
            seen = {root.store.file: root.store.identity() for root in roots}
            try:
                return work()
            except RebuildNeeded as error:
                if has_shared_lock():
                    raise
                log_failure(__name__, error, "The index %s is damaged and is rebuilt", error.file)
                damaged = error.file
            for root in roots:
                if root.store.file == damaged:
                    self._replace(root, seen[damaged], is_filled=is_filled)
        raise DatabaseUnusable(
            f"{damaged}: the document index is still damaged after {_MOST_REBUILDS} rebuilds"
        )

    def _replace(self, root: Root, seen: object, *, is_filled: bool) -> None:
        """Replace a damaged index with a new one, unless another thread or process already has."""
        with translated_errors(root.store.file), exclusive(root.store.file):
            if root.store.identity() != seen:
                return
            fresh = root.store.replacement()
            if is_filled:
                changes = self._compare(root.path, fresh)
                with ThreadPoolExecutor(Parser.FILES_AT_ONCE) as threads:
                    update(changes, self._parser, threads, lambda: None)
            replace(root.store.file, fresh.file)

    def _compare(self, root: Path, index: Index) -> FolderChanges:
        today = self._clock.now().date().isoformat()
        return compare(root, index, self._limits, today)

    @property
    def _parser(self) -> Parser:
        return Parser.of_files(self._limits.parse_seconds, self._limits.max_document_bytes)

"""Keeps indexes right: brought up to date with their files, built anew when damaged, removed when unused."""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import closing, suppress
from functools import partial
from itertools import chain, count
from pathlib import Path, PurePath
from typing import NamedTuple, TypeVar

from ..evidence.standing import standing_of
from ..reading.documents.pool import WORKERS, Parser
from ..reading.records import Extract, Kind, Unreadable, kind_of_file
from ..run.context import Clock
from ..run.errors import DatabaseUnusable
from ..run.limits import Limits
from ..run.logs import log_failure
from .folder import FoundFile, LeftOut, read_file, scan_folder
from .index import Entry, Index, Root, unreadable
from .index_file import LOCK, NEW, Foreign, alone, discard, is_corrupt, is_using, remove, usable

BATCH_FILES = 50
BATCH_BYTES = 4_000_000
"""Files or bytes that are stored together at most: what is lost when indexing is killed."""
PICTURE_FILES = 10
"""Files for which a picture counts, because recognising its text takes long."""
GROUP_FILES = 16
GROUP_BYTES = 200_000
"""Files or bytes that are sent to a parser together at most."""
QUICK = frozenset({"markdown", "text", "html"})
"""Kinds of files that take a parser less time than it takes to send them."""
AHEAD = 2
"""Batches that are under way: while one is stored, the next one is read already."""
NEVER = -1
_READ = ("title", "text", "date", "date_kind", "period", "publisher", "is_cut", "note")
"""What an entry takes over from what was read."""
UNSURE = frozenset({"timed out", "crashed"})
"""Failures that may have other reasons than the file: a busy machine, or a limit that has been raised meanwhile."""
MOST_TRIES = 3
"""Runs that read such a file with the same limit before it counts as unreadable, which bounds what it costs."""
KEPT_SECONDS = 90 * 24 * 3600
"""How long the index of a folder that is gone is kept, which may be on a disk that comes back."""
MOST_REBUILDS = 3
"""Times that an index is built anew and still found damaged before the run gives up."""
Result = TypeVar("Result")


def batches(files: Iterable[FoundFile]) -> Iterator[list[FoundFile]]:
    """Yield the files in the batches in which they are stored."""
    return _filled(files, BATCH_FILES, BATCH_BYTES)


def groups(files: Iterable[FoundFile]) -> Iterator[list[FoundFile]]:
    """Yield the files in the groups in which they are sent to a parser; what may take long goes alone."""
    for group in _filled(files, GROUP_FILES, GROUP_BYTES):
        quick: list[FoundFile] = []
        for file in group:
            if _kind(file) in QUICK:
                quick.append(file)
            else:
                yield from filter(None, (quick, [file]))
                quick = []
        yield from filter(None, [quick])


def _kind(file: FoundFile) -> Kind | None:
    return kind_of_file(file.path)


def _filled(files: Iterable[FoundFile], most_files: int, most_bytes: int) -> Iterator[list[FoundFile]]:
    step: list[FoundFile] = []
    count = size = 0
    for file in files:
        if step and (count >= most_files or size + file.size > most_bytes):
            yield step
            step, count, size = [], 0, 0
        step.append(file)
        count += PICTURE_FILES if _kind(file) == "image" else 1
        size += file.size
    yield from filter(None, [step])


class Outdated(NamedTuple):
    """What has to be done to one index."""

    root: Path
    store: Index
    files: tuple[FoundFile, ...]
    """New or changed files."""
    known: dict[str, Entry]
    """What the index holds, by path."""
    gone: tuple[str, ...]
    """Paths that are no longer there."""
    left_out: tuple[LeftOut, ...]
    """What the scan would not touch."""
    seconds: float
    """That reading one file may take."""


def compare(root: Path, index: Index, limits: Limits) -> Outdated:
    """Compare files with the index; blocks.

    A file counts as unchanged if its size and its date, to the nanosecond, are the same. A change that leaves both as
    they were is not noticed: within one tick of the file system's clock after indexing, or by a program that sets the
    old date again. A file whose reading took too long, or crashed the reader, is tried again: a few times, and whenever
    there is more time for it than before. Raises `OSError` if the folder cannot be listed.
    """
    scan = scan_folder(root, limits.max_document_bytes, limits.max_documents)
    known = index.stamps()
    seconds = limits.parse_seconds
    files = tuple(file for file in scan.files if not _is_known(file, known.get(file.path), seconds))
    gone = tuple(sorted(known.keys() - {file.path for file in scan.files}))
    return Outdated(root, index, files, known, gone, scan.left_out, seconds)


def update(outdated: Outdated, parser: Parser, threads: Executor, on_step: Callable[[], None]) -> None:
    """Read what is new or changed and store it, batch by batch, so that a kill loses one batch at most; blocks."""
    outdated.store.note_root(outdated.root)
    with closing(_read_ahead(outdated, parser, threads)) as batches_read:
        for futures in batches_read:
            entries = [entry for future in futures for entry in _counted(future.result(), on_step)]
            is_same = [_is_same(entry, outdated) for entry in entries]
            outdated.store.put([entry for entry, same in zip(entries, is_same, strict=True) if not same])
            outdated.store.restamp([entry for entry, same in zip(entries, is_same, strict=True) if same])
    # Last, so that the text of a file that was moved is still there to be taken over.
    outdated.store.remove(outdated.gone)


def _is_known(file: FoundFile, entry: Entry | None, seconds: float) -> bool:
    if entry is None or not _is_settled(entry, seconds):
        return False
    return (entry.size, entry.mtime_ns) == (file.size, file.mtime_ns)


def _is_same(entry: Entry, outdated: Outdated) -> bool:
    """Whether the bytes are those that the index knows, and to read them again would bring nothing."""
    known = outdated.known.get(entry.path)
    if known is None or not _is_settled(known, outdated.seconds):
        return False
    return bool(entry.file_hash) and entry.file_hash == known.file_hash


def _is_settled(entry: Entry, seconds: float) -> bool:
    return entry.code not in UNSURE or (entry.tries >= MOST_TRIES and entry.seconds >= seconds)


def _counted(done: Sequence[Entry], on_step: Callable[[], None]) -> Sequence[Entry]:
    for _ in done:
        on_step()
    return done


def _read_ahead(outdated: Outdated, parser: Parser, threads: Executor) -> Generator[list[Future[list[Entry]]]]:
    """Yield what was read, batch by batch: while one is stored, the next one is read already."""
    read = partial(_read, outdated, _places(outdated), parser)
    begun = ([threads.submit(read, group) for group in groups(batch)] for batch in batches(outdated.files))
    reading: deque[list[Future[list[Entry]]]] = deque()
    try:
        for futures in begun:
            reading.append(futures)
            if len(reading) == AHEAD:
                yield reading[0]
                reading.popleft()
        yield from reading
    finally:
        for future in chain.from_iterable(reading):
            future.cancel()


def _places(outdated: Outdated) -> dict[tuple[str, str], str]:
    """Return where the texts of files are that may have been moved, by hash and name."""
    if all(file.path in outdated.known for file in outdated.files):
        return {}
    texts = (entry for entry in outdated.known.values() if entry.file_hash and not entry.reason)
    return {(entry.file_hash, PurePath(entry.path).name): entry.path for entry in texts}


def _read(
    outdated: Outdated, places: Mapping[tuple[str, str], str], parser: Parser, files: Sequence[FoundFile]
) -> list[Entry]:
    entries: dict[str, Entry] = {}
    unknown: dict[str, bytes] = {}
    for file in files:
        try:
            data = read_file(outdated.root, file, parser.max_bytes)
        except Unreadable as error:
            # Permissions may change without a trace in the stamp, so this one is always tried again.
            entries[file.path] = Entry(file.path, file.size, NEVER, "", str(error), error.reason)
            continue
        # The stamp is that of the scan: a file that changes while it is read differs from it next time.
        entry = Entry(file.path, file.size, file.mtime_ns, hashlib.sha256(data).hexdigest())
        entries[file.path] = _moved(outdated, places, entry) or entry
        if not entries[file.path].text and not _is_same(entry, outdated):
            unknown[file.path] = data
    extracts = parser.parse_all([(data, PurePath(path).name) for path, data in unknown.items()])
    for path, extract in zip(unknown, extracts, strict=True):
        entries[path] = _with(entries[path], extract, outdated)
    return list(entries.values())


def _moved(outdated: Outdated, places: Mapping[tuple[str, str], str], entry: Entry) -> Entry | None:
    """Return the entry with the text of a file with the same content and name, which may give its title and date."""
    place = places.get((entry.file_hash, PurePath(entry.path).name))
    found = outdated.store.document(place) if place and place != entry.path else None
    if found is None or found.file_hash != entry.file_hash:
        return None
    return found._replace(path=entry.path, size=entry.size, mtime_ns=entry.mtime_ns)


def _with(entry: Entry, extract: Extract | Unreadable, outdated: Outdated) -> Entry:
    if isinstance(extract, Unreadable):
        failed = entry._replace(reason=str(extract), code=extract.reason)
        return _tried(failed, outdated) if failed.code in UNSURE else failed
    known = {
        name: getattr(extract, name)
        for name in ("title", "text", "date", "date_kind", "period", "publisher", "is_cut", "note")
    }
    stated = standing_of(extract.title, PurePath(entry.path).name, extract.text)._asdict()
    return entry._replace(**known, **stated, content_hash=hashlib.sha256(extract.text.encode()).hexdigest())


def _tried(entry: Entry, outdated: Outdated) -> Entry:
    """Return the failure with the time that was given, and how often it was given in vain."""
    known = outdated.known.get(entry.path)
    if known is None or known.file_hash != entry.file_hash or known.seconds < outdated.seconds:
        return entry._replace(seconds=outdated.seconds, tries=1)
    return entry._replace(seconds=known.seconds, tries=known.tries + 1)


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
        """Return what has to be done; a damaged index starts empty."""
        return self._mended((root,), partial(self._compare, root, root.store), lambda _root, _fresh: None)

    def _mended(self, roots: Sequence[Root], ask: Callable[[], Result], build: Callable[[Root, Index], None]) -> Result:
        for _ in range(MOST_REBUILDS):
            seen = {root.store.file: root.store.identity() for root in roots}
            try:
                return ask()
            except Foreign as error:
                if is_using():
                    raise
                log_failure(__name__, error, "The index %s is damaged and is built anew", error.file)
                damaged = error.file
            for root in roots:
                if root.store.file == damaged:
                    _exchange(root, seen[damaged], build)
        raise DatabaseUnusable(f"{damaged}: the document index is damaged, however often it is built anew")

    def _build(self, root: Root, fresh: Index) -> None:
        with ThreadPoolExecutor(WORKERS) as threads, self._parser() as parser:
            update(self._compare(root, fresh), parser, threads, lambda: None)

    def _compare(self, root: Root, index: Index) -> Outdated:
        try:
            return compare(root.path, index, self._limits)
        except OSError as error:
            raise unreadable(root.path, f"cannot be opened ({error.strerror or error})") from error

    def _parser(self) -> Parser:
        today = self._clock.now().date().isoformat()
        return Parser(self._limits.parse_seconds, self._limits.max_document_bytes, today=today)


def _counter(outdated: Sequence[Outdated], on_progress: Callable[[int, int], None] | None) -> Callable[[], None]:
    """Return a function to call for each file that is done, which reports how many of how many are."""
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

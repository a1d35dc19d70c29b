"""Brings the index of a folder up to date with its files."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from deep_research.reading.extract import Parser
from deep_research.reading.folder import FoundFile, LeftOut, read_file, scan_folder
from deep_research.reading.records import Unreadable
from deep_research.run.limits import Limits
from deep_research.tools.index import Entry, Index

BATCH = 50
NEVER = -1


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


def compare(root: Path, index: Index, limits: Limits) -> Outdated:
    """Compare files and index; blocks. Raises `OSError` if the folder cannot be listed."""
    scan = scan_folder(root, limits.max_document_bytes, limits.max_documents)
    known = index.stamps()
    files = tuple(file for file in scan.files if not _is_known(file, known.get(file.path)))
    gone = tuple(sorted(known.keys() - {file.path for file in scan.files}))
    return Outdated(root, index, files, known, gone, scan.left_out)


def update(outdated: Outdated, parser: Parser, threads: Executor, on_file: Callable[[], None]) -> None:
    """Read what is new or changed and store it, batch by batch, so that a kill loses one batch at most; blocks."""
    outdated.store.remove(outdated.gone)
    files = iter(outdated.files)
    while batch := list(islice(files, BATCH)):
        read = threads.map(lambda file: _read(outdated, file, parser), batch)
        entries = list(_counted(read, on_file))
        is_same = [_is_same(entry, outdated.known.get(entry.path)) for entry in entries]
        outdated.store.put(entry for entry, same in zip(entries, is_same, strict=True) if not same)
        outdated.store.restamp(entry for entry, same in zip(entries, is_same, strict=True) if same)


def _is_known(file: FoundFile, entry: Entry | None) -> bool:
    return entry is not None and (entry.size, entry.mtime_ns) == (file.size, file.mtime_ns)


def _is_same(entry: Entry, known: Entry | None) -> bool:
    return known is not None and bool(entry.file_hash) and entry.file_hash == known.file_hash


def _counted(entries: Iterator[Entry], on_file: Callable[[], None]) -> Iterator[Entry]:
    for entry in entries:
        on_file()
        yield entry


def _read(outdated: Outdated, file: FoundFile, parser: Parser) -> Entry:
    # The stamp is that of the scan: a file that changes while it is read differs from it next time.
    entry = Entry(file.path, file.size, file.mtime_ns, "")
    try:
        data = read_file(outdated.root, file, parser.max_bytes)
    except Unreadable as error:
        # Permissions may change without a trace in the stamp, so this one is always tried again.
        return entry._replace(mtime_ns=NEVER, reason=str(error), code=error.reason)
    entry = entry._replace(file_hash=hashlib.sha256(data).hexdigest())
    if _is_same(entry, outdated.known.get(file.path)):
        return entry
    try:
        extract = parser.parse(data, file.path)
    except Unreadable as error:
        return entry._replace(reason=str(error), code=error.reason)
    content_hash = hashlib.sha256(extract.text.encode()).hexdigest()
    return entry._replace(
        title=extract.title, text=extract.text, date=extract.date, is_cut=extract.is_cut, content_hash=content_hash
    )

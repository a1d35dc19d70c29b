"""Files that are read and stored together: large steps save time, small ones lose little when they are broken off."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import PurePath

from ..reading.folder import FoundFile
from ..reading.records import KINDS

BATCH_FILES = 50
BATCH_BYTES = 4_000_000
"""Stored together are so many files or bytes at most: what is lost when indexing is killed."""
GROUP_FILES = 16
GROUP_BYTES = 200_000
"""Sent to a parser together are so many files or bytes at most."""
QUICK = frozenset({"markdown", "text", "html"})
"""Kinds of files that take a parser less time than it takes to send them."""


def batches(files: Iterable[FoundFile]) -> Iterator[list[FoundFile]]:
    """The files in the steps in which they are stored."""
    return _filled(files, BATCH_FILES, BATCH_BYTES)


def groups(files: Iterable[FoundFile]) -> Iterator[list[FoundFile]]:
    """The files in the steps in which they are sent to a parser; what may take long goes alone."""
    for group in _filled(files, GROUP_FILES, GROUP_BYTES):
        quick: list[FoundFile] = []
        for file in group:
            if KINDS.get(PurePath(file.path).suffix.lower()) in QUICK:
                quick.append(file)
            else:
                yield from filter(None, (quick, [file]))
                quick = []
        yield from filter(None, [quick])


def _filled(files: Iterable[FoundFile], most_files: int, most_bytes: int) -> Iterator[list[FoundFile]]:
    step: list[FoundFile] = []
    size = 0
    for file in files:
        if step and (len(step) == most_files or size + file.size > most_bytes):
            yield step
            step, size = [], 0
        step.append(file)
        size += file.size
    yield from filter(None, [step])

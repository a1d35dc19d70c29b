"""The files below a folder: which there are, and their bytes, without ever leaving the folder."""

from __future__ import annotations

import os
import re
import stat
from collections import Counter
from collections.abc import Iterator
from heapq import nsmallest
from pathlib import Path, PurePath
from typing import NamedTuple

from ..reading.records import Unreadable, kind_of_file

OTHER_KINDS = "unknown format"
"""Code of files whose names say that they are of no kind that is read."""
PICTURE = "picture"
"""Code of pictures without any text."""
PICTURES = "(pictures)"
"""Stands for all of them."""
OTHERS = "(other files)"
"""Stands for all files of kinds that are not read, before all names in a list of them."""
MORE = "(more files)"
"""Stands for what is not named any more, because too much was left out."""
MOST_NAMED = 1_000
"""Files and folders that are named one by one with the reason why they are not read."""
KINDS_NAMED = 5
"""Kinds of files that are not read and are named one by one."""
_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
# Without this, opening a named pipe waits for somebody to write into it.
_NO_WAIT = getattr(os, "O_NONBLOCK", 0)
# Names are shown to people and models, and SQLite takes no broken characters.
NOT_IN_NAMES = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


class FoundFile(NamedTuple):
    """A regular file that may be read."""

    path: str
    """Relative to the folder, with forward slashes."""
    size: int
    mtime_ns: int


class LeftOut(NamedTuple):
    """A file or folder that was not read, and why, in words."""

    path: str
    reason: str
    code: str
    """The same in one word or two, for programs; see `reading.records`."""
    files: int = 1
    """Files that it stands for."""

    @property
    def is_document(self) -> bool:
        """Whether it would be a document if it could be read; files of other kinds never are."""
        return self.code not in (OTHER_KINDS, PICTURE)


class Scan(NamedTuple):
    """What a folder holds."""

    files: tuple[FoundFile, ...]
    left_out: tuple[LeftOut, ...]


def scan_folder(root: Path, max_bytes: int, max_files: int) -> Scan:
    """List the readable kinds of files below `root` (or `root` itself, if it is a file), sorted by path; blocks.

    Links are not followed: one that stays inside leads to a file that is found anyway. Raises `OSError` if the
    folder itself cannot be listed.
    """
    walk = _Walk(root)
    files = nsmallest(max_files, _single(root) if root.is_file() else walk.files())
    for file in files:
        if file.size > max_bytes:
            reason = f"{file.size} bytes are more than {max_bytes} (limit max_document_bytes)"
            walk.left_out.append(LeftOut(file.path, reason, "too large"))
    left_out = [*walk.other_kinds(), *walk.named()]
    if walk.count > max_files:
        reason = f"it holds {walk.count} files; only the first {max_files} are read"
        left_out.append(LeftOut(root.name, reason, "too many", walk.count - max_files))
    return Scan(tuple(file for file in files if file.size <= max_bytes), tuple(left_out))


def read_file(root: Path, file: FoundFile, max_bytes: int) -> bytes:
    """Return the bytes of a file found below `root`; blocks. Raises `Unreadable`."""
    try:
        descriptor = _open(root, file.path)
        with os.fdopen(descriptor, "rb") as stream:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise Unreadable("unreadable", "it is not a regular file any more")
            # The size is that of the scan: a file may have grown since.
            data = stream.read(max_bytes + 1)
    except OSError as error:
        raise Unreadable("unreadable", f"it cannot be opened ({error.strerror or error})") from error
    if len(data) > max_bytes:
        raise Unreadable("too large", f"it is larger than {max_bytes} bytes")
    return data


def _single(root: Path) -> Iterator[FoundFile]:
    status = root.stat()
    yield FoundFile(root.name, status.st_size, status.st_mtime_ns)


class _Walk:
    """A walk through all folders below one, which notes what it passes by."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._folders: list[str] = []
        self._others: Counter[str] = Counter()
        self.left_out: list[LeftOut] = []
        self.count = 0
        """Files that may be read, so far."""

    def files(self) -> Iterator[FoundFile]:
        """Yield the files that may be read. Raises `OSError` if the first folder cannot be listed."""
        yield from self._folder_files("")
        while self._folders:
            inner = self._folders.pop()
            try:
                yield from self._folder_files(inner)
            except OSError as error:
                self._leave_out(inner.rstrip("/"), f"the folder cannot be opened ({error.strerror or error})")

    def named(self) -> Iterator[LeftOut]:
        """Return what was left out, and one line that counts what is no longer named."""
        yield from nsmallest(MOST_NAMED, self.left_out)
        more = len(self.left_out) - MOST_NAMED
        if more > 0:
            yield LeftOut(MORE, f"{more} more are left out", "unreadable", more)

    def other_kinds(self) -> Iterator[LeftOut]:
        """Return one line for all files that are of no readable kind."""
        count = self._others.total()
        if count:
            most = sorted(self._others, key=lambda kind: (-self._others[kind], kind))
            named = ", ".join(most[:KINDS_NAMED])
            more = f" and {len(most) - KINDS_NAMED} more" if len(most) > KINDS_NAMED else ""
            yield LeftOut(OTHERS, f"{count} of kinds that are not read: {named}{more}", OTHER_KINDS, count)

    def _folder_files(self, inner: str) -> Iterator[FoundFile]:
        with os.scandir(self._root / inner) as entries:
            for entry in entries:
                path = inner + entry.name
                if entry.name.startswith("."):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    self._folders.append(path + "/")
                elif reason := self._objection(entry):
                    self._leave_out(path, reason)
                elif not _is_readable(entry.name):
                    self._others.update([] if _leads_to_folder(entry) else [PurePath(entry.name).suffix.lower()])
                elif entry.is_file(follow_symlinks=False):
                    status = entry.stat(follow_symlinks=False)
                    self.count += 1
                    yield FoundFile(path, status.st_size, status.st_mtime_ns)

    def _objection(self, entry: os.DirEntry[str]) -> str:
        """Return why a folder or file of a readable kind is not read; empty if it is, or is found elsewhere."""
        if entry.is_symlink() and (_is_readable(entry.name) or _leads_to_folder(entry)):
            return _objection_to_link(self._root, Path(entry.path))
        if not _is_readable(entry.name) or entry.is_symlink():
            return ""
        if not entry.is_file(follow_symlinks=False):
            return "it is not a regular file"
        if NOT_IN_NAMES.search(entry.path.removeprefix(str(self._root))):
            return "its name holds characters that are not text"
        return ""

    def _leave_out(self, path: str, reason: str) -> None:
        self.left_out.append(LeftOut(_printable(path), reason, "unreadable"))


def _is_readable(name: str) -> bool:
    return kind_of_file(name) is not None


def _leads_to_folder(link: os.DirEntry[str]) -> bool:
    try:
        return link.is_dir()
    except OSError:
        # It leads to itself.
        return False


def _objection_to_link(root: Path, link: Path) -> str:
    try:
        is_inside = link.resolve(strict=True).is_relative_to(root)
    except (OSError, RuntimeError):
        return "it is a link that leads nowhere"
    return "" if is_inside else "it is a link that does not stay in the folder"


def _printable(path: str) -> str:
    return NOT_IN_NAMES.sub("\ufffd", path)


def _open(root: Path, path: str) -> int:
    if root.is_file():
        return os.open(root, os.O_RDONLY | _NO_LINK | _NO_WAIT)
    if os.open not in os.supports_dir_fd:
        return os.open(root / path, os.O_RDONLY | _NO_LINK | _NO_WAIT)
    # Step by step, so that no part of the path can be swapped for a link on the way.
    *folders, name = path.split("/")
    current = os.open(root, os.O_RDONLY | os.O_DIRECTORY | _NO_LINK)
    for part, flags in [*((folder, os.O_DIRECTORY) for folder in folders), (name, _NO_WAIT)]:
        try:
            inner = os.open(part, os.O_RDONLY | _NO_LINK | flags, dir_fd=current)
        finally:
            os.close(current)
        current = inner
    return current

"""Lists and reads the files below a folder without ever leaving it."""

from __future__ import annotations

import os
import re
import stat
from collections import Counter
from collections.abc import Iterator
from heapq import nsmallest
from pathlib import Path, PurePath
from typing import NamedTuple

from ..reading.documents.records import Reason, Unreadable, how_to_convert, kind_of_file
from ..records.sources import NotRead

_OTHER_KINDS = "unknown format"
"""Code of files whose extensions are not supported."""
PICTURE = "picture"
"""Code of pictures without any text."""
PICTURES = "(pictures)"
"""Path of the single entry for all pictures without any text."""
_OTHERS = "(other files)"
"""Path of the single entry for all files with unsupported extensions."""
_MORE = "(more files)"
"""Path of the single entry for left-out files beyond `MOST_NAMED`."""
MOST_NAMED = 1_000
"""Maximum number of left-out files and folders listed individually."""
MOST_FILES = 200_000
"""Maximum number of files read from one folder."""
_KINDS_NAMED = 5
"""Maximum number of unsupported extensions listed."""
_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
# Otherwise opening a named pipe would wait for a writer.
_NO_WAIT = getattr(os, "O_NONBLOCK", 0)
# Names are shown to people and models, and SQLite refuses broken characters.
NOT_IN_NAMES = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


class FoundFile(NamedTuple):
    """A regular file that may be read."""

    path: str
    """Relative to the folder, with forward slashes."""
    size: int
    mtime_ns: int


class LeftOut(NamedTuple):
    """A file or folder that was not read."""

    path: str
    reason: str
    code: str
    """The reason for programs; see `core.reading`."""
    files: int = 1
    """Number of files that the entry covers."""

    @property
    def is_document(self) -> bool:
        """Whether it counts as a document that could not be read."""
        return self.code not in (_OTHER_KINDS, PICTURE)

    @property
    def not_read(self) -> NotRead:
        """The entry in a report's list of unread documents."""
        return NotRead(path=self.path, reason=self.reason, code=self.code)


class Scan(NamedTuple):
    """Contents of a folder."""

    files: tuple[FoundFile, ...]
    left_out: tuple[LeftOut, ...]


def scan_folder(root: Path, max_bytes: int, max_files: int = MOST_FILES) -> Scan:
    """List the supported files below `root` (or `root` itself, if it is a file), sorted by path.

    Blocks. Links are not followed, since the target of a link within the folder is listed anyway.
    Raises `OSError` if the folder cannot be listed.
    """
    walk = _Walk(root)
    if root.is_file():
        status = root.stat()
        files = [FoundFile(root.name, status.st_size, status.st_mtime_ns)]
    else:
        files = nsmallest(max_files, walk.files())
    for file in files:
        if file.size > max_bytes:
            reason = f"{file.size} bytes are more than {max_bytes} (limit max_document_bytes)"
            walk.left_out.append(LeftOut(file.path, reason, "too large"))
    left_out = nsmallest(MOST_NAMED, walk.left_out)
    others = walk.others.total()
    if others:
        extensions = sorted(walk.others, key=lambda kind: (-walk.others[kind], kind))
        reason = f"{others} of unsupported formats: {', '.join(extensions[:_KINDS_NAMED])}"
        if len(extensions) > _KINDS_NAMED:
            reason += f" and {len(extensions) - _KINDS_NAMED} more"
        left_out.insert(0, LeftOut(_OTHERS, reason, _OTHER_KINDS, others))
    more = len(walk.left_out) - MOST_NAMED
    if more > 0:
        left_out.append(LeftOut(_MORE, f"{more} more are left out", "unreadable", more))
    if walk.count > max_files:
        reason = f"it contains {walk.count} files; only the first {max_files} are read"
        left_out.append(LeftOut(root.name, reason, "too many", walk.count - max_files))
    return Scan(tuple(file for file in files if file.size <= max_bytes), tuple(left_out))


def read_file(root: Path, file: FoundFile, max_bytes: int) -> bytes:
    """Return the content of a file found below `root`; blocks. Raises `Unreadable`."""
    try:
        descriptor = _open(root, file.path)
        with os.fdopen(descriptor, "rb") as stream:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise Unreadable("unreadable", "it is no longer a regular file")
            # The file may have grown since the scan.
            data = stream.read(max_bytes + 1)
    except OSError as error:
        raise Unreadable(
            "unreadable", f"it cannot be opened ({error.strerror or error})"
        ) from error
    if len(data) > max_bytes:
        raise Unreadable("too large", f"it is larger than {max_bytes} bytes")
    return data


class _Walk:
    """A walk through all folders below a root; records what it leaves out."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._folders: list[str] = []
        self.others: Counter[str] = Counter()
        """Number of files by unsupported extension."""
        self.left_out: list[LeftOut] = []
        self.count = 0
        """Number of readable files so far."""

    def files(self) -> Iterator[FoundFile]:
        """Yield the files that may be read.

        Raises `OSError` if the first folder cannot be listed.
        """
        yield from self._folder_files("")
        while self._folders:
            inner = self._folders.pop()
            try:
                yield from self._folder_files(inner)
            except OSError as error:
                self._leave_out(
                    inner.rstrip("/"), f"the folder cannot be opened ({error.strerror or error})"
                )

    def _folder_files(self, inner: str) -> Iterator[FoundFile]:
        """Yield the files of a folder (path below the root) that may be read; collect its
        subfolders."""
        with os.scandir(self._root / inner) as entries:
            for entry in entries:
                if entry.name.startswith("."):
                    continue
                path = inner + entry.name
                if entry.is_dir(follow_symlinks=False):
                    self._folders.append(path + "/")
                    continue
                advice = how_to_convert(entry.name)
                if advice and entry.is_file(follow_symlinks=False):
                    self._leave_out(path, advice, "convertible")
                    continue
                is_readable = kind_of_file(entry.name) is not None
                objection = self._objection(entry, is_readable=is_readable)
                if objection:
                    self._leave_out(path, objection)
                elif not is_readable and not _leads_to_folder(entry):
                    self.others[PurePath(entry.name).suffix.lower()] += 1
                elif entry.is_file(follow_symlinks=False):
                    status = entry.stat(follow_symlinks=False)
                    self.count += 1
                    yield FoundFile(path, status.st_size, status.st_mtime_ns)

    def _objection(self, entry: os.DirEntry[str], *, is_readable: bool) -> str:
        """Return why a link to a folder or a supported file is not read.

        Empty if it is read or listed elsewhere.
        """
        if entry.is_symlink() and (is_readable or _leads_to_folder(entry)):
            try:
                is_inside = Path(entry.path).resolve(strict=True).is_relative_to(self._root)
            except (OSError, RuntimeError):
                return "it is a broken link"
            return "" if is_inside else "it is a link to outside the folder"
        if not is_readable:
            return ""
        if not entry.is_file(follow_symlinks=False):
            return "it is not a regular file"
        if NOT_IN_NAMES.search(entry.path.removeprefix(str(self._root))):
            return "its name contains invalid characters"
        return ""

    def _leave_out(self, path: str, reason: str, code: Reason = "unreadable") -> None:
        self.left_out.append(LeftOut(NOT_IN_NAMES.sub("\ufffd", path), reason, code))


def _leads_to_folder(link: os.DirEntry[str]) -> bool:
    """Whether a directory entry is a link to a folder."""
    try:
        return link.is_dir()
    except OSError:
        # The link points to itself.
        return False


def _open(root: Path, path: str) -> int:
    """Open a file below `root` without following links; return its descriptor."""
    if root.is_file():
        return os.open(root, os.O_RDONLY | _NO_LINK | _NO_WAIT)
    if os.open not in os.supports_dir_fd:
        return os.open(root / path, os.O_RDONLY | _NO_LINK | _NO_WAIT)
    # Open the path folder by folder, so that no part of it can be swapped for a link meanwhile.
    *folders, name = path.split("/")
    current = os.open(root, os.O_RDONLY | os.O_DIRECTORY | _NO_LINK)
    for folder in folders:
        current = _open_inner(current, folder, os.O_DIRECTORY)
    return _open_inner(current, name, _NO_WAIT)


def _open_inner(folder: int, name: str, flags: int) -> int:
    """Open an entry of an open folder, and close the folder."""
    try:
        return os.open(name, os.O_RDONLY | _NO_LINK | flags, dir_fd=folder)
    finally:
        os.close(folder)

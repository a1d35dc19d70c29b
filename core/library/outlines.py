"""Outlines of the user's documents, for example questions; read from the files, without an
index."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from ..reading.documents.records import Unreadable
from ..settings.context import Context
from ._folder import FoundFile, read_file, scan_folder
from ._index import Root, open_roots

_FILES, _DOCUMENTS, _BYTES = 200, 12, 200_000
"""Limits in each folder: files considered, documents outlined, and bytes of a file that is read."""
_HEADING = re.compile(r"^#{1,3} +(.{4,60}?)[ #]*$", re.MULTILINE)
_TEXT = (".md", ".markdown")


class DocumentOutline(NamedTuple):
    """A document's title and headings."""

    title: str
    headings: tuple[str, ...]


class RootOutline(NamedTuple):
    """What a folder or file of `docs` contains."""

    files: int
    """Number of files that can be searched."""
    documents: tuple[DocumentOutline, ...]
    """Outlines of some of them, Markdown first."""


def outline_documents(context: Context) -> Iterator[RootOutline]:
    """Yield the outline of each folder and file of `docs`; blocks.

    Raises `DocumentsUnreadable`, and `OSError` if a folder cannot be listed.
    """
    for root in open_roots(context):
        found = scan_folder(root.path, context.limits.max_document_bytes).files
        yield RootOutline(len(found), tuple(_outlines(root, found)))


def _outlines(root: Root, files: Sequence[FoundFile]) -> Iterator[DocumentOutline]:
    """Yield the outlines of some files, Markdown first; other files have no headings, and their
    name as the title."""
    first = sorted(files[:_FILES], key=lambda file: not file.path.lower().endswith(_TEXT))
    for file in first[:_DOCUMENTS]:
        headings = list[str]()
        if file.path.lower().endswith(_TEXT) and file.size <= _BYTES:
            with suppress(Unreadable):
                text = read_file(root.path, file, _BYTES).decode("utf-8", "replace")
                headings = [heading.strip("*_` ") for heading in _HEADING.findall(text)]
        if not headings:
            name = Path(file.path or root.name).stem
            headings = [re.sub(r"[_-]+", " ", name).strip()]
        yield DocumentOutline(headings[0], tuple(headings[1:]))

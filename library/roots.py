"""The folders and files of `docs`, and the addresses of the documents in them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote_from_bytes, unquote

from ..reading.records import KINDS
from ..run.context import Context
from ..run.errors import DocumentsUnreadable
from .folder import NOT_IN_NAMES
from .index import Index

SCHEME = "docs:"


class Root(NamedTuple):
    """A folder or file of `docs`; paths below it are relative, with forward slashes."""

    name: str
    path: Path
    is_folder: bool
    store: Index

    def address(self, path: str) -> str:
        """What a model passes to `open_url` to read this document."""
        return f"{SCHEME}{self.name}/{path}" if self.is_folder else f"{SCHEME}{self.name}"

    def uri(self, path: str) -> str:
        """Where a reader opens this document."""
        folder = _uri(self.path)
        return f"{folder.rstrip('/')}/{quote_from_bytes(os.fsencode(path))}" if self.is_folder else folder

    def path_of(self, address: str) -> str:
        """The path that an address means here; empty if it means nothing here. It is looked up in the index only."""
        if not self.is_folder:
            return self.path.name if address in (self.address(""), self.uri("")) else ""
        by_name, by_uri = self.address(""), f"{self.path.as_uri().rstrip('/')}/"
        path = unquote(address.removeprefix(by_uri)) if address.startswith(by_uri) else address.removeprefix(by_name)
        return "" if path == address or NOT_IN_NAMES.search(path) else path


@cache
def _uri(path: Path) -> str:
    return path.as_uri()


def open_roots(context: Context) -> Iterator[Root]:
    """The folders and files of `docs`, each once; blocks. Raises `DocumentsUnreadable`."""
    names: set[str] = set()
    for path in dict.fromkeys(_resolved(path) for path in context.docs):
        if not path.is_dir() and path.suffix.lower() not in KINDS:
            raise unreadable(path, f"its format cannot be read; these can: {' '.join(KINDS)}")
        name, number = path.name or "root", 1
        while name in names:
            number += 1
            name = f"{path.name or 'root'}-{number}"
        names.add(name)
        digest = hashlib.sha256(str(path).encode(errors="surrogateescape")).hexdigest()[:16]
        yield Root(name, path, path.is_dir(), Index(context.data_dir / "indexes" / f"{digest}.sqlite"))


def _resolved(path: Path) -> Path:
    try:
        found = path.expanduser().resolve(strict=True)
    except (OSError, RuntimeError) as error:
        raise unreadable(path, "there is no such folder or file") from error
    if not found.is_dir() and not found.is_file():
        raise unreadable(path, "is neither a folder nor a regular file")
    return found


def unreadable(path: Path, words: str) -> DocumentsUnreadable:
    """The error for this folder or file."""
    return DocumentsUnreadable(f"{path}: {words} (setting `docs`, options `--docs` and `--attach`)")

"""Tells by a number with which readers of foreign bytes a text was made."""

from __future__ import annotations

from functools import cache
from importlib.metadata import PackageNotFoundError, version
from zlib import crc32

OURS = 3
"""To be raised with every change by which a file may have another text, title or date: all files are then read anew."""
THEIRS = ("charset-normalizer", "lxml", "openpyxl", "pypdf", "python-docx", "python-pptx", "trafilatura")
"""Libraries whose other versions may read a file otherwise."""


@cache
def readers() -> int:
    """A number that is another one if the same file may have another text than before."""
    return crc32(" ".join([str(OURS), *map(_version, THEIRS)]).encode())


def _version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        # It is there, but without the notes of an installer.
        return ""

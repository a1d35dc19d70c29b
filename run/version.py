"""The version of this code, beside those that stored runs were written by."""

from __future__ import annotations

import re
from functools import cache
from importlib.metadata import version


@cache
def code_version() -> str:
    """Return the version of this code; reads a file the first time."""
    return version("deep-research")


def is_newer(other: str) -> bool:
    """Whether a version differs from this code's by more than mended faults, and comes after it."""
    return _parts(other) > _parts(code_version())


def _parts(name: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", name)[:2]))

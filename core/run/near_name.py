"""The known name that a mistyped one is most like."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(name: str, known: Iterable[str], before: str = "") -> str:
    """Return the known name most like this one as a hint in brackets; empty if none is like it."""
    found = get_close_matches(name, list(known), n=1)
    return f" (did you mean {before}{found[0]}?)" if found else ""

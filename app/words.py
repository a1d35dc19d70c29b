"""Numbers and names in words."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def counted(count: int, noun: str) -> str:
    """So many of a thing."""
    ending = "" if count == 1 else "es" if noun.endswith("ch") else "s"
    return f"{count} {noun}{ending}"


def in_words(seconds: float) -> str:
    """A time in minutes and seconds."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def nearest(name: str, known: Iterable[str], before: str = "") -> str:
    """The known name that is most like this one, in brackets, with what comes `before` it; empty if none is like it."""
    found = get_close_matches(name, list(known), n=1)
    return f" (did you mean {before}{found[0]}?)" if found else ""

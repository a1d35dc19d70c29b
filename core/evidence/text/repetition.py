"""Detects a text that repeats itself endlessly, as small models write it."""

from __future__ import annotations

LOOP, LONGEST = 1200, 400
"""Minimum length of a loop, and maximum length of the passage that it repeats, in characters."""


def loop_start(text: str) -> int | None:
    """Return the index where the first repetition begins if the text ends in a loop; else None.

    In a loop, the last `LOOP` characters repeat one passage of at most `LONGEST` characters.
    """
    tail = text[-LOOP:]
    if len(tail) < LOOP:
        return None
    period = LOOP - LONGEST - tail.rfind(tail[-LONGEST:], 0, LOOP - 1)
    if period > LONGEST or tail[period:] != tail[:-period]:
        return None
    start = len(text) - LOOP
    while start and text[start - 1] == text[start - 1 + period]:
        start -= 1
    return start + period


def without_loop(text: str) -> str:
    """Return the text with the passage that it repeats at its end only once."""
    return text[: loop_start(text.rstrip())].rstrip()

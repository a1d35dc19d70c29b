"""Finds where a text that a model writes begins to repeat itself without end."""

from __future__ import annotations

LOOP, LONGEST = 1200, 400
"""Characters that have to repeat one another for a loop, and of what is repeated at most."""


def loop_start(text: str) -> int | None:
    """Return where the first repetition begins, in a text that ends in a loop; none for any other text.

    The last `LOOP` characters of it are one passage of at most `LONGEST` characters, over and over.
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
    """Return the text up to the end of what it repeats, once."""
    return text[: loop_start(text.rstrip())].rstrip()

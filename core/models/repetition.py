"""Finds endless repetition at the end of a model's text, as small models write it."""

from __future__ import annotations

SHORTEST_LOOP, LONGEST_REPEATED = 1200, 400
"""Minimum length of a loop, and maximum length of the passage that it repeats, in characters."""


def without_loop(text: str) -> str:
    """Return the text without the repetitions of a loop at its end (see `loop_start`)."""
    return text[: loop_start(text.rstrip())].rstrip()


def loop_start(text: str) -> int | None:
    """Return the offset of the first repetition if a text ends in a loop, as small models' texts
    may; else None.

    In a loop, the last `SHORTEST_LOOP` characters repeat one passage of at most `LONGEST_REPEATED`
    characters.
    """
    tail = text[-SHORTEST_LOOP:]
    if len(tail) < SHORTEST_LOOP:
        return None
    period = (
        SHORTEST_LOOP
        - LONGEST_REPEATED
        - tail.rfind(tail[-LONGEST_REPEATED:], 0, SHORTEST_LOOP - 1)
    )
    if period > LONGEST_REPEATED or tail[period:] != tail[:-period]:
        return None
    start = len(text) - SHORTEST_LOOP
    while start and text[start - 1] == text[start - 1 + period]:
        start -= 1
    return start + period

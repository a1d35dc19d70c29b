"""Tells where a line of a text ends only because it was full."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby, pairwise

FULL = 40
"""Characters of a line at least that can have ended because it was full."""
_APART = re.compile(r"\s*(?:#|>|[-*+•–]\s|\(?\d{1,3}[.)]\s|\[\d|={3}|-{3})|.*[|\t]")
_TITLE = re.compile(r"\s*(?:#|={3}|-{3})|.*[|\t]")


def unwrap(text: str) -> str:
    """The text with a space for each line break within a paragraph; all places stay what they are."""
    lines = text.split("\n")
    breaks = (
        " " if _goes_on(line, following, width) else "\n"
        for (line, following), width in zip(pairwise(lines), _widths(lines), strict=False)
    )
    return lines[0] + "".join(end + line for end, line in zip(breaks, lines[1:], strict=True))


def _widths(lines: list[str]) -> Iterator[int]:
    """For each line, how long the longest of its neighbours up to the next empty lines is."""
    for _, block in groupby(lines, key=lambda line: bool(line.strip())):
        lengths = [len(line.rstrip()) for line in block]
        yield from [max(lengths)] * len(lengths)


def _goes_on(line: str, following: str, width: int) -> bool:
    plain, first = line.rstrip(), (following.split(maxsplit=1) or [""])[0]
    if not plain or not first or _TITLE.match(line) or _APART.match(following):
        return False
    if first[0].islower() and (plain[-1].isalpha() or plain[-1] == ","):
        return True
    return len(plain) >= FULL and len(plain) + 1 + len(first) > width

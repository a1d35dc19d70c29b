"""Which passages of a large index are compared for a question: not all that hold a common word."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from math import prod
from typing import NamedTuple

MOST = 3_000
"""Passages that one search compares; each takes some microseconds, and a question makes many searches."""
TOGETHER = 3
"""Common words that are sought together, at most: to look for one takes the longer the more passages hold it."""


class _Word(NamedTuple):
    passages: int
    """How many hold it."""
    match: str
    """What it is indexed by, as a search of FTS5."""


def narrowed(words: Sequence[Mapping[str, int]], total: int, most: int) -> list[str]:
    """The searches, for FTS5, that find the passages for these words; none if no passage holds any of them.

    For each word is told what it is indexed by, and how many of all passages hold that. If those that hold any word are
    more than `most`, those are sought that hold one of the rare words, and those that hold the rarest of the others
    together.
    """
    known = sorted(_Word(sum(counts.values()), _any(map(quoted, counts))) for counts in words if counts)
    if total <= most:
        return [_any(word.match for word in known)] if known else []
    rare = sum(so_far <= most for so_far in accumulate(word.passages for word in known))
    searches = [_any(word.match for word in known[:rare]), _all(_rare_together(known[rare:], total, most))]
    return list(filter(None, searches))


def _rare_together(words: Sequence[_Word], total: int, most: int) -> Sequence[_Word]:
    """The fewest of the words that stand together rarely enough, if they had nothing to do with each other."""
    for number in range(1, min(TOGETHER, len(words))):
        if total * prod(word.passages / total for word in words[:number]) <= most:
            return words[:number]
    return words[:TOGETHER]


def _any(matches: Iterable[str]) -> str:
    return " OR ".join(matches)


def _all(words: Iterable[_Word]) -> str:
    return " AND ".join(f"({word.match})" for word in words)


def quoted(stem: str) -> str:
    """The search for passages that hold this, whatever characters are in it."""
    return '"' + stem.replace('"', '""') + '"'

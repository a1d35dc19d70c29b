"""Keeps what stands in the user's documents out of searches on the web."""

from __future__ import annotations

import re
from collections.abc import Iterable

MOST_SHARED = 8
"""Words in a row that a query may share with a passage: names and titles are shorter, sentences are longer."""

_WORD = re.compile(r"\w+")


def quotes(query: str, passages: Iterable[str]) -> bool:
    """Whether a query shares more words in a row with one of the passages than chance would have it."""
    wanted = _runs(query)
    return bool(wanted) and any(not wanted.isdisjoint(_runs(passage)) for passage in passages)


def _runs(text: str) -> set[tuple[str, ...]]:
    """All runs of one word more than may be shared, whatever stands between the words."""
    words = _WORD.findall(text.casefold())
    return set(zip(*(words[start:] for start in range(MOST_SHARED + 1)), strict=False))

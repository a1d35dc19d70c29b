"""Keeps what stands in the user's documents out of searches on the web."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

MOST_SHARED = 8
"""Words in a row that a query may share with a passage: names and titles are shorter, sentences are longer."""

_WORD = re.compile(r"\w+")


def quoting(queries: Sequence[str], passages: Iterable[str]) -> list[str]:
    """The queries that share more words in a row with one of the passages than chance would have it.

    It takes a moment where the passages are whole documents.
    """
    runs = {query: _runs(query) for query in queries}
    if not any(runs.values()):
        return []
    texts = [_plain(passage) for passage in passages]
    return [query for query in queries if any(run in text for run in runs[query] for text in texts)]


def _runs(query: str) -> list[str]:
    """All runs of one word more than may be shared, whatever stands between the words."""
    words = _words(query)
    return [f" {' '.join(words[end - MOST_SHARED - 1 : end])} " for end in range(MOST_SHARED + 1, len(words) + 1)]


def _plain(passage: str) -> str:
    return f" {' '.join(_words(passage))} "


def _words(text: str) -> list[str]:
    words: list[str] = _WORD.findall(text.casefold())
    return words

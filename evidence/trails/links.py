"""How firmly two passages hang together."""

from __future__ import annotations

import math
from collections.abc import Iterator

from .candidate import Candidate
from .query import Query
from .shelf import Shelf

BY_TITLE = 0.30
"""What a name is worth that leads from one passage to the other and is the title of one of them."""
BY_MENTION = 0.20
"""What it is worth where both only mention it."""
IN_QUESTION = 0.4
"""Share of that if the question holds the name: then it tells nothing new."""
ONE_WORD = 0.5
"""Share of that for a name of one word that only the texts hold."""
SAME_DOCUMENT = 0.1
"""What it is worth that both passages belong to one document."""
FIRMEST = BY_TITLE
"""The most that a link is worth."""


class Links:
    """The links between the passages of one search; each pair and each name is looked up once."""

    def __init__(self, query: Query, shelf: Shelf) -> None:
        self._question = query.plain
        self._shelf = shelf
        self._telling: dict[str, float] = {}
        self._known: dict[tuple[Candidate, Candidate], float] = {}

    def between(self, one: Candidate, other: Candidate) -> float:
        """How firmly two passages hang together by a name that both hold, from 0 to 0.3; rarer names bind better."""
        if one.document == other.document:
            return SAME_DOCUMENT
        pair = (one, other) if one.key < other.key else (other, one)
        if pair not in self._known:
            self._known[pair] = max((*self._ties(one, other), *self._ties(other, one)), default=0.0)
        return self._known[pair]

    def _ties(self, one: Candidate, other: Candidate) -> Iterator[float]:
        """What each name that leads from one to the other is worth."""
        for word in one.names_by_word.keys() & other.words:
            for name in one.names_by_word[word]:
                run = f" {name} "
                if run in other.title_run or run in other.run:
                    yield self._worth(name, run, one, other)

    def _worth(self, name: str, run: str, one: Candidate, other: Candidate) -> float:
        in_title = run in other.title_run
        is_title = run in one.title_run or (in_title and 2 * len(name) >= len(other.subject))
        worth = BY_TITLE if is_title else BY_MENTION
        worth *= 1 if in_title or " " in name else ONE_WORD
        return worth * (IN_QUESTION if run in self._question else 1) * self._tells(one.names[name])

    def _tells(self, name: str) -> float:
        if name not in self._telling:
            self._telling[name] = telling(self._shelf.size, self._shelf.holders(name))
        return self._telling[name]


def telling(size: int, holders: int) -> float:
    """How much a name tells, from 0 for one that all passages hold to 1 for one that hardly any does."""
    size = max(10, size)
    if not holders:
        return 0.0
    return min(1.0, max(0.0, math.log(size / (holders + 1)) / math.log(size / 3)))

"""The passages of all indexes of a run, as the search for trails wants them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

from deep_research.evidence.mixing import in_turn
from deep_research.evidence.trails.candidate import Candidate
from deep_research.tools.index_reader import IndexReader
from deep_research.tools.ranking import Passage, match_any
from deep_research.tools.wording import mentions, spaced

MOST_COUNTED = 20_000
MOST_HOLDERS = 2_000
"""Holders of a name up to which they are counted: one with more hardly tells passages apart."""
MOST_TITLED = 5
MOST_AKIN = 10


class OpenIndex(NamedTuple):
    """An index that is being read."""

    reader: IndexReader
    passage: Callable[[int], Passage]
    """The passage of this number, with its source."""


class IndexShelf:
    """One state of the indexes, for one search by one thread."""

    def __init__(self, indexes: Sequence[OpenIndex]) -> None:
        self._indexes = indexes
        self._read: dict[tuple[int, int], Candidate] = {}
        self._counts: dict[tuple[str, int], int] = {}
        self._lists: dict[tuple[str, int], list[Candidate]] = {}
        self.passages: dict[Candidate, Passage] = {}
        """What was read so far."""

    @cached_property
    def size(self) -> int:
        """How many passages there are."""
        return sum(one.reader.size() for one in self._indexes)

    def counted(self, words: Sequence[str]) -> int:
        """In how many passages at least one of these words stands, up to 20 000 an index."""
        return self._count(_any(words), MOST_COUNTED)

    def search(self, words: Sequence[str], limit: int) -> list[Candidate]:
        """The passages that hold these words best."""
        return self._best(_any(words), limit)

    def titled(self, text: str) -> list[Candidate]:
        """The first passages of documents whose titles stand in this text."""
        titles = mentions(text)
        return self._merged(one.reader.titled(titles, MOST_TITLED) for one in self._indexes)

    def akin(self, title: str) -> list[Candidate]:
        """The first passages of documents whose titles hold all these words."""
        match = " AND ".join(f"title : {_any([word])}" for word in dict.fromkeys(title.split()))
        return self._merged(one.reader.akin(match, MOST_AKIN) for one in self._indexes) if match else []

    def holders(self, name: str) -> int:
        """How many passages hold the words of this name in a row, up to 2 000 an index."""
        return self._count(_run(name), MOST_HOLDERS)

    def holding(self, name: str, words: Sequence[str], limit: int) -> list[Candidate]:
        """The passages that hold this name; if they are many, those with these words or with the name in the title."""
        if self.holders(name) <= limit:
            return self._best(_run(name), limit)
        found = self._best(f"{_run(name)} AND ({_any(words)})", limit) if words else []
        return list(dict.fromkeys([*found, *self._best(f"title : {_run(name)}", limit)]))

    def _count(self, match: str, bound: int) -> int:
        if (match, bound) not in self._counts:
            self._counts[match, bound] = sum(one.reader.count(match, bound) for one in self._indexes)
        return self._counts[match, bound]

    def _best(self, match: str, limit: int) -> list[Candidate]:
        if (match, limit) not in self._lists:
            found = self._merged(one.reader.best(match, limit) for one in self._indexes) if match else []
            self._lists[match, limit] = found
        return self._lists[match, limit]

    def _merged(self, lists: Iterable[Sequence[int]]) -> list[Candidate]:
        return in_turn([self._candidate(place, number) for number in found] for place, found in enumerate(lists))

    def _candidate(self, place: int, number: int) -> Candidate:
        if (place, number) not in self._read:
            passage = self._indexes[place].passage(number)
            key = (passage.source.key, passage.start)
            candidate = Candidate(key, passage.source.key, passage.source.title, passage.text)
            self._read[place, number] = candidate
            self.passages[candidate] = passage
        return self._read[place, number]


def _any(words: Iterable[str]) -> str:
    return match_any(spaced(word) for word in dict.fromkeys(words))


def _run(name: str) -> str:
    return match_any([spaced(name)])

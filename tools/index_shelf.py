"""The passages of all indexes of a run, as the search for trails wants them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

from ..evidence.editions import LARGEST
from ..evidence.text.mixing import in_turn
from ..evidence.trails.candidate import Candidate
from ..knowledge import Source
from .copies import originals_first
from .index_reader import IndexReader
from .index_texts import base_of
from .near_words import MOST_MEANT
from .questions import mentions
from .ranking import Passage

MOST_HOLDERS = 500
"""Holders of a name up to which they are counted: one with more hardly tells passages apart, and leads nowhere."""
MOST_TITLED = 5


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
        self._by_text: dict[tuple[str, int], Candidate] = {}
        self._holders: dict[str, int] = {}
        self._lists: dict[object, list[Candidate]] = {}
        self.passages: dict[Candidate, Passage] = {}
        """What was read so far."""

    @cached_property
    def size(self) -> int:
        """How many passages there are."""
        return sum(one.reader.size for one in self._indexes)

    def counted(self, words: Sequence[str]) -> int:
        """In how many passages these words stand, as a sum over them."""
        return sum(one.reader.counted(words) for one in self._indexes)

    def held(self, words: Sequence[str]) -> frozenset[str]:
        """Those of these words that stand in any passage."""
        return frozenset().union(*(one.reader.held(words) for one in self._indexes))

    def near(self, word: str) -> list[str]:
        """The words that may be meant by one that stands nowhere: those spelt most like it, else parts of it."""
        alike = [near for one in self._indexes for near in one.reader.misspelt(word)]
        best = max((likeness for likeness, _ in alike), default=0.0)
        spelt = [name for likeness, name in alike if likeness == best]
        parts = (part for one in self._indexes for part in one.reader.parts(word)) if not spelt else ()
        return [*dict.fromkeys((*spelt, *parts))][:MOST_MEANT]

    def search(self, words: Sequence[str], limit: int) -> list[Candidate]:
        """The passages that hold these words best."""
        sought = tuple(dict.fromkeys(words))
        return self._once((sought, limit), lambda reader: reader.best(sought, limit))

    def titled(self, text: str) -> list[Candidate]:
        """The first passages of documents whose titles stand in this text."""
        titles = mentions(text)
        return self._once(text, lambda reader: reader.titled(titles, MOST_TITLED))

    def akin(self, title: str) -> list[Candidate]:
        """The first passages of the documents with this title, but for their editions; none if they are too many."""
        found = self._once(("akin", base_of(title)), lambda reader: reader.akin(title, LARGEST + 1))
        return found if len(found) <= LARGEST else []

    def holders(self, name: str) -> int:
        """How many passages hold the words of this name in a row, up to 500 an index."""
        if name not in self._holders:
            self._holders[name] = sum(one.reader.holders(name, MOST_HOLDERS) for one in self._indexes)
        return self._holders[name]

    def holding(self, name: str, words: Sequence[str], limit: int) -> list[Candidate]:
        """The passages that hold this name; if they are many, those with these words or with the name in the title."""
        if self.holders(name) >= MOST_HOLDERS:
            return []
        if self.holders(name) <= limit:
            return self._once((name, limit), lambda reader: reader.holding(name, limit))
        titled = self._once((name, "title", limit), lambda reader: reader.holding(name, limit, in_title=True))
        if not words:
            return titled
        sought = tuple(dict.fromkeys(words))
        found = self._once((name, sought, limit), lambda reader: reader.holding(name, limit, sought))
        return list(dict.fromkeys([*found, *titled]))

    def text(self, source: Source) -> str:
        """The whole text of a document."""
        return next(filter(None, (one.reader.text(source.content_hash) for one in self._indexes)), "")

    def _once(self, asked: object, look_up: Callable[[IndexReader], Iterable[int]]) -> list[Candidate]:
        if asked not in self._lists:
            found = [look_up(one.reader) for one in self._indexes]
            mixed = in_turn([self._candidate(place, row) for row in rows] for place, rows in enumerate(found))
            self._lists[asked] = list(dict.fromkeys(mixed))
        return self._lists[asked]

    def _candidate(self, place: int, number: int) -> Candidate:
        if (place, number) not in self._read:
            passage = self._indexes[place].passage(number)
            # Folders may lie in each other, and copies in several.
            text = (passage.source.content_hash, passage.start)
            self._read[place, number] = self._by_text.get(text) or self._added(text, passage)
        return self._read[place, number]

    def _added(self, text: tuple[str, int], passage: Passage) -> Candidate:
        source = passage.source
        key = originals_first(source), passage.start
        candidate = Candidate(key, source.key, source.title, passage.text, passage.language)
        self._by_text[text] = candidate
        self.passages[candidate] = passage
        return candidate

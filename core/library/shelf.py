"""The passages of all indexes of a run, ranked together: what fits best, and what is in force, first."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, cached_property
from typing import NamedTuple

from ..evidence.standing import asks_for_draft
from ..evidence.text.similarity import interleave, without_repeated
from ..evidence.text.stems import title_key, tokens_of
from ..records.sources import Source
from .candidates import Candidate, mentions
from .index_search import IndexReader
from .near_words import MOST_MEANT

SATURATION = 1.2
LENGTH_SHARE = 0.5
USUAL_CHARACTERS = 700
COLUMN_WEIGHTS = {"title": 2.5, "heading": 1.5, "text": 1.0}
MENTION_WEIGHT = 1.5
MOST_HOLDERS = 500
"""Holders of a name up to which they are counted: one with more hardly tells passages apart, and leads nowhere."""
MOST_TITLED = 5


class Passage(NamedTuple):
    """A passage of a document that answers a query."""

    source: Source
    start: int
    """Offset of the passage in the document's text."""
    heading: str
    """The headings above it."""
    language: str
    """By whose rules its words are stemmed (ISO 639-1); empty if by those of English."""
    text: str


def scores(candidates: Sequence[Passage], weights: Mapping[str, float], mentioned: Mapping[str, float]) -> list[float]:
    """Return each candidate's score: BM25 over title, headings and text, plus a bonus if its title is mentioned."""
    counts: dict[tuple[int, str], float] = defaultdict(float)
    # Passages of one document have its title, and often their headings, in common.
    hits = cache(lambda text, language: Counter(filter(weights.__contains__, tokens_of(text, language))))
    for row, one in enumerate(candidates):
        for column, text in zip(COLUMN_WEIGHTS, (one.source.title, one.heading, one.text), strict=True):
            for stem, times in hits(text, one.language).items():
                counts[row, stem] += COLUMN_WEIGHTS[column] * times
    totals = [0.0] * len(candidates)
    for (row, stem), count in sorted(counts.items()):
        length = 1 - LENGTH_SHARE + LENGTH_SHARE * len(candidates[row].text) / USUAL_CHARACTERS
        totals[row] += weights[stem] * count * (SATURATION + 1) / (count + SATURATION * length)
    _add_mentions(totals, candidates, mentioned)
    return totals


def _add_mentions(totals: list[float], candidates: Sequence[Passage], mentioned: Mapping[str, float]) -> None:
    # Only the best passage of a document gains by its title; else one long document would fill the list.
    best: dict[str, int] = {}
    for row, one in enumerate(candidates):
        holder = best.setdefault(one.source.key, row)
        if (totals[row], -one.start) > (totals[holder], -candidates[holder].start):
            best[one.source.key] = row
    for row in best.values():
        totals[row] += MENTION_WEIGHT * mentioned.get(title_key(candidates[row].source.title), 0.0)


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
        """Return in how many passages these words stand, as a sum over them."""
        return sum(one.reader.counted(words) for one in self._indexes)

    def held(self, words: Sequence[str]) -> frozenset[str]:
        """Return those of these words that stand in any passage."""
        return frozenset().union(*(one.reader.held(words) for one in self._indexes))

    def near(self, word: str) -> list[str]:
        """Return the words that may be meant by one that stands nowhere: those spelt most like it, else parts of it."""
        alike = [near for one in self._indexes for near in one.reader.misspelt(word)]
        best = max((likeness for likeness, _ in alike), default=0.0)
        spelt = [name for likeness, name in alike if likeness == best]
        parts = (part for one in self._indexes for part in one.reader.parts(word)) if not spelt else ()
        return [*dict.fromkeys((*spelt, *parts))][:MOST_MEANT]

    def search(self, words: Sequence[str], limit: int) -> list[Candidate]:
        """Return the passages that match these words best."""
        sought = tuple(dict.fromkeys(words))
        return self._once((sought, limit), lambda reader: reader.best(sought, limit))

    def titled(self, text: str) -> list[Candidate]:
        """Return the first passages of documents whose titles stand in this text."""
        titles = mentions(text)
        return self._once(text, lambda reader: reader.titled(titles, MOST_TITLED))

    def holders(self, name: str) -> int:
        """Return how many passages hold the words of this name in a row, up to 500 for each index."""
        if name not in self._holders:
            self._holders[name] = sum(one.reader.holders(name, MOST_HOLDERS) for one in self._indexes)
        return self._holders[name]

    def holding(self, name: str, words: Sequence[str], limit: int) -> list[Candidate]:
        """Return passages that hold this name; if they are many, those with these words or the name in the title."""
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

    def _once(self, asked: object, look_up: Callable[[IndexReader], Iterable[int]]) -> list[Candidate]:
        if asked not in self._lists:
            found = [look_up(one.reader) for one in self._indexes]
            mixed = interleave([self._candidate(place, row) for row in rows] for place, rows in enumerate(found))
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
        key = source.key, passage.start
        candidate = Candidate(key, source.key, source.title, passage.text, passage.language)
        self._by_text[text] = candidate
        self.passages[candidate] = passage
        return candidate


def in_force_first(question: str, found: Sequence[Passage]) -> list[Passage]:
    """Return the passages, each text once; those of documents that say that they are not in force come last.

    Where the question is about a draft, the order stays.
    """
    is_any_meant = asks_for_draft(question)
    ordered = sorted(found, key=lambda one: not (is_any_meant or one.source.is_in_force))
    return without_repeated(ordered, lambda one: one.text)

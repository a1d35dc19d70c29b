"""The passages of all indexes of a run, ranked together: what fits best, and what is in force, first."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, cached_property
from itertools import chain
from math import fsum
from typing import NamedTuple

from ..evidence.standing import asks_for_draft
from ..evidence.text.similarity import distinct, interleave, rarity, spread, without_repeated
from ..evidence.text.stems import bare, title_key, tokens_of
from ..records.sources import Source
from .candidates import Candidate, mentions, terms_of
from .index_search import OF_TEXT, IndexReader
from .near_words import MOST_MEANT, spelt_most_like

SATURATION = 1.2
LENGTH_SHARE = 0.5
USUAL_CHARACTERS = 700
COLUMN_WEIGHTS = 2.5, 1.5, 1.0
"""Of title, headings and text."""
MENTION_WEIGHT = 1.5
MOST_HOLDERS = 500
"""Holders of a name up to which they are counted: one with more hardly tells passages apart, and leads nowhere."""
MOST_TITLED = 5
COMPARED = 100
"""Passages of each index that are ranked together."""


class LibraryPassage(NamedTuple):
    """A passage of a document that answers a query."""

    source: Source
    start: int
    """Offset of the passage in the document's text."""
    heading: str
    """The headings above it."""
    language: str
    """By whose rules its words are stemmed (ISO 639-1); empty if by those of English."""
    text: str


class OpenIndex(NamedTuple):
    """An index that is being read."""

    reader: IndexReader
    passage: Callable[[int], LibraryPassage]
    """The passage of this number, with its source."""


class IndexShelf:
    """One state of the indexes, for one search by one thread."""

    def __init__(self, indexes: Sequence[OpenIndex]) -> None:
        self._indexes = indexes
        self._read: dict[tuple[int, int], Candidate] = {}
        self._by_text: dict[tuple[str, int], Candidate] = {}
        self._holders: dict[str, int] = {}
        self._lists: dict[object, list[Candidate]] = {}
        self.passages: dict[Candidate, LibraryPassage] = {}
        """What was read so far."""

    @cached_property
    def size(self) -> int:
        """How many passages there are."""
        return sum(one.reader.size for one in self._indexes)

    def counted(self, words: Sequence[str]) -> int:
        """Return in how many passages these words stand, as a sum over all that they are indexed by."""
        counts = (chain(*(of_word.items() for of_word in one.reader.counts(words))) for one in self._indexes)
        return sum(sum(dict(of_index).values()) for of_index in counts)

    def held(self, words: Sequence[str]) -> frozenset[str]:
        """Return those of these words that stand in any passage."""
        return frozenset().union(*(one.reader.held(words) for one in self._indexes))

    def near(self, word: str) -> list[str]:
        """Return the words that may be meant by one that stands nowhere: those spelt most like it, else parts of it."""
        spelt = spelt_most_like(word, (near for one in self._indexes for near in one.reader.misspelt(word)))
        parts = (part for one in self._indexes for part in one.reader.parts(word)) if not spelt else ()
        return [*dict.fromkeys((*spelt, *parts))][:MOST_MEANT]

    def best(self, query: str, limit: int) -> list[LibraryPassage]:
        """Return the passages that match a query best by BM25 over all indexes; a few of each document come first."""
        terms, titles = terms_of(query), {*mentions(query)}
        weights: dict[str, float] = {}
        rarities: dict[str, float] = {}
        counts = [one.reader.counts(terms) for one in self._indexes]
        for place, term in enumerate(terms):
            of_term = [of_index[place] for of_index in counts]
            rarities[bare(term)] = weight = rarity(self.size, sum(chain(*(one.values() for one in of_term))))
            weights |= dict.fromkeys(chain(*of_term), weight)
        found = [*{*self.search(terms, COMPARED), *self.titled(query)}]
        scores = dict(zip(found, _scores([self.passages[one] for one in found], weights), strict=True))
        # Only the best passage of a document gains by its title; else one long document would fill the list.
        ordered = sorted(found, key=lambda one: (-scores[one], one.key))
        for one in distinct(ordered, lambda one: one.document):
            title = title_key(one.title)
            words = title.split() if title in titles else ()
            scores[one] += MENTION_WEIGHT * sum(rarities.get(word, 0.0) for word in words)
        ordered.sort(key=lambda one: (-scores[one], one.key))
        return [self.passages[one] for one in spread(ordered, lambda one: one.document, OF_TEXT)[:limit]]

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

    def _added(self, text: tuple[str, int], passage: LibraryPassage) -> Candidate:
        source = passage.source
        key = source.key, passage.start
        candidate = Candidate(key, source.key, source.title, passage.text, passage.language)
        self._by_text[text] = candidate
        self.passages[candidate] = passage
        return candidate


def _scores(passages: Sequence[LibraryPassage], weights: Mapping[str, float]) -> list[float]:
    """Return the BM25 of passages over title, headings and text, for terms of these weights."""
    # Passages of one document have its title, and often their headings, in common.
    hits = cache(lambda text, language: Counter(filter(weights.__contains__, tokens_of(text, language))))

    def score(one: LibraryPassage) -> float:
        counts: dict[str, float] = defaultdict(float)
        for weight, text in zip(COLUMN_WEIGHTS, (one.source.title, one.heading, one.text), strict=True):
            for term, times in hits(text, one.language).items():
                counts[term] += weight * times
        length = SATURATION * (1 - LENGTH_SHARE + LENGTH_SHARE * len(one.text) / USUAL_CHARACTERS)
        return fsum(weights[term] * (SATURATION + 1) * count / (count + length) for term, count in counts.items())

    return list(map(score, passages))


def in_force_first(question: str, found: Sequence[LibraryPassage]) -> list[LibraryPassage]:
    """Return the passages, each text once; those of documents that say that they are not in force come last.

    Where the question is about a draft, the order stays.
    """
    is_any_meant = asks_for_draft(question)
    ordered = sorted(found, key=lambda one: not (is_any_meant or one.source.is_in_force))
    return without_repeated(ordered, lambda one: one.text)

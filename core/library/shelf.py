"""Ranks the passages of all of a run's indexes together, best matches first."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from functools import cache, cached_property
from itertools import chain
from math import fsum

from ..evidence.text.similarity import distinct, interleave, rarity, spread
from ..evidence.text.stems import index_terms, title_key, unaccented
from .candidates import Candidate, LibraryPassage, possible_titles, terms_of
from .index_search import PER_DOCUMENT, IndexReader

_SATURATION = 1.2
_LENGTH_SHARE = 0.5
"""The parameters k1 and b of BM25."""
_USUAL_CHARACTERS = 700
"""Assumed average length of a passage, in characters."""
_COLUMN_WEIGHTS = 2.5, 1.5, 1.0
"""BM25 weights of title, headings and text."""
_MENTION_WEIGHT = 1.5
"""Factor for the words of a document's title if the query contains the whole title."""
_MOST_COUNTED = 500
"""Passages with a name are counted up to this number; more frequent names do not help a search."""
_MOST_TITLED = 5
"""Maximum documents of each index to find by one title."""
_COMPARED = 100
"""Number of passages from each index to rank together."""
_SIMILARITY = 0.85
"""Minimum similarity of a word and its replacement; "change" and "charge" are just below it."""
_MOST_REPLACEMENTS = 3
"""Maximum number of equally similar words to search for."""


class IndexShelf:
    """A snapshot of all indexes, for one search in one thread."""

    def __init__(self, readers: Sequence[IndexReader]) -> None:
        self._readers = readers
        self._read: dict[tuple[int, int], Candidate] = {}
        self._by_text: dict[tuple[str, int], Candidate] = {}
        self._name_counts: dict[str, int] = {}
        self._lists: dict[object, list[Candidate]] = {}

    @cached_property
    def size(self) -> int:
        """Number of passages in all indexes."""
        return sum(reader.size for reader in self._readers)

    def counted(self, words: Sequence[str]) -> int:
        """Return the number of passages with these words, summed over their index terms."""
        counts = (chain(*(of_word.items() for of_word in reader.counts(words))) for reader in self._readers)
        return sum(sum(dict(of_index).values()) for of_index in counts)

    def known(self, words: Sequence[str]) -> frozenset[str]:
        """Return the words that occur in any passage."""
        return frozenset().union(*(reader.known(words) for reader in self._readers))

    def replacements(self, word: str) -> list[str]:
        """Return replacements for a word that occurs nowhere: words with similar spelling, else its parts."""
        found = [near for reader in self._readers for near in reader.corrections(word)]
        likeness = {near: SequenceMatcher(None, word, near.casefold()).ratio() for near in found}
        best = max(likeness.values(), default=0.0)
        spelt = [near for near in likeness if likeness[near] == best >= _SIMILARITY]
        parts = (part for reader in self._readers for part in reader.parts(word)) if not spelt else ()
        return [*dict.fromkeys((*spelt, *parts))][:_MOST_REPLACEMENTS]

    def best(self, query: str, limit: int) -> list[LibraryPassage]:
        """Return the best passages for a query by BM25 over all indexes, first a few per document."""
        terms, titles = terms_of(query), {*possible_titles(query)}
        weights: dict[str, float] = {}
        rarities: dict[str, float] = {}
        counts = [reader.counts(terms) for reader in self._readers]
        for number, term in enumerate(terms):
            of_term = [of_index[number] for of_index in counts]
            rarities[unaccented(term)] = weight = rarity(self.size, sum(chain(*(forms.values() for forms in of_term))))
            weights |= dict.fromkeys(chain(*of_term), weight)
        found = [*{*self.search(terms, _COMPARED), *self.titled(query)}]
        scores = dict(zip(found, _scores([candidate.passage for candidate in found], weights), strict=True))

        def ordered() -> list[Candidate]:
            return sorted(found, key=lambda candidate: (-scores[candidate], candidate.key))

        # A document's title raises only its best passage; otherwise one long document would fill the list.
        for candidate in distinct(ordered(), lambda candidate: candidate.document):
            title = title_key(candidate.title)
            words = title.split() if title in titles else ()
            scores[candidate] += _MENTION_WEIGHT * sum(rarities.get(word, 0.0) for word in words)
        best = spread(ordered(), lambda candidate: candidate.document, PER_DOCUMENT)[:limit]
        return [candidate.passage for candidate in best]

    def search(self, words: Sequence[str], limit: int) -> list[Candidate]:
        """Return the passages that match these words best."""
        sought = tuple(dict.fromkeys(words))
        return self._cached((sought, limit), lambda reader: reader.best(sought, limit))

    def titled(self, text: str) -> list[Candidate]:
        """Return the first passages of documents whose titles occur in this text."""
        titles = possible_titles(text)
        return self._cached(text, lambda reader: reader.titled(titles, _MOST_TITLED))

    def name_count(self, name: str) -> int:
        """Return the number of passages that contain this name's words in a row, counting up to 500 per index."""
        if name not in self._name_counts:
            counts = (reader.name_count(name, _MOST_COUNTED) for reader in self._readers)
            self._name_counts[name] = sum(counts)
        return self._name_counts[name]

    def with_name(self, name: str, words: Sequence[str], limit: int) -> list[Candidate]:
        """Return the passages with this name; none if `_MOST_COUNTED` passages or more have it.

        If more than `limit` have it: up to `limit` with any of `words`, and up to `limit` with it in their title.
        """
        if self.name_count(name) >= _MOST_COUNTED:
            return []
        if self.name_count(name) <= limit:
            return self._cached((name, limit), lambda reader: reader.with_name(name, limit))
        titled = self._cached((name, "title", limit), lambda reader: reader.with_name(name, limit, in_title=True))
        if not words:
            return titled
        sought = tuple(dict.fromkeys(words))
        found = self._cached((name, sought, limit), lambda reader: reader.with_name(name, limit, sought))
        return list(dict.fromkeys([*found, *titled]))

    def _cached(self, key: object, look_up: Callable[[IndexReader], Iterable[int]]) -> list[Candidate]:
        """Return the passages that `look_up` finds in the indexes, interleaved; cached by `key`."""
        if key not in self._lists:
            found = [look_up(reader) for reader in self._readers]
            mixed = interleave([self._candidate(number, row) for row in rows] for number, rows in enumerate(found))
            self._lists[key] = list(dict.fromkeys(mixed))
        return self._lists[key]

    def _candidate(self, index: int, row: int) -> Candidate:
        """Return the passage with number `row` of an index; the same object for equal passages."""
        if (index, row) not in self._read:
            passage = self._readers[index].passage(row)
            # Folders may be nested or contain copies of a text.
            text = (passage.source.content_hash, passage.start)
            self._read[index, row] = self._by_text.setdefault(text, Candidate(passage))
        return self._read[index, row]


def _scores(passages: Sequence[LibraryPassage], weights: Mapping[str, float]) -> list[float]:
    """Return the BM25 scores of passages over title, headings and text; `weights` by index term."""
    # Passages of a document share its title and often headings.
    hits = cache(lambda text, language: Counter(filter(weights.__contains__, index_terms(text, language))))

    def score(passage: LibraryPassage) -> float:
        counts: dict[str, float] = defaultdict(float)
        for weight, text in zip(_COLUMN_WEIGHTS, (passage.source.title, passage.heading, passage.text), strict=True):
            for term, times in hits(text, passage.language).items():
                counts[term] += weight * times
        length = _SATURATION * (1 - _LENGTH_SHARE + _LENGTH_SHARE * len(passage.text) / _USUAL_CHARACTERS)
        return fsum(weights[term] * (_SATURATION + 1) * count / (count + length) for term, count in counts.items())

    return list(map(score, passages))

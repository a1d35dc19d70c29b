"""Ranks the passages of all of a run's indexes together, best matches first."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from functools import cache, cached_property
from math import fsum

from ..evidence.text.similarity import distinct, interleave, rarity
from ..evidence.text.words import unaccented
from ._candidates import Candidate, LibraryPassage, possible_titles, terms_of
from ._index_search import PER_DOCUMENT, IndexReader, spread
from ._terms import index_terms, title_key

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
_LONGEST_REPLACED = 60
"""Maximum length of a word to replace, in letters; longer ones are no words."""
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

    def beginnings(self, most: int) -> list[str]:
        """Return the first passages of at most `most` documents of each index."""
        texts = list[str]()
        for reader in self._readers:
            texts += reader.beginnings(most)
        return texts

    def counted(self, words: Sequence[str]) -> int:
        """Return the number of passages with these words, summed over their index terms."""
        total = 0
        for reader in self._readers:
            counts = dict[str, int]()
            for of_word in reader.counts(words):
                counts |= of_word
            total += sum(counts.values())
        return total

    def known(self, words: Sequence[str]) -> frozenset[str]:
        """Return the words that occur in any passage."""
        known = set[str]()
        for reader in self._readers:
            known.update(reader.known(words))
        return frozenset(known)

    def replacements(self, word: str) -> list[str]:
        """Return replacements for a word that occurs nowhere: similar spellings, else its parts.

        A word beyond `_LONGEST_REPLACED` letters has none.
        """
        if len(word) > _LONGEST_REPLACED:
            return []
        similarities = dict[str, float]()
        for reader in self._readers:
            for correction in reader.corrections(word):
                matcher = SequenceMatcher(None, word, correction.casefold())
                similarities[correction] = matcher.ratio()
        best = max(similarities.values(), default=0.0)
        replacements = list[str]()
        if best >= _SIMILARITY:
            for correction, similarity in similarities.items():
                if similarity == best:
                    replacements.append(correction)
        else:
            for reader in self._readers:
                replacements += reader.parts(word)
        return list(dict.fromkeys(replacements))[:_MOST_REPLACEMENTS]

    def best(self, query: str, limit: int) -> list[LibraryPassage]:
        """Return the best passages for a query by BM25 over all indexes, first a few per
        document."""
        terms = terms_of(query)
        # The weights of the terms: by index term, and by the query's words without accents.
        weights = dict[str, float]()
        rarities = dict[str, float]()
        counts = [reader.counts(terms) for reader in self._readers]
        for number, term in enumerate(terms):
            passages = 0
            forms = list[str]()
            for of_index in counts:
                passages += sum(of_index[number].values())
                forms += of_index[number]
            weight = rarity(self.size, passages)
            rarities[unaccented(term)] = weight
            weights |= dict.fromkeys(forms, weight)
        found = list({*self.search(terms, _COMPARED), *self.titled(query)})
        bm25 = _scores([candidate.passage for candidate in found], weights)
        scores = dict(zip(found, bm25, strict=True))

        def ordered() -> list[Candidate]:
            return sorted(found, key=lambda candidate: (-scores[candidate], candidate.key))

        # A document's title raises only its best passage; otherwise one long document would fill
        # the list.
        titles = set(possible_titles(query))
        for candidate in distinct(ordered(), lambda candidate: candidate.document):
            title = title_key(candidate.title)
            if title in titles:
                mention = sum(rarities.get(word, 0.0) for word in title.split())
                scores[candidate] += _MENTION_WEIGHT * mention
        best = spread(ordered(), lambda candidate: candidate.document, PER_DOCUMENT)[:limit]
        return [candidate.passage for candidate in best]

    def search(self, words: Sequence[str], limit: int) -> list[Candidate]:
        """Return the passages that match these words best."""
        distinct_words = tuple(dict.fromkeys(words))
        key = (distinct_words, limit)
        return self._cached(key, lambda reader: reader.best(distinct_words, limit))

    def titled(self, text: str) -> list[Candidate]:
        """Return the first passages of documents whose titles occur in this text."""
        titles = possible_titles(text)
        return self._cached(text, lambda reader: reader.titled(titles, _MOST_TITLED))

    def name_count(self, name: str) -> int:
        """Return the number of passages with this name's words in a row, at most 500 per index."""
        if name not in self._name_counts:
            count = 0
            for reader in self._readers:
                count += reader.name_count(name, _MOST_COUNTED)
            self._name_counts[name] = count
        return self._name_counts[name]

    def with_name(self, name: str, words: Sequence[str], limit: int) -> list[Candidate]:
        """Return the passages with this name; none if `_MOST_COUNTED` passages or more have it.

        If more than `limit` have it: up to `limit` with any of `words`, and up to `limit` with it
        in their title.
        """
        if self.name_count(name) >= _MOST_COUNTED:
            return []
        if self.name_count(name) <= limit:
            return self._cached((name, limit), lambda reader: reader.with_name(name, limit))
        titled = self._cached(
            (name, "title", limit), lambda reader: reader.with_name(name, limit, in_title=True)
        )
        if not words:
            return titled
        distinct_words = tuple(dict.fromkeys(words))
        with_words = self._cached(
            (name, distinct_words, limit),
            lambda reader: reader.with_name(name, limit, distinct_words),
        )
        return list(dict.fromkeys([*with_words, *titled]))

    def _cached(
        self, key: object, look_up: Callable[[IndexReader], Iterable[int]]
    ) -> list[Candidate]:
        """Return the passages that `look_up` finds in the indexes, interleaved; cached by `key`."""
        if key not in self._lists:
            by_index = list[list[Candidate]]()
            for index, reader in enumerate(self._readers):
                by_index.append([self._candidate(index, row) for row in look_up(reader)])
            self._lists[key] = list(dict.fromkeys(interleave(by_index)))
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
    """Return the BM25 scores of passages over title, headings and text; `weights` by term."""

    # Passages of a document share its title and often headings.
    @cache
    def counted(text: str, language: str) -> Counter[str]:
        return Counter(filter(weights.__contains__, index_terms(text, language)))

    scores = list[float]()
    for passage in passages:
        frequencies = defaultdict[str, float](float)
        columns = (passage.source.title, passage.heading, passage.text)
        for column_weight, text in zip(_COLUMN_WEIGHTS, columns, strict=True):
            for term, count in counted(text, passage.language).items():
                frequencies[term] += column_weight * count
        length_factor = 1 - _LENGTH_SHARE + _LENGTH_SHARE * len(passage.text) / _USUAL_CHARACTERS
        length = _SATURATION * length_factor
        scores.append(
            fsum(
                weights[term] * (_SATURATION + 1) * frequency / (frequency + length)
                for term, frequency in frequencies.items()
            )
        )
    return scores

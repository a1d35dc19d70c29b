"""Searches one index: turns a question's words into FTS5 queries, and reads the passages found.

A word that the index lacks is replaced with words of similar spelling, or with the parts of a
compound.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cached_property
from itertools import chain
from operator import itemgetter
from string import ascii_lowercase
from typing import Any, NamedTuple, TypeVar

from ..evidence.text.words import STOP_WORDS, sought_words
from ..records.sources import Source
from ._candidates import LibraryPassage
from ._index_file import COLUMNS, POSITION_BITS, POSITION_MASK, IndexedFile
from ._terms import LANGUAGE_SEPARATOR, forms_of, index_term

Value = TypeVar("Value")
MOST_COMPARED = 3_000
"""Number of passages that a search compares; each takes microseconds, and a question makes many
searches."""
_MOST_COMMON = 3
"""Maximum common words per search, since looking up a word takes longer the more passages contain
it."""
_FIRST_WITH_TERM = "SELECT rowid FROM passages WHERE passages MATCH ? LIMIT 1"
_COUNT = "SELECT count (*) FROM (SELECT 1 FROM passages WHERE passages MATCH ? LIMIT ?)"
_RANKED = """
SELECT id FROM (
    SELECT rowid AS id, bm25 (passages, 4.0, 2.0, 1.0) AS score FROM passages
    WHERE passages MATCH ? LIMIT ?
) ORDER BY score, id LIMIT ?
"""
PER_DOCUMENT = 3
"""Maximum passages of one document to rank before other documents', since a long one may match
everywhere."""
_OVERSAMPLING = 10
"""How many times more passages are read than wanted, to find those of other documents."""
_KNOWN_TITLES = """
SELECT value FROM json_each (?) WHERE EXISTS (SELECT 1 FROM documents WHERE title_key = value)
"""
_TITLED = f"""
SELECT texts.id << {POSITION_BITS} FROM documents
JOIN texts ON texts.content_hash = documents.content_hash
JOIN spans ON spans.text = texts.id
WHERE documents.title_key = ? AND spans.position = 0 ORDER BY documents.path LIMIT ?
"""  # noqa: S608
_BEGINNINGS = """
SELECT substr (spans.piece, 1, spans.stop - spans.start) FROM texts
JOIN spans ON spans.text = texts.id AND spans.position = 0 LIMIT ?
"""
_PASSAGE = f"""
SELECT {", ".join(f"documents.{column}" for column in COLUMNS)},
    spans.start, spans.heading, texts.language, substr (spans.piece, 1, spans.stop - spans.start)
FROM spans JOIN texts ON texts.id = spans.text JOIN documents ON documents.id = (
    SELECT id FROM documents AS holder WHERE holder.content_hash = texts.content_hash
    ORDER BY length (holder.path), holder.path LIMIT 1
) WHERE spans.text = ?1 >> {POSITION_BITS} AND spans.position = ?1 & {POSITION_MASK}
"""  # noqa: S608
_FEWEST_LETTERS = 5
"""Minimum letters of a word to correct, and of a part of a compound."""
_FEWEST_OF_COMPOUND = 8
"""Minimum letters of a compound to take apart."""
_BEFORE_END, _BEHIND_BEGINNING = 3, 5
"""Minimum letters before a known end, and after a known beginning of a compound, whose end carries
its meaning."""
_SIMILARITY = 0.8
"""Minimum similarity of the stems of a word and a correction."""
_LENGTH_DIFFERENCE = 2
"""Maximum difference in length between a word and a correction."""
_CERTAIN_LETTERS = 3
"""Number of first letters that must be right if more than one other letter is wrong, which keeps
the search small."""
_MOST_SIMILAR = 8
"""Maximum words per language (those with the most similar stems) to compare as written."""
WORD = re.compile(rf"[^\W\d_]{{{_FEWEST_LETTERS},}}")
"""A word that may be corrected."""
_TERMS_LIKE = (
    "SELECT term FROM vocabulary WHERE term >= ? AND term < ? AND length (term) BETWEEN ? AND ?"
)
_KNOWN_TERMS = (
    "SELECT term FROM json_each (?) CROSS JOIN vocabulary ON vocabulary.term = json_each.value"
)
_LAST = "\U0010ffff"
"""The greatest character: the upper bound of a search by prefix."""
SourceOf = Callable[[IndexedFile], Source]
"""Returns the source for a document of an index."""


class _Word(NamedTuple):
    """A word of a query that passages contain."""

    passages: int
    """Number of passages that contain the word."""
    match: str
    """FTS5 query for its terms."""


def narrowed(words: Sequence[Mapping[str, int]], total: int, most: int) -> list[str]:
    """Return FTS5 queries that find passages with these words.

    The list is empty if no passage contains any of them. `words`: for each word its index terms,
    with the number of passages that contain each. If there are more than `most` passages, one query
    matches any rare word, and another matches all of the rarest common words at once.
    """
    known = list[_Word]()
    for counts in words:
        if counts:
            known.append(_Word(sum(counts.values()), _any(counts)))
    known.sort()
    rare = known
    common = list[_Word]()
    if total > most:
        first_common = _number_of_rare(known, most)
        rare = known[:first_common]
        common = _fewest_common(known[first_common:][:_MOST_COMMON], total, most)
    queries = list[str]()
    if rare:
        queries.append(" OR ".join(word.match for word in rare))
    if common:
        queries.append(" AND ".join(f"({word.match})" for word in common))
    return queries


def _number_of_rare(known: Iterable[_Word], most: int) -> int:
    """Return how many of the words, rarest first, are in `most` passages together."""
    rare = passages = 0
    for word in known:
        passages += word.passages
        if passages > most:
            break
        rare += 1
    return rare


def _fewest_common(common: list[_Word], total: int, most: int) -> list[_Word]:
    """Return the fewest words that would be in `most` passages at once if they were independent."""
    share = 1.0
    for number, word in enumerate(common[:-1], 1):
        share *= word.passages / total
        if total * share <= most:
            return common[:number]
    return common


def _any(terms: Iterable[str]) -> str:
    """Return an FTS5 query that matches any of these terms, which may contain any characters."""
    return " OR ".join('"' + term.replace('"', '""') + '"' for term in terms)


def _variants(stem: str) -> Iterator[str]:
    """Yield the spellings that differ by one of the first `_CERTAIN_LETTERS`, except the very
    first."""
    for index in range(1, min(_CERTAIN_LETTERS, len(stem))):
        before = stem[:index]
        letter = stem[index]
        after = stem[index + 1 :]
        yield before + after
        yield before + after[:1] + letter + after[1:]
        for other in ascii_lowercase:
            yield before + other + after
            yield before + other + letter + after


class IndexReader:
    """Passages of an open index, by number."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        source_of: SourceOf,
        counts: dict[tuple[int, str], int],
        most: int,
    ) -> None:
        """`most`: number of passages that a search compares; `counts`: cache, since counting a
        common word is slow."""
        self._source_of = source_of
        self._most = most
        self._connection = connection
        self._cached_counts = counts
        self.size, self._state = connection.execute("SELECT passages, state FROM totals").fetchone()

    @cached_property
    def _languages(self) -> list[str]:
        """Codes of the languages with a stemmer of their own, after the empty code for all
        others."""
        # Skip through the index, since DISTINCT would read every row.
        step = "SELECT min (language) FROM texts WHERE language > ?"
        languages = list[str]()
        language = ""
        while language is not None:
            languages.append(language)
            (language,) = self._connection.execute(step, (language,)).fetchone()
        return languages

    def beginnings(self, most: int) -> list[str]:
        """Return the first passages of at most `most` documents."""
        rows = self._connection.execute(_BEGINNINGS, (most,))
        return [text for (text,) in rows]

    def counts(self, words: Sequence[str]) -> list[dict[str, int]]:
        """Return for each word its index terms with the number of passages that contain each."""
        counts = list[dict[str, int]]()
        for forms in forms_of(words, self._languages):
            of_word = dict[str, int]()
            for form in forms:
                count = self._count(form)
                if count:
                    of_word[form] = count
            counts.append(of_word)
        return counts

    def known(self, words: Sequence[str]) -> list[str]:
        """Return the words that occur in any passage."""
        forms_by_word = dict(zip(words, forms_of(words, self._languages), strict=True))
        known = self._known_terms(chain.from_iterable(forms_by_word.values()))
        return [word for word, forms in forms_by_word.items() if not known.isdisjoint(forms)]

    def best(self, words: Sequence[str], limit: int) -> list[int]:
        """Return the numbers of the best passages for these words, best first.

        A few per document, then the others.
        """
        found = list[int]()
        for query in narrowed(self.counts(words), self.size, self._most):
            found += self._ranked(query, limit * _OVERSAMPLING)
        rows = spread(found, lambda row: row >> POSITION_BITS, PER_DOCUMENT)
        return list(dict.fromkeys(rows))[:limit]

    def corrections(self, word: str) -> list[str]:
        """Return the words with the most similar spelling, as written in passages."""
        written = list[str]()
        for language in self._languages:
            term = index_term(word, language)
            written += map(self._written, self._alike(term))
        return written

    def parts(self, word: str) -> list[str]:
        """Return the longest beginning and the longest end of a compound that are words of
        passages."""
        if len(word) < _FEWEST_OF_COMPOUND:
            return []
        shortest = _FEWEST_LETTERS - 1
        beginnings = [
            word[:length] for length in range(len(word) - _BEHIND_BEGINNING, shortest, -1)
        ]
        ends = [word[-length:] for length in range(len(word) - _BEFORE_END, shortest, -1)]
        terms = dict[str, list[str]]()
        for piece in (*beginnings, *ends):
            terms[piece] = [index_term(piece, language) for language in self._languages]
        known_terms = self._known_terms(chain.from_iterable(terms.values()))

        def is_known(piece: str) -> bool:
            return piece not in STOP_WORDS and not known_terms.isdisjoint(terms[piece])

        beginning = next(filter(is_known, beginnings), "")
        end = next(filter(is_known, ends), "")
        return list(filter(None, (beginning, end)))

    def titled(self, titles: Sequence[str], limit: int) -> list[int]:
        """Return the numbers of the first passages of documents with one of these titles,
        normalised by `title_key`."""
        known = self._connection.execute(_KNOWN_TITLES, (json.dumps(titles),)).fetchall()
        rows = list[int]()
        for (title,) in known:
            rows += _first_column(self._connection.execute(_TITLED, (title, limit)))
        return rows

    def name_count(self, name: str, bound: int) -> int:
        """Return the number of passages with the words of a name in a row, at most `bound`."""
        match = self._run(name)
        if not match:
            return 0
        (count,) = self._connection.execute(_COUNT, (match, bound)).fetchone()
        return int(count)

    def with_name(
        self, name: str, limit: int, words: Sequence[str] = (), *, in_title: bool = False
    ) -> list[int]:
        """Return the numbers of the passages with a name, and with any of `words` if given, best
        first."""
        match = self._run(name)
        if not match:
            return []
        if in_title:
            match = f"title : {match}"
        if words:
            forms = chain.from_iterable(forms_of(words, self._languages))
            match += f" AND ({_any(forms)})"
        return self._ranked(match, limit)

    def passage(self, number: int) -> LibraryPassage:
        """Return the passage with this number."""
        row = self._connection.execute(_PASSAGE, (number,)).fetchone()
        *document, start, heading, language, text = row
        return LibraryPassage(
            self._source_of(IndexedFile(*document)), start, heading, language, text
        )

    def _alike(self, term: str) -> list[str]:
        """Return index terms of the same language whose stems are similar, most similar first."""
        language, separator, stem = term.rpartition(LANGUAGE_SEPARATOR)
        tag = language + separator
        prefix = tag + stem[:_CERTAIN_LETTERS]
        shortest = len(term) - _LENGTH_DIFFERENCE
        longest = len(term) + _LENGTH_DIFFERENCE
        with_prefix = self._connection.execute(
            _TERMS_LIKE, (prefix, prefix + _LAST, shortest, longest)
        )
        terms = set(_first_column(with_prefix))
        terms |= self._known_terms(tag + variant for variant in _variants(stem))
        stems = [other.removeprefix(tag) for other in terms]
        return list(map(tag.__add__, get_close_matches(stem, stems, _MOST_SIMILAR, _SIMILARITY)))

    def _written(self, term: str) -> str:
        """Return a word with this index term in the spelling of a passage that contains it."""
        (number,) = self._connection.execute(_FIRST_WITH_TERM, (_any([term]),)).fetchone()
        passage = self.passage(number)
        for word in WORD.findall(f"{passage.text} {passage.heading} {passage.source.title}"):
            if index_term(word.casefold(), passage.language) == term:
                return str(word)
        return ""

    def _known_terms(self, terms: Iterable[str]) -> frozenset[str]:
        """Return those of the index terms that any passage contains."""
        distinct_terms = json.dumps(list(dict.fromkeys(terms)))
        return frozenset(_first_column(self._connection.execute(_KNOWN_TERMS, (distinct_terms,))))

    def _ranked(self, match: str, limit: int) -> list[int]:
        """Return the passages that match an FTS5 query, best first.

        Only those with the lowest numbers are compared.
        """
        return list(_first_column(self._connection.execute(_RANKED, (match, self._most, limit))))

    def _count(self, term: str) -> int:
        """Return the number of passages that contain an index term."""
        # Counts are only valid for one state of the index.
        key = self._state, term
        if key not in self._cached_counts:
            (count,) = self._connection.execute(_COUNT, (_any([term]), -1)).fetchone()
            self._cached_counts[key] = count
        return self._cached_counts[key]

    def _run(self, name: str) -> str:
        """Return an FTS5 query for the words of a name in a row, in any of the languages."""
        words = sought_words(name)
        if not words:
            return ""
        phrases = dict[str, None]()
        for language in self._languages:
            terms = [index_term(word, language) for word in words]
            phrases.setdefault(" ".join(terms))
        return f"({_any(phrases)})"


def _first_column(rows: Iterable[Sequence[Any]]) -> Iterator[Any]:
    """Yield the first value of each row."""
    return map(itemgetter(0), rows)


def spread(values: Iterable[Value], key: Callable[[Value], Hashable], most: int) -> list[Value]:
    """Return the values in order, but those after the first `most` of their key at the end."""
    counts = Counter[Hashable]()

    def is_surplus(value: Value) -> bool:
        counts[key(value)] += 1
        return counts[key(value)] > most

    return sorted(values, key=is_surplus)

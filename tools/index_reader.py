"""Looks things up in an open index."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from functools import cached_property

from ..evidence.text.inflection.stems import forms_of, token
from ..evidence.text.inflection.wording import sought_words
from .index_numbers import POSITION_BITS
from .index_search import TITLED, Counter, FoundPassage, known_titles, languages, passage_of, ranked
from .index_texts import base_of, text_of
from .narrowing import narrowed, quoted
from .near_words import LIKE_AS_WRITTEN, known_terms, likeness_of, misspelt, parts, written

_AKIN = f"""
SELECT texts.id << {POSITION_BITS} FROM texts JOIN spans ON spans.text = texts.id
WHERE texts.base = ? AND texts.base <> '' AND spans.position = 0 ORDER BY texts.content_hash LIMIT ?
"""  # noqa: S608

_HOLDER = "SELECT rowid FROM passages WHERE passages MATCH ? LIMIT 1"
_COUNT = "SELECT count (*) FROM (SELECT 1 FROM passages WHERE passages MATCH ? LIMIT ?)"


class IndexReader:
    """The passages of one index, by their numbers in it, as long as it is open."""

    def __init__(self, connection: sqlite3.Connection, counter: Counter, most: int) -> None:
        """`most` passages are compared by one search."""
        self._most = most
        self._connection = connection
        self._counter = counter
        self.size, self._state = connection.execute("SELECT passages, state FROM totals").fetchone()

    @cached_property
    def _languages(self) -> list[str]:
        return languages(self._connection)

    def counted(self, words: Sequence[str]) -> int:
        """In how many passages these words stand, as a sum over all that they are indexed by."""
        forms = list(dict.fromkeys(form for of_word in forms_of(words, self._languages) for form in of_word))
        return sum(self._counter.count(self._connection, self._state, forms).values())

    def held(self, words: Sequence[str]) -> list[str]:
        """Those of these words that stand in any passage."""
        forms = dict(zip(words, forms_of(words, self._languages), strict=True))
        known = known_terms(self._connection, (form for of_word in forms.values() for form in of_word))
        return [word for word, of_word in forms.items() if not known.isdisjoint(of_word)]

    def best(self, words: Sequence[str], limit: int) -> list[int]:
        """The passages that hold these words best, best first."""
        searches = narrowed(self._counts(words), self.size, self._most)
        found = (self._ranked(match, limit) for match in searches)
        return list(dict.fromkeys(row for rows in found for row in rows))[:limit]

    def misspelt(self, word: str) -> list[tuple[float, str]]:
        """The words that are spelt most like this one, as they are written somewhere, and how like they are."""
        found = misspelt(self._connection, word, ["", *self._languages])
        names = dict.fromkeys(self._written(near.term) for near in found)
        alike = ((likeness_of(word, name.casefold(), LIKE_AS_WRITTEN), name) for name in names)
        return [one for one in alike if one[0]]

    def parts(self, word: str) -> list[str]:
        """The beginning and the end of a compound, if passages hold them as words."""
        return parts(self._connection, word, ["", *self._languages])

    def titled(self, titles: Sequence[str], limit: int) -> list[int]:
        """The first passages of documents with one of these titles, as `title_key` writes them."""
        known = known_titles(self._connection, titles)
        return [row for title in known for (row,) in self._connection.execute(TITLED, (title, limit))]

    def akin(self, title: str, limit: int) -> list[int]:
        """The first passages of the documents with this title, but for what tells editions apart."""
        return [row for (row,) in self._connection.execute(_AKIN, (base_of(title), limit))]

    def holders(self, name: str, bound: int) -> int:
        """How many passages hold the words of a name in a row, up to a bound."""
        match = self._run(name)
        return int(self._connection.execute(_COUNT, (match, bound)).fetchone()[0]) if match else 0

    def holding(self, name: str, limit: int, words: Sequence[str] = (), *, in_title: bool = False) -> list[int]:
        """The passages that hold a name, best first: in the title, or together with one of these words."""
        match = self._run(name)
        if not match:
            return []
        among = f" AND ({self._any(words)})" if words else ""
        return self._ranked(f"{'title : ' if in_title else ''}{match}{among}", limit)

    def passage(self, number: int) -> FoundPassage:
        """The passage of this number."""
        return passage_of(self._connection, number)

    def text(self, content_hash: str) -> str:
        """The whole text of this hash; empty if it is not in this index."""
        return text_of(self._connection, content_hash)

    def _written(self, term: str) -> str:
        (number,) = self._connection.execute(_HOLDER, (quoted(term),)).fetchone()
        found = self.passage(number)
        return written(f"{found.text} {found.heading} {found.title}", found.language, term)

    def _ranked(self, match: str, limit: int) -> list[int]:
        return ranked(self._connection, match, limit, self._most)

    def _counts(self, words: Sequence[str]) -> list[dict[str, int]]:
        forms = forms_of(words, self._languages)
        return [self._counter.count(self._connection, self._state, of_word) for of_word in forms]

    def _any(self, words: Sequence[str]) -> str:
        forms = dict.fromkeys(form for of_word in forms_of(words, self._languages) for form in of_word)
        return " OR ".join(map(quoted, forms))

    def _run(self, name: str) -> str:
        """The search for the words of a name in a row, in any of the languages."""
        words = sought_words(name)
        if not words:
            return ""
        runs = (" ".join(token(word, code) for word in words) for code in ("", *self._languages))
        return f"({' OR '.join(map(quoted, dict.fromkeys(runs)))})"

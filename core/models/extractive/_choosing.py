"""Chooses the quotes for one part of a request: the best units of the documents up to a budget.

A unit (`units.py`) is a sentence, list item, table row or record line. `docs/decisions/quoting.md`
shows what each of the weights contributes.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from ...evidence.text.similarity import bare_title, grouped, rarity
from ...evidence.text.words import DRAFT_WORDS, STOP_WORDS, dates_in, stem, tokens
from ..request import ShownDocument
from ._editions import newest_editions, versions_in
from ._parts import Part
from ._units import QuotableUnit, quotable_units

_MOST_DOCUMENTS = 12
"""Number of search results from which units are chosen."""
_ABOVE = 0.8
"""Weight of a word that is not in a unit but above it (heading, lead, title, path)."""
_DOCUMENT = 0.4
"""Bonus for the first search result, which falls evenly with the rank; also for a document that a
quote names."""
_OLDER = 0.4
"""Penalty for a document that is not in force or an older edition."""
_FIGURE, _LENGTH = 0.1, 0.002
"""Bonus for a figure, and penalty for each word."""
_NEAR, _WIDE = 0.5, 2.2
"""Maximum distance from the best unit's score, and the factor by which it is wider for a topic."""
_FEWEST_VALUES = 2
"""Minimum number of words in a row's cells that a sentence must have to say the same."""
_ALIKE = 0.6
"""Minimum similarity between a sentence of one edition and its counterpart in another."""
_NUMBER_IN_PARTS = re.compile(r"\d+(?:\.\d+)+")
_SAME_LETTERS = 6
"""Stems that begin with the same letters count as forms of one word, in any language."""


class Chooser:
    """Scores the documents' units for one part of a request, and chooses the quotes."""

    def __init__(self, documents: Sequence[ShownDocument], part: Part) -> None:
        """`documents` are in the order of the search results."""
        self._part = part
        shown = documents if part.is_pasted else documents[:_MOST_DOCUMENTS]
        self._documents = {document.number: document for document in shown}
        self._newest = newest_editions(shown)
        self._older = frozenset(filter(self._is_older, self._documents))
        self._units = _distinct_units(shown)
        self._words = dict[QuotableUnit, frozenset[str]]()
        self._above = dict[QuotableUnit, frozenset[str]]()
        for unit in self._units:
            self._words[unit] = _words_in(unit.text)
            self._above[unit] = self._words_above(unit)
        self._name_values()
        self._scores = self._scored()

    def _name_values(self) -> None:
        """Count the column names of a table row as words above each sentence of its document that
        has all values of the row, since it says at least as much."""
        rows = [unit for unit in self._units if unit.kind == "row"]
        prose = grouped(
            [unit for unit in self._units if unit.kind != "row"], lambda unit: unit.number
        )
        for row in rows:
            names = list[str]()
            values = list[str]()
            for cell in row.text.split("; "):
                name, _, value = cell.rpartition(": ")
                names.append(name)
                values.append(value)
            stated = _words_in(" ".join(values))
            has_figure = any(map(str.isdigit, " ".join(values)))
            if len(stated) < _FEWEST_VALUES or not has_figure:
                continue
            for unit in prose.get(row.number, ()):
                if stated <= self._words[unit]:
                    self._above[unit] |= _words_in(" ".join(names))

    def choose(self, budget: int) -> list[QuotableUnit]:
        """Return the units to quote in at most `budget` words, those of older editions last.

        For pasted text, this is the best unit of each document instead.
        """
        if self._part.is_pasted:
            return self._best_of_each_document()
        chosen = self._best(budget)
        if self._part.is_topic:
            ranks = dict[int, int]()
            for unit in chosen:
                ranks.setdefault(unit.number, len(ranks))
            chosen.sort(key=lambda unit: (ranks[unit.number], unit.position))
        return self._newest_first(chosen)

    def _best_of_each_document(self) -> list[QuotableUnit]:
        """Return the best unit of each document, in the order of the search results."""
        best: dict[int, QuotableUnit] = {}
        for unit in self._units:
            known = best.setdefault(unit.number, unit)
            if self._scores[unit] > self._scores[known]:
                best[unit.number] = unit
        return [best[number] for number in self._documents if number in best]

    def _best(self, budget: int) -> list[QuotableUnit]:
        """Return the units with the best scores in at most `budget` words, best first.

        The units of documents that a chosen unit names gain.
        """
        distance = _NEAR
        if self._part.is_topic:
            distance *= _WIDE
        least = max(self._scores.values(), default=0.0) - distance
        left = self._numbered_as_asked() or list(self._units)
        chosen = list[QuotableUnit]()
        named = set[int]()

        def score(unit: QuotableUnit) -> float:
            bonus = _DOCUMENT if unit.number in named else 0.0
            return self._scores[unit] + bonus

        while left:
            best = max(left, key=score)
            if score(best) < least:
                break
            left.remove(best)
            if best.words <= budget:
                budget -= best.words
                chosen.append(best)
                named |= self._named_in(best)
        return chosen

    def _numbered_as_asked(self) -> list[QuotableUnit]:
        """Return the units that begin with a number in several parts of the request, such as that
        of a clause, or are in a section that does."""
        asked = set(_NUMBER_IN_PARTS.findall(self._part.text))
        numbered = list[QuotableUnit]()
        for unit in self._units:
            numbers = set[str]()
            for part in (unit.text, *unit.heading.split(" › ")):
                numbers.add(part.partition(" ")[0].rstrip(".:)"))
            if asked & numbers:
                numbered.append(unit)
        return numbered

    def _named_in(self, unit: QuotableUnit) -> set[int]:
        """Return the numbers of the other documents whose titles a unit contains."""
        named = set[int]()
        for number, document in self._documents.items():
            if number != unit.number and mentions(unit.text, bare_title(document.title)):
                named.add(number)
        return named

    def _scored(self) -> dict[QuotableUnit, float]:
        """Return the score of each unit."""
        weights = self._weights()

        def weight_of(words: Collection[str]) -> float:
            return math.fsum(weight for word, weight in weights.items() if word in words)

        share_of_rank = 1 / (len(self._documents) or 1)
        ranks = {number: rank for rank, number in enumerate(self._documents)}
        scores = dict[QuotableUnit, float]()
        for unit in self._units:
            above = self._above[unit] - self._words[unit]
            score = weight_of(self._words[unit]) + _ABOVE * weight_of(above)
            score += _DOCUMENT * (1 - ranks[unit.number] * share_of_rank)
            score -= _LENGTH * unit.words
            if any(map(str.isdigit, unit.text)):
                score += _FIGURE
            if unit.number in self._older:
                score -= _OLDER
            scores[unit] = score
        return scores

    def _weights(self) -> dict[str, float]:
        """Return the weights of the part's words: rare ones weigh more, and all add up to 1.

        The words of its context have no weight: they would choose the same units for all parts of a
        request.
        """
        asked = _words_in(self._part.text)
        counts = Counter[str]()
        for unit in self._units:
            counts.update(asked & (self._words[unit] | self._above[unit]))
        weights = {word: rarity(len(self._units), counts[word]) for word in sorted(asked)}
        total = sum(weights.values()) or 1.0
        for word in weights:
            weights[word] /= total
        return weights

    def _words_above(self, unit: QuotableUnit) -> frozenset[str]:
        """Return the words of a unit's headings and lead, and of its document's title and path."""
        document = self._documents[unit.number]
        path = document.address.replace("_", " ")
        if "://" in path:
            # The words in a URL say little.
            path = ""
        return _words_in(" ".join((document.title, path, unit.heading, unit.lead)))

    def _is_older(self, number: int) -> bool:
        """Whether a document is an older edition, or not in force, and the part does not ask for
        it."""
        document = self._documents[number]
        asked = f"{self._part.text} {self._part.context}"
        if not document.is_in_force:
            return DRAFT_WORDS.isdisjoint(tokens(asked))
        if number not in self._newest:
            return False
        times = {date.iso for date in dates_in(asked)}
        versions = versions_in(asked)
        name = f"{document.address} {document.title}"
        is_of_time = any(document.date.startswith(time) or time in name for time in times)
        is_of_version = not versions.isdisjoint(versions_in(name))
        compares = len(times) + len(versions) > 1
        return not (is_of_time or is_of_version or compares)

    def _newest_first(self, chosen: Iterable[QuotableUnit]) -> list[QuotableUnit]:
        """Return the units, those of older editions last; what the newest says in their place is
        added."""
        found = dict[QuotableUnit, None]()
        for unit in chosen:
            if unit.number in self._older:
                newer = self._in_newest(unit)
                if newer:
                    found.setdefault(newer)
            found.setdefault(unit)
        return sorted(found, key=lambda unit: unit.number in self._older)

    def _in_newest(self, unit: QuotableUnit) -> QuotableUnit | None:
        """Return what the newest edition says in place of a unit.

        None if it says nothing like it.
        """
        newest = self._newest.get(unit.number)
        words = _without_figures(self._words[unit])
        similarities = dict[QuotableUnit, float]()
        for other in self._units:
            if other.number == newest:
                other_words = _without_figures(self._words[other])
                similarities[other] = _similarity(words, other_words)
        best = max(similarities, key=similarities.__getitem__, default=None)
        if best is None or similarities[best] <= _ALIKE:
            return None
        return best


def best_text(part: Part, texts: Sequence[str]) -> str:
    """Return the text with most of the words of a part, rare ones first; the first of several
    equal ones, empty if there is none.
    """
    having = dict[str, list[str]]()
    scores = dict.fromkeys(texts, 0.0)
    for text in scores:
        for word in _words_in(text):
            having.setdefault(word, []).append(text)
    for asked in sorted(_words_in(part.text)):
        for text in having.get(asked, ()):
            scores[text] += rarity(len(scores), len(having[asked]))
    return max(scores, key=scores.__getitem__, default="")


def _distinct_units(documents: Iterable[ShownDocument]) -> list[QuotableUnit]:
    """Return the units of the documents, each text once, except titles."""
    found: dict[str, QuotableUnit] = {}
    for document in documents:
        title = document.title.strip(" .")
        units = dict[QuotableUnit, None]()
        for text in document.texts:
            units |= dict.fromkeys(quotable_units(text))
        for position, unit in enumerate(units):
            if unit.text.strip(" .") != title:
                found.setdefault(
                    unit.text, unit._replace(number=document.number, position=position)
                )
    return list(found.values())


def _words_in(text: str) -> frozenset[str]:
    """Return the first letters of the stems of a text's words, without function words.

    A number with several parts, such as that of a clause, is a word of its own.
    """
    words = {stem(word)[:_SAME_LETTERS] for word in tokens(text) if word not in STOP_WORDS}
    return frozenset(words.union(_NUMBER_IN_PARTS.findall(text)))


def _without_figures(words: Iterable[str]) -> frozenset[str]:
    return frozenset(word for word in words if word.isalpha())


def _similarity(first: frozenset[str], second: frozenset[str]) -> float:
    """Return the Jaccard index of two sets of words; 0 if both are empty."""
    every = first | second
    return len(first & second) / len(every) if every else 0.0


def mentions(text: str, name: str) -> bool:
    """Whether a text contains a name of at least three characters as whole words, with the same
    capitals."""
    return (
        len(name) > 2
        and name in text
        and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None
    )

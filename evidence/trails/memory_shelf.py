"""Some passages in memory, as the search for trails wants them: pages of the web, that no index holds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from ..mixing import distinct
from ..rarity import rarity
from ..words import plain_run
from .candidate import Candidate


class MemoryShelf:
    """Passages by their words; the texts themselves are read for rows of words only, and once for each name."""

    def __init__(self, candidates: Sequence[Candidate]) -> None:
        self.size = len(candidates)
        """How many passages there are."""
        self._first = distinct(sorted(candidates, key=lambda one: one.key), lambda one: one.document)
        self._by_word: dict[str, set[Candidate]] = defaultdict(set)
        self._by_name: dict[str, list[Candidate]] = {}
        for one in candidates:
            for word in one.words:
                self._by_word[word].add(one)

    def counted(self, words: Sequence[str]) -> int:
        """In how many passages each of these words stands, added up."""
        return sum(len(self._with(word)) for word in dict.fromkeys(words))

    def search(self, words: Sequence[str], limit: int) -> list[Candidate]:
        """The passages that hold the most and rarest of these words."""
        worth: dict[Candidate, float] = defaultdict(float)
        for word in dict.fromkeys(words):
            weight = rarity(self.size, len(self._with(word)))
            for one in self._with(word):
                worth[one] += weight
        return sorted(worth, key=lambda one: (-worth[one], one.key))[:limit]

    def titled(self, text: str) -> list[Candidate]:
        """The first passages of documents whose titles stand in this text."""
        run = plain_run(text)
        return [one for one in self._first if one.title_run in run]

    def holders(self, name: str) -> int:
        """How many passages hold the words of this name in a row."""
        return len(self._holding(name))

    def holding(self, name: str, words: Sequence[str], limit: int) -> list[Candidate]:
        """The passages that hold this name, those with most of these words first."""
        found = self._holding(name)
        counts = {one: sum(word in one.words for word in words) for one in found}
        return sorted(found, key=lambda one: (-counts[one], one.key))[:limit]

    def _holding(self, name: str) -> list[Candidate]:
        if name not in self._by_name:
            run = plain_run(name)
            words = run.split()
            held = set.intersection(*map(self._with, words)) if words else set()
            self._by_name[name] = [one for one in held if run in one.title_run or run in one.run]
        return self._by_name[name]

    def _with(self, word: str) -> set[Candidate]:
        return self._by_word.get(word, set())

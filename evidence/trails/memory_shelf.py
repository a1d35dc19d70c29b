"""A few passages in memory, as the search for trails wants them: pages of the web, that no index holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from deep_research.evidence.trails.candidate import Candidate
from deep_research.evidence.trails.query import plain_run, rarity


class MemoryShelf:
    """Passages that are gone through one by one at each look-up."""

    def __init__(self, candidates: Sequence[Candidate]) -> None:
        self._runs = {one: f"{one.title_run}| {one.run}" for one in candidates}

    @property
    def size(self) -> int:
        """How many passages there are."""
        return len(self._runs)

    def counted(self, words: Sequence[str]) -> int:
        """How many passages hold at least one of these words."""
        return sum(any(f" {word} " in run for word in words) for run in self._runs.values())

    def search(self, words: Sequence[str], limit: int) -> list[Candidate]:
        """The passages that hold the most and rarest of these words."""
        weights = {word: rarity(self.size, self.counted([word])) for word in words}
        worth = {one: sum(weights[word] for word in weights if f" {word} " in run) for one, run in self._runs.items()}
        return sorted((one for one in worth if worth[one]), key=lambda one: (-worth[one], one.key))[:limit]

    def titled(self, text: str) -> list[Candidate]:
        """The passages of documents whose titles stand in this text."""
        run = plain_run(text)
        return [one for one in self._runs if one.title_run in run]

    def holders(self, name: str) -> int:
        """How many passages hold the words of this name in a row."""
        return sum(1 for _ in self._holding(name))

    def holding(self, name: str, words: Sequence[str], limit: int) -> list[Candidate]:
        """The passages that hold this name, those with most of these words first."""
        found = list(self._holding(name))
        counts = {one: sum(f" {word} " in self._runs[one] for word in words) for one in found}
        return sorted(found, key=lambda one: (-counts[one], one.key))[:limit]

    def _holding(self, name: str) -> Iterator[Candidate]:
        sought = plain_run(name)
        return (one for one, run in self._runs.items() if sought in run)

"""The search for trails: a beam over passages, each of which leads on from those before it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from deep_research.evidence.trails.candidate import Candidate
from deep_research.evidence.trails.fit import gain, held, is_named, link
from deep_research.evidence.trails.query import Query, read_query
from deep_research.evidence.trails.shelf import Shelf

LONGEST = 4
WIDTH = 12
"""Trails kept at each length."""
KEPT = 60
"""Trails of each length from which the passages are taken."""
FIRST = 30
"""Passages with which a trail may begin, beside those that the question names."""
NEXT = 10
"""Passages by which words that are still open, and those by which a name, lead on."""
REPEATED = 0.15
NAMED = 0.15
"""What it is worth that the question names the passage's document."""
UNRELATED = -0.15
LOOSE = 0.03
"""Links up to which two passages count as unrelated."""
OPEN = 0.5
"""Share up to which a word of the question counts as still open."""


Key: TypeAlias = tuple[str, int]


class Trail(NamedTuple):
    """Passages in the order in which they were found, and what they are worth together."""

    steps: tuple[Candidate, ...] = ()
    known: Mapping[str, float] = {}
    """How well the steps hold each stem of the question."""
    worth: float = 0.0


def find_trails(text: str, shelf: Shelf) -> list[Trail]:
    """The best trails of one to four passages for a question, best first."""
    return _Search(read_query(text, shelf.size, shelf.counted), shelf).run()


def passages_of(trails: Sequence[Trail], limit: int) -> list[Candidate]:
    """The passages of the best trails, each once, as many as are wanted."""
    return list(dict.fromkeys(step for trail in trails for step in trail.steps))[:limit]


class _Search:
    def __init__(self, query: Query, shelf: Shelf) -> None:
        self._query = query
        self._shelf = shelf
        self._held: dict[Key, dict[str, float]] = {}
        self._links: dict[tuple[Key, Key], float] = {}
        self._named: dict[Key, float] = {}
        self._onward: dict[Key, list[Candidate]] = {}

    def run(self) -> list[Trail]:
        first = [*self._search(self._query.weights, FIRST), *self._shelf.titled(self._query.text)]
        beam, found = [Trail()], []
        for _ in range(LONGEST):
            longer: dict[frozenset[Key], Trail] = {}
            for trail in self._continued(beam, first):
                steps = frozenset(step.key for step in trail.steps)
                if steps not in longer or _order(trail) < _order(longer[steps]):
                    longer[steps] = trail
            best = sorted(longer.values(), key=_order)
            beam = best[:WIDTH]
            found += best[:KEPT]
        return sorted(found, key=_order)

    def _continued(self, beam: Sequence[Trail], first: Sequence[Candidate]) -> Iterator[Trail]:
        for trail in beam:
            onward = [one for step in trail.steps for one in self._leading_on(step, trail.known)]
            for candidate in dict.fromkeys((*first, *onward)):
                longer = self._with(trail, candidate)
                if candidate not in trail.steps and longer.worth > trail.worth:
                    yield longer

    def _with(self, trail: Trail, candidate: Candidate) -> Trail:
        found = self._held_by(candidate)
        worth = gain(self._query, found, trail.known, REPEATED) + self._relation(trail.steps, candidate)
        known = {**trail.known, **{stem: max(share, trail.known.get(stem, 0.0)) for stem, share in found.items()}}
        return Trail((*trail.steps, candidate), known, trail.worth + worth)

    def _relation(self, steps: Sequence[Candidate], candidate: Candidate) -> float:
        named = NAMED * self._is_named(candidate)
        if not steps:
            return named
        firmest = max(named, *(self._link(step, candidate) for step in steps))
        return firmest if firmest > LOOSE else UNRELATED

    def _leading_on(self, step: Candidate, known: Mapping[str, float]) -> list[Candidate]:
        """Passages that the words which are open after this step, or one of its names, lead to."""
        if step.key not in self._onward:
            wanted = [stem for stem in self._query.weights if known.get(stem, 0.0) < OPEN]
            words = [word for stem in wanted for word in self._query.words[stem]]
            found = [*self._search(wanted, NEXT), *self._shelf.search([*step.title_run.split(), *words], NEXT)]
            found += [one for name in step.names for one in self._shelf.holding(name, words, NEXT)]
            self._onward[step.key] = list(dict.fromkeys(found))
        return self._onward[step.key]

    def _search(self, stems: Sequence[str] | Mapping[str, float], limit: int) -> Sequence[Candidate]:
        return self._shelf.search([word for stem in stems for word in self._query.words[stem]], limit)

    def _held_by(self, candidate: Candidate) -> dict[str, float]:
        if candidate.key not in self._held:
            self._held[candidate.key] = held(self._query, candidate)
        return self._held[candidate.key]

    def _is_named(self, candidate: Candidate) -> float:
        if candidate.key not in self._named:
            self._named[candidate.key] = is_named(self._query, candidate)
        return self._named[candidate.key]

    def _link(self, one: Candidate, other: Candidate) -> float:
        pair = (min(one.key, other.key), max(one.key, other.key))
        if pair not in self._links:
            self._links[pair] = link(self._query, self._shelf, one, other)
        return self._links[pair]


def _order(trail: Trail) -> tuple[float, int, tuple[Key, ...]]:
    return -trail.worth, len(trail.steps), tuple(step.key for step in trail.steps)

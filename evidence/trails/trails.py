"""The search for trails: a beam over passages, each of which leads on from those before it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from deep_research.evidence.trails.candidate import Candidate
from deep_research.evidence.trails.fit import gain, held, is_named
from deep_research.evidence.trails.links import FIRMEST, Links
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


class Trail(NamedTuple):
    """Passages in the order in which they were found, and what they are worth together."""

    steps: tuple[Candidate, ...] = ()
    known: Mapping[str, float] = {}
    """How well the steps hold each stem of the question."""
    worth: float = 0.0


class _Option(NamedTuple):
    """A passage by which a trail may become longer."""

    trail: Trail
    candidate: Candidate
    adds: float
    """What the passage adds to what is known."""
    most: float
    """What the longer trail is worth at most, however firmly the passage hangs together with the others."""


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
        self._links = Links(query, shelf)
        self._held: dict[Candidate, dict[str, float]] = {}
        self._named: dict[Candidate, float] = {}
        self._onward: dict[Candidate, list[Candidate]] = {}

    def run(self) -> list[Trail]:
        first = [*self._search(self._query.weights, FIRST), *self._shelf.titled(self._query.text)]
        beam, found = [Trail()], []
        for _ in range(LONGEST):
            best = self._best(sorted(self._options(beam, first), key=lambda one: -one.most))
            beam = best[:WIDTH]
            found += best
        return sorted(found, key=_order)

    def _options(self, beam: Sequence[Trail], first: Sequence[Candidate]) -> Iterator[_Option]:
        for trail in beam:
            onward = [one for step in trail.steps for one in self._leading_on(step, trail.known)]
            firmest = FIRMEST if trail.steps else 0.0
            for candidate in dict.fromkeys((*first, *onward)):
                if candidate not in trail.steps:
                    adds = gain(self._query, self._held_by(candidate), trail.known, REPEATED)
                    most = trail.worth + (adds + max(NAMED * self._is_named(candidate), firmest))
                    yield _Option(trail, candidate, adds, most)

    def _best(self, options: Sequence[_Option]) -> list[Trail]:
        """The trails to keep; links take long to tell, so those of options that cannot be among them are not told."""
        best: list[Trail] = []
        for place in range(0, len(options), KEPT):
            if len(best) == KEPT and options[place].most < best[-1].worth:
                break
            best = _sorted([*best, *self._trails(options[place : place + KEPT])])[:KEPT]
        return best

    def _trails(self, options: Sequence[_Option]) -> Iterator[Trail]:
        for trail, candidate, adds, _ in options:
            worth = adds + self._relation(trail.steps, candidate)
            if worth > 0:
                found = self._held_by(candidate).items()
                known = {**trail.known, **{stem: max(share, trail.known.get(stem, 0.0)) for stem, share in found}}
                yield Trail((*trail.steps, candidate), known, trail.worth + worth)

    def _relation(self, steps: Sequence[Candidate], candidate: Candidate) -> float:
        named = NAMED * self._is_named(candidate)
        if not steps:
            return named
        firmest = max(named, *(self._links.between(step, candidate) for step in steps))
        return firmest if firmest > LOOSE else UNRELATED

    def _leading_on(self, step: Candidate, known: Mapping[str, float]) -> list[Candidate]:
        """Passages that the words which are open after this step, or one of its names, lead to."""
        if step not in self._onward:
            wanted = [stem for stem in self._query.weights if known.get(stem, 0.0) < OPEN]
            words = [word for stem in wanted for word in self._query.words[stem]]
            found = [*self._search(wanted, NEXT), *self._shelf.search([*step.title_run.split(), *words], NEXT)]
            # The only passage with a name is this one.
            shared = (name for name in step.names.values() if self._shelf.holders(name) > 1)
            found += [one for name in shared for one in self._shelf.holding(name, words, NEXT)]
            self._onward[step] = list(dict.fromkeys(found))
        return self._onward[step]

    def _search(self, stems: Sequence[str] | Mapping[str, float], limit: int) -> Sequence[Candidate]:
        return self._shelf.search([word for stem in stems for word in self._query.words[stem]], limit)

    def _held_by(self, candidate: Candidate) -> dict[str, float]:
        if candidate not in self._held:
            self._held[candidate] = held(self._query, candidate)
        return self._held[candidate]

    def _is_named(self, candidate: Candidate) -> float:
        if candidate not in self._named:
            self._named[candidate] = is_named(self._query, candidate)
        return self._named[candidate]


def _sorted(trails: Sequence[Trail]) -> list[Trail]:
    """The trails, best first; of those with the same passages only the best."""
    best: dict[frozenset[Candidate], Trail] = {}
    for trail in sorted(trails, key=_order):
        best.setdefault(frozenset(trail.steps), trail)
    return list(best.values())


def _order(trail: Trail) -> tuple[float, int, tuple[tuple[str, int], ...]]:
    return -trail.worth, len(trail.steps), tuple(step.key for step in trail.steps)

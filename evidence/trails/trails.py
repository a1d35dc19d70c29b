"""The search for trails: a beam over passages, each of which leads on from those before it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ..text.titles import naming
from .beam import Option, Trail, best_first, longer_trails
from .candidate import Candidate
from .fit import gain, held
from .links import FIRMEST, Links
from .query import Query, read_query
from .shelf import Shelf

LONGEST = 4
"""Passages of a trail."""
WIDTH = 12
"""Trails of each length that are lengthened."""
FIRST = 30
"""Passages with which a trail may begin, beside those that the question names."""
NEXT = 10
"""Passages by which words that are still open, and those by which a name, lead on."""
NAMED = 0.15
"""What it is worth that the question names the passage's document."""
UNRELATED = -0.15
"""What it is worth that nothing connects the passage with the others."""
LOOSE = 0.03
"""Links up to which two passages count as unrelated."""
BRIDGE = 0.15
"""The most that a step which adds less than that by its words is worth by its links."""
LEAST = 0.02
"""What a trail's last step must add by its words: a passage that only shares a name leads on, or to nothing."""
OPEN = 0.5
"""Share up to which a word of the question counts as still open."""


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
            best = longer_trails(self._options(beam, first), self._lengthened)
            beam = best[:WIDTH]
            found += [trail for trail in best if trail.adds >= LEAST]
        return best_first(found)

    def _options(self, beam: Sequence[Trail], first: Sequence[Candidate]) -> Iterator[Option]:
        for trail in beam:
            onward = [one for step in trail.steps for one in self._leading_on(step, trail.known)]
            firmest = FIRMEST if trail.steps else 0.0
            for candidate in dict.fromkeys((*first, *onward)):
                if candidate not in trail.steps:
                    adds = gain(self._query, self._held_by(candidate), trail.known)
                    most = trail.worth + (adds + max(NAMED * self._is_named(candidate), firmest))
                    yield Option(trail, candidate, adds, most)

    def _lengthened(self, option: Option) -> Trail | None:
        trail, candidate, adds, _ = option
        relation = self._relation(trail.steps, candidate)
        worth = adds + (relation if adds >= LEAST else min(relation, BRIDGE))
        if worth <= 0:
            return None
        found = self._held_by(candidate).items()
        known = {**trail.known, **{stem: max(share, trail.known.get(stem, 0.0)) for stem, share in found}}
        return Trail((*trail.steps, candidate), known, trail.worth + worth, adds)

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
            self._named[candidate] = naming(candidate.title, self._query.text, self._query.run)
        return self._named[candidate]

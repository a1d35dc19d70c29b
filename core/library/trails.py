"""The search for trails: a beam over passages that answer a question together, each leading on from those before it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ..evidence.text.similarity import title_match
from .candidates import Candidate, Query, read_query
from .shelf import IndexShelf

USUAL_LENGTH = 45
"""Words that carry meaning in a passage of usual length."""
LENGTH_SHARE = 0.3
"""How much of a word's weight depends on the length of its passage."""
FULL = 1.25
"""The most that a word can count in one passage."""
REPEATED = 0.15
"""Share of its worth that a word keeps which an earlier passage holds."""
BY_TITLE = 0.30
"""What a name is worth that leads from one passage to the other and is the title of one of them."""
BY_MENTION = 0.20
"""What it is worth where both only mention it."""
IN_QUESTION = 0.4
"""Share of that if the question holds the name: then it tells nothing new."""
ONE_WORD = 0.5
"""Share of that for a name of one word that only the texts hold."""
SAME_DOCUMENT = 0.1
"""What it is worth that both passages belong to one document."""
FIRMEST = BY_TITLE
"""The most that a link is worth."""
KEPT = 60
"""Trails of each length from which the passages are taken."""
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


def held(query: Query, candidate: Candidate) -> dict[str, float]:
    """Return how well a passage matches each stem of the question, 0 to 1.25; part of a name counts by its share."""
    length = 1 - LENGTH_SHARE + LENGTH_SHARE * candidate.length / USUAL_LENGTH
    inflected = query.inflections.counted(f"{candidate.title}\n{candidate.text}", candidate.language)
    plain = {stem: candidate.counts[stem] + (stem in candidate.title_stems) for stem in query.weights}
    counts = {stem: max(count, inflected[stem]) for stem, count in plain.items()}
    found = {stem: min(FULL, 2 * count / (count + length)) for stem, count in counts.items() if count}
    for name in query.names:
        if name.run not in candidate.stem_run:
            whole = sum(query.weights[stem] for stem in name.stems)
            share = sum(query.weights[stem] for stem in name.stems if stem in found) / whole
            found |= {stem: found[stem] * share for stem in name.stems if stem in found}
    return found


def gain(query: Query, found: Mapping[str, float], known: Mapping[str, float]) -> float:
    """Return what a passage adds to a question of which some is known; what is known already counts little."""
    return sum(
        query.weights[stem] * (max(0.0, share - known.get(stem, 0.0)) + REPEATED * min(share, known.get(stem, 0.0)))
        for stem, share in found.items()
    )


class Links:
    """The links between the passages of one search; each pair and each name is looked up once."""

    def __init__(self, query: Query, shelf: IndexShelf) -> None:
        self._question = query.plain
        self._shelf = shelf
        self._distinctiveness: dict[str, float] = {}
        self._known: dict[tuple[Candidate, Candidate], float] = {}

    def between(self, one: Candidate, other: Candidate) -> float:
        """Return how firmly two passages are linked by a name in both, from 0 to 0.3; rarer names link better."""
        if one.document == other.document:
            return SAME_DOCUMENT
        pair = (one, other) if one.key < other.key else (other, one)
        if pair not in self._known:
            self._known[pair] = max((*self._ties(one, other), *self._ties(other, one)), default=0.0)
        return self._known[pair]

    def _ties(self, one: Candidate, other: Candidate) -> Iterator[float]:
        """Return the worth of each name that leads from one to the other."""
        for word in one.names_by_word.keys() & other.words:
            for name in one.names_by_word[word]:
                run = f" {name} "
                if run in other.title_run or run in other.run:
                    yield self._worth(name, run, one, other)

    def _worth(self, name: str, run: str, one: Candidate, other: Candidate) -> float:
        in_title = run in other.title_run
        is_title = run in one.title_run or (in_title and 2 * len(name) >= len(other.subject))
        worth = BY_TITLE if is_title else BY_MENTION
        worth *= 1 if in_title or " " in name else ONE_WORD
        return worth * (IN_QUESTION if run in self._question else 1) * self._distinctiveness_of(one.names[name])

    def _distinctiveness_of(self, name: str) -> float:
        if name not in self._distinctiveness:
            self._distinctiveness[name] = distinctiveness(self._shelf.size, self._shelf.holders(name))
        return self._distinctiveness[name]


def distinctiveness(size: int, holders: int) -> float:
    """Return how distinctive a name is: 0 if all passages hold it, towards 1 if hardly any does."""
    size = max(10, size)
    if not holders:
        return 0.0
    return min(1.0, max(0.0, math.log(size / (holders + 1)) / math.log(size / 3)))


class Trail(NamedTuple):
    """Passages in the order in which they were found, and what they are worth together."""

    steps: tuple[Candidate, ...] = ()
    known: Mapping[str, float] = {}
    """How well the steps hold each stem of the question."""
    worth: float = 0.0
    adds: float = 0.0
    """What the last step adds by its words alone."""


class Option(NamedTuple):
    """A passage by which a trail may become longer."""

    trail: Trail
    candidate: Candidate
    adds: float
    """What the passage adds to what is known."""
    most: float
    """What the longer trail is worth at most, however firmly the passage hangs together with the others."""


def longer_trails(options: Iterable[Option], lengthened: Callable[[Option], Trail | None]) -> list[Trail]:
    """Return the best trails that these options lead to, best first; those that cannot be best are not lengthened."""
    promising = sorted(options, key=lambda one: -one.most)
    best: list[Trail] = []
    for start in range(0, len(promising), KEPT):
        if len(best) == KEPT and promising[start].most < best[-1].worth:
            break
        found = map(lengthened, promising[start : start + KEPT])
        best = _distinct([*best, *filter(None, found)])[:KEPT]
    return best


def best_first(trails: Iterable[Trail]) -> list[Trail]:
    """Return the trails by their worth; of equal ones the shorter comes first."""
    return sorted(trails, key=lambda one: (-one.worth, len(one.steps), [step.key for step in one.steps]))


def _distinct(trails: Sequence[Trail]) -> list[Trail]:
    """Return the trails, best first; of those with the same passages only the best."""
    best: dict[frozenset[Candidate], Trail] = {}
    for trail in best_first(trails):
        best.setdefault(frozenset(trail.steps), trail)
    return list(best.values())


def find_trails(text: str, shelf: IndexShelf) -> list[Trail]:
    """Return the best trails of one to four passages for a question, best first."""
    return _Search(read_query(text, shelf.size, shelf.counted), shelf).run()


def passages_of(trails: Sequence[Trail], limit: int) -> list[Candidate]:
    """Return the passages of the best trails, each once, as many as are wanted."""
    return list(dict.fromkeys(step for trail in trails for step in trail.steps))[:limit]


class _Search:
    def __init__(self, query: Query, shelf: IndexShelf) -> None:
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
        """Return passages that the words still open after this step, or one of its names, lead to."""
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
            self._named[candidate] = title_match(candidate.title, self._query.text, self._query.run)
        return self._named[candidate]

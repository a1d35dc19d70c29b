"""Beam search for trails: passages that answer a question together, each linked to those before it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import NamedTuple

from ..evidence.text.similarity import distinct, title_match
from .candidates import Candidate, Query, read_query
from .shelf import IndexShelf

_USUAL_LENGTH = 45
"""Number of content words in a passage of usual length."""
_LENGTH_SHARE = 0.3
"""Share of a word's weight that depends on the length of its passage."""
_FULL = 1.25
"""Maximum match score of a word in a passage."""
_REPEATED = 0.15
"""Share of its value that a word keeps if an earlier passage contains it."""
_BY_TITLE = 0.30
"""Value of a link through a name that is one passage's title; the maximum value of a link."""
_BY_MENTION = 0.20
"""Value of a link through a name that both passages only mention."""
_IN_QUESTION = 0.4
"""Factor if the name is in the question, since it adds nothing new."""
_ONE_WORD = 0.5
"""Factor for a one-word name that is not in a title."""
_SAME_DOCUMENT = 0.1
"""Value of a link between passages of the same document."""
_KEPT = 60
"""Number of trails of each length to keep as results."""
TRAIL_PASSAGES = 4
"""Maximum passages of a trail."""
_WIDTH = 12
"""Number of trails of each length to extend."""
_FIRST = 30
"""Number of passages with which a trail may begin, besides those of documents named in the question."""
_NEXT = 10
"""Number of next passages to find for the question's open words, and for each name."""
_NAMED = 0.15
"""Value added if the question names the passage's document."""
_UNRELATED = -0.15
"""Value added (negative) if a passage is not linked to the others."""
_LOOSE = 0.03
"""Links with at most this value are ignored."""
_BRIDGE = 0.15
"""Maximum link value of a passage whose words add less than `_LEAST`."""
_LEAST = 0.02
"""Minimum value that the words (not the links) of a trail's last passage must add."""
_OPEN = 0.5
"""A word of the question is open while its match score is below this."""


def _matches(query: Query, candidate: Candidate) -> dict[str, float]:
    """Return a passage's match (0 to 1.25) for each question stem; a partly matched name counts in proportion."""
    length = 1 - _LENGTH_SHARE + _LENGTH_SHARE * candidate.counts.total() / _USUAL_LENGTH
    inflected = query.inflections.counted(f"{candidate.title}\n{candidate.text}", candidate.passage.language)
    plain = {stem: candidate.counts[stem] + (stem in candidate.title_stems) for stem in query.weights}
    counts = {stem: max(count, inflected[stem]) for stem, count in plain.items()}
    found = {stem: min(_FULL, 2 * count / (count + length)) for stem, count in counts.items() if count}
    for name, stems in query.names.items():
        if name not in candidate.padded_stems:
            known = [stem for stem in stems if stem in found]
            share = sum(query.weights[stem] for stem in known) / sum(query.weights[stem] for stem in stems)
            found |= {stem: found[stem] * share for stem in known}
    return found


def _gain(query: Query, found: Mapping[str, float], known: Mapping[str, float]) -> float:
    """Return the value of a passage's matches (`found`); what earlier passages match (`known`) counts little."""
    return sum(
        query.weights[stem] * (max(0.0, share - known.get(stem, 0.0)) + _REPEATED * min(share, known.get(stem, 0.0)))
        for stem, share in found.items()
    )


def distinctiveness(size: int, holders: int) -> float:
    """Return how distinctive a name is: 0 if all `size` passages contain it, near 1 if only a few (`holders`) do."""
    size = max(10, size)
    if not holders:
        return 0.0
    return min(1.0, max(0.0, math.log(size / (holders + 1)) / math.log(size / 3)))


class Trail(NamedTuple):
    """Passages in the order in which they were found, with their total value."""

    steps: tuple[Candidate, ...] = ()
    known: Mapping[str, float] = {}
    """Best match among the steps for each stem of the question."""
    value: float = 0.0
    adds: float = 0.0
    """Value that the last step's words add, without links."""


class _Option(NamedTuple):
    """A trail, and a passage that may extend it."""

    trail: Trail
    candidate: Candidate
    adds: float
    """Value that the passage's words add, without links."""
    most: float
    """Upper bound of the longer trail's value."""


def _best_first(trails: Iterable[Trail]) -> list[Trail]:
    """Sort trails by value, highest first; shorter ones first if equal."""
    return sorted(trails, key=lambda trail: (-trail.value, len(trail.steps), [step.key for step in trail.steps]))


def find_trails(text: str, shelf: IndexShelf) -> list[Trail]:
    """Return the best trails of one to four passages for a question, best first."""
    return _Search(read_query(text, shelf.size, shelf.counted), shelf).run()


def passages_of(trails: Sequence[Trail], limit: int) -> list[Candidate]:
    """Return the first `limit` distinct passages of these trails."""
    return list(dict.fromkeys(step for trail in trails for step in trail.steps))[:limit]


class _Search:
    """A search for the trails of one question; caches the values of passages and of links between them."""

    def __init__(self, query: Query, shelf: IndexShelf) -> None:
        self._query = query
        self._shelf = shelf
        self._links: dict[tuple[Candidate, Candidate], float] = {}
        self._onward: dict[Candidate, list[Candidate]] = {}
        self._matches = cache(partial(_matches, query))
        # Value added if the question names the passage's document.
        self._naming = cache(lambda candidate: _NAMED * title_match(candidate.title, query.text, query.run))

    def run(self) -> list[Trail]:
        """Return the best trails of all lengths, best first."""
        words = [word for stem in self._query.weights for word in self._query.words[stem]]
        first = [*self._shelf.search(words, _FIRST), *self._shelf.titled(self._query.text)]
        beam, found = [Trail()], []
        for _ in range(TRAIL_PASSAGES):
            best = self._longer_trails(self._options(beam, first))
            beam = best[:_WIDTH]
            found += [trail for trail in best if trail.adds >= _LEAST]
        return _best_first(found)

    def _longer_trails(self, options: Iterable[_Option]) -> list[Trail]:
        """Return the best trails that the options lead to, best first; hopeless options are not evaluated."""
        promising = sorted(options, key=lambda option: -option.most)
        best: list[Trail] = []
        for start in range(0, len(promising), _KEPT):
            if len(best) == _KEPT and promising[start].most < best[-1].value:
                break
            found = filter(None, map(self._extended, promising[start : start + _KEPT]))
            best = distinct(_best_first([*best, *found]), lambda trail: frozenset(trail.steps))[:_KEPT]
        return best

    def _options(self, beam: Sequence[Trail], first: Sequence[Candidate]) -> Iterator[_Option]:
        """Yield the passages that may extend each trail: those of `first`, and those to which the trail leads."""
        for trail in beam:
            onward = [candidate for step in trail.steps for candidate in self._next_after(step, trail.known)]
            strongest = _BY_TITLE if trail.steps else 0.0
            for candidate in dict.fromkeys((*first, *onward)):
                if candidate not in trail.steps:
                    adds = _gain(self._query, self._matches(candidate), trail.known)
                    most = trail.value + (adds + max(self._naming(candidate), strongest))
                    yield _Option(trail, candidate, adds, most)

    def _extended(self, option: _Option) -> Trail | None:
        """Return the longer trail; None if the passage adds no value to it."""
        trail, candidate, adds, _ = option
        relation = self._naming(candidate)
        if trail.steps:
            strongest = max(relation, *(self._link(step, candidate) for step in trail.steps))
            relation = strongest if strongest > _LOOSE else _UNRELATED
        value = adds + (relation if adds >= _LEAST else min(relation, _BRIDGE))
        if value <= 0:
            return None
        found = self._matches(candidate).items()
        known = {**trail.known, **{stem: max(share, trail.known.get(stem, 0.0)) for stem, share in found}}
        return Trail((*trail.steps, candidate), known, trail.value + value, adds)

    def _next_after(self, step: Candidate, known: Mapping[str, float]) -> list[Candidate]:
        """Return passages that contain the question's open words, or a name from this step."""
        if step not in self._onward:
            wanted = [stem for stem in self._query.weights if known.get(stem, 0.0) < _OPEN]
            words = [word for stem in wanted for word in self._query.words[stem]]
            with_title = [*step.title_run.split(), *words]
            found = [*self._shelf.search(words, _NEXT), *self._shelf.search(with_title, _NEXT)]
            # A name that occurs in only one passage occurs only in this step.
            shared = (name for name in step.names.values() if self._shelf.name_count(name) > 1)
            found += [candidate for name in shared for candidate in self._shelf.with_name(name, words, _NEXT)]
            self._onward[step] = list(dict.fromkeys(found))
        return self._onward[step]

    def _link(self, left: Candidate, right: Candidate) -> float:
        """Return the value (0 to 0.3) of the best link between two passages; rarer names link better."""
        if left.document == right.document:
            return _SAME_DOCUMENT
        pair = (left, right) if left.key < right.key else (right, left)
        if pair not in self._links:
            self._links[pair] = max((*self._ties(left, right), *self._ties(right, left)), default=0.0)
        return self._links[pair]

    def _ties(self, source: Candidate, target: Candidate) -> Iterator[float]:
        """Yield the value of each of the source's names that the target contains."""
        for word in source.names_by_word.keys() & target.words:
            for name in source.names_by_word[word]:
                run = f" {name} "
                in_title = run in target.title_run
                if in_title or run in target.run:
                    is_title = run in source.title_run or (in_title and 2 * len(name) >= len(target.subject))
                    value = _BY_TITLE if is_title else _BY_MENTION
                    value *= 1 if in_title or " " in name else _ONE_WORD
                    value *= _IN_QUESTION if run in self._query.plain else 1
                    yield value * distinctiveness(self._shelf.size, self._shelf.name_count(source.names[name]))

"""Beam search for trails: linked passages that answer a question together."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, partial
from typing import NamedTuple

from ..evidence.text.similarity import distinct
from ._candidates import Candidate, Query, read_query, title_match
from ._shelf import IndexShelf

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
"""Number of passages with which a trail may begin, besides those of documents named in the
question."""
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
    """Return a passage's match (0 to 1.25) for each question stem it contains.

    The words of a partly matched name count in proportion.
    """
    length = 1 - _LENGTH_SHARE + _LENGTH_SHARE * candidate.counts.total() / _USUAL_LENGTH
    titled_text = f"{candidate.title}\n{candidate.text}"
    inflected = query.inflections.counted(titled_text, candidate.passage.language)
    matches = dict[str, float]()
    for stem in query.weights:
        count = candidate.counts[stem]
        if stem in candidate.title_stems:
            count += 1
        count = max(count, inflected[stem])
        if count:
            matches[stem] = min(_FULL, 2 * count / (count + length))
    for name, stems in query.names.items():
        if name in candidate.padded_stems:
            continue
        matched = [stem for stem in stems if stem in matches]
        matched_weight = sum(map(query.weights.__getitem__, matched))
        whole_weight = sum(map(query.weights.__getitem__, stems))
        for stem in matched:
            matches[stem] *= matched_weight / whole_weight
    return matches


def _gain(query: Query, matches: Mapping[str, float], known: Mapping[str, float]) -> float:
    """Return the value of a passage's matches.

    What earlier passages match (`known`) counts little.
    """
    gains = list[float]()
    for stem, match in matches.items():
        earlier = known.get(stem, 0.0)
        new = max(0.0, match - earlier)
        repeated = min(match, earlier)
        gains.append(query.weights[stem] * (new + _REPEATED * repeated))
    return sum(gains)


def distinctiveness(size: int, holders: int) -> float:
    """Return how distinctive a name is: 0 if all `size` passages contain it, near 1 if only a few
    (`holders`) do."""
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

    def order(trail: Trail) -> tuple[float, int, list[tuple[str, int]]]:
        return -trail.value, len(trail.steps), [step.key for step in trail.steps]

    return sorted(trails, key=order)


def find_trails(text: str, shelf: IndexShelf) -> list[Trail]:
    """Return the best trails of one to four passages for a question, best first."""
    return _Search(read_query(text, shelf.size, shelf.counted), shelf).run()


def passages_of(trails: Sequence[Trail], limit: int) -> list[Candidate]:
    """Return the first `limit` distinct passages of these trails."""
    steps = list[Candidate]()
    for trail in trails:
        steps += trail.steps
    return list(dict.fromkeys(steps))[:limit]


class _Search:
    """A search for the trails of one question.

    Caches the values of passages and of links between them.
    """

    def __init__(self, query: Query, shelf: IndexShelf) -> None:
        self._query = query
        self._shelf = shelf
        self._links: dict[tuple[Candidate, Candidate], float] = {}
        self._onward: dict[Candidate, list[Candidate]] = {}
        self._matches = cache(partial(_matches, query))
        self._naming = cache(self._naming_value)

    def run(self) -> list[Trail]:
        """Return the best trails of all lengths, best first."""
        words = self._words_for(self._query.weights)
        first = [*self._shelf.search(words, _FIRST), *self._shelf.titled(self._query.text)]
        beam = [Trail()]
        found = list[Trail]()
        for _ in range(TRAIL_PASSAGES):
            best = self._longer_trails(self._options(beam, first))
            beam = best[:_WIDTH]
            found += [trail for trail in best if trail.adds >= _LEAST]
        return _best_first(found)

    def _naming_value(self, candidate: Candidate) -> float:
        """Return the value added if the question names the passage's document."""
        return _NAMED * title_match(candidate.title, self._query.text, self._query.run)

    def _words_for(self, stems: Iterable[str]) -> list[str]:
        """Return the words to search for of these stems of the question."""
        words = list[str]()
        for stem in stems:
            words += self._query.words[stem]
        return words

    def _longer_trails(self, options: Iterable[_Option]) -> list[Trail]:
        """Return the best trails that the options lead to, best first.

        Hopeless options are not evaluated.
        """
        promising = sorted(options, key=lambda option: -option.most)
        best: list[Trail] = []
        for start in range(0, len(promising), _KEPT):
            if len(best) == _KEPT and promising[start].most < best[-1].value:
                break
            trails = list(best)
            for option in promising[start : start + _KEPT]:
                extended = self._extended(option)
                if extended is not None:
                    trails.append(extended)
            # The same passages may have been found in another order.
            best = distinct(_best_first(trails), lambda trail: frozenset(trail.steps))[:_KEPT]
        return best

    def _options(self, beam: Sequence[Trail], first: Sequence[Candidate]) -> list[_Option]:
        """Return the passages that may extend each trail: `first`, and those it leads to."""
        options = list[_Option]()
        for trail in beam:
            onward = list[Candidate]()
            for step in trail.steps:
                onward += self._next_after(step, trail.known)
            strongest_link = _BY_TITLE if trail.steps else 0.0
            for candidate in dict.fromkeys((*first, *onward)):
                if candidate in trail.steps:
                    continue
                adds = _gain(self._query, self._matches(candidate), trail.known)
                relation = max(self._naming(candidate), strongest_link)
                most = trail.value + (adds + relation)
                options.append(_Option(trail, candidate, adds, most))
        return options

    def _extended(self, option: _Option) -> Trail | None:
        """Return the longer trail; None if the passage adds no value to it."""
        trail, candidate, adds, _ = option
        relation = self._naming(candidate)
        if trail.steps:
            links = [self._link(step, candidate) for step in trail.steps]
            relation = max(relation, *links)
            if relation <= _LOOSE:
                relation = _UNRELATED
        if adds < _LEAST:
            relation = min(relation, _BRIDGE)
        value = adds + relation
        if value <= 0:
            return None
        known = dict(trail.known)
        for stem, match in self._matches(candidate).items():
            known[stem] = max(match, known.get(stem, 0.0))
        return Trail((*trail.steps, candidate), known, trail.value + value, adds)

    def _next_after(self, step: Candidate, known: Mapping[str, float]) -> list[Candidate]:
        """Return passages that contain the question's open words, or a name from this step."""
        if step not in self._onward:
            open_stems = [stem for stem in self._query.weights if known.get(stem, 0.0) < _OPEN]
            words = self._words_for(open_stems)
            found = list(self._shelf.search(words, _NEXT))
            found += self._shelf.search([*step.title_run.split(), *words], _NEXT)
            for name in step.names.values():
                # A name that occurs in only one passage occurs only in this step.
                if self._shelf.name_count(name) > 1:
                    found += self._shelf.with_name(name, words, _NEXT)
            self._onward[step] = list(dict.fromkeys(found))
        return self._onward[step]

    def _link(self, left: Candidate, right: Candidate) -> float:
        """Return the value (0 to 0.3) of the best link between two passages.

        Rarer names are better.
        """
        if left.document == right.document:
            return _SAME_DOCUMENT
        pair = (left, right) if left.key < right.key else (right, left)
        if pair not in self._links:
            ties = [*self._ties(left, right), *self._ties(right, left)]
            self._links[pair] = max(ties, default=0.0)
        return self._links[pair]

    def _ties(self, source: Candidate, target: Candidate) -> list[float]:
        """Return the value of each of the source's names that the target contains."""
        values = list[float]()
        for word in source.names_by_word.keys() & target.words:
            for name in source.names_by_word[word]:
                run = f" {name} "
                in_title = run in target.title_run
                if not in_title and run not in target.run:
                    continue
                names_target = in_title and 2 * len(name) >= len(target.subject)
                value = _BY_MENTION
                if names_target or run in source.title_run:
                    value = _BY_TITLE
                if not in_title and " " not in name:
                    value *= _ONE_WORD
                if run in self._query.plain:
                    value *= _IN_QUESTION
                name_count = self._shelf.name_count(source.names[name])
                values.append(value * distinctiveness(self._shelf.size, name_count))
        return values

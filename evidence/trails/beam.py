"""The best of the trails that are one passage longer, worked out for as few of them as possible."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from .candidate import Candidate

KEPT = 60
"""Trails of each length from which the passages are taken."""


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
    """The best trails that these options lead to, best first; none is lengthened that cannot be among them."""
    promising = sorted(options, key=lambda one: -one.most)
    best: list[Trail] = []
    for start in range(0, len(promising), KEPT):
        if len(best) == KEPT and promising[start].most < best[-1].worth:
            break
        found = map(lengthened, promising[start : start + KEPT])
        best = _distinct([*best, *filter(None, found)])[:KEPT]
    return best


def best_first(trails: Iterable[Trail]) -> list[Trail]:
    """The trails by their worth; of those worth the same the shorter one comes first."""
    return sorted(trails, key=lambda one: (-one.worth, len(one.steps), [step.key for step in one.steps]))


def _distinct(trails: Sequence[Trail]) -> list[Trail]:
    """The trails, best first; of those with the same passages only the best."""
    best: dict[frozenset[Candidate], Trail] = {}
    for trail in best_first(trails):
        best.setdefault(frozenset(trail.steps), trail)
    return list(best.values())

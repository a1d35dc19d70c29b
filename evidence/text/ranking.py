"""Merges several lists into one."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import chain, zip_longest

from ...records.research import Value

DAMPING = 60
"""The constant of reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009)."""


def distinct(values: Iterable[Value], key: Callable[[Value], object]) -> list[Value]:
    """Return the values without those whose key came before."""
    first: dict[object, Value] = {}
    for value in values:
        first.setdefault(key(value), value)
    return list(first.values())


def interleave(lists: Iterable[Iterable[Value]]) -> list[Value]:
    """Return the first of each list, then the second of each, and so on."""
    return [value for value in chain.from_iterable(zip_longest(*lists)) if value is not None]


def spread(values: Iterable[Value], key: Callable[[Value], Hashable], most: int) -> list[Value]:
    """Return at most so many values of each key in their order, and then the others."""
    counts = Counter[Hashable]()
    first, behind = list[Value](), list[Value]()
    for value in values:
        counts[key(value)] += 1
        (first if counts[key(value)] <= most else behind).append(value)
    return [*first, *behind]


def fuse_rankings(rankings: Sequence[Iterable[Value]], key: Callable[[Value], Hashable]) -> list[Value]:
    """Fuse rankings by reciprocal rank; of values with the same key, the first is kept."""
    scores: dict[Hashable, float] = defaultdict(float)
    firsts = [distinct(ranking, key) for ranking in rankings]
    for ranking in firsts:
        for place, value in enumerate(ranking, 1):
            scores[key(value)] += 1 / (DAMPING + place)
    return sorted(distinct(chain.from_iterable(firsts), key), key=lambda value: -scores[key(value)])

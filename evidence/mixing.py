"""Several lists made into one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from itertools import chain, zip_longest

from ..channels import Value


def distinct(values: Iterable[Value], key: Callable[[Value], object]) -> list[Value]:
    """The values without those whose key came before."""
    first: dict[object, Value] = {}
    for value in values:
        first.setdefault(key(value), value)
    return list(first.values())


def in_turn(lists: Iterable[Iterable[Value]]) -> list[Value]:
    """The first of each list, then the second of each, and so on."""
    return [value for value in chain.from_iterable(zip_longest(*lists)) if value is not None]


def spread(values: Iterable[Value], key: Callable[[Value], Hashable], most: int) -> list[Value]:
    """In their order so many values of each key at most, and behind these the others."""
    counts = Counter[Hashable]()
    first, behind = list[Value](), list[Value]()
    for value in values:
        counts[key(value)] += 1
        (first if counts[key(value)] <= most else behind).append(value)
    return [*first, *behind]

"""Several lists made into one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain, zip_longest

from deep_research.channels import Value


def distinct(values: Iterable[Value], key: Callable[[Value], object]) -> list[Value]:
    """The values without those whose key came before."""
    first: dict[object, Value] = {}
    for value in values:
        first.setdefault(key(value), value)
    return list(first.values())


def in_turn(lists: Iterable[Iterable[Value]]) -> list[Value]:
    """The first of each list, then the second of each, and so on."""
    return [value for value in chain.from_iterable(zip_longest(*lists)) if value is not None]

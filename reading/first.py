"""The first of many values, without all of them being held."""

from __future__ import annotations

from typing import Generic, TypeVar

Ordered = TypeVar("Ordered", bound=tuple[object, ...])


class First(Generic[Ordered]):
    """Takes values in any order and keeps those that come first in theirs; it never holds more than twice as many."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: list[Ordered] = []
        self.count = 0
        """How many there were."""

    def add(self, value: Ordered) -> None:
        """Take one more."""
        self.count += 1
        self._kept.append(value)
        if len(self._kept) >= 2 * self._most:
            self._kept = self.values()

    def values(self) -> list[Ordered]:
        """Those that are kept, in order."""
        return sorted(self._kept)[: self._most]

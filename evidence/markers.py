"""The form of a citation marker: brackets around numbers."""

from __future__ import annotations

import re
from typing import NamedTuple

OPENERS = "[【［"
CLOSERS = "]】］"
_NUMBER = re.compile(r"(,? ?)(\d+)")
_LONGEST_NUMBER = 20
_UNKNOWN_NUMBER = -1

# What the characters read so far amount to: brackets opened, a number, after a comma, after its space, brackets closed.
_NEXT = {
    ("", "["): "opened",
    ("opened", "["): "opened",
    ("opened", "1"): "number",
    ("number", "1"): "number",
    ("number", ","): "comma",
    ("number", "]"): "closed",
    ("comma", "1"): "number",
    ("comma", " "): "space",
    ("space", "1"): "number",
    ("closed", "]"): "closed",
}


class Marker(NamedTuple):
    """One citation marker as it was written."""

    raw: str
    """Its text."""
    numbers: tuple[int, ...]
    """The numbers that it names."""
    separators: tuple[str, ...]
    """What stands before each number: nothing, a comma, or a comma and a space."""
    is_enclosed: bool = False
    """Whether something is open around it on its line: a bracket, or backticks."""


Part = str | Marker


class MarkerLexer:
    """Cuts a stream of characters into markers and single other characters; each is held no longer than needed."""

    def __init__(self) -> None:
        self._state = ""
        self._held: list[str] = []
        self._depth = 0

    def feed(self, char: str) -> list[Part]:
        """Take one character and return what is certain now."""
        kind = _kind(char)
        state = _NEXT.get((self._state, kind))
        if state is None:
            return [*self.finish(), *self.feed(char)] if self._held else [char]
        self._state = state
        self._held.append(char)
        self._depth += (kind == "[") - (kind == "]")
        return self.finish() if self._depth == 0 else []

    def finish(self) -> list[Part]:
        """Return what is held: a marker in as many brackets as were closed, or text."""
        held, state, unclosed = self._held, self._state, self._depth
        self._held, self._state, self._depth = [], "", 0
        return [*held[:unclosed], _marker("".join(held[unclosed:]))] if state == "closed" else list(held)


def _kind(char: str) -> str:
    if char in OPENERS:
        return "["
    if char in CLOSERS:
        return "]"
    return "1" if char.isdecimal() else char


def _marker(raw: str) -> Marker:
    pairs = _NUMBER.findall(raw)
    return Marker(raw, tuple(_number(digits) for _, digits in pairs), tuple(separator for separator, _ in pairs))


def _number(digits: str) -> int:
    # Python refuses to read very long numbers, and no source has one.
    return int(digits) if len(digits) <= _LONGEST_NUMBER else _UNKNOWN_NUMBER

"""Holds markers back as long as it is open whether they stand in code or in a link."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .markers import Marker, Part
from .protected import LinkTarget

Kind = Literal["code", "bracket", "closed bracket", "target"]


@dataclass
class Opening:
    """Something that may turn out to be code or a link."""

    kind: Kind
    """What it is so far."""
    start: int
    """Place among the held parts from which on it would protect them."""
    size: int = 0
    """How many backticks opened it; 0 for a bracket."""
    target: LinkTarget | None = None
    """What is read of the link's target, once that has begun."""


class Undecided:
    """The parts of a line from the first undecided marker on, and the openings that leave it undecided.

    The first opening is never younger than the first held marker, so all is decided when none is left.
    """

    def __init__(self) -> None:
        self._decided: list[Part] = []
        self._held: list[Part] = []
        self._openings: list[Opening] = []
        self._code_sizes: set[int] = set()

    @property
    def top(self) -> Opening | None:
        """The youngest opening."""
        return self._openings[-1] if self._openings else None

    def add(self, part: Part) -> None:
        """Append a part; text flows unless a marker before it is held."""
        held = self._held if self._held or isinstance(part, Marker) else self._decided
        held.append(part)

    def open(self, kind: Kind, size: int = 0) -> None:
        """Note that what follows may be protected."""
        self._openings.append(Opening(kind, len(self._held), size))
        self._code_sizes.add(size)

    def drop(self) -> None:
        """Forget the youngest opening: it was nothing."""
        self._code_sizes.discard(self._openings.pop().size)
        if not self._openings:
            self._flush()

    def protect(self) -> None:
        """Turn the markers since the youngest opening into text, and forget it."""
        start = self._openings[-1].start
        if len(self._held) > start:
            self._held[start:] = ["".join(map(_raw, self._held[start:]))]
        if start == 0:
            self._flush()
        self.drop()

    def close_code(self, size: int) -> bool:
        """Protect what stands between backticks if as many of them are open, and say whether they were."""
        if size not in self._code_sizes:
            return False
        while self._openings[-1].size != size:
            self._code_sizes.discard(self._openings.pop().size)
        self.protect()
        return True

    def end_line(self, is_code: bool) -> None:
        """Decide what is left: nothing that is still open was code or a link, unless the line opens a fence."""
        if is_code:
            self._held = [_raw(part) for part in self._held]
        self._openings.clear()
        self._code_sizes.clear()
        self._flush()

    def take_decided(self) -> list[Part]:
        """Return what is certain, once."""
        decided, self._decided = self._decided, []
        return decided

    def _flush(self) -> None:
        self._decided += self._held
        self._held = []


def _raw(part: Part) -> str:
    return part if isinstance(part, str) else part.raw

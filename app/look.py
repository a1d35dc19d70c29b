"""One thing that the doctor looked at."""

from __future__ import annotations

from typing import NamedTuple


class Look(NamedTuple):
    """How it stands with one thing."""

    what: str
    is_ok: bool
    words: str
    """What was found; where something is missing, which setting mends it."""
    is_needed: bool = True
    """Whether no run is possible, or none is right, without it."""

    @property
    def state(self) -> str:
        """How it stands, in a word."""
        return "ok" if self.is_ok else "missing" if self.is_needed else "note"

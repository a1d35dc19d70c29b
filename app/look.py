"""One thing that the doctor looked at."""

from __future__ import annotations

from typing import Literal, NamedTuple


class Look(NamedTuple):
    """How it stands with one thing."""

    what: str
    is_ok: bool
    words: str
    """What was found; where something is missing, which setting mends it."""
    otherwise: Literal["missing", "failed", "note"] = "missing"
    """What it is called where it is not well; a note stops no run."""

    @property
    def state(self) -> str:
        """How it stands, in a word."""
        return "ok" if self.is_ok else self.otherwise

    @property
    def stops_runs(self) -> bool:
        """Whether no run can begin, or end well, before it is mended."""
        return self.state in ("missing", "failed")

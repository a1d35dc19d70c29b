"""`Dispute`, the record of a contradiction between two sources."""

from __future__ import annotations

from typing import Literal, NamedTuple

from .sources import Origin, Record

DisputeSubject = Literal["fact", "advice"]
"""What two sources disagree on: what is the case, or what to do."""
UNRESOLVED = "open"
"""The resolution of a dispute that nobody has resolved."""


class DisputedClaim(NamedTuple):
    """One side of a dispute."""

    text: str
    """The claim, self-contained."""
    source: str
    """Key of the source that makes it."""
    date: str
    """Date of the source (see `Source.time`); empty if unknown."""
    origin: Origin
    """Kind of the source's publisher (see `evidence.origin.origin_of`)."""


class Dispute(Record):
    """Two claims from different sources that contradict each other."""

    # Parallel pairs, and not two records, because clients of the packet `report_audited` and of
    # JSON exports read `claims` and `sources`.
    claims: tuple[str, str]
    sources: tuple[str, str]
    """Keys of the sources, in the order of the claims."""
    dates: tuple[str, str] = ("", "")
    """Dates of the sources (see `Source.time`), in the same order; empty if unknown."""
    origins: tuple[Origin, Origin] = ("other", "other")
    """Kinds of the sources' publishers (see `evidence.origin.origin_of`), in the same order."""
    about: DisputeSubject = "fact"
    """What the sources disagree on."""
    resolution: str = UNRESOLVED
    """Which claim holds and why, worded for the reader; `open` if that is not resolved."""

    @property
    def sides(self) -> tuple[DisputedClaim, DisputedClaim]:
        """Both claims, each with what is known of its source."""
        first, second = map(DisputedClaim, self.claims, self.sources, self.dates, self.origins)
        return first, second

    @property
    def newer(self) -> str:
        """Key of the source with the later date; empty if the dates are equal or one is unknown."""
        first, second = self.sides
        if not first.date or not second.date or first.date == second.date:
            return ""
        return max(self.sides, key=lambda side: side.date).source

    @property
    def is_resolved(self) -> bool:
        """Whether somebody has resolved it."""
        return self.resolution != UNRESOLVED

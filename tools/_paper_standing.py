"""Reads what registers of papers say on a paper after its publication: retractions and concerns."""

from __future__ import annotations

from typing import NamedTuple

_RETRACTED = frozenset(("retraction", "retraction in", "withdrawal", "removal"))
_CONCERN = frozenset(("expression of concern", "expression of concern in"))


class PaperStanding(NamedTuple):
    """What a register lists about a paper."""

    is_retracted: bool = False
    """Whether the paper was retracted, withdrawn or removed."""
    has_concern: bool = False
    """Whether its publisher expressed concern about it."""


def paper_standing(notices: object, field: str = "type") -> PaperStanding:
    """Return what the notices about a paper say, which are records with their kind in `field`.

    The kinds are those of Crossref's `updated-by` and of Europe PMC's `commentCorrection`. Notices
    of another form are ignored: a paper can be shown without them.
    """
    names = set[str]()
    for notice in notices if isinstance(notices, list) else ():
        kind = notice.get(field) if isinstance(notice, dict) else None
        if isinstance(kind, str):
            names.add(kind.casefold().replace("_", " ").replace("-", " ").strip())
    return PaperStanding(not names.isdisjoint(_RETRACTED), not names.isdisjoint(_CONCERN))

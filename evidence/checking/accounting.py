"""Draws up the account of a report that was checked."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from ...audit import ClaimCheck, Disagreement
from ...knowledge import Learning, Source
from .contradictions import contradicting
from .reprints import independent

MOST_DISAGREEMENTS = 10
"""Contradictions that are shown."""


def with_independence(claims: Iterable[ClaimCheck], groups: Sequence[Collection[str]]) -> tuple[ClaimCheck, ...]:
    """The claims with the number of independent sources that support each; `groups`: sources of the same text."""
    return tuple(claim.model_copy(update={"independent": independent(_supporting(claim), groups)}) for claim in claims)


def disagreements(claims: Iterable[ClaimCheck], question_id: str) -> list[Disagreement]:
    """Where the passages behind the report contradict each other, at most `MOST_DISAGREEMENTS`."""
    passages = {(one.source, one.quote): one for claim in claims for one in claim.passages if one.quote}
    learnings = [
        Learning(text=one.quote, source=one.source, step="", question_id=question_id) for one in passages.values()
    ]
    found = [
        Disagreement(claims=(one.text, other.text), sources=(one.source, other.source))
        for one, other in contradicting(learnings)
    ]
    return found[:MOST_DISAGREEMENTS]


def read_sources(sources: Mapping[str, Source], found: Iterable[str]) -> int:
    """How many of the sources that were found have been read."""
    return sum(1 for key in {*found} if key in sources and sources[key].content_hash)


def _supporting(claim: ClaimCheck) -> list[str]:
    return [one.source for one in claim.passages if one.verdict == "supported"]

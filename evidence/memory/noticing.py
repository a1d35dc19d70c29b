"""What findings add to the research memory, without any model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from ...knowledge import Learning, Observation, Source
from ...state import Finding
from ..checking.contradictions import contradicting
from ..editions import may_contradict
from .learned import learnings_of
from .observations import answers, gap_of, open_gaps

MOST_PAIRS = 3
"""Contradictions of one learning that are noted in a round: two sources of many alike claims have very many pairs."""


def notice_findings(
    findings: Sequence[Finding], memory: Mapping[str, Observation]
) -> tuple[dict[str, Learning], dict[str, Observation]]:
    """What the findings of a round have learned, which gaps they declare, and which of the memory they close.

    They close what was the whole task of an earlier finding. Which of the others is answered says who reads them.
    """
    learned = {finding.id: learnings_of(finding) for finding in findings}
    opened = [
        gap_of(text, finding.question_id, finding.cycle, finding.id, about=finding.task)
        for finding in findings
        for text in _missing(finding, learned[finding.id])
    ]
    closed = [
        one
        for finding in findings
        for gap in open_gaps(memory.values())
        if learned[finding.id] and gap.text == finding.task and gap.question_id == finding.question_id
        for one in answers(gap, memory.values(), finding.cycle, finding.id, 0)
    ]
    learnings = {one.id: one for ones in learned.values() for one in ones}
    return learnings, {gap.key: gap for gap in (*opened, *closed)}


def notice_contradictions(
    learnings: Mapping[str, Learning],
    memory: Mapping[str, Observation],
    sources: Mapping[str, Source],
    question_id: str,
    round: int,
) -> dict[str, Observation]:
    """The pairs of this question's learnings that cannot both hold, less those that the memory has."""
    known = {frozenset(found.learnings) for found in memory.values() if found.kind == "contradiction"}
    own = [one for one in learnings.values() if one.question_id == question_id]
    noticed: dict[str, Observation] = {}
    times: Counter[str] = Counter()
    for one, other in contradicting(own):
        is_new = {one.id, other.id} not in known and max(times[one.id], times[other.id]) < MOST_PAIRS
        if is_new and may_contradict(sources[one.source], sources[other.source]):
            times.update((one.id, other.id))
            contradiction = _contradiction(one, other, round)
            noticed[contradiction.key] = contradiction
    return noticed


def _missing(finding: Finding, learned: Sequence[Learning]) -> list[str]:
    """What the researcher has declared, and its task where it did not come to its end or nothing is cited."""
    if not learned:
        return [finding.task]
    return [*finding.missing, *([] if finding.ended == "done" else [finding.task])]


def _contradiction(one: Learning, other: Learning, round: int) -> Observation:
    return Observation(
        kind="contradiction",
        text=one.text,
        other=other.text,
        question_id=one.question_id,
        round=round,
        learnings=(one.id, other.id),
    )

"""Disputes (contradictions between two sources): how they are made, which of them count, and how they are shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ....state import ResearchState
from ...records.dispute import Dispute, DisputeSubject
from ...records.plan import FINAL_CHECK, Learning, Observation
from ...records.report import Report
from ...records.sources import Source
from ..citations.labels import Labels
from ..citations.rendering import plain_line, source_name
from ..origin import origin_of
from ..text.sentences import sentences_of
from ..text.words import stems
from .observations import contradictions


def dispute_between(claims: tuple[str, str], sources: tuple[Source, Source], about: DisputeSubject = "fact") -> Dispute:
    """Return the open dispute between two sources; the claims are in the order of the sources."""
    first, second = sources
    return with_sources(Dispute(claims=claims, sources=(first.key, second.key), about=about), sources)


def with_sources(dispute: Dispute, sources: tuple[Source, Source]) -> Dispute:
    """Return the dispute with these sources, and with their dates and kinds as they are known now."""
    first, second = sources
    return dispute.model_copy(
        update={
            "sources": (first.key, second.key),
            "dates": (first.time, second.time),
            "origins": (origin_of(first), origin_of(second)),
        }
    )


def observed_dispute(
    dispute: Dispute, learnings: tuple[Learning, Learning], round: int, step: str, iteration: int = 0
) -> Observation:
    """Return the observation of a dispute; `learnings` state its claims, in the same order."""
    first, second = learnings
    return Observation(
        kind="contradiction",
        dispute=dispute,
        question_id=first.question_id,
        round=round,
        step=step,
        iteration=iteration,
        learnings=(first.id, second.id),
    )


def confirmed_disputes(state: ResearchState, question_id: str | None = None) -> list[Dispute]:
    """Return the disputes of a question (by default the current one) that count, with their sources as known now.

    Since the final check of a typed plan compares all learnings, only those that it found count for such a plan.
    """
    asked = state.run.id if question_id is None else question_id
    own = (observation for observation in state.memory.values() if observation.question_id == asked)
    confirmed = [observation for observation in own if observation.step == FINAL_CHECK or not state.has_typed_plan]
    return [current_dispute(found, state) for found in contradictions(confirmed)]


def current_dispute(found: Observation, state: ResearchState) -> Dispute:
    """Return the dispute of a contradiction, with its sources as known now: later research may have dated them."""
    assert found.dispute
    keys = list(found.dispute.sources)
    if not all(keys):
        # In runs stored by bad86816 only the learnings name the sources (`run.store.upgrade`).
        keys = [state.learnings[key].source for key in found.learnings if key in state.learnings]
    known = [state.sources[key] for key in keys if key in state.sources]
    if len(known) < 2:
        return found.dispute
    first, second = known
    return with_sources(found.dispute, (first, second))


def disputes_in_thread(state: ResearchState) -> list[Dispute]:
    """Return the confirmed disputes of all questions of the thread."""
    questions = dict.fromkeys(observation.question_id for observation in state.memory.values())
    return [dispute for question_id in questions for dispute in confirmed_disputes(state, question_id)]


def disputes_in_text(state: ResearchState, text: str) -> list[Dispute]:
    """Return the disputes relevant to a report: one of its sentences has at least half of a claim's words."""
    sentences = [set(stems(sentence.text)) for sentence in sentences_of(text)]

    def is_stated(claim: str) -> bool:
        words = set(stems(claim))
        return any(2 * len(words & sentence) >= len(words) for sentence in sentences)

    return [dispute for dispute in confirmed_disputes(state) if any(map(is_stated, dispute.claims))]


def disputes_of(state: ResearchState, report: Report) -> list[Dispute]:
    """Return the disputes between a report's sources: from its audit, or computed if it was not checked."""
    if report.audit is None:
        return disputes_in_text(state, report.text)
    return [
        with_sources(dispute, (state.sources[dispute.sources[0]], state.sources[dispute.sources[1]]))
        for dispute in report.audit.disagreements
    ]


def comparison_table(
    disputes: Sequence[Dispute], labels: Labels, sources: Mapping[str, Source], numbers: Mapping[str, int]
) -> str:
    """Return a Markdown table of disputes; empty if there are none. `sources`, and their report `numbers`, by key."""
    if not disputes:
        return ""
    head = (labels.claim, labels.other_claim, labels.sources, labels.dates, labels.newer)
    rows = [head, ("---",) * len(head)]
    for dispute in disputes:
        names = {key: source_name(sources[key], numbers.get(key)) for key in dispute.sources}
        first, second = map(plain_line, dispute.claims)
        cited = " / ".join(names.values())
        dates = " / ".join(date or labels.not_stated for date in dispute.dates)
        newer = names.get(dispute.newer, labels.not_known)
        if dispute.is_resolved:
            newer += f"; {plain_line(dispute.resolution)}"
        rows.append((first, second, cited, dates, newer))
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    return f"## {labels.contradictions}\n\n{table}"


def dispute_line(dispute: Dispute, numbers: Mapping[str, int]) -> str:
    """Return a dispute as a line of a prompt; sources have only `numbers`, since titles may say anything."""
    first, second = (
        f"{side.text} [{numbers.get(side.source, 0)}] ({side.date or 'undated'})" for side in dispute.sides
    )
    newer = f"; [{numbers.get(dispute.newer, 0)}] is newer" if dispute.newer else ""
    resolution = f"; resolved: {dispute.resolution}" if dispute.is_resolved else ""
    return f"- {first} – but: {second}{newer}{resolution}"

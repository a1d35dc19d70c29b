"""Disputes (contradictions between two sources): how they are made, selected and shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ....state import ResearchState
from ...records.plan import FINAL_CHECK, Learning, Observation
from ...records.report import Report
from ...records.sources import Dispute, DisputeSubject, Source
from ..citations.labels import Labels
from ..citations.rendering import plain_line, source_name
from ..origin import origin_of
from ..text.sentences import sentences_of
from ..text.words import stems
from .observations import contradictions


def dispute_between(
    claims: tuple[str, str],
    sources: tuple[Source, Source],
    about: DisputeSubject = "fact",
) -> Dispute:
    """Return the open dispute between two sources; the claims are in the order of the sources."""
    first, second = sources
    dispute = Dispute(claims=claims, sources=(first.key, second.key), about=about)
    return with_sources(dispute, sources)


def with_sources(dispute: Dispute, sources: tuple[Source, Source]) -> Dispute:
    """Return the dispute between these sources, with their dates and kinds as known now."""
    first, second = sources
    return dispute.model_copy(
        update={
            "sources": (first.key, second.key),
            "dates": (first.time, second.time),
            "origins": (origin_of(first), origin_of(second)),
        }
    )


def observed_dispute(
    dispute: Dispute,
    learnings: tuple[Learning, Learning],
    round: int,
    step: str,
    iteration: int = 0,
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
    """Return the disputes found for a question (by default the current one), as known now.

    Since the final check of a typed plan compares all learnings, only those that it found count
    for such a plan.
    """
    if question_id is None:
        question_id = state.run.id
    is_planned = state.run.strategy == "planned"
    confirmed = list[Observation]()
    for observation in state.memory.values():
        is_confirmed = observation.step == FINAL_CHECK or not is_planned
        if observation.question_id == question_id and is_confirmed:
            confirmed.append(observation)
    return [current_dispute(found, state) for found in contradictions(confirmed)]


def current_dispute(found: Observation, state: ResearchState) -> Dispute:
    """Return the dispute of a contradiction; its sources may have been dated since it was found."""
    assert found.dispute
    keys = list(found.dispute.sources)
    if not all(keys):
        # In runs stored by bad86816 only the learnings name the sources (`run.store.upgrade`).
        keys.clear()
        for learning in filter(None, map(state.learnings.get, found.learnings)):
            keys.append(learning.source)
    sources = list(filter(None, map(state.sources.get, keys)))
    if len(sources) < 2:
        return found.dispute
    first, second = sources
    return with_sources(found.dispute, (first, second))


def disputes_in_thread(state: ResearchState) -> list[Dispute]:
    """Return the confirmed disputes of all questions of the thread."""
    disputes = list[Dispute]()
    question_ids = dict[str, None]()
    for observation in state.memory.values():
        question_ids.setdefault(observation.question_id)
    for question_id in question_ids:
        disputes += confirmed_disputes(state, question_id)
    return disputes


def disputes_in_text(state: ResearchState, text: str) -> list[Dispute]:
    """Return the disputes of which a sentence has at least half of the words of a claim."""
    sentences = [set(stems(sentence.text)) for sentence in sentences_of(text)]

    def is_stated(claim: str) -> bool:
        words = set(stems(claim))
        return any(2 * len(words & sentence) >= len(words) for sentence in sentences)

    disputes = list[Dispute]()
    for dispute in confirmed_disputes(state):
        if any(map(is_stated, dispute.claims)):
            disputes.append(dispute)
    return disputes


def disputes_of(state: ResearchState, report: Report) -> list[Dispute]:
    """Return the disputes in a report: from its audit, or computed if it was not checked."""
    if report.audit is None:
        return disputes_in_text(state, report.text)
    disputes = list[Dispute]()
    for dispute in report.audit.disagreements:
        first, second = map(state.sources.__getitem__, dispute.sources)
        disputes.append(with_sources(dispute, (first, second)))
    return disputes


def comparison_table(
    disputes: Sequence[Dispute],
    labels: Labels,
    sources: Mapping[str, Source],
    numbers: Mapping[str, int],
) -> str:
    """Return a Markdown table of disputes; empty if there are none.

    `sources`: at least those of the disputes, by key; `numbers`: their numbers in the report, by
    key, if it cites them.
    """
    if not disputes:
        return ""
    head = (labels.claim, labels.other_claim, labels.sources, labels.dates, labels.newer)
    lines = [_row(head), _row(["---"] * len(head))]
    for dispute in disputes:
        names = {key: source_name(sources[key], numbers.get(key)) for key in dispute.sources}
        first, second = map(plain_line, dispute.claims)
        cited = " / ".join(names.values())
        first_date, second_date = dispute.dates
        dates = f"{first_date or labels.not_stated} / {second_date or labels.not_stated}"
        newer = names.get(dispute.newer, labels.not_known)
        if dispute.is_resolved:
            newer += f"; {plain_line(dispute.resolution)}"
        lines.append(_row([first, second, cited, dates, newer]))
    table = "\n".join(lines)
    return f"## {labels.contradictions}\n\n{table}"


def _row(cells: Iterable[str]) -> str:
    """Return a line of a Markdown table."""
    return f"| {' | '.join(cells)} |"


def dispute_line(dispute: Dispute, numbers: Mapping[str, int]) -> str:
    """Return a dispute as a line of a prompt; `numbers`: numbers of sources in the thread, by key.

    Titles of sources are left out, since they may say anything.
    """
    shown = list[str]()
    for side in dispute.sides:
        shown.append(f"{side.text} [{numbers.get(side.source, 0)}] ({side.date or 'undated'})")
    line = f"- {' – but: '.join(shown)}"
    if dispute.newer:
        line += f"; [{numbers.get(dispute.newer, 0)}] is newer"
    if dispute.is_resolved:
        line += f"; resolved: {dispute.resolution}"
    return line

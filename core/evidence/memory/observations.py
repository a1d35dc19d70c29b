"""The research memory: observations, of which insights, open gaps, contradictions and disputes are
computed."""

from __future__ import annotations

from collections.abc import Iterable

from ....state import ResearchState
from ...records.plan import FINAL_CHECK, Element, Observation, ObservationKind
from ...records.report import Report
from ...records.research import Run
from ...records.sources import Dispute
from ..text.similarity import (
    components,
    distinct,
    grouped,
    interleave,
    is_same_statement,
    normalised,
)
from ..text.words import GENERIC_WORDS, STOP_WORDS, stem, stems, tokens
from ._naming import names_dispute


class ResearchMemory:
    """What observations come to; nothing depends on their order or repetition."""

    def __init__(self, observations: Iterable[Observation]) -> None:
        self._observations = tuple(observations)

    def insights(self) -> list[Observation]:
        """Return the insights, most confident first.

        Those of a question that say nearly the same are merged. A merged insight has the highest
        confidence and all learnings of those that it is merged from.
        """
        return _by_score(self._of_kind("insight"))

    def open_gaps(self) -> list[Observation]:
        """Return the open gaps, merged like insights: the most relevant first, else in the order in
        which models named them.

        The latest observation of a gap (same question, same words) decides whether it is open. If
        several are equally late, one that closes it wins.
        """
        return _by_score(self._open())

    def declared_gaps(self) -> list[Observation]:
        """Return the open gaps of the whole run: those that the orchestrator declared with its call
        for the report, and those that the final check left open."""
        return [gap for gap in self.open_gaps() if gap.step in ("", FINAL_CHECK)]

    def contradictions(self) -> list[Observation]:
        """Return the contradictions that hold, earliest first; the same two claims, in any order,
        once.

        What the final check says of two claims counts; what it was not shown holds as declared.
        Contradictions in other words are merged only by the model of that check.
        """
        holding = list[Observation]()
        for same in grouped(self._of_kind("contradiction"), _both_claims).values():
            checks = [found for found in same if found.step == FINAL_CHECK]
            if not checks:
                holding.append(min(same, key=lambda found: found.order))
                continue
            latest = max(checks, key=lambda found: (found.round, not found.is_open, found.key))
            if latest.is_open:
                holding.append(latest)
        return sorted(holding, key=lambda found: found.order)

    def closing(self, gap: Observation, round: int, step: str, iteration: int) -> list[Observation]:
        """Return the observations that close a gap from `open_gaps`, and all gaps merged into it,
        in a step's iteration."""
        update = {"round": round, "step": step, "iteration": iteration, "is_open": False}
        closed = list[Observation]()
        for group in components(self._open(), _are_same):
            if _identity(gap) in map(_identity, group):
                for observation in group:
                    closed.append(observation.model_copy(update=update))
        return closed

    def leaving_open(self, missing: Iterable[str], run: Run, round: int) -> list[Observation]:
        """Return the observations that make `missing` the only open gaps of the question `run`."""
        opened = list[Observation]()
        for rank, text in enumerate(missing):
            opened.append(Observation.of_gap(text, run.id, round, "", rank))
        kept = set(map(_identity, opened))
        closed = list[Observation]()
        for gap in self.open_gaps():
            if _identity(gap) in kept:
                continue
            for observation in self.closing(gap, round, "", 0):
                # Another wording of the gap may be among those that stay open.
                if _identity(observation) not in kept:
                    closed.append(observation)
        return [*opened, *closed]

    def elements(self, reasonings: Iterable[tuple[str, str]], most: int) -> list[Element]:
        """Return at most `most` distinct insights, contradictions and thoughts as input of a task.

        `reasonings` are (step id, thought) pairs. The kinds take turns, each in its own order.
        """
        insights = list[Element]()
        for insight in self.insights():
            insights.append(Element(content=insight.text, source=insight.step, kind="insight"))
        contradictions = list[Element]()
        for found in self.contradictions():
            claims = " – but: ".join(found.claims)
            contradictions.append(Element(content=claims, source=found.step, kind="contradiction"))
        thoughts = list[Element]()
        for step, thought in reasonings:
            if thought.strip():
                thoughts.append(Element(content=thought, source=step, kind="reasoning"))
        in_turn = interleave((insights, contradictions, thoughts))
        return distinct(in_turn, lambda element: (element.kind, normalised(element.content)))[:most]

    def _of_kind(self, kind: ObservationKind) -> list[Observation]:
        """Return the observations of a kind, without repetitions."""
        by_key = dict[str, Observation]()
        for observation in self._observations:
            if observation.kind == kind:
                by_key[observation.key] = observation
        return list(by_key.values())

    def _open(self) -> list[Observation]:
        """Return the latest observations of each open gap (see `open_gaps`), not merged."""

        def stamp(gap: Observation) -> tuple[int, tuple[tuple[int, str], ...], int]:
            return gap.round, gap.step_order, gap.iteration

        still_open = list[Observation]()
        for same in grouped(self._of_kind("gap"), _identity).values():
            latest = max(map(stamp, same))
            last = [gap for gap in same if stamp(gap) == latest]
            if all(gap.is_open for gap in last):
                still_open += last
        return still_open


class ThreadDisputes:
    """The disputes in a thread, as they were confirmed, and with what is known of their sources
    now."""

    def __init__(self, state: ResearchState) -> None:
        self._state = state

    def confirmed(self, question_id: str | None = None) -> list[Dispute]:
        """Return the disputes found for a question (by default the current one), as known now."""
        if question_id is None:
            question_id = self._state.run.id
        of_question = list[Observation]()
        for observation in self._state.memory.values():
            if observation.question_id == question_id:
                of_question.append(observation)
        return [self.current(found) for found in ResearchMemory(of_question).contradictions()]

    def current(self, found: Observation) -> Dispute:
        """Return the dispute of a contradiction; its sources may have been dated since it was
        found."""
        assert found.dispute
        keys = list(found.dispute.sources)
        if not all(keys):
            # In runs stored by bad86816 only the learnings name the sources (`store.upgrade`).
            keys.clear()
            for learning in filter(None, map(self._state.learnings.get, found.learnings)):
                keys.append(learning.source)
        sources = list(filter(None, map(self._state.sources.get, keys)))
        if len(sources) < 2:
            return found.dispute
        first, second = sources
        return found.dispute.with_sources(first, second)

    def in_thread(self) -> list[Dispute]:
        """Return the confirmed disputes of all questions of the thread, each once."""
        disputes = list[Dispute]()
        question_ids = dict[str, None]()
        for observation in self._state.memory.values():
            question_ids.setdefault(observation.question_id)
        for question_id in question_ids:
            disputes += self.confirmed(question_id)
        return _each_once(disputes)

    def citing(self, cited: Iterable[str]) -> list[Dispute]:
        """Return the disputes that concern a text: those of which it cites a source (`cited`: their
        keys).

        Those of which the editor found both sides in the draft are named if it cites both sources,
        or if they are resolved and the request asks for a length, which a table would exceed.
        """
        keys = set(cited)
        draft = self._state.draft
        named = draft.named_disputes if draft else ()
        is_limited = draft is not None and draft.most_words > 0
        concerning = list[Dispute]()
        for dispute in self._of_report():
            if not keys.isdisjoint(dispute.sources):
                needs_no_row = is_limited and dispute.is_resolved
                is_named = needs_no_row or keys.issuperset(dispute.sources)
                is_named = is_named and dispute.claims in named
                concerning.append(dispute.model_copy(update={"is_named": is_named}))
        return concerning

    def _of_report(self) -> list[Dispute]:
        """Return the disputes that may concern the report of the current question: those found for
        it; if it is an edit, first those of the report before.

        An edit may also cite sources of earlier questions that the report did not cite before.
        """
        own = self.confirmed()
        if self._state.run.entry != "edit":
            return own
        in_thread = self.in_thread()
        base = self._state.base
        if base is None or base.audit is None:
            return in_thread
        kept = list[Dispute]()
        for dispute in base.audit.disagreements:
            # Those of excluded sources are no longer in the thread.
            if _is_among(dispute, in_thread):
                kept.append(dispute)
        newly_cited = list[Dispute]()
        for dispute in in_thread:
            if not base.cites_any(dispute.sources):
                newly_cited.append(dispute)
        return _each_once([*kept, *own, *newly_cited])

    def not_named_in(self, report: Report) -> list[Dispute]:
        """Return the disputes that concern a report and that its text does not name: from its
        audit, or computed if it was not checked."""
        disputes = list[Dispute]()
        if report.audit is None:
            disputes = self.citing(report.sources)
        else:
            for dispute in report.audit.disagreements:
                first, second = map(self._state.sources.__getitem__, dispute.sources)
                disputes.append(dispute.with_sources(first, second))
        keys = report.keys
        not_named = list[Dispute]()
        for dispute in disputes:
            if not dispute.is_named and not names_dispute(report.text, keys, dispute):
                not_named.append(dispute)
        return not_named


def relevance(text: str, task: str) -> float:
    """Return the share (0 to 1) of a task's words that a text has.

    Stop words and generic words do not count.
    """
    task_stems = set[str]()
    for word in tokens(task):
        is_generic = word in GENERIC_WORDS or stem(word) in GENERIC_WORDS
        if word not in STOP_WORDS and not is_generic:
            task_stems.add(stem(word))
    if not task_stems:
        return 0.0
    return len(task_stems.intersection(stems(text))) / len(task_stems)


def _by_score(observations: Iterable[Observation]) -> list[Observation]:
    """Return the observations by descending score, then in their order (see `Observation.order`).

    Those of a question that say nearly the same are merged.
    """
    merged = list[Observation]()
    for group in components(observations, _are_same):
        learnings = set[str]()
        scores = list[float]()
        for observation in group:
            learnings.update(observation.learnings)
            scores.append(observation.score)
        update = {"score": max(scores), "learnings": tuple(sorted(learnings))}
        first = min(group, key=lambda observation: observation.order)
        merged.append(first.model_copy(update=update))
    return sorted(merged, key=lambda observation: (-observation.score, observation.order))


def named_disputes(report: Report) -> list[Dispute]:
    """Return the disputes of which a checked report states both sides."""
    named = list[Dispute]()
    for dispute in report.audit.disagreements if report.audit else ():
        if dispute.is_named or names_dispute(report.text, report.keys, dispute):
            named.append(dispute)
    return named


def _each_once(disputes: Iterable[Dispute]) -> list[Dispute]:
    """Return the disputes without those that repeat an earlier one."""
    kept = list[Dispute]()
    for dispute in disputes:
        if not _is_among(dispute, kept):
            kept.append(dispute)
    return kept


def _is_among(dispute: Dispute, known: Iterable[Dispute]) -> bool:
    return any(_is_same_dispute(other, dispute) for other in known)


def _is_same_dispute(first: Dispute, second: Dispute) -> bool:
    """Whether the same two sources say nearly the same in both."""
    claims = {side.source: side.text for side in first.sides}
    for side in second.sides:
        claim = claims.get(side.source)
        if claim is None:
            return False
        if claim != side.text and not is_same_statement(claim, side.text):
            return False
    return True


def _are_same(first: Observation, second: Observation) -> bool:
    if first.question_id != second.question_id:
        return False
    return is_same_statement(first.text, second.text)


def _identity(gap: Observation) -> tuple[str, str]:
    """Return what is equal for observations of the same gap."""
    return gap.question_id, normalised(gap.text)


def _both_claims(found: Observation) -> tuple[str, frozenset[str]]:
    """Return what is equal for observations of the same two claims."""
    return found.question_id, frozenset(map(normalised, found.claims))

"""The research memory (observations, of which insights, open gaps and contradictions are computed),
and report notes.

What is computed does not depend on the order or repetition of the observations.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from ....state import ResearchState
from ...records.plan import Element, Observation, ObservationKind
from ...records.research import Action, Finding, Run
from ...records.sources import NotRead, Source
from ..text.similarity import components, distinct, grouped, is_same_statement, meaning, normalised
from ..text.words import GENERIC_WORDS, STOP_WORDS, stem, stems, tokens

_PRIORITY = 0.8
"""Minimum confidence of insights that `elements_for` lists first."""
_LISTED = 20
"""Maximum number of failed searches, and of unread sources, named in the notes."""
_WORDS_NAMED = 5
"""Maximum number of words left out of web queries that are named in the notes."""
WITHHELD_REASON = "the provider of the model refuses such text"


def insights(observations: Iterable[Observation]) -> list[Observation]:
    """Return the insights, most confident first.

    Those of a question that say nearly the same are merged. A merged insight has the highest
    confidence and all learnings of those that it is merged from.
    """
    return _by_score(_of_kind("insight", observations))


def open_gaps(observations: Iterable[Observation]) -> list[Observation]:
    """Return the open gaps, most relevant first, merged like insights.

    The latest observation of a gap (same question, same words) decides whether it is open. If
    several are equally late, one that closes it wins.
    """
    return _by_score(_open(observations))


def contradictions(observations: Iterable[Observation]) -> list[Observation]:
    """Return the contradictions, earliest first.

    Those with nearly the same two claims, in any order, once.
    """

    def are_same(first: Observation, second: Observation) -> bool:
        if first.question_id != second.question_id:
            return False
        claim, other_claim = map(meaning, first.claims)
        second_claim, second_other = map(meaning, second.claims)
        if is_same_statement(claim, second_claim) and is_same_statement(other_claim, second_other):
            return True
        return is_same_statement(claim, second_other) and is_same_statement(
            other_claim, second_claim
        )

    earliest = list[Observation]()
    for group in components(_of_kind("contradiction", observations), are_same):
        earliest.append(min(group, key=_order))
    return sorted(earliest, key=_order)


def gap_of(text: str, question_id: str, round: int, step: str, *, about: str) -> Observation:
    """Return the observation that opens a gap.

    Its relevance is that of its text to the task or question `about`.
    """
    score = relevance(text, about)
    return Observation(
        kind="gap", text=text, question_id=question_id, round=round, step=step, score=score
    )


def declare_missing(missing: Iterable[str], state: ResearchState) -> list[Observation]:
    """Return the observations that make `missing` the only open gaps of the current question."""
    run = state.run
    cycle = state.progress.cycle
    observations = state.own_observations
    opened = [gap_of(text, run.id, cycle, "", about=run.question) for text in missing]
    kept = set(map(_identity, opened))
    closed = list[Observation]()
    for gap in open_gaps(observations):
        if _identity(gap) in kept:
            continue
        for observation in close_gap(gap, observations, cycle, "", 0):
            # Another wording of the gap may be among those that stay open.
            if _identity(observation) not in kept:
                closed.append(observation)
    return [*opened, *closed]


def close_gap(
    gap: Observation, observations: Iterable[Observation], round: int, step: str, iteration: int
) -> list[Observation]:
    """Return the observations that close a gap from `open_gaps`, and all gaps merged into it, in a
    step's iteration."""
    update = {"round": round, "step": step, "iteration": iteration, "is_open": False}
    closed = list[Observation]()
    for group in components(_open(observations), _are_same):
        if _identity(gap) in map(_identity, group):
            for observation in group:
                closed.append(observation.model_copy(update=update))
    return closed


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


def elements_for(
    task: str, observations: Iterable[Observation], reasonings: Iterable[tuple[str, str]], most: int
) -> list[Element]:
    """Return at most `most` distinct insights, contradictions and thoughts as input of a task.

    `reasonings` are (step id, thought) pairs. Insights with a confidence of at least `_PRIORITY`
    come first; these and the rest are each sorted by relevance.
    """

    def element(
        content: str, kind: Literal["insight", "contradiction", "reasoning"], step: str
    ) -> Element:
        return Element(content=content, relevance=relevance(content, task), source=step, kind=kind)

    noticed = list(observations)
    first = list[Element]()
    rest = list[Element]()
    for insight in insights(noticed):
        group = first if insight.score >= _PRIORITY else rest
        group.append(element(insight.text, "insight", insight.step))
    for contradiction in contradictions(noticed):
        claims = " – but: ".join(contradiction.claims)
        rest.append(element(claims, "contradiction", contradiction.step))
    for step, thought in reasonings:
        if thought.strip():
            rest.append(element(thought, "reasoning", step))
    for group in (first, rest):
        group.sort(key=lambda found: (-found.relevance, found.content, found.kind, found.source))
    ranked = [*first, *rest]
    return distinct(ranked, lambda element: (element.kind, normalised(element.content)))[:most]


def _of_kind(kind: ObservationKind, observations: Iterable[Observation]) -> list[Observation]:
    """Return the observations of a kind, without repetitions."""
    by_key = dict[str, Observation]()
    for observation in observations:
        if observation.kind == kind:
            by_key[observation.key] = observation
    return list(by_key.values())


def _by_score(observations: Iterable[Observation]) -> list[Observation]:
    """Return the observations by descending score.

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
        first = min(group, key=lambda observation: observation.key)
        merged.append(first.model_copy(update=update))
    return sorted(merged, key=lambda observation: (-observation.score, observation.key))


def _are_same(first: Observation, second: Observation) -> bool:
    if first.question_id != second.question_id:
        return False
    return is_same_statement(meaning(first.text), meaning(second.text))


def _open(observations: Iterable[Observation]) -> list[Observation]:
    """Return the latest observations of each open gap (see `open_gaps`), not merged."""

    def stamp(gap: Observation) -> tuple[int, tuple[tuple[int, str], ...], int]:
        return gap.round, _step_order(gap.step), gap.iteration

    still_open = list[Observation]()
    for same in grouped(_of_kind("gap", observations), _identity).values():
        latest = max(map(stamp, same))
        last = [gap for gap in same if stamp(gap) == latest]
        if all(gap.is_open for gap in last):
            still_open += last
    return still_open


def _identity(gap: Observation) -> tuple[str, str]:
    """Return what is equal for observations of the same gap."""
    return gap.question_id, normalised(gap.text)


def _order(found: Observation) -> tuple[int, tuple[tuple[int, str], ...], str]:
    """Return a key by which observations are sorted by round, then by step."""
    return found.round, _step_order(found.step), found.key


def _step_order(step: str) -> tuple[tuple[int, str], ...]:
    # Step 2.10 comes after step 2.9.
    return tuple((len(part), part) for part in step.split("."))


def not_read(state: ResearchState) -> list[NotRead]:
    """Return the documents and pages that could not be read for the current question, each once."""
    unread = {file.path: file for file in state.run.not_read}
    for action in state.own_actions:
        for failed in action.not_read:
            unread[failed.path] = failed
    return list(unread.values())


def unopened(sources: Mapping[str, Source], unread: Iterable[NotRead]) -> dict[str, Source]:
    """Return the sources that could not be opened and have no text, by key, with `failure` set."""
    codes = {failed.path: failed.code for failed in unread}
    found = dict[str, Source]()
    for key, source in sources.items():
        code = codes.get(source.address) or codes.get(source.location)
        if code and not source.content_hash:
            found[key] = source.model_copy(update={"failure": code})
    return found


def report_notes(state: ResearchState) -> list[str]:
    """Return the notes below the report of the current question, each one sentence or more."""
    run = state.run
    report = state.report
    notes = list[str]()
    for assumption in run.assumptions:
        unasked = "No clarification was possible, so the question was taken as written."
        notes.append(f"{unasked} Left open: {assumption}")
    if run.stop_reason:
        notes.append(_line("Research ended early", run.stop_reason))
    if state.plan and state.plan.remark:
        notes.append(state.plan.remark)
    notes += research_gaps(state)
    for step in state.steps:
        if step.status == "skipped":
            notes.append(_line("Not done", step.title, step.reason))
    is_graded = bool(state.draft and state.draft.grades)
    missing = "Still open" if is_graded else "Not found"
    for gap in unanswered(state):
        notes.append(f"{missing}: {gap}")
    if report and report.audit and report.audit.marked:
        marked = report.audit.marked
        notes.append(f"Statements marked as not verified: {marked}. No source fully supports them.")
    if report:
        notes += source_notes(report.cited(state.sources))
    notes += _redacted_notes(state.own_actions)
    notes += _tool_notes(state.own_actions)
    notes += _search_notes(state)
    notes += run.notices
    unread = not_read(state)
    for failed in unread[:_LISTED]:
        notes.append(f"Not read: {failed.path} ({failed.reason.rstrip('.')}).")
    if len(unread) > _LISTED:
        notes.append(f"Not read: {len(unread) - _LISTED} more.")
    return notes


def _tool_notes(actions: Iterable[Action]) -> list[str]:
    """Return a note for each tool and kind of error that it raised."""
    failures = Counter[tuple[str, str]]()
    for action in actions:
        for kind in action.failed:
            failures[action.tool, kind] += 1
    notes = list[str]()
    for (tool, kind), count in failures.items():
        times = "once" if count == 1 else f"{count} times"
        notes.append(f"The tool {tool} failed {times} ({kind}).")
    return notes


def _search_notes(state: ResearchState) -> list[str]:
    """Return a note for each reason why searches failed, with all queries that failed for it."""
    # `research_gaps` already has the failed steps of a typed plan, with their reasons.
    reported = set[str]()
    for finding in state.findings.values():
        reported.update(finding.failures)
    failures = dict[str, None]()
    for action in state.own_actions:
        for failure in action.broken:
            failures.setdefault(failure.rstrip("."))
    by_reason = dict[str, str]()
    for failure in failures:
        if failure in reported:
            continue
        reason, _, queries = failure.partition(" Not searched: ")
        if reason in by_reason:
            by_reason[reason] += f", {queries}"
        else:
            by_reason[reason] = failure
    notes = list[str]()
    for failure in list(by_reason.values())[:_LISTED]:
        notes.append(_line("A search failed", failure))
    return notes


def source_notes(cited: Iterable[Source]) -> Iterator[str]:
    """Yield the notes on sources that were retracted or read in a copy."""
    for source in cited:
        if source.is_retracted:
            yield f"Source {source.number} was retracted (Crossref)."
        if source.copy_address:
            copy = "an open copy"
            if source.copied_on:
                copy += f" made on {source.copied_on}"
            yield f"Source {source.number} was read in {copy}: {source.copy_address}"


def asked_notes(names: Iterable[str]) -> list[str]:
    """Return a note that names the services asked for copies and retractions (`names`).

    Empty if there are none.
    """
    named = ", ".join(dict.fromkeys(names))
    if not named:
        return []
    return [f"Asked for open or archived copies and for retractions: {named} (open_copies)."]


def unanswered(state: ResearchState) -> list[str]:
    """Return the checklist items that the report does not meet.

    If it was not graded, the gaps of its researchers. The checklist is preferred, since
    researchers' gaps go beyond the request and repeat each other.
    """
    if state.draft and state.draft.grades:
        missing = dict[str, None]()
        for grade in state.draft.open_grades:
            missing.setdefault(grade.missing or grade.requirement)
        return list(missing)
    return missing_of(state.run, state.findings.values(), state.memory.values())


def _redacted_notes(actions: Iterable[Action]) -> list[str]:
    """Return a note that names the words left out of web queries; empty if there are none."""
    redacted = dict[str, str]()
    for action in actions:
        for word in action.redacted:
            redacted[word.casefold()] = word
    if not redacted:
        return []
    words = list(redacted.values())
    named = ", ".join(words[:_WORDS_NAMED])
    if len(words) > _WORDS_NAMED:
        named += f" and {len(words) - _WORDS_NAMED} more"
    return [
        f"Web searches left out words that are only in your documents: {named}. "
        "To search the web for such words, use them in the question, or set mix_private."
    ]


def missing_of(run: Run, findings: Iterable[Finding], memory: Iterable[Observation]) -> list[str]:
    """Return the open gaps of a question in order, except tasks that `research_gaps` reports."""
    of_question = [observation for observation in memory if observation.question_id == run.id]
    explained = set[str]()
    for finding in findings:
        has_reason = finding.ended != "done" or finding.is_withheld or finding.failures
        if finding.question_id == run.id and has_reason:
            explained.add(finding.task)
    missing = list[str]()
    for gap in sorted(open_gaps(of_question), key=_order):
        if gap.text not in explained:
            missing.append(gap.text)
    return missing


def research_gaps(state: ResearchState) -> list[str]:
    """Return notes on tasks with errors or without an end, and on what was left out."""
    findings = state.own_findings
    notes = list[str]()
    reasons = set[str]()
    for finding in findings:
        if finding.ended != "done":
            reasons.add(finding.reason)
            notes.append(_line("Not researched to the end", finding.task, finding.reason))
    for finding in state.findings.values():
        if finding.is_withheld:
            notes.append(_line("Found, but left out", finding.task, WITHHELD_REASON))
    for finding in findings:
        if finding.withheld:
            results = "a result" if finding.withheld == 1 else f"{finding.withheld} results"
            notes.append(_line("Left out", finding.task, f"{results}; {WITHHELD_REASON}"))
    for finding in findings:
        if finding.ended == "done" and finding.failures:
            failures = "; ".join(dict.fromkeys(finding.failures))
            notes.append(_line("Errors during the research", finding.task, failures))
    faults = set[str]()
    for finding in findings:
        for action in finding.actions:
            faults.add(action.fault)
    return [*notes, *sorted(faults - reasons - {""})]


def _line(*parts: str) -> str:
    """Return a note: its parts without final punctuation, joined with colons, and a full stop."""
    text = ""
    for part in parts:
        part = part.rstrip(" .:")
        if not text:
            text = part
        elif text.endswith(("?", "!")):
            text += f" {part[:1].upper()}{part[1:]}"
        else:
            text += f": {part}"
    return text if text.endswith(("?", "!")) else f"{text}."

"""The research memory (observations, of which insights, open gaps and contradictions are computed), and report notes.

What is computed does not depend on the order or repetition of the observations.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from ....state import ResearchState
from ...records.plan import FINAL_CHECK, Element, Learning, Observation, ObservationKind
from ...records.research import Action, Finding, Run
from ...records.sources import NotRead, Source
from ..citations.labels import Labels
from ..citations.rendering import plain_line, source_name
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
    """Return the insights, most confident first; those of a question that say nearly the same are merged.

    A merged insight has the highest confidence and all learnings of those that it is merged from.
    """
    return _by_score(_of_kind("insight", observations))


def open_gaps(observations: Iterable[Observation]) -> list[Observation]:
    """Return the open gaps, most relevant first, merged like insights.

    The latest observation of a gap (same question, same words) decides whether it is open. If several are equally late,
    one that closes it wins.
    """
    return _by_score(_open(observations))


def contradictions(observations: Iterable[Observation]) -> list[Observation]:
    """Return the contradictions, earliest first; those with nearly the same two claims, in any order, once."""

    def are_same(first: Observation, second: Observation) -> bool:
        claim, other = meaning(first.text), meaning(first.other)
        second_claim, second_other = meaning(second.text), meaning(second.other)
        is_straight = is_same_statement(claim, second_claim) and is_same_statement(other, second_other)
        is_crossed = is_same_statement(claim, second_other) and is_same_statement(other, second_claim)
        return first.question_id == second.question_id and (is_straight or is_crossed)

    groups = components(_of_kind("contradiction", observations), are_same)
    return sorted((min(group, key=_order) for group in groups), key=_order)


def gap_of(text: str, question_id: str, round: int, step: str, *, about: str) -> Observation:
    """Return the observation that opens a gap; its relevance is that of its text to the task or question `about`."""
    score = relevance(text, about)
    return Observation(kind="gap", text=text, question_id=question_id, round=round, step=step, score=score)


def contradiction_of(first: Learning, second: Learning, round: int, step: str, iteration: int = 0) -> Observation:
    """Return the observation that two learnings contradict each other."""
    return Observation(
        kind="contradiction",
        text=first.text,
        other=second.text,
        question_id=first.question_id,
        round=round,
        step=step,
        iteration=iteration,
        learnings=(first.id, second.id),
    )


def declare_missing(missing: Iterable[str], state: ResearchState) -> list[Observation]:
    """Return the observations after which `missing` are the only open gaps of the current question."""
    run, own, cycle = state.run, state.own_observations, state.progress.cycle
    opened = [gap_of(text, run.id, cycle, "", about=run.question) for text in missing]
    kept = {_identity(gap) for gap in opened}
    closed = [
        observation
        for gap in open_gaps(own)
        if _identity(gap) not in kept
        for observation in close_gap(gap, own, cycle, "", 0)
        if _identity(observation) not in kept
    ]
    return [*opened, *closed]


def close_gap(
    gap: Observation, observations: Iterable[Observation], round: int, step: str, iteration: int
) -> list[Observation]:
    """Return the observations that close a gap from `open_gaps`, and all gaps merged into it, in a step's iteration."""
    groups = components(_open(observations), _are_same)
    same = [found for group in groups if _identity(gap) in map(_identity, group) for found in group]
    closed = {"round": round, "step": step, "iteration": iteration, "is_open": False}
    return [observation.model_copy(update=closed) for observation in same]


def relevance(text: str, task: str) -> float:
    """Return the share (0 to 1) of a task's words that a text has; stop words and generic words do not count."""
    specific = (word for word in tokens(task) if word not in STOP_WORDS and not {word, stem(word)} & GENERIC_WORDS)
    asked = {stem(word) for word in specific}
    return len(asked.intersection(stems(text))) / len(asked) if asked else 0.0


def elements_for(
    task: str, observations: Iterable[Observation], reasonings: Iterable[tuple[str, str]], most: int
) -> list[Element]:
    """Return at most `most` insights, contradictions and thoughts as input of a task, without repetitions.

    `reasonings` are (step id, thought) pairs. Insights with a confidence of at least `_PRIORITY` come first; these and
    the rest are each sorted by relevance.
    """

    def element(content: str, kind: Literal["insight", "contradiction", "reasoning"], step: str) -> Element:
        return Element(content=content, relevance=relevance(content, task), source=step, kind=kind)

    noticed = list(observations)
    first, rest = list[Element](), list[Element]()
    for found in insights(noticed):
        (first if found.score >= _PRIORITY else rest).append(element(found.text, "insight", found.step))
    for found in contradictions(noticed):
        rest.append(element(f"{found.text} – but: {found.other}", "contradiction", found.step))
    rest += [element(thought, "reasoning", step) for step, thought in reasonings if thought.strip()]
    for group in (first, rest):
        group.sort(key=lambda found: (-found.relevance, found.content, found.kind, found.source))
    ranked = [*first, *rest]
    return distinct(ranked, lambda element: (element.kind, normalised(element.content)))[:most]


def _of_kind(kind: ObservationKind, observations: Iterable[Observation]) -> list[Observation]:
    """Return the observations of a kind, without repetitions."""
    return list({found.key: found for found in observations if found.kind == kind}.values())


def _by_score(observations: Iterable[Observation]) -> list[Observation]:
    """Return the observations by descending score; those of a question that say nearly the same are merged."""
    merged = list[Observation]()
    for group in components(observations, _are_same):
        learnings = tuple(sorted({learning for found in group for learning in found.learnings}))
        update = {"score": max(found.score for found in group), "learnings": learnings}
        merged.append(min(group, key=lambda found: found.key).model_copy(update=update))
    return sorted(merged, key=lambda found: (-found.score, found.key))


def _are_same(first: Observation, second: Observation) -> bool:
    return first.question_id == second.question_id and is_same_statement(meaning(first.text), meaning(second.text))


def _open(observations: Iterable[Observation]) -> list[Observation]:
    """Return the latest observations of each open gap (see `open_gaps`), not merged."""

    def stamp(gap: Observation) -> tuple[int, tuple[tuple[int, str], ...], int]:
        return gap.round, _step_order(gap.step), gap.iteration

    found = list[Observation]()
    for same in grouped(_of_kind("gap", observations), _identity).values():
        latest = max(map(stamp, same))
        last = [gap for gap in same if stamp(gap) == latest]
        found += last if all(gap.is_open for gap in last) else []
    return found


def _identity(gap: Observation) -> tuple[str, str]:
    """Return what is equal for observations of the same gap."""
    return gap.question_id, normalised(gap.text)


def _order(found: Observation) -> tuple[int, tuple[tuple[int, str], ...], str]:
    """Return a key by which observations are sorted by round, then by step."""
    return found.round, _step_order(found.step), found.key


def _step_order(step: str) -> tuple[tuple[int, str], ...]:
    # Step 2.10 comes after step 2.9.
    return tuple((len(part), part) for part in step.split("."))


class ConfirmedPair(NamedTuple):
    """Two contradicting claims, each with a source."""

    claims: tuple[str, str]
    sources: tuple[Source, Source]
    """The source of each claim."""

    @property
    def newer(self) -> Source | None:
        """The source with the later date; None if the dates are equal or a date is unknown."""
        first, second = self.sources
        if not first.time or not second.time or first.time == second.time:
            return None
        return max(self.sources, key=lambda source: source.time)


def confirmed_contradictions(state: ResearchState, question_id: str | None = None) -> list[ConfirmedPair]:
    """Return the contradictions found for a question (by default the current one) in which both claims have a source.

    Since the final check of a typed plan compares all learnings, only those that it found count for such a plan.
    """
    asked = state.run.id if question_id is None else question_id
    own = (observation for observation in state.memory.values() if observation.question_id == asked)
    confirmed = [
        observation for observation in own if observation.step == FINAL_CHECK or state.run.strategy != "planned"
    ]
    pairs = [[state.learnings[key] for key in found.learnings] for found in contradictions(confirmed)]
    return [
        ConfirmedPair((first.text, second.text), (state.sources[first.source], state.sources[second.source]))
        for first, second in pairs
        if first.source and second.source
    ]


def comparison_table(pairs: Sequence[ConfirmedPair], labels: Labels, numbers: Mapping[str, int]) -> str:
    """Return a Markdown table of contradicting claims; empty if none. `numbers`: report numbers by source key."""
    if not pairs:
        return ""
    head = (labels.claim, labels.other_claim, labels.sources, labels.dates, labels.newer)
    rows = [head, ("---",) * len(head)]
    for pair in pairs:
        names = {source: source_name(source, numbers.get(source.key)) for source in pair.sources}
        cited = " / ".join(names[source] for source in pair.sources)
        dates = " / ".join(source.time or labels.not_stated for source in pair.sources)
        newer = names[pair.newer] if pair.newer else labels.not_known
        rows.append((plain_line(pair.claims[0]), plain_line(pair.claims[1]), cited, dates, newer))
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    return f"## {labels.contradictions}\n\n{table}"


def contradiction_line(pair: ConfirmedPair) -> str:
    """Return contradicting claims as a line of a prompt; sources have only numbers, since titles may say anything."""
    named = [f"{claim} [{source.number}] ({source.time or 'undated'})" for claim, source in zip(*pair, strict=True)]
    newer = f"; [{pair.newer.number}] is newer" if pair.newer else ""
    return f"- {named[0]} – but: {named[1]}{newer}"


def not_read(state: ResearchState) -> list[NotRead]:
    """Return the documents and pages that could not be read for the current question, each once."""
    failed = (unread for action in state.own_actions for unread in action.not_read)
    return list({unread.path: unread for unread in (*state.run.not_read, *failed)}.values())


def unopened(sources: Mapping[str, Source], unread: Iterable[NotRead]) -> dict[str, Source]:
    """Return the sources of which no text was read since they could not be opened, by key, with `failure` set."""
    codes = {failed.path: failed.code for failed in unread}
    failed = {key: codes.get(source.address) or codes.get(source.location, "") for key, source in sources.items()}
    return {
        key: sources[key].model_copy(update={"failure": code})
        for key, code in failed.items()
        if code and not sources[key].content_hash
    }


def report_notes(state: ResearchState) -> list[str]:
    """Return the notes below the report of the current question, each one sentence or more."""
    run, findings = state.run, state.findings.values()
    unasked = "No clarification was possible, so the question was taken as written. Left open:"
    notes = [f"{unasked} {assumption}" for assumption in run.assumptions]
    if run.stop_reason:
        notes.append(_line("Research ended early", run.stop_reason))
    if state.plan and state.plan.remark:
        notes.append(state.plan.remark)
    notes += research_gaps(state)
    notes += [_line("Not done", step.title, step.reason) for step in state.steps if step.status == "skipped"]
    is_graded = bool(state.draft and state.draft.grades)
    notes += [f"{'Still open' if is_graded else 'Not found'}: {gap}" for gap in unanswered(state)]
    if state.report and state.report.audit and state.report.audit.marked:
        marked = state.report.audit.marked
        notes.append(f"Statements marked as not verified: {marked}. No source fully supports them.")
    actions = state.own_actions
    notes += source_notes(state.report.cited(state.sources) if state.report else ())
    notes += _redacted_notes(actions)
    failures = Counter((action.tool, kind) for action in actions for kind in action.failed)
    for (tool, kind), times in failures.items():
        notes.append(f"The tool {tool} failed {'once' if times == 1 else f'{times} times'} ({kind}).")
    # `research_gaps` already has the failed steps of a typed plan, with their reasons.
    reported = {words for finding in findings for words in finding.failures}
    broken: dict[str, str] = {}
    for words in dict.fromkeys(words.rstrip(".") for action in actions for words in action.broken):
        why, _, queries = words.partition(" Not searched: ")
        if words not in reported:
            broken[why] = f"{broken[why]}, {queries}" if why in broken else words
    notes += [_line("A search failed", words) for words in [*broken.values()][:_LISTED]]
    unread = not_read(state)
    notes += run.notices
    notes += [f"Not read: {failed.path} ({failed.reason.rstrip('.')})." for failed in unread[:_LISTED]]
    return [*notes, f"Not read: {len(unread) - _LISTED} more."] if len(unread) > _LISTED else notes


def source_notes(cited: Iterable[Source]) -> Iterator[str]:
    """Yield the notes on sources that were retracted or read in a copy."""
    for source in cited:
        if source.is_retracted:
            yield f"Source {source.number} was retracted (Crossref)."
        if source.copy_address:
            made = f" made on {source.copied_on}" if source.copied_on else ""
            yield f"Source {source.number} was read in an open copy{made}: {source.copy_address}"


def asked_notes(names: Iterable[str]) -> list[str]:
    """Return a note that names the services asked for copies and retractions (`names`); empty if there are none."""
    named = ", ".join(dict.fromkeys(names))
    return [f"Asked for open or archived copies and for retractions: {named} (open_copies)."] if named else []


def unanswered(state: ResearchState) -> list[str]:
    """Return the checklist items that the report does not meet; if it was not graded, the gaps of its researchers.

    The checklist is preferred, since researchers' gaps go beyond the request and repeat each other.
    """
    if state.draft and state.draft.grades:
        return list(dict.fromkeys(grade.missing or grade.requirement for grade in state.draft.open_grades))
    return missing_of(state.run, state.findings.values(), state.memory.values())


def _redacted_notes(actions: Iterable[Action]) -> list[str]:
    """Return a note that names the words left out of web queries; empty if there are none."""
    words = list({word.casefold(): word for action in actions for word in action.redacted}.values())
    if not words:
        return []
    named = ", ".join(words[:_WORDS_NAMED]) + (f" and {more} more" if (more := len(words) - _WORDS_NAMED) > 0 else "")
    return [
        f"Web searches left out words that are only in your documents: {named}. "
        "To search the web for such words, use them in the question, or set mix_private."
    ]


def missing_of(run: Run, findings: Iterable[Finding], memory: Iterable[Observation]) -> list[str]:
    """Return the open gaps of a question in order, except tasks that `research_gaps` reports with a reason."""
    own = [observation for observation in memory if observation.question_id == run.id]
    explained = {
        finding.task
        for finding in findings
        if finding.question_id == run.id and (finding.ended != "done" or finding.is_withheld or finding.failures)
    }
    return [gap.text for gap in sorted(open_gaps(own), key=_order) if gap.text not in explained]


def research_gaps(state: ResearchState) -> list[str]:
    """Return notes on tasks that were not finished or had errors, and on what was left out or not searchable."""
    own = state.own_findings
    unfinished = [finding for finding in own if finding.ended != "done"]
    faults = {action.fault for finding in own for action in finding.actions if action.fault}
    notes = [_line("Not researched to the end", finding.task, finding.reason) for finding in unfinished]
    withheld = [finding for finding in state.findings.values() if finding.is_withheld]
    notes += [_line("Found, but left out", finding.task, WITHHELD_REASON) for finding in withheld]
    for finding in own:
        if finding.withheld:
            results = "a result" if finding.withheld == 1 else f"{finding.withheld} results"
            notes.append(_line("Left out", finding.task, f"{results}; {WITHHELD_REASON}"))
    for finding in own:
        if finding.ended == "done" and finding.failures:
            notes.append(_line("Errors during the research", finding.task, "; ".join(dict.fromkeys(finding.failures))))
    return [*notes, *sorted(faults - {finding.reason for finding in unfinished})]


def _line(*parts: str) -> str:
    """Return the parts of a note joined with colons, without their own final punctuation, and with a full stop."""
    text = ""
    for part in (part.rstrip(" .:") for part in parts):
        is_after_question = text.endswith(("?", "!"))
        joint = ": " if text and not is_after_question else " " if text else ""
        text += joint + (part[:1].upper() + part[1:] if is_after_question else part)
    return text if text.endswith(("?", "!")) else f"{text}."

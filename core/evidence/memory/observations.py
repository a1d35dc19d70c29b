"""The research memory: a set of observations that only grows, its views, and the notes that a report gets from it.

No view depends on the order of the observations, nor on repeats.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Literal, NamedTuple

from ....state import ResearchState
from ...records.plan import FINAL_CHECK, Element, Learning, Observation, ObservationKind
from ...records.research import Action, Finding, Run
from ...records.sources import NotRead, Source
from ..citations.labels import Labels
from ..citations.rendering import plain_line, source_name
from ..text.similarity import Meaning, components, distinct, is_same, meaning, normalised
from ..text.words import GENERIC_WORDS, STOP_WORDS, stem, stems, tokens

PRIORITY = 0.8
"""Confidence from which on an insight comes first."""

Stamp = tuple[int, tuple[tuple[int, str], ...], int]
LISTED = 20
"""Sources that could not be read and are named one by one at most."""
WORDS_NAMED = 5
"""Words left out of web queries that are named one by one at most."""
WITHHELD = "the provider of the model refuses to have such text read"


class _Noted(NamedTuple):
    observation: Observation
    meaning: Meaning
    other: Meaning


def insights(observations: Iterable[Observation]) -> list[Observation]:
    """Return the insights, the most confident first; those that say nearly the same for one question are merged.

    A merged insight has the highest confidence of its group, and the learnings of all of it.
    """
    return _by_score(_of_kind("insight", observations))


def open_gaps(observations: Iterable[Observation]) -> list[Observation]:
    """Return the open gaps, the most relevant first; those that say nearly the same are merged, like insights.

    Gaps of one question in the same words are the same gap. It is open if its latest observation says so; of two at the
    same time, the one that closes it counts.
    """
    return _by_score(_open(observations))


def contradictions(observations: Iterable[Observation]) -> list[Observation]:
    """Return the contradictions in the order in which they were noticed, each once, whichever claim comes first."""
    noted = [_note(found) for found in _of_kind("contradiction", observations)]
    firsts = [min((one.observation for one in group), key=order_of) for group in components(noted, _are_same_pair)]
    return sorted(firsts, key=order_of)


def gap_of(text: str, question_id: str, round: int, step: str, *, about: str) -> Observation:
    """Return a gap that is open from a round and step on; `about` is the task or question to which it belongs."""
    score = relevance(text, about)
    return Observation(kind="gap", text=text, question_id=question_id, round=round, step=step, score=score)


def declare_missing(
    missing: Iterable[str], observations: Sequence[Observation], question_id: str, round: int, *, about: str
) -> list[Observation]:
    """Return the observations that make these the only open gaps of a question, from that round on."""
    opened = [gap_of(text, question_id, round, "", about=about) for text in missing]
    kept = {_identity(gap) for gap in opened}
    mine = [gap for gap in open_gaps(observations) if gap.question_id == question_id and _identity(gap) not in kept]
    closed = [one for gap in mine for one in close_gap(gap, observations, round, "", 0) if _identity(one) not in kept]
    return [*opened, *closed]


def close_gap(
    gap: Observation, observations: Iterable[Observation], round: int, step: str, iteration: int
) -> list[Observation]:
    """Return the observations that close a gap of `open_gaps`, and those merged into it, from that iteration on."""
    groups = components(map(_note, _open(observations)), _are_same)
    same = [one.observation for group in groups for one in group if _holds(group, gap)]
    closed = {"round": round, "step": step, "iteration": iteration, "is_open": False}
    return [one.model_copy(update=closed) for one in same]


def relevance(text: str, task: str) -> float:
    """Return the share of a task's specific words that a text contains, from 0 to 1; 0 if the task has none."""
    specific = (word for word in tokens(task) if word not in STOP_WORDS and not {word, stem(word)} & GENERIC_WORDS)
    asked = {stem(word) for word in specific}
    return len(asked.intersection(stems(text))) / len(asked) if asked else 0.0


def elements_for(
    task: str, observations: Iterable[Observation], reasonings: Iterable[tuple[str, str]], most: int
) -> list[Element]:
    """Return insights, contradictions and thoughts for a task, at most a given number, each once.

    `reasonings` are thoughts, each with the id of its step. Insights of at least `PRIORITY` confidence come first;
    within both groups, those more relevant to the task.
    """
    noticed = list(observations)
    first = [_element(task, found, found.text) for found in insights(noticed) if found.score >= PRIORITY]
    rest = [_element(task, found, found.text) for found in insights(noticed) if found.score < PRIORITY]
    rest += [_element(task, found, f"{found.text} – but: {found.other}") for found in contradictions(noticed)]
    rest += [
        Element(content=thought, relevance=relevance(thought, task), source=step, kind="reasoning")
        for step, thought in reasonings
        if thought.strip()
    ]
    ranked = [*sorted(first, key=_by_relevance), *sorted(rest, key=_by_relevance)]
    return distinct(ranked, lambda one: (one.kind, normalised(one.content)))[:most]


def _of_kind(kind: ObservationKind, observations: Iterable[Observation]) -> list[Observation]:
    return list({found.key: found for found in observations if found.kind == kind}.values())


def _note(observation: Observation) -> _Noted:
    return _Noted(observation, meaning(observation.text), meaning(observation.other))


def _by_score(observations: Iterable[Observation]) -> list[Observation]:
    groups = components(map(_note, observations), _are_same)
    merged = [_merged([one.observation for one in group]) for group in groups]
    return sorted(merged, key=lambda found: (-found.score, found.key))


def _are_same(one: _Noted, other: _Noted) -> bool:
    return one.observation.question_id == other.observation.question_id and is_same(one.meaning, other.meaning)


def _are_same_pair(one: _Noted, other: _Noted) -> bool:
    if one.observation.question_id != other.observation.question_id:
        return False
    straight = is_same(one.meaning, other.meaning) and is_same(one.other, other.other)
    return straight or (is_same(one.meaning, other.other) and is_same(one.other, other.meaning))


def _merged(group: Sequence[Observation]) -> Observation:
    score = max(found.score for found in group)
    learnings = tuple(sorted({learning for found in group for learning in found.learnings}))
    return min(group, key=lambda found: found.key).model_copy(update={"score": score, "learnings": learnings})


def _open(observations: Iterable[Observation]) -> list[Observation]:
    gaps = sorted(_of_kind("gap", observations), key=_identity)
    return [gap for _, same in groupby(gaps, key=_identity) for gap in _still_open(list(same))]


def _holds(group: Sequence[_Noted], gap: Observation) -> bool:
    return any(_identity(one.observation) == _identity(gap) for one in group)


def _identity(gap: Observation) -> tuple[str, str]:
    return gap.question_id, normalised(gap.text)


def _still_open(said: Sequence[Observation]) -> list[Observation]:
    latest = max(map(_stamp, said))
    last = [gap for gap in said if _stamp(gap) == latest]
    return last if all(gap.is_open for gap in last) else []


def _stamp(found: Observation) -> Stamp:
    return found.round, _step_order(found.step), found.iteration


def order_of(found: Observation) -> tuple[int, tuple[tuple[int, str], ...], str]:
    """Return the sort key of an observation: by round, then by step."""
    return found.round, _step_order(found.step), found.key


def _step_order(step: str) -> tuple[tuple[int, str], ...]:
    # Step 10 comes after step 9.
    return tuple((len(part), part) for part in step.split("."))


def _element(task: str, found: Observation, content: str) -> Element:
    kind: Literal["insight", "contradiction"] = "contradiction" if found.other else "insight"
    return Element(content=content, relevance=relevance(content, task), source=found.step, kind=kind)


def _by_relevance(element: Element) -> tuple[float, str, str, str]:
    return -element.relevance, element.content, element.kind, element.source


class ConfirmedPair(NamedTuple):
    """Two claims that the final check found to contradict each other."""

    claims: tuple[str, str]
    sources: tuple[Source, Source]
    """The source of each claim."""

    @property
    def newer(self) -> Source | None:
        """The source with the later date; none if the dates are the same, or one is unknown."""
        one, other = self.sources
        if not one.time or not other.time or one.time == other.time:
            return None
        return max(self.sources, key=lambda source: source.time)


def confirmed_contradictions(
    memory: Iterable[Observation],
    learnings: Mapping[str, Learning],
    sources: Mapping[str, Source],
    question_id: str,
    *,
    were_checked: bool,
) -> list[ConfirmedPair]:
    """Return the contradictions of this question where both claims have a source.

    Where all learnings `were_checked` together at the end, these are the ones that this has confirmed.
    """
    own = (one for one in memory if one.question_id == question_id)
    confirmed = [one for one in own if one.step == FINAL_CHECK or not were_checked]
    pairs = [[learnings[key] for key in found.learnings] for found in contradictions(confirmed)]
    return [
        ConfirmedPair((one.text, other.text), (sources[one.source], sources[other.source]))
        for one, other in pairs
        if one.source and other.source
    ]


def comparison_table(pairs: Sequence[ConfirmedPair], labels: Labels, numbers: Mapping[str, int]) -> str:
    """Return a Markdown table of the pairs; `numbers` are those of the report, by the keys of its sources."""
    if not pairs:
        return ""
    head = (labels.claim, labels.other_claim, labels.sources, labels.dates, labels.newer)
    rows = [head, ("---",) * len(head), *(_cells(pair, labels, numbers) for pair in pairs)]
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    return f"## {labels.contradictions}\n\n{table}"


def contradiction_line(pair: ConfirmedPair) -> str:
    """Return the pair in one line for a model, with the numbers of its sources, since titles may contain anything."""
    named = [f"{claim} [{source.number}] ({source.time or 'undated'})" for claim, source in zip(*pair, strict=True)]
    newer = f"; [{pair.newer.number}] is newer" if pair.newer else ""
    return f"- {named[0]} – but: {named[1]}{newer}"


def _cells(pair: ConfirmedPair, labels: Labels, numbers: Mapping[str, int]) -> Sequence[str]:
    names = {source: source_name(source, numbers.get(source.key)) for source in pair.sources}
    return (
        *map(plain_line, pair.claims),
        " / ".join(names[source] for source in pair.sources),
        " / ".join(source.time or labels.not_stated for source in pair.sources),
        names[pair.newer] if pair.newer else labels.not_known,
    )


def own_actions(state: ResearchState) -> list[Action]:
    """Return the tool calls that were made for the present question."""
    own = (one for one in state.findings.values() if one.question_id == state.run.id)
    return [*state.brief.actions, *(action for finding in own for action in finding.actions)]


def not_read(state: ResearchState) -> list[NotRead]:
    """Return the documents and pages that could not be read for the present question, each once."""
    failed = (one for action in own_actions(state) for one in action.not_read)
    return list({one.path: one for one in (*state.run.not_read, *failed)}.values())


def unopened(sources: Mapping[str, Source], unread: Iterable[NotRead]) -> dict[str, Source]:
    """Return the sources that could not be opened, with the reason, by key."""
    codes = {one.path: one.code for one in unread}
    failed = {key: codes.get(one.address) or codes.get(one.location, "") for key, one in sources.items()}
    return {
        key: sources[key].model_copy(update={"failure": code})
        for key, code in failed.items()
        if code and not sources[key].content_hash
    }


def unread_notes(unread: Sequence[NotRead]) -> list[str]:
    """Return them as notes, at most `LISTED` and a last one that counts the rest."""
    notes = [f"Not read: {one.path} ({one.reason.rstrip('.')})." for one in unread[:LISTED]]
    more = len(unread) - LISTED
    return [*notes, f"Not read: {more} more."] if more > 0 else notes


def notes_of(state: ResearchState) -> list[str]:
    """Return the notes under the report of the present question."""
    run, findings = state.run, state.findings.values()
    unasked = "Nobody could be asked, so the question was taken as it stands. What stayed open:"
    notes = [f"{unasked} {assumption}" for assumption in run.assumptions]
    if run.stop_reason:
        notes.append(_line("Research ended early", run.stop_reason))
    if state.plan and state.plan.remark:
        notes.append(state.plan.remark)
    notes += gaps_of(run, findings)
    notes += [_line("Not done", step.title, step.reason) for step in state.steps if step.status == "skipped"]
    is_graded = bool(state.draft and state.draft.grades)
    notes += [f"{'Still open' if is_graded else 'Not found'}: {gap}" for gap in unanswered(state)]
    if state.report and state.report.audit and state.report.audit.marked:
        marked = state.report.audit.marked
        notes.append(f"Statements marked as not verified: {marked}. No source was found to say so, or only in part.")
    actions = own_actions(state)
    notes += source_notes(state.report.cited(state.sources) if state.report else ())
    notes += redacted_notes(actions) + failed_notes(actions)
    # Steps of a typed plan name their failures themselves, with their reasons.
    reported = {words for finding in findings for words in finding.failures}
    broken: dict[str, str] = {}
    for words in dict.fromkeys(words.rstrip(".") for action in actions for words in action.broken):
        why, _, queries = words.partition(" Not searched: ")
        if words not in reported:
            broken[why] = f"{broken[why]}, {queries}" if why in broken else words
    notes += [_line("A search failed", words) for words in [*broken.values()][:LISTED]]
    return [*notes, *run.notices, *unread_notes(not_read(state))]


def source_notes(cited: Iterable[Source]) -> Iterator[str]:
    """Yield a note on each source that was retracted, and on each of which a copy was read."""
    for source in cited:
        if source.is_retracted:
            yield f"Source {source.number} was retracted (Crossref)."
        if source.copy_address:
            made = f" made on {source.copied_on}" if source.copied_on else ""
            yield f"Source {source.number} was read in an open copy{made}: {source.copy_address}"


def asked_notes(names: Iterable[str]) -> list[str]:
    """Return a note on third parties that were asked about papers and pages, if any were."""
    named = ", ".join(dict.fromkeys(names))
    return [f"Asked for open or archived copies and for retractions: {named} (open_copies)."] if named else []


def unanswered(state: ResearchState) -> list[str]:
    """Return what the report leaves open of its checklist; of a report that was not graded, what was not found.

    The checklist says what the request asks for; gaps of single researchers say more, and several times.
    """
    if state.draft and state.draft.grades:
        return list(dict.fromkeys(one.missing or one.requirement for one in state.draft.open_grades))
    return missing_of(state.run, state.findings.values(), state.memory.values())


def redacted_notes(actions: Iterable[Action]) -> list[str]:
    """Return a note on the words that were left out of web queries, if there are any."""
    words = list({word.casefold(): word for action in actions for word in action.redacted}.values())
    if not words:
        return []
    named = ", ".join(words[:WORDS_NAMED]) + (f" and {more} more" if (more := len(words) - WORDS_NAMED) > 0 else "")
    return [
        f"Web searches were made without words that stand only in your documents: {named}. "
        "What is to be searched for must stand in the question, or be allowed by mix_private."
    ]


def failed_notes(actions: Iterable[Action]) -> list[str]:
    """Return a note on each tool that raised errors: how often, and of which kind."""
    counts = Counter((action.tool, kind) for action in actions for kind in action.failed)
    often = [("once" if times == 1 else f"{times} times", *failure) for failure, times in counts.items()]
    return [f"The tool {tool} failed {times} ({kind})." for times, tool, kind in often]


def missing_of(run: Run, findings: Iterable[Finding], memory: Iterable[Observation]) -> list[str]:
    """Return what was not found, in order, without what `gaps_of` names with a reason."""
    own = [observation for observation in memory if observation.question_id == run.id]
    explained = {finding.task for finding in findings if finding.question_id == run.id and _has_reason(finding)}
    return [gap.text for gap in sorted(open_gaps(own), key=order_of) if gap.text not in explained]


def gaps_of(run: Run, findings: Collection[Finding]) -> list[str]:
    """Return what was not researched to the end, or could not be searched, and why."""
    own = [finding for finding in findings if finding.question_id == run.id]
    unfinished = [finding for finding in own if finding.ended != "done"]
    faults = {action.fault for finding in own for action in finding.actions if action.fault}
    withheld = [finding for finding in findings if finding.is_withheld]
    return [
        *(_line("Not researched to the end", finding.task, finding.reason) for finding in unfinished),
        *(_line("Found, but left out", finding.task, WITHHELD) for finding in withheld),
        *(_line("Left out", finding.task, _results(finding.withheld)) for finding in own if finding.withheld),
        *(
            _line("Something failed on the way", finding.task, "; ".join(dict.fromkeys(finding.failures)))
            for finding in own
            if finding.ended == "done" and finding.failures
        ),
        *sorted(faults - {finding.reason for finding in unfinished}),
    ]


def _has_reason(finding: Finding) -> bool:
    return finding.ended != "done" or finding.is_withheld or bool(finding.failures)


def _results(count: int) -> str:
    what = "a result; " if count == 1 else f"{count} results; "
    return f"{what}{WITHHELD}"


def _line(*parts: str) -> str:
    """Return a note of these parts, with one sign between two of them and one at its end, whatever theirs are."""
    text = ""
    for part in (part.rstrip(" .:") for part in parts):
        is_after_question = text.endswith(("?", "!"))
        joint = ": " if text and not is_after_question else " " if text else ""
        text += joint + (part[:1].upper() + part[1:] if is_after_question else part)
    return text if text.endswith(("?", "!")) else f"{text}."

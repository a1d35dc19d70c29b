"""The notes under a report: what was assumed, could not be read, ended the research early, or stayed open."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from ...records.plan import Observation
from ...records.research import Action, Finding, Run
from ...records.sources import NotRead, Source
from ...state import ResearchState
from .observations import open_gaps, order_of

LISTED = 20
"""Sources that could not be read and are named one by one at most."""


def not_read(run: Run, findings: Iterable[Finding], further: Iterable[Action]) -> list[NotRead]:
    """Return the documents and pages that could not be read for this question, each once.

    `findings` may be those of the whole thread; `further` are tool calls that belong to no finding.
    """
    own = [action for finding in findings if finding.question_id == run.id for action in finding.actions]
    failed = (one for action in (*further, *own) for one in action.not_read)
    return list({one.path: one for one in (*run.not_read, *failed)}.values())


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


WORDS_NAMED = 5
"""Words left out of web queries that are named one by one at most."""
WITHHELD = "the provider of the model refuses to have such text read"


def notes_of(state: ResearchState) -> list[str]:
    """Return the notes under the report of the present question."""
    run, findings = state.run, state.findings.values()
    assert run is not None
    unasked = "Nobody could be asked, so the question was taken as it stands. What stayed open:"
    notes = [f"{unasked} {assumption}" for assumption in run.assumptions]
    if run.stop_reason:
        notes.append(_note("Research ended early", run.stop_reason))
    if state.plan and state.plan.remark:
        notes.append(state.plan.remark)
    notes += gaps_of(run, findings)
    notes += [_note("Not done", step.title, step.reason) for step in state.steps if step.status == "skipped"]
    notes += [f"Not found: {gap}" for gap in missing_of(run, findings, state.memory.values())]
    if state.report and state.report.audit and state.report.audit.marked:
        marked = state.report.audit.marked
        notes.append(f"Sentences marked because their sources do not say so, or only in part: {marked}.")
    notes += redacted_notes(run, findings, state.brief.actions)
    return [*notes, *run.notices, *unread_notes(not_read(run, findings, state.brief.actions))]


def redacted_notes(run: Run, findings: Iterable[Finding], further: Iterable[Action]) -> list[str]:
    """Return a note on the words that were left out of web queries, if there are any."""
    own = [action for finding in findings if finding.question_id == run.id for action in finding.actions]
    words = list({word.casefold(): word for action in (*further, *own) for word in action.redacted}.values())
    if not words:
        return []
    named = ", ".join(words[:WORDS_NAMED]) + (f" and {more} more" if (more := len(words) - WORDS_NAMED) > 0 else "")
    return [
        f"Web searches were made without words that stand only in your documents: {named}. "
        "What is to be searched for must stand in the question, or be allowed by mix_private."
    ]


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
        *(_note("Not researched to the end", finding.task, finding.reason) for finding in unfinished),
        *(_note("Found, but left out", finding.task, WITHHELD) for finding in withheld),
        *(_note("Left out", finding.task, _results(finding.withheld)) for finding in own if finding.withheld),
        *(
            _note("Something failed on the way", finding.task, "; ".join(dict.fromkeys(finding.failures)))
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


def _note(*parts: str) -> str:
    """Return a note of these parts, with one sign between two of them and one at its end, whatever theirs are."""
    text = ""
    for part in (part.rstrip(" .:") for part in parts):
        is_after_question = text.endswith(("?", "!"))
        joint = ": " if text and not is_after_question else " " if text else ""
        text += joint + (part[:1].upper() + part[1:] if is_after_question else part)
    return text if text.endswith(("?", "!")) else f"{text}."

"""The versions of a thread's report: what is stored when a report is finished, and how it is read.

The state only lists them (`Version`); the store of the thread has their texts, so that a checkpoint
does not grow with each report. The report of the current question is in the state as well.
"""

from __future__ import annotations

import asyncio
import uuid
from contextlib import suppress
from datetime import datetime

from langchain_core.messages import AnyMessage, HumanMessage

from ...state import ResearchState, StateUpdate, channels_reset
from ..dialogue.conversation import REPLACES, mark_of, marked, safe_text, title_or_question
from ..errors import StateUnreadable, UserMistake
from ..evidence.citations.labels import labels
from ..evidence.citations.rendering import plain_citations, title_line, write_document
from ..evidence.memory.observations import ThreadDisputes
from ..evidence.text.differences import BlockDifference, text_differences
from ..records.report import FinishedReport, Report, Version, VersionKind
from ..store.pages import Pages
from ..store.versions import keep_finished, read_finished
from .blocks import report_blocks
from .notes import ReportNotes

_KINDS: dict[str, VersionKind] = {"edit": "edit"}
"""Kind of the version that a run makes, by the entry of the run; any other entry is a question."""


class UnknownVersion(UserMistake):
    """The thread has no version with this number, or its text is not stored."""


def finished_of(state: ResearchState, report: Report) -> FinishedReport:
    """Return a report of the current question with all that is printed with it."""
    notes = ReportNotes(state)
    contradictions = ThreadDisputes(state).in_report(report)
    sources = {source.key: source for source in report.cited(state.sources)}
    for dispute in contradictions:
        for key in dispute.sources:
            sources.setdefault(key, state.sources[key])
    return FinishedReport(
        title=state.title,
        run=state.run,
        report=report,
        sources=tuple(sources.values()),
        notes=tuple(notes.lines()),
        contradictions=tuple(contradictions),
        left_out=tuple(notes.left_out()),
        was_researched=bool(state.sources),
    )


def document_of(finished: FinishedReport, reader: str | None = None) -> str:
    """Return a finished report as a Markdown document; `reader` as in `links_of`."""
    return write_document(
        finished.report,
        finished.cited,
        finished.notes,
        labels(finished.run.language_code),
        finished.was_researched,
        finished.contradictions,
        {source.key: source for source in finished.sources},
        reader,
        finished.title,
        finished.left_out,
    )


def differences_of(before: FinishedReport, after: FinishedReport) -> list[BlockDifference]:
    """Return what differs between the titles, texts and notes of two reports; notes are only among
    the blocks if they differ."""
    heading = f"## {labels(after.run.language_code).notes}"
    texts = list[str]()
    for finished in (before, after):
        parts = [title_line(finished.title), plain_citations(finished.report.text)]
        if before.notes != after.notes:
            parts += [heading, "\n".join(f"- {note}" for note in finished.notes)]
        texts.append("\n\n".join(filter(None, parts)))
    return text_differences(*map(safe_text, texts))


def thread_versions(state: ResearchState) -> dict[str, Version]:
    """Return the versions and answers of a thread by name, oldest first.

    If an earlier version of the code stored the thread, its current report is version 1.
    """
    if state.versions or not state.report:
        return dict(state.versions)
    first = _version(state, "research", _day_of(state.run.date), "")
    return {first.name: first}


def latest_version(state: ResearchState) -> Version | None:
    """Return the latest version of a thread's report, which may be older than an answer about it;
    None if there is none."""
    versions = [version for version in thread_versions(state).values() if not version.is_answer]
    return versions[-1] if versions else None


def is_short_answer(state: ResearchState) -> bool:
    """Whether the report of the current question is a short answer about the thread's report: from
    one search or what was read, or without the sections that the thread's report has."""
    version = version_of_question(state, state.run.id) if state.versions else None
    if version:
        return version.is_answer
    if state.base is None or state.report is None or state.run.entry == "edit":
        return False
    if state.run.is_quick:
        return True
    return _has_sections(state.base) and not _has_sections(state.report)


def _has_sections(report: Report) -> bool:
    """Whether a report has headings or tables."""
    return any(block.kind in ("heading", "table") for block in report_blocks(report.text))


def version_of_question(state: ResearchState, question_id: str) -> Version | None:
    """Return the version or answer that ended a question; None if it has none."""
    for version in thread_versions(state).values():
        if version.question_id == question_id:
            return version
    return None


def find_version(state: ResearchState, number: int, *, is_answer: bool = False) -> Version:
    """Return a version, or an answer, by its number; raises `UnknownVersion`, which says which
    there are."""
    versions = [
        version for version in thread_versions(state).values() if version.is_answer == is_answer
    ]
    for version in versions:
        if version.number == number:
            return version
    kind = "answer" if is_answer else "version"
    known = f"it has no {kind}"
    if versions:
        known = f"it has {kind} 1"
        if len(versions) > 1:
            known = f"it has {kind}s 1 to {versions[-1].number}"
    raise UnknownVersion(f"The thread has no {kind} {number}: {known}.")


def standing_messages(state: ResearchState) -> list[AnyMessage]:
    """Return a thread's messages without those of the user that led to versions which the user has
    undone since, by putting an earlier one back."""
    led_to_latest = set[str]()
    undone = set[str]()
    history = dict[int, set[str]]()
    for version in state.versions.values():
        if version.is_answer:
            continue
        if version.restores:
            led_to_latest = history.get(version.restores, set())
        else:
            led_to_latest = led_to_latest | {version.name}
        history[version.number] = led_to_latest
        undone.add(version.name)
    undone -= led_to_latest
    names = list(state.versions)
    standing = list[AnyMessage]()
    # From the end, since an app may have removed the first messages.
    name = ""
    for message in reversed(state.messages):
        if mark_of(message) == "report":
            name = names.pop() if names else ""
        if name not in undone or not isinstance(message, HumanMessage):
            standing.append(message)
    return standing[::-1]


async def read_stored_version(
    state: ResearchState, version: Version, pages: Pages
) -> FinishedReport:
    """Return the report of a version; raises `UnknownVersion` if its text is not stored.

    A note names the cited sources that the user has excluded since.
    """
    is_current = version.question_id == state.run.id
    finished = None
    if version.content:
        try:
            finished = await read_finished(pages, version.content)
        except StateUnreadable:
            # The state has the current report as well.
            if not is_current:
                raise
    if finished is None and is_current and state.report:
        finished = await asyncio.to_thread(finished_of, state, state.report)
    if finished is None:
        raise UnknownVersion(
            f"The text of {version.name} is not stored: only the current report is kept, because "
            "the app has no lasting store (argument `store`)."
        )
    excluded = list[str]()
    for source in finished.cited:
        if source.key in state.excluded:
            exclusion = state.excluded[source.key]
            because = f": {exclusion.because}" if exclusion.because else ""
            note = f"Excluded by the user since: {source.shown_title} ({source.number}){because}"
            excluded.append(f"{note.rstrip('.')}.")
    if not excluded:
        return finished
    return finished.model_copy(update={"notes": (*finished.notes, *excluded)})


async def keep_version(state: ResearchState, pages: Pages, now: datetime) -> dict[str, Version]:
    """Store the report with which a question has ended; return the update of the channel
    `versions`."""
    assert state.report
    finished = await asyncio.to_thread(finished_of, state, state.report)
    content = await keep_finished(pages, finished)
    version = _version(state, _kind_of(state), now.isoformat(timespec="seconds"), content)
    return {version.name: version}


async def keep_first_version(state: ResearchState, pages: Pages) -> dict[str, Version]:
    """Store the report of a thread that an earlier version of the code has left, before the next
    question replaces it; return the update of the channel `versions`."""
    if state.versions or not state.report:
        return {}
    finished = await asyncio.to_thread(finished_of, state, state.report)
    content = await keep_finished(pages, finished)
    versions = dict[str, Version]()
    for name, version in thread_versions(state).items():
        versions[name] = version.model_copy(update={"content": content})
    return versions


def reverted(
    state: ResearchState,
    version: Version,
    finished: FinishedReport,
    now: datetime,
    reader: str | None,
) -> tuple[Version, StateUpdate]:
    """Return the new version that puts the report of an earlier one back, and the update of the
    state.

    It ends a question of its own, so that all that is found under the id of a question finds the
    right report. `reader` as in `links_of`.
    """
    latest = latest_version(state)
    assert latest
    run = finished.run.model_copy(
        update={
            "id": uuid.uuid4().hex,
            "is_quick": False,
            "is_recalled": False,
            "usual_cost": None,
            "active_seconds": 0.0,
            "lost_seconds": 0.0,
        }
    )
    new = version.model_copy(
        update={
            "number": latest.number + 1,
            "kind": "revert",
            "date": now.isoformat(timespec="seconds"),
            "question_id": run.id,
            "restores": version.restores or version.number,
        }
    )
    # The state has no plan for it, from which its title could be taken.
    report = finished.report.model_copy(update={"title": finished.title})
    update = channels_reset()
    update["run"] = run
    update["report"] = report
    update["versions"] = {new.name: new}
    update["messages"] = [marked(document_of(finished, reader), "report", **{REPLACES: True})]
    return new, update


def _version(state: ResearchState, kind: VersionKind, date: str, content: str) -> Version:
    """Return the next version or answer of a thread."""
    is_answer = kind == "answer"
    number = 1
    for version in state.versions.values():
        if version.is_answer == is_answer:
            number = version.number + 1
    return Version(
        number=number,
        kind=kind,
        title=title_or_question(state.title, state.run.question),
        date=date,
        content=content,
        question_id=state.run.id,
    )


def _kind_of(state: ResearchState) -> VersionKind:
    """Return what the report of the current question is in its thread."""
    if not state.versions:
        return "research"
    if is_short_answer(state):
        return "answer"
    return _KINDS.get(state.run.entry, "question")


def _day_of(words: str) -> str:
    """Return the day of a date in words, as a run has it, in ISO 8601; empty for other words."""
    with suppress(ValueError):
        return datetime.strptime(words, "%A, %B %d, %Y").date().isoformat()
    return ""

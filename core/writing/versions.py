"""The versions of a thread's report: what is stored when a report is finished, and how it is read.

The state only lists them (`Version`); the store of the thread has their texts, so that a checkpoint
does not grow with each report. The report of the current question is in the state as well.
"""

from __future__ import annotations

import asyncio
import uuid
from contextlib import suppress
from datetime import datetime
from typing import NamedTuple
from urllib.parse import quote

from langchain_core.messages import AnyMessage, HumanMessage

from ...state import ResearchState, StateUpdate, channels_reset
from ..dialogue.conversation import Conversation, mark_of, marked, safe_text, title_or_question
from ..errors import ReportNotEditable, StateUnreadable, UserMistake
from ..events.log import read_failure
from ..evidence.checking.units import report_units
from ..evidence.citations.labels import labels
from ..evidence.citations.rendering import (
    plain_citations,
    title_line,
    without_marks,
    write_document,
)
from ..evidence.exclusion import ExcludedSources
from ..evidence.memory.observations import ThreadDisputes
from ..models.resolve import RoleModels
from ..records.report import FinishedReport, Report, Version, VersionKind
from ..records.research import Run
from ..settings.context import Context
from ..store.pages import Pages
from ._differences import BlockDifference, text_differences
from ._judging import Evidence
from ._kept import read_kept
from ._remaining import MixedStatements
from .basis import source_texts
from .blocks import report_blocks
from .notes import ReportNotes

_KINDS: dict[str, VersionKind] = {"edit": "edit"}
"""Kind of the version that a run makes, by the entry of the run; any other entry is a question."""
_NOTHING_TO_EDIT = "The thread has no finished report to edit: ask a question first."


class UnknownVersion(UserMistake):
    """The thread has no version with this number, or its text is not stored."""


def reader_of(server_address: str | None, thread: str) -> str | None:
    """Return the URL prefix under which a server (setting `server_address`) shows the documents of
    a thread; None or empty as in `links_of`."""
    if not server_address:
        return server_address
    return f"{server_address.rstrip('/')}/#/run/{quote(thread, safe='')}/source/"


def document_of(
    finished: FinishedReport, server_address: str | None = None, thread: str = ""
) -> str:
    """Return a finished report as a Markdown document; links to documents as in `reader_of`."""
    return write_document(
        finished.report,
        finished.cited,
        finished.notes,
        labels(finished.run.language_code),
        finished.was_researched,
        finished.contradictions,
        {source.key: source for source in finished.sources},
        reader_of(server_address, thread),
        finished.title,
        finished.left_out,
    )


class Differences(NamedTuple):
    """What differs between two reports."""

    blocks: tuple[BlockDifference, ...]
    """The blocks of their titles and texts in order, and of their notes if these differ."""

    @property
    def data(self) -> list[list[dict[str, str]]]:
        """The differences as data: for each block, its pieces with `change` and `text`."""
        data = list[list[dict[str, str]]]()
        for block in self.blocks:
            data.append([piece._asdict() for piece in block.pieces])
        return data


class ThreadVersions:
    """The versions of a thread's report, and the answers about it.

    If an earlier version of the code stored the thread, its current report is version 1.
    """

    def __init__(self, state: ResearchState) -> None:
        self._state = state
        self.by_name: dict[str, Version] = dict(state.versions)
        """The versions and answers by name, oldest first."""
        if state.report and not state.versions:
            first = self._next("research", _day_of(state.run.date), "")
            self.by_name[first.name] = first

    @property
    def latest(self) -> Version | None:
        """The latest version of the report, which may be older than an answer about it;
        None if there is none."""
        versions = self._listed(is_answer=False)
        return versions[-1] if versions else None

    @property
    def editable_report(self) -> Report | None:
        """The report from which an edit of the thread starts, with its title; None if there is
        none.

        It is that of the last question, unless that was a short answer to a follow-up.
        """
        state = self._state
        if state.report is None or self._is_short_answer():
            return state.base
        return state.report.model_copy(update={"title": state.title})

    def check_editable(self, context: Context | None = None) -> None:
        """Raise `ReportNotEditable` if the thread has no finished report to edit, or if with these
        settings its writer's model cannot edit it."""
        state = self._state
        base = self.editable_report
        entry = Conversation(state.messages).entry(state.run)
        is_new = not state.run.id or entry == "follow_up"
        goes_on = state.run.entry == "edit" and entry == "continuation"
        if base is None or not (is_new or goes_on):
            raise ReportNotEditable(_NOTHING_TO_EDIT)
        # Code alone makes a version without excluded sources.
        if context and state.excluded.keys().isdisjoint(base.sources):
            RoleModels(context).check_editor()

    async def run_before_message(self, pages: Pages) -> Run:
        """Return the run of the latest question as a new message finds it.

        A further question, or an edit, that has failed is ended, so that the message asks another
        in its place; a first question goes on.
        """
        run = self._state.run
        is_further = bool(self._state.versions) and run.status == "running"
        if is_further and await read_failure(pages):
            return run.model_copy(update={"status": "ended"})
        return run

    @property
    def standing_messages(self) -> list[AnyMessage]:
        """The thread's messages without those of the user that led to versions which the user has
        undone since, by putting an earlier one back, or to none, such as a discarded edit."""
        led_to_latest = set[str]()
        undone = set[str]()
        history = dict[int, set[str]]()
        for version in self._state.versions.values():
            if version.is_answer:
                continue
            if version.restores:
                led_to_latest = history.get(version.restores, set())
            else:
                led_to_latest = led_to_latest | {version.name}
            history[version.number] = led_to_latest
            undone.add(version.name)
        undone -= led_to_latest
        names = list(self._state.versions)
        standing = list[AnyMessage]()
        # From the end, since an app may have removed the first messages.
        stands = True
        for message in reversed(self._state.messages):
            mark = mark_of(message)
            if mark == "report":
                stands = not names or names.pop() not in undone
            elif mark == "ended":
                stands = not names
            if stands or not isinstance(message, HumanMessage):
                standing.append(message)
        return standing[::-1]

    def of_question(self, question_id: str) -> Version | None:
        """Return the version or answer that ended a question; None if it has none."""
        for version in self.by_name.values():
            if version.question_id == question_id:
                return version
        return None

    def find(self, number: int, *, is_answer: bool = False) -> Version:
        """Return a version, or an answer, by its number; raises `UnknownVersion`, which says which
        there are."""
        versions = self._listed(is_answer=is_answer)
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

    async def read(self, version: Version, pages: Pages) -> FinishedReport:
        """Return the report of a version; raises `UnknownVersion` if its text is not stored.

        A note names the cited sources that the user has excluded since.
        """
        is_current = version.question_id == self._state.run.id
        finished = None
        if version.content:
            try:
                finished = await pages.finished(version.content)
            except StateUnreadable:
                # The state has the current report as well.
                if not is_current:
                    raise
        if finished is None and is_current and self._state.report:
            finished = await asyncio.to_thread(self.finished, self._state.report)
        if finished is None:
            raise UnknownVersion(
                f"The text of {version.name} is not stored: only the current report is kept, "
                "because the app has no lasting store (argument `store`)."
            )
        excluded = list[str]()
        for source in finished.cited:
            if source.key in self._state.excluded:
                exclusion = self._state.excluded[source.key]
                because = f": {exclusion.because}" if exclusion.because else ""
                note = (
                    f"Excluded by the user since: {source.shown_title} ({source.number}){because}"
                )
                excluded.append(f"{note.rstrip('.')}.")
        if not excluded:
            return finished
        return finished.model_copy(update={"notes": (*finished.notes, *excluded)})

    async def without_excluded(self, finished: FinishedReport, pages: Pages) -> FinishedReport:
        """Return a report of the thread without what the sources that the user has excluded support
        and no other does, as unchecked.

        What other sources support too stays if a kept verdict proves it, and is marked if not.
        """
        excluded = ExcludedSources(self._state.excluded)
        report = finished.report
        if not excluded.have_part_in(report):
            return finished
        known = {source.key: source for source in finished.sources}
        sources = {**self._state.sources, **known}
        keys = dict[int, str]()
        for source in sources.values():
            if source.number and source.key not in excluded.keys:
                keys[source.number] = source.key
        texts = await source_texts(sources, keys.values(), pages)
        kept = await asyncio.to_thread(read_kept, await pages.text(report.kept) or "")

        def remaining() -> FinishedReport:
            asked = Conversation(self._state.messages).texts_of_user
            evidence = Evidence(texts, sources, keys, report.calculations, asked)
            left_alone = excluded.taken_out_of_report(finished).report
            mixed = MixedStatements(report, excluded.keys)
            units = report_units(without_marks(left_alone.text), left_alone.keys)
            left = mixed.support_left(units, kept, evidence)
            unproved = excluded.with_unproved(left.unsupported, report)
            without = unproved.taken_out_of_report(finished)
            words = labels(finished.run.language_code)
            text = left.marked(without.report.text, without.report.keys, words)
            notes = tuple(filter(None, (*without.notes, left.note)))
            marked = without.report.model_copy(update={"text": text})
            return without.model_copy(update={"report": marked, "notes": notes})

        return await asyncio.to_thread(remaining)

    async def latest_with_part_of(
        self, excluded: ExcludedSources, pages: Pages
    ) -> FinishedReport | None:
        """Return the latest stored version that rests on one of these sources; None if there is
        none."""
        for version in reversed(self._listed(is_answer=False)):
            try:
                finished = await self.read(version, pages)
            except UnknownVersion:
                continue
            if excluded.have_part_in(finished.report):
                return finished
        return None

    async def differences(self, before: int, after: int, pages: Pages) -> Differences:
        """Return what differs between two versions; raises `UnknownVersion`."""
        reports = list[FinishedReport]()
        for number in (before, after):
            reports.append(await self.read(self.find(number), pages))
        return await asyncio.to_thread(_differences_of, *reports)

    def finished(self, report: Report) -> FinishedReport:
        """Return a report of the current question with all that is printed with it."""
        notes = ReportNotes(self._state)
        contradictions = ThreadDisputes(self._state).not_named_in(report)
        sources = {source.key: source for source in report.cited(self._state.sources)}
        others = list[str]()
        for dispute in contradictions:
            others += dispute.sources
        for calculation in report.calculations:
            others += calculation.sources
        for key in others:
            if key in self._state.sources:
                sources.setdefault(key, self._state.sources[key])
        return FinishedReport(
            title=self._state.title,
            run=self._state.run,
            report=report,
            sources=tuple(sources.values()),
            notes=tuple(notes.lines()),
            contradictions=tuple(contradictions),
            left_out=tuple(notes.left_out()),
            was_researched=bool(self._state.sources),
        )

    async def keep(self, pages: Pages, now: datetime) -> dict[str, Version]:
        """Store the report with which a question has ended; return the update of the channel
        `versions`."""
        assert self._state.report
        finished = await asyncio.to_thread(self.finished, self._state.report)
        content = await pages.keep_finished(finished)
        version = self._next(self._kind(), now.isoformat(timespec="seconds"), content)
        return {version.name: version}

    async def keep_first(self, pages: Pages) -> dict[str, Version]:
        """Store the report of a thread that an earlier version of the code has left, before the
        next question replaces it; return the update of the channel `versions`."""
        if self._state.versions or not self._state.report:
            return {}
        finished = await asyncio.to_thread(self.finished, self._state.report)
        content = await pages.keep_finished(finished)
        versions = dict[str, Version]()
        for name, version in self.by_name.items():
            versions[name] = version.model_copy(update={"content": content})
        return versions

    def reverted(
        self,
        version: Version,
        finished: FinishedReport,
        now: datetime,
        server_address: str | None,
        thread: str,
    ) -> tuple[Version, StateUpdate]:
        """Return the new version that puts the report of an earlier one back, and the update of the
        state.

        It ends a question of its own, so that all that is found under the id of a question finds
        the right report. Links to documents as in `reader_of`.
        """
        latest = self.latest
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
        update["calculations"] = {found.key: found for found in report.calculations}
        update["versions"] = {new.name: new}
        update["messages"] = [
            marked(document_of(finished, server_address, thread), "report", replaces=True)
        ]
        return new, update

    @property
    def edited(self) -> Version | None:
        """The version from which an edit started that has not ended; None if there is none."""
        run = self._state.run
        return self.latest if run.entry == "edit" and run.status == "running" else None

    def edit_ended(self) -> StateUpdate:
        """Return the update of the state that ends an edit without a version."""
        run = self._state.run
        return StateUpdate(
            run=run.model_copy(update={"status": "ended"}),
            messages=[marked(labels(run.language_code).ended, "ended")],
            tasks=[],
            draft=None,
            report=None,
        )

    def _listed(self, *, is_answer: bool) -> list[Version]:
        """Return the versions, or the answers, oldest first."""
        listed = list[Version]()
        for version in self.by_name.values():
            if version.is_answer == is_answer:
                listed.append(version)
        return listed

    def _next(self, kind: VersionKind, date: str, content: str) -> Version:
        """Return the next version or answer of a thread."""
        is_answer = kind == "answer"
        number = 1
        for version in self._state.versions.values():
            if version.is_answer == is_answer:
                number = version.number + 1
        return Version(
            number=number,
            kind=kind,
            title=title_or_question(self._state.title, self._state.run.question),
            date=date,
            content=content,
            question_id=self._state.run.id,
        )

    def _kind(self) -> VersionKind:
        """Return what the report of the current question is in its thread."""
        if not self._state.versions:
            return "research"
        if self._is_short_answer():
            return "answer"
        return _KINDS.get(self._state.run.entry, "question")

    def _is_short_answer(self) -> bool:
        """Whether the report of the current question is a short answer about the thread's report:
        from one search or what was read, or without the sections that the thread's report has."""
        state = self._state
        version = self.of_question(state.run.id) if state.versions else None
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


def _differences_of(before: FinishedReport, after: FinishedReport) -> Differences:
    """Return what differs between the titles, texts and notes of two reports; notes are only among
    the blocks if they differ."""
    heading = f"## {labels(after.run.language_code).notes}"
    texts = list[str]()
    # Notes have no order: those of both reports come first in both.
    shared = [note for note in before.notes if note in after.notes]
    for finished in (before, after):
        parts = [title_line(finished.title), plain_citations(finished.report.text)]
        if {*before.notes} != {*after.notes}:
            notes = [*shared]
            for note in finished.notes:
                if note not in shared:
                    notes.append(note)
            parts += [heading, "\n".join(f"- {note}" for note in notes)]
        texts.append("\n\n".join(filter(None, parts)))
    return Differences(tuple(text_differences(*map(safe_text, texts))))


def _day_of(words: str) -> str:
    """Return the day of a date in words, as a run has it, in ISO 8601; empty for other words."""
    with suppress(ValueError):
        return datetime.strptime(words, "%A, %B %d, %Y").date().isoformat()
    return ""

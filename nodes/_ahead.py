"""Has statements of a report that cite sources judged ahead of its check: those of finished
sections while the writer's model writes on, those of the last ones while the draft is graded. The
verifier's model is tried while the report is written, so that nothing has to wait for its trial.

The check takes a verdict only if nothing has changed that it rests on, so a draft may still be
continued or edited.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TypeVar

from ..core.errors import log_failure
from ..core.events.call import CallEvents, SilentEvents
from ..core.evidence.checking.source_text import SourceText
from ..core.evidence.citations.rendering import without_marks
from ..core.models.resolve import RoleModels
from ..core.records.report import CitingText, Draft
from ..core.records.research import Calculation
from ..core.writing.examination import Examination, may_judge
from ..core.writing.forms import Filler
from ..core.writing.report import ReportEvents, clean_report
from ..core.writing.write import TextWriter
from ._examining import examination_of, examination_of_sections
from .turn import Turn

Value = TypeVar("Value")
_LEAST_CHARACTERS = 3_000
"""Minimum length of the finished sections that are judged together; shorter ones wait for the next,
or for the grading. Each call repeats the rules, and a page that several sections cite."""
_CALLS_AT_ONCE = 2
"""Maximum number of calls for such sections; the second one is a second look. The check does what
they leave open."""
_SHARE_OF_SECTIONS = 0.5
"""Share of `max_opinions` that may be spent on sections."""


def _may_judge_ahead(turn: Turn) -> bool:
    """Whether statements are judged ahead of the check.

    A model on the user's own machine would rather finish one answer after the other.
    """
    if turn.context.verify == "off" or turn.state.run.is_quick or turn.is_on_reserve:
        return False
    is_written = not RoleModels(turn.context).is_extractive("writer")
    return is_written and turn.is_capable("verifier")


async def judged_ahead(turn: Turn, draft: Draft) -> Draft:
    """Have the statements of a draft judged that cite sources, if they are not yet; return it with
    the verdicts."""
    if not _may_judge_ahead(turn):
        return draft
    filler = Filler(turn.context, turn.state.run, turn.events, turn.placement)

    async def judged() -> Draft:
        examination = await examination_of(turn, draft, without_marks(draft.text), filler)
        await examination.judge_cited()
        return await with_verdicts(draft, [examination], turn)

    return await _none_if_failed(judged()) or draft


async def _none_if_failed(judging: Awaitable[Value]) -> Value | None:
    """Return what is judged ahead; None if that fails, which must cost neither the text that is
    being written nor the grades: the check judges it, and meets the error if it lasts."""
    try:
        return await judging
    except Exception as error:  # noqa: BLE001 - a branch beside the writer or the editor
        log_failure(__name__, error, "Nothing was judged ahead of the check")
        return None


async def with_verdicts(draft: Draft, examinations: Sequence[Examination], turn: Turn) -> Draft:
    """Return a draft with the verdicts of examinations, which are stored."""
    kept = list(draft.kept)
    calls = draft.judge_calls
    for examination in examinations:
        calls += examination.calls_made
        verdicts = await asyncio.to_thread(examination.kept_verdicts)
        if verdicts:
            kept.append(await turn.pages.keep(verdicts))
    return draft.model_copy(update={"kept": tuple(kept), "judge_calls": calls})


@asynccontextmanager
async def sections_checked(
    turn: Turn, events: ReportEvents, writer: TextWriter
) -> AsyncIterator[SectionChecks]:
    """Have the verifier's model tried, and the sections of a report judged that is written in the
    block; what is not done at its end is stopped."""
    checks = SectionChecks(turn, events, writer)
    checks.begin()
    events.on_section = checks.add
    try:
        yield checks
    finally:
        await checks.stop()


class SectionChecks:
    """Has the finished sections of a report judged, as soon as enough of them wait."""

    def __init__(self, turn: Turn, events: CallEvents, writer: TextWriter) -> None:
        """`events` observes the calls of the writer's model; its bill gets the costs."""
        self._turn = turn
        self._writer = writer
        self._events = SilentEvents(turn.emitter, turn.placement)
        self._events.bill = events.bill
        self._may_judge: asyncio.Task[bool | None] | None = None
        """Whether the verifier's model may judge; None if it is not asked ahead of the check."""
        self._texts: asyncio.Task[Mapping[str, Sequence[SourceText]]] | None = None
        self._sent = ""
        """The beginning of the text whose sections were sent to be judged."""
        self._checks = list[asyncio.Task[Examination | None]]()

    def begin(self) -> None:
        """Have the verifier's model tried if it never was, unless nothing will be judged."""
        turn = self._turn
        has_calls = turn.context.limits.max_opinions > 0
        if has_calls and turn.state.sources and _may_judge_ahead(turn):
            self._may_judge = asyncio.create_task(_none_if_failed(may_judge(self._filler)))

    def add(self, written: str) -> None:
        """Take the sections that end a text as the model wrote it, and have those judged that wait
        if they are long enough; the model writes on."""
        if len(written) - len(self._sent) < _LEAST_CHARACTERS:
            return
        calls = _CALLS_AT_ONCE * (1 + len(self._checks))
        most = _SHARE_OF_SECTIONS * self._turn.context.limits.max_opinions
        if self._may_judge and calls <= most and _may_judge_ahead(self._turn):
            check = _none_if_failed(self._check(self._may_judge, self._sent, written))
            self._checks.append(asyncio.create_task(check))
            self._sent = written

    async def _check(
        self, may_be_asked: asyncio.Task[bool | None], above: str, written: str
    ) -> Examination | None:
        """Have the sections judged that end a text, below the text `above`, if the verifier's model
        `may_be_asked`."""
        turn = self._turn
        sections = await asyncio.to_thread(self._cleaned, written)
        if not sections.sources or not await may_be_asked:
            return None
        start = len((await asyncio.to_thread(self._cleaned, above)).text)
        if self._texts is None:
            self._texts = asyncio.create_task(turn.basis.texts(turn.pages))
        texts = await self._texts
        calculations = self._calculations
        examination = examination_of_sections(turn, sections, texts, self._filler, calculations)
        await examination.judge_cited(start, _CALLS_AT_ONCE)
        return examination

    @property
    def _filler(self) -> Filler:
        turn = self._turn
        return Filler(turn.context, turn.state.run, self._events, turn.placement)

    @property
    def _calculations(self) -> list[Calculation]:
        """The calculations that the report may cite, with those of its writer."""
        known = {**self._turn.state.calculations, **self._writer.calculations}
        return list(known.values())

    def _cleaned(self, written: str) -> CitingText:
        """Return the beginning of a report as the draft will have it."""
        report = clean_report(written, self._turn.state.sources, self._calculations)
        return CitingText(
            text=report.text,
            sources=tuple(report.cited.values()),
            numbers=tuple(report.cited),
            calculations=report.calculations,
        )

    async def examinations(self) -> list[Examination]:
        """Wait until the trial and all checks that were begun are done, and return the checks; say
        so if any is not."""
        if not all(check.done() for check in self._checks):
            self._turn.announce("verify")
        if self._may_judge:
            await self._may_judge
        done = list[Examination]()
        for examination in await asyncio.gather(*self._checks):
            if examination:
                done.append(examination)
        return done

    async def stop(self) -> None:
        """Stop what is not done."""
        tasks = [*self._checks, *filter(None, [self._may_judge, self._texts])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

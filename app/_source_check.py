"""Checks whether the sources of a report say what it says, for `check`, `audit`, `refresh` and
`check_report`.

These differ in where the texts of the sources come from: files and web pages that are read now
(`current_texts`), or texts that are at hand (`texts_at_hand`), because they are stored with a run
or an app passes them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import NamedTuple

from langgraph.store.memory import InMemoryStore

from ..core.dialogue.conversation import safe_text
from ..core.errors import DocumentsUnreadable, QuestionRefused
from ..core.events.call import SilentEvents
from ..core.events.log import Emitter
from ..core.events.packets import Placement
from ..core.evidence.checking.source_text import SourceText
from ..core.evidence.checking.units import ReportUnit
from ..core.evidence.text.language import detect_language
from ..core.library.library import Library
from ..core.models.resolve import RoleModels
from ..core.records import tool_names
from ..core.records.report import Draft, Report
from ..core.records.research import Run, Spent
from ..core.records.sources import DOCUMENT_SCHEME, NotRead, Source
from ..core.settings.context import Context
from ..core.store.pages import Pages
from ..core.writing.examination import Examination
from ..core.writing.forms import Filler
from ..core.writing.language import Language, into_one_language
from ..core.writing.notes import asked_notes
from ..core.writing.report import audited_report, unchecked
from ..state import ResearchState
from ..tools.tool import Meter, ToolContext
from ..tools.use import read_pages
from ._terminal import say

_QUESTION = "What do the sources say?"
_NOT_ASKED = "it came from one of the app's own tools, which are not called again"
_NO_DOCUMENT = "the document no longer exists"
_WEB = ("http://", "https://")


class SourceReading(NamedTuple):
    """A source of a report with the texts against which the report is checked."""

    source: Source
    """The source with its key and number in the report, and its title, date and location when it
    was read."""
    texts: Sequence[SourceText]
    """Its text, or excerpts of it; empty if it cannot be read."""
    reason: str = ""
    """Why it cannot be read; empty if it can."""
    is_same: bool = False
    """Whether its text is unchanged since the report."""


class SourceReadings(NamedTuple):
    """The sources of a report as they were read."""

    by_key: Mapping[str, SourceReading]
    spent: Spent
    """What reading them cost."""


SourceTexts = Mapping[str, Sequence[SourceText]]
"""The texts of sources, by key."""
ReadSources = Callable[[Sequence[Source]], Awaitable[SourceReadings]]
"""Returns the texts of sources: where the texts come from is the only difference between the
checks."""


def texts_at_hand(texts: SourceTexts) -> ReadSources:
    """Return a reader of texts that need not be read again: stored with a run, or passed by an app
    (by source key)."""

    async def read(sources: Sequence[Source]) -> SourceReadings:
        readings = dict[str, SourceReading]()
        for source in sources:
            known = texts.get(source.key, ())
            readings[source.key] = SourceReading(source, known, is_same=True)
        return SourceReadings(readings, Spent(role=tool_names.OPEN_URL))

    return read


def current_texts(
    context: Context, run: Run, on_notice: Callable[[str], None] = say
) -> ReadSources:
    """Return a reader that reads files and web pages now, within the limits of `context`.

    Pages known only by a search excerpt are opened too. `on_notice` is told which third parties
    were asked for copies.
    """

    async def read(sources: Sequence[Source]) -> SourceReadings:
        tool_context = ToolContext(
            Pages(InMemoryStore(), run.id), run.id, Meter.of_run(context.limits, {})
        )
        documents = [source for source in sources if source.address.startswith(DOCUMENT_SCHEME)]
        pages = [source for source in sources if source.address.startswith(_WEB)]
        readings = {source.key: _unread(source, _NOT_ASKED) for source in sources}
        for reading in await asyncio.to_thread(_read_documents, documents, context):
            readings[reading.source.key] = reading
        for reading in await _read_pages(pages, context, tool_context):
            readings[reading.source.key] = reading
        for note in asked_notes(tool_context.meter.asked):
            on_notice(f"Note: {note}")
        return SourceReadings(readings, tool_context.meter.spent(tool_names.OPEN_URL))

    return read


async def _read_pages(
    pages: Sequence[Source], context: Context, tool_context: ToolContext
) -> list[SourceReading]:
    """Read web pages as they are now."""
    results = await read_pages([page.address for page in pages], context, tool_context)
    readings = list[SourceReading]()
    for page, result in zip(pages, results, strict=True):
        if isinstance(result, str):
            readings.append(_unread(page, result))
        elif isinstance(result, NotRead):
            readings.append(_unread(page, f"{result.reason} ({result.code})"))
        else:
            readings.append(_reading(page, result.source, result.text))
    return readings


def _read_documents(sources: Sequence[Source], context: Context) -> list[SourceReading]:
    """Read documents in their folders, where a renamed one is found by its unchanged text."""
    if not sources or not context.docs:
        return [_unread(source, _NO_DOCUMENT) for source in sources]
    library = Library(context)
    try:
        status = library.refresh()
    except DocumentsUnreadable as error:
        return [_unread(source, str(error)) for source in sources]
    reasons = dict[str, str]()
    for unread in status.left_out:
        reasons[f"{DOCUMENT_SCHEME}{unread.path}"] = unread.reason
    documents = {source.key: library.read(source.address) for source in sources}
    if not all(documents.values()):
        by_text = {document.source.content_hash: document for document in library.documents()}
        for source in sources:
            if not documents[source.key]:
                documents[source.key] = by_text.get(source.content_hash)
    readings = list[SourceReading]()
    for source in sources:
        document = documents[source.key]
        if document:
            readings.append(_reading(source, document.source, document.text))
        else:
            readings.append(_unread(source, reasons.get(source.address, _NO_DOCUMENT)))
    return readings


def _reading(source: Source, now: Source, text: str) -> SourceReading:
    """Return a source that could be read, with its description and text as they are `now`."""
    described = now.model_copy(update={"key": source.key, "number": source.number})
    texts = [SourceText(now.content_hash, text)]
    return SourceReading(described, texts, is_same=now.content_hash == source.content_hash)


def _unread(source: Source, reason: str) -> SourceReading:
    """Return a source that could not be read."""
    return SourceReading(source.model_copy(update={"failure": "not read"}), (), reason)


async def load_verifier(context: Context, on_notice: Callable[[str], None] = say) -> None:
    """Load what is known about the verifier's model, such as its context window; `on_notice`
    receives warnings."""
    await RoleModels(context).load()
    for notice in RoleModels(context).check(("verifier",)):
        on_notice(f"Note: {notice}")


def messages_of(request: str, context: Context) -> list[str]:
    """Return the request that a report from elsewhere answers, as the messages of its user; empty
    if it is unknown. Raises `QuestionRefused` if it is too long."""
    message = safe_text(request).strip()
    most = context.limits.question_characters
    if len(message) > most:
        raise QuestionRefused(
            f"The request has {len(message)} characters; at most {most} are accepted "
            "(limit question_characters)."
        )
    return [message] if message else []


def run_for_check(text: str, context: Context, asked: Sequence[str] = ()) -> Run:
    """Return the run under which a report from elsewhere is checked, in the language of its text;
    `asked` are the messages of the user whom it answers (`messages_of`)."""
    language = Language.named(detect_language(text) or "en")
    return Run(
        id="check",
        question="\n".join(asked) or _QUESTION,
        date=context.clock.now().strftime("%A, %d %B %Y"),
        language=language.name,
        language_code=language.code,
        is_resumable=True,
        version="",
    )


class SourceCheck:
    """The check of one report against the texts of its sources; create it with `begin_check`."""

    def __init__(
        self,
        draft: Draft,
        sources: Mapping[str, Source],
        readings: SourceReadings,
        run: Run,
        context: Context,
        asked: Sequence[str] = (),
    ) -> None:
        """`sources` are all that the report may cite, by key, described as they were read; `asked`
        are the messages of the user whom the report answers, oldest first."""
        self.readings = readings.by_key
        """The sources as they were read, by key."""
        self._draft = draft
        self._run = run
        self._sources = sources
        self._asked = asked
        self._context = RoleModels(context).fitted_settings()
        self._reading_cost = readings.spent
        self._events = SilentEvents(Emitter(lambda _: None), Placement(turn_index=0))
        self._filler = Filler(self._context, run, self._events, self._events.placement)

    @property
    def costs(self) -> dict[str, Spent]:
        """Costs of reading the sources and of the model's calls so far, by a key of each."""
        return {"sources": self._reading_cost, **self._events.bill.costs}

    @property
    def failures(self) -> Sequence[str]:
        """Messages about what the model could not judge, for the reader."""
        return self._filler.failures

    async def report(self, *, names_contradictions: bool = False) -> Report:
        """Check all statements, as `context.verify` says, and return the report with marks,
        verdicts and an audit.

        With `names_contradictions`, the mark of a contradicted statement says what its sources say.
        """
        if self._context.verify == "off":
            return unchecked(self._draft)
        text, _ = await into_one_language(self._draft.text, self._run, self._context, self._events)
        draft = self._draft.model_copy(update={"text": text})
        examined = await self._examination(draft).examine()
        state = ResearchState(
            messages=[],
            run=self._run,
            sources=dict(self._sources),
            draft=draft,
            spending=self._events.bill.costs,
        )
        return await asyncio.to_thread(
            audited_report,
            state,
            examined,
            self._texts,
            self.failures,
            names_contradictions=names_contradictions,
        )

    async def judge(self, parts: Sequence[ReportUnit]) -> Mapping[ReportUnit, str]:
        """Have the model judge only these parts of the report; return its verdicts."""
        return await self._examination(self._draft).judge_parts(parts)

    @property
    def _texts(self) -> SourceTexts:
        return {key: reading.texts for key, reading in self.readings.items()}

    def _examination(self, draft: Draft) -> Examination:
        return Examination(
            draft,
            self._texts,
            self._sources,
            self._filler,
            self._run.language_code,
            draft.calculations,
            asked=self._asked,
        )


async def begin_check(
    text: str,
    keys: Mapping[int, str],
    sources: Mapping[str, Source],
    read: ReadSources,
    run: Run,
    context: Context,
    asked: Sequence[str] = (),
) -> SourceCheck:
    """Read the sources of a report with `read`, and return the check of the report against them.

    `text` is Markdown with citations `[n]`, without a list of sources; `keys` are the source keys
    by n, and `sources` the sources by key. `asked` are the messages of the user whom the report
    answers, oldest first. The verifier must have been loaded (`load_verifier`).
    """
    # The cited sources first, then the others that have a number.
    wanted = list(filter(None, keys.values()))
    wanted += [key for key, source in sources.items() if source.number]
    readings = await read([sources[key] for key in dict.fromkeys(wanted)])
    described = dict(sources)
    for key, reading in readings.by_key.items():
        described[key] = reading.source
    draft = Draft(
        text=text,
        sources=tuple(keys.values()),
        numbers=tuple(keys),
        streamed=text,
        streamed_sources=tuple(keys.values()),
        removed_markers=0,
    )
    return SourceCheck(draft, described, readings, run, context, asked)

"""The `refresh` command: reads the sources of a finished report again and says which sentences still hold."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext, redirect_stderr
from io import StringIO
from itertools import groupby
from pathlib import Path
from typing import Any, Literal, NamedTuple

from langgraph.store.memory import InMemoryStore

from ..core.evidence.checking.source_text import SourceText
from ..core.evidence.checking.units import ReportUnit, report_units
from ..core.evidence.checking.verification import Verifier, checks_of
from ..core.evidence.citations.markers import settle_fences
from ..core.evidence.citations.rendering import plain_line, short_location, shown_title, without_marks
from ..core.evidence.memory.observations import asked_notes
from ..core.library.library import Library
from ..core.models.resolve import is_extractive
from ..core.reading.web_page import WebReader
from ..core.records.report import Report
from ..core.records.research import Run, Spent
from ..core.records.sources import DOCUMENT_SCHEME, NotRead, Source
from ..core.run import tool_names
from ..core.run.concurrency import gather_or_cancel
from ..core.run.context import Context, within_scope
from ..core.run.conversation import safe_text
from ..core.run.errors import DocumentsUnreadable
from ..core.run.events.call import SilentEvents
from ..core.run.events.log import Emitter
from ..core.run.events.packets import Placement
from ..core.run.store.pages import Pages
from ..core.writing.examination import Examination
from ..core.writing.fill_in import Filler
from ..core.writing.judging import Judgements, Texts, key_of
from ..tools.addresses import Addresses
from ..tools.open_url import WebPages
from ..tools.tool import Hit, ToolContext
from ..tools.use import meter_for_run
from .check_report import load_verifier
from .endings import reports_errors, run_interruptibly
from .output import spent_line
from .progress import PlainLines
from .settings import RunName, settings_from_options
from .stored import open_stored_run, report_of
from .terminal import check_output, deliver, say
from .words import CHANGED, DONE, FAILED, counted

State = Literal["holds", "changed", "unchecked"]
"""Whether the sources of a sentence still say it, say it no longer, or can no longer be compared."""
_STATES: Mapping[State, str] = {"changed": "Changed", "unchecked": "Can no longer be checked"}
"""Heading shown above a sentence in this state."""
_JUDGED: Mapping[str, str] = {
    "contradicted": "the source says something else now",
    "not_found": "the source no longer says it",
    "wrong_source": "another source says it now, and this one no longer does",
}
"""What each negative verdict of the model means, in words for the reader."""
_REWORDED = "the source words it differently now, or no longer says it"
_NOT_STORED = "the text that was read for the report is no longer stored"
_ONLY_EXCERPT = "only a search excerpt was read for the report, and the page does not contain these words"
_NOT_ASKED = "it came from one of the app's own tools, which are not called again"
_NO_DOCUMENT = "the document no longer exists"
_WEB = ("http://", "https://")
_MARKUP = re.compile(r"[*_`#>|]+|^\s*[-+•]\s")


class RecheckedSentence(NamedTuple):
    """A sentence or table row of the report that cites a source, and whether it still holds."""

    words: str
    state: State
    grounds: tuple[str, ...]
    """Why it no longer holds or could not be checked, as Markdown; empty if it holds."""

    def markdown(self) -> str:
        """Return the sentence, which does not hold, under a heading and above the grounds."""
        sign = "-" if self.state == "changed" else " "
        return "\n\n".join([f"**{_STATES[self.state]}**", f"```diff\n{sign} {self.words}\n```", *self.grounds])


class Refreshed(NamedTuple):
    """The result of reading a report's sources again."""

    title: str
    dates: str
    """When the report was written and when its sources were read again, in words."""
    sentences: Sequence[RecheckedSentence]
    tail: Sequence[str]
    """Markdown sections below the sentences: changed sources, and notes on what the model could not judge."""

    @property
    def holds(self) -> bool:
        """Whether all sentences hold."""
        return all(sentence.state == "holds" for sentence in self.sentences)

    @property
    def summary(self) -> str:
        """How many sentences hold, have changed, and can no longer be checked, in words."""
        states = Counter(sentence.state for sentence in self.sentences)
        holds = f"{counted(states['holds'], 'sentence')} {'holds' if states['holds'] == 1 else 'hold'}"
        return f"{holds}, {states['changed']} changed, {states['unchecked']} can no longer be checked"

    def is_news(self, path: Path | None) -> bool:
        """Whether the result differs from the earlier one in this file; without a file, whether a sentence fails."""
        if path is None or not path.exists():
            return not self.holds
        now, before = self.markdown().split("\n\n"), path.read_text("utf-8", "replace").strip().split("\n\n")
        # The third paragraph contains the dates, which always differ.
        return (now[:2], now[3:]) != (before[:2], before[3:])

    def markdown(self) -> str:
        """Return the result as Markdown."""
        head = [f"# {plain_line(self.title)}", f"**{self.summary}.**", plain_line(self.dates)]
        shown = [sentence.markdown() for sentence in self.sentences if sentence.state != "holds"]
        return safe_text("\n\n".join([*head, *shown, *self.tail])).rstrip()


class Reread(NamedTuple):
    """A source of a report, read again."""

    source: Source
    """The source with its key and number in the report, and its current title, date and location."""
    texts: Sequence[SourceText]
    """Its current text, as the only item; empty if it cannot be read."""
    reason: str = ""
    """Why it cannot be read; empty if it can."""
    is_same: bool = False
    """Whether its text is unchanged since the report."""


@reports_errors
def refresh_run(thread: str, data_dir: Path | None, path: Path | None, *, is_for_news: bool, **options: Any) -> int:
    """Read the sources of a report again and print or write the result; the run itself stays unchanged.

    With `is_for_news`, print and write nothing unless there is something new.
    """
    given = settings_from_options(**options)
    check_output(path)
    with redirect_stderr(StringIO()) if is_for_news else nullcontext():
        found, cost = run_interruptibly(PlainLines().during(_refreshed(RunName(safe_text(thread), data_dir), given)))
    if is_for_news and not found.is_news(path):
        return DONE
    is_delivered = deliver(found.markdown(), path)
    say(f"{found.summary}.\n{cost}")
    code = CHANGED if is_for_news else DONE if found.holds else FAILED
    return code if is_delivered else FAILED


async def reread(
    sources: Sequence[Source], context: Context, run: Run, on_notice: Callable[[str], None] = say
) -> tuple[dict[str, Reread], Spent]:
    """Read sources again within the limits of `context`; return them by key, and what reading web pages cost.

    Pages known only by a search excerpt are opened too. `on_notice` is told which third parties were asked for copies.
    """
    tool_context = ToolContext(Pages(InMemoryStore(), run.id), run.id, meter_for_run(context.limits, {}))
    pages = [source for source in sources if source.address.startswith(_WEB)]
    await Addresses(tool_context.pages, run.id).allow(source.address for source in pages)
    web, most = WebPages(context, tool_context), context.limits.max_open
    documents = [source for source in sources if source.address.startswith(DOCUMENT_SCHEME)]
    found = await asyncio.to_thread(_read_documents, documents, context)
    async with WebReader(context) as reader:
        for start in range(0, len(pages), most):
            batch = pages[start : start + most]
            read = await gather_or_cancel(web.read(source.address, reader) for source in batch)
            for source, page in zip(batch, read, strict=True):
                if isinstance(page, Hit):
                    found.append(_reread(source, page.source, page.text))
                else:
                    reason = f"{page.reason} ({page.code})" if isinstance(page, NotRead) else page
                    found.append(Reread(source, (), reason))
    for note in asked_notes(tool_context.meter.asked):
        on_notice(f"Note: {note}")
    unasked = {source.key: Reread(source, (), _NOT_ASKED) for source in sources}
    return unasked | {read.source.key: read for read in found}, tool_context.meter.spent(tool_names.OPEN_URL)


async def _refreshed(name: RunName, given: Mapping[str, Any]) -> tuple[Refreshed, str]:
    """Read and judge again the sources of a run's report; return the result, and the costs in words."""
    async with open_stored_run(name) as (book, stored):
        report, run = report_of(stored, name), stored.state.run
        context = within_scope(await book.settings(stored, given), run.scope)
        await load_verifier(context)
        sources = {key: stored.state.sources[key] for key in report.sources if key}
        texts_stored = await book.texts(stored, report)
    # The text that was read for the report, or else the search excerpts.
    before = {
        key: [text for text in texts_stored[key] if text.content_hash == source.content_hash] or [*texts_stored[key]]
        for key, source in sources.items()
    }
    say(f"reading again: {counted(len(sources), 'source')}")
    now, fetched = await reread([*sources.values()], context, run)
    comparison = await asyncio.to_thread(_Comparison, report, sources, before, now)
    events = SilentEvents(Emitter(lambda _: None), Placement(turn_index=0))
    filler = Filler(context, run, events, events.placement)
    if not is_extractive("verifier", context) and (wanted := await asyncio.to_thread(comparison.parts_to_judge)):
        say(f"checking {counted(len(wanted), 'sentence')} of the report again")
        texts = {key: read.texts for key, read in now.items()}
        described = {key: read.source for key, read in now.items()}
        compared = report.model_copy(update={"text": comparison.text})
        examination = Examination(compared, texts, described, filler, run.language_code)
        comparison.verdicts = await examination.judge_parts(wanted)
    today = context.clock.now().strftime("%A, %B %d, %Y")
    dates = f"The report of {run.date}, read again on {today}."
    changes = {key: _source_change(source, now[key]) for key, source in sources.items()}
    differ = [f"- {comparison.name(key)}: {words}" for key, words in changes.items() if words]
    notes = [f"- {plain_line(note)}" for note in filler.failures]
    parts = (("Sources", differ), ("Notes", notes))
    tail = ["\n".join([f"## {title}", "", *lines]) for title, lines in parts if lines]
    found = Refreshed(stored.title, dates, await asyncio.to_thread(lambda: [*comparison.sentences()]), tail)
    return found, f"Spent: {spent_line({'sources': fetched, **events.bill.costs})}."


class _Comparison:
    """Compares the source texts read for a report with the current ones."""

    def __init__(self, report: Report, sources: Mapping[str, Source], before: Texts, now: Mapping[str, Reread]) -> None:
        """`before` are the texts that were read for the report; all mappings are keyed by source key."""
        self.text = settle_fences(without_marks(report.text))
        self.verdicts: Judgements = {}
        """Verdicts of the model on the parts that it judged."""
        self._sources, self._now = sources, now
        self._numbers = {key: number for number, key in report.keys.items()}
        self._then_verifier = Verifier(before)
        self._now_verifier = Verifier({key: read.texts for key, read in now.items()})
        self._plain_now = {key: _plain("\n".join(text.text for text in read.texts)) for key, read in now.items()}
        # Sentences that were already unsupported are left to `audit`.
        unsupported = {words for words, check in checks_of(report) if check.verdict == "unsupported"}
        units = [unit for unit in report_units(self.text, report.keys) if unit.raw not in unsupported]
        self._units: list[ReportUnit] = []
        """Parts of the report that cite sources, and parts that quote the sources cited next in the same paragraph."""
        for index, unit in enumerate(units):
            citing = next((other for other in units[index:] if other.sources), None)
            if citing is unit:
                self._units.append(unit)
            elif citing and "\n" not in self.text[unit.end : citing.start]:
                keys = tuple(key for key in citing.sources if self._then_verifier.is_quoted(unit, key))
                self._units += [unit._replace(sources=keys)] if keys else []

    def parts_to_judge(self) -> list[ReportUnit]:
        """Return the parts that a model must judge: their passage is gone from a source that can still be read."""
        return [unit for unit in self._units if any(self._now[key].texts for key in self._lost_sources(unit))]

    def _lost_sources(self, unit: ReportUnit) -> list[str]:
        """Return the sources that lost the passage behind a part; empty if one still has the part word for word."""
        if any(self._now_verifier.is_quoted(unit, key) for key in unit.sources):
            return []
        changed = [key for key in unit.sources if not self._now[key].is_same]
        passages = {key: _plain(self._then_verifier.passage(unit, key).quote) for key in changed}
        return [key for key, passage in passages.items() if not passage or passage not in self._plain_now[key]]

    def sentences(self) -> Iterator[RecheckedSentence]:
        """Yield each sentence that cites a source, in the order of the report, with its state."""
        for _, units in groupby(self._units, key=lambda unit: unit.sentence_start):
            parts = [*units]
            grounds = dict.fromkeys(ground for unit in parts for ground in self._grounds(unit))
            states = {state for state, _ in grounds}
            state: State = "changed" if "changed" in states else "unchecked" if states else "holds"
            yield RecheckedSentence(" ".join(parts[0].sentence.split()), state, tuple(words for _, words in grounds))

    def _grounds(self, unit: ReportUnit) -> Iterator[tuple[State, str]]:
        """Yield each reason why a part does not hold: a state, and the model's verdict or a comparison as Markdown."""
        judged = self.verdicts.get(key_of(unit))
        # A positive verdict without proof counts as no verdict.
        is_proved = judged is not None and judged.verdict not in (*_JUDGED, "unproved")
        for key in () if is_proved else self._lost_sources(unit):
            before = self._then_verifier.passage(unit, key).quote
            is_excerpt = not self._sources[key].content_hash
            reason = _JUDGED.get(judged.verdict, "") if judged else ""
            state: State = "changed"
            if not self._now[key].texts:
                reason, state = self._now[key].reason, "unchecked"
            elif not reason and (is_excerpt or not before):
                reason, state = _ONLY_EXCERPT if is_excerpt else _NOT_STORED, "unchecked"
            after = self._now_verifier.passage(unit, key).quote
            quotes = [f"> {title}: {plain_line(words)}" for title, words in (("Then", before), ("Now", after)) if words]
            yield state, "\n\n".join([f"{self.name(key)}: {plain_line(reason or _REWORDED)}.", *quotes])

    def name(self, key: str) -> str:
        """Return the number, title and location of a source as Markdown."""
        title, origin = shown_title(self._sources[key]), short_location(self._sources[key])
        shown = f"[{self._numbers[key]}] {plain_line(title)}"
        return f"{shown} — {plain_line(origin)}" if origin and origin != title else shown


def _plain(text: str) -> str:
    """Return a text without Markdown and line breaks, so that a changed layout makes no difference."""
    return " ".join(" ".join(_MARKUP.sub(" ", line) for line in text.splitlines()).split())


def _source_change(source: Source, now: Reread) -> str:
    """Return in words how a source differs from what was read for the report; empty if it does not."""
    if not now.texts:
        return f"cannot be read now: {plain_line(now.reason)}"
    if now.source.location != source.location and source.kind == "document":
        return f"its text is now in {plain_line(short_location(now.source))}"
    return "" if now.is_same or not source.content_hash else "its text has changed"


def _read_documents(sources: Sequence[Source], context: Context) -> list[Reread]:
    """Read documents again in their folders, where a renamed one is found by its unchanged text."""
    if not sources or not context.docs:
        return [Reread(source, (), _NO_DOCUMENT) for source in sources]
    library = Library(context)
    try:
        status = library.refresh()
    except DocumentsUnreadable as error:
        return [Reread(source, (), str(error)) for source in sources]
    reasons = {f"{DOCUMENT_SCHEME}{left.path}": left.reason for left in status.left_out}
    found = {source.key: library.read(source.address) for source in sources}
    if not all(found.values()):
        by_text = {document.source.content_hash: document for document in library.documents()}
        found |= {source.key: by_text.get(source.content_hash) for source in sources if not found[source.key]}
    return [
        _reread(source, document.source, document.text)
        if (document := found[source.key])
        else Reread(source, (), reasons.get(source.address, _NO_DOCUMENT))
        for source in sources
    ]


def _reread(source: Source, now: Source, text: str) -> Reread:
    """Return a source that could be read, with its description and text as they are `now`."""
    known = now.model_copy(update={"key": source.key, "number": source.number})
    return Reread(known, [SourceText(now.content_hash, text)], is_same=now.content_hash == source.content_hash)

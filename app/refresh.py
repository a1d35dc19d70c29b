"""Read the sources of a finished report again, make its searches anew, and say what holds: the command `refresh`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..core.evidence.checking.changes import Change, Comparison
from ..core.evidence.checking.reaudit import checks_of
from ..core.evidence.checking.source_text import SourceText
from ..core.evidence.checking.units import Unit, units_of
from ..core.evidence.checking.verification import Verifier
from ..core.evidence.citations.markers import settle_fences
from ..core.evidence.citations.rendering import source_place, without_marks
from ..core.evidence.text.sentences import sections_of
from ..core.models.resolve import check_models, is_extractive
from ..core.records.report import Draft, Report
from ..core.records.research import Run
from ..core.records.sources import Source
from ..core.run import tool_names
from ..core.run.context import Context, within_scope
from ..core.run.conversation import clean
from ..core.run.events.call import SilentEvents
from ..core.run.events.log import Emitter
from ..core.run.events.packets import Placement
from ..core.run.store.pages import Pages
from ..core.writing.additions import Found as NewlyFound
from ..core.writing.additions import ask_additions
from ..core.writing.basis import source_texts
from ..core.writing.examination import Examination
from ..core.writing.fill_in import Filler
from ..core.writing.judging import SHOWN, Judgement, key_of
from .endings import reports_errors, run_interruptibly
from .export import no_report_yet
from .exports.refreshed import (
    Ground,
    New,
    Refreshed,
    Sentence,
    SourceNow,
    State,
    refreshed_json,
    refreshed_markdown,
    refreshed_page,
)
from .new_finds import PASSAGES, NewFinds, newest_first
from .output import spent_line
from .reread import Again, Found, Reread, Search, searches_of
from .run_name import RunName
from .runs import RunBook, StoredRun
from .stored import kept_run
from .terminal import OutputUnusable, check_output, deliver, say
from .words import DONE, FAILED, RefreshFormat, counted

_FORMATS: Mapping[RefreshFormat, Callable[[Refreshed], str]] = {
    "md": refreshed_markdown,
    "html": refreshed_page,
    "json": refreshed_json,
}
_SUFFIXES: Mapping[str, RefreshFormat] = {
    "": "md",
    ".md": "md",
    ".markdown": "md",
    ".txt": "md",
    ".html": "html",
    ".htm": "html",
    ".json": "json",
}
_SAID: Mapping[str, str] = {
    "contradicted": "the source says something else now",
    "missing": "the source no longer says it",
    "wrong_source": "another source says it now, and this one no longer does",
}
"""What a model's verdict on a sentence means for the reader."""
NOT_KEPT = "the text that was read for the report is no longer kept"
OTHER_EXCERPT = "it was known by a search alone, which shows another part of it now"


@reports_errors
def refresh_run(
    thread: str, given: Mapping[str, Any], data_dir: Path | None, path: Path | None, wanted: RefreshFormat | None
) -> int:
    """Read the sources of a run's report again and write what that found; the run stays as it is."""
    write = _FORMATS[_chosen(wanted, path)]
    check_output(path)
    found, cost = run_interruptibly(_refreshed(RunName(clean(thread), data_dir), given))
    is_delivered = deliver(write(found), path)
    say(f"{found.summary}.\n{cost}")
    return DONE if found.is_as_before and is_delivered else FAILED


def _chosen(wanted: RefreshFormat | None, path: Path | None) -> RefreshFormat:
    chosen = wanted or _SUFFIXES.get(path.suffix.lower() if path else "")
    if chosen is None:
        raise OutputUnusable(f"--out {str(path)!r}: name a file .md, .html or .json, or choose by --format.")
    return chosen


async def _refreshed(name: RunName, given: Mapping[str, Any]) -> tuple[Refreshed, str]:
    async with kept_run(name) as (book, stored):
        report, run = stored.state.report, stored.state.run
        if report is None or run is None:
            raise no_report_yet(stored, name)
        context = within_scope(await book.settings(stored, given), run.scope)
        for notice in check_models(("verifier", "writer"), context):
            say(f"Note: {notice}")
        return await _Refresh(book, stored, report, run, context).found()


class _Finding(NamedTuple):
    """What came of a part of the report."""

    state: State
    grounds: tuple[Ground, ...] = ()
    says: str = ""
    """The part as it would have to stand; empty if that is not known."""


HOLDS = _Finding("holds")


class _Refresh:
    """One report while it is read again."""

    def __init__(self, book: RunBook, stored: StoredRun, report: Report, run: Run, context: Context) -> None:
        self._book, self._stored, self._state = book, stored, stored.state
        self._report, self._run, self._context = report, run, context
        self._text = settle_fences(without_marks(report.text))
        wrong = {words for words, one in checks_of(report) if one.verdict == "unsupported"}
        # What its sources did not say then is for `audit`.
        self._units = [one for one in units_of(self._text, report.sources) if one.raw not in wrong]
        self._numbers = {key: number for number, key in enumerate(report.sources, 1) if key}
        self._pages = Pages(book.database.store, stored.thread)
        self._again = Again(context, run, self._pages)
        self._events = SilentEvents(Emitter(lambda _: None), Placement(turn_index=0))
        self._filler = Filler(context, run, self._events, self._events.placement)
        self._has_model = not is_extractive("verifier", context)

    async def found(self) -> tuple[Refreshed, str]:
        """Return what holds, what changed and what is new, and in words what that has cost."""
        sources = [self._state.sources[key] for key in self._numbers]
        texts = await self._book.texts(self._stored, self._report)
        before = {one.key: _read(one, texts[one.key]) for one in sources}
        self._units = await asyncio.to_thread(lambda: [*self._sourced(before)])
        await self._again.begin(_indexed)
        searches = await self._searches()
        say(f"searching anew: {counted(len(searches), 'search')}")
        found = await self._again.search(searches)
        say(f"reading again: {counted(len(sources), 'source')}")
        now = await self._again.read(sources, found)
        now |= {
            key: one._replace(texts=(), reason=NOT_KEPT) for key, one in now.items() if not (before[key] or one.is_same)
        }
        now |= await asyncio.to_thread(self._moved, before, now)
        sentences = await self._sentences(before, now)
        new = await self._new(found, sentences)
        refreshed = Refreshed(
            thread=self._stored.thread,
            question=self._run.question,
            asked=self._run.date,
            read=self._context.clock.now().strftime("%A, %B %d, %Y"),
            sentences=sentences,
            new=new,
            sources=[
                SourceNow(number, self._state.sources[key], _how(self._state.sources[key], now[key]))
                for key, number in self._numbers.items()
            ],
            notes=[*found.problems, *self._filler.failures],
        )
        return refreshed, f"Spent: {spent_line({**self._again.spending, **self._events.bill.costs})}."

    def _sourced(self, before: Mapping[str, Sequence[SourceText]]) -> Iterator[Unit]:
        """Yield the units that cite a source, and those that rest on what the next one in their paragraph cites."""
        verifier = Verifier(before)
        for place, unit in enumerate(self._units):
            behind = next((one for one in self._units[place:] if one.sources), None)
            if behind is None or "\n" in self._text[unit.end : behind.start]:
                continue
            keys = behind.sources
            if behind is not unit:
                keys = tuple(key for key in keys if verifier.passage(unit.text, key).verdict == "supported")
            if keys:
                yield unit._replace(sources=keys)

    async def _searches(self) -> list[Search]:
        """Return the searches of the run; where it read all documents instead, its tasks are searched for."""
        searches = searches_of(await self._book.packets(self._stored))
        if self._context.docs and not any(one.tool == tool_names.INTERNAL_SEARCH for one in searches):
            searches.append(Search(tool_names.INTERNAL_SEARCH, tuple(self._tasks())))
        return searches

    def _tasks(self) -> list[str]:
        state = self._state
        found = [one.task for one in state.findings.values() if one.question_id == self._run.id]
        return found or [step.task for step in state.steps if step.requires_search] or [self._run.question]

    def _moved(self, before: Mapping[str, Sequence[SourceText]], now: Mapping[str, Reread]) -> dict[str, Reread]:
        """Return the documents that are gone and whose words stand in another one."""
        moved = dict[str, Reread]()
        for key in (key for key, one in now.items() if not one.texts):
            comparison = Comparison(before[key], ())
            quotes = [quote for unit in self._units if key in unit.sources for quote in comparison.quotes(unit)]
            if found := self._again.elsewhere(self._state.sources[key], quotes):
                moved[key] = found
        return moved

    async def _sentences(self, before: Mapping[str, Sequence[SourceText]], now: Mapping[str, Reread]) -> list[Sentence]:
        compared = {
            key: Comparison(before[key], one.texts) for key, one in now.items() if one.texts and not one.is_same
        }
        judged, rewritten = await self._judged(compared, now)
        findings = await asyncio.to_thread(
            lambda: [(one, self._finding(one, compared, now, judged.get(key_of(one)))) for one in self._units]
        )
        sections, sentences = sections_of(self._text), dict[int, list[tuple[Unit, _Finding]]]()
        for unit, finding in findings:
            sentences.setdefault(unit.sentence_start, []).append((unit, finding))
        return [
            _sentence(parts, rewritten.get(start, ""), next((one.heading for one in sections if start < one.end), ""))
            for start, parts in sentences.items()
        ]

    async def _judged(
        self, compared: Mapping[str, Comparison], now: Mapping[str, Reread]
    ) -> tuple[Mapping[Any, Judgement], dict[int, str]]:
        """Have a model judge what it would be shown other passages for; returns the new sentences by their places."""
        if not self._has_model or not compared:
            return {}, {}

        def is_open(unit: Unit) -> bool:
            return any(key in compared and not compared[key].looks_the_same(unit, SHOWN) for key in unit.sources)

        wanted = await asyncio.to_thread(lambda: [unit for unit in self._units if is_open(unit)])
        if not wanted:
            return {}, {}
        say(f"judging anew: {counted(len(wanted), 'part')} of the report")
        draft = Draft(
            text=self._text,
            sources=self._report.sources,
            streamed="",
            streamed_sources=(),
            removed_markers=0,
            has_gaps=False,
        )
        texts = {key: one.texts for key, one in now.items()}
        sources = {**self._state.sources, **{key: one.source for key, one in now.items()}}
        examination = Examination(draft, texts, sources, self._context, self._filler, self._run.language_code)
        judged, rewrites = await examination.examine_parts(wanted)
        return judged, {one.fault.start: one.raw for one in rewrites}

    def _finding(
        self, unit: Unit, compared: Mapping[str, Comparison], now: Mapping[str, Reread], said: Judgement | None
    ) -> _Finding:
        """Return what became of a part; where a model has judged it, by its word."""
        lost = {key: now[key].reason for key in unit.sources if not now[key].texts}
        changes = {key: change for key in unit.sources if key in compared and (change := compared[key].change(unit))}
        if said and said.verdict in _SAID:
            pairs = {key: compared[key].pair(unit, said.words) for key in unit.sources if key in compared}
            says = next((one.says for one in changes.values()), "")
            changes = {key: Change(*pair, _SAID[said.verdict], says) for key, pair in pairs.items()}
        elif said:
            changes = {}
        for key in [key for key, one in changes.items() if not one.now and not self._state.sources[key].content_hash]:
            # A search may show any part of a page.
            lost[key] = OTHER_EXCERPT
            del changes[key]
        unread = tuple(Ground(self._numbers[key], "", "", reason) for key, reason in lost.items())
        if changes:
            grounds = [Ground(self._numbers[key], one.before, one.now, one.reason) for key, one in changes.items()]
            return _Finding("changed", (*grounds, *unread), next(one.says for one in changes.values()))
        texts = {key: now[key].texts for key in unit.sources if key not in lost}
        if not lost or any(Verifier(texts).passage(unit.text, key).verdict == "supported" for key in texts):
            return HOLDS
        return _Finding("unchecked", unread)

    async def _new(self, found: Found, sentences: Sequence[Sentence]) -> list[New]:
        told = [ground.now for one in sentences for ground in one.grounds if ground.now]
        seen = await source_texts(self._state.sources, self._state.sources, self._pages)
        finds = NewFinds(found.hits, seen, self._state.sources)
        if self._has_model and (shown := newest_first(await asyncio.to_thread(finds.all, told))):
            say("asking what is new")
            adds = await ask_additions(self._run.question, self._text, shown, self._filler)
            if adds is not None:
                return [self._shown(shown[place], adds[place]) for place in sorted(adds)]
        quoted = await asyncio.to_thread(finds.quoted, self._tasks(), told)
        return [self._shown(one) for one in newest_first(quoted)]

    def _shown(self, one: NewlyFound, adds: str = "") -> New:
        return New(one.source, one.passages[:PASSAGES], adds, self._numbers.get(one.source.key, 0))


def _sentence(parts: Sequence[tuple[Unit, _Finding]], rewritten: str, section: str) -> Sentence:
    """Return a sentence by its parts: the first that is not right decides, a change before what is not known."""
    raw = parts[0][0].sentence
    states = [finding.state for _, finding in parts]
    state: State = "changed" if "changed" in states else "unchecked" if "unchecked" in states else "holds"
    grounds = tuple(dict.fromkeys(ground for _, finding in parts for ground in finding.grounds))
    if state != "changed":
        return Sentence(section, raw, "", state, grounds)
    changed, now = [(unit, one) for unit, one in parts if one.state == "changed"], raw
    for unit, finding in sorted(changed, key=lambda pair: -pair[0].start):
        start = unit.start - unit.sentence_start
        now = f"{now[:start]}{finding.says}{now[start + len(unit.raw) :]}"
    is_known = all(finding.says for _, finding in changed)
    return Sentence(section, raw, rewritten or (now if is_known else ""), state, grounds)


def _read(source: Source, texts: Sequence[SourceText]) -> list[SourceText]:
    """Return what was read of a source: its text, else the excerpts that searches have shown."""
    return [one for one in texts if one.content_hash == source.content_hash] or [*texts]


def _how(source: Source, now: Reread) -> str:
    """Return in words how a source is now; empty if it is as it was."""
    if not now.texts:
        return f"cannot be read now: {now.reason}"
    if now.source.location != source.location and source.kind == "document":
        return f"its words stand in {source_place(now.source)} now"
    return "" if now.is_same else "its text has changed"


def _indexed(done: int, total: int) -> None:
    if done == total:
        say(f"documents indexed: {done} of {total}")

"""Read the sources of a finished report again, and say which of its sentences hold: the command `refresh`."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext, redirect_stderr
from io import StringIO
from itertools import groupby
from pathlib import Path
from typing import Any, Literal, NamedTuple

from ..core.evidence.checking.reaudit import checks_of
from ..core.evidence.checking.source_text import SourceText
from ..core.evidence.checking.units import ReportUnit, units_of
from ..core.evidence.checking.verification import Verifier
from ..core.evidence.citations.markers import settle_fences
from ..core.evidence.citations.rendering import plain_line, shown_title, source_place, without_marks
from ..core.models.resolve import check_models, is_extractive, load_models
from ..core.records.report import Report
from ..core.records.sources import Source
from ..core.run.context import within_scope
from ..core.run.conversation import clean
from ..core.run.events.call import SilentEvents
from ..core.run.events.log import Emitter
from ..core.run.events.packets import Placement
from ..core.writing.examination import Examination
from ..core.writing.fill_in import Filler
from ..core.writing.judging import Key, UnitJudgement, key_of
from .endings import reports_errors, run_interruptibly
from .export import no_report_yet
from .output import spent_line
from .progress import PlainLines
from .reread import Reread, reread
from .run_name import RunName
from .stored import kept_run
from .terminal import check_output, deliver, say
from .words import CHANGED, DONE, FAILED, counted

State = Literal["holds", "changed", "unchecked"]
STATES: Mapping[State, str] = {"changed": "Changed", "unchecked": "Can no longer be checked"}
"""Heading of a sentence that does not hold as it did."""
_JUDGED: Mapping[str, str] = {
    "contradicted": "the source says something else now",
    "not_found": "the source no longer says it",
    "wrong_source": "another source says it now, and this one no longer does",
}
"""What a model's verdict on a sentence means for the reader."""
REWORDED = "the source words it otherwise now, or no longer says it"
NOT_KEPT = "the text that was read for the report is no longer kept"
ONLY_EXCERPT = "only a search excerpt of it was read for the report, and its page does not say so in these words"
_MARKUP = re.compile(r"[*_`#>|]+|^\s*[-+•]\s")


class RecheckedSentence(NamedTuple):
    """A sentence of the report that cites a source, or a row of a table."""

    words: str
    state: State
    grounds: tuple[str, ...]
    """Why it no longer holds or could not be checked, as Markdown; empty if it holds."""


class Refreshed(NamedTuple):
    """A report whose sources were read again."""

    title: str
    dates: str
    """When it was written and read again, in words."""
    sentences: Sequence[RecheckedSentence]
    tail: Sequence[str]
    """How sources differ, and what could not be judged, in Markdown."""

    @property
    def holds(self) -> bool:
        """Whether all sentences hold."""
        return all(sentence.state == "holds" for sentence in self.sentences)

    @property
    def summary(self) -> str:
        """How many sentences hold, changed and can no longer be checked, in words."""
        states = Counter(sentence.state for sentence in self.sentences)
        holds = f"{counted(states['holds'], 'sentence')} {'holds' if states['holds'] == 1 else 'hold'}"
        return f"{holds}, {states['changed']} changed, {states['unchecked']} can no longer be checked"

    def is_news(self, path: Path | None) -> bool:
        """Whether it says something else than the file of the last refresh; without one, whether not all holds."""
        if path is None or not path.exists():
            return not self.holds
        now, before = self.markdown().split("\n\n"), path.read_text("utf-8", "replace").strip().split("\n\n")
        # The third paragraph holds the dates.
        return (now[:2], now[3:]) != (before[:2], before[3:])

    def markdown(self) -> str:
        """Return it as Markdown."""
        head = [f"# {plain_line(self.title)}", f"**{self.summary}.**", plain_line(self.dates)]
        shown = [
            f"**{STATES[one.state]}**\n\n```diff\n{'-' if one.state == 'changed' else ' '} {one.words}\n```\n\n"
            + "\n\n".join(one.grounds)
            for one in self.sentences
            if one.state != "holds"
        ]
        return clean("\n\n".join([*head, *shown, *self.tail])).rstrip()


@reports_errors
def refresh_run(
    thread: str, given: Mapping[str, Any], data_dir: Path | None, path: Path | None, *, is_for_news: bool
) -> int:
    """Read the sources of a run's report again and write what that found; the run stays as it is.

    If it `is_for_news`, nothing is printed or written unless there is something new.
    """
    check_output(path)
    with redirect_stderr(StringIO()) if is_for_news else nullcontext():
        found, cost = run_interruptibly(PlainLines().during(_refreshed(RunName(clean(thread), data_dir), given)))
    if is_for_news and not found.is_news(path):
        return DONE
    is_delivered = deliver(found.markdown(), path)
    say(f"{found.summary}.\n{cost}")
    code = CHANGED if is_for_news else DONE if found.holds else FAILED
    return code if is_delivered else FAILED


async def _refreshed(name: RunName, given: Mapping[str, Any]) -> tuple[Refreshed, str]:
    """Return which sentences hold and what changed, and in words what reading and judging cost."""
    async with kept_run(name) as (book, stored):
        report, run = stored.state.report, stored.state.run
        if report is None:
            raise no_report_yet(stored, name)
        context = within_scope(await book.settings(stored, given), run.scope)
        await load_models(context)
        for notice in check_models(("verifier",), context):
            say(f"Note: {notice}")
        sources = {key: stored.state.sources[key] for key in report.sources if key}
        kept = await book.texts(stored, report)
    before = {key: _read(source, kept[key]) for key, source in sources.items()}
    say(f"reading again: {counted(len(sources), 'source')}")
    now, fetched = await reread([*sources.values()], context, run)
    comparison = await asyncio.to_thread(_Comparison, report, sources, before, now)
    events = SilentEvents(Emitter(lambda _: None), Placement(turn_index=0))
    filler = Filler(context, run, events, events.placement)
    if not is_extractive("verifier", context) and (wanted := await asyncio.to_thread(comparison.parts_to_judge)):
        say(f"judging again: {counted(len(wanted), 'part')} of the report")
        known, texts = {key: one.source for key, one in now.items()}, {key: one.texts for key, one in now.items()}
        examination = Examination(comparison.text, report.keys, texts, known, context, filler, run.language_code)
        comparison.verdicts = await examination.judge_parts(wanted)
    today = context.clock.now().strftime("%A, %B %d, %Y")
    dates = f"The report of {run.date}, read again on {today}."
    differ = [f"- {comparison.name(key)}: {words}" for key in sources if (words := _how(sources[key], now[key]))]
    notes = [f"- {plain_line(note)}" for note in filler.failures]
    parts = (("Sources", differ), ("Notes", notes))
    tail = ["\n".join([f"## {title}", "", *lines]) for title, lines in parts if lines]
    found = Refreshed(stored.title, dates, await asyncio.to_thread(lambda: [*comparison.sentences()]), tail)
    return found, f"Spent: {spent_line({'sources': fetched, **events.bill.costs})}."


class _Comparison:
    """A report beside the texts that were read for it and the texts that were read now."""

    def __init__(
        self,
        report: Report,
        sources: Mapping[str, Source],
        before: Mapping[str, Sequence[SourceText]],
        now: Mapping[str, Reread],
    ) -> None:
        """`sources`, `before`, `now`: by the key of the source."""
        self.text = settle_fences(without_marks(report.text))
        self.verdicts: Mapping[Key, UnitJudgement] = {}
        """What a model says of the parts that it was asked about."""
        self._sources, self._now = sources, now
        self._numbers = {key: number for number, key in report.keys.items()}
        self._before, self._verifier = Verifier(before), Verifier({key: one.texts for key, one in now.items()})
        self._plain = {key: _plain("\n".join(text.text for text in one.texts)) for key, one in now.items()}
        # What was not supported before is for `audit`.
        unsupported = {words for words, check in checks_of(report) if check.verdict == "unsupported"}
        units = [unit for unit in units_of(self.text, report.keys) if unit.raw not in unsupported]
        self._units = [*self._with_sources(units)]

    def _with_sources(self, units: Sequence[ReportUnit]) -> Iterator[ReportUnit]:
        """Yield the parts that cite a source, and quotes of what the next part of their paragraph cites."""
        for place, unit in enumerate(units):
            citing = next((other for other in units[place:] if other.sources), None)
            if citing is unit:
                yield unit
            elif citing and "\n" not in self.text[unit.end : citing.start]:
                keys = tuple(key for key in citing.sources if self._before.is_quoted(unit, key))
                yield from [unit._replace(sources=keys)] if keys else []

    def parts_to_judge(self) -> list[ReportUnit]:
        """Return the parts that rest on passages which no longer stand in a source, and are no quotes of one."""
        return [unit for unit in self._units if any(self._now[key].texts for key in self._fallen(unit))]

    def _fallen(self, unit: ReportUnit) -> list[str]:
        """Return the sources of a part in which its passage no longer stands; none if one says it word for word."""
        if any(self._verifier.is_quoted(unit, key) for key in unit.sources):
            return []
        return [key for key in unit.sources if not (self._now[key].is_same or self._stands(unit, key))]

    def _stands(self, unit: ReportUnit, key: str) -> bool:
        passage = _plain(self._before.passage(unit, key).quote)
        return bool(passage) and passage in self._plain[key]

    def sentences(self) -> Iterator[RecheckedSentence]:
        """Yield the sentences that cite a source, each with what became of it."""
        for _, units in groupby(self._units, key=lambda unit: unit.sentence_start):
            parts = [*units]
            grounds = dict.fromkeys(ground for unit in parts for ground in self._grounds(unit))
            states = {state for state, _ in grounds}
            state: State = "changed" if "changed" in states else "unchecked" if states else "holds"
            yield RecheckedSentence(" ".join(parts[0].sentence.split()), state, tuple(words for _, words in grounds))

    def _grounds(self, unit: ReportUnit) -> Iterator[tuple[State, str]]:
        """Yield why a part does not hold: a verdict decides, else whether its passages stand."""
        judged = self.verdicts.get(key_of(unit))
        # A yes without proof says no more than no answer.
        is_proved = judged is not None and judged.verdict not in (*_JUDGED, "unproved")
        for key in () if is_proved else self._fallen(unit):
            before, is_excerpt = self._before.passage(unit, key).quote, not self._sources[key].content_hash
            reason = _JUDGED.get(judged.verdict, "") if judged else ""
            state: State = "changed"
            if not self._now[key].texts:
                reason, state = self._now[key].reason, "unchecked"
            elif not reason and (is_excerpt or not before):
                reason, state = ONLY_EXCERPT if is_excerpt else NOT_KEPT, "unchecked"
            after = self._verifier.passage(unit, key).quote
            quotes = [f"> {title}: {plain_line(words)}" for title, words in (("Then", before), ("Now", after)) if words]
            yield state, "\n\n".join([f"{self.name(key)}: {plain_line(reason or REWORDED)}.", *quotes])

    def name(self, key: str) -> str:
        """Return a source in words."""
        title, place = shown_title(self._sources[key]), source_place(self._sources[key])
        shown = f"[{self._numbers[key]}] {plain_line(title)}"
        return f"{shown} — {plain_line(place)}" if place and place != title else shown


def _plain(text: str) -> str:
    return " ".join(" ".join(_MARKUP.sub(" ", line) for line in text.splitlines()).split())


def _read(source: Source, texts: Sequence[SourceText]) -> list[SourceText]:
    """Return what was read of a source: its text, else the excerpts that searches showed."""
    return [text for text in texts if text.content_hash == source.content_hash] or [*texts]


def _how(source: Source, now: Reread) -> str:
    """Return in words how a source differs from before; empty if it does not."""
    if not now.texts:
        return f"cannot be read now: {plain_line(now.reason)}"
    if now.source.location != source.location and source.kind == "document":
        return f"its text stands in {plain_line(source_place(now.source))} now"
    return "" if now.is_same or not source.content_hash else "its text has changed"

"""The `refresh` command: reads the sources of a finished report again and says which sentences
still hold."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, redirect_stderr
from io import StringIO
from itertools import groupby
from pathlib import Path
from typing import Any, Literal, NamedTuple

from ..core.dialogue.conversation import safe_text
from ..core.evidence.checking.source_text import SourceText
from ..core.evidence.checking.units import ReportUnit, report_units
from ..core.evidence.checking.verification import Verifier
from ..core.evidence.citations.markers import settle_fences
from ..core.evidence.citations.rendering import (
    plain_line,
    without_marks,
)
from ..core.models.resolve import RoleModels
from ..core.records.report import Report
from ..core.records.sources import Source
from ._endings import run_interruptibly
from ._progress import PlainLines
from ._rechecking import checks_of
from ._settings import RunName
from ._source_check import SourceReading, SourceTexts, begin_check, current_texts, load_verifier
from ._stored import open_stored_run
from ._terminal import check_output, deliver, say
from .output import spent_line
from .words import CHANGED, DONE, FAILED, counted

State = Literal["holds", "changed", "unchecked"]
"""Whether the sources of a sentence still say it, say it no longer, or can no longer be
compared."""
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
_ONLY_EXCERPT = (
    "only a search excerpt was read for the report, and the page does not contain these words"
)
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
        heading = f"**{_STATES[self.state]}**"
        sentence = f"```diff\n{sign} {self.words}\n```"
        return "\n\n".join([heading, sentence, *self.grounds])


class _Ground(NamedTuple):
    """Why a part of the report does not hold."""

    state: State
    words: str
    """The model's verdict or a comparison, as Markdown."""


class Refreshed(NamedTuple):
    """The result of reading a report's sources again."""

    title: str
    dates: str
    """When the report was written and when its sources were read again, in words."""
    sentences: Sequence[RecheckedSentence]
    tail: Sequence[str]
    """Markdown sections below the sentences: changed sources, and notes on what the model could not
    judge."""

    @property
    def holds(self) -> bool:
        """Whether all sentences hold."""
        return all(sentence.state == "holds" for sentence in self.sentences)

    @property
    def summary(self) -> str:
        """How many sentences hold, have changed, and can no longer be checked, in words."""
        states = Counter(sentence.state for sentence in self.sentences)
        verb = "holds" if states["holds"] == 1 else "hold"
        return (
            f"{counted(states['holds'], 'sentence')} {verb}, {states['changed']} changed, "
            f"{states['unchecked']} can no longer be checked"
        )

    def is_news(self, path: Path | None) -> bool:
        """Whether the result differs from the earlier one in this file; without a file, whether a
        sentence fails."""
        if path is None or not path.exists():
            return not self.holds
        now = self.markdown().split("\n\n")
        before = path.read_text("utf-8", "replace").strip().split("\n\n")
        # The third paragraph contains the dates, which always differ.
        return now[:2] != before[:2] or now[3:] != before[3:]

    def markdown(self) -> str:
        """Return the result as Markdown."""
        blocks = [f"# {plain_line(self.title)}", f"**{self.summary}.**", plain_line(self.dates)]
        for sentence in self.sentences:
            if sentence.state != "holds":
                blocks.append(sentence.markdown())
        blocks += self.tail
        return safe_text("\n\n".join(blocks)).rstrip()


def refresh_run(
    thread: str,
    data_dir: Path | None,
    path: Path | None,
    given: Mapping[str, Any],
    *,
    is_for_news: bool,
) -> int:
    """Read the sources of a report again and print or write the result; the run itself stays
    unchanged, and settings that are not given are those of the run.

    With `is_for_news`, print and write nothing unless there is something new.
    """
    check_output(path)
    work = _refreshed(RunName(safe_text(thread), data_dir), given)
    with redirect_stderr(StringIO()) if is_for_news else nullcontext():
        refreshed, cost = run_interruptibly(PlainLines().during(work))
    if is_for_news and not refreshed.is_news(path):
        return DONE
    is_delivered = deliver(refreshed.markdown(), path)
    say(f"{refreshed.summary}.\n{cost}")
    if not is_delivered:
        return FAILED
    if is_for_news:
        return CHANGED
    return DONE if refreshed.holds else FAILED


async def _refreshed(name: RunName, given: Mapping[str, Any]) -> tuple[Refreshed, str]:
    """Read and judge again the sources of a run's report; return the result, and the costs in
    words."""
    async with open_stored_run(name) as (book, stored):
        report = stored.finished_report(name)
        run = stored.state.run
        context = (await book.settings(stored, given)).within(run.scope)
        await load_verifier(context)
        sources = {key: stored.state.sources[key] for key in report.sources if key}
        stored_texts = await book.texts(stored, report)
    before = dict[str, Sequence[SourceText]]()
    for key, source in sources.items():
        # The text that was read for the report, or else the search excerpts.
        read = [text for text in stored_texts[key] if text.content_hash == source.content_hash]
        before[key] = read or list(stored_texts[key])
    say(f"reading again: {counted(len(sources), 'source')}")
    report_text = settle_fences(without_marks(report.checked_text))
    read_sources = current_texts(context, run)
    check = await begin_check(
        report_text, report.keys, sources, read_sources, run, context, stored.asked
    )
    now = check.readings
    comparison = await asyncio.to_thread(_Comparison, report, report_text, sources, before, now)
    if not RoleModels(context).is_extractive("verifier"):
        parts = await asyncio.to_thread(comparison.parts_to_judge)
        if parts:
            say(f"checking {counted(len(parts), 'sentence')} of the report again")
            comparison.verdicts = await check.judge(parts)
    today = context.clock.now().strftime("%A, %B %d, %Y")
    changes = list[str]()
    for key, source in sources.items():
        change = _source_change(source, now[key])
        if change:
            changes.append(f"- {comparison.name(key)}: {change}")
    tail = list[str]()
    if changes:
        tail.append("\n".join(["## Sources", "", *changes]))
    if check.failures:
        notes = [f"- {plain_line(note)}" for note in check.failures]
        tail.append("\n".join(["## Notes", "", *notes]))
    refreshed = Refreshed(
        title=stored.title,
        dates=f"The report of {run.date}, read again on {today}.",
        sentences=await asyncio.to_thread(comparison.sentences),
        tail=tail,
    )
    return refreshed, f"Spent: {spent_line(check.costs)}."


class _Comparison:
    """Compares the source texts read for a report with the current ones."""

    def __init__(
        self,
        report: Report,
        text: str,
        sources: Mapping[str, Source],
        before: SourceTexts,
        now: Mapping[str, SourceReading],
    ) -> None:
        """`text` is that of the report, without marks; `before` are the texts that were read for
        it, by source key."""
        self.verdicts: Mapping[ReportUnit, str] = {}
        """Verdicts of the model on the parts that it judged."""
        self._sources = sources
        self._now = now
        self._numbers = {key: number for number, key in report.keys.items()}
        self._then_verifier = Verifier(before)
        self._now_verifier = Verifier({key: reading.texts for key, reading in now.items()})
        self._plain_now = dict[str, str]()
        for key, reading in now.items():
            self._plain_now[key] = _plain("\n".join([part.text for part in reading.texts]))
        self._units = self._cited_units(report, text)
        """Parts of the report that cite sources, and parts that quote the sources cited next in the
        same paragraph."""

    def _cited_units(self, report: Report, text: str) -> list[ReportUnit]:
        """Return the parts of the report to compare, each with the sources that it cites or
        quotes."""
        # Sentences that were already unsupported are left to `audit`.
        unsupported = set[str]()
        for words, check in checks_of(report):
            if check.verdict == "unsupported":
                unsupported.add(words)
        units = [unit for unit in report_units(text, report.keys) if unit.raw not in unsupported]
        cited = list[ReportUnit]()
        for index, unit in enumerate(units):
            citing = next((other for other in units[index:] if other.sources), None)
            if citing is unit:
                cited.append(unit)
            elif citing and "\n" not in text[unit.end : citing.start]:
                quoted = [key for key in citing.sources if self._then_verifier.is_quoted(unit, key)]
                if quoted:
                    cited.append(unit._replace(sources=tuple(quoted)))
        return cited

    def parts_to_judge(self) -> list[ReportUnit]:
        """Return the parts that a model must judge: their passage is gone from a source that can
        still be read."""
        parts = list[ReportUnit]()
        for unit in self._units:
            if any(self._now[key].texts for key in self._lost_sources(unit)):
                parts.append(unit)
        return parts

    def _lost_sources(self, unit: ReportUnit) -> list[str]:
        """Return the sources that lost the passage behind a part; empty if one still has the part
        word for word."""
        if any(self._now_verifier.is_quoted(unit, key) for key in unit.sources):
            return []
        lost = dict[str, None]()
        for key in unit.sources:
            if self._now[key].is_same:
                continue
            passage = _plain(self._then_verifier.passage(unit, key).quote)
            if not passage or passage not in self._plain_now[key]:
                lost[key] = None
        return list(lost)

    def sentences(self) -> list[RecheckedSentence]:
        """Return each sentence that cites a source, in the order of the report, with its state."""
        sentences = list[RecheckedSentence]()
        for _, group in groupby(self._units, key=lambda unit: unit.sentence_start):
            units = list(group)
            # Each reason once, in order.
            grounds = dict[_Ground, None]()
            for unit in units:
                grounds.update(dict.fromkeys(self._grounds(unit)))
            states = {ground.state for ground in grounds}
            state: State = "holds"
            if "changed" in states:
                state = "changed"
            elif states:
                state = "unchecked"
            words = " ".join(units[0].sentence.split())
            reasons = tuple(ground.words for ground in grounds)
            sentences.append(RecheckedSentence(words, state, reasons))
        return sentences

    def _grounds(self, unit: ReportUnit) -> list[_Ground]:
        """Return each reason why a part does not hold."""
        verdict = self.verdicts.get(unit, "")
        if verdict and verdict not in (*_JUDGED, "unproved"):
            # A positive verdict without proof counts as no verdict.
            return []
        grounds = list[_Ground]()
        for key in self._lost_sources(unit):
            before = self._then_verifier.passage(unit, key).quote
            after = self._now_verifier.passage(unit, key).quote
            state, reason = self._state_of(key, verdict, before)
            lines = [f"{self.name(key)}: {plain_line(reason)}."]
            if before:
                lines.append(f"> Then: {plain_line(before)}")
            if after:
                lines.append(f"> Now: {plain_line(after)}")
            grounds.append(_Ground(state, "\n\n".join(lines)))
        return grounds

    def _state_of(self, key: str, verdict: str, before: str) -> tuple[State, str]:
        """Return the state of a part whose passage `before` is gone from a source, and the reason
        in words."""
        if not self._now[key].texts:
            return "unchecked", self._now[key].reason or _REWORDED
        if verdict in _JUDGED:
            return "changed", _JUDGED[verdict]
        if not self._sources[key].content_hash:
            return "unchecked", _ONLY_EXCERPT
        if not before:
            return "unchecked", _NOT_STORED
        return "changed", _REWORDED

    def name(self, key: str) -> str:
        """Return the number, title and location of a source as Markdown."""
        title = self._sources[key].shown_title
        name = f"[{self._numbers[key]}] {plain_line(title)}"
        origin = self._sources[key].short_location
        if origin and origin != title:
            name += f" — {plain_line(origin)}"
        return name


def _plain(text: str) -> str:
    """Return a text without Markdown and line breaks, so that a changed layout makes no
    difference."""
    lines = [_MARKUP.sub(" ", line) for line in text.splitlines()]
    return " ".join(" ".join(lines).split())


def _source_change(source: Source, now: SourceReading) -> str:
    """Return in words how a source differs from what was read for the report; empty if it
    does not."""
    if not now.texts:
        return f"cannot be read now: {plain_line(now.reason)}"
    if now.source.location != source.location and source.kind == "document":
        return f"its text is now in {plain_line(now.source.short_location)}"
    if now.is_same or not source.content_hash:
        return ""
    return "its text has changed"

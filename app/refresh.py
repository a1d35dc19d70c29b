"""The `refresh` command: reads the sources of a finished report again and says which sentences
still hold."""

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

from ..core.evidence.checking.units import ReportUnit, report_units
from ..core.evidence.checking.verification import Verifier, checks_of
from ..core.evidence.citations.markers import settle_fences
from ..core.evidence.citations.rendering import (
    plain_line,
    short_location,
    shown_title,
    without_marks,
)
from ..core.models.resolve import is_extractive
from ..core.records.report import Report
from ..core.records.sources import Source
from ..core.run.context import within_scope
from ..core.run.conversation import safe_text
from ..core.writing.judging import Judgements, Texts, key_of
from .endings import reports_errors, run_interruptibly
from .output import spent_line
from .progress import PlainLines
from .settings import RunName, settings_from_options
from .source_check import SourceReading, begin_check, current_texts, load_verifier
from .stored import open_stored_run, report_of
from .terminal import check_output, deliver, say
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
        return "\n\n".join(
            [f"**{_STATES[self.state]}**", f"```diff\n{sign} {self.words}\n```", *self.grounds]
        )


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
        holds = (
            f"{counted(states['holds'], 'sentence')} {'holds' if states['holds'] == 1 else 'hold'}"
        )
        return (
            f"{holds}, {states['changed']} changed, {states['unchecked']} can no longer be checked"
        )

    def is_news(self, path: Path | None) -> bool:
        """Whether the result differs from the earlier one in this file; without a file, whether a
        sentence fails."""
        if path is None or not path.exists():
            return not self.holds
        now, before = (
            self.markdown().split("\n\n"),
            path.read_text("utf-8", "replace").strip().split("\n\n"),
        )
        # The third paragraph contains the dates, which always differ.
        return (now[:2], now[3:]) != (before[:2], before[3:])

    def markdown(self) -> str:
        """Return the result as Markdown."""
        head = [f"# {plain_line(self.title)}", f"**{self.summary}.**", plain_line(self.dates)]
        shown = [sentence.markdown() for sentence in self.sentences if sentence.state != "holds"]
        return safe_text("\n\n".join([*head, *shown, *self.tail])).rstrip()


@reports_errors
def refresh_run(
    thread: str, data_dir: Path | None, path: Path | None, *, is_for_news: bool, **options: Any
) -> int:
    """Read the sources of a report again and print or write the result; the run itself stays
    unchanged.

    With `is_for_news`, print and write nothing unless there is something new.
    """
    given = settings_from_options(**options)
    check_output(path)
    with redirect_stderr(StringIO()) if is_for_news else nullcontext():
        found, cost = run_interruptibly(
            PlainLines().during(_refreshed(RunName(safe_text(thread), data_dir), given))
        )
    if is_for_news and not found.is_news(path):
        return DONE
    is_delivered = deliver(found.markdown(), path)
    say(f"{found.summary}.\n{cost}")
    code = CHANGED if is_for_news else DONE if found.holds else FAILED
    return code if is_delivered else FAILED


async def _refreshed(name: RunName, given: Mapping[str, Any]) -> tuple[Refreshed, str]:
    """Read and judge again the sources of a run's report; return the result, and the costs in
    words."""
    async with open_stored_run(name) as (book, stored):
        report, run = report_of(stored, name), stored.state.run
        context = within_scope(await book.settings(stored, given), run.scope)
        await load_verifier(context)
        sources = {key: stored.state.sources[key] for key in report.sources if key}
        texts_stored = await book.texts(stored, report)
    # The text that was read for the report, or else the search excerpts.
    before = {
        key: [text for text in texts_stored[key] if text.content_hash == source.content_hash]
        or [*texts_stored[key]]
        for key, source in sources.items()
    }
    say(f"reading again: {counted(len(sources), 'source')}")
    text, read = settle_fences(without_marks(report.text)), current_texts(context, run)
    check = await begin_check(text, report.keys, sources, read, run, context)
    now = check.readings
    comparison = await asyncio.to_thread(_Comparison, report, text, sources, before, now)
    if not is_extractive("verifier", context) and (
        wanted := await asyncio.to_thread(comparison.parts_to_judge)
    ):
        say(f"checking {counted(len(wanted), 'sentence')} of the report again")
        comparison.verdicts = await check.judge(wanted)
    today = context.clock.now().strftime("%A, %B %d, %Y")
    dates = f"The report of {run.date}, read again on {today}."
    changes = {key: _source_change(source, now[key]) for key, source in sources.items()}
    differ = [f"- {comparison.name(key)}: {words}" for key, words in changes.items() if words]
    notes = [f"- {plain_line(note)}" for note in check.failures]
    parts = (("Sources", differ), ("Notes", notes))
    tail = ["\n".join([f"## {title}", "", *lines]) for title, lines in parts if lines]
    found = Refreshed(
        stored.title, dates, await asyncio.to_thread(lambda: [*comparison.sentences()]), tail
    )
    return found, f"Spent: {spent_line(check.costs)}."


class _Comparison:
    """Compares the source texts read for a report with the current ones."""

    def __init__(
        self,
        report: Report,
        text: str,
        sources: Mapping[str, Source],
        before: Texts,
        now: Mapping[str, SourceReading],
    ) -> None:
        """`text` is that of the report, without marks; `before` are the texts that were read for
        it, by source key."""
        self.verdicts: Judgements = {}
        """Verdicts of the model on the parts that it judged."""
        self._sources, self._now = sources, now
        self._numbers = {key: number for number, key in report.keys.items()}
        self._then_verifier = Verifier(before)
        self._now_verifier = Verifier({key: read.texts for key, read in now.items()})
        self._plain_now = {
            key: _plain("\n".join(text.text for text in read.texts)) for key, read in now.items()
        }
        # Sentences that were already unsupported are left to `audit`.
        unsupported = {
            words for words, check in checks_of(report) if check.verdict == "unsupported"
        }
        units = [unit for unit in report_units(text, report.keys) if unit.raw not in unsupported]
        self._units: list[ReportUnit] = []
        """Parts of the report that cite sources, and parts that quote the sources cited next in the
        same paragraph."""
        for index, unit in enumerate(units):
            citing = next((other for other in units[index:] if other.sources), None)
            if citing is unit:
                self._units.append(unit)
            elif citing and "\n" not in text[unit.end : citing.start]:
                keys = tuple(
                    key for key in citing.sources if self._then_verifier.is_quoted(unit, key)
                )
                self._units += [unit._replace(sources=keys)] if keys else []

    def parts_to_judge(self) -> list[ReportUnit]:
        """Return the parts that a model must judge: their passage is gone from a source that can
        still be read."""
        return [
            unit
            for unit in self._units
            if any(self._now[key].texts for key in self._lost_sources(unit))
        ]

    def _lost_sources(self, unit: ReportUnit) -> list[str]:
        """Return the sources that lost the passage behind a part; empty if one still has the part
        word for word."""
        if any(self._now_verifier.is_quoted(unit, key) for key in unit.sources):
            return []
        changed = [key for key in unit.sources if not self._now[key].is_same]
        passages = {key: _plain(self._then_verifier.passage(unit, key).quote) for key in changed}
        return [
            key
            for key, passage in passages.items()
            if not passage or passage not in self._plain_now[key]
        ]

    def sentences(self) -> Iterator[RecheckedSentence]:
        """Yield each sentence that cites a source, in the order of the report, with its state."""
        for _, units in groupby(self._units, key=lambda unit: unit.sentence_start):
            parts = [*units]
            grounds = dict.fromkeys(ground for unit in parts for ground in self._grounds(unit))
            states = {state for state, _ in grounds}
            state: State = "changed" if "changed" in states else "unchecked" if states else "holds"
            yield RecheckedSentence(
                " ".join(parts[0].sentence.split()), state, tuple(words for _, words in grounds)
            )

    def _grounds(self, unit: ReportUnit) -> Iterator[tuple[State, str]]:
        """Yield each reason why a part does not hold: a state, and the model's verdict or a
        comparison as Markdown."""
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
            quotes = [
                f"> {title}: {plain_line(words)}"
                for title, words in (("Then", before), ("Now", after))
                if words
            ]
            yield (
                state,
                "\n\n".join([f"{self.name(key)}: {plain_line(reason or _REWORDED)}.", *quotes]),
            )

    def name(self, key: str) -> str:
        """Return the number, title and location of a source as Markdown."""
        title, origin = shown_title(self._sources[key]), short_location(self._sources[key])
        shown = f"[{self._numbers[key]}] {plain_line(title)}"
        return f"{shown} — {plain_line(origin)}" if origin and origin != title else shown


def _plain(text: str) -> str:
    """Return a text without Markdown and line breaks, so that a changed layout makes no
    difference."""
    return " ".join(" ".join(_MARKUP.sub(" ", line) for line in text.splitlines()).split())


def _source_change(source: Source, now: SourceReading) -> str:
    """Return in words how a source differs from what was read for the report; empty if it
    does not."""
    if not now.texts:
        return f"cannot be read now: {plain_line(now.reason)}"
    if now.source.location != source.location and source.kind == "document":
        return f"its text is now in {plain_line(short_location(now.source))}"
    return "" if now.is_same or not source.content_hash else "its text has changed"

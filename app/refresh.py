"""Read the sources of a finished report again, and say which of its sentences hold: the command `refresh`."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from itertools import groupby
from pathlib import Path
from typing import Any

from ..core.evidence.checking.reaudit import checks_of
from ..core.evidence.checking.source_text import SourceText
from ..core.evidence.checking.units import Unit, units_of
from ..core.evidence.checking.verification import Verifier
from ..core.evidence.citations.markers import settle_fences
from ..core.evidence.citations.rendering import source_place, without_marks
from ..core.evidence.text.sentences import sections_of
from ..core.models.resolve import check_models, is_extractive, load_models
from ..core.records.report import CitedPassage, Report
from ..core.records.sources import Source
from ..core.run.context import within_scope
from ..core.run.conversation import clean
from ..core.run.events.call import SilentEvents
from ..core.run.events.log import Emitter
from ..core.run.events.packets import Placement
from ..core.writing.examination import Examination
from ..core.writing.fill_in import Filler
from ..core.writing.judging import SHOWN, Evidence, Judgement, Key, key_of
from .endings import reports_errors, run_interruptibly
from .export import no_report_yet
from .exports.refreshed import (
    Ground,
    Refreshed,
    Sentence,
    SourceNow,
    State,
    refreshed_markdown,
)
from .output import spent_line
from .progress import PlainLines
from .reread import Reread, reread
from .run_name import RunName
from .stored import kept_run
from .terminal import check_output, deliver, say
from .words import DONE, FAILED, counted

_JUDGED: Mapping[str, str] = {
    "contradicted": "the source says something else now",
    "not_found": "the source no longer says it",
    "wrong_source": "another source says it now, and this one no longer does",
}
"""What a model's verdict on a sentence means for the reader."""
REWORDED = "the source words it otherwise now; whether it says the same is left to the reader"
GONE = "the source no longer says it in these words"
NOT_KEPT = "the text that was read for the report is no longer kept"
ONLY_EXCERPT = "only a search excerpt of it was read for the report, and its page does not say so in these words"
_MARKUP = re.compile(r"[*_`#>|]+|^\s*[-+•]\s")


@reports_errors
def refresh_run(thread: str, given: Mapping[str, Any], data_dir: Path | None, path: Path | None) -> int:
    """Read the sources of a run's report again and write what that found; the run stays as it is."""
    check_output(path)
    found, cost = run_interruptibly(PlainLines().during(_refreshed(RunName(clean(thread), data_dir), given)))
    is_delivered = deliver(refreshed_markdown(found), path)
    say(f"{found.summary}.\n{cost}")
    return DONE if found.counts["holds"] == len(found.sentences) and is_delivered else FAILED


async def _refreshed(name: RunName, given: Mapping[str, Any]) -> tuple[Refreshed, str]:
    """Return which sentences hold and what changed, and in words what reading and judging cost."""
    async with kept_run(name) as (book, stored):
        report, run = stored.state.report, stored.state.run
        if report is None:
            raise no_report_yet(stored, name)
        context = within_scope(await book.settings(stored, given), run.scope)
        await load_models(context)
        for notice in check_models(("verifier", "writer"), context):
            say(f"Note: {notice}")
        sources = [stored.state.sources[key] for key in report.sources]
        kept = await book.texts(stored, report)
    before = {source.key: _read(source, kept[source.key]) for source in sources}
    say(f"reading again: {counted(len(sources), 'source')}")
    now, fetched = await reread(sources, context, run, _say_indexed)
    comparison = await asyncio.to_thread(_Comparison, report, stored.state.sources, before, now)
    events = SilentEvents(Emitter(lambda _: None), Placement(turn_index=0))
    filler = Filler(context, run, events, events.placement)
    is_judged = not is_extractive("verifier", context)
    if is_judged and (wanted := await asyncio.to_thread(comparison.parts_to_judge)):
        say(f"judging again: {counted(len(wanted), 'part')} of the report")
        sources_now = {**stored.state.sources, **{key: one.source for key, one in now.items()}}
        examination = Examination(
            comparison.text, report.keys, comparison.texts, sources_now, context, filler, run.language_code
        )
        comparison.verdicts, rewrites = await examination.examine_parts(wanted)
        comparison.rewritten = {rewrite.fault.start: rewrite.raw for rewrite in rewrites}
    refreshed = Refreshed(
        thread=stored.thread,
        question=run.question,
        asked=run.date,
        read=context.clock.now().strftime("%A, %B %d, %Y"),
        sentences=await asyncio.to_thread(comparison.sentences),
        sources=[
            SourceNow(number, stored.state.sources[key], _how(stored.state.sources[key], now[key]))
            for number, key in report.keys.items()
        ],
        notes=filler.failures,
    )
    return refreshed, f"Spent: {spent_line({'sources': fetched, **events.bill.costs})}."


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
        self.texts = {key: one.texts for key, one in now.items()}
        self.verdicts: Mapping[Key, Judgement] = {}
        """What a model says of the parts that it was asked about."""
        self.rewritten: Mapping[int, str] = {}
        """Sentences that a model corrected, by where the old ones begin."""
        self._sources, self._now = sources, now
        self._numbers = {key: number for number, key in report.keys.items()}
        self._verifier, self._verifier_now = Verifier(before), Verifier(self.texts)
        self._shown_before, self._shown_now = (Evidence(texts, sources, report.keys) for texts in (before, self.texts))
        self._edits = {key: _Edits(before[key], one.texts) for key, one in now.items() if not one.is_same}
        # What was not supported before is for `audit`.
        unsupported = {words for words, check in checks_of(report) if check.verdict == "unsupported"}
        units = [unit for unit in units_of(self.text, report.keys) if unit.raw not in unsupported]
        self._units = [*self._with_sources(units)]

    def _with_sources(self, units: Sequence[Unit]) -> Iterator[Unit]:
        """Yield the parts that cite a source, and quotes of what the next part of their paragraph cites."""
        for place, unit in enumerate(units):
            citing = next((other for other in units[place:] if other.sources), None)
            if citing is unit:
                yield unit
            elif citing and "\n" not in self.text[unit.end : citing.start]:
                keys = tuple(key for key in citing.sources if self._verifier.is_quoted(unit, key))
                yield from [unit._replace(sources=keys)] if keys else []

    def parts_to_judge(self) -> list[Unit]:
        """Return the parts that are no quotes and for which a model would be shown other passages than before."""
        return [
            unit
            for unit in self._units
            if any(self.texts[key] for key in unit.sources)
            and any(self._looks_different(unit, key) for key in unit.sources)
            and not self._is_quoted_now(unit)
        ]

    def _is_quoted_now(self, unit: Unit) -> bool:
        return any(self._verifier_now.is_quoted(unit, key) for key in unit.sources)

    def _looks_different(self, unit: Unit, key: str) -> bool:
        if key in self._edits and not self._sources[key].content_hash:
            return not self._edits[key].around(self._verifier.passage(unit, key))[2]
        before, now = (each.shown([(unit, [key])], SHOWN) for each in (self._shown_before, self._shown_now))
        return key in self._edits and before[0]["passages"] != now[0]["passages"]

    def sentences(self) -> list[Sentence]:
        """Return the sentences that cite a source, each with what became of it."""
        sections, found = sections_of(self.text), list[Sentence]()
        for start, units in groupby(self._units, key=lambda unit: unit.sentence_start):
            parts = [*units]
            grounds = dict.fromkeys(ground for unit in parts for ground in self._grounds(unit))
            states = {state for state, _ in grounds}
            found.append(
                Sentence(
                    section=next((section.heading for section in sections if start < section.end), ""),
                    before=parts[0].sentence,
                    now=self.rewritten.get(start, ""),
                    state="changed" if "changed" in states else "unchecked" if states else "holds",
                    grounds=tuple(ground for _, ground in grounds),
                )
            )
        return found

    def _grounds(self, unit: Unit) -> list[tuple[State, Ground]]:
        """Return why a part does not hold: a quote or a verdict decides, else whether its passages stand."""
        judged = self.verdicts.get(key_of(unit))
        if judged and judged.verdict == "unproved":
            # A yes without proof says no more than no answer.
            judged = None
        if self._is_quoted_now(unit) or (judged and judged.verdict not in _JUDGED):
            return []
        return [ground for key in unit.sources if (ground := self._ground(unit, key, judged))]

    def _ground(self, unit: Unit, key: str, judged: Judgement | None) -> tuple[State, Ground] | None:
        """Return what one source has against a part; none if nothing."""
        number, now = self._numbers[key], self._now[key]
        if not now.texts:
            return "unchecked", Ground(number, "", "", now.reason)
        if now.is_same:
            return None
        passage, is_excerpt = self._verifier.passage(unit, key), not self._sources[key].content_hash
        before, after, stands = self._edits[key].around(passage)
        if judged and (judged.verdict == "contradicted" or not is_excerpt):
            after = self._edits[key].sentence_with(judged.words) or after
            return "changed", Ground(number, before, after, _JUDGED[judged.verdict])
        if stands:
            return None
        if is_excerpt or not before:
            return "unchecked", Ground(number, before, after, ONLY_EXCERPT if is_excerpt else NOT_KEPT)
        return "changed", Ground(number, before, after, REWORDED if after else GONE)


class _Edits:
    """The sentences of a source's old and new text."""

    def __init__(self, before: Sequence[SourceText], now: Sequence[SourceText]) -> None:
        self._before = {text.content_hash: text for text in before}
        old = {_plain(sentence) for text in before for sentence in _sentences(text)}
        self._now = [sentence for text in now for sentence in _sentences(text)]
        self._standing = {_plain(sentence) for sentence in self._now}
        self._new = {plain: sentence for sentence in self._now if (plain := _plain(sentence)) not in old}

    def around(self, passage: CitedPassage) -> tuple[str, str, bool]:
        """Return the sentences of an old passage, those in their place now, and whether all still stand there."""
        text = self._before.get(passage.content_hash)
        old = [*_sentences(text, passage.start, passage.end)] if text else []
        now = [sentence if _plain(sentence) in self._standing else self._likest(sentence) for sentence in old]
        return " ".join(old), " ".join(filter(None, now)), bool(old) and old == now

    def _likest(self, sentence: str) -> str:
        """Return the new sentence that is most like an old one; empty if none is like it."""
        return next((self._new[plain] for plain in get_close_matches(_plain(sentence), self._new, 1)), "")

    def sentence_with(self, words: str) -> str:
        """Return the new sentence that contains these words; empty if none does."""
        wanted = _plain(words)
        return next((sentence for sentence in self._now if wanted and wanted in _plain(sentence)), "")


def _sentences(text: SourceText, start: int = 0, end: int = sys.maxsize) -> Iterator[str]:
    for sentence in text.sentences:
        if sentence.start < end and start < sentence.end:
            yield " ".join(text.text[sentence.start : sentence.end].split())


def _plain(text: str) -> str:
    return " ".join(_MARKUP.sub(" ", text).split())


def _read(source: Source, texts: Sequence[SourceText]) -> list[SourceText]:
    """Return what was read of a source: its text, else the excerpts that searches showed."""
    return [text for text in texts if text.content_hash == source.content_hash] or [*texts]


def _how(source: Source, now: Reread) -> str:
    """Return in words how a source differs from before; empty if it does not."""
    if not now.texts:
        return f"cannot be read now: {now.reason}"
    if now.source.location != source.location and source.kind == "document":
        return f"its text stands in {source_place(now.source)} now"
    return "" if now.is_same or not source.content_hash else "its text has changed"


def _say_indexed(done: int, total: int) -> None:
    if done == total:
        say(f"documents indexed: {done} of {total}")

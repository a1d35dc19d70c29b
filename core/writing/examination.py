"""Checks a report unit by unit, and has unsupported statements corrected."""

from __future__ import annotations

import asyncio
import math
import re
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from functools import cached_property, partial
from itertools import chain
from types import MappingProxyType
from typing import Any, NamedTuple

from ...prompts import fenced_knowledge
from ..concurrency import in_pieces
from ..errors import ToolsMissing
from ..evidence.checking.calculator import answer_on
from ..evidence.checking.proof import (
    OtherPremises,
    ProofPassage,
    doubt_without_judge,
    gives_results,
    not_stated,
)
from ..evidence.checking.source_text import words_and_figures
from ..evidence.checking.units import ReportUnit, report_units
from ..evidence.checking.verification import Verifier
from ..evidence.citations.citing import (
    Edit,
    known_citations,
    with_edits,
    without_citations_of,
)
from ..evidence.citations.markers import marker_numbers, replace_markers
from ..evidence.citations.rendering import LONGEST_VALUE
from ..evidence.citations.sanitizing import sanitized
from ..evidence.exclusion import ExcludedSources
from ..evidence.text.language import is_written_in
from ..evidence.text.numbers import numbers_in
from ..evidence.text.sentences import LINE_MARK
from ..evidence.text.words import WORDS, stems, tokens
from ..models.resolve import RoleModels, profile_of
from ..records.report import (
    CitedPassage,
    CitingText,
    ClaimCheck,
    ClaimVerdict,
    DecidedBy,
    JudgeGrade,
    Repair,
    Report,
    Shown,
    SupportVerdict,
    UnitVerdict,
)
from ..records.research import Calculation
from ..records.sources import Source
from ..records.table import Quotation
from ._calculation_citations import CorrectedCitations, WrongPart
from ._judging import (
    SECOND_LOOK,
    TITLE_KINDS,
    Evidence,
    Judgements,
    Texts,
    UnitJudgement,
    UnitKey,
    judge,
    judgement_on_corrected,
    key_of,
    proved,
)
from ._kept import (
    Decided,
    KeptJudgement,
    KeptVerdicts,
    Unchanged,
    kept_verdicts,
    read_kept,
)
from ._remaining import MixedStatements, SupportLeft, lacks_figures
from ._trial import judge_grade, known_grade
from .forms import Filler, Form

_SENTENCES_PER_CALL = 40
"""Maximum number of sentences to correct in one call."""
_CODE_OR_HEADING = re.compile(r"`|^\s{0,3}#")
_BARS = re.compile(r"(?<!\\)\|")
_RESERVED_EVERY = 4
"""Every `_RESERVED_EVERY`-th call of the verifier's model is reserved for corrected sentences."""
_ROUNDS = 2
"""Number of correction rounds: first table heads and labels, then the cells that do not match
them."""
_MOST_QUOTED = 3
"""Maximum number of passages of a source that are shown for a statement."""
_JOINED_CHARACTERS = 600
"""Maximum characters of the passage shown for several quotations from one text."""
_LEAST_LIKE = 0.3
"""Minimum likeness (0 to 1) of a corrected unit to the old one, by `SequenceMatcher`."""
_UNSURE = frozenset(WORDS["unsure"].split())
"""Words that make a statement uncertain or limited to some cases."""
OpenPages = Callable[[Sequence[str]], Awaitable[tuple[Texts, Mapping[str, Source]]]]
"""Opens the pages of sources, given their keys; returns the texts and the sources of those that
could be read, by key."""


class RewrittenSentence(Form):
    """A corrected sentence of the report."""

    number: int
    """Its number in the list."""
    text: str
    """The new sentence with its citations, such as [3]."""


class RewriteSentences(Form):
    """Hand in the sentences."""

    sentences: list[RewrittenSentence]
    """The sentences that can be corrected."""


class Fault(NamedTuple):
    """A sentence or table row that is partly wrong."""

    raw: str
    """Its text as in the report."""
    start: int
    """Its offset in the report."""
    wrong: tuple[tuple[ReportUnit, UnitJudgement], ...]
    """Its wrong units with their judgements."""
    new: str = ""
    """The corrected sentence with its citation markers; empty until the writer has answered."""

    @property
    def units(self) -> list[ReportUnit]:
        """Its wrong units."""
        return [unit for unit, _ in self.wrong]

    @property
    def starts(self) -> set[int]:
        """The offsets of its wrong units."""
        return {unit.start for unit in self.units}

    @property
    def texts(self) -> list[str]:
        """The texts of its wrong units."""
        return [unit.text for unit in self.units]


async def _ask_rewrites(
    faults: Sequence[Fault], evidence: Evidence, filler: Filler, calls: int
) -> list[Fault]:
    """Ask the writer's model for corrected sentences in at most `calls` calls.

    Returns those fit to replace the old ones.
    """
    rewritten: dict[int, Fault] = {}
    end = min(len(faults), calls * _SENTENCES_PER_CALL)
    for start in range(0, end, _SENTENCES_PER_CALL):
        batch = faults[start : start + _SENTENCES_PER_CALL]
        shown = [_shown(number, fault, evidence) for number, fault in enumerate(batch, 1)]
        try:
            form = await filler.ask_if_possible(
                RewriteSentences,
                "writer",
                "verify_report",
                (),
                asked="sentences",
                knowledge=fenced_knowledge(sentences=shown),
            )
        except ToolsMissing:
            # Without corrections, wrong statements are marked.
            return []
        if form is None:
            continue
        for sentence in form.sentences:
            if not 0 < sentence.number <= len(batch):
                continue
            fault = batch[sentence.number - 1]
            new = _replacement(fault, sentence.text, evidence)
            if new:
                rewritten[fault.start] = fault._replace(new=new)
    return list(rewritten.values())


def _shown(number: int, fault: Fault, evidence: Evidence) -> dict[str, Any]:
    """Return a faulty sentence as shown to the writer's model.

    It says what is wrong, and what the sources say instead.
    """
    wrong = list[dict[str, Any]]()
    unexplained = list[ReportUnit]()
    near = list[str]()
    around: str | None = None
    for unit, judgement in fault.wrong:
        if around is None and (unit.rests_on or unit.kind == "intro"):
            around = unit.around
        entry = dict[str, Any]()
        if unit.raw != fault.raw:
            entry["words"] = unit.raw
        calculations = evidence.cited_calculations(unit)
        if calculations:
            entry["calculations"] = [answer_on(calculation) for calculation in calculations]
        if judgement.right:
            entry["right"] = judgement.right
        else:
            entry["verdict"] = judgement.verdict
        if judgement.words:
            entry["source_says"] = judgement.words
            entry["sources"] = evidence.numbers_of(judgement.sources)
        wrong.append(entry)
        if not judgement.passages and not judgement.right:
            unexplained.append(unit)
            near += evidence.keys_for(unit, is_second_look=True)
    shown: dict[str, Any] = {"number": number, "sentence": fault.raw}
    if around:
        shown["in"] = around
    shown["wrong"] = wrong
    # Where the judge gave neither a quotation nor a correction, the writer needs passages.
    near = list(dict.fromkeys(near))
    passages = evidence.shown([(unit, near) for unit in unexplained], SECOND_LOOK)
    if passages:
        shown["passages"] = passages
    return shown


def _replacement(fault: Fault, text: str, evidence: Evidence) -> str:
    """Return the cleaned new sentence, or an empty string if it must not replace the old one."""
    old = fault.raw
    line = LINE_MARK.sub("", " ".join(text.split()))
    line_mark = LINE_MARK.match(old)
    if line_mark:
        line = line_mark.group() + line
    adds_code_or_heading = _CODE_OR_HEADING.search(line) and not _CODE_OR_HEADING.search(old)
    if not tokens(line) or sanitized(line) != line or adds_code_or_heading:
        return ""
    # A table row must keep its number of cells.
    if len(_BARS.findall(line)) != len(_BARS.findall(old)):
        return ""
    old_words = _words_in(old)
    new_words = _words_in(line)
    if not _are_in_order(_right_words(fault), new_words):
        return ""
    if set(stems(" ".join(old_words))).isdisjoint(stems(" ".join(new_words))):
        return ""
    wrong = list[WrongPart]()
    for unit, judgement in fault.wrong:
        judged_by = evidence.numbers_of(judgement.sources)
        wrong.append(WrongPart(unit.text, unit.calculations, judged_by))
    citations = CorrectedCitations(old, wrong, evidence.calculations)
    line = citations.fitted(line)
    old_markers = marker_numbers(old)
    new_markers = citations.markers_left(line)
    if any(unit.is_cited for unit in fault.units):
        # It must cite as many sources as before, or fewer if it has fewer words. More are fit only
        # if the judge has quoted them, as for a statement that several sources bear out together.
        least = len(old_markers)
        if len(new_words) < len(old_words):
            least = 0
        known = {*old_markers, *evidence.numbers.values()}
        if len(new_markers) > len(old_markers):
            known = {*old_markers}.union(*(part.sources for part in wrong))
        is_cited = least <= len(new_markers) and known.issuperset(new_markers)
    else:
        is_cited = new_markers == old_markers
    if not is_cited:
        return ""
    return line


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _right_words(fault: Fault) -> list[str]:
    """Return the words of a faulty sentence outside its wrong units, in order."""
    right = list[str]()
    end = 0
    for unit in sorted(fault.units, key=lambda unit: unit.start):
        right += _words_in(fault.raw[end : unit.start - fault.start])
        end = unit.end - fault.start
    return right + _words_in(fault.raw[end:])


def _are_in_order(words: Sequence[str], text_words: Iterable[str]) -> bool:
    """Whether a text has all these words in this order; there may be others between them."""
    matched = 0
    for text_word in text_words:
        if matched < len(words) and words[matched] == text_word:
            matched += 1
    return matched == len(words)


def _words_in(raw: str) -> list[str]:
    """Return the words of a text, without its citation markers."""
    return tokens(replace_markers(raw, " "))


def _keeps_citations(units: Sequence[ReportUnit], fault: Fault, new: Sequence[ReportUnit]) -> bool:
    """Whether each right unit of a faulty sentence is in the new one, with its citations.

    `units` are those of the report before, `new` those of the rewritten sentence.
    """
    wrong = {unit.start for unit in fault.units}
    kept = set(map(_words_and_citations, new))
    for unit in units:
        if unit.sentence_start != fault.start or unit.start in wrong:
            continue
        is_cited = unit.is_cited or bool(unit.calculations)
        if is_cited and _words_and_citations(unit) not in kept:
            return False
    return True


def _words_and_citations(unit: ReportUnit) -> tuple[tuple[str, ...], frozenset[str | int]]:
    """Return a unit's own words, which stay when a cell's label changes, and its sources and
    calculations."""
    return tuple(tokens(unit.raw_words)), frozenset((*unit.sources, *unit.calculations))


def _with_rewrites(rewrites: Sequence[Fault], text: str) -> str:
    """Return the report with these sentences replaced."""
    edits = [Edit(fault.start, fault.start + len(fault.raw), fault.new) for fault in rewrites]
    return with_edits(text, edits)


def _new_units(fault: Fault, text: str, sources: Mapping[int, str]) -> list[ReportUnit]:
    """Return the units (checkable statements) of a rewritten sentence, parsed within the report.

    Uncited ones are also compared with the sources quoted when the original sentence was judged.
    """
    quoted = list[str]()
    for _, judgement in fault.wrong:
        quoted += judgement.sources
    end = fault.start + len(fault.new)
    units = list[ReportUnit]()
    for unit in report_units(_with_rewrites([fault], text), sources):
        if not fault.start <= unit.start < end:
            continue
        if unit.sources:
            units.append(unit)
        else:
            nearby = dict.fromkeys([*quoted, *unit.nearby])
            units.append(unit._replace(nearby=tuple(nearby)))
    return units


class Examined(NamedTuple):
    """Result of an examination."""

    text: str
    """Body of the report, with `[0]` for citations of unknown sources."""
    keys: Mapping[int, str]
    """Keys of the cited sources by their numbers."""
    claims: tuple[ClaimCheck, ...]
    """Checks of the report's claims, with passages."""
    verdicts: tuple[UnitVerdict, ...]
    """Outcome for each unit of the draft."""
    grade: JudgeGrade | None
    """How far the model that judges can be trusted; None if none has judged any unit."""
    contradicted: Mapping[int, str]
    """What the sources say instead of a claim that they contradict, by the claim's offset; empty if
    that is not clear."""


async def may_judge(filler: Filler) -> bool:
    """Whether the verifier's model can be trusted to judge; it is tried if it never was."""
    return await judge_grade(filler) != "unsound"


class Examination:
    """The check of one report: judges its units and has the wrong ones corrected."""

    def __init__(
        self,
        report: CitingText,
        texts: Texts,
        sources: Mapping[str, Source],
        filler: Filler,
        language_code: str,
        calculations: Iterable[Calculation] = (),
        asked: Sequence[str] = (),
        kept: Sequence[str] = (),
        changed_calculations: Collection[int] = (),
        open_pages: OpenPages | None = None,
        judge_calls: int = 0,
        may_ask: Callable[[], bool] = lambda: True,
        quotations: Mapping[str, Sequence[Quotation]] = MappingProxyType({}),
        on_progress: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Prepare the examination of a report.

        `texts` are the stored texts of the sources that it cites or may cite, and `sources` all
        sources, by key; `language_code` (ISO 639-1) is empty if unknown; `calculations` are
        those of the thread; `asked` are the user's own messages, oldest first, whose
        figures the report may use; `kept` are verdicts of earlier examinations in the thread as
        they were stored (`kept_verdicts`), later ones last, and `changed_calculations` the numbers
        of the calculations that have changed since. `open_pages` opens the pages of statements that
        would be corrected or marked though only search excerpts of their sources were read; without
        it, these decide. `judge_calls` of the report's calls to the verifier's model were made
        before. `may_ask` says whether the budget of the run allows a further call. `quotations`:
        see `Evidence`. `on_progress` is given a line, each another one, when `examine` gets on.
        """
        self.texts = texts
        """The texts of the sources by key, with those of the pages that were opened."""
        self._open_pages = open_pages
        # Keys of the sources whose pages were opened, or could not be.
        self._opened = set[str]()
        self._verifier = Verifier(texts)
        self._filler = filler
        self._context = filler.context
        self._language_code = language_code
        self._kept = kept
        self._changed_calculations = changed_calculations
        self._text = report.text
        cited = report.keys
        others = {sources[key].number: key for key in texts if key not in cited.values()}
        # Cited sources come first and keep their numbers.
        self._sources = {**cited, **others, **cited}
        shown = {key: texts.get(key, ()) for key in self._sources.values()}
        self._evidence = Evidence(shown, sources, self._sources, calculations, asked, quotations)
        # The units of a text with these sources, since it changes seldom.
        self._parsed: tuple[tuple[str, Mapping[int, str]], list[ReportUnit]] | None = None
        self._judged: dict[UnitKey, UnitJudgement] = {}
        # Units whose judgement was dropped because an unreadable source may overturn it.
        self._undecided = set[UnitKey]()
        self._grade: JudgeGrade | None = None
        # Units on which the model was asked a second time.
        self._asked_twice = set[UnitKey]()
        self._on_progress = on_progress
        self._in_draft = list[UnitKey]()
        # Units that wait for a verdict of the model.
        self._waiting = set[UnitKey]()
        # How many units of the draft are checked, as far as that was reported.
        self._reported = -1
        self._repairs: dict[str, Repair] = {}
        # What a unit was corrected to, and why, by its text.
        self._corrections: dict[str, tuple[str, str]] = {}
        # Units that a model was asked to judge or correct, to avoid asking again.
        self._sent_to_judge = set[UnitKey]()
        self._sent_to_writer = set[UnitKey]()
        limits = filler.context.limits
        self._may_ask = may_ask
        self.is_cut_off = False
        """Whether a call was left out because the budget of the run does not allow it."""
        self._judge_calls_left = max(0, limits.max_opinions - judge_calls)
        self.calls_made = 0
        """How many calls to the verifier's model were made to judge."""
        self._rewrites_left = limits.max_rewrites

    async def examine(self) -> Examined:
        """Judge every unit, except where nothing has changed that a kept verdict rests on.

        With `verify="repair"`, have wrong ones corrected and judge those again.
        """
        draft = await self._current_units()
        await self._take_kept(draft)
        self._in_draft = [key_of(unit) for unit in draft]
        may_repair = self._context.verify == "repair"
        if may_repair and not RoleModels(self._context).is_extractive("writer"):
            await self._judge(draft, self._calls_for_draft)
            for number in range(_ROUNDS):
                await self._rewrite(is_last=number == _ROUNDS - 1)
            await asyncio.to_thread(self._drop_surplus_citations)
        else:
            await self._judge(draft, self._judge_calls_left)
        verdicts = await self._verdicts(draft)
        cited = await asyncio.to_thread(known_citations, self._text, self._sources)
        self._text, self._sources = cited
        units = await self._current_units()
        checks = await in_pieces(self._check, units)
        claims = tuple(check for check in checks if check is not None)
        contradicted = dict[int, str]()
        for unit in units:
            judgement = self._judged.get(key_of(unit))
            if judgement and judgement.verdict == "contradicted" and judgement.words:
                contradicted[unit.start] = _said_instead(unit, judgement)
        grade = self._grade
        if not self._judged and grade != "unsound":
            # The model was tried, but then nothing was to be judged, or no call succeeded.
            grade = None
        return Examined(self._text, self._sources, claims, verdicts, grade, contradicted)

    def kept_verdicts(self) -> str:
        """Return the verdicts on the examined report with all that they rest on, as JSON, for the
        next check of the thread; empty if no model that can be trusted was asked.
        """
        if self._grade in (None, "unsound"):
            return ""
        units = self._units()
        judged = dict(self._judged)
        # The model would have been asked a second time on these, had there been calls left.
        for key in self._doubtful(units):
            if key not in self._asked_twice:
                del judged[key]
        wrong = set[UnitKey]()
        for unit in units:
            if self._is_known_wrong(unit):
                wrong.add(key_of(unit))
        decided = Decided(judged, wrong, self._asked_twice, self._sent_to_writer)
        judge_name = profile_of("verifier", self._context).at_server
        kept = kept_verdicts(judge_name, self._grade, units, decided, self._evidence)
        return kept.model_dump_json(exclude_defaults=True)

    async def _take_kept(self, units: Sequence[ReportUnit]) -> None:
        """Take the kept verdicts on units where nothing has changed that they rest on.

        Code proves them again, with each other as premises; one that comes out differently is not
        taken, nor what rests on it. None are taken from another model.
        """
        kept = await self._usable_kept()
        if not kept:
            return
        self._grade = kept[0].grade
        unchanged = list[Unchanged]()
        for verdicts in kept:
            unchanged.append(await asyncio.to_thread(Unchanged, verdicts, units, self._evidence))
        changed = set[UnitKey]()
        for unit in units:
            if not set(unit.calculations).isdisjoint(self._changed_calculations):
                changed.add(key_of(unit))
        is_proved = False
        while not is_proved:
            taken = dict[UnitKey, KeptJudgement]()
            for earlier in unchanged:
                taken |= earlier.judgements(changed)
            self._judged = {}
            self._asked_twice = set()
            for key, judgement in taken.items():
                self._judged[key] = judgement.unproved
                if judgement.was_asked_twice:
                    self._asked_twice.add(key)
            # Twice, as when they were judged: then all that are proved are premises.
            await self._prove(units)
            await self._prove(units)
            is_proved = True
            for key, judgement in taken.items():
                if self._judged[key].verdict != judgement.verdict:
                    changed.add(key)
                    is_proved = False
        if not taken:
            self._grade = None
            return
        self._filler.failures += self.notices
        # The writer has tried in vain to correct these.
        self._sent_to_writer.update(key for key in taken if taken[key].was_sent_to_writer)

    async def _usable_kept(self) -> list[KeptVerdicts]:
        """Return the kept verdicts, without those of another model, or of one that was not tried or
        failed."""
        if not self._kept or RoleModels(self._context).is_extractive("verifier"):
            return []
        judge_name = profile_of("verifier", self._context).at_server
        grade = await known_grade(self._context)
        usable = list[KeptVerdicts]()
        for kept in await self._read_kept():
            if (kept.judge, kept.grade) == (judge_name, grade):
                usable.append(kept)
        return usable

    async def _read_kept(self) -> list[KeptVerdicts]:
        """Return the kept verdicts that can be read."""
        readable = list[KeptVerdicts]()
        for text in self._kept:
            kept = await asyncio.to_thread(read_kept, text)
            if kept:
                readable.append(kept)
        return readable

    async def support_left(self, before: Report, excluded: ExcludedSources) -> SupportLeft:
        """Return which statements that cite excluded sources beside others are no longer supported;
        the report is the one without the excluded sources, `before` the one with them.

        A model judges what neither the other sources nor a kept verdict prove, unless a figure or
        name is missing there: that is shown to none.
        """
        units = await self._current_units()
        mixed = await asyncio.to_thread(MixedStatements, before, excluded.keys)
        context = self._context
        if context.verify == "off" or RoleModels(context).is_extractive("verifier"):
            kept = await self._read_kept()
            last = kept[-1] if kept else None
            return await asyncio.to_thread(mixed.support_left, units, last, self._evidence)
        unsupported = mixed.missing_in(units)
        undecided = mixed.among(units)
        if not undecided:
            return SupportLeft(tuple(unsupported))
        await self._take_kept(units)
        for kept_before in await self._usable_kept():
            found = await asyncio.to_thread(mixed.proved_by, kept_before, undecided, self._evidence)
            self._judged = {**found, **self._judged}
        lacking = list[ReportUnit]()
        for unit in undecided:
            if not self._is_settled(unit) and lacks_figures(unit, self._evidence):
                lacking.append(unit)
        await asyncio.to_thread(self._take_out, lacking, before, excluded)
        undecided = mixed.among(await self._current_units())
        await self._judge(undecided, self._judge_calls_left)
        unchecked = list[ReportUnit]()
        for unit in undecided:
            judgement = self._judged.get(key_of(unit))
            if judgement is None:
                if not self._is_settled(unit):
                    unchecked.append(unit)
            elif is_wrong(unit, judgement) and judgement.verdict != "wrong_source":
                lacking.append(unit)
        refuted = [unit for unit in undecided if unit in lacking]
        await asyncio.to_thread(self._take_out, refuted, before, excluded)
        unsupported += [unit.text for unit in lacking]
        return SupportLeft(tuple(unsupported), tuple(unchecked))

    def _take_out(
        self, units: Sequence[ReportUnit], before: Report, excluded: ExcludedSources
    ) -> None:
        """Take units out of the text, but for the part that stays, so that neither they nor their
        words beside others are judged or kept."""
        words = list[str]()
        for unit in units:
            words.append(unit.text)
        excluded = excluded.with_unproved(words, before)
        edits = list[Edit]()
        for unit in units:
            edits.append(Edit(unit.start, unit.end, excluded.part_left(unit)))
        self._text = with_edits(self._text, edits)

    def _drop_surplus_citations(self) -> None:
        """Take citations away whose source has no word of the statement, where the judge quotes
        another cited source that proves it."""
        edits = list[Edit]()
        for unit in self._units():
            judgement = self._judged.get(key_of(unit))
            if judgement is None or judgement.verdict != "supported":
                continue
            if unit.kind != "statement" or judgement.calculations:
                # A row's label also cites for its cells, and a calculation for its other inputs.
                continue
            deciding = set(judgement.sources).intersection(unit.sources)
            surplus = list[str]()
            for key in unit.sources:
                if key not in deciding and not self._shares_words(unit, key):
                    surplus.append(key)
            if not deciding or not surplus:
                continue
            kept = tuple(key for key in unit.sources if key not in surplus)
            words = without_citations_of(unit.raw, self._evidence.numbers_of(surplus))
            if words == unit.raw:
                # The citation stands in another cell of its row.
                continue
            edits.append(Edit(unit.start, unit.end, words))
            self._judged[key_of(unit._replace(sources=kept))] = judgement
            self._repairs[unit.text] = "cited anew"
        self._text = with_edits(self._text, edits)

    def _shares_words(self, unit: ReportUnit, key: str) -> bool:
        """Whether a source has a word or number of a unit, or its text is not known."""
        [known] = self._evidence.known([key]).values()
        wanted = words_and_figures(unit.text)
        for text in known.texts:
            if not wanted.isdisjoint(text.counts):
                return True
        return not known.texts

    def looked_up(self) -> str:
        """Return a notice on how many statements have their figures in the sources they cite."""
        found = 0
        missing = 0
        for unit in self._units():
            if not unit.sources or not unit.can_be_looked_up:
                continue
            if not_stated(unit, self._evidence.known(unit.sources)):
                missing += 1
            else:
                found += 1
        return (
            f"Numbers and quotations looked up in the sources cited: {found} found, "
            f"{missing} not found."
        )

    @cached_property
    def _judge_name(self) -> str:
        """Name of the verifier's model."""
        return profile_of("verifier", self._context).name

    @property
    def notices(self) -> list[str]:
        """Notices for the reader if the verifier's model failed its trial or a part of it."""
        if self._grade in (None, "reasoning"):
            return []
        judge = RoleModels(self._context).subject("verifier")
        choose = "You can choose another model (setting models, role verifier)."
        if self._grade == "quotations":
            return [
                f"{judge} judged what sources say in words, but in a test it did not reason "
                "soundly: what the report works out itself counts as verified only where a "
                f"calculation proves it. {choose}"
            ]
        return [
            f"{judge} could not tell right from wrong in a test, so the statements were looked up "
            f"word for word. {choose}"
        ]

    async def _current_units(self) -> list[ReportUnit]:
        """Return the units of the report as it is now; a changed report is parsed in a thread."""
        if self._is_parsed():
            return self._units()
        return await asyncio.to_thread(self._units)

    def _units(self) -> list[ReportUnit]:
        """Return the units of the report as it is now."""
        if self._parsed is None or not self._is_parsed():
            units = report_units(self._text, self._sources)
            self._parsed = (self._text, self._sources), units
        return self._parsed[1]

    def _is_parsed(self) -> bool:
        """Whether the report has not changed since its units were read."""
        return self._parsed is not None and self._parsed[0] == (self._text, self._sources)

    @property
    def _calls_for_draft(self) -> int:
        """Calls of the verifier's model for the draft; the others are for corrected sentences."""
        return self._judge_calls_left - self._judge_calls_left // _RESERVED_EVERY

    async def _judge(
        self, units: Sequence[ReportUnit], calls: int, report: Sequence[ReportUnit] = ()
    ) -> None:
        """Have a model judge units in at most `calls` calls.

        Verbatim quotations and units judged already are left out. `report` are all units of the
        report that they belong to, if it is not the current one.
        """
        if calls < 1 or RoleModels(self._context).is_extractive("verifier"):
            return
        open_units = await self._open_units(units)
        self._sent_to_judge.update(map(key_of, open_units))
        if not open_units or self._evidence.is_empty or not self._allows_call():
            return
        if self._grade is None:
            self._grade = await judge_grade(self._filler)
            self._filler.failures += self.notices
        if self._grade == "unsound":
            await self._read_pages(open_units)
            return
        report = report or await self._current_units()
        report = [unit for unit in report if not self._is_known_wrong(unit)]
        try:
            self._wait_for(map(key_of, open_units))
            judged, made = await judge(
                open_units, self._evidence, self._filler, calls, report, on_judged=self._note_first
            )
        except ToolsMissing:
            # With `trust_verifier` there is no trial that shows it earlier.
            self._grade = "unsound"
            return
        self._judged |= judged
        await self._prove(open_units)
        calls_left = calls - made
        with_pages = list[ReportUnit]()
        if calls_left > 0:
            with_pages = await self._read_pages(open_units)
        before = await asyncio.to_thread(self._doubtful, open_units)
        for unit in with_pages:
            before[key_of(unit)] = self._judged[key_of(unit)]
        doubtful = [unit for unit in open_units if key_of(unit) in before]
        if doubtful and not self._allows_call():
            calls_left = 0
        self._wait_for(before)
        again, more = await judge(
            doubtful, self._evidence, self._filler, calls_left, report, before, self._note_last
        )
        for key, judgement in again.items():
            was_supported = before[key].stated in ("supported", "reasoning")
            self._judged[key] = judgement._replace(was_supported=was_supported)
        self._asked_twice.update(again)
        # Without new pages, nothing has changed for others; more premises count for unproved ones.
        changed = open_units if with_pages else doubtful
        await self._prove(changed)
        for key, judgement in self._judged.items():
            if not self._is_decided(key, judgement):
                self._undecided.add(key)
        for key in self._undecided:
            self._judged.pop(key, None)
        self._judge_calls_left -= made + more
        self.calls_made += made + more

    def _note_first(self, judged: Judgements) -> None:
        """Note the verdicts of a first look; what was not found waits for the second."""
        found = set[UnitKey]()
        for key, judgement in judged.items():
            if judgement.stated != "not_found":
                found.add(key)
        self._wait_for(self._waiting - found)

    def _note_last(self, judged: Judgements) -> None:
        """Note the verdicts of a second look."""
        self._wait_for(self._waiting - judged.keys())

    def _wait_for(self, keys: Iterable[UnitKey]) -> None:
        """Note which units wait for a verdict; report how many of the draft do not, if these are
        more than before."""
        self._waiting = set(keys)
        checked = len([key for key in self._in_draft if key not in self._waiting])
        if self._in_draft and checked > self._reported:
            self._reported = checked
            total = _counted(len(self._in_draft), "statement")
            self._on_progress(f"Checking: {checked} of {total}")

    def _allows_call(self) -> bool:
        """Whether the budget of the run allows a further call, which there is a reason to make."""
        if not self._may_ask():
            self.is_cut_off = True
        return not self.is_cut_off

    async def _read_pages(self, units: Iterable[ReportUnit]) -> list[ReportUnit]:
        """Have the pages opened of units that would be corrected or marked though only search
        excerpts of their sources were read. Return the units of which a page could be read.
        """
        if self._open_pages is None:
            return []
        wrong = await self._wrong_on_excerpts(units)
        unread = dict[str, None]()
        for unit in wrong:
            unread |= dict.fromkeys(unit.sources)
        keys = list[str]()
        for key in unread:
            # A page that could not be opened before is not asked for again.
            is_untried = self._evidence.sources[key].extent == "excerpt"
            if is_untried and key not in self._opened:
                keys.append(key)
        if not keys:
            return []
        self._opened.update(keys)
        texts, read = await self._open_pages(keys)
        all_texts = {**self.texts}
        for key, whole in texts.items():
            all_texts[key] = [*whole, *self.texts.get(key, ())]
        self.texts = all_texts
        self._verifier = Verifier(all_texts)
        self._evidence.add_pages(texts, read)
        return [unit for unit in wrong if not texts.keys().isdisjoint(unit.sources)]

    async def _wrong_on_excerpts(self, units: Iterable[ReportUnit]) -> list[ReportUnit]:
        """Return the units that are to be corrected or marked, as far as they have been checked,
        though only search excerpts of their sources were read."""
        on_excerpts = [unit for unit in units if self._rests_on_excerpts(unit)]
        are_wrong = await in_pieces(self._would_be_marked, on_excerpts)
        wrong = list[ReportUnit]()
        for unit, is_marked in zip(on_excerpts, are_wrong, strict=True):
            if is_marked:
                wrong.append(unit)
        return wrong

    def _rests_on_excerpts(self, unit: ReportUnit) -> bool:
        """Whether a unit cites web sources of which only search excerpts were read."""
        for key in unit.sources:
            source = self._evidence.sources[key]
            if source.kind != "web" or source.content_hash:
                return False
        return bool(unit.sources)

    def _would_be_marked(self, unit: ReportUnit) -> bool:
        """Whether a unit is to be corrected or marked, as far as it has been checked."""
        judgement = self._judged.get(key_of(unit))
        if judgement:
            return is_wrong(unit, judgement)
        check = self._check_unjudged(unit)
        return check is not None and check.verdict == "unsupported"

    async def _open_units(self, units: Iterable[ReportUnit]) -> list[ReportUnit]:
        """Return the units that need a model and were not sent to it yet."""
        unsent = [unit for unit in units if key_of(unit) not in self._sent_to_judge]
        are_settled = await in_pieces(self._is_settled, unsent)
        open_units = list[ReportUnit]()
        for unit, is_settled in zip(unsent, are_settled, strict=True):
            if not is_settled:
                open_units.append(unit)
        return open_units

    def _is_decided(self, key: UnitKey, judgement: UnitJudgement) -> bool:
        """Whether a judgement is final, that is, no unread source cited by the unit could overturn
        it.
        """
        is_refuted = judgement.verdict == "contradicted" and judgement.passages
        if is_refuted or judgement.verdict in ("supported", "reasoning", "advice"):
            return True
        return all(known.texts for known in self._evidence.known(key[1]).values())

    def _doubtful(self, units: Sequence[ReportUnit]) -> dict[UnitKey, UnitJudgement]:
        """Return the judgements that a second look may change: "not found" and "unproved" ones,
        except those that rest on an assumption.

        A second look shows the model more passages.
        """
        doubtful = dict[UnitKey, UnitJudgement]()
        for unit in units:
            judgement = self._judged.get(key_of(unit))
            if judgement is None or judgement.verdict not in ("not_found", "unproved"):
                continue
            if judgement.doubt and judgement.doubt.kind == "assumption":
                continue
            if judgement.doubt or self._evidence.has_more(unit):
                doubtful[key_of(unit)] = judgement
        return doubtful

    async def _prove(self, units: Sequence[ReportUnit]) -> None:
        """Prove the judgements on these units, then once more what may rest on them.

        A statement is a premise of others only once it is proved itself, so none is proved in a
        circle.
        """
        current = [*await self._current_units(), *units]
        waiting = [unit for unit in units if key_of(unit) in self._judged]
        while waiting:
            premises = await asyncio.to_thread(self._premises, current)
            are_new_premises = await in_pieces(partial(self._prove_one, premises), waiting)
            if not any(are_new_premises):
                break
            waiting = [unit for unit in current if self._is_unproved(unit)]

    def _prove_one(self, premises: OtherPremises, unit: ReportUnit) -> bool:
        """Prove the judgement on a unit; return whether it is a new premise for others."""
        key = key_of(unit)
        before = self._judged[key]
        now = proved(
            unit,
            before,
            self._evidence,
            premises,
            self._grade or "quotations",
            is_final=key in self._asked_twice,
        )
        self._judged[key] = now
        is_new = now.verdict == "supported" != before.verdict
        return is_new or len(now.calculations) > len(before.calculations)

    def _is_known_wrong(self, unit: ReportUnit) -> bool:
        judgement = self._judged.get(key_of(unit))
        return judgement is not None and is_wrong(unit, judgement)

    def _is_unproved(self, unit: ReportUnit) -> bool:
        judgement = self._judged.get(key_of(unit))
        return judgement is not None and judgement.verdict == "unproved"

    def _is_settled(self, unit: ReportUnit) -> bool:
        """Whether a unit needs no model: it is judged already, or quotes a source that it cites."""
        if key_of(unit) in self._judged:
            return True
        return any(self._verifier.is_quoted(unit, key) for key in unit.sources)

    async def _verdicts(self, draft: Sequence[ReportUnit]) -> tuple[UnitVerdict, ...]:
        """Return the outcome for each unit of the draft."""
        units = await self._current_units()
        current: dict[UnitKey, ReportUnit] = {}
        # A cell keeps its words when its head or label is corrected.
        for old, new in zip(_cells(draft), _cells(units), strict=False):
            if old.raw == new.raw:
                current[key_of(old)] = new
        for unit in units:
            current[key_of(unit)] = unit

        def verdict(unit: ReportUnit) -> UnitVerdict:
            return self._verdict(unit, current.get(key_of(unit)))

        return tuple(await in_pieces(verdict, draft))

    def _verdict(self, draft: ReportUnit, unit: ReportUnit | None) -> UnitVerdict:
        """Return the outcome for a unit of the draft.

        `unit` is its current form, or None if it was corrected.
        """
        if unit is None:
            after, reason = self._corrections.get(draft.text, ("", ""))
            while after in self._corrections:
                after, _ = self._corrections[after]
            return UnitVerdict(text=draft.text, shown="corrected", after=after, reason=reason)
        shown: Shown
        judgement = self._judged.get(key_of(unit))
        decided_by: DecidedBy = ""
        if judgement is None:
            if self._is_settled(unit):
                shown = "supported"
                decided_by = "quotation"
            elif unit.is_cited and not unit.sources:
                # The unit cites a source that does not exist.
                shown = "marked"
            elif unit.kind in TITLE_KINDS:
                shown = "reasoning"
            else:
                shown = "not_verified"
            return UnitVerdict(text=unit.text, shown=shown, decided_by=decided_by)
        if judgement.verdict == "supported":
            shown = "supported"
        elif not is_wrong(unit, judgement):
            # A table head or label that is not wrong needs no source.
            shown = "reasoning"
        elif judgement.verdict == "unproved":
            shown = "not_verified"
        else:
            shown = "marked"
        source = ""
        if judgement.passages:
            source = judgement.passages[0].source
        reason = ""
        if shown in ("marked", "not_verified"):
            reason = _why_not(judgement)
        return UnitVerdict(
            text=unit.text,
            shown=shown,
            words=judgement.words,
            source=source,
            reason=reason,
            is_contradicted=shown == "marked" and judgement.verdict == "contradicted",
            decided_by=judgement.decided_by,
            calculations=judgement.calculations,
        )

    def _premises(self, units: Sequence[ReportUnit]) -> OtherPremises:
        """Return what statements may rest on besides sources.

        These are the user's request, the supported statements, today's date, and facts about the
        sources.
        """
        stated = [self._filler.date, self._evidence.reading]
        calculations = list[Calculation]()
        for unit in units:
            judgement = self._judged.get(key_of(unit))
            is_supported = self._is_settled(unit)
            if judgement is not None and judgement.grounds.supposed:
                # What follows from a supposition is no fact.
                continue
            if judgement is not None:
                is_supported = judgement.verdict == "supported"
                calculations += judgement.calculations
            if is_supported:
                stated.append(unit.text)
        distinct = tuple(dict.fromkeys(calculations))
        text = " ".join(unit.text for unit in units)
        return OtherPremises(
            self._evidence.request, " ".join(stated), distinct, text, self._filler.date
        )

    def _check(self, unit: ReportUnit) -> ClaimCheck | None:
        """Return the check of a unit with its passages, or None if it needs no source."""
        judgement = self._judged.get(key_of(unit))
        if judgement is None:
            return self._check_unjudged(unit)
        is_supported = judgement.verdict == "supported"
        has_proof_to_show = is_supported and unit.is_cited
        if not has_proof_to_show and not is_wrong(unit, judgement):
            return None
        reasons = _reasons(judgement)
        passages = list[CitedPassage]()
        for passage in self._passages(unit, judgement):
            verdict: SupportVerdict = "unsupported"
            if is_supported:
                verdict = "supported" if passage.source in judgement.sources else "unchecked"
            update = {"verdict": verdict, "judge": self._judge_name, "reasons": reasons}
            passages.append(passage.model_copy(update=update))
        return ClaimCheck(
            start=unit.start,
            end=unit.end,
            verdict="supported" if is_supported else "unsupported",
            passages=tuple(passages),
            repair=self._repairs.get(unit.text),
        )

    def _check_unjudged(self, unit: ReportUnit) -> ClaimCheck | None:
        """Return the check of a unit that no model has judged, or None if it needs no source."""
        needs_source = unit.is_cited or unit.states_figures
        if unit.kind in TITLE_KINDS or not needs_source:
            return None
        cited = self._evidence.cited_calculations(unit)
        if not unit.is_cited and gives_results(unit, cited):
            return None
        check = self._verifier.check(unit)
        check = check.model_copy(update={"repair": self._repairs.get(unit.text)})
        if self._grade == "unsound" and not self._is_settled(unit):
            # Without a model that can be trusted, only what no source has counts against a unit.
            known = self._evidence.known(self._sources.values())
            doubt = doubt_without_judge(unit, known, self._evidence.request)
            is_nowhere = doubt is not None and doubt.kind != "words"
            verdict: ClaimVerdict = "unsupported" if is_nowhere else "unchecked"
            check = check.model_copy(update={"verdict": verdict})
        return check

    def _passages(self, unit: ReportUnit, judgement: UnitJudgement) -> list[CitedPassage]:
        """Return the passages of each source that a unit cites: those that were quoted, the most
        similar one first, or else the best one."""
        proofs = sorted(judgement.passages, key=lambda proof: proof.shared_with(unit), reverse=True)
        passages = list[CitedPassage]()
        for key in unit.sources:
            quoted = list[ProofPassage]()
            for proof in proofs:
                if proof.content_hash and proof.source == key:
                    whole = _joined(proof, proofs)
                    if not any(other.has(whole) for other in quoted):
                        quoted.append(whole)
            passages += map(self._verifier.at, quoted[:_MOST_QUOTED])
            if not quoted:
                passages.append(self._verifier.passage(unit, key))
        return passages

    async def judge_cited(self, start: int = 0, most_calls: int | None = None) -> None:
        """Have a model judge the statements from an offset on that cite a source or a proved
        calculation, and the labels of tables with such statements, except where a kept verdict
        still holds; by default in as many calls as a draft may take.

        Other statements may rest on what follows in the report, or is still changed.
        """
        units = await self._current_units()
        await self._take_kept(units)
        tables = set[int]()
        for unit in units:
            if unit.is_cited and unit.table_start is not None:
                tables.add(unit.table_start)
        cited = list[ReportUnit]()
        for unit in units:
            is_named = unit.kind in ("label", "head") and unit.table_start in tables
            is_own = unit.is_cited or is_named or self._evidence.is_calculated(unit)
            if is_own and unit.start >= start:
                cited.append(unit)
        calls = self._calls_for_draft
        if most_calls is not None:
            calls = min(most_calls, calls)
        await self._judge(cited, calls)
        await self._withdraw_on_excerpts(cited)

    async def _withdraw_on_excerpts(self, units: Sequence[ReportUnit]) -> None:
        """Withdraw the judgements on units for which the check opens pages."""
        for unit in await self._wrong_on_excerpts(units):
            self._judged.pop(key_of(unit), None)

    async def judge_parts(self, units: Sequence[ReportUnit]) -> dict[ReportUnit, str]:
        """Have a model judge these units without correcting them; return the verdict on each that
        it judged (see `UnitOutcome`).
        """
        await self._judge(units, self._calls_for_draft)
        verdicts = dict[ReportUnit, str]()
        for unit in units:
            judgement = self._judged.get(key_of(unit))
            if judgement:
                verdicts[unit] = judgement.verdict
        return verdicts

    async def _rewrite(self, *, is_last: bool) -> None:
        """Have the writer's model correct faulty sentences, once each; judge the changed report."""
        faults = list[Fault]()
        for fault in _faults(await self._current_units(), self._judged):
            if not self._sent_to_writer.issuperset(map(key_of, fault.units)):
                faults.append(fault)
        if not is_last:
            # Leave cells and labels that depend on a wrong head or label to the next round.
            faults = _independent(faults)
        if faults and not self._allows_call():
            return
        if faults and not is_last:
            self._on_progress(f"Correcting {_counted(len(faults), 'sentence')}")
        for fault in faults:
            self._sent_to_writer.update(map(key_of, fault.units))
        if faults:
            rewrites = await self._accepted_rewrites(faults)
            self._text = _with_rewrites(rewrites, self._text)
        # A correction by code, such as of a cell's head, changes units too: they are judged anew.
        await self._judge(await self._current_units(), self._judge_calls_left)

    async def _accepted_rewrites(self, faults: Sequence[Fault]) -> list[Fault]:
        """Have the writer's model correct faults.

        Return the new sentences that are judged right.
        """
        rewrites = await _ask_rewrites(faults, self._evidence, self._filler, self._rewrites_left)
        self._rewrites_left -= math.ceil(len(faults) / _SENTENCES_PER_CALL)
        rewrites = [_with_source(fault, self._evidence) for fault in rewrites]
        new_units = await in_pieces(
            partial(_new_units, text=self._text, sources=self._sources), rewrites
        )
        pairs = list(zip(rewrites, new_units, strict=True))
        await asyncio.to_thread(self._derive_judgements, pairs)
        before = await self._current_units()
        known = set(map(key_of, before))
        corrected = _with_rewrites(rewrites, self._text)
        after = await asyncio.to_thread(report_units, corrected, self._sources)
        to_judge = list[ReportUnit]()
        befores = dict[UnitKey, str]()
        for unit in after:
            befores[key_of(unit)] = unit.before
            if key_of(unit) not in known:
                # A cell with another head or label makes another statement.
                to_judge.append(unit)
        for _, units in pairs:
            for unit in units:
                to_judge.append(unit._replace(before=befores.get(key_of(unit), unit.before)))
        # A sentence whose words changed may have named what the next one speaks of.
        following = defaultdict[int, list[ReportUnit]](list)
        for fault, units in pairs:
            if all(map(self._is_settled, units)):
                continue
            for unit in _next_sentence(fault, before):
                # The corrected sentence stands before it now.
                corrected = befores.get(key_of(unit), unit.before)
                following[fault.start].append(unit._replace(before=corrected))
        all_following = list(chain.from_iterable(following.values()))
        withdrawn = self._withdraw(all_following)
        await self._judge([*to_judge, *all_following], self._judge_calls_left, after)
        lost = self._restore(all_following, withdrawn)
        accepted = list[Fault]()
        present = {unit.text for unit in before}
        for fault, units in pairs:
            if not lost.isdisjoint(map(key_of, following.get(fault.start, ()))):
                continue
            if _keeps_citations(before, fault, units) and self._is_right(fault, units, present):
                accepted.append(fault)
                present.update(unit.text for unit in units)
                self._record_repair(fault, units)
        return accepted

    def _withdraw(self, units: Iterable[ReportUnit]) -> dict[UnitKey, UnitJudgement]:
        """Withdraw the judgements on units, so that they can be judged anew; return them by key."""
        withdrawn = dict[UnitKey, UnitJudgement]()
        for unit in units:
            key = key_of(unit)
            judgement = self._judged.pop(key, None)
            if judgement:
                withdrawn[key] = judgement
                self._sent_to_judge.discard(key)
        return withdrawn

    def _restore(
        self, units: Iterable[ReportUnit], withdrawn: Mapping[UnitKey, UnitJudgement]
    ) -> set[UnitKey]:
        """Restore the withdrawn judgements on units that were right, or were not judged again.

        Returns the keys of those that were right and have been judged wrong this time.
        """
        self._judged = {**withdrawn, **self._judged}
        lost = set[UnitKey]()
        for unit in units:
            key = key_of(unit)
            judgement = withdrawn.get(key)
            if judgement is None or is_wrong(unit, judgement):
                continue
            if is_wrong(unit, self._judged[key]):
                lost.add(key)
            self._judged[key] = judgement
        return lost

    def _derive_judgements(self, pairs: Sequence[tuple[Fault, Sequence[ReportUnit]]]) -> None:
        """Derive judgements on rewritten units from those on the old ones, where possible."""
        current = self._units()
        for fault, units in pairs:
            for unit in units:
                if self._is_settled(unit):
                    continue
                for before, judgement in fault.wrong:
                    derived = judgement_on_corrected(
                        unit, before, judgement, self._evidence, self._premises(current)
                    )
                    if derived:
                        self._judged[key_of(unit)] = derived

    def _is_right(
        self, fault: Fault, units: Sequence[ReportUnit], present: Collection[str]
    ) -> bool:
        """Whether a new sentence is supported, in the right language, and repeats nothing."""
        for unit in units:
            is_old = unit.text in fault.texts or unit.raw in fault.raw
            if unit.text in present and not is_old:
                return False
        if is_written_in(fault.new, self._language_code) is False:
            return False
        # If a row's label was corrected, its cells are judged with it and corrected in the next
        # round.
        is_label_only = {unit.kind for unit in fault.units} <= {"label"}
        for unit in units:
            if is_label_only and unit.kind != "label":
                continue
            judgement = self._judged.get(key_of(unit))
            if judgement and is_wrong(unit, judgement):
                return False
            if not self._is_settled(unit):
                return False
        return True

    def _record_repair(self, fault: Fault, units: Sequence[ReportUnit]) -> None:
        """Record how the units of a sentence were corrected."""
        known = set(map(key_of, fault.units))
        old_words = tokens(" ".join(fault.texts))
        for unit, judgement in fault.wrong:
            after = _corrected_text(unit, units)
            if after != unit.text:
                self._corrections[unit.text] = (after, "; ".join(_reasons(judgement)))
        for unit in units:
            if key_of(unit) in known or unit.raw in fault.raw:
                continue
            new_words = tokens(unit.text)
            added = set(new_words).difference(old_words)
            repair: Repair = "rewritten"
            if new_words == old_words:
                repair = "cited anew"
            elif added & _UNSURE:
                repair = "hedged"
            self._repairs[unit.text] = repair


def _corrected_text(unit: ReportUnit, new: Sequence[ReportUnit]) -> str:
    """Return the text of the new unit most like an old one; empty if the old one was taken out."""

    def likeness(other: ReportUnit) -> float:
        return SequenceMatcher(None, tokens(unit.text), tokens(other.text)).ratio()

    same_kind = [other for other in new if other.kind == unit.kind]
    best = max(same_kind, key=likeness, default=None)
    if best is None or likeness(best) < _LEAST_LIKE:
        return ""
    return best.text


def _next_sentence(fault: Fault, units: Sequence[ReportUnit]) -> list[ReportUnit]:
    """Return the units of the sentence after a faulty one; none if a heading or table follows."""
    following = list[ReportUnit]()
    for unit in units:
        if unit.sentence_start <= fault.start:
            continue
        is_next = not following or unit.sentence_start == following[0].sentence_start
        if not is_next or unit.kind != "statement":
            break
        following.append(unit)
    return following


def _with_source(fault: Fault, evidence: Evidence) -> Fault:
    """Return a rewritten sentence with the source that its correction comes from, if it is one
    statement without citations."""
    if len(fault.wrong) != 1 or marker_numbers(fault.new):
        return fault
    [(unit, judgement)] = fault.wrong
    numbers = evidence.numbers_of(judgement.sources[:1])
    is_whole = unit.kind == "statement" and unit.raw.strip() == fault.raw.strip()
    is_lead_in = fault.raw.rstrip().endswith(("*", "_"))
    if not is_whole or is_lead_in or not numbers or judgement.calculations:
        return fault
    return fault._replace(new=f"{fault.new} [{numbers[0]}]")


def _cells(units: Iterable[ReportUnit]) -> list[ReportUnit]:
    return [unit for unit in units if unit.kind == "cell"]


def _joined(passage: ProofPassage, others: Iterable[ProofPassage]) -> ProofPassage:
    """Return a passage extended to include others from the same text, up to the maximum length."""
    start, end = passage.start, passage.end
    for other in others:
        if (other.source, other.content_hash) != (passage.source, passage.content_hash):
            continue
        joined_start = min(start, other.start)
        joined_end = max(end, other.end)
        if joined_end - joined_start <= _JOINED_CHARACTERS:
            start, end = joined_start, joined_end
    return passage._replace(start=start, end=end)


def is_wrong(unit: ReportUnit, judgement: UnitJudgement) -> bool:
    """Whether a unit needs to be corrected or marked."""
    if judgement.verdict in ("supported", "reasoning", "advice"):
        return False
    if judgement.verdict in ("contradicted", "wrong_source") or unit.kind not in TITLE_KINDS:
        return True
    if judgement.verdict != "unproved":
        return False
    return bool(judgement.passages) and unit.has_number


def _faults(units: Sequence[ReportUnit], judged: Judgements) -> list[Fault]:
    """Return the sentences and rows with wrong units, in order.

    Left out are units that may be right: those that are unproved, and those that the model called
    supported before it did not find them.
    """
    by_sentence: dict[int, list[tuple[ReportUnit, UnitJudgement]]] = {}
    for unit in units:
        judgement = judged.get(key_of(unit))
        if judgement is None or not is_wrong(unit, judgement):
            continue
        may_be_right = judgement.verdict == "not_found" and judgement.was_supported
        if judgement.verdict != "unproved" and not may_be_right:
            by_sentence.setdefault(unit.sentence_start, []).append((unit, judgement))
    faults = list[Fault]()
    for start, wrong in by_sentence.items():
        first, _ = wrong[0]
        faults.append(Fault(first.sentence, start, tuple(wrong)))
    return faults


def _independent(faults: Sequence[Fault]) -> list[Fault]:
    """Return the faults without units that depend on a wrong head or label."""
    wrong = set[int]()
    for fault in faults:
        wrong |= fault.starts
    independent = list[Fault]()
    for fault in faults:
        pairs = [pair for pair in fault.wrong if wrong.isdisjoint(pair[0].rests_on)]
        if pairs:
            independent.append(fault._replace(wrong=tuple(pairs)))
    return independent


def _said_instead(unit: ReportUnit, judgement: UnitJudgement) -> str:
    """Return what sources say instead of a unit that they contradict: the figure of the same kind
    that it does not have, if there is one, or else their words."""
    values = set[float]()
    kinds = set[tuple[str, bool]]()
    for number in numbers_in(unit.text):
        values.add(number.value)
        kinds.add((number.measure, number.is_year))
    for words in (judgement.right, judgement.words):
        alike = set[str]()
        others = set[str]()
        for number in numbers_in(words):
            if number.value in values or not number.digits:
                continue
            others.add(number.digits)
            if (number.measure, number.is_year) in kinds:
                alike.add(number.digits)
        figures = alike or others
        if len(figures) == 1:
            return figures.pop()
    said = judgement.right or judgement.words
    return said if len(said) <= LONGEST_VALUE else ""


def _why_not(judgement: UnitJudgement) -> str:
    """Return why a wrong unit is not supported, beside its verdict and the words of its sources;
    may be empty."""
    if judgement.verdict == "wrong_source":
        return "another source says so"
    if judgement.verdict == "contradicted":
        if judgement.right:
            return f"it should say: {judgement.right}"
        return "" if judgement.words else "the source says something else"
    return judgement.doubt.message if judgement.doubt else ""


def _reasons(judgement: UnitJudgement) -> tuple[str, ...]:
    """Return why a unit is not supported, for the reader."""
    if judgement.verdict == "supported":
        return ()
    if judgement.verdict == "wrong_source":
        return ("another source says so",)
    if judgement.verdict == "unproved":
        reason = judgement.doubt.message if judgement.doubt else "no source proves it"
        return (f"not proved: {reason}",)
    if judgement.verdict != "contradicted":
        return ("the source does not say so",)
    reasons = ["the source says something else"]
    if judgement.words:
        reasons = [f"the source says: {judgement.words}"]
    if judgement.right:
        reasons.append(f"it should say: {judgement.right}")
    return tuple(reasons)

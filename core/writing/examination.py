"""Checks a report unit by unit, and asks the writer's model to correct statements that its sources do not support."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ...prompts import fenced_knowledge
from ..evidence.checking.proof import ProofPassage, has_something_to_look_up, not_stated, unproved
from ..evidence.checking.source_text import words_and_figures
from ..evidence.checking.units import ReportUnit, report_units, states_figures
from ..evidence.checking.verification import Verifier
from ..evidence.citations.citing import Edit, known_citations, with_edits
from ..evidence.citations.markers import marker_numbers, replace_markers
from ..evidence.citations.sanitizing import sanitized
from ..evidence.language import is_written_in
from ..evidence.text.quantities import numbers_in, plain_figures
from ..evidence.text.sentences import LINE_MARK
from ..evidence.text.words import UNSURE, stems, tokens
from ..models.resolve import is_extractive, profile_of
from ..records.report import CitedPassage, CitingText, ClaimCheck, Repair, Shown, SupportVerdict, UnitVerdict
from ..records.sources import Source
from .fill_in import Filler
from .forms import RewriteSentences
from .judging import (
    SECOND_LOOK,
    Evidence,
    Judgements,
    Texts,
    UnitJudgement,
    UnitKey,
    UnitOutcome,
    is_sound,
    judge,
    judgement_on_corrected,
    key_of,
)

_SENTENCES_PER_CALL = 40
"""Maximum number of sentences to correct in one call."""
_CODE_OR_HEADING = re.compile(r"`|^\s{0,3}#")
_BARS = re.compile(r"(?<!\\)\|")
_RESERVED_EVERY = 4
"""Every `_RESERVED_EVERY`-th call of the verifier's model is reserved for corrected sentences."""
_FEW_UNVERIFIED = 3
"""With fewer unverified statements than this, each is marked, even if they are more than half of a short report."""
_ROUNDS = 2
"""Number of correction rounds: first table heads and labels, then the cells that do not match them."""
_JOINED_CHARACTERS = 600
"""Maximum characters of the passage shown for several quotations from one text."""
_TITLE_KINDS = frozenset({"heading", "intro", "label", "head"})
"""Kinds of units that often state nothing: they are wrong only if sources contradict them or lack their number."""


class Fault(NamedTuple):
    """A sentence or table row that is partly wrong."""

    raw: str
    """Its text as in the report."""
    start: int
    """Its offset in the report."""
    wrong: tuple[tuple[ReportUnit, UnitJudgement], ...]
    """Its wrong units with their judgements."""
    new: str = ""
    """The corrected sentence with its citation markers; empty until the writer's model has answered."""


async def _ask_rewrites(faults: Sequence[Fault], evidence: Evidence, filler: Filler, calls: int) -> list[Fault]:
    """Ask the writer's model for corrected sentences in at most `calls` calls; return those fit to replace the old."""
    found: dict[int, Fault] = {}
    for start in range(0, min(len(faults), calls * _SENTENCES_PER_CALL), _SENTENCES_PER_CALL):
        asked = faults[start : start + _SENTENCES_PER_CALL]
        shown = [_shown(number, fault, evidence) for number, fault in enumerate(asked, 1)]
        form = await filler.ask_if_possible(
            RewriteSentences,
            "writer",
            "verify_report",
            (),
            asked="sentences",
            knowledge=fenced_knowledge(sentences=shown),
        )
        for sentence in form.sentences if form else ():
            fault = asked[sentence.number - 1] if 0 < sentence.number <= len(asked) else None
            if fault and (new := _replacement(fault, sentence.text, evidence.numbers)):
                found[fault.start] = fault._replace(new=new)
    return list(found.values())


def _shown(number: int, fault: Fault, evidence: Evidence) -> dict[str, Any]:
    """Return a faulty sentence as shown to the writer's model: what is wrong, and what the sources say instead."""
    wrong = list[dict[str, Any]]()
    for unit, judgement in fault.wrong:
        keys = dict.fromkeys(passage.source for passage in judgement.passages)
        sources = [evidence.numbers[key] for key in keys if key in evidence.numbers]
        wrong.append(
            {
                **({"words": unit.raw} if unit.raw != fault.raw else {}),
                **({"right": judgement.right} if judgement.right else {"verdict": judgement.verdict}),
                **({"source_says": judgement.words, "sources": sources} if judgement.passages else {}),
            }
        )
    around = next((unit.around for unit, _ in fault.wrong if unit.rests_on or unit.kind == "intro"), "")
    # Where the judge gave neither a quotation nor a correction, the writer needs passages.
    unexplained = [unit for unit, judgement in fault.wrong if not (judgement.passages or judgement.right)]
    near = list(dict.fromkeys(key for unit in unexplained for key in evidence.keys_for(unit, is_second_look=True)))
    passages = evidence.shown([(unit, near) for unit in unexplained], SECOND_LOOK)
    return {
        "number": number,
        "sentence": fault.raw,
        **({"in": around} if around else {}),
        "wrong": wrong,
        **({"passages": passages} if passages else {}),
    }


def _replacement(fault: Fault, text: str, numbers: Mapping[str, int]) -> str:
    """Return the cleaned new sentence, or an empty string if it must not replace the old one."""
    old, line = fault.raw, " ".join(text.split())
    found = LINE_MARK.match(old)
    line = (found.group() if found else "") + LINE_MARK.sub("", line)
    has_new_markup = sanitized(line) != line or (_CODE_OR_HEADING.search(line) and not _CODE_OR_HEADING.search(old))
    # A table row must keep its number of cells.
    if not tokens(line) or has_new_markup or len(_BARS.findall(line)) != len(_BARS.findall(old)):
        return ""
    # It must have all words that were not wrong, in order.
    right, end = list[str](), 0
    for unit, _ in sorted(fault.wrong, key=lambda pair: pair[0].start):
        right += _words_in(old[end : unit.start - fault.start])
        end = unit.end - fault.start
    right += _words_in(old[end:])
    before_words, new_words = _words_in(old), _words_in(line)
    following = iter(new_words)
    if not all(word in following for word in right):
        return ""
    if set(stems(" ".join(before_words))).isdisjoint(stems(" ".join(new_words))):
        return ""
    # It must cite as many sources as before, or fewer if it has fewer words.
    before, after = marker_numbers(old), marker_numbers(line)
    if any(unit.is_cited for unit, _ in fault.wrong):
        least = 0 if len(new_words) < len(before_words) else len(before)
        is_cited = least <= len(after) <= len(before) and {*after} <= {*before, *numbers.values()}
    else:
        is_cited = before == after
    return line if is_cited else ""


def _words_in(raw: str) -> list[str]:
    """Return the words of a text, without its citation markers."""
    return tokens(replace_markers(raw, " "))


def _keeps_citations(units: Sequence[ReportUnit], fault: Fault, new: Sequence[ReportUnit]) -> bool:
    """Whether each right unit of a faulty sentence is among the rewritten one's units (`new`), with its citations."""
    wrong = {unit.start for unit, _ in fault.wrong}
    right = [unit for unit in units if unit.sentence_start == fault.start and unit.is_cited and unit.start not in wrong]
    # A cell keeps its words when its label changes.
    left = {(tuple(tokens(unit.raw_words)), frozenset(unit.sources)) for unit in new}
    return all((tuple(tokens(unit.raw_words)), frozenset(unit.sources)) in left for unit in right)


def _with_rewrites(rewrites: Sequence[Fault], text: str) -> str:
    """Return the report with these sentences replaced."""
    return with_edits(text, [Edit(fault.start, fault.start + len(fault.raw), fault.new) for fault in rewrites])


def _new_units(fault: Fault, text: str, sources: Mapping[int, str]) -> list[ReportUnit]:
    """Return the units (checkable statements) of a rewritten sentence, parsed in the context of the report.

    Uncited ones are also compared with the sources quoted when the original sentence was judged.
    """
    end = fault.start + len(fault.new)
    decided = [passage.source for _, judgement in fault.wrong for passage in judgement.passages]
    units = [unit for unit in report_units(_with_rewrites([fault], text), sources) if fault.start <= unit.start < end]
    return [
        unit if unit.sources else unit._replace(nearby=(*dict.fromkeys([*decided, *unit.nearby]),)) for unit in units
    ]


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
    was_judged: bool
    """Whether a model has judged any unit."""
    undecided: int
    """Number of the draft's units that depend on an unreadable source."""

    @property
    def is_unverified(self) -> bool:
        """Whether more than half of a judged report is not verified, in which case no statement is marked."""
        stated = [verdict.shown for verdict in self.verdicts if verdict.shown != "reasoning"]
        unverified = stated.count("not_verified") - self.undecided
        return self.was_judged and unverified >= _FEW_UNVERIFIED and unverified > len(stated) / 2


class Examination:
    """The check of one report: judges its units and has the wrong ones corrected."""

    def __init__(
        self,
        report: CitingText,
        texts: Texts,
        sources: Mapping[str, Source],
        filler: Filler,
        language_code: str,
        calculations: Sequence[str] = (),
    ) -> None:
        """Prepare the examination of a report.

        `texts` are the stored texts of the sources that it cites or may cite, and `sources` all sources, by key;
        `language_code` (ISO 639-1) is empty if unknown; `calculations` by the researchers have one line each.
        """
        self._verifier, self._context, self._filler = Verifier(texts), filler.context, filler
        self._language_code = language_code
        self._text, cited = report.text, report.keys
        others = {sources[key].number: key for key in texts if key not in cited.values()}
        # Cited sources come first and keep their numbers.
        self._sources = {**cited, **others, **cited}
        shown = {key: texts.get(key, ()) for key in self._sources.values()}
        self._evidence = Evidence(shown, sources, self._sources, calculations)
        self._judged: dict[UnitKey, UnitJudgement] = {}
        # Units whose judgement was dropped because an unreadable source may overturn it.
        self._undecided = set[UnitKey]()
        self._is_sound: bool | None = None
        self._repairs: dict[str, Repair] = {}
        # Units that a model was asked to judge or correct, to avoid asking again.
        self._sent_to_judge, self._sent_to_writer = set[UnitKey](), set[UnitKey]()
        limits = filler.context.limits
        self._judge_calls_left, self._rewrites_left = limits.max_opinions, limits.max_rewrites

    async def examine(self) -> Examined:
        """Judge every unit; with `verify="repair"`, have wrong ones corrected and judge those again."""
        is_repaired = self._context.verify == "repair" and not is_extractive("writer", self._context)
        reserved = self._judge_calls_left // _RESERVED_EVERY if is_repaired else 0
        draft = self._units()
        await self._judge(draft, self._judge_calls_left - reserved)
        for number in range(_ROUNDS if is_repaired else 0):
            await self._rewrite(is_last=number == _ROUNDS - 1)
        verdicts = await asyncio.to_thread(self._verdicts, draft)
        self._text, self._sources = await asyncio.to_thread(known_citations, self._text, self._sources)
        was_judged = bool(self._judged or self._undecided) or self._is_sound is False
        claims = await asyncio.to_thread(self._checks)
        undecided = sum(key_of(unit) in self._undecided for unit in draft)
        return Examined(self._text, self._sources, claims, verdicts, was_judged, undecided)

    def looked_up(self) -> str:
        """Return a notice on how many cited statements have their numbers and quotations in the cited sources."""
        units = [unit for unit in self._units() if unit.sources and has_something_to_look_up(unit)]
        found = sum(not not_stated(unit, self._evidence.known(unit.sources)) for unit in units)
        return f"Numbers and quotations looked up in the sources cited: {found} found, {len(units) - found} not found."

    @property
    def notices(self) -> list[str]:
        """Notices for the reader if the verifier's model failed its trial."""
        if self._is_sound is not False:
            return []
        name = profile_of("verifier", self._context).name
        return [
            f"The statements were looked up word for word, without the verifier's model {name!r}: in a test, it could "
            "not tell right from wrong. You can choose another model (setting models, role verifier)."
        ]

    def _units(self) -> list[ReportUnit]:
        return report_units(self._text, self._sources)

    async def _judge(self, units: Sequence[ReportUnit], calls: int) -> None:
        """Have a model judge units in at most `calls` calls, except verbatim quotations and units judged already."""
        if calls < 1 or is_extractive("verifier", self._context):
            return
        left = [unit for unit in units if key_of(unit) not in self._sent_to_judge]
        open_units = await asyncio.to_thread(lambda: [unit for unit in left if not self._is_settled(unit)])
        self._sent_to_judge |= {key_of(unit) for unit in open_units}
        if not open_units or self._evidence.is_empty:
            return
        if self._is_sound is None:
            self._is_sound = await is_sound(self._filler)
            self._filler.failures += self.notices
        if not self._is_sound:
            return
        judged, made = await judge(open_units, self._evidence, self._filler, calls)
        self._judged |= judged
        before = await asyncio.to_thread(self._doubtful, open_units)
        doubtful = [unit for unit in open_units if key_of(unit) in before]
        again, more = await judge(doubtful, self._evidence, self._filler, calls - made, before)
        self._judged |= again
        self._undecided |= {key for key, judgement in self._judged.items() if not self._is_decided(key, judgement)}
        self._judged = {key: judgement for key, judgement in self._judged.items() if key not in self._undecided}
        self._judge_calls_left -= made + more

    def _is_decided(self, key: UnitKey, judgement: UnitJudgement) -> bool:
        """Whether a judgement is final, that is, no unread source cited by the unit could overturn it."""
        is_refuted = judgement.verdict == "contradicted" and judgement.passages
        if is_refuted or judgement.verdict in ("supported", "reasoning"):
            return True
        return all(known.texts for known in self._evidence.known(key[1]).values())

    def _doubtful(self, units: Sequence[ReportUnit]) -> dict[UnitKey, UnitJudgement]:
        """Return the judgements that a second look with more passages may change: "not found" and "unproved" ones."""
        premises, doubtful = self._premises(self._units()), dict[UnitKey, UnitJudgement]()
        for unit in units:
            judgement = self._judgement_on(unit, premises)
            if judgement is None or judgement.verdict not in ("not_found", "unproved"):
                continue
            if judgement.fault or self._evidence.has_more(unit):
                doubtful[key_of(unit)] = judgement
        return doubtful

    def _is_settled(self, unit: ReportUnit) -> bool:
        """Whether a unit needs no model: it is judged already, or a verbatim quotation of a source that it cites."""
        return key_of(unit) in self._judged or any(self._verifier.is_quoted(unit, key) for key in unit.sources)

    def _checks(self) -> tuple[ClaimCheck, ...]:
        """Return the checks of all units that need a source."""
        units = self._units()
        premises = self._premises(units)
        return tuple(check for unit in units if (check := self._check(unit, premises)))

    def _verdicts(self, draft: Sequence[ReportUnit]) -> tuple[UnitVerdict, ...]:
        """Return the outcome for each unit of the draft."""
        units = self._units()
        left, premises = {key_of(unit): unit for unit in units}, self._premises(units)
        # A cell keeps its words when its head or label is corrected.
        cells = ([unit for unit in each if unit.kind == "cell"] for each in (draft, units))
        kept = {key_of(old): new for old, new in zip(*cells, strict=False) if old.raw == new.raw}
        return tuple(self._verdict(unit, {**kept, **left}.get(key_of(unit)), premises) for unit in draft)

    def _verdict(self, draft: ReportUnit, unit: ReportUnit | None, premises: str) -> UnitVerdict:
        """Return the outcome for a unit of the draft; `unit` is its current form, or None if it was corrected."""
        if unit is None:
            return UnitVerdict(text=draft.text, shown="corrected")
        judgement = self._judgement_on(unit, premises)
        if judgement is None:
            unjudged: Shown = "reasoning" if unit.kind in _TITLE_KINDS else "not_verified"
            # The unit cites a source that does not exist.
            unjudged = "marked" if unit.is_cited and not unit.sources else unjudged
            return UnitVerdict(text=unit.text, shown="supported" if self._is_settled(unit) else unjudged)
        # A table head or label that is not wrong needs no source.
        unproved: Shown = "not_verified" if is_wrong(unit, judgement) else "reasoning"
        shown: dict[UnitOutcome, Shown] = {"supported": "supported", "unproved": unproved}
        return UnitVerdict(
            text=unit.text,
            shown=shown.get(judgement.verdict, "marked" if is_wrong(unit, judgement) else "reasoning"),
            words=judgement.words,
            source=next((passage.source for passage in judgement.passages), ""),
            operation="; ".join(judgement.calculation.lines),
        )

    def _premises(self, units: Sequence[ReportUnit]) -> str:
        """Return the words from which conclusions may be drawn: supported statements, and facts about the sources."""
        pairs = [(unit, self._judged.get(key_of(unit))) for unit in units]
        supported = [
            unit.text
            for unit, judgement in pairs
            if (judgement.verdict == "supported" if judgement else self._is_settled(unit))
        ]
        return " ".join([self._evidence.reading, *supported])

    def _judgement_on(self, unit: ReportUnit, premises: str) -> UnitJudgement | None:
        """Return the judgement on a unit, changed to "unproved" if it is a conclusion with a number from nowhere.

        The number must be in the quoted passages or, if the unit cites nothing, in the report's `premises`.
        """
        judgement = self._judged.get(key_of(unit))
        if judgement is None or judgement.verdict != "reasoning" or judgement.is_absence:
            return judgement
        quoted = " ".join(f"{passage.words} {passage.above}" for passage in judgement.passages)
        fault = unproved(unit, quoted if unit.is_cited else f"{quoted} {premises}", judgement.calculation)
        return judgement._replace(verdict="unproved", fault=fault) if fault else judgement

    def _check(self, unit: ReportUnit, premises: str) -> ClaimCheck | None:
        """Return the check of a unit with its passages, or None if it needs no source."""
        judgement = self._judgement_on(unit, premises)
        if judgement is None:
            if unit.kind in _TITLE_KINDS or not (unit.is_cited or states_figures(unit.text)):
                return None
            check = self._verifier.check(unit).model_copy(update={"repair": self._repairs.get(unit.text)})
            # If the model is not trusted, only verbatim quotations count as supported.
            is_doubtful = self._is_sound is False and not self._is_settled(unit)
            return check.model_copy(update={"verdict": "unsupported"}) if is_doubtful else check
        if not is_wrong(unit, judgement) and (judgement.verdict != "supported" or not unit.is_cited):
            return None
        passages = {key: self._verifier.passage(unit, key) for key in unit.sources}
        figures, words = plain_figures(unit.text), words_and_figures(unit.text)

        def shared(proof: ProofPassage) -> tuple[int, int]:
            return len(figures & plain_figures(proof.words)), len(words & words_and_figures(proof.words))

        # Show the reader the quotations that prove the verdict.
        proofs = sorted(judgement.passages, key=shared)
        passages |= {proof.source: self._verifier.at(_joined(proof, proofs)) for proof in proofs if proof.content_hash}
        is_supported = judgement.verdict == "supported"
        proved = {proof.source for proof in proofs}
        judge_name = profile_of("verifier", self._context).name

        def shown(passage: CitedPassage) -> CitedPassage:
            verdict: SupportVerdict = "unsupported"
            if is_supported:
                verdict = "supported" if passage.source in proved else "unchecked"
            return passage.model_copy(update={"verdict": verdict, "judge": judge_name, "reasons": _reasons(judgement)})

        return ClaimCheck(
            start=unit.start,
            end=unit.end,
            verdict="supported" if is_supported else "unsupported",
            passages=tuple(shown(passage) for key, passage in passages.items() if key in unit.sources),
            repair=self._repairs.get(unit.text),
        )

    async def judge_parts(self, units: Sequence[ReportUnit]) -> Judgements:
        """Have a model judge only these units, and none be corrected; return all judgements so far."""
        await self._judge(units, self._judge_calls_left - self._judge_calls_left // _RESERVED_EVERY)
        return dict(self._judged)

    async def _rewrite(self, *, is_last: bool) -> None:
        """Have the writer's model correct faulty sentences, once each, and judge the changed report."""
        faults = _faults(self._units(), self._judged)
        faults = [fault for fault in faults if not all(key_of(unit) in self._sent_to_writer for unit, _ in fault.wrong)]
        if not is_last:
            # Leave cells and labels that depend on a wrong head or label to the next round.
            wrong = {unit.start for fault in faults for unit, _ in fault.wrong}
            firm = [[pair for pair in fault.wrong if wrong.isdisjoint(pair[0].rests_on)] for fault in faults]
            faults = [fault._replace(wrong=tuple(own)) for fault, own in zip(faults, firm, strict=True) if own]
        self._sent_to_writer |= {key_of(unit) for fault in faults for unit, _ in fault.wrong}
        if faults:
            self._text = _with_rewrites(await self._accepted_rewrites(faults), self._text)
        # A cell's head may be corrected but not its label.
        await self._judge(self._units(), self._judge_calls_left)

    async def _accepted_rewrites(self, faults: Sequence[Fault]) -> list[Fault]:
        """Have the writer's model correct faults; return the new sentences that are judged right."""
        rewrites = await _ask_rewrites(faults, self._evidence, self._filler, self._rewrites_left)
        self._rewrites_left -= -(-len(faults) // _SENTENCES_PER_CALL)
        pairs = [(fault, _new_units(fault, self._text, self._sources)) for fault in rewrites]
        await asyncio.to_thread(self._derive_judgements, pairs)
        before = self._units()
        known = {key_of(unit) for unit in before}
        # A cell with another head or label makes another statement.
        changed = [
            unit
            for unit in report_units(_with_rewrites(rewrites, self._text), self._sources)
            if key_of(unit) not in known
        ]
        await self._judge([*changed, *(unit for _, units in pairs for unit in units)], self._judge_calls_left)
        taken, present = list[Fault](), {unit.text for unit in before}
        for fault, units in pairs:
            if _keeps_citations(before, fault, units) and self._is_right(fault, units, present):
                taken.append(fault)
                present |= {unit.text for unit in units}
                self._record_repair(fault, units)
        return taken

    def _derive_judgements(self, pairs: Sequence[tuple[Fault, Sequence[ReportUnit]]]) -> None:
        """Derive judgements on rewritten units from those on the old ones, where possible."""
        for fault, units in pairs:
            for unit in units:
                for before, judgement in () if self._is_settled(unit) else fault.wrong:
                    if follows := judgement_on_corrected(unit, before, judgement, self._evidence):
                        self._judged[key_of(unit)] = follows

    def _is_right(self, fault: Fault, units: Sequence[ReportUnit], present: Collection[str]) -> bool:
        """Whether a new sentence is supported, in the right language, and repeats nothing of the report."""
        wrong = {unit.text for unit, _ in fault.wrong}
        is_new = all(unit.text in wrong or unit.text not in present or unit.raw in fault.raw for unit in units)
        if not is_new or is_written_in(fault.new, self._language_code) is False:
            return False
        # If a row's label was corrected, its cells are judged with it and corrected in the next round.
        kinds = {unit.kind for unit, _ in fault.wrong}
        own = [unit for unit in units if unit.kind in kinds or not kinds <= {"label"}]
        pairs = [(unit, self._judged.get(key_of(unit))) for unit in own]
        return all(
            self._is_settled(unit) and not (judgement and is_wrong(unit, judgement)) for unit, judgement in pairs
        )

    def _record_repair(self, fault: Fault, units: Sequence[ReportUnit]) -> None:
        """Record how the units of a sentence were corrected."""
        wrong = [unit for unit, _ in fault.wrong]
        before, known = " ".join(unit.text for unit in wrong), {key_of(unit) for unit in wrong}
        for unit in units:
            if key_of(unit) not in known and unit.raw not in fault.raw:
                old, new = tokens(before), tokens(unit.text)
                changed: Repair = "hedged" if UNSURE & {*new} - {*old} else "rewritten"
                self._repairs[unit.text] = "cited anew" if old == new else changed


def _joined(passage: ProofPassage, others: Iterable[ProofPassage]) -> ProofPassage:
    """Return a passage extended to include others from the same text, up to the maximum length."""
    start, end = passage.start, passage.end
    for other in others:
        is_same_text = (other.source, other.content_hash) == (passage.source, passage.content_hash)
        if is_same_text and max(end, other.end) - min(start, other.start) <= _JOINED_CHARACTERS:
            start, end = min(start, other.start), max(end, other.end)
    return passage._replace(start=start, end=end)


def is_wrong(unit: ReportUnit, judgement: UnitJudgement) -> bool:
    """Whether a unit needs to be corrected or marked."""
    if judgement.verdict in ("supported", "reasoning"):
        return False
    has_number = judgement.verdict == "unproved" and bool(judgement.passages) and bool(numbers_in(unit.text))
    return judgement.verdict in ("contradicted", "wrong_source") or unit.kind not in _TITLE_KINDS or has_number


def _faults(units: Sequence[ReportUnit], judged: Judgements) -> list[Fault]:
    """Return the sentences and rows with wrong units, in order; unproved units are left, since they may be right."""
    by_sentence: dict[int, list[tuple[ReportUnit, UnitJudgement]]] = {}
    for unit in units:
        judgement = judged.get(key_of(unit))
        if judgement and judgement.verdict != "unproved" and is_wrong(unit, judgement):
            by_sentence.setdefault(unit.sentence_start, []).append((unit, judgement))
    return [Fault(wrong[0][0].sentence, start, tuple(wrong)) for start, wrong in by_sentence.items()]


def _reasons(judgement: UnitJudgement) -> tuple[str, ...]:
    """Return why a unit is not supported, for the reader."""
    if judgement.verdict == "supported":
        return ()
    if judgement.verdict == "contradicted":
        says = f"the source says: {judgement.words}" if judgement.words else "the source says something else"
        return (says, *([f"it should say: {judgement.right}"] if judgement.right else []))
    words = {"wrong_source": "another source says so", "unproved": f"not proved: {judgement.fault}"}
    return (words.get(judgement.verdict, "the source does not say so"),)

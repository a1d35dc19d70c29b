"""Checks a report unit by unit, and asks the writer's model to correct statements that its sources do not support."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ...prompts import fenced_knowledge
from ..evidence.checking.proof import ProofPassage, has_something_to_look_up, not_stated, unproved
from ..evidence.checking.source_text import SourceText, words_and_figures
from ..evidence.checking.units import ReportUnit, report_units, states_figures
from ..evidence.checking.verification import Verifier
from ..evidence.citations.citing import Edit, known_citations, with_edits
from ..evidence.citations.markers import Marker
from ..evidence.citations.sanitizing import sanitized
from ..evidence.citations.scanner import scan
from ..evidence.language import is_written_in
from ..evidence.text.quantities import numbers_in, plain_figures
from ..evidence.text.sentences import LINE_MARK
from ..evidence.text.words import UNSURE, stems, tokens
from ..models.resolve import is_extractive, profile_of
from ..records.report import CitedPassage, ClaimCheck, Repair, Shown, SupportVerdict, UnitVerdict
from ..records.sources import Source
from ..run.context import Context
from .fill_in import Filler
from .forms import RewriteSentences
from .judging import (
    MORE,
    Evidence,
    UnitJudgement,
    UnitKey,
    UnitOutcome,
    is_sound,
    judge,
    judgement_on_corrected,
    key_of,
)

_SENTENCES = 40
"""Maximum number of sentences to correct in one call."""
_FOREIGN = re.compile(r"`|^\s{0,3}#")
_BARS = re.compile(r"(?<!\\)\|")
_KEPT = 4
"""Every `_KEPT`-th call of the verifier's model is reserved for corrected sentences."""
_EVERYWHERE = 3
"""If fewer statements than this are unverified, they are always marked, however short the report is."""
_ROUNDS = 2
"""Number of correction rounds: first table heads and labels, then the cells that do not match them."""
_PASSAGE = 600
"""Maximum characters of a passage that joins several quotations used as proof."""
_NAMES = frozenset({"heading", "intro", "label", "head"})
"""Kinds of units that often state nothing; wrong only if sources contradict them or lack their number."""


class Fault(NamedTuple):
    """A sentence or table row that is partly wrong."""

    raw: str
    """Its text as in the report."""
    start: int
    """Its offset in the report."""
    wrong: tuple[tuple[ReportUnit, UnitJudgement], ...]
    """Its wrong units with their judgements."""
    new: str = ""
    """The sentence that is to replace it, with its citation markers."""


async def _ask_rewrites(faults: Sequence[Fault], evidence: Evidence, filler: Filler, calls: int) -> list[Fault]:
    """Ask the writer's model for new sentences in at most `calls` calls; return those that keep the right parts."""
    found: dict[int, Fault] = {}
    for start in range(0, min(len(faults), calls * _SENTENCES), _SENTENCES):
        asked = faults[start : start + _SENTENCES]
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
    wrong = list[dict[str, Any]]()
    for unit, said in fault.wrong:
        keys = dict.fromkeys(passage.source for passage in said.passages)
        sources = [evidence.numbers[key] for key in keys if key in evidence.numbers]
        wrong.append(
            {
                **({"words": unit.raw} if unit.raw != fault.raw else {}),
                **({"right": said.right} if said.right else {"verdict": said.verdict}),
                **({"source_says": said.words, "sources": sources} if said.passages else {}),
            }
        )
    around = next((unit.around for unit, _ in fault.wrong if unit.rests_on or unit.kind == "intro"), "")
    # The writer needs passages for units for which the judge gave neither a quotation nor a correction.
    blind = [unit for unit, said in fault.wrong if not (said.passages or said.right)]
    near = list(dict.fromkeys(key for unit in blind for key in evidence.keys_for(unit, is_second_look=True)))
    passages = evidence.shown([(unit, near) for unit in blind], MORE)
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
    is_foreign = sanitized(line) != line or (_FOREIGN.search(line) and not _FOREIGN.search(old))
    if not tokens(line) or is_foreign or len(_BARS.findall(line)) != len(_BARS.findall(old)):
        return ""
    # It must have all words that were not wrong, in order.
    right, end = list[str](), 0
    for unit, _ in sorted(fault.wrong, key=lambda pair: pair[0].start):
        right += _spoken(old[end : unit.start - fault.start])
        end = unit.end - fault.start
    right += _spoken(old[end:])
    said, new = _spoken(old), _spoken(line)
    following = iter(new)
    if not all(word in following for word in right) or set(stems(" ".join(said))).isdisjoint(stems(" ".join(new))):
        return ""
    # It must cite as many sources as before, or fewer if it has fewer words.
    before, after = _markers(old), _markers(line)
    if any(unit.is_cited for unit, _ in fault.wrong):
        least = 0 if len(new) < len(said) else len(before)
        is_cited = least <= len(after) <= len(before) and {*after} <= {*before, *numbers.values()}
    else:
        is_cited = before == after
    return line if is_cited else ""


def _spoken(raw: str) -> list[str]:
    return tokens("".join(part if isinstance(part, str) else " " for part in scan(raw)))


def _markers(raw: str) -> list[int]:
    return [number for part in scan(raw) if isinstance(part, Marker) for number in part.numbers]


def _keeps_citations(units: Sequence[ReportUnit], fault: Fault, new: Sequence[ReportUnit]) -> bool:
    """Whether each right unit of a sentence still has its citations; `units` are those of the whole report."""
    wrong = {unit.start for unit, _ in fault.wrong}
    right = [unit for unit in units if unit.sentence_start == fault.start and unit.is_cited and unit.start not in wrong]
    # A cell keeps its words when its label changes.
    left = {(tuple(tokens(unit.raw_words)), frozenset(unit.sources)) for unit in new}
    return all((tuple(tokens(unit.raw_words)), frozenset(unit.sources)) in left for unit in right)


def _with(rewrites: Sequence[Fault], text: str) -> str:
    return with_edits(text, [Edit(fault.start, fault.start + len(fault.raw), fault.new) for fault in rewrites])


def _new_units(fault: Fault, text: str, sources: Mapping[int, str]) -> list[ReportUnit]:
    """Return the units (checkable statements) of a rewritten sentence, parsed in the context of the report.

    Uncited ones are also compared with the sources quoted when the original sentence was judged.
    """
    end = fault.start + len(fault.new)
    decided = [passage.source for _, said in fault.wrong for passage in said.passages]
    units = [unit for unit in report_units(_with([fault], text), sources) if fault.start <= unit.start < end]
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
        return self.was_judged and unverified >= _EVERYWHERE and unverified > len(stated) / 2


class Examination:
    """Examines one report."""

    def __init__(
        self,
        text: str,
        cited: Mapping[int, str],
        texts: Mapping[str, Sequence[SourceText]],
        sources: Mapping[str, Source],
        context: Context,
        filler: Filler,
        language_code: str,
        calculations: Sequence[str] = (),
    ) -> None:
        """Prepare the examination of a report (`text`), which cites the sources `cited` (keys by number).

        `texts` are the stored texts of the sources that it cites or may cite, and `sources` all sources, by key;
        `language_code` (ISO 639-1) is empty if unknown; `calculations` by the researchers have one line each.
        """
        self._verifier, self._context, self._filler = Verifier(texts), context, filler
        self._language_code = language_code
        self._text = text
        others = {sources[key].number: key for key in texts if key not in cited.values()}
        self._sources = {**cited, **others, **cited}
        shown = {key: texts.get(key, ()) for key in self._sources.values()}
        self._evidence = Evidence(shown, sources, self._sources, calculations)
        self._judged: dict[UnitKey, UnitJudgement] = {}
        # Units whose judgement was dropped because an unreadable source may overturn it.
        self._undecided = set[UnitKey]()
        self._is_sound: bool | None = None
        self._repairs: dict[str, Repair] = {}
        # Units that a model was asked to judge or correct, to avoid asking again.
        self._put_to_judge, self._put_to_writer = set[UnitKey](), set[UnitKey]()
        self._judge_calls_left, self._rewrites_left = context.limits.max_opinions, context.limits.max_rewrites

    async def examine(self) -> Examined:
        """Judge every unit; with `verify="repair"`, have wrong ones corrected and judge those again."""
        is_repaired = self._context.verify == "repair" and not is_extractive("writer", self._context)
        reserved = self._judge_calls_left // _KEPT if is_repaired else 0
        draft = self._units()
        await self._judge(draft, self._judge_calls_left - reserved)
        for number in range(_ROUNDS if is_repaired else 0):
            await self._rewrite(is_last=number == _ROUNDS - 1)
        verdicts = await asyncio.to_thread(self._verdicts, draft)
        self._text, self._sources = await asyncio.to_thread(known_citations, self._text, self._sources)
        was_judged = bool(self._judged or self._undecided) or self._is_sound is False
        checks = await asyncio.to_thread(self._checks)
        undecided = sum(key_of(unit) in self._undecided for unit in draft)
        return Examined(self._text, self._sources, checks, verdicts, was_judged, undecided)

    def looked_up(self) -> str:
        """Say for how many cited sentences their sources contain the sentence's numbers and quotations."""
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
        """Have a model judge units in at most `calls` calls; skip verbatim quotations."""
        if calls < 1 or is_extractive("verifier", self._context):
            return
        left = [unit for unit in units if key_of(unit) not in self._put_to_judge]
        open_units = await asyncio.to_thread(lambda: [unit for unit in left if not self._is_settled(unit)])
        self._put_to_judge |= {key_of(unit) for unit in open_units}
        if not open_units or self._evidence.is_empty:
            return
        if self._is_sound is None:
            self._is_sound = await is_sound(self._context, self._filler)
            self._filler.failures += self.notices
        if not self._is_sound:
            return
        judged, made = await judge(open_units, self._evidence, self._filler, calls, self._context)
        self._judged |= judged
        before = await asyncio.to_thread(self._doubtful, open_units)
        doubtful = [unit for unit in open_units if key_of(unit) in before]
        again, more = await judge(doubtful, self._evidence, self._filler, calls - made, self._context, before)
        self._judged |= again
        self._undecided |= {key for key, said in self._judged.items() if not self._is_decided(key, said)}
        self._judged = {key: said for key, said in self._judged.items() if key not in self._undecided}
        self._judge_calls_left -= made + more

    def _is_decided(self, key: UnitKey, said: UnitJudgement) -> bool:
        """Whether a judgement is final, that is, no unread source cited by the unit could overturn it."""
        if said.verdict in ("supported", "reasoning") or (said.verdict == "contradicted" and said.passages):
            return True
        return all(known.texts for known in self._evidence.known(key[1]).values())

    def _doubtful(self, units: Sequence[ReportUnit]) -> dict[UnitKey, UnitJudgement]:
        """Return the judgements "not found" and "unproved" that a second look may change."""
        held, doubtful = self._held(self._units()), dict[UnitKey, UnitJudgement]()
        for unit in units:
            said = self._said(unit, held)
            if said and said.verdict in ("not_found", "unproved") and (said.fault or self._evidence.has_more(unit)):
                doubtful[key_of(unit)] = said
        return doubtful

    def _is_settled(self, unit: ReportUnit) -> bool:
        return key_of(unit) in self._judged or (
            bool(unit.sources) and any(self._verifier.is_quoted(unit, key) for key in unit.sources)
        )

    def _checks(self) -> tuple[ClaimCheck, ...]:
        units = self._units()
        held = self._held(units)
        return tuple(check for unit in units if (check := self._check(unit, held)))

    def _verdicts(self, draft: Sequence[ReportUnit]) -> tuple[UnitVerdict, ...]:
        units = self._units()
        left, held = {key_of(unit): unit for unit in units}, self._held(units)
        # A cell keeps its words when its head or label is corrected.
        cells = ([unit for unit in each if unit.kind == "cell"] for each in (draft, units))
        kept = {key_of(old): new for old, new in zip(*cells, strict=False) if old.raw == new.raw}
        return tuple(self._verdict(unit, {**kept, **left}.get(key_of(unit)), held) for unit in draft)

    def _verdict(self, draft: ReportUnit, unit: ReportUnit | None, held: str) -> UnitVerdict:
        """Return the outcome for a unit of the draft; `unit` is its current form, or None if it was corrected."""
        if unit is None:
            return UnitVerdict(text=draft.text, shown="corrected")
        said = self._said(unit, held)
        if said is None:
            unjudged: Shown = "reasoning" if unit.kind in _NAMES else "not_verified"
            # The unit cites a source that does not exist.
            unjudged = "marked" if unit.is_cited and not unit.sources else unjudged
            return UnitVerdict(text=unit.text, shown="supported" if self._is_settled(unit) else unjudged)
        # A table head or label that is not wrong needs no source.
        unproved: Shown = "not_verified" if is_wrong(unit, said) else "reasoning"
        shown: dict[UnitOutcome, Shown] = {"supported": "supported", "unproved": unproved}
        return UnitVerdict(
            text=unit.text,
            shown=shown.get(said.verdict, "marked" if is_wrong(unit, said) else "reasoning"),
            words=said.words,
            source=next((passage.source for passage in said.passages), ""),
            operation="; ".join(said.calculation.lines),
        )

    def _held(self, units: Sequence[ReportUnit]) -> str:
        """Return the possible premises of conclusions: facts about the sources, and supported statements."""
        pairs = [(unit, self._judged.get(key_of(unit))) for unit in units]
        held = [unit for unit, said in pairs if (said.verdict == "supported" if said else self._is_settled(unit))]
        return " ".join([self._evidence.reading, *(unit.text for unit in held)])

    def _said(self, unit: ReportUnit, held: str) -> UnitJudgement | None:
        """Return the judgement on a unit: "unproved" for a conclusion with a number that its premises lack."""
        said = self._judged.get(key_of(unit))
        if said is None or said.verdict != "reasoning" or said.is_absence:
            return said
        premises = " ".join(f"{passage.words} {passage.above}" for passage in said.passages)
        fault = unproved(unit, premises if unit.is_cited else f"{premises} {held}", said.calculation)
        return said._replace(verdict="unproved", fault=fault) if fault else said

    def _check(self, unit: ReportUnit, held: str) -> ClaimCheck | None:
        """Return the check of a unit, or None if it needs no source; `held` are the premises of conclusions."""
        said = self._said(unit, held)
        if said is None:
            if unit.kind in _NAMES or not (unit.is_cited or states_figures(unit.text)):
                return None
            check = self._verifier.check(unit).model_copy(update={"repair": self._repairs.get(unit.text)})
            # If the model is not trusted, only verbatim quotations count as supported.
            is_doubtful = self._is_sound is False and not self._is_settled(unit)
            return check.model_copy(update={"verdict": "unsupported"}) if is_doubtful else check
        if not is_wrong(unit, said) and (said.verdict != "supported" or not unit.is_cited):
            return None
        passages = {key: self._verifier.passage(unit, key) for key in unit.sources}
        figures, words = plain_figures(unit.text), words_and_figures(unit.text)

        def shared(proof: ProofPassage) -> tuple[int, int]:
            return len(figures & plain_figures(proof.words)), len(words & words_and_figures(proof.words))

        # Show the reader the quotations that prove the verdict.
        proofs = sorted(said.passages, key=shared)
        passages |= {proof.source: self._verifier.at(_joined(proof, proofs)) for proof in proofs if proof.content_hash}
        is_supported = said.verdict == "supported"
        proved = {proof.source for proof in proofs}
        judge_name = profile_of("verifier", self._context).name

        def shown(passage: CitedPassage) -> CitedPassage:
            verdict: SupportVerdict = "unsupported"
            if is_supported:
                verdict = "supported" if passage.source in proved else "unchecked"
            return passage.model_copy(update={"verdict": verdict, "judge": judge_name, "reasons": _reasons(said)})

        return ClaimCheck(
            start=unit.start,
            end=unit.end,
            verdict="supported" if is_supported else "unsupported",
            passages=tuple(shown(passage) for key, passage in passages.items() if key in unit.sources),
            repair=self._repairs.get(unit.text),
        )

    async def judge_parts(self, units: Sequence[ReportUnit]) -> Mapping[UnitKey, UnitJudgement]:
        """Judge only these units; return all judgements so far."""
        await self._judge(units, self._judge_calls_left - self._judge_calls_left // _KEPT)
        return dict(self._judged)

    async def _rewrite(self, *, is_last: bool) -> None:
        faults = _faults(self._units(), self._judged)
        faults = [fault for fault in faults if not all(key_of(unit) in self._put_to_writer for unit, _ in fault.wrong)]
        if not is_last:
            # Leave cells and labels that depend on a wrong head or label to the next round.
            wrong = {unit.start for fault in faults for unit, _ in fault.wrong}
            firm = [[pair for pair in fault.wrong if wrong.isdisjoint(pair[0].rests_on)] for fault in faults]
            faults = [fault._replace(wrong=tuple(own)) for fault, own in zip(faults, firm, strict=True) if own]
        self._put_to_writer |= {key_of(unit) for fault in faults for unit, _ in fault.wrong}
        if faults:
            self._text = _with(await self._rewrites(faults), self._text)
        # A cell's head may be corrected but not its label.
        await self._judge(self._units(), self._judge_calls_left)

    async def _rewrites(self, faults: Sequence[Fault]) -> list[Fault]:
        """Have the writer's model correct faults; return the new sentences that are judged right."""
        rewrites = await _ask_rewrites(faults, self._evidence, self._filler, self._rewrites_left)
        self._rewrites_left -= -(-len(faults) // _SENTENCES)
        pairs = [(fault, _new_units(fault, self._text, self._sources)) for fault in rewrites]
        await asyncio.to_thread(self._settle, pairs)
        before = self._units()
        known = {key_of(unit) for unit in before}
        # A cell with another head or label makes another statement.
        changed = [
            unit for unit in report_units(_with(rewrites, self._text), self._sources) if key_of(unit) not in known
        ]
        await self._judge([*changed, *(unit for _, units in pairs for unit in units)], self._judge_calls_left)
        taken, present = list[Fault](), {unit.text for unit in before}
        for fault, units in pairs:
            if _keeps_citations(before, fault, units) and self._is_right(fault, units, present):
                taken.append(fault)
                present |= {unit.text for unit in units}
                self._note(fault, units)
        return taken

    def _settle(self, pairs: Sequence[tuple[Fault, Sequence[ReportUnit]]]) -> None:
        """Derive judgements on rewritten units from those on the old ones, where possible."""
        for fault, units in pairs:
            for unit in units:
                for before, said in () if self._is_settled(unit) else fault.wrong:
                    if follows := judgement_on_corrected(unit, before, said, self._evidence):
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
        return all(self._is_settled(unit) and not (said and is_wrong(unit, said)) for unit, said in pairs)

    def _note(self, fault: Fault, units: Sequence[ReportUnit]) -> None:
        """Record how the units of a sentence were corrected."""
        wrong = [unit for unit, _ in fault.wrong]
        before, known = " ".join(unit.text for unit in wrong), {key_of(unit) for unit in wrong}
        for unit in units:
            if key_of(unit) not in known and unit.raw not in fault.raw:
                old, new = tokens(before), tokens(unit.text)
                changed: Repair = "hedged" if UNSURE & {*new} - {*old} else "rewritten"
                self._repairs[unit.text] = "cited anew" if old == new else changed


def _joined(passage: ProofPassage, others: Iterable[ProofPassage]) -> ProofPassage:
    """Extend a passage to include others in the same text, up to the maximum length."""
    start, end = passage.start, passage.end
    for other in others:
        is_same_text = (other.source, other.content_hash) == (passage.source, passage.content_hash)
        if is_same_text and max(end, other.end) - min(start, other.start) <= _PASSAGE:
            start, end = min(start, other.start), max(end, other.end)
    return passage._replace(start=start, end=end)


def is_wrong(unit: ReportUnit, said: UnitJudgement) -> bool:
    """Whether a unit needs to be corrected or marked."""
    if said.verdict in ("supported", "reasoning"):
        return False
    has_number = said.verdict == "unproved" and bool(said.passages) and bool(numbers_in(unit.text))
    return said.verdict in ("contradicted", "wrong_source") or unit.kind not in _NAMES or has_number


def _faults(units: Sequence[ReportUnit], judged: Mapping[UnitKey, UnitJudgement]) -> list[Fault]:
    """Return the sentences and rows with wrong units; unproved ones are excluded, since they may be right."""
    by_sentence: dict[int, list[tuple[ReportUnit, UnitJudgement]]] = {}
    for unit in units:
        said = judged.get(key_of(unit))
        if said and said.verdict != "unproved" and is_wrong(unit, said):
            by_sentence.setdefault(unit.sentence_start, []).append((unit, said))
    return [Fault(wrong[0][0].sentence, start, tuple(wrong)) for start, wrong in by_sentence.items()]


def _reasons(said: UnitJudgement) -> tuple[str, ...]:
    """Return why a unit is not supported, for the reader."""
    if said.verdict == "supported":
        return ()
    if said.verdict == "contradicted":
        says = f"the source says: {said.words}" if said.words else "the source says something else"
        return (says, *([f"it should say: {said.right}"] if said.right else []))
    words = {"wrong_source": "another source says so", "unproved": f"not proved: {said.fault}"}
    return (words.get(said.verdict, "the source does not say so"),)

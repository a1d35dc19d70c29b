"""Examines a report unit by unit, and has the writer's model correct what its sources do not support."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ...prompts import fenced_knowledge
from ..evidence.checking.proof import ProofPassage, has_something_to_look_up, not_stated, unproved
from ..evidence.checking.source_text import SourceText, words_and_figures
from ..evidence.checking.units import ReportUnit, states_figures, units_of
from ..evidence.checking.verification import Verifier
from ..evidence.citations.citing import Edit, known_citations, with_edits
from ..evidence.citations.markers import Marker
from ..evidence.citations.sanitizing import sanitized
from ..evidence.citations.scanner import scan
from ..evidence.language import is_written_in
from ..evidence.text.quantities import figures_of, numbers_in
from ..evidence.text.sentences import LINE_MARK
from ..evidence.text.words import UNSURE, stems, tokens
from ..models.resolve import is_extractive, profile_of
from ..records.report import CitedPassage, ClaimCheck, Repair, Shown, SupportVerdict, UnitVerdict
from ..records.sources import Source
from ..run.context import Context
from .fill_in import Filler
from .forms import RewriteSentences
from .judging import MORE, Evidence, Key, UnitJudgement, Verdict, judge, judgement_on_corrected, key_of
from .trial import is_sound

SENTENCES = 40
"""Sentences of one call."""
_FOREIGN = re.compile(r"`|^\s{0,3}#")
_BARS = re.compile(r"(?<!\\)\|")
KEPT = 4
"""One in so many calls of the verifier's model is kept for corrected sentences."""
EVERYWHERE = 3
"""Fewer statements that are not verified are marked, however short the report is."""
ROUNDS = 2
"""Times that sentences are corrected: first heads and labels of tables, then the cells that do not fit them."""
PASSAGE = 600
"""Maximum number of characters of a passage that holds several places on which a statement rests."""
_NAMES = frozenset({"heading", "intro", "label", "head"})
"""Kinds of units that often state nothing: they are wrong only if sources say something else, or lack their number."""


class Fault(NamedTuple):
    """A sentence, or the row of a table, of which a part is wrong."""

    raw: str
    """As it stands in the report."""
    start: int
    """Where it begins."""
    wrong: tuple[tuple[ReportUnit, UnitJudgement], ...]
    """Its units that are wrong, and what was said of them."""

    @property
    def end(self) -> int:
        """Where it ends."""
        return self.start + len(self.raw)


class Rewrite(NamedTuple):
    """What is to take the place of a sentence."""

    fault: Fault
    raw: str
    """The new sentence with its markers."""


async def ask_rewrites(faults: Sequence[Fault], evidence: Evidence, filler: Filler, calls: int) -> list[Rewrite]:
    """Ask the writer's model for new sentences, in at most `calls` calls; return those that keep what was right."""
    found: dict[int, Rewrite] = {}
    for start in range(0, min(len(faults), calls * SENTENCES), SENTENCES):
        some = faults[start : start + SENTENCES]
        shown = [_shown(number, fault, evidence) for number, fault in enumerate(some, 1)]
        form = await filler.ask_if_possible(
            RewriteSentences,
            "writer",
            "verify_report",
            (),
            asked="sentences",
            knowledge=fenced_knowledge(sentences=shown),
        )
        for one in form.sentences if form else ():
            if 0 < one.number <= len(some) and (raw := _in_place(some[one.number - 1], one.text, evidence.numbers)):
                found[some[one.number - 1].start] = Rewrite(some[one.number - 1], raw)
    return list(found.values())


def kind_of(before: str, after: str) -> Repair:
    """Return what was done to a sentence, by its plain words."""
    if tokens(before) == tokens(after):
        return "cited anew"
    return "hedged" if UNSURE & set(tokens(after)) - set(tokens(before)) else "rewritten"


def _shown(number: int, fault: Fault, evidence: Evidence) -> dict[str, Any]:
    wrong = [_said(unit, said, evidence, fault.raw) for unit, said in fault.wrong]
    around = next((unit.around for unit, _ in fault.wrong if unit.rests_on or unit.kind == "intro"), "")
    # Where the judge has named neither the words nor what is right, the passages have to tell.
    blind = [unit for unit, said in fault.wrong if not (said.places or said.right)]
    keys = {key: None for unit in blind for key in evidence.keys_for(unit, is_second_look=True)}
    passages = evidence.shown([(unit, list(keys)) for unit in blind], MORE)
    return {
        "number": number,
        "sentence": fault.raw,
        **({"in": around} if around else {}),
        "wrong": wrong,
        **({"passages": passages} if passages else {}),
    }


def _said(unit: ReportUnit, said: UnitJudgement, evidence: Evidence, sentence: str) -> dict[str, Any]:
    sources = dict.fromkeys(evidence.numbers[one.source] for one in said.places if one.source in evidence.numbers)
    return {
        **({"words": unit.raw} if unit.raw != sentence else {}),
        **({"right": said.right} if said.right else {"verdict": said.verdict}),
        **({"source_says": said.words, "sources": [*sources]} if said.places else {}),
    }


def _in_place(fault: Fault, text: str, numbers: Mapping[str, int]) -> str:
    """Return the new sentence as it can take the place of the old one; empty if it cannot."""
    old, line = fault.raw, " ".join(text.split())
    found = LINE_MARK.match(old)
    line = (found.group() if found else "") + LINE_MARK.sub("", line)
    is_foreign = sanitized(line) != line or (_FOREIGN.search(line) and not _FOREIGN.search(old))
    if not tokens(line) or is_foreign or len(_BARS.findall(line)) != len(_BARS.findall(old)):
        return ""
    same = frozenset(stems(" ".join(_spoken(old)))) & frozenset(stems(" ".join(_spoken(line))))
    return line if same and _keeps(fault, line) and _cites(fault, line, numbers) else ""


def _keeps(fault: Fault, line: str) -> bool:
    """Whether all that was not wrong still stands there, in its order."""
    right, place = list[str](), 0
    for unit, _ in sorted(fault.wrong, key=lambda pair: pair[0].start):
        right += _spoken(fault.raw[place : unit.start - fault.start])
        place = unit.end - fault.start
    right += _spoken(fault.raw[place:])
    following = iter(_spoken(line))
    return all(word in following for word in right)


def _spoken(raw: str) -> list[str]:
    return tokens("".join(part if isinstance(part, str) else " " for part in scan(raw)))


def _cites(fault: Fault, line: str, numbers: Mapping[str, int]) -> bool:
    """Whether it cites as many sources as before, none where there was none; fewer only with fewer words."""
    before, after = _markers(fault.raw), _markers(line)
    if not any(unit.is_cited for unit, _ in fault.wrong):
        return before == after
    least = 0 if len(_spoken(line)) < len(_spoken(fault.raw)) else len(before)
    return least <= len(after) <= len(before) and {*after} <= {*before, *numbers.values()}


def _markers(raw: str) -> list[int]:
    return [number for part in scan(raw) if isinstance(part, Marker) for number in part.numbers]


def keeps_citations(units: Sequence[ReportUnit], fault: Fault, new: Sequence[ReportUnit]) -> bool:
    """Whether each unit of a sentence that was right still cites what it cited; `units` are those of the report."""
    wrong = {unit.start for unit, _ in fault.wrong}
    right = [one for one in units if one.sentence_start == fault.start and one.is_cited and one.start not in wrong]
    # Beside another label, the words of a cell are still the same.
    left = {(tuple(tokens(one.raw_words)), frozenset(one.sources)) for one in new}
    return all((tuple(tokens(one.raw_words)), frozenset(one.sources)) in left for one in right)


def _with(rewrites: Sequence[Rewrite], text: str) -> str:
    return with_edits(text, [Edit(one.fault.start, one.fault.end, one.raw) for one in rewrites])


def new_units(rewrite: Rewrite, text: str, sources: Mapping[int, str]) -> list[ReportUnit]:
    """Return the units of a new sentence in its place in the report.

    Those that cite nothing are compared with what decided on the old ones, too.
    """
    fault = rewrite.fault
    changed = text[: fault.start] + rewrite.raw + text[fault.end :]
    end = fault.start + len(rewrite.raw)
    decided = [one.source for _, said in fault.wrong for one in said.places]
    units = [unit for unit in units_of(changed, sources) if fault.start <= unit.start < end]
    return [
        unit if unit.sources else unit._replace(nearby=(*dict.fromkeys([*decided, *unit.nearby]),)) for unit in units
    ]


class Examined(NamedTuple):
    """A report that was examined."""

    text: str
    """Its body, with `[0]` where a citation named no source."""
    keys: Mapping[int, str]
    """Keys of the cited sources by their numbers."""
    claims: tuple[ClaimCheck, ...]
    """What was found about its parts."""
    verdicts: tuple[UnitVerdict, ...]
    """What became of each unit of the draft."""
    was_judged: bool
    """Whether a model has judged any."""
    undecided: int
    """Units of the draft that only a source which could not be read could decide."""

    @property
    def is_unverified(self) -> bool:
        """Whether a model has judged the report and more than half of it is not verified: then nothing is marked."""
        stated = [one.shown for one in self.verdicts if one.shown != "reasoning"]
        unverified = stated.count("not_verified") - self.undecided
        return self.was_judged and unverified >= EVERYWHERE and unverified > len(stated) / 2


class Examination:
    """One report under examination."""

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
        """Take a report with markers by the numbers of its sources.

        Args:
            text: The report.
            cited: Keys of its sources by their numbers.
            texts: What was read of the sources that it cites or may cite, by key.
            sources: The sources by key.
            context: The settings.
            filler: Asks the models.
            language_code: Language of the report (ISO 639-1); empty if it is not known.
            calculations: What researchers have calculated, a line each.
        """
        self._verifier, self._context, self._filler = Verifier(texts), context, filler
        self._language_code = language_code
        self._text = text
        others = {sources[key].number: key for key in texts if key not in cited.values()}
        self._sources = {**cited, **others, **cited}
        shown = {key: texts.get(key, ()) for key in self._sources.values()}
        self._evidence = Evidence(shown, sources, self._sources, calculations)
        self._judged: dict[Key, UnitJudgement] = {}
        # Judgements that a source which could not be read may turn round are dropped.
        self._undecided = set[Key]()
        self._is_sound: bool | None = None
        self._repairs: dict[str, Repair] = {}
        # What a model was asked to judge, and to correct; it is not asked again.
        self._put_to_judge, self._put_to_writer = set[Key](), set[Key]()
        self._opinions, self._rewrites_left = context.limits.max_opinions, context.limits.max_rewrites

    async def examine(self) -> Examined:
        """Judge every unit; if that is wanted, have wrong ones corrected once and judge them again."""
        is_repaired = self._context.verify == "repair" and not is_extractive("writer", self._context)
        kept = self._opinions // KEPT if is_repaired else 0
        draft = self._units()
        await self._judge(draft, self._opinions - kept)
        for number in range(ROUNDS if is_repaired else 0):
            await self._rewrite(is_last=number == ROUNDS - 1)
        verdicts = await asyncio.to_thread(self._verdicts, draft)
        self._text, self._sources = await asyncio.to_thread(known_citations, self._text, self._sources)
        was_judged = bool(self._judged or self._undecided) or self._is_sound is False
        checks = tuple(await asyncio.to_thread(self._checks))
        undecided = sum(key_of(unit) in self._undecided for unit in draft)
        return Examined(self._text, self._sources, checks, verdicts, was_judged, undecided)

    def looked_up(self) -> str:
        """Return how many sentences with a number or quotation have it from the sources that they cite, in words."""
        units = [unit for unit in self._units() if unit.sources and has_something_to_look_up(unit)]
        found = sum(not not_stated(unit, self._evidence.known(unit.sources)) for unit in units)
        return f"Numbers and quotations looked up in the sources cited: {found} found, {len(units) - found} not found."

    @property
    def notices(self) -> list[str]:
        """What the reader should know of the model that judged."""
        if self._is_sound is not False:
            return []
        name = profile_of("verifier", self._context).name
        return [
            f"The statements were looked up word for word, without the verifier's model {name!r}: it could not tell "
            "right from wrong when it was tried. Another can be named (setting models, role verifier)."
        ]

    def _units(self) -> list[ReportUnit]:
        return units_of(self._text, self._sources)

    async def _judge(self, units: Sequence[ReportUnit], calls: int) -> None:
        """Have a model judge units, in at most `calls` calls; a unit quoted word for word needs no judgement."""
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
        self._opinions -= made + more

    def _is_decided(self, key: Key, said: UnitJudgement) -> bool:
        """Whether a judgement holds whatever a cited source says that could not be read."""
        if said.verdict in ("supported", "reasoning") or (said.verdict == "contradicted" and said.places):
            return True
        return all(one.texts for one in self._evidence.known(key[1]).values())

    def _doubtful(self, units: Sequence[ReportUnit]) -> dict[Key, UnitJudgement]:
        """Return the judgements that a second look may change: what was not found or not proved."""
        held, doubtful = self._held(self._units()), dict[Key, UnitJudgement]()
        for unit in units:
            if said := self._judged.get(key_of(unit)):
                said = _founded(unit, said, held)
                is_open = said.verdict in ("not_found", "unproved")
                if is_open and (said.fault or self._evidence.has_more(unit)):
                    doubtful[key_of(unit)] = said
        return doubtful

    def _is_settled(self, unit: ReportUnit) -> bool:
        return key_of(unit) in self._judged or (
            bool(unit.sources) and any(self._verifier.is_quoted(unit, key) for key in unit.sources)
        )

    def _checks(self) -> list[ClaimCheck]:
        units = self._units()
        held = self._held(units)
        return [check for unit in units if (check := self._check(unit, held))]

    def _verdicts(self, draft: Sequence[ReportUnit]) -> tuple[UnitVerdict, ...]:
        units = self._units()
        left, held = {key_of(unit): unit for unit in units}, self._held(units)
        # Below a corrected head or label, the words of a cell are the same.
        cells = ([unit for unit in some if unit.kind == "cell"] for some in (draft, units))
        kept = {key_of(old): new for old, new in zip(*cells, strict=False) if old.raw == new.raw}
        return tuple(self._verdict(unit, {**kept, **left}.get(key_of(unit)), held) for unit in draft)

    def _verdict(self, draft: ReportUnit, unit: ReportUnit | None, held: str) -> UnitVerdict:
        """Return what became of a unit of the draft; `unit`: the same as it stands now, none if it was corrected."""
        if unit is None:
            return UnitVerdict(text=draft.text, shown="corrected")
        said = self._judged.get(key_of(unit))
        if said is None:
            unjudged: Shown = "reasoning" if unit.kind in _NAMES else "not_verified"
            # It cites a source that does not exist.
            unjudged = "marked" if unit.is_cited and not unit.sources else unjudged
            return UnitVerdict(text=unit.text, shown="supported" if self._is_settled(unit) else unjudged)
        said = _founded(unit, said, held)
        # A head or a label that names something, and is not wrong, needs no source.
        unproved: Shown = "not_verified" if is_wrong(unit, said) else "reasoning"
        shown: dict[Verdict, Shown] = {"supported": "supported", "unproved": unproved}
        return UnitVerdict(
            text=unit.text,
            shown=shown.get(said.verdict, "marked" if is_wrong(unit, said) else "reasoning"),
            words=said.words,
            source=next((one.source for one in said.places), ""),
            operation="; ".join(said.calculation.lines),
        )

    def _held(self, units: Sequence[ReportUnit]) -> str:
        """Return what a conclusion may rest on: what was read, and what the report states that is supported."""
        return " ".join([self._evidence.reading, *(unit.text for unit in units if self._holds(unit))])

    def _holds(self, unit: ReportUnit) -> bool:
        said = self._judged.get(key_of(unit))
        return said.verdict == "supported" if said else self._is_settled(unit)

    def _check(self, unit: ReportUnit, held: str) -> ClaimCheck | None:
        """Return the check of a unit; none if it needs no source. `held`: what a conclusion may rest on."""
        said = self._judged.get(key_of(unit))
        if said is None:
            if unit.kind in _NAMES or not (unit.is_cited or states_figures(unit.text)):
                return None
            check = self._verifier.check(unit).model_copy(update={"repair": self._repairs.get(unit.text)})
            # Without a judge to trust, only what a source says word for word is supported.
            is_doubtful = self._is_sound is False and not self._is_settled(unit)
            return check.model_copy(update={"verdict": "unsupported"}) if is_doubtful else check
        said = _founded(unit, said, held)
        if not is_wrong(unit, said) and (said.verdict != "supported" or not unit.is_cited):
            return None
        passages = {key: self._verifier.passage(unit, key) for key in unit.sources}
        # What decides is what the reader is shown.
        places = sorted(said.places, key=lambda one: _shared(unit.text, one.words))
        passages |= {one.source: self._verifier.at(_joined(one, places)) for one in places if one.content_hash}
        is_supported = said.verdict == "supported"
        proved = {one.source for one in said.places}
        judge_name = profile_of("verifier", self._context).name

        def shown(one: CitedPassage) -> CitedPassage:
            verdict: SupportVerdict = "unsupported"
            if is_supported:
                verdict = "supported" if one.source in proved else "unchecked"
            return one.model_copy(update={"verdict": verdict, "judge": judge_name, "reasons": _reasons(said)})

        return ClaimCheck(
            start=unit.start,
            end=unit.end,
            verdict="supported" if is_supported else "unsupported",
            passages=tuple(shown(one) for key, one in passages.items() if key in unit.sources),
            repair=self._repairs.get(unit.text),
        )

    async def judge_parts(self, units: Sequence[ReportUnit]) -> Mapping[Key, UnitJudgement]:
        """Return what the model says of these units of the report alone."""
        await self._judge(units, self._opinions - self._opinions // KEPT)
        return dict(self._judged)

    async def _rewrite(self, *, is_last: bool) -> None:
        faults = _faults(self._units(), self._judged)
        faults = [one for one in faults if not all(key_of(unit) in self._put_to_writer for unit, _ in one.wrong)]
        faults = faults if is_last else _first(faults)
        self._put_to_writer |= {key_of(unit) for one in faults for unit, _ in one.wrong}
        self._text = _with(await self._rewrites(faults), self._text)
        # A cell whose head was corrected, and whose label was not.
        await self._judge(self._units(), self._opinions)

    async def _rewrites(self, faults: Sequence[Fault]) -> list[Rewrite]:
        """Have the writer's model correct what is wrong; a new sentence is taken only if it is judged right."""
        if not faults:
            return []
        handed_in = await ask_rewrites(faults, self._evidence, self._filler, self._rewrites_left)
        self._rewrites_left -= -(-len(faults) // SENTENCES)
        new = {one.fault.start: new_units(one, self._text, self._sources) for one in handed_in}
        await asyncio.to_thread(self._settle, handed_in, new)
        before = self._units()
        known = {key_of(unit) for unit in before}
        # Below another head or label, a cell says something else.
        changed = [unit for unit in units_of(_with(handed_in, self._text), self._sources) if key_of(unit) not in known]
        await self._judge([*changed, *(unit for units in new.values() for unit in units)], self._opinions)
        taken, present = list[Rewrite](), {unit.text for unit in before}
        for one in handed_in:
            units = new[one.fault.start]
            is_whole = keeps_citations(before, one.fault, units)
            if is_whole and self._is_right(one, units) and self._is_new(one, units, present):
                taken.append(one)
                present |= {unit.text for unit in units}
                self._note(one, units)
        return taken

    def _settle(self, rewrites: Sequence[Rewrite], new: Mapping[int, Sequence[ReportUnit]]) -> None:
        """Judge new units by what was said of the old ones, where that proves them."""
        for one in rewrites:
            for unit in new[one.fault.start]:
                for before, said in () if self._is_settled(unit) else one.fault.wrong:
                    if follows := judgement_on_corrected(unit, before, said, self._evidence):
                        self._judged[key_of(unit)] = follows

    def _is_right(self, rewrite: Rewrite, units: Sequence[ReportUnit]) -> bool:
        if is_written_in(rewrite.raw, self._language_code) is False:
            return False
        # The cells of a row whose label was corrected are judged with it, and corrected next.
        kinds = {unit.kind for unit, _ in rewrite.fault.wrong}
        own = [unit for unit in units if unit.kind in kinds or not kinds <= {"label"}]
        return all(self._is_settled(unit) and not self._is_faulty(unit) for unit in own)

    def _is_faulty(self, unit: ReportUnit) -> bool:
        said = self._judged.get(key_of(unit))
        return said is not None and is_wrong(unit, said)

    @staticmethod
    def _is_new(rewrite: Rewrite, units: Sequence[ReportUnit], present: Collection[str]) -> bool:
        """Whether nothing in it stands elsewhere in the report already."""
        own = {unit.text for unit, _ in rewrite.fault.wrong}
        within = rewrite.fault.raw
        return all(unit.text in own or unit.text not in present or unit.raw in within for unit in units)

    def _note(self, rewrite: Rewrite, units: Sequence[ReportUnit]) -> None:
        """Remember how the units of a sentence were corrected."""
        wrong = [unit for unit, _ in rewrite.fault.wrong]
        before, known = " ".join(unit.text for unit in wrong), {key_of(unit) for unit in wrong}
        for unit in units:
            if key_of(unit) not in known and unit.raw not in rewrite.fault.raw:
                self._repairs[unit.text] = kind_of(before, unit.text)


def _joined(place: ProofPassage, places: Iterable[ProofPassage]) -> ProofPassage:
    """Return a place that reaches to the others in its text, as far as a passage may."""
    start, end = place.start, place.end
    for other in places:
        bounds = min(start, other.start), max(end, other.end)
        if (other.source, other.content_hash) == (place.source, place.content_hash) and bounds[1] - bounds[
            0
        ] <= PASSAGE:
            start, end = bounds
    return place._replace(start=start, end=end)


def _shared(text: str, words: str) -> tuple[int, int]:
    """Return how many figures of a text some words have, and how many of its words."""
    return len(figures_of(text) & figures_of(words)), len(words_and_figures(text) & words_and_figures(words))


def is_wrong(unit: ReportUnit, said: UnitJudgement) -> bool:
    """Whether a unit must not stand as it is."""
    if said.verdict in ("supported", "reasoning"):
        return False
    has_number = said.verdict == "unproved" and bool(said.places) and bool(numbers_in(unit.text))
    return said.verdict in ("contradicted", "wrong_source") or unit.kind not in _NAMES or has_number


def _founded(unit: ReportUnit, said: UnitJudgement, held: str) -> UnitJudgement:
    """Return the judgement; a conclusion whose numbers its premises do not hold is not proved."""
    if said.verdict != "reasoning" or said.is_absence:
        return said
    premises = " ".join(f"{one.words} {one.above}" for one in said.places)
    fault = unproved(unit, premises if unit.is_cited else f"{premises} {held}", said.calculation)
    return said._replace(verdict="unproved", fault=fault) if fault else said


def _faults(units: Sequence[ReportUnit], judged: Mapping[Key, UnitJudgement]) -> list[Fault]:
    """Return the sentences and rows with units that can be corrected: what is not proved may well be right."""
    by_sentence: dict[int, list[tuple[ReportUnit, UnitJudgement]]] = {}
    for unit in units:
        said = judged.get(key_of(unit))
        if said and said.verdict != "unproved" and is_wrong(unit, said):
            by_sentence.setdefault(unit.sentence_start, []).append((unit, said))
    return [Fault(wrong[0][0].sentence, start, tuple(wrong)) for start, wrong in by_sentence.items()]


def _first(faults: Sequence[Fault]) -> list[Fault]:
    """Return the faults without cells and labels that stand below or beside a wrong head or label."""
    wrong = {unit.start for fault in faults for unit, _ in fault.wrong}
    left = [
        fault._replace(wrong=tuple(pair for pair in fault.wrong if wrong.isdisjoint(pair[0].rests_on)))
        for fault in faults
    ]
    return [fault for fault in left if fault.wrong]


def _reasons(said: UnitJudgement) -> tuple[str, ...]:
    """Return what speaks against a unit, in words for the reader."""
    if said.verdict == "supported":
        return ()
    if said.verdict == "contradicted":
        says = f"the source says: {said.words}" if said.words else "the source says something else"
        return (says, *([f"it should say: {said.right}"] if said.right else []))
    words = {"wrong_source": "another source says so", "unproved": f"not proved: {said.fault}"}
    return (words.get(said.verdict, "the source does not say so"),)

"""Has the verifier's model judge the units of a report, and proves what it says by the words that it names."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from functools import cached_property
from itertools import pairwise
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from ...prompts import fenced_knowledge
from ..evidence.checking.proof import Known, ProofPassage, prove, stands_in
from ..evidence.checking.source_text import SourceText, Windows
from ..evidence.checking.units import ReportUnit
from ..evidence.text.quantities import Calculation
from ..evidence.text.words import tokens
from ..models.resolve import output_tokens, profile_of
from ..records.sources import Extent, Source
from ..run.context import Context
from .fill_in import Filler
from .forms import JudgedUnit, JudgeUnits, form_name

UNIT_TOKENS = 100
"""Tokens of a verdict at most, on average; those of the form decide how many units one call judges."""
FEW, FEW_SOURCES, SMALL_WINDOW = 8, 2, 32_000
"""Units of one call, and sources that they cite, for a model with a smaller window (tokens), or that cannot do more."""
SHOWN, MORE = 3, 8
"""Windows of a source that are shown for a unit, and for one that was not found in them or not proved."""
NEAREST = 3
"""Sources that are shown for a unit that cites none, or where those that it cites do not say it."""
SEEN: Mapping[Extent, str] = {"part": "its beginning", "excerpt": "search excerpt", "not opened": "search excerpt"}
"""What a model is told of a source that was not read to its end."""
SHARE = 0.5
"""Share of a unit's words that a window of such a source must hold."""
Verdict = Literal["supported", "contradicted", "not_found", "reasoning", "wrong_source", "unproved"]
"""What is held of a unit: `wrong_source`, a source says it that it does not cite; `unproved`, a model calls it
supported, and what it names does not prove it."""
Key = tuple[str, tuple[str, ...]]
"""What a judgement is about: the words of a unit, and the sources that it cites."""


class UnitJudgement(NamedTuple):
    """A model's verdict on a unit, kept only as far as code could prove it."""

    verdict: Verdict
    places: tuple[ProofPassage, ...] = ()
    """Where the deciding words stand, if they stand in a source."""
    right: str = ""
    """What the unit should say; empty if it is right, or nothing is known."""
    calculation: Calculation = Calculation()
    """How its numbers follow from others."""
    is_absence: bool = False
    """Whether it says that something is not stated or not there."""
    fault: str = ""
    """Why it is not proved, for the reader."""

    @property
    def words(self) -> str:
        """The deciding words."""
        return " … ".join(dict.fromkeys(one.words for one in self.places))


def key_of(unit: ReportUnit) -> Key:
    """Return under what the judgement on a unit is kept."""
    return unit.text, unit.sources


class Evidence:
    """The sources of a report, as they are shown to the models that check it."""

    def __init__(
        self,
        texts: Mapping[str, Sequence[SourceText]],
        sources: Mapping[str, Source],
        keys: Mapping[int, str],
        calculations: Sequence[str] = (),
    ) -> None:
        """`texts` and `sources` by key; `keys`: the keys by their numbers.

        `calculations` that researchers have made may lead to a number, as those that the judge names.
        """
        self.calculations = tuple(calculations)
        self._texts = {key: _without_excerpts(own, sources.get(key)) for key, own in texts.items()}
        self._sources = sources
        self.numbers = {key: number for number, key in keys.items() if key in texts}
        """The numbers under which they are shown."""

    @cached_property
    def _windows(self) -> dict[str, list[Windows]]:
        return {key: [one.windows for one in own] for key, own in self._texts.items()}

    @property
    def is_empty(self) -> bool:
        """Whether nothing was kept of any source."""
        return not any(self._texts.values())

    def nearest(self, unit: ReportUnit) -> list[str]:
        """Return the keys of the sources that a unit does not cite and that may say what it says, the best first."""
        others = [key for key in self._windows if key not in unit.sources]
        shares = {key: max((one.share(unit.text) for one in self._windows[key]), default=0.0) for key in others}
        return sorted((key for key in others if shares[key] >= SHARE), key=lambda key: -shares[key])[:NEAREST]

    def shown(self, units: Iterable[tuple[ReportUnit, Sequence[str]]], most: int) -> list[dict[str, Any]]:
        """Return the sources with the passages that say most about the units that are compared with them."""
        wanted: dict[str, list[ReportUnit]] = defaultdict(list)
        for unit, keys in units:
            for key in keys:
                wanted[key].append(unit)
        return [self._shown(key, wanted[key], most) for key in self.numbers if key in wanted]

    def _shown(self, key: str, units: Sequence[ReportUnit], most: int) -> dict[str, Any]:
        source = self._sources[key]
        passages = [
            passage
            for one in self._windows[key]
            for passage in one.shown(number for unit in units for number in one.best(_statement(unit), most))
        ]
        seen = {"seen": SEEN[source.extent]} if source.extent in SEEN else {}
        date = {"date": source.date} if source.date else {}
        return {"source": self.numbers[key], "title": source.title, **date, **seen, "passages": passages}

    def keys_for(self, unit: ReportUnit, *, is_second_look: bool) -> list[str]:
        """Return the keys of the sources that a unit is compared with.

        These are the sources that the unit cites, or else its sentence or what is around it. The nearest others are
        added where it cites none itself, and at a second look.
        """
        near = self.nearest(unit) if is_second_look or not unit.sources else ()
        return list(dict.fromkeys([*(unit.sources or unit.of_sentence or unit.nearby), *near]))

    def has_more(self, unit: ReportUnit) -> bool:
        """Whether a second look would be shown more than the first one."""
        cited = unit.sources or unit.of_sentence or unit.nearby
        has_windows = any(len(one.windows) > SHOWN for key in cited for one in self._windows.get(key, ()))
        return has_windows or (bool(unit.sources) and bool(self.nearest(unit)))

    @property
    def reading(self) -> str:
        """How many sources there are, and their dates: what a report may say of its own reading."""
        read = [self._sources[key] for key in self.numbers if key in self._sources]
        return " ".join([f"{len(read)} sources:", *(one.date for one in read)])

    def known(self, keys: Iterable[str]) -> dict[str, Known]:
        """Return the texts, titles and dates of these sources."""
        return {
            key: Known(self._texts[key], f"{self._sources[key].title} {self._sources[key].date}")
            for key in keys
            if key in self._texts and key in self._sources
        }


def _without_excerpts(texts: Sequence[SourceText], source: Source | None) -> Sequence[SourceText]:
    """Return the text of a page that was read to its end, without its excerpts, and those of a document that differ."""
    if source and source.kind == "document":
        return [one for one in texts if not any(one.text in other.text for other in texts if other is not one)]
    whole = [one for one in texts if source and one.content_hash == source.content_hash and source.extent not in SEEN]
    return whole or texts


def _statement(unit: ReportUnit) -> str:
    return unit.text if unit.text == unit.sentence else f"{unit.text} {unit.around or unit.sentence}"


async def judge(
    units: Sequence[ReportUnit],
    evidence: Evidence,
    filler: Filler,
    calls: int,
    context: Context,
    before: Mapping[Key, UnitJudgement] = MappingProxyType({}),
) -> tuple[dict[Key, UnitJudgement], int]:
    """Return the judgements on units and the number of calls made, at most `calls`; other units have none.

    With what was said of them `before`, they are judged by more passages. A model that cannot fill in the form for many
    units, or has a small window, is given few at once.
    """
    many = max(FEW, (output_tokens("verifier", context.limits.form_tokens, context) or 0) // UNIT_TOKENS)
    is_small = profile_of("verifier", context).window < SMALL_WINDOW
    has_few = is_small or form_name(JudgeUnits) in filler.unfilled
    batches = _batches(units, FEW if has_few else many)[: max(0, calls)]
    each = await asyncio.gather(*(_judge(batch, evidence, filler, before) for batch in batches))
    found = {key: judgement for judged in each for key, judgement in judged.items()}
    if has_few or form_name(JudgeUnits) not in filler.unfilled:
        return found, len(batches)
    failed = [unit for batch, judged in zip(batches, each, strict=True) if not judged for unit in batch]
    more, made = await judge(failed, evidence, filler, calls - len(batches), context, before)
    return found | more, len(batches) + made


def _batches(units: Sequence[ReportUnit], most: int) -> list[list[ReportUnit]]:
    """Cut units into calls, in the order of the report: what one is about is often said by the one before."""
    once = {key_of(unit): unit for unit in units}.values()
    # As many calls as it takes, and equally many units in each.
    size = -(-len(once) // -(-len(once) // most)) if once else most
    batches, cited = list[list[ReportUnit]](), set[str]()
    for unit in once:
        keys = {*(unit.sources or unit.of_sentence or unit.nearby[:1])}
        has_others = most == FEW and cited and len(cited | keys) > FEW_SOURCES
        if not batches or len(batches[-1]) >= size or has_others:
            batches.append([])
            cited = set()
        batches[-1].append(unit)
        cited |= keys
    return batches


async def _judge(
    units: Sequence[ReportUnit], evidence: Evidence, filler: Filler, before: Mapping[Key, UnitJudgement]
) -> dict[Key, UnitJudgement]:
    """Judge units in one call; `before`: what the first call said of them, none if this is the first."""
    against, sources, shown = await asyncio.to_thread(_prepare, units, evidence, before)
    knowledge = fenced_knowledge(sources=sources, units=shown)
    if not sources:
        return {}
    form = await filler.ask_if_possible(
        JudgeUnits, "verifier", "verify_report", (), asked="verdicts", knowledge=knowledge
    )
    judged = {one.unit: one for one in form.verdicts} if form else {}
    pairs = [(unit, judged[number], keys) for number, (unit, keys) in enumerate(against, 1) if number in judged]
    # What is shown for one unit may decide on another.
    everything = list(dict.fromkeys(key for _, keys in against for key in keys))
    return await asyncio.to_thread(
        lambda: {
            key_of(unit): _read(unit, one, evidence, list(dict.fromkeys([*keys, *everything])))
            for unit, one, keys in pairs
        }
    )


def _prepare(
    units: Sequence[ReportUnit], evidence: Evidence, before: Mapping[Key, UnitJudgement]
) -> tuple[list[tuple[ReportUnit, list[str]]], list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the units with the keys of the sources that they are compared with, and both as models are shown them."""
    against = [(unit, evidence.keys_for(unit, is_second_look=bool(before))) for unit in units]
    # What stands around several units is shown once.
    pairs = pairwise([None, *units])
    shown = [_shown(number, unit, last, evidence, before) for number, (last, unit) in enumerate(pairs, 1) if unit]
    return against, evidence.shown(against, MORE if before else SHOWN), shown


def _shown(
    number: int, unit: ReportUnit, last: ReportUnit | None, evidence: Evidence, before: Mapping[Key, UnitJudgement]
) -> dict[str, Any]:
    is_around = unit.around and unit.around != unit.text and not (last and last.around == unit.around)
    within = {"in": unit.around} if is_around else {}
    numbers = [evidence.numbers[key] for key in unit.sources if key in evidence.numbers]
    cites = {"cites": numbers} if numbers else {}
    said = before.get(key_of(unit))
    fault = {"not_proved": said.fault} if said and said.fault else {}
    return {"unit": number, "says": unit.text, **within, **cites, **fault}


def judgement_on_corrected(
    unit: ReportUnit, before: ReportUnit, said: UnitJudgement, evidence: Evidence
) -> UnitJudgement | None:
    """Return the judgement that follows from the one on what stood there before, if that proves the new words.

    They are the judge's own and take the place of one stretch of words, or the unit only cites the source that says so.
    Returns none where a model has to judge again.
    """
    old, new = tokens(before.text), tokens(unit.text)
    edits = [edit for edit in SequenceMatcher(None, old, new, autojunk=False).get_opcodes() if edit[0] != "equal"]
    replaced, by = (old[edits[0][1] : edits[-1][2]], new[edits[0][3] : edits[-1][4]]) if edits else ([], [])
    is_right = stands_in(said.right, unit.text) and f" {' '.join(by)} " in f" {' '.join(tokens(said.right))} "
    # Where words were lost beside those that were replaced, one may have been "not".
    is_whole = len(replaced) <= len(by) or new == tokens(said.right)
    is_as_named = is_right and is_whole if edits else said.verdict == "wrong_source"
    if unit.kind != before.kind or not is_as_named:
        return None
    known = evidence.known(one.source for one in said.places)
    proof = prove(unit, "\n".join(one.words for one in said.places), said.calculation, known)
    is_cited = not unit.is_cited or any(one.source in unit.sources for one in proof.places)
    is_proved = is_cited and not proof.fault
    return UnitJudgement("supported", proof.places, calculation=said.calculation) if is_proved else None


def _read(unit: ReportUnit, judged: JudgedUnit, evidence: Evidence, keys: Sequence[str]) -> UnitJudgement:
    """Return the judgement with what proves it; words that no source has are left out."""
    calculation = Calculation((*judged.calculations, *evidence.calculations))
    proof = prove(unit, judged.words, calculation, evidence.known(keys))
    verdict: Verdict = judged.verdict
    if verdict == "supported":
        is_cited = any(one.source in unit.sources for one in proof.places)
        verdict = "unproved" if proof.fault else "supported" if is_cited or not unit.is_cited else "wrong_source"
    elif verdict == "reasoning" and unit.is_cited and not unit.sources:
        # It was to be the words of a source that does not exist.
        verdict = "not_found"
    fault = proof.fault if verdict == "unproved" else ""
    return UnitJudgement(verdict, proof.places, judged.right, calculation, judged.is_absence, fault)

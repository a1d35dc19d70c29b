"""Examines a report part by part, and has corrected what its sources do not bear out."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from ..audit import ClaimCheck, Draft, Repair
from ..evidence.checking.source_text import SourceText
from ..evidence.checking.units import Unit, units_of
from ..evidence.checking.verification import SAID_ELSEWHERE, Verifier
from ..evidence.citations.citing import Edit, numbered_draft, with_edits
from ..evidence.text.language import is_written_in
from ..knowledge import Source
from ..models.resolve import is_extractive, profile_of
from ..run.context import Context
from .checker import Checker
from .judging import Desk, Judgement, Key, judge, key_of
from .rewriting import Fault, Rewrite, keeps_citations, kind_of, new_units, rewrites

KEPT = 4
"""One in so many calls of the verifier's model is kept for what was corrected."""


class Examined(NamedTuple):
    """A report that was examined."""

    text: str
    """Its body, with numbers in order of first use, and `[0]` where a citation named no source."""
    sources: tuple[str, ...]
    """Keys of the cited sources by these numbers."""
    claims: tuple[ClaimCheck, ...]
    """What was found about its parts."""


class Examination:
    """One report under examination."""

    def __init__(
        self,
        draft: Draft,
        texts: Mapping[str, Sequence[SourceText]],
        sources: Mapping[str, Source],
        context: Context,
        checker: Checker,
        language_code: str,
    ) -> None:
        """`texts` and `sources` by key; `language_code`: that of the report (ISO 639-1), empty if it is not known."""
        self._verifier, self._context, self._checker = Verifier(texts), context, checker
        self._language_code = language_code
        self._text = draft.text
        self._sources = [*draft.sources, *(key for key in texts if key not in draft.sources)]
        self._desk = Desk({key: texts.get(key, ()) for key in self._sources if key}, sources, self._sources)
        self._judged: dict[Key, Judgement] = {}
        self._repairs: dict[str, Repair] = {}
        self._opinions = context.limits.max_opinions

    async def examine(self) -> Examined:
        """Look at every part; have corrected once what is wrong, if that is wanted, and look again."""
        is_repaired = self._context.verify == "repair" and not is_extractive("writer", self._context)
        kept = self._opinions // KEPT if is_repaired else 0
        await self._judge(self._units(), self._opinions - kept)
        if is_repaired:
            await self._rewrite()
        self._text, sources = await asyncio.to_thread(numbered_draft, self._text, dict(enumerate(self._sources, 1)))
        self._sources = list(sources)
        return Examined(self._text, sources, tuple(await asyncio.to_thread(self._checks)))

    def _units(self) -> list[Unit]:
        return units_of(self._text, self._sources)

    async def _judge(self, units: Sequence[Unit], calls: int) -> None:
        """Take the model's word, in at most so many calls; what stands in a source word by word needs none."""
        if calls < 1 or is_extractive("verifier", self._context):
            return
        open_units = await asyncio.to_thread(lambda: [unit for unit in units if not self._is_settled(unit)])
        asked = self._checker.asked
        self._judged |= await judge(open_units, self._desk, self._checker, calls)
        self._opinions = max(0, self._opinions - (self._checker.asked - asked))

    def _is_settled(self, unit: Unit) -> bool:
        return key_of(unit) in self._judged or (
            bool(unit.sources) and any(self._verifier.is_quoted(unit.text, key) for key in unit.sources)
        )

    def _checks(self) -> list[ClaimCheck]:
        return [check for unit in self._units() if (check := self._check(unit))]

    def _check(self, unit: Unit) -> ClaimCheck | None:
        """What there is for a unit; none if it needs no source."""
        said = self._judged.get(key_of(unit))
        if said is None:
            return self._verifier.check(unit).model_copy(update={"repair": self._repairs.get(unit.text)})
        if said.verdict == "own" or (said.verdict == "supported" and not unit.is_cited):
            return None
        check = self._verifier.check(unit)
        verdict = "supported" if said.verdict == "supported" else "unsupported"
        name = profile_of("verifier", self._context).name
        update = {"verdict": verdict, "judge": name, "reasons": _reasons(said)}
        passages = tuple(one.model_copy(update=update) for one in check.passages)
        return check.model_copy(
            update={"verdict": verdict, "passages": passages, "repair": self._repairs.get(unit.text)}
        )

    async def _rewrite(self) -> None:
        """Have the writer's model correct what is wrong; what it hands in stands only if it is right now."""
        faults = _faults(self._units(), self._judged)
        if not faults:
            return
        handed_in = await rewrites(faults, self._desk, self._checker, self._context.limits.max_rewrites)
        new = {one.fault.start: new_units(one, self._text, self._sources) for one in handed_in}
        await self._judge([unit for units in new.values() for unit in units], self._opinions)
        before = self._units()
        edits, told = list[Edit](), {unit.text for unit in before}
        for one in handed_in:
            units = new[one.fault.start]
            is_whole = keeps_citations(before, one.fault, units)
            if is_whole and self._is_right(one, units) and self._is_new(one, units, told):
                edits.append(Edit(one.fault.start, one.fault.end, one.raw))
                told |= {unit.text for unit in units}
                self._note(one, units)
        self._text = with_edits(self._text, edits)

    def _is_right(self, rewrite: Rewrite, units: Sequence[Unit]) -> bool:
        if is_written_in(rewrite.raw, self._language_code) is False:
            return False
        said = [self._judged.get(key_of(unit)) for unit in units]
        return all(
            one.verdict in ("supported", "own") if one else self._is_settled(unit)
            for one, unit in zip(said, units, strict=True)
        )

    @staticmethod
    def _is_new(rewrite: Rewrite, units: Sequence[Unit], told: Collection[str]) -> bool:
        """Whether nothing in it stands elsewhere in the report already."""
        own = {unit.text for unit, _ in rewrite.fault.wrong}
        within = rewrite.fault.raw
        return all(unit.text in own or unit.text not in told or unit.raw in within for unit in units)

    def _note(self, rewrite: Rewrite, units: Sequence[Unit]) -> None:
        """Remember which units were corrected."""
        wrong = [unit for unit, _ in rewrite.fault.wrong]
        before, known = " ".join(unit.text for unit in wrong), {key_of(unit) for unit in wrong}
        for unit in units:
            if key_of(unit) not in known and unit.raw not in rewrite.fault.raw:
                self._repairs[unit.text] = kind_of(before, unit.text)


def _faults(units: Sequence[Unit], judged: Mapping[Key, Judgement]) -> list[Fault]:
    """The sentences and rows with units that are wrong."""
    by_sentence: dict[int, list[tuple[Unit, Judgement]]] = {}
    for unit in units:
        said = judged.get(key_of(unit))
        if said and said.verdict not in ("supported", "own"):
            by_sentence.setdefault(unit.sentence_start, []).append((unit, said))
    return [Fault(wrong[0][0].sentence, start, tuple(wrong)) for start, wrong in by_sentence.items()]


def _reasons(said: Judgement) -> tuple[str, ...]:
    """What speaks against a unit, in words for the reader."""
    if said.verdict == "supported":
        return ()
    if said.verdict == "contradicted" and said.words:
        return (f"the source says: {said.words}",)
    words = {"contradicted": "the source says something else", "wrong_source": SAID_ELSEWHERE}
    return (words.get(said.verdict, "the source does not say so"),)

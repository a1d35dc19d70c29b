"""Has the verifier's model judge the units of a report against the sources that they cite."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from ...prompts import fenced_knowledge
from ..evidence.checking.source_text import SourceText, Windows
from ..evidence.checking.units import Unit
from ..records.sources import Extent, Source
from .fill_in import Filler
from .forms import JudgedUnit, JudgeUnits, UnitVerdict

UNITS = 24
"""Units of one call."""
SHOWN, MORE = 3, 8
"""Windows of a source that are shown for a unit, and for one that was not found in them."""
NEAREST = 3
"""Sources that are shown for a unit that cites none, or where those that it cites do not say it."""
SEEN: Mapping[Extent, str] = {"part": "its beginning", "excerpt": "search excerpt", "not opened": "search excerpt"}
"""What a model is told of a source that was not read to its end."""
SHARE = 0.5
"""Share of a unit's words that a window of such a source must hold."""
Key = tuple[str, tuple[str, ...]]
"""What a judgement is about: the words of a unit, and the sources that it cites."""


class Judgement(NamedTuple):
    """What a model says of a unit."""

    verdict: UnitVerdict
    words: str
    """The deciding words of a source, if they stand there."""
    right: str
    """What the unit should say; empty if it is right, or nothing is known."""


def key_of(unit: Unit) -> Key:
    """Return under what the judgement on a unit is kept."""
    return unit.text, unit.sources


class Evidence:
    """The sources of a report, as they are shown to the models that check it."""

    def __init__(
        self, texts: Mapping[str, Sequence[SourceText]], sources: Mapping[str, Source], order: Sequence[str]
    ) -> None:
        """`texts` and `sources` by key; `order`: the keys by their numbers, from 1."""
        self._texts, self._sources = texts, sources
        self.numbers = {key: number for number, key in enumerate(order, 1) if key in texts}
        """The numbers under which they are shown."""

    @cached_property
    def _windows(self) -> dict[str, list[Windows]]:
        return {key: [one.windows for one in own] for key, own in self._texts.items()}

    def nearest(self, unit: Unit) -> list[str]:
        """Return the keys of the sources that a unit does not cite and that may say what it says, the best first."""
        others = [key for key in self._windows if key not in unit.sources]
        shares = {key: max((one.share(unit.text) for one in self._windows[key]), default=0.0) for key in others}
        return sorted((key for key in others if shares[key] >= SHARE), key=lambda key: -shares[key])[:NEAREST]

    def shown(self, units: Iterable[tuple[Unit, Sequence[str]]], most: int) -> list[dict[str, Any]]:
        """Return the sources with the passages that say most about the units that are compared with them."""
        wanted: dict[str, list[Unit]] = defaultdict(list)
        for unit, keys in units:
            for key in keys:
                wanted[key].append(unit)
        return [self._shown(key, wanted[key], most) for key in self.numbers if key in wanted]

    def _shown(self, key: str, units: Sequence[Unit], most: int) -> dict[str, Any]:
        source = self._sources[key]
        passages = [
            passage
            for one in self._windows[key]
            for passage in one.shown(number for unit in units for number in one.best(_statement(unit), most))
        ]
        seen = {"seen": SEEN[source.extent]} if source.extent in SEEN else {}
        date = {"date": source.date} if source.date else {}
        return {"source": self.numbers[key], "title": source.title, **date, **seen, "passages": passages}

    def keys_for(self, unit: Unit, *, is_second_look: bool) -> list[str]:
        """Return the keys of the sources that a unit is compared with.

        These are the sources that the unit cites, or else its sentence. The nearest others are added where it cites
        none itself, and at a second look.
        """
        near = self.nearest(unit) if is_second_look or not unit.sources else ()
        return list(dict.fromkeys([*(unit.sources or unit.of_sentence), *near]))

    def has_more(self, unit: Unit) -> bool:
        """Whether a second look would be shown more than the first one."""
        cited = unit.sources or unit.of_sentence
        has_windows = any(len(one.windows) > SHOWN for key in cited for one in self._windows[key])
        return has_windows or (bool(unit.sources) and bool(self.nearest(unit)))

    def contains(self, words: str, keys: Iterable[str]) -> bool:
        """Whether words stand in one of these sources, whatever the white space between them."""
        wanted = " ".join(words.split()).casefold()
        return bool(wanted) and any(
            wanted in " ".join(one.text.split()).casefold() for key in keys for one in self._texts.get(key, ())
        )


def _statement(unit: Unit) -> str:
    return unit.text if unit.text == unit.sentence else f"{unit.text} {unit.sentence}"


async def judge(
    units: Sequence[Unit], evidence: Evidence, filler: Filler, calls: int
) -> tuple[dict[Key, Judgement], int]:
    """Return the judgements on units and the number of calls made, at most `calls`; other units have none."""
    batches = _batches(units)[:calls]
    first = await asyncio.gather(*(_judge(batch, evidence, filler, SHOWN) for batch in batches))
    found = {key: judgement for part in first for key, judgement in part.items()}
    missing = [unit for unit in units if key_of(unit) in found and found[key_of(unit)].verdict == "missing"]
    missing = await asyncio.to_thread(lambda: [unit for unit in missing if evidence.has_more(unit)])
    again = _batches(missing)[: max(0, calls - len(batches))]
    second = await asyncio.gather(*(_judge(batch, evidence, filler, MORE) for batch in again))
    found |= {key: judgement for part in second for key, judgement in part.items()}
    return found, len(batches) + len(again)


def _batches(units: Sequence[Unit]) -> list[list[Unit]]:
    """Cut units into calls, in the order of the report: what one is about is often said by the one before."""
    each = list({key_of(unit): unit for unit in units}.values())
    return [each[start : start + UNITS] for start in range(0, len(each), UNITS)]


async def _judge(units: Sequence[Unit], evidence: Evidence, filler: Filler, most: int) -> dict[Key, Judgement]:
    against, sources, shown = await asyncio.to_thread(_prepare, units, evidence, most)
    knowledge = fenced_knowledge(sources=sources, units=shown)
    form = await filler.ask_if_possible(
        JudgeUnits, "verifier", "verify_report", (), asked="verdicts", knowledge=knowledge
    )
    judged = {one.unit: one for one in form.verdicts} if form else {}
    return {
        key_of(unit): _read(unit, judged[number], evidence, keys)
        for number, (unit, keys) in enumerate(against, 1)
        if number in judged
    }


def _prepare(
    units: Sequence[Unit], evidence: Evidence, most: int
) -> tuple[list[tuple[Unit, list[str]]], list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the units with the keys of the sources that they are compared with, and both as models are shown them."""
    against = [(unit, evidence.keys_for(unit, is_second_look=most > SHOWN)) for unit in units]
    shown = [_shown(number, unit, evidence) for number, unit in enumerate(units, 1)]
    return against, evidence.shown(against, most), shown


def _shown(number: int, unit: Unit, evidence: Evidence) -> dict[str, Any]:
    within = {"in": unit.sentence} if unit.raw != unit.sentence else {}
    cites = {"cites": [evidence.numbers[key] for key in unit.sources if key in evidence.numbers]}
    return {"unit": number, "says": unit.text, **within, **cites}


def _read(unit: Unit, judged: JudgedUnit, evidence: Evidence, keys: Sequence[str]) -> Judgement:
    """Return the judgement without words that no source holds; a citation of no source is wrong in any case."""
    is_of_nothing = unit.is_cited and not unit.sources and judged.verdict == "supported"
    words = judged.words if evidence.contains(judged.words, keys) else ""
    return Judgement("wrong_source" if is_of_nothing else judged.verdict, words, judged.right)

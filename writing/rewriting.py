"""Has the writer's model correct the sentences of which a part is wrong."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..audit import Repair
from ..evidence.checking.units import Unit, units_of
from ..evidence.citations.markers import Marker
from ..evidence.citations.sanitizing import sanitized
from ..evidence.citations.scanner import scan
from ..evidence.text.cues import UNSURE
from ..evidence.text.sentences import LINE_MARK
from ..evidence.text.words import stems, tokens
from ..tools.check_forms import RewriteSentences
from .checker import Checker
from .judging import MORE, Desk, Judgement

SENTENCES = 40
"""Sentences of one call."""
_FOREIGN = re.compile(r"`|^\s{0,3}#")
_BARS = re.compile(r"(?<!\\)\|")


class Fault(NamedTuple):
    """A sentence, or the row of a table, of which a part is wrong."""

    raw: str
    """As it stands in the report."""
    start: int
    """Where it begins."""
    wrong: tuple[tuple[Unit, Judgement], ...]
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


async def rewrites(faults: Sequence[Fault], desk: Desk, checker: Checker, calls: int) -> list[Rewrite]:
    """The sentences that the writer's model hands in, in at most so many calls, as far as they keep what was right."""
    found: dict[int, Rewrite] = {}
    for start in range(0, min(len(faults), calls * SENTENCES), SENTENCES):
        some = faults[start : start + SENTENCES]
        shown = [_shown(number, fault, desk) for number, fault in enumerate(some, 1)]
        form = await checker.ask(RewriteSentences, "writer", "sentences", sentences=shown)
        for one in form.sentences if form else ():
            if 0 < one.number <= len(some) and (raw := _in_place(some[one.number - 1], one.text, desk.numbers)):
                found[some[one.number - 1].start] = Rewrite(some[one.number - 1], raw)
    return list(found.values())


def kind_of(before: str, after: str) -> Repair:
    """What was done to a sentence, by its plain words."""
    if tokens(before) == tokens(after):
        return "cited anew"
    return "hedged" if UNSURE & set(tokens(after)) - set(tokens(before)) else "rewritten"


def _shown(number: int, fault: Fault, desk: Desk) -> dict[str, Any]:
    wrong = [
        {"words": unit.raw, "verdict": said.verdict, **({"right": said.right} if said.right else {})}
        for unit, said in fault.wrong
    ]
    cited = dict.fromkeys(key for unit, _ in fault.wrong for key in unit.sources or unit.of_sentence)
    others = dict.fromkeys(key for unit, _ in fault.wrong for key in desk.nearest(unit) if key not in cited)
    return {
        "number": number,
        "sentence": fault.raw,
        "wrong": wrong,
        "cited": _passages(fault, list(cited), desk),
        "others": _passages(fault, list(others), desk),
    }


def _passages(fault: Fault, keys: Sequence[str], desk: Desk) -> list[dict[str, Any]]:
    shown = desk.shown([(unit, keys) for unit, _ in fault.wrong], MORE)
    return [{"source": one["source"], "says": passage} for one in shown for passage in one["passages"]]


def _in_place(fault: Fault, text: str, numbers: Mapping[str, int]) -> str:
    """The new sentence as it can stand in the place of the old one; empty if it cannot."""
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
    """Whether it cites as many sources as before, none where there was none."""
    before, after = _markers(fault.raw), _markers(line)
    if not any(unit.is_cited for unit, _ in fault.wrong):
        return before == after
    return len(after) <= len(before) and {*after} <= {*before, *numbers.values()}


def _markers(raw: str) -> list[int]:
    return [number for part in scan(raw) if isinstance(part, Marker) for number in part.numbers]


def keeps_citations(units: Sequence[Unit], fault: Fault, new: Sequence[Unit]) -> bool:
    """Whether each unit of a sentence that was right still cites what it cited; `units` are those of the report."""
    wrong = {unit.start for unit, _ in fault.wrong}
    right = [one for one in units if one.sentence_start == fault.start and one.is_cited and one.start not in wrong]
    left = {(tuple(tokens(one.text)), frozenset(one.sources)) for one in new}
    return all((tuple(tokens(one.text)), frozenset(one.sources)) in left for one in right)


def new_units(rewrite: Rewrite, text: str, sources: Sequence[str]) -> list[Unit]:
    """The units of a sentence as it would stand in the text of the report."""
    fault = rewrite.fault
    changed = text[: fault.start] + rewrite.raw + text[fault.end :]
    end = fault.start + len(rewrite.raw)
    return [unit for unit in units_of(changed, sources) if fault.start <= unit.start < end]

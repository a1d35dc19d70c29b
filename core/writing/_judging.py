"""Asks the verifier's model to judge a report's units (statements), and proves its verdicts.

A verdict is proved with the words that the model quotes. A model has to pass a trial once before it
is trusted, since some call everything supported.
"""

from __future__ import annotations

import asyncio
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import groupby
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from pydantic import Field

from ...prompts import fenced_knowledge
from ..errors import ToolsMissing
from ..evidence.checking.proof import Known, ProofPassage, prove, stands_in
from ..evidence.checking.source_text import SourceText
from ..evidence.checking.units import ReportUnit
from ..evidence.text.words import tokens
from ..models.abilities import judges_soundly, remember_judging
from ..models.resolve import profile_of
from ..records.sources import Extent, Source
from .forms import Filler, Form, form_name

_UNIT_TOKENS = 100
"""Expected tokens per verdict; a call gets as many units as fit the model's output limit."""
_SMALL_WINDOW = 32_000
"""Tokens; a model with a smaller context window gets few units per call, as does one that failed
with more."""
_FEW, _FEW_SOURCES = 8, 2
"""Maximum number of units in such a call, and of sources that these units cite."""
_FIRST_LOOK, SECOND_LOOK = 3, 8
"""Number of windows of a source to show for a unit when it is judged the first and the second
time."""
_NEAREST = 3
"""Number of uncited sources to show for a unit that cites none or that its cited sources do not
support."""
_READ_IN_PART: Mapping[Extent, str] = {
    "part": "its beginning",
    "excerpt": "search excerpt",
    "not opened": "search excerpt",
}
"""Descriptions, for the model, of sources that were not read completely."""
_SHARE = 0.5
"""Minimum share of a unit's words in one window of an uncited source for the source to be shown."""
UnitOutcome = Literal[
    "supported", "contradicted", "not_found", "reasoning", "wrong_source", "unproved"
]
"""Outcome for a unit: `wrong_source` if only an uncited source says it; `unproved` if a model calls
it supported but its quotations do not prove that."""
Texts = Mapping[str, Sequence[SourceText]]
"""Texts of sources, by key."""
UnitKey = tuple[str, tuple[str, ...]]
"""Key of a judgement: the unit's words, and the keys of the sources that it cites."""
_LEAST_ACCEPTED = 3
"""Minimum true statements of the trial that a model must call supported; it must not call any wrong
one supported."""


class JudgedUnit(Form):
    """What the sources say about a unit."""

    unit: int
    """Number of the unit."""
    verdict: Literal["supported", "contradicted", "not_found", "reasoning"]
    words: str = ""
    """The deciding sentences or rows of the passages, copied exactly; a line break between different places."""  # noqa: E501
    right: str = ""
    """If it is contradicted: the correct words."""
    calculations: list[str] = Field(default_factory=list)
    """How numbers that are not in the words follow from those that are, one line each: (48 - 40) / 40 = 20%."""  # noqa: E501
    is_absence: bool = False
    """Whether it says that something is not stated, not known or absent."""


class JudgeUnits(Form):
    """Hand in the verdicts."""

    verdicts: list[JudgedUnit]
    """One for each unit, by its number."""


class UnitJudgement(NamedTuple):
    """A model's verdict on a unit, after code has checked its quotations."""

    verdict: UnitOutcome
    passages: tuple[ProofPassage, ...] = ()
    """The quoted words that were found in sources."""
    right: str = ""
    """What the unit should say; empty if it is right or the correction is unknown."""
    calculations: tuple[str, ...] = ()
    """Lines of arithmetic with which the unit's numbers are calculated from others."""
    is_absence: bool = False
    """Whether the unit says that something is not stated or does not exist."""
    fault: str = ""
    """Why the quotations do not prove it, for the reader; empty if they do."""

    @property
    def sources(self) -> list[str]:
        """Keys of the quoted sources, each once."""
        return list(dict.fromkeys(passage.source for passage in self.passages))

    @property
    def words(self) -> str:
        """The quoted words of all passages."""
        return " … ".join(dict.fromkeys(passage.words for passage in self.passages))


Judgements = Mapping[UnitKey, UnitJudgement]
"""Judgements on units, by key."""


def key_of(unit: ReportUnit) -> UnitKey:
    """Return the key of a unit's judgement."""
    return unit.text, unit.sources


class Evidence:
    """The sources of a report and their texts: chooses the passages that models see when they check
    it.
    """

    def __init__(
        self,
        texts: Texts,
        sources: Mapping[str, Source],
        keys: Mapping[int, str],
        calculations: Sequence[str] = (),
    ) -> None:
        """`texts` and `sources` are by source key, `keys` by number.

        `calculations` have one line each.
        """
        self.calculations = tuple(calculations)
        self._texts = {key: _without_excerpts(own, sources.get(key)) for key, own in texts.items()}
        self._sources = sources
        self.numbers = dict[str, int]()
        """Source numbers by key."""
        for number, key in keys.items():
            if key in texts:
                self.numbers[key] = number

    def numbers_of(self, keys: Iterable[str]) -> list[int]:
        """Return the numbers of these sources, without those that the report may not cite."""
        return [self.numbers[key] for key in keys if key in self.numbers]

    @property
    def is_empty(self) -> bool:
        """Whether no source has a stored text."""
        return not any(self._texts.values())

    def _nearest(self, unit: ReportUnit) -> list[str]:
        """Return the keys of uncited sources that may support a unit, best first."""
        shares = dict[str, float]()
        for key, texts in self._texts.items():
            if key in unit.sources:
                continue
            share = max((text.windows.share(unit.text) for text in texts), default=0.0)
            if share >= _SHARE:
                shares[key] = share
        nearest = sorted(shares, key=lambda key: -shares[key])
        return nearest[:_NEAREST]

    def shown(
        self, units: Iterable[tuple[ReportUnit, Sequence[str]]], most: int
    ) -> list[dict[str, Any]]:
        """Return the sources to show for these units, for a prompt.

        Each has its passages most relevant to them. `units` are pairs of a unit and the keys of its
        sources; each unit selects at most `most` windows of a text.
        """
        wanted: dict[str, list[str]] = defaultdict(list)
        for unit, keys in units:
            words = unit.text
            if unit.text != unit.sentence:
                words = f"{words} {unit.around or unit.sentence}"
            for key in keys:
                wanted[key].append(words)
        entries = list[dict[str, Any]]()
        for key, number in self.numbers.items():
            if key not in wanted:
                continue
            source = self._sources[key]
            entry: dict[str, Any] = {"source": number, "title": source.title}
            if source.date:
                entry["date"] = source.date
            if source.extent in _READ_IN_PART:
                entry["seen"] = _READ_IN_PART[source.extent]
            entry["passages"] = self._passages(key, wanted[key], most)
            entries.append(entry)
        return entries

    def _passages(self, key: str, wanted: Iterable[str], most: int) -> list[str]:
        """Return the passages of a source most similar to the `wanted` texts, `most` for each."""
        passages = list[str]()
        for text in self._texts[key]:
            best = list[int]()
            for words in wanted:
                best += text.windows.best(words, most)
            passages += text.windows.shown(best)
        return passages

    def keys_for(self, unit: ReportUnit, *, is_second_look: bool) -> list[str]:
        """Return the keys of the sources that a unit is compared with.

        These are the sources cited by the unit, or else by its sentence or the surrounding text. If
        the unit cites none, and at a second look, the nearest uncited sources are added.
        """
        keys = list(_cited_near(unit))
        if is_second_look or not unit.sources:
            keys += self._nearest(unit)
        return list(dict.fromkeys(keys))

    def has_more(self, unit: ReportUnit) -> bool:
        """Whether a second look shows more passages than the first."""
        for key in _cited_near(unit):
            for text in self._texts.get(key, ()):
                if len(text.windows.windows) > _FIRST_LOOK:
                    return True
        return bool(unit.sources) and bool(self._nearest(unit))

    @property
    def reading(self) -> str:
        """The number and dates of the sources.

        A report may state these facts about the research without a citation.
        """
        dates = [self._sources[key].date for key in self.numbers if key in self._sources]
        return " ".join([f"{len(dates)} sources:", *dates])

    def known(self, keys: Iterable[str]) -> dict[str, Known]:
        """Return the texts, titles and dates of these sources, by key."""
        known = dict[str, Known]()
        for key in keys:
            if key in self._texts and key in self._sources:
                source = self._sources[key]
                known[key] = Known(self._texts[key], f"{source.title} {source.date}")
        return known


def _cited_near(unit: ReportUnit) -> tuple[str, ...]:
    """Return the keys of the sources cited by a unit, else by its sentence, else around it."""
    return unit.sources or unit.of_sentence or unit.nearby


def _without_excerpts(texts: Sequence[SourceText], source: Source | None) -> Sequence[SourceText]:
    """Return a source's texts, without excerpts that another of its texts contains."""
    if source and source.kind == "document":
        return [text for text in texts if not _is_within_another(text, texts)]
    if source is None or source.extent in _READ_IN_PART:
        return texts
    # A page that was read completely contains its excerpts.
    whole = [text for text in texts if text.content_hash == source.content_hash]
    return whole or texts


def _is_within_another(text: SourceText, texts: Sequence[SourceText]) -> bool:
    return any(text.text in other.text for other in texts if other is not text)


async def judge(
    units: Sequence[ReportUnit],
    evidence: Evidence,
    filler: Filler,
    calls: int,
    before: Judgements = MappingProxyType({}),
) -> tuple[dict[UnitKey, UnitJudgement], int]:
    """Have the verifier's model judge units in at most `calls` calls.

    Returns judgements by key, and the number of calls made. At a second look, `before` has the
    earlier judgements, and more passages are shown. A model that fails with many units, or has a
    small window, gets few units per call.
    """
    context = filler.context
    profile = profile_of("verifier", context)
    is_small = profile.window < _SMALL_WINDOW
    has_few = is_small or form_name(JudgeUnits) in filler.unfilled
    most = _FEW
    if not has_few:
        max_tokens = profile.output_tokens(context.limits.form_tokens)
        most = max(_FEW, max_tokens // _UNIT_TOKENS)
    batches = _batches(units, most)[: max(0, calls)]
    work = [_judge(batch, evidence, filler, before) for batch in batches]
    judged = dict[UnitKey, UnitJudgement]()
    failed = list[ReportUnit]()
    for batch, judgements in zip(batches, await asyncio.gather(*work), strict=True):
        judged |= judgements
        if not judgements:
            failed += batch
    if has_few or form_name(JudgeUnits) not in filler.unfilled:
        return judged, len(batches)
    more, made = await judge(failed, evidence, filler, calls - len(batches), before)
    return judged | more, len(batches) + made


def _batches(units: Sequence[ReportUnit], most: int) -> list[list[ReportUnit]]:
    """Split units into batches of at most `most`, about equally long.

    They keep the report's order: a unit is often unclear without the previous one. A table stays
    whole, or else its rows do; each row is shown below the table's head.
    """
    distinct = {key_of(unit): unit for unit in units}
    if not distinct:
        return []
    calls = math.ceil(len(distinct) / most)
    size = math.ceil(len(distinct) / calls)
    batches = list[list[ReportUnit]]()
    cited = set[str]()
    for block in _blocks(distinct.values(), most):
        keys = set[str]()
        for unit in block:
            keys.update(unit.sources or unit.of_sentence or unit.nearby[:1])
        has_others = most == _FEW and cited and len(cited | keys) > _FEW_SOURCES
        if not batches or not _has_room(batches[-1], block, size, most) or has_others:
            batches.append([])
            cited = set()
        batches[-1] += block
        cited |= keys
    return batches


def _has_room(
    batch: Sequence[ReportUnit], block: Sequence[ReportUnit], size: int, most: int
) -> bool:
    """Whether a block fits into a batch, which a table may make longer than `size`."""
    return len(batch) < size and len(batch) + len(block) <= most


def _blocks(units: Iterable[ReportUnit], most: int) -> list[list[ReportUnit]]:
    """Return the units in blocks that are judged together, in their order.

    These are single units, tables of at most `most` units, and the rows of longer tables.
    """
    blocks = list[list[ReportUnit]]()
    for table_start, group in groupby(units, lambda unit: unit.table_start):
        together = list(group)
        if table_start is None:
            blocks += [[unit] for unit in together]
        elif len(together) <= most:
            blocks.append(together)
        else:
            for _, of_row in groupby(together, lambda unit: unit.sentence_start):
                row = list(of_row)
                blocks += [row[start : start + most] for start in range(0, len(row), most)]
    return blocks


async def _judge(
    units: Sequence[ReportUnit], evidence: Evidence, filler: Filler, before: Judgements
) -> dict[UnitKey, UnitJudgement]:
    """Judge units in one call; return judgements by key, without those that the model left out."""
    against, sources, shown = await asyncio.to_thread(_prepare, units, evidence, before)
    if not sources:
        return {}
    form = await _ask_verdicts(filler, sources, shown)
    if form is None:
        return {}
    verdicts = {verdict.unit: verdict for verdict in form.verdicts}
    all_keys = list[str]()
    for _, keys in against:
        all_keys += keys

    def read() -> dict[UnitKey, UnitJudgement]:
        judgements = dict[UnitKey, UnitJudgement]()
        for number, (unit, keys) in enumerate(against, 1):
            if number in verdicts:
                # A source shown for one unit may also decide about another.
                quotable = list(dict.fromkeys([*keys, *all_keys]))
                judgements[key_of(unit)] = _read(unit, verdicts[number], evidence, quotable)
        return judgements

    return await asyncio.to_thread(read)


async def _ask_verdicts(
    filler: Filler, sources: Sequence[Mapping[str, Any]], units: Sequence[Mapping[str, Any]]
) -> JudgeUnits | None:
    """Return the filled-in form on these sources and units; None if the model fails."""
    knowledge = fenced_knowledge(sources=[*sources], units=[*units])
    return await filler.ask_if_possible(
        JudgeUnits, "verifier", "verify_report", (), asked="verdicts", knowledge=knowledge
    )


def _prepare(
    units: Sequence[ReportUnit], evidence: Evidence, before: Judgements
) -> tuple[list[tuple[ReportUnit, list[str]]], list[dict[str, Any]], list[dict[str, Any]]]:
    """Return units with the keys of their sources, and the sources and the units as shown."""
    is_second_look = bool(before)
    against = list[tuple[ReportUnit, list[str]]]()
    shown = list[dict[str, Any]]()
    around = ""
    previous: ReportUnit | None = None
    for number, unit in enumerate(units, 1):
        against.append((unit, evidence.keys_for(unit, is_second_look=is_second_look)))
        entry: dict[str, Any] = {"unit": number, "says": unit.text}
        if unit.before and not _is_shown_before(previous, unit):
            entry["before"] = unit.before
        previous = unit
        # Show the text around several units only once.
        if unit.around not in ("", unit.text, around):
            entry["in"] = unit.around
        around = unit.around
        numbers = evidence.numbers_of(unit.sources)
        if numbers:
            entry["cites"] = numbers
        # At a second look, the model learns why its first verdict was not accepted.
        judgement = before.get(key_of(unit))
        if judgement and judgement.fault:
            entry["not_proved"] = judgement.fault
        shown.append(entry)
    windows = SECOND_LOOK if is_second_look else _FIRST_LOOK
    return against, evidence.shown(against, windows), shown


def _is_shown_before(previous: ReportUnit | None, unit: ReportUnit) -> bool:
    """Whether the previous unit shown is part of the sentence before a unit, or belongs with it."""
    if previous is None:
        return False
    if previous.table_start is not None and previous.table_start == unit.table_start:
        return True
    return previous.sentence == unit.before or previous.sentence_start == unit.sentence_start


def judgement_on_corrected(
    unit: ReportUnit, before: ReportUnit, judgement: UnitJudgement, evidence: Evidence
) -> UnitJudgement | None:
    """Derive the judgement on a corrected unit from that on the old one (`before`).

    This is possible if the judge's own words replaced one stretch of words, or if only the citation
    was corrected. None if a model must judge again.
    """
    if unit.kind != before.kind:
        return None
    old = tokens(before.text)
    new = tokens(unit.text)
    opcodes = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    edits = [opcode for opcode in opcodes if opcode[0] != "equal"]
    if edits:
        _, old_start, _, new_start, _ = edits[0]
        _, _, old_end, _, new_end = edits[-1]
        right = tokens(judgement.right)
        inserted = " ".join(new[new_start:new_end])
        is_right = (
            stands_in(judgement.right, unit.text) and f" {inserted} " in f" {' '.join(right)} "
        )
        # If more words were removed than replaced, one of them may have been "not".
        is_whole = old_end - old_start <= new_end - new_start or new == right
        if not is_right or not is_whole:
            return None
    elif judgement.verdict != "wrong_source":
        return None
    words = "\n".join(passage.words for passage in judgement.passages)
    known = evidence.known(judgement.sources)
    proof = prove(unit, words, judgement.calculations, known)
    if proof.fault or not proof.is_by_source_of(unit):
        return None
    return UnitJudgement("supported", proof.passages, calculations=judgement.calculations)


def _read(
    unit: ReportUnit, judged: JudgedUnit, evidence: Evidence, keys: Sequence[str]
) -> UnitJudgement:
    """Return the judgement on a unit from the model's form, with the quoted words that are in these
    sources.
    """
    calculations = (*judged.calculations, *evidence.calculations)
    proof = prove(unit, judged.words, calculations, evidence.known(keys))
    verdict: UnitOutcome = judged.verdict
    fault = ""
    if verdict == "supported":
        if proof.fault:
            verdict = "unproved"
            fault = proof.fault
        elif not proof.is_by_source_of(unit):
            verdict = "wrong_source"
    elif verdict == "reasoning" and unit.is_cited and not unit.sources:
        # The unit cites a source that does not exist.
        verdict = "not_found"
    return UnitJudgement(
        verdict, proof.passages, judged.right, calculations, judged.is_absence, fault
    )


class TrialStatement(NamedTuple):
    """A statement that the verifier's model judges in its trial call."""

    says: str
    source: int
    """Number of the trial source that it cites."""
    is_right: bool


_MILL = (
    "The mill ground 340 tonnes of rye in 1911. Its owner, Ilse Brandt, sold it to the parish in "
    "1920."
)
_BRIDGE = (
    "The bridge is 84 metres long. Lorries may no longer use it. Its repair is planned but not yet "
    "paid for."
)
_TRIAL_SOURCES = (
    {"source": 1, "title": "The mill at Halbeck", "passages": [_MILL]},
    {"source": 2, "title": "Survey of the Torne bridge", "passages": [_BRIDGE]},
)
TRIAL = (
    TrialStatement("In 1911 the mill ground 340 tonnes of rye.", 1, is_right=True),
    TrialStatement("Ilse Brandt bought the mill in 1920.", 1, is_right=False),
    TrialStatement("Until 1920 the mill belonged to Ilse Brandt.", 1, is_right=True),
    TrialStatement("The Torne bridge is 84 metres long.", 2, is_right=True),
    TrialStatement(
        "The Torne bridge is 48 metres wide, and its repair is paid for.", 2, is_right=False
    ),
    TrialStatement("Lorries are not allowed on the bridge.", 2, is_right=True),
)


async def is_sound(filler: Filler) -> bool:
    """Whether the verifier's model tells right statements from wrong ones in a trial call.

    The result is stored with the model's other abilities, so each model is tried once. Model
    instances passed by an app are trusted without a trial, as is a model that does not answer it.
    """
    context = filler.context
    if context.trust_verifier:
        return True
    known = await judges_soundly("verifier", context)
    if known is not None:
        return known
    units = list[dict[str, Any]]()
    for number, stated in enumerate(TRIAL, 1):
        units.append({"unit": number, "says": stated.says, "cites": [stated.source]})
    try:
        form = await _ask_verdicts(filler, _TRIAL_SOURCES, units)
    except ToolsMissing:
        # An unjudged report is better than none.
        return False
    if form is None:
        return True
    supported = set[int]()
    for verdict in form.verdicts:
        if verdict.verdict == "supported":
            supported.add(verdict.unit)
    right = 0
    wrong = 0
    for number, stated in enumerate(TRIAL, 1):
        if number not in supported:
            continue
        if stated.is_right:
            right += 1
        else:
            wrong += 1
    sound = right >= _LEAST_ACCEPTED and wrong == 0
    await remember_judging("verifier", context, sound=sound)
    return sound

"""Asks the verifier's model to judge a report's units (statements), and proves its verdicts.

A verdict is proved with the words that the model quotes and the calculations that it hands in. What
code cannot prove is asked once more; then a figure stands only if it is proved, and on words the
model has the last word if it reasons soundly (see `_trial`).
"""

from __future__ import annotations

import asyncio
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import groupby
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from pydantic import Field

from ...prompts import fenced_knowledge
from ..evidence.checking.calculator import with_basis
from ..evidence.checking.proof import (
    Doubt,
    Grounds,
    Known,
    OtherPremises,
    Proof,
    ProofPassage,
    assumed_in,
    assumptions_of,
    doubt_about_assumption,
    gives_results,
    prove,
    stands_in,
)
from ..evidence.checking.source_text import SourceText, words_and_figures
from ..evidence.checking.units import ReportUnit
from ..evidence.text.words import tokens
from ..models.resolve import profile_of
from ..records.report import PASSAGE_GAP, DecidedBy, JudgeGrade
from ..records.research import Calculation, by_calculation_number
from ..records.sources import Extent, Source
from ..records.table import Quotation
from .forms import Filler, Form

_UNIT_TOKENS = 100
"""Expected tokens per verdict; a call gets as many units as fit the model's output limit."""
_WORD_TOKENS = 30
"""Expected tokens of a verdict that needs no proof, on a unit without a number or a citation (17 on
average in 700 verdicts by hand, 33 in the longest tenth)."""
_SMALL_WINDOW = 32_000
"""Tokens; a model with a smaller context window gets few units per call, as does one that failed
with more."""
_FEW, _FEW_SOURCES = 8, 2
"""Maximum number of units in such a call, and of sources that these units cite."""
FIRST_LOOK, SECOND_LOOK = 3, 8
"""Number of windows of a source to show for a unit when it is judged the first and the second
time."""
_NEAREST = 3
"""Number of uncited sources to show for a unit that cites none or that its cited sources do not
support."""
_LEAST_LIKE = 0.4
"""Minimum likeness to a unit of a further window, as a share of that of the most similar one."""
_ELSEWHERE = 1
"""Number of windows to show of a source that neither a unit nor the text next to it cites, when the
unit is judged the first time."""
_READ_IN_PART: Mapping[Extent, str] = {
    "part": "its beginning",
    "excerpt": "search excerpt",
    "not opened": "search excerpt",
}
"""Descriptions, for the model, of sources that were not read completely."""
TITLE_KINDS = frozenset({"heading", "intro", "label", "head"})
"""Kinds of units that often state nothing: they are wrong only if sources contradict them or lack
their number."""
_SHARE = 0.5
"""Minimum share of a unit's words in one window of an uncited source for the source to be shown."""
StatedVerdict = Literal["supported", "contradicted", "not_found", "reasoning", "advice"]
UnitOutcome = Literal[
    "supported", "contradicted", "not_found", "reasoning", "advice", "wrong_source", "unproved"
]
"""Outcome for a unit: `wrong_source` if only an uncited source says it; `unproved` if a model calls
it supported or right reasoning, but a figure or the words that it quotes are not proved."""
Texts = Mapping[str, Sequence[SourceText]]
"""Texts of sources, by key."""
UnitKey = tuple[str, tuple[str, ...]]
"""Key of a judgement: the unit's words, and the keys of the sources that it cites."""


class JudgedUnit(Form):
    """What the sources say about a unit."""

    unit: int
    """Number of the unit."""
    verdict: StatedVerdict
    words: str = ""
    """The words that decide, copied from the passages."""
    right: str = ""
    """If it is contradicted: the correct words."""
    calculations: list[str] = Field(default_factory=list)
    """How its other numbers follow, one line each."""
    supposed: list[str] = Field(default_factory=list)
    """Numbers that it only supposes."""
    is_absence: bool = False
    """Whether it says that something is not stated."""


class JudgeUnits(Form):
    """Hand in the verdicts."""

    verdicts: list[JudgedUnit]
    """One for each unit, by its number."""


class UnitJudgement(NamedTuple):
    """A model's verdict on a unit, and what code could prove of it."""

    verdict: UnitOutcome
    """The outcome, after the proof."""
    passages: tuple[ProofPassage, ...] = ()
    """The quoted words that were found in sources."""
    right: str = ""
    """What the unit should say; empty if it is right or the correction is unknown."""
    calculations: tuple[Calculation, ...] = ()
    """The calculations with which the unit's figures follow from others."""
    is_absence: bool = False
    """Whether the unit says that something is not stated or does not exist."""
    elsewhere: tuple[str, ...] = ()
    """The quoted words that are in the request or in another statement of the report."""
    doubt: Doubt | None = None
    """What code could not prove; None if it proved everything."""
    stated: StatedVerdict = "supported"
    """The verdict as the model gave it."""
    grounds: Grounds = Grounds("")
    """What the model handed in to prove it."""
    keys: tuple[str, ...] = ()
    """Keys of the sources that the model could quote."""
    was_supported: bool = False
    """Whether the model called the unit supported or reasoning at its first look; if it does not
    find the words at the second one, that is no reason to take the unit out."""

    @property
    def sources(self) -> list[str]:
        """Keys of the quoted sources, each once."""
        return list(dict.fromkeys(passage.source for passage in self.passages))

    @property
    def words(self) -> str:
        """The quoted words of all passages, then those of the request and the report."""
        quoted = [passage.words for passage in self.passages]
        return PASSAGE_GAP.join(dict.fromkeys([*quoted, *self.elsewhere]))

    @property
    def decided_by(self) -> DecidedBy:
        """What the outcome rests on."""
        if self.doubt or self.verdict != "supported":
            return "judge"
        return "calculation" if self.calculations else "passages"


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
        calculations: Iterable[Calculation] = (),
        asked: Sequence[str] = (),
        quotations: Mapping[str, Sequence[Quotation]] = MappingProxyType({}),
    ) -> None:
        """`texts` and `sources` are by source key, `keys` by number.

        `calculations` were carried out before; `asked` are the user's own messages, oldest first.
        `quotations` are words of sources from which units were written, by the text of the unit.
        """
        self._quotations = quotations
        self.calculations = by_calculation_number(calculations)
        """The calculations of the thread by number."""
        self.asked = tuple(asked)
        self._texts = {key: _without_excerpts(own, sources.get(key)) for key, own in texts.items()}
        self.sources = sources
        """The sources by key."""
        self.numbers = dict[str, int]()
        """Source numbers by key."""
        for number, key in keys.items():
            if key in texts:
                self.numbers[key] = number
        self._known = dict[str, Known]()

    def add_pages(self, texts: Texts, sources: Mapping[str, Source]) -> None:
        """Add the texts of pages that were opened during the check; `sources` are their sources.

        Excerpts that a page does not have stay, since they may have proved a unit.
        """
        self.sources = {**self.sources, **sources}
        self._known = {}
        for key, pages in texts.items():
            kept = list(pages)
            for text in self._texts.get(key, ()):
                if not any(text.text in page.text for page in pages):
                    kept.append(text)
            self._texts[key] = kept

    def numbers_of(self, keys: Iterable[str]) -> list[int]:
        """Return the numbers of these sources, without those that the report may not cite."""
        return [self.numbers[key] for key in keys if key in self.numbers]

    @property
    def is_empty(self) -> bool:
        """Whether no source has a stored text."""
        return not any(self._texts.values())

    def _nearest(self, unit: ReportUnit) -> list[str]:
        """Return the keys of uncited sources that may support a unit, best first: those that have
        as many of its words as the ones that it cites."""
        others = [key for key in self._texts if key not in unit.sources]
        cited = [self._share(unit, key) for key in unit.sources]
        return self._most_like(unit, others, max([_SHARE, *cited]))

    def _share(self, unit: ReportUnit, key: str) -> float:
        """Return the share of a unit's words that one window of a source has."""
        texts = self._texts.get(key, ())
        return max((text.windows.share(unit.text) for text in texts), default=0.0)

    def _most_like(self, unit: ReportUnit, keys: Iterable[str], least: float) -> list[str]:
        """Return those of these sources that have at least this share of a unit's words in one
        window, or any word of it; at most `_NEAREST`, best first."""
        shares = dict[str, float]()
        for key in keys:
            share = self._share(unit, key)
            if share and share >= least:
                shares[key] = share
        best = sorted(shares, key=lambda key: -shares[key])
        return best[:_NEAREST]

    @property
    def request(self) -> str:
        """The user's own messages as one text."""
        return "\n".join(self.asked)

    @property
    def shown_request(self) -> list[dict[str, Any]]:
        """The user's own messages as shown beside the sources, which they may be quoted like."""
        if not self.asked:
            return []
        return [{"source": "request", "title": "the user's request", "passages": [*self.asked]}]

    def shown(
        self,
        units: Iterable[tuple[ReportUnit, Sequence[str]]],
        most: int,
        quoted: Iterable[ProofPassage] = (),
    ) -> list[dict[str, Any]]:
        """Return the sources to show for these units, for a prompt.

        Each has its passages most relevant to them, and those that were `quoted` before. `units`
        are pairs of a unit and the keys of its sources; each unit selects at most `most` windows of
        a text.
        """
        wanted: dict[str, list[tuple[str, int]]] = defaultdict(list)
        quoted_of: dict[str, list[ProofPassage]] = defaultdict(list)
        for unit, keys in units:
            words = unit.text
            if unit.text != unit.sentence:
                words = f"{words} {unit.around or unit.sentence}"
            near = _next_to(unit)
            for key in keys:
                has_all = key in near or most > FIRST_LOOK
                wanted[key].append((words, most if has_all else _ELSEWHERE))
            for quotation in self._quotations.get(unit.text, ()):
                if quotation.source in keys:
                    quoted_of[quotation.source].append(
                        ProofPassage(quotation.source, quotation.words)
                    )
        for passage in quoted:
            quoted_of[passage.source].append(passage)
            wanted[passage.source] = wanted[passage.source]
        entries = list[dict[str, Any]]()
        for key, number in self.numbers.items():
            if key not in wanted:
                continue
            source = self.sources[key]
            entry: dict[str, Any] = {"source": number, "title": source.title}
            if source.shown_publisher:
                entry["publisher"] = source.shown_publisher
            if source.date:
                entry["date"] = source.date
            if source.extent in _READ_IN_PART:
                entry["seen"] = _READ_IN_PART[source.extent]
            entry["passages"] = self._passages(key, wanted[key], quoted_of[key])
            entries.append(entry)
        return entries

    def _passages(
        self, key: str, wanted: Sequence[tuple[str, int]], quoted: Iterable[ProofPassage]
    ) -> list[str]:
        """Return the passages of a source most similar to the `wanted` texts, as many for each as
        stands beside it, and those that were quoted before.

        A text that is no longer than that is returned whole. At a second look, the beginning of the
        text is added for what has few words in common with it, such as a statement in another
        language.
        """
        passages = list[str]()
        longest = max((most for _, most in wanted), default=SECOND_LOOK)
        for text in self._texts[key]:
            if text.windows.has_room_for_all(longest):
                passages.append(text.text.strip())
                continue
            best = list[int]()
            for words, most in wanted:
                least = _LEAST_LIKE if most <= FIRST_LOOK else 0.0
                similar = text.windows.best(words, most, least)
                best += similar
                if len(similar) <= FIRST_LOOK < most:
                    best += text.windows.others(similar, most - len(similar))
            for passage in quoted:
                if passage.content_hash == text.content_hash:
                    best += text.windows.within(passage.start, passage.end)
                elif not passage.content_hash:
                    best += text.windows.having(passage.words)
            if longest == _ELSEWHERE:
                passages += text.windows.texts(best)
            else:
                passages += text.windows.shown(best)
        return passages

    def wanted(
        self, units: Sequence[ReportUnit], report: Iterable[ReportUnit]
    ) -> list[tuple[ReportUnit, list[str]]]:
        """Return the units that are shown passages when they are judged the first time, with the
        keys of their sources. `report` are the units of the report that may be right.

        Left out are those that other parts of the report decide: a figure that was calculated from
        sources, and a heading or label whose words all stand in the request or in statements of the
        report, as those of a row's label do in its cells.
        """
        stated = set(words_and_figures(self.request))
        for unit in report:
            if unit.kind in ("statement", "cell"):
                stated |= words_and_figures(unit.text)
        wanted = list[tuple[ReportUnit, list[str]]]()
        for unit in units:
            if unit.sources or unit.is_cited:
                is_decided = False
            elif unit.kind in TITLE_KINDS:
                is_decided = stated.issuperset(words_and_figures(unit.text))
            else:
                has_results = gives_results(unit, self.cited_calculations(unit))
                is_decided = has_results and self.is_calculated(unit)
            if not is_decided:
                wanted.append((unit, self._first_keys(unit)))
        return wanted

    def _first_keys(self, unit: ReportUnit) -> list[str]:
        """Return the keys of the sources of which a unit is shown passages when it is judged the
        first time: those that it or its sentence cites, or else the one that is cited next to it
        and those that share most of its words.
        """
        own = [*(unit.sources or unit.of_sentence)]
        unproved = [found for found in self.cited_calculations(unit) if not found.is_proved]
        own += sorted(self._keys_behind(*unproved))
        if own:
            return list(dict.fromkeys(own))
        # The source that is cited next to it may be in another language.
        keys = self.keys_for(unit, is_second_look=False)
        return list(dict.fromkeys([*_next_to(unit), *self._most_like(unit, keys, 0.0)]))

    def keys_for(self, unit: ReportUnit, *, is_second_look: bool) -> list[str]:
        """Return the keys of the sources that a unit is compared with.

        These are the sources cited by the unit, or else by its sentence or the surrounding text. If
        the unit cites none, and at a second look, the nearest uncited sources are added; then also
        those that the rest of its sentence cites.
        """
        keys = list(_cited_near(unit))
        if is_second_look:
            keys += unit.of_sentence
        keys += sorted(self._keys_behind(*self.cited_calculations(unit)))
        if is_second_look or not unit.sources:
            keys += self._nearest(unit)
        return list(dict.fromkeys(keys))

    def deciding_keys(self, unit: ReportUnit) -> list[str]:
        """Return the keys of the sources that could support a unit for which nothing was found:
        those that it is compared with at a second look.

        A source that is only cited nearby has to have a word or figure of the unit, if the unit has
        a number: that looks the same in all languages.
        """
        keys = self.keys_for(unit, is_second_look=True)
        if not unit.has_number:
            return keys
        own = {*unit.sources, *unit.of_sentence}
        deciding = list[str]()
        for key in keys:
            if key in own or self._share(unit, key):
                deciding.append(key)
        return deciding

    def has_more(self, unit: ReportUnit) -> bool:
        """Whether a second look shows more passages than the first."""
        keys = unit.sources or self.deciding_keys(unit)
        first = self._first_keys(unit)
        near = _next_to(unit)
        for key in keys:
            most = FIRST_LOOK if key in near else _ELSEWHERE
            for text in self._texts.get(key, ()):
                if key not in first or not text.windows.has_room_for_all(most):
                    return True
        return bool(unit.sources) and bool(self._nearest(unit))

    def cited_calculations(self, unit: ReportUnit) -> list[Calculation]:
        """Return the calculations that a unit cites."""
        cited = list[Calculation]()
        for number in unit.calculations:
            if number in self.calculations:
                cited.append(self.calculations[number])
        return cited

    def is_calculated(self, unit: ReportUnit) -> bool:
        """Whether a unit cites calculations, and all of them are proved."""
        calculations = self.cited_calculations(unit)
        return bool(calculations) and all(found.is_proved for found in calculations)

    def calculations_from(self, keys: Iterable[str]) -> list[Calculation]:
        """Return the proved calculations of which an input comes from one of these sources."""
        wanted = set(keys)
        found = list[Calculation]()
        for calculation in self.calculations.values():
            if calculation.is_proved and not wanted.isdisjoint(self._keys_behind(calculation)):
                found.append(calculation)
        return found

    def _keys_behind(self, *calculations: Calculation) -> set[str]:
        """Return the keys of the sources from which inputs of calculations come."""
        numbers = [calculation.number for calculation in calculations]
        keys = set[str]()
        for calculation in with_basis(numbers, self.calculations):
            for used in calculation.inputs:
                if used.source:
                    keys.add(used.source)
        return keys

    def shown_calculations(
        self, units: Iterable[ReportUnit], sources: Iterable[Mapping[str, Any]]
    ) -> list[dict[str, Any]]:
        """Return the calculations that units cite, for a prompt, with the sources of their inputs,
        and those words of these that no passage of the `sources` shown has."""
        numbers = list[int]()
        for unit in units:
            numbers += unit.calculations
        passages = list[str]()
        for source in sources:
            passages += source["passages"]
        read = " ".join("\n".join(passages).split())
        shown = list[dict[str, Any]]()
        for calculation in with_basis(numbers, self.calculations):
            entry: dict[str, Any] = {"calculation": calculation.number, "name": calculation.name}
            entry["line"] = calculation.line
            keys = dict.fromkeys(used.source for used in calculation.inputs)
            if self.numbers_of(keys):
                entry["sources"] = self.numbers_of(keys)
            unread = list[str]()
            for used in calculation.inputs:
                words = " ".join(used.words.split())
                if words not in read:
                    unread.append(used.words)
                    read = f"{read} {words}"
            if unread:
                entry["source_says"] = unread
            assumed = assumptions_of([calculation])
            if assumed:
                entry["assumes"] = assumed
            shown.append(entry)
        return shown

    @property
    def reading(self) -> str:
        """The number and dates of the sources.

        A report may state these facts about the research without a citation.
        """
        dates = [self.sources[key].date for key in self.numbers if key in self.sources]
        return " ".join([f"{len(dates)} sources:", *dates])

    def known(self, keys: Iterable[str]) -> dict[str, Known]:
        """Return the texts, titles and dates of these sources, by key."""
        known = dict[str, Known]()
        for key in keys:
            if key not in self._known and key in self._texts and key in self.sources:
                self._known[key] = Known(self._texts[key], self.sources[key].about)
            if key in self._known:
                known[key] = self._known[key]
        return known


def _cited_near(unit: ReportUnit) -> tuple[str, ...]:
    """Return the keys of the sources cited by a unit, else by its sentence, else around it."""
    return unit.sources or unit.of_sentence or unit.nearby


def _next_to(unit: ReportUnit) -> tuple[str, ...]:
    """Return the keys of the sources cited by a unit, else by its sentence, else next to it; around
    it if it cites a source that does not exist."""
    if unit.is_cited:
        return _cited_near(unit)
    return unit.sources or unit.of_sentence or unit.nearby[:1]


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
    report: Sequence[ReportUnit],
    before: Judgements = MappingProxyType({}),
    on_judged: Callable[[Judgements], None] = lambda _: None,
) -> tuple[dict[UnitKey, UnitJudgement], int]:
    """Have the verifier's model judge units in at most `calls` calls.

    Returns judgements by key, still to be proved, and the number of calls made. `report` are all
    units of the report, on which conclusions may rest. At a second look, `before` has the earlier
    judgements, and more passages are shown. `on_judged` is called with the judgements of each call.
    A model that fails with many units, or has a small window, gets few units per call.
    """
    context = filler.context
    profile = profile_of("verifier", context)
    is_small = profile.window < _SMALL_WINDOW
    has_few = is_small or JudgeUnits.tool_name() in filler.unfilled
    most = _FEW * _UNIT_TOKENS
    if not has_few:
        most = max(most, profile.output_tokens(context.limits.form_tokens))
    batches = _batches(units, most, has_few=has_few)[: max(0, calls)]

    async def judged_batch(batch: Sequence[ReportUnit]) -> dict[UnitKey, UnitJudgement]:
        judgements = await _judge(batch, evidence, filler, report, before)
        on_judged(judgements)
        return judgements

    work = [judged_batch(batch) for batch in batches]
    judged = dict[UnitKey, UnitJudgement]()
    failed = list[ReportUnit]()
    for batch, judgements in zip(batches, await asyncio.gather(*work), strict=True):
        judged |= judgements
        if not judgements:
            failed += batch
    if has_few or JudgeUnits.tool_name() not in filler.unfilled:
        return judged, len(batches)
    calls_left = calls - len(batches)
    more, made = await judge(failed, evidence, filler, calls_left, report, before, on_judged)
    return judged | more, len(batches) + made


def _batches(units: Sequence[ReportUnit], most: int, *, has_few: bool) -> list[list[ReportUnit]]:
    """Split units into batches whose verdicts have at most `most` tokens, about equally many.

    They keep the report's order: a unit is often unclear without the previous one. A table stays
    whole, or else its rows do; each row is shown below the table's head. With `has_few`, the
    batches are for a model that is given few units, whose verdicts count as equally long.
    """
    distinct = {key_of(unit): unit for unit in units}
    if not distinct:
        return []
    tokens_of = _tokens_of_any if has_few else _tokens_of
    total = tokens_of(distinct.values())
    calls = math.ceil(total / most)
    size = math.ceil(total / calls)
    batches = list[list[ReportUnit]]()
    cited = set[str]()
    for block in _blocks(distinct.values(), most, tokens_of):
        keys = set[str]()
        for unit in block:
            keys.update(unit.sources or unit.of_sentence or unit.nearby[:1])
        has_others = has_few and cited and len(cited | keys) > _FEW_SOURCES
        # A table may make a batch longer than `size`.
        has_room = bool(batches) and tokens_of(batches[-1]) < size
        if not has_room or tokens_of([*batches[-1], *block]) > most or has_others:
            batches.append([])
            cited = set()
        batches[-1] += block
        cited |= keys
    return batches


def _tokens_of(units: Iterable[ReportUnit]) -> int:
    """Return the expected tokens of the verdicts on these units."""
    tokens = 0
    for unit in units:
        needs_proof = unit.is_cited or unit.calculations or unit.has_number
        tokens += _UNIT_TOKENS if needs_proof else _WORD_TOKENS
    return tokens


def _tokens_of_any(units: Iterable[ReportUnit]) -> int:
    """Return the same, with each verdict as long as one that needs a proof."""
    return _UNIT_TOKENS * len([*units])


def _blocks(
    units: Iterable[ReportUnit], most: int, tokens_of: Callable[[Iterable[ReportUnit]], int]
) -> list[list[ReportUnit]]:
    """Return the units in blocks that are judged together, in their order.

    These are single units, tables whose verdicts have at most `most` tokens, and the rows of longer
    tables.
    """
    longest = most // _UNIT_TOKENS
    blocks = list[list[ReportUnit]]()
    for table_start, group in groupby(units, lambda unit: unit.table_start):
        together = list(group)
        if table_start is None:
            blocks += [[unit] for unit in together]
        elif tokens_of(together) <= most:
            blocks.append(together)
        else:
            for _, of_row in groupby(together, lambda unit: unit.sentence_start):
                row = list(of_row)
                blocks += [row[start : start + longest] for start in range(0, len(row), longest)]
    return blocks


async def _judge(
    units: Sequence[ReportUnit],
    evidence: Evidence,
    filler: Filler,
    report: Sequence[ReportUnit],
    before: Judgements,
) -> dict[UnitKey, UnitJudgement]:
    """Judge units in one call; return judgements by key, without those that the model left out."""
    against, sources, shown = await asyncio.to_thread(_prepare, units, evidence, before, report)
    if not sources and not any(keys for _, keys in against):
        return {}
    form = await ask_verdicts(
        filler,
        sources,
        shown,
        _stated_elsewhere(units, report),
        evidence.shown_calculations(units, sources),
    )
    if form is None:
        return {}
    verdicts = {verdict.unit: verdict for verdict in form.verdicts}
    all_keys = list[str]()
    for _, keys in against:
        all_keys += keys
    for judgement in before.values():
        all_keys += judgement.sources
    judgements = dict[UnitKey, UnitJudgement]()
    for number, (unit, keys) in enumerate(against, 1):
        if number in verdicts:
            # A source shown for one unit may also decide about another.
            quotable = tuple(dict.fromkeys([*keys, *all_keys]))
            judgements[key_of(unit)] = _stated(verdicts[number], quotable)
    return judgements


def _stated_elsewhere(units: Sequence[ReportUnit], report: Iterable[ReportUnit]) -> list[str]:
    """Return the report's statements that are not among these units, from which they may draw
    conclusions; none if each of them cites a source or a calculation itself."""
    needs_none = True
    for unit in units:
        states = unit.kind in ("statement", "cell")
        if states and not unit.is_cited and not unit.calculations:
            needs_none = False
    if needs_none:
        return []
    shown = set(map(key_of, units))
    stated = list[str]()
    for unit in report:
        if unit.kind in ("statement", "cell") and key_of(unit) not in shown:
            stated.append(unit.text)
    return stated


def _stated(judged: JudgedUnit, keys: tuple[str, ...]) -> UnitJudgement:
    """Return the judgement as the model states it, before its proof (see `proved`)."""
    return UnitJudgement(
        "unproved",
        right=judged.right,
        is_absence=judged.is_absence,
        stated=judged.verdict,
        grounds=Grounds(judged.words, tuple(judged.calculations), tuple(judged.supposed)),
        keys=keys,
    )


async def ask_verdicts(
    filler: Filler,
    sources: Sequence[Mapping[str, Any]],
    units: Sequence[Mapping[str, Any]],
    stated_elsewhere: Sequence[str] = (),
    calculations: Sequence[Mapping[str, Any]] = (),
) -> JudgeUnits | None:
    """Return the filled-in form on these sources and units; None if the model fails.

    `stated_elsewhere` are other statements of the report, on which units may rest, `calculations`
    those that units cite.
    """
    shown: dict[str, Any] = {"sources": [*sources], "units": [*units]}
    if calculations:
        shown["calculations"] = [*calculations]
    if stated_elsewhere:
        shown["stated_elsewhere"] = [*stated_elsewhere]
    knowledge = fenced_knowledge(**shown)
    has_request = any(source["source"] == "request" for source in sources)
    return await filler.ask_if_possible(
        JudgeUnits,
        "verifier",
        "verify_report",
        (),
        asked="verdicts",
        has_request=has_request,
        has_calculations=bool(calculations),
        has_elsewhere=bool(stated_elsewhere),
        is_second_look=any("not_proved" in unit for unit in units),
        knowledge=knowledge,
    )


def _prepare(
    units: Sequence[ReportUnit],
    evidence: Evidence,
    before: Judgements,
    report: Iterable[ReportUnit],
) -> tuple[list[tuple[ReportUnit, list[str]]], list[dict[str, Any]], list[dict[str, Any]]]:
    """Return units with the keys of their sources, and the sources and the units as shown."""
    is_second_look = bool(before)
    against = list[tuple[ReportUnit, list[str]]]()
    shown = list[dict[str, Any]]()
    around = ""
    table_start: int | None = None
    previous: ReportUnit | None = None
    for number, unit in enumerate(units, 1):
        against.append((unit, evidence.keys_for(unit, is_second_look=is_second_look)))
        entry: dict[str, Any] = {"unit": number, "says": unit.text}
        if unit.before and not _is_shown_before(previous, unit):
            entry["before"] = unit.before
        previous = unit
        in_known_table = unit.table_start is not None and unit.table_start == table_start
        # Show the text around several units, and the header of a table, only once, and none of a
        # sentence whose clauses follow each other.
        if unit.around not in ("", unit.text, around):
            entry["in"] = unit.around
            is_clause = unit.around == unit.sentence
            if in_known_table:
                _, _, entry["in"] = unit.around.rpartition("\n")
            if (is_clause or in_known_table) and _are_whole_sentence(units[number - 1 :]):
                del entry["in"]
        around = unit.around
        table_start = unit.table_start
        numbers = evidence.numbers_of(unit.sources)
        if numbers:
            entry["cites"] = numbers
        if unit.calculations:
            entry["calculations"] = [*unit.calculations]
        # At a second look, the model learns why its first verdict was not accepted.
        judgement = before.get(key_of(unit))
        if judgement and judgement.doubt:
            entry["not_proved"] = judgement.doubt.for_model
        shown.append(entry)
    windows = SECOND_LOOK if is_second_look else FIRST_LOOK
    wanted = against
    if not is_second_look:
        wanted = evidence.wanted(units, report)
    quoted = list[ProofPassage]()
    for unit in units:
        judgement = before.get(key_of(unit))
        if judgement:
            quoted += judgement.passages
    sources = evidence.shown(wanted, windows, quoted)
    return against, [*evidence.shown_request, *sources], shown


def _are_whole_sentence(units: Iterable[ReportUnit]) -> bool:
    """Whether the first of these units and those after it are all that its sentence or row says,
    and none of them was cut off in a phrase: "and fewest at the Tralee [3] and Thornsey [4]"."""
    sentence = ""
    start = end = 0
    for unit in units:
        if not sentence:
            sentence = unit.sentence
            start = end = unit.sentence_start
        if unit.sentence_start != start:
            break
        between = sentence[end - start : unit.start - start]
        if end > start and not between.strip():
            return False
        if tokens(between):
            break
        end = unit.end
    return not tokens(sentence[end - start :])


def _is_shown_before(previous: ReportUnit | None, unit: ReportUnit) -> bool:
    """Whether the previous unit shown is part of the sentence before a unit, or belongs with it."""
    if previous is None:
        return False
    if previous.table_start is not None and previous.table_start == unit.table_start:
        return True
    return previous.sentence == unit.before or previous.sentence_start == unit.sentence_start


def judgement_on_corrected(
    unit: ReportUnit,
    before: ReportUnit,
    judgement: UnitJudgement,
    evidence: Evidence,
    premises: OtherPremises,
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
    grounds = judgement.grounds._replace(words=words or judgement.grounds.words)
    derived = UnitJudgement("supported", grounds=grounds, keys=tuple(judgement.sources))
    derived = proved(unit, derived, evidence, premises, "quotations")
    return derived if derived.verdict == "supported" else None


def proved(
    unit: ReportUnit,
    judgement: UnitJudgement,
    evidence: Evidence,
    premises: OtherPremises,
    grade: JudgeGrade,
    *,
    is_final: bool = False,
) -> UnitJudgement:
    """Return the judgement on a unit with its proof.

    A model whose `grade` is "reasoning" is believed that the report says, as a number or in words,
    what a calculation assumes. `is_final`: it was asked a second time, so it has the last word on
    words as well; a figure needs a proof even then.
    """
    grounds = judgement.grounds
    known = evidence.known(judgement.keys)
    cited = list[Calculation]()
    for calculation in evidence.cited_calculations(unit):
        behind = with_basis([calculation.number], evidence.calculations)
        if grade == "reasoning" or premises.names(assumed_in(behind)):
            cited.append(calculation)
    proof = prove(unit, grounds, known, premises, cited)
    if proof.doubt and proof.doubt.kind == "figure":
        # The writer may have left out the citation of a calculation.
        keys = [*unit.sources, *(passage.source for passage in proof.passages)]
        earlier = evidence.calculations_from(keys)
        if earlier:
            with_earlier = prove(unit, grounds, known, premises, earlier)
            if with_earlier.doubt is None or with_earlier.doubt.kind != "figure":
                proof = with_earlier
    doubt = proof.doubt
    if doubt and doubt.kind == "figure":
        behind = with_basis(unit.calculations, evidence.calculations)
        doubt = doubt_about_assumption(doubt, unit, behind) or doubt
    is_reasoning = judgement.stated in ("reasoning", "advice")
    # The figures of a heading or table head may stand in the title of its source.
    needs_words = unit.is_cited and unit.has_number and unit.kind not in TITLE_KINDS
    if doubt and is_reasoning and doubt.kind == "quotation" and not needs_words:
        doubt = None
    open_doubt = doubt
    if doubt and doubt.kind == "words" and grade == "reasoning" and (is_final or is_reasoning):
        open_doubt = None
    return judgement._replace(
        verdict=_outcome(unit, judgement, proof, open_doubt),
        passages=proof.passages,
        calculations=proof.calculations,
        elsewhere=proof.elsewhere,
        doubt=doubt if judgement.stated in ("supported", "reasoning") else None,
    )


def _outcome(
    unit: ReportUnit, judgement: UnitJudgement, proof: Proof, doubt: Doubt | None
) -> UnitOutcome:
    """Return the outcome for a unit, from the verdict that the model stated and its proof."""
    stated = judgement.stated
    if stated == "supported":
        if doubt:
            return "unproved"
        return stated if proof.is_by_source_of(unit) else "wrong_source"
    if stated != "reasoning":
        return stated
    if unit.is_cited and not unit.sources:
        # The unit cites a source that does not exist.
        return "not_found"
    if doubt and not judgement.is_absence:
        return "unproved"
    return stated

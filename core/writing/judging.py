"""Asks the verifier's model to judge a report's units (statements), and proves its verdicts with the words it quotes.

A model has to pass a trial once before it is trusted, since some call everything supported.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from ...prompts import fenced_knowledge
from ..evidence.checking.proof import Known, Proof, ProofPassage, prove, stands_in
from ..evidence.checking.source_text import SourceText
from ..evidence.checking.units import ReportUnit
from ..evidence.text.quantities import Calculation
from ..evidence.text.words import tokens
from ..models.abilities import judges_soundly, remember_judging
from ..models.resolve import is_named, output_tokens, profile_of
from ..records.sources import Extent, Source
from ..run.errors import ToolsMissing
from .fill_in import Filler
from .forms import JudgedUnit, JudgeUnits, form_name

_UNIT_TOKENS = 100
"""Expected tokens per verdict; a call gets as many units as fit the model's output limit."""
_SMALL_WINDOW = 32_000
"""Tokens; a model with a smaller context window gets few units per call, as does one that failed with more."""
_FEW, _FEW_SOURCES = 8, 2
"""Maximum number of units in such a call, and of sources that these units cite."""
_FIRST_LOOK, SECOND_LOOK = 3, 8
"""Number of windows of a source to show for a unit when it is judged the first and the second time."""
_NEAREST = 3
"""Number of uncited sources to show for a unit that cites none or that its cited sources do not support."""
_READ_IN_PART: Mapping[Extent, str] = {
    "part": "its beginning",
    "excerpt": "search excerpt",
    "not opened": "search excerpt",
}
"""Descriptions, for the model, of sources that were not read completely."""
_SHARE = 0.5
"""Minimum share of a unit's words in one window of an uncited source for the source to be shown."""
UnitOutcome = Literal["supported", "contradicted", "not_found", "reasoning", "wrong_source", "unproved"]
"""Outcome for a unit: `wrong_source` if only an uncited source says it; `unproved` if a model calls it supported but
its quotations do not prove that."""
Texts = Mapping[str, Sequence[SourceText]]
"""Texts of sources, by key."""
UnitKey = tuple[str, tuple[str, ...]]
"""Key of a judgement: the unit's words, and the keys of the sources that it cites."""
_LEAST_ACCEPTED = 3
"""Minimum true statements of the trial that a model must call supported; it must not call any wrong one supported."""


class UnitJudgement(NamedTuple):
    """A model's verdict on a unit, after code has checked its quotations."""

    verdict: UnitOutcome
    passages: tuple[ProofPassage, ...] = ()
    """The quoted words that were found in sources."""
    right: str = ""
    """What the unit should say; empty if it is right or the correction is unknown."""
    calculation: Calculation = Calculation()
    """How the unit's numbers are calculated from others."""
    is_absence: bool = False
    """Whether the unit says that something is not stated or does not exist."""
    fault: str = ""
    """Why the quotations do not prove it, for the reader; empty if they do."""

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
    """The sources of a report and their texts: chooses the passages that models see when they check it."""

    def __init__(
        self, texts: Texts, sources: Mapping[str, Source], keys: Mapping[int, str], calculations: Sequence[str] = ()
    ) -> None:
        """`texts` and `sources` are by source key, `keys` by number; `calculations` have one line each."""
        self.calculations = tuple(calculations)
        self._texts = {key: _without_excerpts(own, sources.get(key)) for key, own in texts.items()}
        self._sources = sources
        self.numbers = {key: number for number, key in keys.items() if key in texts}
        """Source numbers by key."""

    @property
    def is_empty(self) -> bool:
        """Whether no source has a stored text."""
        return not any(self._texts.values())

    def _nearest(self, unit: ReportUnit) -> list[str]:
        """Return the keys of uncited sources that may support a unit, best first."""
        others = {key: own for key, own in self._texts.items() if key not in unit.sources}
        shares = {key: max((text.windows.share(unit.text) for text in own), default=0.0) for key, own in others.items()}
        return sorted((key for key in others if shares[key] >= _SHARE), key=lambda key: -shares[key])[:_NEAREST]

    def shown(self, units: Iterable[tuple[ReportUnit, Sequence[str]]], most: int) -> list[dict[str, Any]]:
        """Return the sources to show for these units, for a prompt, each with its passages most relevant to them.

        `units` are pairs of a unit and the keys of its sources; each unit selects at most `most` windows of a text.
        """
        wanted: dict[str, list[str]] = defaultdict(list)
        for unit, keys in units:
            around = "" if unit.text == unit.sentence else f" {unit.around or unit.sentence}"
            for key in keys:
                wanted[key].append(unit.text + around)
        found = list[dict[str, Any]]()
        for key in (key for key in self.numbers if key in wanted):
            source, passages = self._sources[key], list[str]()
            for windows in (text.windows for text in self._texts[key]):
                passages += windows.shown(number for words in wanted[key] for number in windows.best(words, most))
            seen = {"seen": _READ_IN_PART[source.extent]} if source.extent in _READ_IN_PART else {}
            date = {"date": source.date} if source.date else {}
            found.append({"source": self.numbers[key], "title": source.title, **date, **seen, "passages": passages})
        return found

    def keys_for(self, unit: ReportUnit, *, is_second_look: bool) -> list[str]:
        """Return the keys of the sources that a unit is compared with.

        These are the sources cited by the unit, or else by its sentence or the surrounding text. If the unit cites
        none, and at a second look, the nearest uncited sources are added.
        """
        near = self._nearest(unit) if is_second_look or not unit.sources else ()
        return list(dict.fromkeys([*_cited_near(unit), *near]))

    def has_more(self, unit: ReportUnit) -> bool:
        """Whether a second look shows more passages than the first."""
        has_windows = any(
            len(text.windows.windows) > _FIRST_LOOK for key in _cited_near(unit) for text in self._texts.get(key, ())
        )
        return has_windows or (bool(unit.sources) and bool(self._nearest(unit)))

    @property
    def reading(self) -> str:
        """The number and dates of the sources: facts about the research that a report may state without a citation."""
        read = [self._sources[key] for key in self.numbers if key in self._sources]
        return " ".join([f"{len(read)} sources:", *(source.date for source in read)])

    def known(self, keys: Iterable[str]) -> dict[str, Known]:
        """Return the texts, titles and dates of these sources, by key."""
        return {
            key: Known(self._texts[key], f"{self._sources[key].title} {self._sources[key].date}")
            for key in keys
            if key in self._texts and key in self._sources
        }


def _cited_near(unit: ReportUnit) -> tuple[str, ...]:
    """Return the keys of the sources cited by a unit, or else by its sentence, or else by the text around it."""
    return unit.sources or unit.of_sentence or unit.nearby


def _without_excerpts(texts: Sequence[SourceText], source: Source | None) -> Sequence[SourceText]:
    """Return a source's texts, without excerpts of a page that was read completely and texts contained in others."""
    if source and source.kind == "document":
        return [text for text in texts if not any(text.text in other.text for other in texts if other is not text)]
    if source is None or source.extent in _READ_IN_PART:
        return texts
    return [text for text in texts if text.content_hash == source.content_hash] or texts


async def judge(
    units: Sequence[ReportUnit],
    evidence: Evidence,
    filler: Filler,
    calls: int,
    before: Judgements = MappingProxyType({}),
) -> tuple[dict[UnitKey, UnitJudgement], int]:
    """Have the verifier's model judge units in at most `calls` calls; return judgements by key, and the calls made.

    At a second look, `before` has the earlier judgements, and more passages are shown. A model that fails with many
    units, or has a small window, gets few units per call.
    """
    context = filler.context
    many = max(_FEW, (output_tokens("verifier", context.limits.form_tokens, context) or 0) // _UNIT_TOKENS)
    is_small = profile_of("verifier", context).window < _SMALL_WINDOW
    has_few = is_small or form_name(JudgeUnits) in filler.unfilled
    batches = _batches(units, _FEW if has_few else many)[: max(0, calls)]
    each = await asyncio.gather(*(_judge(batch, evidence, filler, before) for batch in batches))
    found = {key: judgement for judged in each for key, judgement in judged.items()}
    if has_few or form_name(JudgeUnits) not in filler.unfilled:
        return found, len(batches)
    failed = [unit for batch, judged in zip(batches, each, strict=True) if not judged for unit in batch]
    more, made = await judge(failed, evidence, filler, calls - len(batches), before)
    return found | more, len(batches) + made


def _batches(units: Sequence[ReportUnit], most: int) -> list[list[ReportUnit]]:
    """Split units into batches of at most `most`, in report order: a unit is often unclear without the previous one."""
    distinct = {key_of(unit): unit for unit in units}.values()
    # As few calls as possible, with equally many units in each.
    size = -(-len(distinct) // -(-len(distinct) // most)) if distinct else most
    batches, cited = list[list[ReportUnit]](), set[str]()
    for unit in distinct:
        keys = {*(unit.sources or unit.of_sentence or unit.nearby[:1])}
        has_others = most == _FEW and cited and len(cited | keys) > _FEW_SOURCES
        if not batches or len(batches[-1]) >= size or has_others:
            batches.append([])
            cited = set()
        batches[-1].append(unit)
        cited |= keys
    return batches


async def _judge(
    units: Sequence[ReportUnit], evidence: Evidence, filler: Filler, before: Judgements
) -> dict[UnitKey, UnitJudgement]:
    """Judge units in one call; return judgements by key, without those that the model left out."""
    against, sources, shown = await asyncio.to_thread(_prepare, units, evidence, before)
    if not sources:
        return {}
    form = await _ask_verdicts(filler, sources, shown)
    verdicts = {verdict.unit: verdict for verdict in form.verdicts} if form else {}
    # A source shown for one unit may also decide about another.
    all_keys = [key for _, keys in against for key in keys]

    def read() -> dict[UnitKey, UnitJudgement]:
        return {
            key_of(unit): _read(unit, verdicts[number], evidence, list(dict.fromkeys([*keys, *all_keys])))
            for number, (unit, keys) in enumerate(against, 1)
            if number in verdicts
        }

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
    """Return (units with the keys of their sources, the sources as shown to a model, the units as shown)."""
    against = [(unit, evidence.keys_for(unit, is_second_look=bool(before))) for unit in units]
    shown, around = list[dict[str, Any]](), ""
    for number, unit in enumerate(units, 1):
        # Show the text around several units only once.
        within = {"in": unit.around} if unit.around not in ("", unit.text, around) else {}
        around = unit.around
        numbers = [evidence.numbers[key] for key in unit.sources if key in evidence.numbers]
        cites = {"cites": numbers} if numbers else {}
        # At a second look, the model learns why its first verdict was not accepted.
        judgement = before.get(key_of(unit))
        fault = {"not_proved": judgement.fault} if judgement and judgement.fault else {}
        shown.append({"unit": number, "says": unit.text, **within, **cites, **fault})
    return against, evidence.shown(against, SECOND_LOOK if before else _FIRST_LOOK), shown


def judgement_on_corrected(
    unit: ReportUnit, before: ReportUnit, judgement: UnitJudgement, evidence: Evidence
) -> UnitJudgement | None:
    """Derive the judgement on a corrected unit from that on the old one (`before`); None if a model must judge again.

    This is possible if the judge's own words replaced one stretch of words, or if only the citation was corrected.
    """
    old, new = tokens(before.text), tokens(unit.text)
    edits = [edit for edit in SequenceMatcher(None, old, new, autojunk=False).get_opcodes() if edit[0] != "equal"]
    replaced, by = (old[edits[0][1] : edits[-1][2]], new[edits[0][3] : edits[-1][4]]) if edits else ([], [])
    is_right = stands_in(judgement.right, unit.text) and f" {' '.join(by)} " in f" {' '.join(tokens(judgement.right))} "
    # If more words were removed than replaced, one of them may have been "not".
    is_whole = len(replaced) <= len(by) or new == tokens(judgement.right)
    is_as_named = is_right and is_whole if edits else judgement.verdict == "wrong_source"
    if unit.kind != before.kind or not is_as_named:
        return None
    known = evidence.known(passage.source for passage in judgement.passages)
    proof = prove(unit, "\n".join(passage.words for passage in judgement.passages), judgement.calculation, known)
    if proof.fault or not _is_by_cited(unit, proof):
        return None
    return UnitJudgement("supported", proof.passages, calculation=judgement.calculation)


def _is_by_cited(unit: ReportUnit, proof: Proof) -> bool:
    """Whether a source cited by the unit proves it; for a unit without citations, any source may."""
    return not unit.is_cited or any(passage.source in unit.sources for passage in proof.passages)


def _read(unit: ReportUnit, judged: JudgedUnit, evidence: Evidence, keys: Sequence[str]) -> UnitJudgement:
    """Return the judgement on a unit from the model's form, with the quoted words that are in these sources."""
    calculation = Calculation((*judged.calculations, *evidence.calculations))
    proof = prove(unit, judged.words, calculation, evidence.known(keys))
    verdict: UnitOutcome = judged.verdict
    if verdict == "supported":
        verdict = "unproved" if proof.fault else "supported" if _is_by_cited(unit, proof) else "wrong_source"
    elif verdict == "reasoning" and unit.is_cited and not unit.sources:
        # The unit cites a source that does not exist.
        verdict = "not_found"
    fault = proof.fault if verdict == "unproved" else ""
    return UnitJudgement(verdict, proof.passages, judged.right, calculation, judged.is_absence, fault)


class TrialStatement(NamedTuple):
    """A statement that the verifier's model judges in its trial call."""

    says: str
    source: int
    """Number of the trial source that it cites."""
    is_right: bool


_MILL = "The mill ground 340 tonnes of rye in 1911. Its owner, Ilse Brandt, sold it to the parish in 1920."
_BRIDGE = "The bridge is 84 metres long. Lorries may no longer use it. Its repair is planned but not yet paid for."
_TRIAL_SOURCES = (
    {"source": 1, "title": "The mill at Halbeck", "passages": [_MILL]},
    {"source": 2, "title": "Survey of the Torne bridge", "passages": [_BRIDGE]},
)
TRIAL = (
    TrialStatement("In 1911 the mill ground 340 tonnes of rye.", 1, is_right=True),
    TrialStatement("Ilse Brandt bought the mill in 1920.", 1, is_right=False),
    TrialStatement("Until 1920 the mill belonged to Ilse Brandt.", 1, is_right=True),
    TrialStatement("The Torne bridge is 84 metres long.", 2, is_right=True),
    TrialStatement("The Torne bridge is 48 metres wide, and its repair is paid for.", 2, is_right=False),
    TrialStatement("Lorries are not allowed on the bridge.", 2, is_right=True),
)


async def is_sound(filler: Filler) -> bool:
    """Whether the verifier's model tells right statements from wrong ones in a trial call.

    The result is stored with the model's other abilities, so each model is tried once. Model instances passed by an
    app are trusted without a trial, as is a model that does not answer it.
    """
    context = filler.context
    if context.trust_verifier or not is_named("verifier", context):
        return True
    if (known := await judges_soundly("verifier", context)) is not None:
        return known
    numbered = list(enumerate(TRIAL, 1))
    units = [{"unit": number, "says": stated.says, "cites": [stated.source]} for number, stated in numbered]
    try:
        form = await _ask_verdicts(filler, _TRIAL_SOURCES, units)
    except ToolsMissing:
        # An unjudged report is better than none.
        return False
    if form is None:
        return True
    accepted = {verdict.unit for verdict in form.verdicts if verdict.verdict == "supported"}
    right = [number in accepted for number, stated in numbered if stated.is_right]
    wrong = [number in accepted for number, stated in numbered if not stated.is_right]
    sound = sum(right) >= _LEAST_ACCEPTED and not any(wrong)
    await remember_judging("verifier", context, sound=sound)
    return sound

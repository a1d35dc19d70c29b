"""Keeps the verdicts of a check with all that they rest on, so that a later check of the thread
does not ask a model again where nothing of that has changed.

A verdict rests on the words of its unit and around it, on sources, and on premises: the user's
messages and other units of the report. Which units a calculation or a conclusion comes from is
seldom certain, so all that state one of its numbers count.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from pydantic import ValidationError

from ..errors import log_failure
from ..evidence.checking.proof import Grounds, OtherPremises, stands_in
from ..evidence.checking.units import ReportUnit
from ..evidence.citations.markers import without_markers
from ..evidence.text.words import dates_in
from ..records.report import JudgeGrade
from ..records.research import Calculation, CalculationInput
from ..records.sources import Record, short_hash
from ._judging import Evidence, StatedVerdict, UnitJudgement, UnitKey, UnitOutcome, key_of

_NEEDS_NO_PREMISE = ("constant", "supposed")
"""Origins of the inputs of calculations that rest on nothing else."""
_IS_CITED = ("source", "calculation")
"""Origins of inputs that a unit has to cite to be where they come from."""
_STATEMENTS = ("statement", "cell")
"""Kinds of units that state something, and from which others may conclude."""
_NAMES = ("label", "head")
"""Kinds of units that name the rows and columns of a table."""
_YEAR_LENGTH = 4
"""Length of an ISO date that is only a year."""


class KeptSource(Record):
    """What was known of a source when units were judged by it."""

    key: str
    content_hash: str = ""
    """SHA-256 (hex) of its text; empty if only search excerpts were read."""
    texts: tuple[str, ...] = ()
    """The same of each text that was compared, its own or excerpts, in alphabetical order."""
    about: str
    """Its title and date."""

    def is_part_of(self, other: KeptSource) -> bool:
        """Whether another state of the source has the same text, and perhaps more excerpts."""
        without_texts = {"texts": ()}
        is_same = self.model_copy(update=without_texts) == other.model_copy(update=without_texts)
        return is_same and set(self.texts).issubset(other.texts)


class KeptJudgement(Record):
    """A model's verdict on a unit, with what it handed in and all that the verdict rests on."""

    verdict: UnitOutcome
    """The outcome, after the proof."""
    stated: StatedVerdict
    """The verdict as the model gave it."""
    words: str = ""
    """The words that the model quoted."""
    right: str = ""
    """What the unit should say, according to the model."""
    calculations: tuple[str, ...] = ()
    """The lines of arithmetic behind its figures."""
    supposed: tuple[str, ...] = ()
    """Numbers that the unit only supposes."""
    is_absence: bool = False
    """Whether the unit says that something is not stated or does not exist."""
    was_supported: bool = False
    """Whether the model called it supported at its first look (see `UnitJudgement`)."""
    was_asked_twice: bool = False
    """Whether the verdict is that of a second look."""
    was_sent_to_writer: bool = False
    """Whether the writer's model was asked to correct it."""
    sources: tuple[str, ...] = ()
    """Keys of the sources that it rests on: those cited, then those quoted."""
    is_open: bool = False
    """Whether any new text that it would be compared with could change it, as nothing was found."""
    premises: tuple[int, ...] = ()
    """Indexes of the units that it rests on."""
    restated: tuple[int, ...] = ()
    """Indexes of the units that state figures from which it is calculated, and which were found in
    sources: it rests on their words, but not on the verdicts on them."""
    sections: tuple[int, ...] = ()
    """Indexes of the sections from whose statements it may conclude; none if it is proved by
    premises, or needs none."""
    rests_on_messages: bool = False
    """Whether it may rest on the user's messages."""

    @property
    def unproved(self) -> UnitJudgement:
        """The judgement without its proof."""
        return UnitJudgement(
            "unproved",
            right=self.right,
            is_absence=self.is_absence,
            stated=self.stated,
            grounds=Grounds(self.words, self.calculations, self.supposed),
            keys=self.sources,
            was_supported=self.was_supported,
        )


class KeptUnit(Record):
    """A unit of a checked report: its words, and the verdict on it."""

    text: str
    """Its words; a cell with its row label and column header."""
    cites: tuple[str, ...] = ()
    """Keys of the sources that it cites."""
    contexts: tuple[str, ...]
    """Hashes of its context (`_contexts`) at each place in the report where it occurs."""
    judgement: KeptJudgement | None = None
    """None if no model was asked, because a source has it word for word, or if nothing was
    decided."""

    @property
    def key(self) -> UnitKey:
        """Key of its judgement."""
        return self.text, self.cites


class KeptVerdicts(Record):
    """The verdicts of a report's check, as they are stored with the thread."""

    judge: str
    """The model that judged, and its server."""
    grade: JudgeGrade
    """How far that model could be trusted."""
    messages: tuple[str, ...]
    """Hashes of the user's messages at that time."""
    sources: tuple[KeptSource, ...]
    """All sources with which units were compared."""
    units: tuple[KeptUnit, ...]
    """The units of the checked report, each once."""
    sections: tuple[tuple[int, ...], ...]
    """For each section of the report, the indexes of the units that state something and are not
    known to be wrong."""


class Unchanged:
    """The kept judgements that still hold for the units of a report, since nothing that they rest
    on has changed."""

    def __init__(self, kept: KeptVerdicts, units: Iterable[ReportUnit], evidence: Evidence) -> None:
        """`units` are those of the report as it is now."""
        self._kept = kept
        self._evidence = evidence
        self._places = _by_key(units)
        self._same_sources = set[str]()
        """Keys of the sources whose text is the same; there may be new excerpts."""
        self._equal_sources = set[str]()
        """Keys of those without new excerpts."""
        for source in kept.sources:
            now = _kept_source(source.key, evidence)
            if source.is_part_of(now):
                self._same_sources.add(source.key)
            if source == now:
                self._equal_sources.add(source.key)
        self._has_messages = set(_hashes(evidence.asked)).issuperset(kept.messages)
        self._whole_sections = set[int]()
        """Indexes of the sections of which no statement is gone or cites a changed source."""
        for number, statements in enumerate(kept.sections):
            if all(self._has_words(kept.units[index]) for index in statements):
                self._whole_sections.add(number)
        old = {unit.key for unit in kept.units}
        known, new = set[str](), set[str]()
        for key, same in self._places.items():
            sentences = known if key in old else new
            sentences.update(unit.sentence for unit in same)
        self._known_sentences = known - new
        """The sentences, as written, that the report had before."""
        self._same = set[int]()
        """Indexes of the units of which nothing has changed, except perhaps their premises."""
        for index, unit in enumerate(kept.units):
            if self._has_words(unit) and self._has_context(unit) and self._has_basis(unit):
                self._same.add(index)

    def judgements(self, changed: Collection[UnitKey] = ()) -> dict[UnitKey, KeptJudgement]:
        """Return the judgements by key; `changed` are units that count as changed in any case."""
        units = self._kept.units
        same = {index for index in self._same if units[index].key not in changed}
        is_done = False
        while not is_done:
            is_done = True
            for index in tuple(same):
                judgement = units[index].judgement
                if judgement and not same.issuperset(judgement.premises):
                    same.remove(index)
                    is_done = False
        judgements = dict[UnitKey, KeptJudgement]()
        for index in sorted(same):
            judgement = units[index].judgement
            if judgement:
                judgements[units[index].key] = judgement
        return judgements

    def _has_words(self, unit: KeptUnit) -> bool:
        """Whether the report has a unit's words, with the same citations of unchanged sources."""
        return unit.key in self._places and self._same_sources.issuperset(unit.cites)

    def _has_context(self, unit: KeptUnit) -> bool:
        """Whether a unit stands nowhere in the report where it did not stand before."""
        return all(self._stood_there(same_unit, unit) for same_unit in self._places[unit.key])

    def _stood_there(self, now: ReportUnit, unit: KeptUnit) -> bool:
        """Whether a unit stood before where it stands now; a table may follow another sentence that
        the report had before, unless one introduces it."""
        if _context(now) in unit.contexts:
            return True
        if now.table_start is None or _is_introduction(now.before):
            return False
        is_new = bool(now.before) and now.before not in self._known_sentences
        return not is_new and _context(now._replace(before="")) in unit.contexts

    def _has_basis(self, unit: KeptUnit) -> bool:
        """Whether all is unchanged that a judgement rests on, except its premises."""
        judgement = unit.judgement
        if judgement is None:
            return True
        if not self._whole_sections.issuperset(judgement.sections):
            return False
        if judgement.rests_on_messages and not self._has_messages:
            return False
        if not all(self._has_words(self._kept.units[index]) for index in judgement.restated):
            return False
        if not judgement.is_open:
            return self._same_sources.issuperset(judgement.sources)
        compared = set(judgement.sources)
        if judgement.is_absence:
            compared.update(self._evidence.numbers)
        for same_unit in self._places[unit.key]:
            compared.update(self._evidence.deciding_keys(same_unit))
        return self._equal_sources.issuperset(compared)


def read_kept(text: str) -> KeptVerdicts | None:
    """Return stored verdicts; None if there are none, or if another version stored them."""
    if not text:
        return None
    try:
        return KeptVerdicts.model_validate_json(text)
    except ValidationError as error:
        log_failure(__name__, error, "The stored verdicts cannot be read; all units are judged")
        return None


class Decided(NamedTuple):
    """What a check has found out about the units of a report."""

    judged: Mapping[UnitKey, UnitJudgement]
    """The final judgements."""
    wrong: Collection[UnitKey]
    """Those that need to be corrected or marked."""
    asked_twice: Collection[UnitKey]
    """Units on which the model was asked a second time."""
    sent_to_writer: Collection[UnitKey]
    """Units that the writer's model was asked to correct."""


def kept_verdicts(
    judge: str,
    grade: JudgeGrade,
    units: Sequence[ReportUnit],
    decided: Decided,
    evidence: Evidence,
) -> KeptVerdicts:
    """Return the verdicts on the units of a checked report, to be stored."""
    places = _by_key(units)
    trail = _Trail(units, decided, evidence)
    kept = list[KeptUnit]()
    for index, (key, same) in enumerate(places.items()):
        text, cites = key
        kept.append(
            KeptUnit(
                text=text,
                cites=cites,
                contexts=tuple(sorted(set[str]().union(*map(_contexts, same)))),
                judgement=_kept_judgement(key, trail.basis(index, same), decided),
            )
        )
    return KeptVerdicts(
        judge=judge,
        grade=grade,
        messages=tuple(_hashes(evidence.asked)),
        sources=tuple(_kept_source(key, evidence) for key in evidence.numbers),
        units=tuple(kept),
        sections=tuple(tuple(sorted(statements)) for statements in trail.sections.statements),
    )


def _kept_judgement(key: UnitKey, basis: _Basis | None, decided: Decided) -> KeptJudgement | None:
    """Return the judgement on a unit as it is stored; None without a basis."""
    if basis is None:
        return None
    judgement = decided.judged[key]
    grounds = judgement.grounds
    return KeptJudgement(
        verdict=judgement.verdict,
        stated=judgement.stated,
        words=grounds.words,
        right=judgement.right,
        calculations=_lines(judgement),
        supposed=tuple(grounds.supposed),
        is_absence=judgement.is_absence,
        was_supported=judgement.was_supported,
        was_asked_twice=key in decided.asked_twice,
        was_sent_to_writer=key in decided.sent_to_writer,
        sources=tuple(basis.sources),
        is_open=basis.is_open,
        premises=tuple(sorted(basis.premises)),
        restated=tuple(sorted(basis.restated)),
        sections=tuple(sorted(basis.sections)),
        rests_on_messages=basis.rests_on_messages,
    )


def _lines(judgement: UnitJudgement) -> tuple[str, ...]:
    """Return the lines of arithmetic behind a judgement, without the calculations of the thread,
    with which it is proved again as they are then."""
    lines = list(judgement.grounds.calculations)
    own = {line.partition("=")[0].strip(" :") for line in lines}
    for calculation in judgement.calculations:
        if not calculation.number and calculation.formula not in own:
            lines.append(f"{calculation.formula} = {calculation.result}")
    return tuple(lines)


def _kept_source(key: str, evidence: Evidence) -> KeptSource:
    """Return what is known of a source; only its key if the report may not cite it."""
    known = evidence.known([key]).get(key)
    if known is None:
        return KeptSource(key=key, about="")
    return KeptSource(
        key=key,
        content_hash=evidence.sources[key].content_hash,
        texts=tuple(sorted(text.content_hash for text in known.texts)),
        about=known.about,
    )


def _hashes(messages: Iterable[str]) -> list[str]:
    return list(map(short_hash, messages))


def _contexts(unit: ReportUnit) -> set[str]:
    """Return the hash of a unit's context; for a part of a table that no sentence introduces, also
    the one without the sentence before the table."""
    contexts = {_context(unit)}
    if unit.table_start is not None and not _is_introduction(unit.before):
        contexts.add(_context(unit._replace(before="")))
    return contexts


def _is_introduction(sentence: str) -> bool:
    """Whether a sentence, as written, introduces what follows it."""
    return without_markers(sentence).rstrip(" *_").endswith((":", "："))


def _context(unit: ReportUnit) -> str:
    """Return a hash of a unit's context: its kind, the sentence before it, and for a clause or an
    introduction the sentence or list that it belongs to.

    A cell has its row label and column header among its words; other cells do not change it.
    """
    around = unit.around if unit.kind in ("statement", "intro") else ""
    return short_hash(unit.kind, without_markers(unit.before), without_markers(around))


def _by_key(units: Iterable[ReportUnit]) -> dict[UnitKey, list[ReportUnit]]:
    """Return the units with the same words and citations, by their key, in order."""
    places = dict[UnitKey, list[ReportUnit]]()
    for unit in units:
        places.setdefault(key_of(unit), []).append(unit)
    return places


class _Basis(NamedTuple):
    """What a judgement rests on (see `KeptJudgement`)."""

    sources: Sequence[str]
    is_open: bool
    premises: Collection[int]
    restated: Collection[int]
    sections: Collection[int]
    rests_on_messages: bool


class _Trail:
    """Finds what the judgements on the units of a report rest on."""

    def __init__(self, units: Sequence[ReportUnit], decided: Decided, evidence: Evidence) -> None:
        self._units = [same[0] for same in _by_key(units).values()]
        self._judged = decided.judged
        self._evidence = evidence
        self.sections = _Sections(units, decided.wrong)
        self._stating = defaultdict[float | str, set[int]](set)
        """Indexes of the units that state or calculate a figure (see `_figures`)."""
        for index, unit in enumerate(self._units):
            judgement = self._judged.get(key_of(unit))
            calculations = judgement.calculations if judgement else ()
            for figure in _figures(unit.text, calculations):
                self._stating[figure].add(index)

    def basis(self, index: int, places: Sequence[ReportUnit]) -> _Basis | None:
        """Return what the judgement on a unit rests on; `places` are all units with its key.

        None if it was not judged.
        """
        unit = self._units[index]
        judgement = self._judged.get(key_of(unit))
        if judgement is None:
            return None
        is_negative = judgement.verdict in ("not_found", "unproved")
        has_proof = judgement.passages or judgement.elsewhere or judgement.calculations
        is_refuted = judgement.verdict == "contradicted"
        is_open = is_negative or judgement.is_absence or (is_refuted and not has_proof)
        premises = set[int]()
        restated = set[int]()
        sections = set[int]()
        rests_on_messages = False
        for calculation in judgement.calculations:
            for given in calculation.inputs:
                behind = restated if given.origin == "source" else premises
                behind.update(self._behind_input(given, calculation))
            rests_on_messages |= any(given.origin == "request" for given in calculation.inputs)
        for words in judgement.elsewhere:
            premises |= self._with_words(words)
            rests_on_messages |= stands_in(words, self._evidence.request)
        claims_nothing = unit.kind in _NAMES and judgement.stated == "reasoning"
        if not unit.is_cited and not is_negative and not claims_nothing:
            premises |= self._behind_figures(unit, judgement)
        if not has_proof and not is_negative:
            for same_unit in places:
                if same_unit.kind in _STATEMENTS:
                    sections |= self.sections.around(same_unit)
                    rests_on_messages = True
        return _Basis(
            sources=list(dict.fromkeys([*unit.sources, *judgement.sources])),
            is_open=is_open,
            premises=premises - {index},
            restated=restated - {index},
            sections=sections,
            rests_on_messages=rests_on_messages,
        )

    def _behind_input(self, given: CalculationInput, calculation: Calculation) -> set[int]:
        """Return the indexes of the units from which an input of a calculation may come: all that
        state such a value. For a calculation of the thread it is known which inputs come from a
        source or an earlier calculation; then only those that cite that."""
        indexes = set[int]()
        if given.origin in _NEEDS_NO_PREMISE:
            return indexes
        is_known = bool(calculation.number) and given.origin in _IS_CITED
        for index in self._stating[_rounded(given.value)]:
            unit = self._units[index]
            is_cited = given.source in unit.sources or given.calculation in unit.calculations
            if is_cited or not is_known:
                indexes.add(index)
        return indexes

    def _with_words(self, words: str) -> set[int]:
        """Return the indexes of the units that have these words."""
        indexes = set[int]()
        for index, unit in enumerate(self._units):
            if stands_in(words, unit.text):
                indexes.add(index)
        return indexes

    def _behind_figures(self, unit: ReportUnit, judgement: UnitJudgement) -> set[int]:
        """Return the indexes of the units with a figure of an uncited unit that is neither in the
        words quoted for it nor calculated: statements of the report prove the figures of others."""
        quoted = [judgement.words]
        for passage in judgement.passages:
            quoted += [passage.above, passage.around]
        words = " ".join(quoted)
        given = _figures(words) | _values(words, judgement.calculations)
        for calculation in judgement.calculations:
            given.update(_rounded(used.value) for used in calculation.inputs)
        indexes = set[int]()
        for figure in _figures(unit.text) - given:
            indexes |= self._stating[figure]
        return indexes


class _Sections:
    """The sections of a report; a unit may conclude from the statements of its own section, or from
    those of the whole report if its section cites nothing, as a summary."""

    def __init__(self, units: Sequence[ReportUnit], wrong: Collection[UnitKey]) -> None:
        """`wrong` are units from which nothing follows."""
        indexes = {key: index for index, key in enumerate(_by_key(units))}
        self.statements = list[set[int]]([set()])
        """For each section, the indexes of the units from which others may conclude."""
        self._by_start = dict[int, int]()
        """The section of each unit, by the unit's offset."""
        self._with_citations = set[int]()
        for unit in units:
            if unit.kind == "heading":
                self.statements.append(set())
            number = len(self.statements) - 1
            self._by_start[unit.start] = number
            if unit.sources:
                self._with_citations.add(number)
            if unit.kind in _STATEMENTS and key_of(unit) not in wrong:
                self.statements[-1].add(indexes[key_of(unit)])

    def around(self, unit: ReportUnit) -> set[int]:
        """Return the sections from which a unit may conclude."""
        number = self._by_start[unit.start]
        if number in self._with_citations:
            return {number}
        return set(range(len(self.statements)))


def _figures(text: str, calculations: tuple[Calculation, ...] = ()) -> set[float | str]:
    """Return what `_values` returns, but dates with a month as a whole, in ISO form: nothing is
    calculated from the day of one alone."""
    dates = set[str]()
    rest = text
    for date in reversed(list(dates_in(text))):
        if len(date.iso) > _YEAR_LENGTH:
            dates.add(date.iso)
            rest = f"{rest[: date.start]} {rest[date.end :]}"
    return {*_values(rest, calculations), *dates}


def _values(text: str, calculations: tuple[Calculation, ...] = ()) -> set[float | str]:
    """Return the values of a text's numbers that calculations may use, and of the results of
    calculations, exact and as written."""
    premises = OtherPremises(report=text, calculations=calculations)
    return set(map(_rounded, premises.values))


def _rounded(value: float) -> float:
    """Return the size of a number, equal for numbers that calculations take for the same."""
    return float(f"{abs(value):.8g}")

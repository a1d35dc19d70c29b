"""Finds out which statements of a report are still supported once the user has excluded some of the
sources that they cite."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from ..evidence.checking.proof import Known, OtherPremises
from ..evidence.checking.source_text import SourceText
from ..evidence.checking.units import ReportUnit, report_units
from ..evidence.checking.verification import ShownSources, Verifier
from ..evidence.citations.labels import Labels
from ..evidence.citations.rendering import with_marks, without_marks
from ..records.report import CitingText, ClaimCheck
from ._judging import Evidence, UnitJudgement, UnitKey, key_of, proved
from ._kept import KeptJudgement, KeptVerdicts

_STATEMENTS = ("statement", "cell")
"""Kinds of units that state something."""
_NAMED = 5
"""Maximum number of unchecked statements that a note names."""
_NAMING_WORDS = 6
"""Number of words by which it names one."""


class SupportLeft(NamedTuple):
    """What became of the statements that cite excluded sources beside others."""

    unsupported: tuple[str, ...] = ()
    """The words of the units that the other sources do not support."""
    unchecked: tuple[ReportUnit, ...] = ()
    """The units of which nobody could say whether these support them."""

    @property
    def note(self) -> str:
        """A note for the reader on the unchecked statements; empty if there are none."""
        named = list[str]()
        for unit in self.unchecked[:_NAMED]:
            words = unit.text.split()
            name = " ".join(words[:_NAMING_WORDS])
            if len(words) > _NAMING_WORDS:
                name += " …"
            named.append(f'"{name}"')
        if not named:
            return ""
        if len(self.unchecked) > _NAMED:
            named.append(f"and {len(self.unchecked) - _NAMED} more")
        return (
            "Sources were excluded, and whether the others fully support this was not checked: "
            f"{', '.join(named)}."
        )

    def marked(self, text: str, keys: Mapping[int, str], labels: Labels) -> str:
        """Return a report's text with marks after the unchecked statements; `keys` are those of its
        sources, by number."""
        unchecked = set(map(key_of, self.unchecked))
        if not unchecked:
            return text
        claims = list[ClaimCheck]()
        for unit in report_units(text, keys):
            if key_of(unit) in unchecked:
                claims.append(ClaimCheck(start=unit.start, end=unit.end, verdict="unsupported"))
        return with_marks(text, claims, labels)[0]


class MixedStatements:
    """The statements of a report that cite both excluded sources and others."""

    def __init__(self, before: CitingText, excluded: Collection[str]) -> None:
        """`before` is the report with its citations of the excluded sources."""
        self._excluded = frozenset(excluded)
        self._before = dict[UnitKey, UnitKey]()
        """Keys of the units as they were, by those without the excluded sources."""
        for unit in report_units(without_marks(before.text), before.keys):
            left = tuple(key for key in unit.sources if key not in excluded)
            if unit.kind in _STATEMENTS and left and left != unit.sources:
                self._before[unit.text, left] = key_of(unit)

    def among(self, units: Iterable[ReportUnit]) -> list[ReportUnit]:
        """Return those of the units that are such statements, without the excluded sources."""
        return [unit for unit in units if key_of(unit) in self._before]

    def missing_in(self, units: Iterable[ReportUnit]) -> list[str]:
        """Return the words of such statements that are not among these units any more."""
        present = set(map(key_of, units))
        missing = list[str]()
        for key in self._before:
            if key not in present:
                words, _sources = key
                missing.append(words)
        return missing

    def proved_by(
        self, kept: KeptVerdicts, units: Iterable[ReportUnit], evidence: Evidence
    ) -> dict[UnitKey, UnitJudgement]:
        """Return the kept judgements on these units that the sources in the evidence prove alone;
        the words that decided may not stand in any other."""
        judgements = dict[UnitKey, KeptJudgement | None]()
        stated = list[str]()
        for known in kept.units:
            judgements[known.key] = known.judgement
            is_supported = known.judgement and known.judgement.verdict == "supported"
            if is_supported and self._excluded.isdisjoint(known.cites):
                stated.append(known.text)
        premises = OtherPremises(evidence.request, " ".join(stated))
        found = dict[UnitKey, UnitJudgement]()
        for unit in units:
            judgement = judgements.get(self._before[key_of(unit)])
            if judgement is None or judgement.verdict != "supported":
                continue
            now = proved(unit, judgement.unproved, evidence, premises, kept.grade)
            if now.verdict == "supported":
                found[key_of(unit)] = now
        return found

    def support_left(
        self, units: Sequence[ReportUnit], kept: KeptVerdicts | None, evidence: Evidence
    ) -> SupportLeft:
        """Return what becomes of these statements without a model, `units` being those of the
        report without the excluded sources: proved are those that a source has word for word, and
        those that a kept verdict proves."""
        unsupported = self.missing_in(units)
        units = self.among(units)
        texts = dict[str, Sequence[SourceText]]()
        for unit in units:
            for key, known in evidence.known(unit.sources).items():
                texts[key] = known.texts
        verifier = Verifier(texts)
        decided = self.proved_by(kept, units, evidence) if kept else {}
        unchecked = list[ReportUnit]()
        for unit in units:
            is_quoted = any(verifier.is_quoted(unit, key) for key in unit.sources)
            if is_quoted or key_of(unit) in decided:
                continue
            if lacks_figures(unit, evidence):
                unsupported.append(unit.text)
            else:
                unchecked.append(unit)
        return SupportLeft(tuple(unsupported), tuple(unchecked))


def lacks_figures(unit: ReportUnit, evidence: Evidence) -> bool:
    """Whether the sources that a unit cites certainly lack one of its figures or names, and so do
    not support it."""
    keys = list(unit.sources)
    worked_out = list[str]()
    for calculation in evidence.cited_calculations(unit):
        keys += calculation.sources
        worked_out.append(calculation.line)
    texts = list[SourceText]()
    about = list[str]()
    for known in evidence.known(dict.fromkeys(keys)).values():
        texts += known.texts
        about.append(known.about)
    sources = ShownSources({1: Known(texts, " ".join(about))}, [*worked_out, evidence.request])
    # The names of a cell are those of its table.
    words = unit.raw_words if unit.kind == "cell" else unit.text
    return bool(sources.attribution(words, 1).lacking)

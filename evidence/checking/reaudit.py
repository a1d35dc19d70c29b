"""Checks a finished report again, from the texts that are kept of its sources."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ...audit import CitedPassage, ClaimCheck, ClaimVerdict
from ...state import Report
from ..citations.document import without_marks
from .source_text import SourceText
from .units import units_of
from .verification import Verifier


class Rechecked(NamedTuple):
    """A part of a report, checked again."""

    words: str
    """As it stands in the report, without a mark."""
    check: ClaimCheck
    """What was found this time."""
    before: ClaimVerdict | None
    """What was found the first time; none if that was not told apart then."""
    is_marked: bool
    """Whether the report says that it is not verified."""

    @property
    def is_new(self) -> bool:
        """Whether the first check came to something else."""
        return self.before not in (None, self.check.verdict)


class Reaudit(NamedTuple):
    """What a second look at a report has found."""

    claims: tuple[Rechecked, ...]
    """Its parts, in order."""
    faults: tuple[str, ...]
    """Where texts or quotes are not what they were, in words."""

    @property
    def unmarked(self) -> list[Rechecked]:
        """The parts that are not supported although the report does not say so."""
        return [one for one in self.claims if one.check.verdict == "unsupported" and not one.is_marked]


def reaudit(report: Report, texts: Mapping[str, Sequence[SourceText]]) -> Reaudit:
    """Check each part of a report again by rules; what a model has said of it counts on.

    `texts` by the key of the source.
    """
    verifier, said = Verifier(texts), dict(_said(report))
    judged = {(words, one.source): one for words, check in said.items() for one in check.passages if one.judge}
    checks = list[tuple[str, ClaimCheck]]()
    for unit in units_of(without_marks(report.text), report.sources):
        known = said.get(unit.raw)
        if judged and known is None:
            # A model has said that it needs no source.
            continue
        for source in unit.sources:
            if opinion := judged.get((unit.raw, source)):
                verifier.put(unit.text, opinion)
        # Only a model can say something of what cites nothing.
        is_told = known is not None and bool(judged) and not unit.sources
        checks.append((unit.raw, known if known and is_told else verifier.check(unit)))
    return Reaudit(tuple(_beside(report, checks)), faults_of(report, texts))


def compared(report: Report, again: Report, texts: Mapping[str, Sequence[SourceText]]) -> Reaudit:
    """Lay a report beside the same one that was checked anew; `texts` by the key of the source."""
    return Reaudit(tuple(_beside(report, _said(again))), faults_of(report, texts))


def _said(report: Report) -> list[tuple[str, ClaimCheck]]:
    """What was found about each part of a report, with its words."""
    return [(without_marks(report.text[one.start : one.end]), one) for one in report.claims]


def _beside(report: Report, checks: Iterable[tuple[str, ClaimCheck]]) -> Iterator[Rechecked]:
    """Checks beside those of the report; of several parts in the same words, the first is laid beside the first."""
    before = defaultdict[str, list[ClaimCheck]](list)
    for words, one in _said(report):
        before[words].append(one)
    for words, check in checks:
        known = before[words].pop(0) if before[words] else None
        yield Rechecked(words, check, known.verdict if known else None, bool(known and known.is_marked))


def faults_of(report: Report, texts: Mapping[str, Sequence[SourceText]]) -> tuple[str, ...]:
    """Where the texts behind a report, or its quotes, are not what they were when it was checked, in words."""
    passages = [one for claim in report.claims for one in claim.passages if one.content_hash]
    found = (_fault(one, texts.get(one.source, ())) for one in passages)
    return tuple(dict.fromkeys(fault for fault in found if fault))


def _fault(passage: CitedPassage, texts: Sequence[SourceText]) -> str:
    text = next((one.text for one in texts if one.content_hash == passage.content_hash), None)
    if text is None:
        return f"The text of {passage.source} is no longer kept, or cannot be read."
    if hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest() != passage.content_hash:
        return f"The text of {passage.source} is not the one that was read."
    if text[passage.start : passage.end] != passage.quote:
        return f"A quote does not stand in {passage.source} where it should: {passage.quote[:80]!r}."
    return ""

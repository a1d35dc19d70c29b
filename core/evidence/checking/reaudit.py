"""Compares a report that was checked again with what was found the first time, and its texts with what was read."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ...records.report import CitedPassage, ClaimCheck, ClaimVerdict, Report
from ..citations.rendering import without_marks
from .source_text import SourceText


class Rechecked(NamedTuple):
    """A unit of a report, checked again."""

    words: str
    """As it stands in the report, without a mark."""
    check: ClaimCheck
    """What was found this time."""
    before: ClaimVerdict | None
    """What was found the first time; none if it was no unit of its own then."""
    is_marked: bool
    """Whether the report says that it is not verified."""

    @property
    def is_new(self) -> bool:
        """Whether the first check came to something else."""
        return self.before not in (None, self.check.verdict)


class Reaudit(NamedTuple):
    """What a second check of a report has found."""

    claims: tuple[Rechecked, ...]
    """Its units, in order."""
    faults: tuple[str, ...]
    """Where texts or quotes are not what they were, in words."""

    @property
    def unmarked(self) -> list[Rechecked]:
        """The units that are not supported although the report does not say so."""
        return [one for one in self.claims if one.check.verdict == "unsupported" and not one.is_marked]


def compare_checks(report: Report, again: Report, texts: Mapping[str, Sequence[SourceText]]) -> Reaudit:
    """Compare a report with the same report checked again; `texts` are those of each source, by its key."""
    return Reaudit(tuple(_with_first(report, checks_of(again))), faults_of(report, texts))


def checks_of(report: Report) -> list[tuple[str, ClaimCheck]]:
    """Return the units of a report in their words, each with its check."""
    return [(without_marks(report.text[one.start : one.end]), one) for one in report.claims]


def _with_first(report: Report, checks: Iterable[tuple[str, ClaimCheck]]) -> Iterator[Rechecked]:
    """Pair new checks with those of the report; units with the same words are paired in their order."""
    before = defaultdict[str, list[ClaimCheck]](list)
    for words, one in checks_of(report):
        before[words].append(one)
    for words, check in checks:
        known = before[words].pop(0) if before[words] else None
        yield Rechecked(words, check, known.verdict if known else None, bool(known and known.is_marked))


def faults_of(report: Report, texts: Mapping[str, Sequence[SourceText]]) -> tuple[str, ...]:
    """Say in words which texts or quotes behind a report are not what they were when it was checked."""
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

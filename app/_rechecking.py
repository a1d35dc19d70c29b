"""Compares a second check of a report with the first, and finds source texts that have
changed since."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..core.evidence.checking.source_text import SourceText
from ..core.evidence.citations.rendering import without_marks
from ..core.records.report import CitedPassage, ClaimCheck, ClaimVerdict, Report
from ..core.records.sources import text_hash


class Rechecked(NamedTuple):
    """A unit of a report that was checked a second time."""

    words: str
    """Its words in the report, without the mark for unsupported statements."""
    check: ClaimCheck
    """The result of the second check."""
    before: ClaimVerdict | None
    """The verdict of the first check; None if that had no such unit."""
    is_marked: bool
    """Whether the report marks it as not verified."""

    @property
    def is_new(self) -> bool:
        """Whether its verdict differs from that of the first check."""
        return self.before not in (None, self.check.verdict)


class Reaudit(NamedTuple):
    """The result of a second check of a report."""

    claims: tuple[Rechecked, ...]
    """The units, in the order of the report."""
    faults: tuple[str, ...]
    """Messages about source texts or quotes that have changed since the first check."""

    @property
    def unmarked(self) -> list[Rechecked]:
        """The unsupported units that the report does not mark."""
        return [
            claim
            for claim in self.claims
            if claim.check.verdict == "unsupported" and not claim.is_marked
        ]


def compare_checks(
    report: Report, again: Report, texts: Mapping[str, Sequence[SourceText]]
) -> Reaudit:
    """Compare a report with the same report checked a second time.

    `texts` are the sources' texts by source key.
    """
    before = defaultdict[str, list[ClaimCheck]](list)
    for words, claim in checks_of(report):
        before[words].append(claim)
    claims = list[Rechecked]()
    for words, check in checks_of(again):
        # Units with the same words are paired in order.
        earlier = before[words]
        if earlier:
            first = earlier.pop(0)
            claims.append(Rechecked(words, check, first.verdict, first.is_marked))
        else:
            claims.append(Rechecked(words, check, None, is_marked=False))
    return Reaudit(tuple(claims), faults_of(report, texts))


def checks_of(report: Report) -> list[tuple[str, ClaimCheck]]:
    """Return the words (without marks) and the check of each unit of a report."""
    checks = list[tuple[str, ClaimCheck]]()
    for claim in report.claims:
        words = without_marks(report.text[claim.start : claim.end])
        checks.append((words, claim))
    return checks


def faults_of(report: Report, texts: Mapping[str, Sequence[SourceText]]) -> tuple[str, ...]:
    """Return messages about source texts and quotes that have changed since the check.

    `texts` are the stored texts by source key.
    """
    faults = list[str]()
    for claim in report.claims:
        for passage in claim.passages:
            fault = _fault_of(passage, texts.get(passage.source, ()))
            if fault:
                faults.append(fault)
    return tuple(dict.fromkeys(faults))


def _fault_of(passage: CitedPassage, texts: Sequence[SourceText]) -> str:
    """Return a message if a passage is no longer in the text that it was quoted from.

    Otherwise it is empty.
    """
    if not passage.content_hash:
        return ""
    source = passage.source
    stored = (text.text for text in texts if text.content_hash == passage.content_hash)
    text = next(stored, None)
    if text is None:
        return f"The text of {source} is no longer stored, or cannot be read."
    if text_hash(text) != passage.content_hash:
        return f"The text of {source} has changed since it was read."
    if text[passage.start : passage.end] != passage.quote:
        return f"A quote is no longer at its position in {source}: {passage.quote[:80]!r}."
    return ""

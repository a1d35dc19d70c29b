"""Compares a second check of a report with the first, and the stored source texts with their hashes and quotes."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ...records.report import CitedPassage, ClaimCheck, ClaimVerdict, Report
from ..citations.rendering import without_marks
from .source_text import SourceText


class Rechecked(NamedTuple):
    """A unit of a report, checked again."""

    words: str
    """Its words in the report, without the verification mark."""
    check: ClaimCheck
    """The result of the second check."""
    before: ClaimVerdict | None
    """The verdict of the first check; None if it was not a separate unit then."""
    is_marked: bool
    """Whether the report marks it as not verified."""

    @property
    def is_new(self) -> bool:
        """Whether the first check had a different verdict."""
        return self.before not in (None, self.check.verdict)


class Reaudit(NamedTuple):
    """The result of a second check of a report."""

    claims: tuple[Rechecked, ...]
    """The units, in order."""
    faults: tuple[str, ...]
    """Messages about texts or quotes that have changed."""

    @property
    def unmarked(self) -> list[Rechecked]:
        """The unsupported units that the report does not mark."""
        return [claim for claim in self.claims if claim.check.verdict == "unsupported" and not claim.is_marked]


def compare_checks(report: Report, again: Report, texts: Mapping[str, Sequence[SourceText]]) -> Reaudit:
    """Compare a report with the same report checked again; `texts` are by source key."""
    before = defaultdict[str, list[ClaimCheck]](list)
    for words, claim in checks_of(report):
        before[words].append(claim)
    claims = list[Rechecked]()
    for words, check in checks_of(again):
        # Units with the same words are paired in order.
        first = before[words].pop(0) if before[words] else None
        claims.append(Rechecked(words, check, first.verdict if first else None, bool(first and first.is_marked)))
    return Reaudit(tuple(claims), faults_of(report, texts))


def checks_of(report: Report) -> list[tuple[str, ClaimCheck]]:
    """Return the words and the check of each unit of a report."""
    return [(without_marks(report.text[claim.start : claim.end]), claim) for claim in report.claims]


def faults_of(report: Report, texts: Mapping[str, Sequence[SourceText]]) -> tuple[str, ...]:
    """Return messages about source texts or quotes of a report that have changed since its check."""
    passages = [passage for claim in report.claims for passage in claim.passages if passage.content_hash]
    found = (_fault(passage, texts.get(passage.source, ())) for passage in passages)
    return tuple(dict.fromkeys(fault for fault in found if fault))


def _fault(passage: CitedPassage, texts: Sequence[SourceText]) -> str:
    text = next((source_text.text for source_text in texts if source_text.content_hash == passage.content_hash), None)
    if text is None:
        return f"The text of {passage.source} is no longer stored, or cannot be read."
    if hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest() != passage.content_hash:
        return f"The text of {passage.source} has changed since it was read."
    if text[passage.start : passage.end] != passage.quote:
        return f"A quote is no longer at its position in {passage.source}: {passage.quote[:80]!r}."
    return ""

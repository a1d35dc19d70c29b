"""Checks a finished report again, from the texts that are kept of its sources."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..audit import CitedPassage, ClaimCheck
from ..state import Report
from .checking.source_text import SourceText
from .checking.units import units_of
from .document import without_marks
from .verification import Verifier


class Rechecked(NamedTuple):
    """A sentence of a report, checked again."""

    words: str
    """As it stands in the report, without a mark."""
    check: ClaimCheck
    """What was found this time; a model's verdict of the first time counts on."""
    is_marked: bool
    """Whether the report says that it is not verified."""


class Reaudit(NamedTuple):
    """What a second look at a report has found."""

    claims: tuple[Rechecked, ...]
    """Its sentences, in order."""
    faults: tuple[str, ...]
    """Where texts or quotes are not what they were, in words."""

    @property
    def unmarked(self) -> list[Rechecked]:
        """The sentences that are not supported although the report does not say so."""
        return [one for one in self.claims if one.check.verdict == "unsupported" and not one.is_marked]


def reaudit(report: Report, texts: Mapping[str, Sequence[SourceText]]) -> Reaudit:
    """Check every sentence of a report again; `texts` by the key of the source."""
    verifier, body = Verifier(texts), without_marks(report.text)
    marked: dict[str, list[bool]] = {}
    for one in report.claims:
        marked.setdefault(without_marks(report.text[one.start : one.end]), []).append(one.is_marked)
    judged = {
        (without_marks(report.text[one.start : one.end]), passage.source): passage
        for one in report.claims
        for passage in one.passages
        if passage.judge
    }
    claims: list[Rechecked] = []
    for claim in units_of(body, report.sources):
        words = claim.raw
        for source in claim.sources:
            if opinion := judged.get((words, source)):
                verifier.put(claim.text, opinion)
        known = marked.get(words)
        claims.append(Rechecked(words, verifier.check(claim), bool(known and known.pop(0))))
    return Reaudit(tuple(claims), faults_of(report, texts))


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

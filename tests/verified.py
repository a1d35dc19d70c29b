"""What tests of the check of reports share: a researcher that has read two documents, and what a check found."""

from __future__ import annotations

from typing import Any

from lab import REPORT, search
from scripted import call, calls

from deep_research.core.records.report import Audit, ClaimCheck
from deep_research.state import ResearchState

TWO_SOURCES = "It was lit in 1844. [1] Ada Moran kept it. [2]"
BOTH = [search("Skerry Light", "Ada Moran"), REPORT, TWO_SOURCES]


def rewritten(*texts: str) -> Any:
    """The writer hands in these sentences, in the order in which it was shown the faulty ones."""
    return calls(call("rewrite_sentences", sentences=[{"number": n, "text": text} for n, text in enumerate(texts, 1)]))


def claim(state: ResearchState, place: int = 0) -> ClaimCheck:
    """One of the claims of the report, in order."""
    assert state.report
    return state.report.claims[place]


def audited(state: ResearchState) -> Audit:
    """The account of the report."""
    assert state.report and state.report.audit
    return state.report.audit

"""What was checked about a report, as text for `show` and as data."""

from __future__ import annotations

from typing import Any

from ..audit import Audit
from ..run.conversation import cleaned
from ..run.money import dollars
from ..state import Report, ResearchState
from .words import counted


def audit_page(state: ResearchState) -> list[str]:
    """The figures in words; empty where nothing was checked."""
    audit = state.report.audit if state.report else None
    return ["", "Audit", *(f"  {line}" for line in _lines(audit))] if audit else []


def audit_data(state: ResearchState) -> dict[str, Any]:
    """The figures, and the sentences that were checked with the passages behind them; empty where nothing was."""
    report = state.report
    if report is None or report.audit is None:
        return {}
    claims = [_claim(report, place) for place in range(len(report.claims))]
    return cleaned({"audit": report.audit.model_dump(mode="json"), "claims": claims})


def _claim(report: Report, place: int) -> dict[str, Any]:
    claim = report.claims[place]
    return {"sentence": report.text[claim.start : claim.end], **claim.model_dump(mode="json")}


def _lines(audit: Audit) -> list[str]:
    return [
        f"{counted(audit.sentences, 'sentence')}, {audit.cited} with a source: {audit.supported} supported, "
        f"{audit.unsupported} not, {audit.unchecked} not checked by a model; {audit.uncited} with figures, no source",
        f"{audit.repaired} repaired after a check, {audit.marked} marked as not verified, "
        f"{counted(audit.removed_markers, 'citation')} removed that named no source",
        f"{counted(audit.sources_read, 'source')} read, {audit.sources_cited} cited, "
        f"{audit.independent_sources} of them independent, "
        f"{audit.excerpts_cited} seen only as a search excerpt; {len(audit.not_read)} not readable",
        f"{counted(len(audit.disagreements), 'contradiction')}, {counted(len(audit.open_gaps), 'gap')} left open",
        *([calls_line(audit)] if audit.model_calls else []),
    ]


def calls_line(audit: Audit) -> str:
    """What the models of a run, or of a check, have cost."""
    money = f", {dollars(audit.usd)}" if audit.usd else ""
    tokens = f"{audit.input_tokens} tokens read, {audit.output_tokens} written"
    return f"{counted(audit.model_calls, 'model call')}, {tokens}{money}"

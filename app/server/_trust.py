"""What the page's line on a report's trust opens: the statements, points and gaps behind each of
its numbers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...core.records.report import Report, UnitVerdict
from ...core.records.sources import Dispute, Source
from ..exports.finished import plain_words
from ..output import trust_data
from ..runs import StoredRun


def trust_with_lists(stored: StoredRun) -> dict[str, Any] | None:
    """Return how far a report can be relied on, with the `parts` of its line: the name and words of
    each, and the `items` behind it, where these are not in the exported report; None if there is no
    report."""
    trust = trust_data(stored)
    report = stored.state.report
    if trust is None or report is None or stored.trust is None:
        return None
    lists = _lists(report, stored)
    parts = list[dict[str, Any]]()
    for name, words in stored.trust.parts.items():
        parts.append({"name": name, "words": words, "items": lists.get(name, [])})
    return {**trust, "parts": parts}


def _lists(report: Report, stored: StoredRun) -> dict[str, list[dict[str, Any]]]:
    """Return the entries behind the numbers, by their names."""
    numbers = {key: number for number, key in report.keys.items()}
    audit = report.audit
    is_judged = audit is not None and audit.was_judged
    by_outcome: dict[str, list[dict[str, Any]]] = {
        "corrected": [],
        "marked": [],
        "not_verified": [],
    }
    for verdict in report.verdicts:
        if verdict.shown in by_outcome:
            statement = statement_data(verdict, numbers.get(verdict.source, 0), is_judged=is_judged)
            by_outcome[verdict.shown].append(statement)
    marked = by_outcome["marked"]
    unproved = by_outcome["not_verified"]
    points = list[dict[str, Any]]()
    for grade in report.points:
        points.append(
            {
                "text": grade.requirement,
                "verdict": grade.verdict,
                "missing": grade.missing,
            }
        )
    return {
        "corrected": by_outcome["corrected"],
        "not_verified": [*marked, *unproved] if is_judged else marked,
        "not_judged": unproved,
        "contradictions": _disputes(audit.disagreements if audit else (), stored.state.sources),
        "open": [{"text": gap} for gap in stored.gaps],
        "points": points,
    }


def statement_data(verdict: UnitVerdict, number: int, *, is_judged: bool) -> dict[str, Any]:
    """Return a statement that was corrected or is not verified; `number`: that of the source whose
    words decided."""
    reason = plain_words(verdict.reason)
    statement: dict[str, Any] = {"text": plain_words(verdict.text), "reason": reason}
    if verdict.shown == "corrected":
        return {**statement, "after": plain_words(verdict.after)}
    words = "not verified" if is_judged else "not judged"
    if verdict.is_contradicted:
        words = "contradicted"
    elif verdict.shown == "marked" and not verdict.reason:
        words = "not in the source"
    return {
        **statement,
        "verdict": words,
        "quote": plain_words(verdict.words),
        "number": number,
    }


def _disputes(disputes: Iterable[Dispute], sources: dict[str, Source]) -> list[dict[str, Any]]:
    """Return disputes with both sides, and which of them holds."""
    entries = list[dict[str, Any]]()
    for dispute in disputes:
        sides = list[dict[str, Any]]()
        for side in dispute.sides:
            source = sources.get(side.source)
            sides.append(
                {
                    "text": side.text,
                    "number": source.number if source else 0,
                    "title": source.shown_title if source else "",
                    "date": side.date[:10],
                }
            )
        resolution = dispute.resolution if dispute.is_resolved else ""
        entries.append({"sides": sides, "resolution": resolution})
    return entries

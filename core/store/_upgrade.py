"""Converts records that an earlier version stored, so that its runs can be opened and resumed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..records.plan import Observation, StepTask
from ..records.report import Draft, Report
from ..records.research import Finding, Run
from ..records.sources import Dispute

Fields = dict[str, Any]
"""The fields of a record by name, as stored: records in them are dicts."""
Upgrade = Callable[[Fields], tuple[type, Fields]]
"""Takes the stored fields of a record; returns its class and fields in this version."""


def _dispute(fields: Fields) -> tuple[type, Fields]:
    """Read the claims that a researcher declared; dates and kinds of their sources stay unknown."""
    return Dispute, fields


def _observation(fields: Fields) -> tuple[type, Fields]:
    return Observation, _with_dispute(fields)


def _step_task(fields: Fields) -> tuple[type, Fields]:
    """Drop the field `relevance` of elements and gaps, which were once ordered by common words."""
    elements = [_without(element, "relevance") for element in fields.get("elements", ())]
    gaps = [_with_dispute(gap) for gap in fields.get("gaps", ())]
    return StepTask, {**fields, "elements": elements, "gaps": gaps}


def _with_dispute(observation: Fields) -> Fields:
    """Return the fields of an observation whose second claim was stored in the field `other`.

    Its sources stay empty, since only its learnings name them (see
    `ThreadDisputes.current`).
    """
    if "other" not in observation:
        return observation
    fields = dict(observation)
    other = fields.pop("other")
    if fields["kind"] != "contradiction":
        return fields
    claims = (fields["text"], other)
    return {**fields, "text": "", "dispute": {"claims": claims, "sources": ("", "")}}


def _finding(fields: Fields) -> tuple[type, Fields]:
    """Name the step of a plan in its finding; its id, `QUESTION-STEP`, begins with that of its
    question."""
    if "step" in fields:
        return Finding, fields
    beginning = f"{fields['question_id'][:8]}-"
    step = ""
    if fields["id"].startswith(beginning):
        step = fields["id"].removeprefix(beginning)
    return Finding, {**fields, "step": step}


def _run(fields: Fields) -> tuple[type, Fields]:
    """Drop the estimate: it was a range per plan step and the limits, not what earlier runs
    cost."""
    kept = dict(fields)
    kept.pop("estimate", None)
    return Run, kept


def _draft(fields: Fields) -> tuple[type, Fields]:
    """Drop the flag for gaps, which follows from the state, and what the writer's model once was to
    change after the grades."""
    kept = dict(fields)
    for name in ("has_gaps", "is_graded", "is_lacking", "remarks"):
        kept.pop(name, None)
    return Draft, kept


def _report(fields: Fields) -> tuple[type, Fields]:
    """Drop the former fields for a verdict's calculations (text) and for a report that is mostly
    unverified (a flag)."""
    verdicts = [_without(verdict, "operation") for verdict in fields.get("verdicts", ())]
    audit = fields.get("audit")
    if audit:
        audit = _without(audit, "is_unverified")
        if _names_judge(fields):
            audit.setdefault("judge_grade", "quotations")
    return Report, {**fields, "verdicts": verdicts, "audit": audit}


def _names_judge(fields: Fields) -> bool:
    """Whether a passage in a stored report names the model that judged it."""
    for claim in fields.get("claims", ()):
        if any(passage.get("judge") for passage in claim.get("passages", ())):
            return True
    return False


def _without(fields: Fields, name: str) -> Fields:
    """Return fields without one of them."""
    return {key: value for key, value in fields.items() if key != name}


UPGRADES: dict[str, Upgrade] = {
    "ConflictingClaims": _dispute,
    "Draft": _draft,
    "Finding": _finding,
    "Observation": _observation,
    "Report": _report,
    "Run": _run,
    "StepTask": _step_task,
}
"""Conversions of records stored by commit bad86816, by the class name at that commit.

Records of this version with the same class name pass through as well, so a conversion must leave
their fields as they are. A record inside another is stored as a plain dict: the conversion of the
outer record has to convert it.
"""

"""Converts records that were stored by commit bad86816 to their present form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...records.research import Finding


def _finding(fields: dict[str, Any]) -> tuple[type, dict[str, Any]]:
    """Name the step of a plan in its finding; its id, `QUESTION-STEP`, begins with that of its question."""
    if "step" in fields:
        return Finding, fields
    beginning = f"{fields['question_id'][:8]}-"
    step = ""
    if fields["id"].startswith(beginning):
        step = fields["id"].removeprefix(beginning)
    return Finding, {**fields, "step": step}


UPGRADES: dict[str, Callable[[dict[str, Any]], tuple[type, dict[str, Any]]]] = {"Finding": _finding}
"""By the name of the stored class: takes the stored fields, returns the present class and its fields."""

"""Reads plans, and what a user says of one."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from ..state import Plan

_NUMBERED = re.compile(r"^\s*(?:\*\*)?\d{1,2}[.)、．](?:\*\*)?\s*(?=\S)")
_BULLET = re.compile(r"^\s*[-*•]\s+(?=\S)")
_APPROVALS = frozenset({"approve", "approved", "ok", "okay", "yes", "y", "go", "go on", "accept", "looks good", "fine"})


class Review(NamedTuple):
    """What the user said of a plan."""

    plan: Plan
    """The plan, approved or rejected, edited where the user edited it."""
    text: str
    """The reply in words, for the conversation."""


def is_approval(words: str) -> bool:
    """Whether words say yes to a plan."""
    return words.strip().lower().rstrip(".!") in _APPROVALS


def read_plan(text: str, max_steps: int) -> Plan:
    """Parse a plan; the text stays as written unless it has more than `max_steps` steps."""
    steps = _items(text, _NUMBERED) or _items(text, _BULLET) or [" ".join(text.split())]
    left_out = max(0, len(steps) - max_steps)
    if left_out:
        steps = steps[:max_steps]
        text = "\n".join(f"{number}. {step}" for number, step in enumerate(steps, 1))
    return Plan(text=text.strip(), steps=tuple(steps), left_out=left_out)


def read_review(plan: Plan, reply: Any, max_steps: int) -> Review | None:
    """Take a reply to a plan: words, or `{"action": "approve" | "edit" | "reject", "plan"?, "comment"?}`.

    Returns none if the reply says nothing. Words that are not an approval count as the comment of a rejection.
    """
    if isinstance(reply, dict):
        action, comment = str(reply.get("action", "")), str(reply.get("comment", "")).strip()
        edited = str(reply.get("plan", "")).strip()
        if action == "edit" and edited:
            return Review(read_plan(edited, max_steps).model_copy(update={"review": "approved"}), edited)
        reply = "approve" if action == "approve" else comment
    words = str(reply or "").strip()
    if not words:
        return None
    if is_approval(words):
        return Review(plan.model_copy(update={"review": "approved"}), words)
    return Review(plan.model_copy(update={"review": "rejected", "comment": words}), words)


def _items(text: str, mark: re.Pattern[str]) -> list[str]:
    items: list[str] = []
    for line in text.splitlines():
        if mark.match(line):
            items.append(mark.sub("", line).strip().strip("*").strip())
        elif items and line.strip():
            items[-1] = f"{items[-1]} {line.strip()}"
    return items

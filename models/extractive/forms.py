"""The forms of the planned strategy, filled in from facts; one that is not known gets its schema's empty values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from ...run import tool_names
from ..facts import Facts
from .choosing import Chooser
from .missing import missing_in
from .pool import Pool, Sentence
from .pronouns import points_back
from .roles import choose, parts_of, queries_for, steps_of
from .tasks import read_task, task_for

Arguments: TypeAlias = dict[str, Any]

TITLE_CHARACTERS = 60
WELL_SOURCED = 3
"""Documents from which on the quality of what was learned is 1."""
LEAST_QUALITY = 0.5
EMPTY: Mapping[str, Any] = {"string": "", "array": [], "boolean": False, "number": 0, "integer": 0, "object": {}}


def fill_in(name: str, schema: Mapping[str, Any], facts: Facts) -> Arguments:
    """Return what is handed in; `schema` is that of the form's arguments."""
    known = FORMS.get(name)
    return known(facts) if known else _empty(schema)


def _empty(schema: Mapping[str, Any]) -> Arguments:
    properties = schema.get("properties", {})
    return {name: EMPTY.get(properties.get(name, {}).get("type", "string"), "") for name in schema.get("required", ())}


def make_plan(facts: Facts) -> Arguments:
    """A step for each part of the request."""
    parts, steps = parts_of(facts), steps_of(facts)
    tasks = [task_for(part, place, len(parts)) for place, part in enumerate(parts, 1)]
    # Where several parts make one step, it is taken apart again when it is carried out.
    if len(steps) != len(parts):
        tasks = steps
    return {
        "steps": [
            {"title": _title(step), "task": task, "requires_search": True}
            for step, task in zip(steps, tasks, strict=True)
        ]
    }


def record_summary(facts: Facts) -> Arguments:
    """The user's own words."""
    return {"summary": " ".join(facts.request.split())}


def record_round(facts: Facts) -> Arguments:
    """What the task asks for, as the first query; then what the results quote for it.

    It is complete as soon as something was learned: a second search would show the same, as the search of documents
    follows names by itself. What no document says is open.
    """
    task = read_task(facts.task)
    if not facts.used:
        return {"next_queries": queries_for(task)[:1]}
    learned = _quoted(facts)
    documents = {one["document"] for one in learned} | {one.document for one in facts.learnings} - {None}
    quality = max(LEAST_QUALITY, min(1.0, round(len(documents) / WELL_SOURCED, 2))) if documents else 0.0
    return {
        "learnings": learned,
        "is_complete": bool(documents),
        "gaps": [] if documents else [{"question": task.part.text, "relevance": 1.0}],
        "completeness": 1.0 if documents else 0.0,
        "quality": quality,
    }


def _quoted(facts: Facts) -> list[Arguments]:
    task = read_task(facts.task)
    chooser = Chooser(Pool(facts.documents, task.part.text, task.part.context), is_topic=task.is_topic)
    answer, further = choose(chooser, task)
    if not (task.is_topic and answer) and missing_in(chooser.pool, answer):
        return []
    return [{"text": _in_full(one), "document": one.number} for one in (*answer, *further)]


FORMS: dict[str, Callable[[Facts], Arguments]] = {
    tool_names.MAKE_PLAN: make_plan,
    tool_names.RECORD_SUMMARY: record_summary,
    tool_names.RECORD_ROUND: record_round,
}
"""Who fills in which."""


def _in_full(one: Sentence) -> str:
    """The unit in one line, behind the sentence that says what its pronoun means."""
    return f"{one.unit.before} {one.text}" if one.unit.before and points_back(one.text) else one.text


def _title(text: str) -> str:
    line = " ".join(text.split())
    if len(line) <= TITLE_CHARACTERS:
        return line
    return f"{line[:TITLE_CHARACTERS].rpartition(' ')[0] or line[:TITLE_CHARACTERS]}…"

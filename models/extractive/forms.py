"""Fills in the forms by which a run asks for judgements: a plan, a summary, what a round of a step brought."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from ...run import tool_names
from ..request import Facts
from .pool import Sentence
from .roles import answer_task, parse_task, parts_of, queries_for, render_task, steps_of
from .units import points_back

Arguments: TypeAlias = dict[str, Any]

TITLE_CHARACTERS = 60
WELL_SOURCED = 3
"""Documents from which on the quality of what was learned is 1."""
LEAST_QUALITY = 0.5
EMPTY: Mapping[str, Any] = {"string": "", "array": [], "boolean": False, "number": 0, "integer": 0, "object": {}}


def fill_in(name: str, schema: Mapping[str, Any], facts: Facts) -> Arguments:
    """Return the arguments of a form; `schema` is theirs. A form that is not known gets empty values."""
    if known := FORMS.get(name):
        return known(facts)
    properties = schema.get("properties", {})
    return {field: EMPTY.get(properties.get(field, {}).get("type"), "") for field in schema.get("required", ())}


def make_plan(facts: Facts) -> Arguments:
    """Return a step for each part of the request."""
    parts, steps = parts_of(facts), steps_of(facts)
    tasks = [render_task(part, place, len(parts)) for place, part in enumerate(parts, 1)]
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
    """Return the user's own words."""
    return {"summary": " ".join(facts.request.split())}


def record_round(facts: Facts) -> Arguments:
    """The task as a query; once something was searched for, the units of the results that answer it.

    It is complete as soon as something was learned: the search of documents follows names by itself, so that a second
    one would find the same.
    """
    task = parse_task(facts.task)
    if not facts.used:
        return {"next_queries": queries_for(task)[:1]}
    answer = answer_task(facts)
    units = [] if answer.missing else [*answer.units, *answer.further]
    learned = [{"text": _in_full(one), "document": one.number} for one in units]
    documents = {one["document"] for one in learned} | {one.document for one in facts.learnings} - {None}
    quality = max(LEAST_QUALITY, min(1.0, round(len(documents) / WELL_SOURCED, 2))) if documents else 0.0
    return {
        "learnings": learned,
        "is_complete": bool(documents),
        "gaps": [] if documents else [{"question": task.part.text, "relevance": 1.0}],
        "completeness": 1.0 if documents else 0.0,
        "quality": quality,
    }


def _in_full(one: Sentence) -> str:
    """The unit in one line, behind the sentence that says what its pronoun means."""
    return f"{one.unit.before} {one.text}" if one.unit.before and points_back(one.text) else one.text


def _title(text: str) -> str:
    line = " ".join(text.split())
    if len(line) <= TITLE_CHARACTERS:
        return line
    return f"{line[:TITLE_CHARACTERS].rpartition(' ')[0] or line[:TITLE_CHARACTERS]}…"


FORMS: dict[str, Callable[[Facts], Arguments]] = {
    tool_names.MAKE_PLAN: make_plan,
    tool_names.RECORD_SUMMARY: record_summary,
    tool_names.RECORD_ROUND: record_round,
}
"""Who fills in which."""

"""The steps of a typed plan: the parts of the question, the question as a whole, a thought over the answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import BaseMessage

from .answers import is_broad
from .planner import MAX_STEPS, steps_for
from .reading import knowledge_in, question_in
from .topics import task_for, title_of, topic_of

ANALYSIS = "What the sources agree and differ on"


UNNAMED = "The question"
"""Stands for a question without words."""


def make_plan(messages: Sequence[BaseMessage]) -> dict[str, Any]:
    """A search for each part, one for the whole that builds on them, and a thought where much is to be compared."""
    question = question_in(messages).strip() or UNNAMED
    whole, *parts = steps_for(question)
    thoughts = [ANALYSIS] if is_broad(question) else []
    searches = [_step(part, whole) for part in parts[: MAX_STEPS - 1 - len(thoughts)]]
    last = [_step(whole, whole, requires_previous=bool(searches))]
    last += [_step(thought, whole, requires_search=False, requires_previous=True) for thought in thoughts]
    return {"steps": [*searches, *last]}


def update_step(messages: Sequence[BaseMessage]) -> dict[str, Any]:
    """The step with title and task, each made from the other where it is missing; not needed without both."""
    known = knowledge_in(messages)
    title = title_of(known.title) or title_of(known.task)
    if not title:
        return {"is_needed": False}
    task = known.task.strip() or task_for(title, topic_of(question_in(messages)).question)
    return {"is_needed": True, "title": title, "task": task}


def _step(
    topic: str, question: str, *, requires_search: bool = True, requires_previous: bool = False
) -> dict[str, Any]:
    return {
        "title": title_of(topic),
        "task": task_for(topic, question),
        "requires_search": requires_search,
        "requires_previous": requires_previous,
        "depends_on": [],
    }

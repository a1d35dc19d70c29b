"""A part of a request as the task of a researcher or a step, in words that can be taken apart again."""

from __future__ import annotations

import re
from typing import NamedTuple

from .request import Part
from .wanted import asks

_TASK = re.compile(r"^(?P<text>.*?)\s+\((?P<place>\d+)/(?P<count>\d+)(?:: (?P<context>.*))?\)$", re.DOTALL)


class Task(NamedTuple):
    """A part, and its place among the parts of the request."""

    part: Part
    place: int = 1
    total: int = 1

    @property
    def is_topic(self) -> bool:
        """Whether all that tells of it is wanted: it asks nothing, or is one of the topics of a brief."""
        return not self.part.is_question or (self.total > 1 and not asks(self.part.context))


def task_for(part: Part, place: int, count: int) -> str:
    """Return the words of a task: those of the part, and what it is a part of."""
    context = " ".join(part.context.split())
    if count == 1 and not context:
        return part.text
    return f"{part.text} ({place}/{count}{f': {context}' if context else ''})"


def read_task(words: str) -> Task:
    """Return the part that a task is for; words of anybody else are a request of their own."""
    found = _TASK.match(words)
    text = found["text"] if found else words
    part = Part(" ".join(text.split()), (found["context"] or "") if found else "", asks(text))
    return Task(part, int(found["place"]), int(found["count"])) if found else Task(part)

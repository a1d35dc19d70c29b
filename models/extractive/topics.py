"""The task of a researcher, as the orchestrator words it."""

from __future__ import annotations

import re
from typing import NamedTuple

FOR_QUESTION = re.compile(r"^(?P<topic>.*?)\s*\(for the question: (?P<question>.*)\)\s*$", re.DOTALL)


class Topic(NamedTuple):
    """A task, taken apart."""

    text: str
    """What is to be found out."""
    question: str
    """The question that it serves; the text itself if the task names none."""

    @property
    def whole(self) -> str:
        """All words of the task."""
        return self.text if self.text == self.question else f"{self.text}\n{self.question}"


def task_for(topic: str, question: str) -> str:
    """A task that can be understood without the question."""
    same = " ".join(topic.split()).lower() == " ".join(question.split()).lower()
    return topic if same else f"{topic} (for the question: {question})"


def topic_of(task: str) -> Topic:
    """The parts of a task as the orchestrator words it; any other task is its own question."""
    match = FOR_QUESTION.match(task)
    return Topic(match.group("topic"), match.group("question")) if match else Topic(task, task)

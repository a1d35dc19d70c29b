"""The task of a researcher or of a step, as the orchestrator and the plan word it."""

from __future__ import annotations

import re
from typing import NamedTuple

from ...evidence.words import names, tokens
from .asking import QUESTION_TOKENS
from .pronouns import has_pronoun

FOR_QUESTION = re.compile(r"^(?P<topic>.*?)\s*\(for the question: (?P<question>.*)\)\s*$", re.DOTALL)

TITLE_CHARACTERS = 60
OPENING = 2
"""Words at the beginning of a question among which is the one that asks, as in "in which year"."""


class Topic(NamedTuple):
    """A task, taken apart."""

    text: str
    """What is to be found out."""
    question: str
    """The question that it serves; the text itself if the task names none."""

    @property
    def whole(self) -> str:
        """All words of the task; of several questions only its own one."""
        return self.text if self.text == self.question or self._stands_alone else f"{self.text}\n{self.question}"

    @property
    def _stands_alone(self) -> bool:
        """Whether it is one of several questions, and names what it asks about."""
        asks = not QUESTION_TOKENS.isdisjoint(tokens(self.text)[:OPENING])
        return asks and self.text in self.question and bool(names(self.text)) and not has_pronoun(self.text)


def task_for(topic: str, question: str) -> str:
    """A task that can be understood without the question."""
    same = " ".join(topic.split()).lower() == " ".join(question.split()).lower()
    return topic if same else f"{topic} (for the question: {question})"


def topic_of(task: str) -> Topic:
    """The parts of a task as the orchestrator words it; any other task is its own question."""
    match = FOR_QUESTION.match(task)
    return Topic(match.group("topic"), match.group("question")) if match else Topic(task, task)


def title_of(text: str) -> str:
    """The beginning of a text in one line of at most about 60 characters, whole words if there are several."""
    line = " ".join(text.split())
    if len(line) <= TITLE_CHARACTERS:
        return line
    begin = line[:TITLE_CHARACTERS]
    return f"{(begin.rpartition(' ')[0] or begin).rstrip(' ,;:')}…"

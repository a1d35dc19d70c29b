"""A writer that is cut off after so many tokens of each answer, with the habits that such models have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from lab import simple_research
from langchain_core.messages import AIMessage, BaseMessage
from scripted import calls

OPENING = "The Skerry Light was lit in 1844, and Ada Moran was its best known keeper. [1]"
SECTIONS = {
    "The light": "The Skerry Light was lit for the first time in 1844 and has burned in every night of the year "
    "since then. [1] It stands 38 metres tall on the outermost rock, and its beam can be seen by every ship "
    "that comes from the west. [1] Its lamp burned oil at first, then gas, and at last it got one of electric light, "
    "which is the one that burns in it today. [1]\n\nThe tower was built of granite from the quarry of the isle. [1]",
    "Its keepers": "Ada Moran kept the Skerry Light from 1901 to 1932, longer than anybody else. [1]\n\n"
    "- She was born in Tralee and came to the isle as a child. [1]\n"
    "- She wrote down the weather of every day in a book, which the museum of Port Anlow shows. [1]\n\n"
    "When she left, the light was given to two men who took turns, until the last of them went ashore. [1]",
}
WHOLE = OPENING + "".join(f"\n\n## {heading}\n\n{body}" for heading, body in SECTIONS.items())
FINDING = WHOLE.replace("#", "").replace("\n", " ")
"""What was found: the words of the report are known from it."""

Habit = Callable[[str, str], str]
"""What a model makes of the next words, by those before."""
HABITS: dict[str, Habit] = {
    "repeats its last words": lambda before, words: f"{_tail(before, 4)}{words}",
    "begins its last sentence again": lambda before, words: (
        f"{_tail(before, before.split('. ')[-1].count(' ') + 1)}{words}"
    ),
    "puts a dash of dots before it": lambda before, words: f"... {_tail(before, 5)}{words}" if before else words,
}


def _tail(before: str, words: int) -> str:
    """The last words as they stand there."""
    place = len(before)
    for _ in range(words):
        place = max(before.rfind(" ", 0, place), 0)
    return before[place:].lstrip()


@dataclass
class CappedWriter:
    """Writes the report, a piece a call."""

    cap: int
    """Tokens of an answer, of four characters each."""
    habit: Habit = HABITS["repeats its last words"]
    place: int = 0
    asked: list[str] = field(default_factory=list)
    """What was asked for, in words of its own."""

    def scripted(self, messages: list[BaseMessage], _: dict[str, Any]) -> AIMessage:
        """As a reply of a scripted model."""
        is_continued = "last words once more" in messages[-1].text
        self.asked.append("continuation" if is_continued else "report")
        self.place = self.place if is_continued else 0
        before, rest = WHOLE[: self.place], WHOLE[self.place :]
        piece = rest[: self.cap * 4]
        self.place += len(piece)
        text = self.habit(before, piece) if before else piece
        return calls(text=text, finish_reason="length" if len(piece) < len(rest) else "stop")


def researched() -> list[Any]:
    """A researcher that finds what the report says."""
    return simple_research(FINDING)

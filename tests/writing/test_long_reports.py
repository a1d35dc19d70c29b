"""Reports that are longer than one answer of their model."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from kit.models import calls
from kit.runs import Lab, lab, simple_research
from langchain_core.messages import AIMessage, BaseMessage

from deep_research.app.stream import areplay_thread

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
    start = len(before)
    for _ in range(words):
        start = max(before.rfind(" ", 0, start), 0)
    return before[start:].lstrip()


@dataclass
class CappedWriter:
    """Writes the report, a piece a call."""

    cap: int
    """Tokens of an answer, of four characters each."""
    habit: Habit = HABITS["repeats its last words"]
    position: int = 0
    asked: list[str] = field(default_factory=list)
    """What was asked for, in words of its own."""

    def scripted(self, messages: list[BaseMessage], _: dict[str, Any]) -> AIMessage:
        """As a reply of a scripted model."""
        is_continued = "last words once more" in messages[-1].text
        self.asked.append("continuation" if is_continued else "report")
        self.position = self.position if is_continued else 0
        before, rest = WHOLE[: self.position], WHOLE[self.position :]
        piece = rest[: self.cap * 4]
        self.position += len(piece)
        text = self.habit(before, piece) if before else piece
        return calls(text=text, finish_reason="length" if len(piece) < len(rest) else "stop")


def researched() -> list[Any]:
    """A researcher that finds what the report says."""
    return simple_research(FINDING)


LINK = re.compile(r"(\[\d+\])\([^)]*\)")


def capped(tmp_path: Path, writer: CappedWriter, **settings: Any) -> Lab:
    """A run with this writer."""
    return lab(tmp_path, researcher=researched(), writer=[writer.scripted] * 60, verify="off", **settings)


async def is_replayed_as_stored(run: Lab) -> bool:
    """Whether the stream, as one message, is the stored report and the same in a replay."""
    state = await run.state()
    again = [packet async for packet in areplay_thread(run.graph, run.thread)]
    streamed = "".join(packet.content for packet in again if packet.type == "message_delta")
    assert state.report and LINK.sub(r"\1", streamed).strip() == state.report.text
    return run.words("message_delta") == streamed and run.types().count("message_start") == 1


@pytest.mark.parametrize("habit", HABITS)
async def test_a_report_of_many_short_answers_has_no_seam(tmp_path: Path, habit: str) -> None:
    writer = CappedWriter(60, HABITS[habit])
    run = capped(tmp_path, writer)
    state = await run.ask()
    assert state.report and state.report.text == WHOLE
    assert state.run and state.run.status == "completed"
    assert await is_replayed_as_stored(run)
    assert writer.asked == ["report", *["continuation"] * (len(WHOLE) // 240)]


async def test_a_report_that_stays_cut_off_keeps_what_there_is_and_says_so(tmp_path: Path) -> None:
    run = capped(tmp_path, CappedWriter(60), limits={"max_continuations": 1})
    state = await run.ask()
    assert state.report and state.report.text and WHOLE.startswith(state.report.text.removesuffix("..."))
    assert state.run and "max_continuations" in state.run.stop_reason
    assert await is_replayed_as_stored(run)


async def test_calls_for_a_report_are_bounded_however_often_it_is_cut_off(tmp_path: Path) -> None:
    def cut(messages: list[BaseMessage], _: dict[str, Any]) -> Any:
        return calls(text=f"- {len(messages[-2].text)} [1]\n", finish_reason="length")

    run = lab(tmp_path, writer=[cut] * 60, verify="off", limits={"max_continuations": 3})
    state = await run.ask()
    assert state.run and state.run.status == "completed_with_gaps"
    assert "max_continuations" in state.messages[-1].text
    assert len(run.calls("writer")) == 1 + 3

"""Reports that are longer than one answer of their model."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from kit.models import calls
from kit.runs import lab, simple_research
from langchain_core.messages import AIMessage, BaseMessage

from deep_research.core.records.research import Finding
from deep_research.core.records.sources import Source
from deep_research.core.writing.facts import facts_by_topic
from deep_research.state import ResearchState

WHOLE = (
    "The Skerry Light was lit in 1844, and Ada Moran was its best known keeper. [1]\n\n## The light\n\n"
    "The Skerry Light was lit for the first time in 1844 and has burned in every night of the year "
    "since then. [1] It stands 38 metres tall on the outermost rock, and its beam can be seen by every ship "
    "that comes from the west. [1]\n\nThe tower was built of granite from the quarry of the isle. [1]"
    "\n\n## Its keepers\n\nAda Moran kept the Skerry Light from 1901 to 1932, longer than anybody else. [1]\n\n"
    "- She was born in Tralee and came to the isle as a child. [1]\n"
    "- She wrote down the weather of every day in a book, which the museum of Port Anlow shows. [1]\n\n"
    "When she left, the light was given to two men who took turns, until the last of them went ashore. [1]"
)
FINDING = WHOLE.replace("#", "").replace("\n", " ")
"""What was found: the words of the report are known from it."""
PIECE = 240
"""Characters of an answer."""
LINK = re.compile(r"(\[\d+\])\([^)]*\)")


class CappedWriter:
    """Writes the report, a piece a call, and begins each piece with the last words of the one before."""

    def __init__(self) -> None:
        self.position = 0
        self.asked: list[str] = []
        """What was asked for, in words of its own."""

    def reply(self, messages: list[BaseMessage], _: dict[str, Any]) -> AIMessage:
        is_continued = "last words once more" in messages[-1].text
        self.asked.append("continuation" if is_continued else "report")
        before = WHOLE[: self.position if is_continued else 0]
        self.position = len(before) + PIECE
        repeated = " ".join(before.rsplit(" ", 4)[1:])
        text = repeated + WHOLE[len(before) : self.position]
        return calls(text=text, finish_reason="length" if self.position < len(WHOLE) else "stop")


async def test_a_report_of_many_short_answers_has_no_seam_and_is_replayed_as_it_is_stored(tmp_path: Path) -> None:
    writer = CappedWriter()
    run = lab(tmp_path, researcher=simple_research(FINDING), writer=[writer.reply] * 60, verify="off")
    state = await run.ask()
    assert state.report and state.report.text == WHOLE
    assert state.run and state.run.status == "completed"
    assert writer.asked == ["report", *["continuation"] * (len(WHOLE) // PIECE)]
    streamed = "".join(packet.content for packet in await run.replayed() if packet.type == "message_delta")
    assert LINK.sub(r"\1", streamed).strip() == state.report.text
    assert run.words("message_delta") == streamed and run.types().count("message_start") == 1


async def test_calls_for_a_report_are_bounded_and_what_there_is_is_kept(tmp_path: Path) -> None:
    writer, limits = [CappedWriter().reply] * 60, {"max_continuations": 1}
    run = lab(tmp_path, researcher=simple_research(FINDING), writer=writer, verify="off", limits=limits)
    state = await run.ask()
    assert state.report and state.report.text and WHOLE.startswith(state.report.text.removesuffix("..."))
    assert state.run and state.run.status == "completed_with_gaps"
    assert "max_continuations" in state.run.stop_reason and "max_continuations" in state.messages[-1].text
    assert len(run.calls("writer")) == 1 + 1


def test_a_small_writer_gets_all_facts_of_tasks_that_begin_alike() -> None:
    task = f"Find out in the records of the harbour office and of the parish what is known about {'the light ' * 3}"
    source = Source(key="a", title="A", location="a", address="a", kind="document", number=1)
    usual: dict[str, Any] = {"question_id": "", "cycle": 0, "position": 0, "text": "", "ended": "done"}
    findings = {
        year: Finding(id=year, task=f"{task} in {year}", numbered=f"- It was lit in {year}. [1]", **usual)
        for year in ("1844", "1901")
    }
    facts = facts_by_topic(ResearchState(findings=findings, sources={"a": source}))
    assert list(facts.values()) == [["- It was lit in 1844. [1]", "- It was lit in 1901. [1]"]]

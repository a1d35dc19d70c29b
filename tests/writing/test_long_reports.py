"""Reports that are longer than one answer of their model."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from capped import HABITS, WHOLE, CappedWriter, researched
from lab import Lab, lab
from langchain_core.messages import BaseMessage
from scripted import calls

from deep_research.app.stream import areplay_thread

LINK = re.compile(r"(\[\d+\])\([^)]*\)")


def capped(tmp_path: Path, writer: CappedWriter, **settings: Any) -> Lab:
    """A run with this writer."""
    return lab(tmp_path, researcher=researched(), writer=[writer.scripted] * 60, verify="off", **settings)


async def is_replayed_as_stored(run: Lab) -> bool:
    """Whether what was streamed, as one message, is what is kept and told again."""
    state = await run.state()
    again = [packet async for packet in areplay_thread(run.graph, run.thread)]
    streamed = "".join(packet.content for packet in again if packet.type == "message_delta")
    assert state.report and LINK.sub(r"\1", streamed).strip() == state.report.text
    return run.words("message_delta") == streamed and run.types().count("message_start") == 1


async def has_all_of_it(run: Lab) -> bool:
    """Whether the run ends well with the whole report, and tells it as it is kept."""
    state = await run.ask()
    assert state.report and state.report.text == WHOLE
    assert state.run and state.run.status == "completed"
    return await is_replayed_as_stored(run)


@pytest.mark.parametrize("habit", HABITS)
async def test_a_report_of_many_short_answers_has_no_seam(tmp_path: Path, habit: str) -> None:
    writer = CappedWriter(60, HABITS[habit])
    assert await has_all_of_it(capped(tmp_path, writer))
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

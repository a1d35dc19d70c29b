"""Reports that are longer than one answer of their model."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from capped import HABITS, SECTIONS, WHOLE, CappedWriter, researched
from lab import Lab, lab
from langchain_core.language_models import ModelProfile
from langchain_core.messages import BaseMessage
from scripted import calls

from deep_research.app.stream import areplay_thread

LINK = re.compile(r"(\[\d+\])\([^)]*\)")
BY_SECTION = ["outline", "opening", *SECTIONS]
TINY = 50
"""Tokens of an answer."""


def capped(tmp_path: Path, writer: CappedWriter, output: int | None = None, **settings: Any) -> Lab:
    """A run with this writer, whose profile tells how many tokens it can write at once."""
    run = lab(tmp_path, researcher=researched(), writer=[writer.scripted] * 60, verify="off", **settings)
    if output is not None:
        run.models["writer"].profile = ModelProfile(max_input_tokens=100_000, max_output_tokens=output)
    return run


async def is_told_as_kept(run: Lab) -> bool:
    """Whether what was streamed, as one message, is what is kept and told again."""
    state = await run.state()
    again = [packet async for packet in areplay_thread(run.graph, run.thread)]
    told = "".join(packet.content for packet in again if packet.type == "message_delta")
    assert state.report and LINK.sub(r"\1", told).strip() == state.report.text
    return run.words("message_delta") == told and run.types().count("message_start") == 1


async def has_all_of_it(run: Lab) -> bool:
    """Whether the run ends well with the whole report, and tells it as it is kept."""
    state = await run.ask()
    assert state.report and state.report.text == WHOLE
    assert state.run and state.run.status == "completed"
    return await is_told_as_kept(run)


@pytest.mark.parametrize("habit", HABITS)
async def test_a_report_of_many_short_answers_has_no_seam(tmp_path: Path, habit: str) -> None:
    writer = CappedWriter(60, HABITS[habit])
    assert await has_all_of_it(capped(tmp_path, writer))
    assert writer.asked == ["report", *["continuation"] * (len(WHOLE) // 240)]


@pytest.mark.parametrize("habit", HABITS)
async def test_a_model_that_writes_too_little_at_once_writes_section_by_section(tmp_path: Path, habit: str) -> None:
    writer = CappedWriter(TINY, HABITS[habit])
    run = capped(tmp_path, writer, TINY)
    assert await has_all_of_it(run)
    assert [asked for asked in writer.asked if asked != "continuation"] == BY_SECTION
    assert all(call.settings["max_tokens"] <= TINY for call in run.calls("writer"))


@pytest.mark.parametrize("habit", HABITS)
async def test_what_continuations_could_not_carry_is_written_section_by_section(tmp_path: Path, habit: str) -> None:
    writer = CappedWriter(22, HABITS[habit])
    assert await has_all_of_it(capped(tmp_path, writer))
    assert [asked for asked in writer.asked if asked != "continuation"] == ["report", "outline", "Its keepers"]


async def test_a_section_is_told_the_outline_its_sources_and_what_was_used(tmp_path: Path) -> None:
    run = capped(tmp_path, CappedWriter(500), TINY)
    await run.ask()
    outline, opening, light, keepers = (call.messages[-1].text for call in run.calls("writer"))
    assert "at most 10" in outline
    assert "without\na heading" in opening and "at most" in opening
    assert "All sections of the report, each written by itself: The light; Its keepers." in light
    assert "It rests on the sources 1" in keepers and "which rests on the sources 1" in keepers
    assert run.calls("writer")[3].messages[-2].text.endswith("of the isle. [1]\n\n## Its keepers\n\n")


async def test_a_section_that_is_cut_off_for_good_ends_with_a_whole_sentence(tmp_path: Path) -> None:
    run = capped(tmp_path, CappedWriter(TINY), TINY, limits={"max_continuations": 0})
    state = await run.ask()
    assert state.report and "Its keepers" in state.report.text
    for part in re.split(r"\n\n## [^\n]*\n\n", state.report.text):
        assert part.endswith(". [1]")
    assert state.run and "max_continuations" in state.run.stop_reason
    assert await is_told_as_kept(run)


async def test_the_plan_stands_in_for_an_outline_that_is_not_written(tmp_path: Path) -> None:
    def write(messages: list[BaseMessage], _: dict[str, Any]) -> Any:
        asked = messages[-1].text
        section = re.search(r"the section “(.*)” now", asked)
        return calls(text="" if "List now" in asked else f"Of {section[1] if section else 'all'}. [1]")

    run = lab(tmp_path, writer=[write] * 9, verify="off")
    run.models["writer"].profile = ModelProfile(max_input_tokens=100_000, max_output_tokens=TINY)
    state = await run.ask()
    assert state.report and state.report.text.split("\n\n") == [
        "Of all. [1]",
        *("## History of the Skerry Light", "Of History of the Skerry Light. [1]"),
        *("## Its keeper Ada Moran", "Of Its keeper Ada Moran. [1]"),
        *("## The harbour beside it", "Of The harbour beside it. [1]"),
    ]


async def test_calls_for_a_report_are_bounded_however_often_it_is_cut_off(tmp_path: Path) -> None:
    def cut(messages: list[BaseMessage], _: dict[str, Any]) -> Any:
        return calls(text=f"- {len(messages[-2].text)} [1]\n", finish_reason="length")

    run = lab(tmp_path, writer=[cut] * 60, verify="off", limits={"max_continuations": 1, "max_sections": 2})
    state = await run.ask()
    assert state.run and state.run.status == "completed_with_gaps"
    assert "max_continuations" in state.messages[-1].text
    # The report, its outline, its rest, and two sections.
    assert len(run.calls("writer")) == 2 * 5

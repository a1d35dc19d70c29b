"""Where packets stand: each thought, round and report in a place of its own, in the order in which they happen."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lab import PLAN, REPORT, Lab, lab, many, research, search, think
from langchain_core.messages import AIMessage
from scripted import call, calls

from deep_research.core.models.ask import StreamedThought

SEEN_AT_TOP = {
    "deep_research_plan_start": "plan",
    "reasoning_start": "think",
    "research_agent_start": "agents",
    "message_start": "report",
}


def trace(run: Lab) -> list[str]:
    """What stands where at the top level, in the order of the stream."""
    entries = [
        f"{SEEN_AT_TOP[packet['type']]}@{packet['placement']['turn_index']}"
        for packet in run.packets
        if packet["type"] in SEEN_AT_TOP and packet["placement"]["sub_turn_index"] is None
    ]
    return list(dict.fromkeys(entries))


def reasoned(message: AIMessage | str, thought: str) -> AIMessage:
    """A reply before which the model has reasoned by itself."""
    reply = AIMessage(message) if isinstance(message, str) else message
    return reply.model_copy(update={"additional_kwargs": {"reasoning_content": thought}})


@pytest.mark.behaviour("O-76")
async def test_thoughts_rounds_and_the_report_take_a_turn_each(tmp_path: Path) -> None:
    script = [entry for n in range(3) for entry in (think(), research(f"task {n}."))]
    run = lab(tmp_path, orchestrator=[*script, think(), REPORT], researcher=many(3))
    await run.ask()
    expected = ["plan@0", "think@1", "agents@2", "think@3", "agents@4", "think@5", "agents@6", "think@7", "report@8"]
    assert trace(run) == expected


@pytest.mark.behaviour("O-76")
async def test_a_plan_with_a_thought_before_it_moves_everything_by_one(tmp_path: Path) -> None:
    run = lab(
        tmp_path,
        profile={"reasoning_output": True, "max_input_tokens": 100_000},
        planner=[reasoned(PLAN, "What is asked?")],
        orchestrator=[
            reasoned(research("task 0."), "First."),
            reasoned(research("task 1."), "Second."),
            reasoned(REPORT, "Enough."),
        ],
        researcher=many(2),
    )
    await run.ask()
    expected = ["think@0", "plan@1", "think@2", "agents@3", "think@4", "agents@5", "think@6", "report@7"]
    assert trace(run) == expected


async def test_a_thought_before_the_report_moves_the_report(tmp_path: Path) -> None:
    run = lab(tmp_path, writer=[reasoned("It was lit in 1844. [1]", "How to put it?")])
    await run.ask()
    assert trace(run) == ["plan@0", "agents@1", "think@2", "report@3"]


@pytest.mark.behaviour("O-77")
async def test_a_researchers_steps_are_counted_below_its_place_and_its_finding_is_not(tmp_path: Path) -> None:
    steps = [think("First."), search("Skerry Light"), search("Port Anlow"), think("Enough."), REPORT]
    scripts: Any = {
        "task 0.": [*steps, reasoned("Lit in 1844. [1]", "How to put it?")],
        "task 1.": [search("keeper"), REPORT, "Nobody knows."],
    }
    run = lab(tmp_path, orchestrator=[research("task 0.", "task 1."), REPORT], researcher=scripts)
    await run.ask()
    first = [p for p in run.packets if p["placement"]["tab_index"] == 0 and p["placement"]["turn_index"] == 1]
    steps_seen = [
        (packet["type"], packet["placement"]["sub_turn_index"])
        for packet in first
        if packet["type"] in ("reasoning_start", "search_tool_start", "intermediate_report_start", "section_end")
    ]
    assert steps_seen == [
        ("reasoning_start", 0),
        ("search_tool_start", 1),
        ("section_end", 1),
        ("search_tool_start", 2),
        ("section_end", 2),
        ("reasoning_start", 3),
        ("reasoning_start", 4),
        ("intermediate_report_start", None),
        ("section_end", None),
    ]
    second = {p["placement"]["sub_turn_index"] for p in run.packets if p["placement"]["tab_index"] == 1}
    assert second == {None, 0, 1}


@pytest.mark.behaviour("O-80")
async def test_words_beside_a_call_are_shown_as_a_thought(tmp_path: Path) -> None:
    decision = research("task 0.").model_copy(update={"content": "I shall look at the tower first."})
    run = lab(tmp_path, orchestrator=[decision, REPORT], researcher=many(1))
    await run.ask()
    assert thoughts(run) == ["I shall look at the tower first."]
    assert trace(run) == ["plan@0", "think@1", "agents@2", "report@3"]
    assert "I shall look" not in run.words("message_delta")


@pytest.mark.behaviour("O-81")
async def test_a_thought_is_streamed_as_it_comes_and_whole(tmp_path: Path) -> None:
    words = 'Is "1844" right?\nThe tower – 38 m – says so. \U0001f5fc Done.'
    run = lab(tmp_path, orchestrator=[think(words), research("task 0."), REPORT], researcher=many(1))
    await run.ask()
    assert thoughts(run) == [words]
    assert [p["type"] for p in run.packets].count("reasoning_delta") > 3
    assert [one.reasoning for one in await run.replayed() if one.type == "reasoning_delta"] == [words]


def thoughts(run: Lab) -> list[str]:
    """The thoughts of a run, each whole."""
    whole: list[str] = []
    for packet in run.packets:
        if packet["type"] == "reasoning_start":
            whole.append("")
        if packet["type"] == "reasoning_delta":
            whole[-1] += packet["reasoning"]
    return whole


@pytest.mark.behaviour("O-81")
@given(st.text(), st.booleans(), st.sampled_from([(", ", ": "), (",", ":"), (" ,\n ", " :\t")]), st.data())
def test_any_spacing_escaping_and_cutting_of_a_thoughts_json_gives_the_same_words(
    words: str, is_ascii: bool, separators: tuple[str, str], data: st.DataObject
) -> None:
    text = json.dumps({"mood": [1], "reasoning": words}, ensure_ascii=is_ascii, separators=separators)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
    pieces = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    thought = StreamedThought()
    assert "".join(thought.feed(piece) for piece in pieces) == words


async def test_a_thought_that_is_no_valid_json_while_it_comes_is_told_at_the_end(tmp_path: Path) -> None:
    run = lab(tmp_path, orchestrator=[think("Half a pair: \ud83d."), research("task 0."), REPORT], researcher=many(1))
    await run.ask()
    assert thoughts(run) == ["Half a pair: ."]


async def test_a_thought_and_words_beside_it_are_one_block(tmp_path: Path) -> None:
    both = calls(call("think_tool", reasoning="What is missing?"), text="Let me think.")
    run = lab(tmp_path, orchestrator=[both, research("task 0."), REPORT], researcher=many(1))
    await run.ask()
    assert thoughts(run) == ["What is missing?\n\nLet me think."]


@pytest.mark.behaviour("O-74")
async def test_markers_stand_as_written_in_a_finding_and_without_addresses_in_the_report(tmp_path: Path) -> None:
    finding, report = "Lit in 1844. [1, 2] It is tall. [9]", "Lit in 1844. [1] It is tall. [9]"
    run = lab(tmp_path, researcher=[search("Skerry Light"), REPORT, finding], writer=[report])
    await run.ask()
    assert run.words("intermediate_report_delta") == finding
    assert run.words("message_delta").rstrip() == "Lit in 1844. [1] It is tall."

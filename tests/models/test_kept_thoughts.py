"""Thoughts are kept in their places, and given back to servers that want them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from lab import PLAN, lab
from langchain_core.messages import AIMessage
from langgraph.types import Command
from openai_replies import Reply, fail
from openai_server import Received
from wire import is_right, wire_lab

from deep_research.core.run.transcripts import REASONING


async def test_the_thought_of_a_plan_that_was_rejected_takes_no_place_in_the_replay(tmp_path: Path) -> None:
    thoughtful = AIMessage(PLAN, additional_kwargs={REASONING: "I ponder."})
    run = lab(tmp_path, planner=[thoughtful, PLAN], review_plan=True)
    await run.ask()
    await run.ask(Command(resume="no, do it differently please"))
    await run.ask(Command(resume="yes"))
    replayed = [(packet.type, packet.placement.turn_index) for packet in await run.replayed()]
    assert ("deep_research_plan_start", 0) in replayed
    assert ("research_agent_start", 1) in replayed
    assert ("message_start", 2) in replayed


async def test_a_server_that_wants_earlier_thoughts_back_is_given_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given_back = list[str]()

    def demanding(reply: Reply, request: Received) -> Reply:
        earlier = [message for message in request.messages if message.get("role") == "assistant"]
        if any(REASONING not in message for message in earlier):
            return fail(400, f"Missing `{REASONING}` field in the assistant message")
        given_back.extend(message[REASONING] for message in earlier)
        return replace(reply, reasoning="I think so.") if reply.calls else reply

    with wire_lab(tmp_path, monkeypatch, habit=demanding) as wire:
        state = await wire.ask()
        assert is_right(wire, state)
    assert given_back
    assert set(given_back) == {"I think so."}


@pytest.mark.parametrize(
    "writer",
    [
        ["Lit in 1844. [1]\n\n<think>Now the keeper.</think>\n\nIt stands."],
        [
            AIMessage("Lit in 1844. [1] ", response_metadata={"finish_reason": "length"}),
            AIMessage("It stands.", additional_kwargs={REASONING: "I go on."}),
        ],
    ],
    ids=["in its middle", "between its parts"],
)
async def test_a_thought_within_a_report_does_not_break_it(tmp_path: Path, writer: list[Any]) -> None:
    run = lab(tmp_path, writer=writer)
    state = await run.ask()
    assert state.report and state.report.text.split() == ["Lit", "in", "1844.", "[1]", "It", "stands."]
    assert {p["placement"]["turn_index"] for p in run.packets if p["type"] == "message_delta"} == {2}
    assert "".join(p.content for p in await run.replayed() if p.type == "message_delta").startswith("Lit in 1844. [1]")


async def test_a_report_that_begins_within_a_thought_is_left_without_it(tmp_path: Path) -> None:
    # What is learned here about the model would hold for the other tests too.
    folder = tmp_path / "data"
    run = lab(tmp_path, writer=["Let me see [7].\n</think>\n\nLit in 1844. [1]"], verify="off", data_dir=folder)
    state = await run.ask()
    assert state.report and state.report.text == "Lit in 1844. [1]"
    assert "Let me see" not in state.messages[-1].text

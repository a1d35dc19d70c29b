"""Answers that are far longer than their limit, or without end: they are cut, and say so."""

from __future__ import annotations

import logging
import sys
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from openai_server import Reply, openai_server, say, use
from wired import TOOL

from deep_research.core.models.ask import ask_model
from deep_research.core.models.caller import CHARACTERS_A_TOKEN
from deep_research.core.models.deltas import MOST_BYTES
from deep_research.core.models.ladder.reply import reasoning_of
from deep_research.core.models.request import Request
from deep_research.core.run.context import Context
from deep_research.core.run.events.call import CallEvents
from deep_research.core.run.events.log import Emitter
from deep_research.core.run.events.packets import Placement
from deep_research.core.run.transcripts import was_cut_off

TOKENS = 500
WORDS = "They were counted. "


class Endless(str):
    """A text whose end nobody sees; the server writes on until the client hangs up."""

    __slots__ = ()

    def __len__(self) -> int:
        return sys.maxsize

    def __getitem__(self, place: Any) -> str:
        # Nothing is said twice: what repeats itself is ended before.
        return f"{place.start:7} "


@pytest.mark.fault(18, logs="WARNING core.models.caller")
@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(say(Endless("x")), id="words without end"),
        pytest.param(say("Yes.", reasoning=Endless("x")), id="thoughts without end"),
        pytest.param(use(("look", Endless("x"))), id="arguments without end"),
        pytest.param(say(WORDS * (3 * MOST_BYTES // len(WORDS)), streams=False), id="an answer that comes whole"),
    ],
)
async def test_an_answer_without_end_is_cut_at_a_multiple_of_its_limit_and_named(
    reply: Reply, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "deep_research")
    request = Request("writer", "1", [HumanMessage("Say it.")], tools=[TOOL], max_tokens=TOKENS)
    events = CallEvents(Emitter(lambda _: None), Placement(turn_index=0))
    with openai_server([reply]) as server:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        message = (await ask_model(request, Context(models="openai:fake-1", tool_calls="native"), events)).message
    said = message.text + reasoning_of(message) + "".join(str(call["args"]) for call in message.invalid_tool_calls)
    assert 0.9 * CHARACTERS_A_TOKEN * TOKENS < len(said) <= CHARACTERS_A_TOKEN * TOKENS
    assert was_cut_off(message)
    assert not message.tool_calls
    assert "An answer of the writer's model was cut at 8000 characters: it exceeds its limit" in caplog.text

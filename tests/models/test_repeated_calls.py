"""What happens to a call that breaks off: before its first word, after it, and while others wait."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk
from openai_server import openai_server, say, use
from patient import MODEL, Caller, at, scripted

from deep_research.core.models.faults import AnswerBroken

BROKEN = AnswerBroken("an answer that broke off")


@pytest.mark.fault(5, 6)
@pytest.mark.behaviour("O-83")
@pytest.mark.parametrize("ending", ["cut", "broken", "reset"])
async def test_what_was_shown_is_not_repeated(monkeypatch: pytest.MonkeyPatch, ending: Any) -> None:
    answer = say("It was lit in 1844.", ending=ending)
    with openai_server([answer]) as server, pytest.raises(Exception, match=r"broke off|Connection error"):
        await Caller()(at(server.url, monkeypatch))
    assert len(server.requests) == 1


@pytest.mark.fault(5, 6)
@pytest.mark.parametrize("ending", ["cut", "broken", "reset"])
async def test_what_was_not_shown_is_dropped_and_asked_for_once_more(
    monkeypatch: pytest.MonkeyPatch, ending: Any
) -> None:
    caller = Caller()
    with openai_server([say("It was lit in 1844.", ending=ending, after=3), say("Yes.")]) as server:
        assert await caller(at(server.url, monkeypatch), may_repeat=True) == "Yes."
    assert caller.voids == 1


@pytest.mark.behaviour("O-83")
async def test_a_call_that_fails_before_its_first_words_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    caller = Caller()
    with openai_server([say("It was", ending="cut", after=0), say("It was", ending="reset", after=1), say("Yes.")]) as (
        server
    ):
        assert await caller(at(server.url, monkeypatch)) == "Yes."
    assert caller.voids == 0
    assert len(server.requests) == 3


async def test_a_call_is_repeated_once_only() -> None:
    with pytest.raises(AnswerBroken):
        await Caller()(scripted(["a", BROKEN], ["b", BROKEN], ["c"]), may_repeat=True)


async def test_thoughts_and_calls_are_words_too(monkeypatch: pytest.MonkeyPatch) -> None:
    for reply in (say("", reasoning="What is asked?"), use(("look", {"word": "a"}))):
        cut = reply.__class__(reasoning=reply.reasoning, calls=reply.calls, ending="cut", after=3)
        with openai_server([cut]) as server, pytest.raises(AnswerBroken):
            await Caller()(at(server.url, monkeypatch))


async def test_a_call_that_is_given_up_lets_the_others_pass() -> None:
    caller, waiting = Caller(), asyncio.Event()

    async def refused() -> AsyncGenerator[AIMessage, None]:
        if caller.nap.naps:
            waiting.set()
            await asyncio.Event().wait()
        raise AnswerBroken("", {"code": 429})
        yield AIMessage("")

    first = asyncio.create_task(caller(refused))
    await waiting.wait()
    second = asyncio.create_task(caller(scripted(["Yes."])))
    await asyncio.sleep(0.01)
    assert not second.done()
    first.cancel()
    assert await second == "Yes."


async def test_a_stream_that_is_left_early_is_closed() -> None:
    closed = False

    async def start() -> AsyncGenerator[AIMessage, None]:
        nonlocal closed
        try:
            yield AIMessageChunk(content="It was")
            yield AIMessageChunk(content=" lit")
        finally:
            closed = True

    async with aclosing(
        Caller().patience.stream(start, MODEL, may_repeat=lambda: False, on_wait=lambda *_: None)
    ) as parts:
        async for _ in parts:
            break
    assert closed

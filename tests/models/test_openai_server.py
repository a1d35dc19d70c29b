"""The fake server itself: it answers the right one, tells what it was asked, and misses nothing."""

from __future__ import annotations

import asyncio
import json
import urllib.request
from typing import Any

import pytest
from langchain_core.messages import HumanMessage, SystemMessage
from openai_server import Received, Reply, by_prompt, by_system, openai_server, say, use
from wired import PROMPT, TOOL, Model, Wire

from deep_research.models.resolve import resolve_model


@pytest.fixture
def wire(monkeypatch: pytest.MonkeyPatch) -> Wire:
    return Wire(monkeypatch)


async def ask(model: Model, system: str, question: str) -> str:
    answer = await resolve_model("planner", model.context).ainvoke([SystemMessage(system), HumanMessage(question)])
    return answer.text


async def test_each_role_and_each_researcher_gets_its_own_replies(wire: Wire) -> None:
    def last(received: Received) -> Reply:
        return say(f"You asked: {received.messages[-1]['content']}")

    script = by_system(
        {"You research": by_prompt({"ships": [say("S1"), say("S2")], "tides": [say("T1")]}), "You write": last}
    )
    with openai_server(script) as server:
        model = wire(server)
        asked = [("You research.", "ships"), ("You write.", "now"), ("You research.", "tides")]
        answers = await asyncio.gather(*(ask(model, *each) for each in asked))
        again = await ask(model, "You research.", "ships")
    assert list(answers) == ["S1", "You asked: now", "T1"]
    assert again == "S2"
    assert {request.system for request in server.requests} == {"You research.", "You write."}


async def test_a_request_is_told_as_it_came(wire: Wire) -> None:
    with openai_server([use(("look", {"word": "a"})), say("Yes.")]) as server:
        model = wire(server)
        await model(tools=[TOOL], tool_choice="any")
        model.context = model.context.model_copy(update={"responses_api": True})
        await model(tools=[TOOL], tool_choice="any")
    for request in server.requests:
        assert (request.tools, request.tool_choice, request.key) == (["look"], "required", "sk-loopback")
        assert (request.system, request.prompt) == ("You answer.", "You answer.\nWhat is known?")


async def test_a_request_that_the_script_does_not_know_fails_the_test(wire: Wire) -> None:
    scripts: list[Any] = [[], by_system({"You write": [say("Yes.")]})]
    for script in scripts:
        failing, refused = pytest.raises(AssertionError, match="no reply for"), pytest.raises(Exception, match="400")
        with failing, openai_server(script) as server, refused:
            await wire(server)(PROMPT)


def test_models_are_listed() -> None:
    with openai_server(models=["one", "two"]) as server, urllib.request.urlopen(f"{server.url}/models") as answer:
        assert [model["id"] for model in json.load(answer)["data"]] == ["one", "two"]

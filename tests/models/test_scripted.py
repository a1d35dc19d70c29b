"""The scripted chat model keeps to its script and hides nothing."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessageChunk, BaseMessage, HumanMessage, SystemMessage
from pydantic import BaseModel

from deep_research.core.models.scripted import ScriptedChatModel, ScriptExhausted, call, calls

PROMPT = [SystemMessage("Be brief."), HumanMessage("What is solar power?")]


class Search(BaseModel):
    """Search for something."""

    queries: list[str]


async def added_up(model: Any, prompt: list[BaseMessage] = PROMPT) -> tuple[AIMessageChunk, int]:
    chunks = [chunk async for chunk in model.astream(prompt)]
    total = chunks[0]
    for chunk in chunks[1:]:
        total += chunk
    return total, len(chunks)


async def test_replies_come_in_order_and_each_once() -> None:
    model = ScriptedChatModel(replies=["first", "second"])
    assert [(await model.ainvoke(PROMPT)).text, model.invoke(PROMPT).text] == ["first", "second"]
    assert model.unused() == []


async def test_a_call_too_many_shows_the_prompt_and_how_many_replies_were_used() -> None:
    model = ScriptedChatModel(replies=["only"])
    model.invoke(PROMPT)
    with pytest.raises(ScriptExhausted, match=r"All 1 replies are used[\s\S]*human: What is solar power\?"):
        await model.ainvoke(PROMPT)


def test_parallel_prompts_find_their_own_replies_by_a_part_of_the_first_human_message() -> None:
    model = ScriptedChatModel(replies={"solar": ["sun"], "solar cells": ["silicon"], "wind": ["air", "more air"]})
    tasks = ["Look at wind.", "Look at solar cells.", "Look at solar power."]
    assert [model.invoke(task).text for task in tasks] == ["air", "silicon", "sun"]
    assert model.unused() == ["'wind': more air"]


def test_a_tool_that_is_offered_finds_its_own_replies_whatever_was_asked_before() -> None:
    search, weigh = ({"type": "function", "function": {"name": name}} for name in ("search", "weigh"))
    model = ScriptedChatModel(replies={"weigh": calls(call("weigh")), "search": ["one", "two"], "": ["text"]})
    asked = [model.bind_tools(tools).invoke(PROMPT) for tools in ([search], [weigh], [search], [weigh], [])]
    assert [message.text for message in asked] == ["one", "", "two", "", "text"]
    assert [entry["name"] for message in asked for entry in message.tool_calls] == ["weigh", "weigh"]
    assert model.unused() == []
    with pytest.raises(ScriptExhausted, match=r"No key of 'sun' is a tool that is offered \('weigh'\)"):
        ScriptedChatModel(replies={"sun": []}).bind_tools([weigh]).invoke(PROMPT)


async def test_streamed_chunks_add_up_to_the_scripted_message() -> None:
    scripted = calls(
        call("research_agent", task="Ä «long» task\nin two lines", id="c1"),
        call("generate_report"),
        text="I will look into both.",
    )
    total, count = await added_up(ScriptedChatModel(replies=[scripted]))
    assert count > 5
    assert total.content == scripted.content
    assert total.tool_calls == [
        call("research_agent", task="Ä «long» task\nin two lines", id="c1"),
        call("generate_report", id="call-1-2"),
    ]
    assert total.response_metadata["finish_reason"] == "tool_calls"
    assert total.usage_metadata is not None
    assert total.usage_metadata["input_tokens"] == (len(PROMPT[0].text) + len(PROMPT[1].text)) // 4


async def test_calls_of_bound_copies_are_recorded_with_tools_and_settings() -> None:
    model = ScriptedChatModel(replies=["one", "two"])
    bare = {"type": "function", "function": {"name": "generate_report", "description": "", "parameters": {}}}
    await model.bind_tools([Search, bare], tool_choice="any", max_tokens=9).ainvoke(PROMPT, stop=["x"])
    await model.bind(reasoning_effort="low").ainvoke(PROMPT)
    assert [entry.tools for entry in model.calls] == [("Search", "generate_report"), ()]
    assert model.calls[0].settings == {"tool_choice": "any", "max_tokens": 9, "stop": ["x"]}
    assert model.calls[1].settings == {"reasoning_effort": "low"}
    assert "solar power" in model.calls[1].text


async def test_a_function_decides_the_reply_from_the_prompt_and_the_settings() -> None:
    async def later(messages: list[BaseMessage], settings: dict[str, Any]) -> str:
        return f"{len(messages)} messages, {settings['max_tokens']} tokens"

    model = ScriptedChatModel(replies=[later, lambda messages, settings: ValueError("no")])
    assert (await model.bind(max_tokens=5).ainvoke(PROMPT)).text == "2 messages, 5 tokens"
    with pytest.raises(ValueError, match="no"):
        await model.ainvoke(PROMPT)

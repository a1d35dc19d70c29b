"""What a model is asked for, and what is done when it fails."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage
from openai_replies import fail, say
from openai_server import Received, Reply
from scripted import ScriptedChatModel, call, calls
from wire import END, FACTS, hand_out, noted, task_of, wire_lab

from deep_research.core.models.ask import ask_model
from deep_research.core.models.request import Request
from deep_research.core.run.context import Context
from deep_research.core.run.errors import ContentRefused, PromptTooLong
from deep_research.core.run.events.call import CallEvents
from deep_research.core.run.events.log import Emitter
from deep_research.core.run.events.packets import Placement
from deep_research.core.run.transcripts import tokens_of

Patch = pytest.MonkeyPatch
WINDOW = 4000
TOOL: dict[str, Any] = {
    "type": "function",
    "function": {"name": "look", "description": "Look. " * 400, "parameters": {"type": "object", "properties": {}}},
}


def begun(text: str, share: float) -> str:
    return text[: int(share * len(text))]


@pytest.mark.parametrize(("tools", "tokens"), [([], 1500), ([TOOL], 900), ([TOOL], 1500)])
async def test_prompt_tools_and_answer_fit_the_window_together(tools: list[dict[str, Any]], tokens: int) -> None:
    model = ScriptedChatModel(replies=["Seen."], profile={"max_input_tokens": WINDOW})
    messages: list[AnyMessage] = [SystemMessage("You look."), HumanMessage("Look!")]
    for name in ("one", "two"):
        result = "seen " * (2200 if name == "one" else 10)
        messages += [calls(call("look", id=name)), ToolMessage(result, tool_call_id=name)]
    request = Request("researcher", "q", messages, begun, tools, max_tokens=tokens)
    await ask_model(request, Context(models=model), CallEvents(Emitter(lambda _: None), Placement(turn_index=0)))
    [made] = model.calls
    sent: list[Any] = list(made.messages)
    assert tokens_of(sent) + len(json.dumps(tools)) // 4 + tokens <= WINDOW
    assert made.settings["max_tokens"] == tokens
    assert messages[-1].text.startswith(sent[-1].text)


@pytest.mark.fault(10)
async def test_words_that_were_heard_are_not_taken_back_by_asking_otherwise(tmp_path: Path, monkeypatch: Patch) -> None:
    script = {"writer": lambda _: say("The light was lit", finish="content_filter")}
    with wire_lab(tmp_path, monkeypatch, script) as wire:
        await wire.fail(ContentRefused)
        assert wire.asked()["writer"] == 1


@pytest.mark.fault(20, logs="WARNING core.models.ask")
async def test_a_prompt_is_made_shorter_once(tmp_path: Path, monkeypatch: Patch) -> None:
    """What the server reads cannot be guessed by halving again and again."""

    def orchestrator(request: Received) -> Reply:
        found = request.prompt.count("Found:")
        return hand_out(list(FACTS)[found]) if found < 2 else END

    wordy = "".join(f"Wave {wave} came. [1] " for wave in range(100))
    wordy += "".join(f"In hour {hour} the wind blew. " for hour in range(600))
    script = {
        "orchestrator": orchestrator,
        "finding": lambda request: (
            say(f"{noted(request).text}\n{wordy}") if task_of(request) == "light" else noted(request)
        ),
        "writer": lambda _: fail(400, "maximum context length is 10 tokens", code="context_length_exceeded"),
    }
    with wire_lab(tmp_path, monkeypatch, script) as wire:
        await wire.fail(PromptTooLong)
        first, second = wire.requests("writer")
        assert len(second.prompt) < len(first.prompt) * 0.7


def read(tokens: int, text: str) -> AIMessage:
    """An answer whose server says that it has read so many tokens."""
    return AIMessage(text, usage_metadata={"input_tokens": tokens, "output_tokens": 9, "total_tokens": tokens + 9})


async def ask_of_long_result(*replies: AIMessage) -> str:
    model = ScriptedChatModel(replies=list(replies), profile={"max_input_tokens": 100_000})
    pages: list[AnyMessage] = [HumanMessage("Look!"), calls(call("look", id="one"))]
    pages.append(ToolMessage("seen " * 50_000, tool_call_id="one"))
    request = Request("researcher", "q", pages, lambda text, _: text[:6000], [TOOL])
    events = CallEvents(Emitter(lambda _: None), Placement(turn_index=0))
    return (await ask_model(request, Context(models=model), events)).message.text


async def test_a_prompt_that_its_server_cuts_in_silence_is_made_shorter() -> None:
    part = read(4096, "It looks like part of a document.")
    assert await ask_of_long_result(part, read(1500, "Seen.")) == "Seen."


async def test_of_a_server_that_cuts_all_prompts_the_setting_is_named() -> None:
    with pytest.raises(PromptTooLong, match=r"read 256 of about \d+ tokens.*num_ctx.*set window"):
        await ask_of_long_result(read(256, "Part?"), read(256, "Part?"))


async def test_a_call_in_the_text_may_quote_what_looks_like_the_end_of_a_thought() -> None:
    written = {"calls": [{"name": "look", "arguments": {"at": "what </think> means, and <think>this</think>"}}]}
    model = ScriptedChatModel(replies=[f"<think>Hm.</think>{json.dumps(written)}"])
    look = {**TOOL, "function": {**TOOL["function"], "parameters": {"properties": {"at": {"type": "string"}}}}}
    request = Request("researcher", "q", [HumanMessage("Look!")], tools=[look])
    events = CallEvents(Emitter(lambda _: None), Placement(turn_index=0))
    reply = await ask_model(request, Context(models=model, tool_calls="schema"), events)
    assert [asked["args"] for asked in reply.message.tool_calls] == [
        {"at": "what </think> means, and <think>this</think>"}
    ]
    assert events.thoughts.startswith("Hm.")

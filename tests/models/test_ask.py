"""Requests fit the window, are bound as the model's class expects them, and are changed when they
fail."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from kit.model_calls import TOOL as LOOK
from kit.model_calls import Wire
from kit.models import ScriptedChatModel, call, calls
from kit.openai_server import Reply, say, use
from kit.wire import Wires
from langchain_core.exceptions import ContextOverflowError
from langchain_core.language_models import LanguageModelInput
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from pydantic import create_model

from deep_research.core.dialogue.transcripts import Finish, estimated_tokens
from deep_research.core.errors import ContentRefused, PromptTooLong
from deep_research.core.events.call import CallEvents
from deep_research.core.events.log import Emitter
from deep_research.core.events.packets import Placement
from deep_research.core.models._binding import bind_call
from deep_research.core.models._deltas import MOST_BYTES
from deep_research.core.models._role_model import MOST_CHARACTERS_PER_TOKEN
from deep_research.core.models._wrapping import reasoning_of
from deep_research.core.models.ask import ask_model
from deep_research.core.models.request import Request
from deep_research.core.settings.context import Context

WINDOW = 4000
TOOL: dict[str, Any] = {
    "type": "function",
    "function": {**LOOK["function"], "description": "Look. " * 400},
}


@pytest.mark.parametrize(("tools", "tokens"), [([], 1500), ([TOOL], 900), ([TOOL], 1500)])
async def test_prompt_tools_and_answer_fit_the_window_together(
    events: CallEvents, tools: Any, tokens: int
) -> None:
    model = ScriptedChatModel(replies=["Seen."], profile={"max_input_tokens": WINDOW})
    messages: list[AnyMessage] = [SystemMessage("You look."), HumanMessage("Look!")]
    for name in ("a", "b"):
        result = "seen " * (2200 if name == "a" else 10)
        messages += [calls(call("look", id=name)), ToolMessage(result, tool_call_id=name)]
    request = Request(
        "researcher",
        "q",
        messages,
        lambda text, share: text[: int(share * len(text))],
        tools,
        max_tokens=tokens,
    )
    await ask_model(request, Context(models=model), events)
    [made] = model.calls
    sent: list[Any] = list(made.messages)
    assert estimated_tokens(sent) + len(json.dumps(tools)) // 4 + tokens <= WINDOW
    assert made.settings["max_tokens"] == tokens
    assert messages[-1].text.startswith(sent[-1].text)


@pytest.mark.fault(10)
async def test_a_call_is_not_repeated_after_its_text_was_shown(wires: Wires) -> None:
    script = {"writer": lambda _: say("The light was lit", finish="content_filter")}
    with wires(script) as wire:
        await wire.fail(ContentRefused)
        assert wire.asked()["writer"] == 1


@pytest.mark.parametrize("tools", [[], [LOOK]], ids=["prose", "with tools"])
async def test_nothing_of_an_answer_that_broke_off_is_in_the_repeated_one(
    wire: Wire, tools: Any
) -> None:
    class Heard(CallEvents):
        text = ""

        def on_text(self, words: str) -> None:
            self.text += words

    model = wire(
        [say("<think>Was it lit in 1844", ending="broken", after=3), say("It was lit in 1844.")],
        tool_calls="native",
    )
    heard = Heard(Emitter(lambda _: None), Placement(turn_index=0))
    request = Request("planner", "q", [HumanMessage("When?")], lambda text, _: text, tools)
    answer = (await ask_model(request, model.context, heard)).message
    assert heard.text == answer.text == "It was lit in 1844."
    assert len(model.requests) == 2


def read(tokens: int, text: str) -> AIMessage:
    """An answer whose server reports that it read so many tokens of the prompt."""
    return AIMessage(
        text,
        usage_metadata={"input_tokens": tokens, "output_tokens": 9, "total_tokens": tokens + 9},
    )


async def ask_of_long_result(events: CallEvents, *replies: Any) -> str:
    model = ScriptedChatModel(replies=list(replies), profile={"max_input_tokens": 100_000})
    pages: list[AnyMessage] = [HumanMessage("Look!"), calls(call("look", id="one"))]
    pages.append(ToolMessage("seen " * 50_000, tool_call_id="one"))
    request = Request("researcher", "q", pages, lambda text, _: text[:6000], [TOOL])
    try:
        return (await ask_model(request, Context(models=model), events)).message.text
    finally:
        first, second = model.calls
        assert len(second.text) < len(first.text) * 0.7


@pytest.mark.fault(20, logs="WARNING core.models.ask")
@pytest.mark.parametrize(
    ("failed", "words"),
    [
        (read(256, "Part?"), r"read 256 of about \d+ tokens.*num_ctx.*set window"),
        (ContextOverflowError(), r"longer prompt than it can read; set window"),
    ],
    ids=["cut silently", "refused"],
)
async def test_a_prompt_that_is_too_long_for_its_server_is_shortened_once_and_then_the_setting_is_named(
    events: CallEvents, failed: Any, words: str
) -> None:
    assert await ask_of_long_result(events, failed, read(1500, "Seen.")) == "Seen."
    with pytest.raises(PromptTooLong, match=words):
        await ask_of_long_result(events, failed, failed)


async def test_a_call_written_as_text_may_have_thought_tags_in_its_arguments(
    events: CallEvents,
) -> None:
    arguments = {"at": "what </think> means, and <think>this</think>"}
    written = {"calls": [{"name": "look", "arguments": arguments}]}
    model = ScriptedChatModel(replies=[f"<think>Hm.</think>{json.dumps(written)}"])
    look = {
        **TOOL,
        "function": {**TOOL["function"], "parameters": {"properties": {"at": {"type": "string"}}}},
    }
    request = Request("researcher", "q", [HumanMessage("Look!")], tools=[look])
    reply = await ask_model(request, Context(models=model, tool_calls="schema"), events)
    assert [asked["args"] for asked in reply.message.tool_calls] == [arguments]
    assert events.thoughts.startswith("Hm.")


LIMIT = 100
COUNTED = "They were counted. "


class Endless(str):
    """An endless text: the server writes until the client hangs up."""

    __slots__ = ()

    def __len__(self) -> int:
        return sys.maxsize

    def __getitem__(self, key: Any) -> str:
        # Without repetition, which would end the answer earlier.
        return f"{key.start:7} "


@pytest.mark.sweep(first=2)
@pytest.mark.fault(18, logs="WARNING core.models._role_model")
@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(say(Endless("x")), id="words without end"),
        pytest.param(say("Yes.", reasoning=Endless("x")), id="thoughts without end"),
        pytest.param(use(("look", Endless("x"))), id="arguments without end"),
        pytest.param(
            say(COUNTED * (3 * MOST_BYTES // len(COUNTED)), streams=False),
            id="an answer that comes whole",
        ),
    ],
)
async def test_an_endless_answer_is_cut_at_a_multiple_of_its_limit_and_logged(
    events: CallEvents, reply: Reply, wire: Wire, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "deep_research")
    request = Request("writer", "1", [HumanMessage("Say it.")], tools=[LOOK], max_tokens=LIMIT)
    context = wire([reply], tool_calls="native").context
    message = (await ask_model(request, context, events)).message
    said = (
        message.text
        + reasoning_of(message)
        + "".join(str(call["args"]) for call in message.invalid_tool_calls)
    )
    assert 0.9 * MOST_CHARACTERS_PER_TOKEN * LIMIT < len(said) <= MOST_CHARACTERS_PER_TOKEN * LIMIT
    assert Finish.of(message).was_cut_off
    assert not message.tool_calls
    assert (
        "An answer of the writer's model was cut at 1600 characters: it exceeds its limit"
        in caplog.text
    )


LEVELS: Any = {"reasoning_effort_levels": ["low", "high"]}


class Plain(GenericFakeChatModel):
    """A class that binds whatever it is given, as those of all providers do."""

    messages: Any = ()
    model: str = "plain-1"

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        **settings: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Bind the tools."""
        return self.bind(tools=list(tools), **settings)


# Classes of providers are known by their names and fields.
ChatOllama = create_model("ChatOllama", __base__=Plain, num_predict=(int | None, None))
ChatGoogle = create_model(
    "ChatGoogleGenerativeAI", __base__=Plain, max_output_tokens=(int | None, None)
)
ChatGroq = create_model("ChatGroq", __base__=Plain, reasoning_effort=(str | None, None))
ChatAnthropic = create_model("ChatAnthropic", __base__=ChatGroq)
OwnAnthropic = create_model("OwnAnthropic", __base__=ChatAnthropic)


def bound_to(
    model: Any,
    *,
    tools: Sequence[dict[str, Any]] = (),
    choice: str = "any",
    max_tokens: int | None = None,
    effort: str = "",
) -> tuple[Any, dict[str, Any]]:
    """The model that would be called, and what is bound to it."""
    bound: Any = bind_call(model, tools, choice, max_tokens, effort, {})
    return bound.bound, bound.kwargs


def test_the_class_of_ollama_gets_the_output_limit_as_a_field_of_a_copy() -> None:
    ollama: Any = ChatOllama()
    called, settings = bound_to(ollama, max_tokens=50, tools=[LOOK])
    assert (called.num_predict, settings) == (50, {"tools": [LOOK], "tool_choice": "any"})
    assert ollama.num_predict is None


LOW = {"effort": "low"}
ARMED = {"effort": "low", "tools": [LOOK]}
FREE = {**ARMED, "choice": "auto"}
ACCEPTED = {"reasoning_effort": "low"}
FORCED = {"tools": [LOOK], "tool_choice": "any"}
CHOOSING = {"tools": [LOOK], "tool_choice": "auto", **ACCEPTED}


@pytest.mark.parametrize(
    ("model", "given", "bound"),
    [
        (Plain(), {"max_tokens": 50}, {"max_tokens": 50}),
        (ChatGoogle(), {"max_tokens": 50}, {"max_output_tokens": 50}),
        # An effort is bound if the model is known to accept it.
        (ChatGroq(profile=LEVELS), LOW, ACCEPTED),
        (ChatGroq(profile=LEVELS), {"effort": "medium"}, {}),
        (ChatGroq(profile={"reasoning_output": True}), LOW, {}),
        (ChatGroq(), LOW, {}),
        (Plain(profile=LEVELS), LOW, {}),
        (ScriptedChatModel(replies=[]), LOW, ACCEPTED),
        (ScriptedChatModel(replies=[]), {"effort": ""}, {}),
        # The server of Anthropic rejects an effort together with a forced call.
        (OwnAnthropic(profile=LEVELS), ARMED, FORCED),
        (OwnAnthropic(profile=LEVELS), FREE, CHOOSING),
        (OwnAnthropic(profile=LEVELS), LOW, ACCEPTED),
        (ChatGroq(profile=LEVELS), ARMED, {**FORCED, **ACCEPTED}),
        # A model that does not support forced calls may choose.
        (ChatAnthropic(profile=LEVELS | {"tool_choice": False}), ARMED, CHOOSING),
        (Plain(profile={"tool_choice": True}), {"tools": [LOOK]}, FORCED),
    ],
)
def test_each_class_is_bound_what_it_and_its_server_accept(
    model: Any, given: Any, bound: Any
) -> None:
    assert bound_to(model, **given)[1] == bound

"""Calls a model at the fake server as a run does, and reads what models write."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from functools import reduce
from operator import add
from typing import Any

import pytest
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
)

from deep_research.core.errors import DeepResearchError
from deep_research.core.events.call import CallEvents
from deep_research.core.events.log import Emitter
from deep_research.core.events.packets import Placement
from deep_research.core.models._chunks import message_from_chunks
from deep_research.core.models._compatible import CompatibleChatModel
from deep_research.core.models._faults import explain
from deep_research.core.models._reply import read_reply
from deep_research.core.models._retries import retry_budget_of
from deep_research.core.models._role_model import RoleModel
from deep_research.core.models.abilities import chat_model_for
from deep_research.core.models.request import Request
from deep_research.core.models.resolve import resolve_model
from deep_research.core.settings.context import Context, Role
from kit.models import TOOLS, Asked
from kit.openai_server import OpenAIServer, Received, Reply, Script, openai_server

KEY = "sk-live-CANARY-0123456789"
TOOL: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "look",
        "description": "Look it up.",
        "parameters": {"type": "object", "properties": {"word": {"type": "string"}}},
    },
}
PROMPT: list[AnyMessage] = [SystemMessage("You answer."), HumanMessage("What is known?")]
COUNTED = {
    "prompt_tokens": 90,
    "completion_tokens": 10,
    "total_tokens": 100,
    "prompt_tokens_details": {"cached_tokens": 60},
    "cost": 0.0125,
}


class Wire(ExitStack):
    """Makes models that call a server, which is there until the test ends."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__()
        self.monkeypatch = monkeypatch

    def __call__(
        self, server: OpenAIServer | Script, name: str = "fake-1", **settings: Any
    ) -> Model:
        if not isinstance(server, OpenAIServer):
            server = self.enter_context(openai_server(server))
        for variable, value in server.environment.items():
            self.monkeypatch.setenv(variable, value)
        return Model(Context(models=f"openai:{name}", **settings), server.requests)


class Model:
    """Calls a model and adds up what it streams."""

    def __init__(self, context: Context, requests: list[Received]) -> None:
        self.context = context
        self.requests = requests
        """What its server was asked."""
        self.chunks: list[AIMessageChunk] = []

    async def __call__(
        self, prompt: Sequence[BaseMessage] = PROMPT, *, tools: Any = (), **settings: Any
    ) -> AIMessage:
        model = resolve_model("planner", self.context)
        bound: Any = model.bind_tools(tools, **settings) if tools else model.bind(**settings)
        self.chunks = [chunk async for chunk in bound.astream(list(prompt))]
        whole = reduce(add, self.chunks)
        return message_from_chunks(whole, whole.text)


def silent_events() -> CallEvents:
    """The events of calls that nothing listens to."""
    return CallEvents(Emitter(lambda _: None), Placement(turn_index=0))


def role_model(role: Role, context: Context, events: CallEvents | None = None) -> RoleModel:
    """The model of a role; without `events`, nothing listens to its calls."""
    retries = retry_budget_of("q", context.limits, context.clock)
    return RoleModel(
        request=Request(role, "q", ()),
        context=context,
        events=events or silent_events(),
        retries=retries,
    )


def compatible(role: Role, context: Context) -> CompatibleChatModel:
    """The chat model that calls tools for a role; nothing listens to its calls."""
    retries = retry_budget_of("q", context.limits, context.clock)
    return chat_model_for(Request(role, "q", ()), context, silent_events(), retries)


def read(text: str, tools: Sequence[dict[str, Any]] = TOOLS, **metadata: Any) -> AIMessage:
    """The answer of a model without native calls, which was offered these tools."""
    return read_reply(AIMessage(text, response_metadata=metadata), tools)


def called(message: AIMessage) -> Asked:
    """The tool calls of a message, with their arguments."""
    return [(call["name"], call["args"]) for call in message.tool_calls]


async def error_at(url: str, monkeypatch: pytest.MonkeyPatch, **settings: Any) -> Exception:
    """What a call at this address raises; the key that it is made with is `KEY`."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    model = resolve_model("planner", Context(models="openai:fake-1", **settings))
    try:
        async for _ in model.astream("What is known?"):
            pass
    except Exception as error:  # noqa: BLE001 - whatever comes is what the tests look at
        return error
    raise AssertionError("the call went through")


async def error_of(reply: Reply, monkeypatch: pytest.MonkeyPatch, **settings: Any) -> Exception:
    """What a call raises that gets this reply."""
    with openai_server([reply]) as server:
        return await error_at(server.url, monkeypatch, **settings)


def explained(error: Exception) -> DeepResearchError:
    """The error as the user reads it: one line without the key."""
    ours = explain(error, "The model 'fake-1'")
    text = str(ours)
    assert text.startswith("The model 'fake-1'")
    assert "\n" not in text
    assert "CANARY" not in text
    return ours

"""Settings of one call are bound as the model's class expects them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from kit.model_calls import TOOL
from kit.models import ScriptedChatModel
from langchain_core.language_models import LanguageModelInput
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool

from deep_research.core.models.caller import bind_call

LEVELS: Any = {"reasoning_effort_levels": ["low", "high"]}


class Plain(GenericFakeChatModel):
    """Binds what comes, as the classes of all providers do."""

    messages: Any = ()
    model: str = "plain-1"

    def bind_tools(
        self, tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool], **settings: Any
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """The model with tools."""
        return self.bind(tools=list(tools), **settings)


class ChatOllama(Plain):
    """Has its limit as a field only."""

    num_predict: int | None = None


class ChatGoogleGenerativeAI(Plain):
    """Has another name for its limit."""

    max_output_tokens: int | None = None


class ChatGroq(Plain):
    """Has a field for the effort."""

    reasoning_effort: str | None = None


class ChatAnthropic(ChatGroq):
    """Thinks if an effort is set."""


class OwnAnthropic(ChatAnthropic):
    """An app's own version of it."""


def bound_to(
    model: Any,
    *,
    tools: Sequence[dict[str, Any]] = (),
    choice: str = "any",
    max_tokens: int | None = None,
    effort: str = "",
    settings: dict[str, Any] | None = None,
) -> tuple[Any, dict[str, Any]]:
    """The model that would be called, and what is bound to it."""
    bound: Any = bind_call(model, tools, choice, max_tokens, effort, settings or {})
    return bound.bound, bound.kwargs


def test_each_class_gets_the_limit_under_its_own_name() -> None:
    assert bound_to(Plain(), max_tokens=50)[1] == {"max_tokens": 50}
    assert bound_to(ChatGoogleGenerativeAI(), max_tokens=50)[1] == {"max_output_tokens": 50}
    ollama = ChatOllama()
    called, settings = bound_to(ollama, max_tokens=50, tools=[TOOL])
    assert (called.num_predict, settings) == (50, {"tools": [TOOL], "tool_choice": "any"})
    assert ollama.num_predict is None


@pytest.mark.parametrize(
    ("model", "effort", "is_accepted"),
    [
        (ChatGroq(profile=LEVELS), "low", True),
        (ChatGroq(profile=LEVELS), "medium", False),
        (ChatGroq(profile={"reasoning_output": True}), "low", False),
        (ChatGroq(), "low", False),
        (Plain(profile=LEVELS), "low", False),
        (ScriptedChatModel(replies=[]), "low", True),
        (ScriptedChatModel(replies=[]), "", False),
    ],
)
def test_an_effort_is_bound_if_the_model_is_known_to_accept_it(model: Any, effort: str, is_accepted: bool) -> None:
    expected = {"reasoning_effort": effort} if is_accepted else {}
    assert bound_to(model, effort=effort)[1] == expected


@pytest.mark.parametrize("kind", [ChatAnthropic, OwnAnthropic])
def test_a_forced_call_has_no_effort_if_the_server_rejects_both(kind: type[ChatAnthropic]) -> None:
    model = kind(profile=LEVELS)
    for choice in ("any", "auto"):
        _, settings = bound_to(model, tools=[TOOL], choice=choice, effort="low")
        assert (settings["tool_choice"], settings.get("reasoning_effort")) == (choice, {"auto": "low"}.get(choice))
    assert bound_to(model, effort="low")[1] == {"reasoning_effort": "low"}
    assert bound_to(ChatGroq(profile=LEVELS), tools=[TOOL], effort="low")[1]["reasoning_effort"] == "low"


def test_a_model_without_forced_calls_may_choose() -> None:
    profile: Any = {**LEVELS, "tool_choice": False}
    model = ChatAnthropic(profile=profile)
    _, settings = bound_to(model, tools=[TOOL], effort="low")
    assert settings == {"tools": [TOOL], "tool_choice": "auto", "reasoning_effort": "low"}
    assert bound_to(Plain(profile={"tool_choice": True}), tools=[TOOL])[1]["tool_choice"] == "any"

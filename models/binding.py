"""Binds to a model what one call needs, in the words that its class takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import Runnable

from .faults import ToolsUnbound

# Names instead of classes: the packages of other providers may not be installed, and all are slow to load.
TAKE_ALL = frozenset({"ChatOpenAI", "AzureChatOpenAI", "ScriptedChatModel"})
"""Classes that take each call as it is meant; of others only those settings are used that they are known to take."""
FORCED_WITHOUT_EFFORT = "ChatAnthropic"
"""The class in which an effort turns on thoughts, beside which its server takes no forced call."""


def bind_call(
    model: BaseChatModel,
    tools: Sequence[dict[str, Any]],
    tool_choice: str,
    max_tokens: int | None,
    effort: str,
    settings: Mapping[str, Any],
) -> Runnable[Any, Any]:
    """The model for one call: with these tools if there are any, with a limit on its output and an effort if set.

    `tool_choice` is `any`, `auto` or `none`; another provider's model whose profile rules out the first gets the
    second, and to no such model tools are bound that may not be called.
    `settings` are bound as they are. Raises `ToolsUnbound` for tools where the class has no place for them.
    """
    takes_all = not TAKE_ALL.isdisjoint(_names(model))
    if not takes_all:
        tools = () if tool_choice == "none" else tools
        tool_choice = "auto" if (model.profile or {}).get("tool_choice") is False else tool_choice
    bound = dict(settings)
    if max_tokens is not None and "num_predict" in type(model).model_fields:
        # Ollama's client refuses a call that brings the limit along.
        model = model.model_copy(update={"num_predict": max_tokens})
    elif max_tokens is not None:
        bound[_output_limit(model)] = max_tokens
    is_forced = bool(tools) and tool_choice == "any"
    if effort and (takes_all or _takes_effort(model, effort, is_forced=is_forced)):
        bound["reasoning_effort"] = effort
    if not tools:
        return model.bind(**bound)
    try:
        return model.bind_tools(tools, tool_choice=tool_choice, **bound)
    except NotImplementedError as error:
        raise ToolsUnbound from error


def _output_limit(model: BaseChatModel) -> str:
    """What the class calls the limit on the tokens of an answer: Google's do not understand the common name."""
    return "max_output_tokens" if "max_output_tokens" in type(model).model_fields else "max_tokens"


def _takes_effort(model: BaseChatModel, effort: str, *, is_forced: bool) -> bool:
    if is_forced and FORCED_WITHOUT_EFFORT in _names(model):
        return False
    levels: Any = (model.profile or {}).get("reasoning_effort_levels") or ()
    return "reasoning_effort" in type(model).model_fields and effort in levels


def _names(model: BaseChatModel) -> set[str]:
    return {cls.__name__ for cls in type(model).__mro__}

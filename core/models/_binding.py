"""Binds the settings of a call in the form that each provider's class accepts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import Runnable

from ._faults import ToolsUnbound

# Class names instead of classes, whose packages may not be installed and are slow to import.
_TAKE_ALL = frozenset({"ChatOpenAI", "AzureChatOpenAI"})
"""Classes that accept every setting; others get only the settings that they are known to accept."""
_FORCED_WITHOUT_EFFORT = "ChatAnthropic"
"""Class whose server rejects a reasoning effort together with a forced tool call."""


def bind_call(
    model: BaseChatModel,
    tools: Sequence[dict[str, Any]],
    tool_choice: str,
    max_tokens: int | None,
    effort: str,
    settings: Mapping[str, Any],
) -> Runnable[Any, Any]:
    """Return the model with tools, output limit, reasoning effort and `settings` bound for one
    call.

    `tool_choice` is `any`, `auto` or `none`. For other providers' models, `any` becomes `auto` if
    the profile does not support it, and `none` binds no tools. Raises `ToolsUnbound` if the class
    cannot bind tools.
    """
    classes = {cls.__name__ for cls in type(model).__mro__}
    fields = type(model).model_fields
    profile: Mapping[str, Any] = model.profile or {}
    takes_all = not _TAKE_ALL.isdisjoint(classes)
    if not takes_all:
        if tool_choice == "none":
            tools = ()
        if profile.get("tool_choice") is False:
            tool_choice = "auto"
    bound = dict(settings)
    if max_tokens is not None and "num_predict" in fields:
        # Ollama's class accepts the limit only as a field.
        model = model.model_copy(update={"num_predict": max_tokens})
    elif max_tokens is not None and "max_output_tokens" in fields:
        # Google's classes name the limit differently.
        bound["max_output_tokens"] = max_tokens
    elif max_tokens is not None:
        bound["max_tokens"] = max_tokens
    levels = profile.get("reasoning_effort_levels") or ()
    is_barred = bool(tools) and tool_choice == "any" and _FORCED_WITHOUT_EFFORT in classes
    takes_effort = "reasoning_effort" in fields and effort in levels and not is_barred
    if effort and (takes_all or takes_effort):
        bound["reasoning_effort"] = effort
    if not tools:
        return model.bind(**bound)
    try:
        return model.bind_tools(tools, tool_choice=tool_choice, **bound)
    except NotImplementedError as error:
        raise ToolsUnbound from error

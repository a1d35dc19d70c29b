"""What the model of a role can do: the chat model that nodes call tools with, its trials, and how
it calls tools, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial

from ..errors import UserMistake, log_failure
from ..events.call import CallEvents
from ..events.packets import Activity
from ..records.report import JudgeGrade
from ..settings.context import Context, Role
from ._compatible import CompatibleChatModel
from ._faults import explain
from ._quirks import PLAIN_HISTORY, describe_traits
from ._retries import RetryBudget, retry_budget_of
from ._role_model import RoleModel
from .request import Request
from .resolve import CHOOSE_MODEL, RoleModels, is_named, profile_of, resolve_model

_FOUND = {
    "native": "Tools are called through the API.",
    "schema": "No tool calls through the API; they are requested as JSON with a schema.",
    "tags": "No tool calls through the API and no JSON schema; they are requested as tagged text.",
}
"""How a model calls tools, by its rung."""
_AS_VERIFIER: Mapping[JudgeGrade, str] = {
    "unsound": "; cannot judge as a verifier",
    "quotations": "; as a verifier it judges quotations, but does not reason soundly",
    "reasoning": "",
}
"""What its trial as a verifier has shown, by its grade."""


def chat_model_for(
    request: Request, context: Context, events: CallEvents, retries: RetryBudget
) -> CompatibleChatModel:
    """Return the model of the request's role, which calls tools whatever its server can do."""
    model = compatible_model(request.role, context)
    changes = {
        "model": RoleModel(request=request, context=context, events=events, retries=retries),
        "trial": partial(_trial, request.role, context, events),
    }
    return model.model_copy(update=changes)


def compatible_model(role: Role, context: Context) -> CompatibleChatModel:
    """Return the role's model together with what is stored about it, outside a run."""
    profile = profile_of(role, context)
    return CompatibleChatModel(
        model=resolve_model(role, context),
        data_dir=context.data_dir,
        at_server=profile.at_server,
        tool_calls="auto" if RoleModels(context).is_extractive(role) else context.tool_calls,
        role=role,
        subject=RoleModels(context).subject(role),
        is_described=bool(profile.calls_tools) or not is_named(role, context),
    )


@contextmanager
def _trial(role: Role, context: Context, events: CallEvents) -> Iterator[None]:
    """Announce a trial, and explain the errors of its calls."""
    name = profile_of(role, context).name
    events.emit(
        Activity(placement=events.placement, text=f"Testing how {name} calls tools", icon="brain")
    )
    try:
        yield
    except Exception as error:  # noqa: BLE001 - every provider has errors of its own
        ours = explain(error, RoleModels(context).subject(role))
        if not isinstance(ours, UserMistake):
            log_failure(__name__, error, "The %s's model could not be tested", role)
        # The original message may contain the key.
        raise ours from None


async def describe_model(role: Role, context: Context) -> str:
    """Return the role's model, its window, and how it calls tools, in words."""
    if RoleModels(context).is_extractive(role):
        return (
            f"extractive: only quotes the sources, needs no key. {CHOOSE_MODEL} (Ollama: "
            "http://localhost:11434/v1)"
        )
    tool_calls = await _describe_tool_calls(role, context)
    profile = profile_of(role, context)
    window = f"window unknown, {profile.window} assumed"
    if profile.is_window_known:
        window = f"{profile.window} tokens"
    kind = "reasoning model, " if profile.reasons else ""
    return f"{compatible_model(role, context).memory.key}: {window}, {kind}{tool_calls}"


async def _describe_tool_calls(role: Role, context: Context) -> str:
    if context.tool_calls != "auto":
        return f"calls tools as set in tool_calls: {context.tool_calls}"
    ability = await compatible_model(role, context).memory.load()
    if ability:
        words = f"calls tools (tested): {ability.rung}"
        quirks = list(ability.quirks)
        if ability.has_plain_history:
            quirks.append(PLAIN_HISTORY)
        required = describe_traits(quirks, ability.output_tokens)
        if required:
            words += f"; its server requires {required}"
        if ability.judge_grade:
            words += _AS_VERIFIER[ability.judge_grade]
        return words
    calls_tools = profile_of(role, context).calls_tools
    if calls_tools is None:
        return "tool calling is tested at the first run"
    return "calls tools" if calls_tools else "has no native tool calling"


async def try_tool_calls(role: Role, context: Context, events: CallEvents) -> str:
    """Have the role's model call a tool, and store how it does so; return that in words, empty if
    it calls none.

    Raises the errors of the trial calls as `DeepResearchError`.
    """
    request = Request(role, "trial", ())
    retries = retry_budget_of(request.question_id, context.limits, context.clock)
    try:
        ability = await chat_model_for(request, context, events, retries).find_out()
    except Exception as error:  # noqa: BLE001 - every provider has its own errors
        # The original message may contain the key.
        raise explain(error, RoleModels(context).subject(role)) from None
    if ability is None:
        return ""
    return f"{_FOUND[ability.rung]} Rung: {ability.rung}."

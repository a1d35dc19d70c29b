"""Asks a role's model: what it is shown, what is done when it fails, what it cost."""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage
from langchain_core.messages.utils import count_tokens_approximately

from deep_research.evidence.document import read_body
from deep_research.models.abilities import Ability, ability_of, other_ability
from deep_research.models.attempt import stream_answer
from deep_research.models.faults import failed, in_our_words, kind_of
from deep_research.models.prices import cost_of
from deep_research.models.request import Request
from deep_research.models.resolve import is_named, profile_of
from deep_research.models.wordings import Kind
from deep_research.run.context import Context, Role
from deep_research.run.conversation import mark_of
from deep_research.run.telling import Teller
from deep_research.run.transcripts import fit, tokens_of
from deep_research.state import Spent

CHARACTERS_PER_TOKEN = 4
LEFT_OUT = "This result is left out: the model's provider refused to have it read."


class Reply(NamedTuple):
    """What a model answered and what it cost."""

    message: AIMessage
    seconds: float
    spent: dict[str, Spent]
    refused: str = ""
    """Id of the call whose result the model was not shown, because its provider's filter refused it."""


async def ask_model(request: Request, context: Context, teller: Teller) -> Reply:
    """Call the role's model; `teller` hears thoughts and words as they come.

    A prompt that is too long, a result that the provider's filter refuses, and a server that has no tool calling are
    met once each way. Raises errors of this package where the model's provider is known, and others as they are.
    """
    start = context.clock.seconds()
    ability, tried = await _ability(request, context)
    tools = len(json.dumps(list(request.tools))) // CHARACTERS_PER_TOKEN
    room = profile_of(request.role, context).window - (request.max_tokens or 0) - tools
    messages = fit([_shown(message) for message in request.messages], room, request.shorteners)
    try:
        message, tried_again, refused = await _answer(request._replace(messages=messages), ability, context, teller)
    finally:
        # A call may break off, or be cut off, in the middle of a thought.
        teller.end()
    spent = _spent(request.role, messages, message, context)
    costs = {uuid.uuid4().hex: cost for cost in (tried, tried_again, spent) if cost}
    for cost in costs.values():
        teller.spent(cost)
    return Reply(message, context.clock.seconds() - start, costs, refused)


async def _answer(
    request: Request, ability: Ability, context: Context, teller: Teller
) -> tuple[AIMessage, Spent | None, str]:
    """The answer, what it cost to find out anew how the model calls tools, and the id of a result that was left out."""
    met, tried, refused = set[Kind | None](), None, ""
    while True:
        try:
            return await stream_answer(request, ability, context, teller), tried, refused
        except Exception as error:
            kind, ours = kind_of(error), in_our_words(error, request.role, profile_of(request.role, context).name)
            if kind in met or teller.has_started or not _has_remedy(kind, request, context):
                if ours is None and not is_named(request.role, context):
                    raise
                # Without the provider's own words, which may quote the key.
                raise ours or failed(request.role, error) from None
            met.add(kind)
            if kind == "no_tools":
                ability, tried = await other_ability(request.role, context, ability)
            if kind == "refused":
                refused = _newest_result(request.messages)
            request = request._replace(messages=_eased(kind, request))


def _has_remedy(kind: Kind | None, request: Request, context: Context) -> bool:
    """Whether something can be done about a failure."""
    if kind == "no_tools":
        # Where the user has set how tools are called, the line that names the setting helps more.
        return context.tool_calls == "auto"
    return _eased(kind, request) != list(request.messages)


def _eased(kind: Kind | None, request: Request) -> list[AnyMessage]:
    """The messages without what a server may have stumbled over."""
    if kind == "long":
        return fit(request.messages, tokens_of(request.messages) // 2, request.shorteners)
    if kind == "refused":
        newest = _newest_result(request.messages)
        return [left_out(newest) if _answers(message, newest) else message for message in request.messages]
    return list(request.messages)


def left_out(call_id: str) -> ToolMessage:
    """What stands in the place of a result that the provider's filter refused."""
    return ToolMessage(LEFT_OUT, tool_call_id=call_id)


def _newest_result(messages: Sequence[AnyMessage]) -> str:
    """The id of the call whose result came last, of several the longest one's; empty if there is none."""
    groups = [list(group) for is_result, group in groupby(messages, _is_result) if is_result]
    newest = max(groups[-1], key=lambda message: len(message.text)) if groups else None
    return newest.tool_call_id if isinstance(newest, ToolMessage) else ""


def _is_result(message: AnyMessage) -> bool:
    return isinstance(message, ToolMessage)


def _answers(message: AnyMessage, call_id: str) -> bool:
    return isinstance(message, ToolMessage) and message.tool_call_id == call_id


async def _ability(request: Request, context: Context) -> tuple[Ability, Spent | None]:
    needs_tools = bool(request.tools) or any(isinstance(message, ToolMessage) for message in request.messages)
    return await ability_of(request.role, context, may_try=needs_tools)


def _shown(message: AnyMessage) -> AnyMessage:
    """An earlier report without its citations: its numbers are not those of the findings beside it."""
    return message.model_copy(update={"content": read_body(message.text)}) if mark_of(message) == "report" else message


def _spent(role: Role, messages: Sequence[AnyMessage], message: AIMessage, context: Context) -> Spent:
    usage = message.usage_metadata
    if not usage or not usage["input_tokens"]:
        # Some servers do not count, or count nothing; without an estimate a limit on tokens would never be reached.
        spent = Spent(
            role=role,
            input_tokens=count_tokens_approximately(messages),
            output_tokens=count_tokens_approximately([message]),
        )
    else:
        spent = Spent(
            role=role,
            input_tokens=usage["input_tokens"],
            cached_tokens=usage.get("input_token_details", {}).get("cache_read", 0),
            output_tokens=usage["output_tokens"],
        )
    told = message.response_metadata.get("cost")
    return spent.model_copy(update={"usd": cost_of(profile_of(role, context).name, spent, context.prices, told)})

"""Asks a role's model: what it is shown, what is done when it fails, what it cost."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage

from deep_research.evidence.document import read_body
from deep_research.models.abilities import Caller, ability_of, other_ability
from deep_research.models.attempt import stream_answer
from deep_research.models.faults import failed, in_our_words, kind_of
from deep_research.models.memory import Ability
from deep_research.models.patience import forget_patience, patience_of
from deep_research.models.request import Request, output_tokens
from deep_research.models.resolve import is_named, profile_of
from deep_research.models.wordings import Kind
from deep_research.run.calls import is_word_of_ours
from deep_research.run.context import Context
from deep_research.run.conversation import mark_of
from deep_research.run.errors import RateLimited
from deep_research.run.telling import Teller
from deep_research.run.transcripts import WITHHELD, fit, tokens_of

CHARACTERS_PER_TOKEN = 4
MOST_LEFT_OUT = 3
"""Results that are left out of one call, one after the other, while the provider's filter refuses it."""


class Reply(NamedTuple):
    """What a model answered."""

    message: AIMessage
    refused: tuple[str, ...] = ()
    """Ids of the calls whose results the model was not shown, because its provider's filter refused them."""


async def ask_model(request: Request, context: Context, teller: Teller) -> Reply:
    """Call the role's model; `teller` hears thoughts and words as they come, and what it cost, also if it fails.

    A prompt that is too long, a result that the provider's filter refuses, and a server that has no tool calling are
    met. Raises errors of this package where the model's provider is known, and others as they are.
    """
    start = context.clock.seconds()
    teller.is_heard = False
    try:
        return await _ask(request, context, teller)
    finally:
        # A call may break off, or be cut off, in the middle of a thought.
        teller.end()
        teller.seconds += context.clock.seconds() - start


async def _ask(request: Request, context: Context, teller: Teller) -> Reply:
    caller = Caller(request.role, context, patience_of(request.question_id, context.limits), teller)
    needs_tools = bool(request.tools) or any(isinstance(message, ToolMessage) for message in request.messages)
    ability = await ability_of(caller, may_try=needs_tools)
    tools = len(json.dumps(list(request.tools))) // CHARACTERS_PER_TOKEN
    room = profile_of(request.role, context).window - (output_tokens(request, context) or 0) - tools
    messages = fit([_shown(message) for message in request.messages], room, request.shorteners)
    return await _answer(request._replace(messages=messages), ability, caller)


async def _answer(request: Request, ability: Ability, caller: Caller) -> Reply:
    met, refused = list[Kind](), list[str]()
    role, context, _, teller = caller
    while True:
        try:
            message = await stream_answer(request, ability, context, teller)
            return Reply(message, tuple(refused))
        except Exception as error:
            kind, ours = kind_of(error), in_our_words(error, role, profile_of(role, context).name)
            if kind is None or teller.is_heard or not _has_remedy(kind, met, request, context):
                if isinstance(ours, RateLimited):
                    forget_patience(request.question_id)
                if ours is None and not is_named(role, context):
                    raise
                # Without the provider's own words, which may quote the key.
                raise ours or failed(role, error) from None
            met.append(kind)
            if kind == "no_tools":
                ability = await other_ability(caller, ability)
            if kind == "refused":
                refused.append(_newest_result(request.messages))
            request = request._replace(messages=_eased(kind, request))


def _has_remedy(kind: Kind, met: Sequence[Kind], request: Request, context: Context) -> bool:
    """Whether something can be done about a failure that was `met` before or not."""
    if met.count(kind) >= (MOST_LEFT_OUT if kind == "refused" else 1):
        return False
    if kind == "no_tools":
        # Where the user has set how tools are called, the line that names the setting helps more.
        return context.tool_calls == "auto"
    return _eased(kind, request) != list(request.messages)


def _eased(kind: Kind, request: Request) -> list[AnyMessage]:
    """The messages without what a server may have stumbled over."""
    if kind == "long":
        return fit(request.messages, tokens_of(request.messages) // 2, request.shorteners)
    if kind == "refused":
        newest = _newest_result(request.messages)
        return [left_out(newest) if _answers(message, newest) else message for message in request.messages]
    return list(request.messages)


def left_out(call_id: str) -> ToolMessage:
    """What stands in the place of a result that the provider's filter refused."""
    return ToolMessage(WITHHELD, tool_call_id=call_id)


def _newest_result(messages: Sequence[AnyMessage]) -> str:
    """The id of the call whose result from outside came last, of several the longest one's; empty if there is none."""
    groups = [list(filter(_is_from_outside, group)) for _, group in groupby(messages, _is_result)]
    newest = next((group for group in reversed(groups) if group), [])
    longest = max(newest, key=lambda message: len(message.text), default=None)
    return longest.tool_call_id if isinstance(longest, ToolMessage) else ""


def _is_from_outside(message: AnyMessage) -> bool:
    """Whether it is a result that holds what a document, a page or a researcher says."""
    return _is_result(message) and message.text != WITHHELD and not is_word_of_ours(message.text)


def _is_result(message: AnyMessage) -> bool:
    return isinstance(message, ToolMessage)


def _answers(message: AnyMessage, call_id: str) -> bool:
    return isinstance(message, ToolMessage) and message.tool_call_id == call_id


def _shown(message: AnyMessage) -> AnyMessage:
    """An earlier report without its citations: its numbers are not those of the findings beside it."""
    return message.model_copy(update={"content": read_body(message.text)}) if mark_of(message) == "report" else message

"""Asks a role's model: what it is shown, what is done when it fails, what it cost."""

from __future__ import annotations

import json
from typing import NamedTuple

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage

from ..evidence.citations.document import read_body
from ..run.context import Context
from ..run.conversation import NUMBERS, mark_of
from ..run.events.call import CallEvents
from ..run.transcripts import CHARACTERS_PER_TOKEN, fit
from .abilities import Ability, ability_of, other_ability
from .attempt import Remedies, stream_answer
from .caller import Caller
from .faults import failed, in_our_words, kind_of
from .patience import patience_of
from .request import Request, output_tokens
from .resolve import is_named, profile_of


class Reply(NamedTuple):
    """What a model answered."""

    message: AIMessage
    refused: tuple[str, ...] = ()
    """Ids of the calls whose results the model was not shown, because its provider's filter refused them."""
    shortened: int = 0
    """How many results did not fit its window whole."""


async def ask_model(request: Request, context: Context, events: CallEvents) -> Reply:
    """Call the role's model; `events` hears thoughts and words as they come, and what it cost, also if it fails.

    A prompt that is too long, a result that the provider's filter refuses, and a server that has no tool calling are
    met. Raises errors of this package where the model's provider is known, and others as they are.
    """
    start = context.clock.seconds()
    events.has_shown = False
    try:
        return await _ask(request, context, events)
    finally:
        # A call may break off, or be cut off, in the middle of a thought.
        events.end()
        events.bill.seconds += context.clock.seconds() - start


async def _ask(request: Request, context: Context, events: CallEvents) -> Reply:
    caller = Caller(request.role, context, patience_of(request.question_id, context.limits), events)
    needs_tools = bool(request.tools) or any(isinstance(message, ToolMessage) for message in request.messages)
    ability = await ability_of(caller, may_try=needs_tools)
    tools = len(json.dumps(list(request.tools))) // CHARACTERS_PER_TOKEN
    room = profile_of(request.role, context).window - (output_tokens(request, context) or 0) - tools
    shown = [_shown(message) for message in request.messages]
    messages = fit(shown, room, request.shorten)
    reply = await _answer(request._replace(messages=messages), ability, caller)
    shortened = sum(isinstance(one, ToolMessage) and one != other for one, other in zip(shown, messages, strict=True))
    return reply._replace(shortened=shortened)


async def _answer(request: Request, ability: Ability, caller: Caller) -> Reply:
    remedies, role, context = Remedies(request, caller.context), caller.role, caller.context
    while True:
        try:
            message = await stream_answer(remedies.request, ability, caller)
            return Reply(message, remedies.left_out)
        except Exception as error:
            name = profile_of(role, context).name
            kind = kind_of(error)
            ours = in_our_words(error, role, name, has_answered=caller.patience.has_answered(name))
            if kind is None or caller.events.has_shown or not remedies.meet(error, kind):
                if ours is None and not is_named(role, context):
                    raise
                # Without the provider's own words, which may quote the key.
                raise ours or failed(role, error) from None
            if kind == "no_tools":
                ability = await other_ability(caller, ability)
            caller.events.on_restart()


def _shown(message: AnyMessage) -> AnyMessage:
    """An earlier report with its marks, and with the numbers of the findings beside it."""
    if mark_of(message) != "report":
        return message
    numbers = message.additional_kwargs.get(NUMBERS, ())
    return message.model_copy(update={"content": read_body(message.text, numbers)})

"""One answer of a model, from the first try to the whole message."""

from __future__ import annotations

from contextlib import aclosing
from typing import Any

from langchain_core.messages import AIMessage
from langchain_core.runnables import Runnable

from deep_research.models.abilities import remember
from deep_research.models.binding import bind_call
from deep_research.models.caller import Caller
from deep_research.models.ladder import Prepared, prepare, read_reply
from deep_research.models.ladder.thoughts import split
from deep_research.models.memory import Ability
from deep_research.models.narration import Narration
from deep_research.models.request import Request, output_tokens
from deep_research.models.resolve import profile_of, resolve_model
from deep_research.models.timed import Assembly
from deep_research.run.context import Context, Role
from deep_research.run.conversation import clean
from deep_research.run.telling import Teller


async def stream_answer(request: Request, ability: Ability, caller: Caller) -> AIMessage:
    """The whole answer, with its calls as calls and without the thoughts that leaked into it.

    Raises what the model's client raises, `AnswerSilent`, or `ModelFailed`.
    """
    context, teller = caller.context, caller.teller
    prepared = prepare(ability.rung, request.messages, request.tools, request.tool_choice)
    model, may_repeat = _bound(request, prepared, context), bool(request.tools)
    parts = caller.parts(model, prepared.messages, is_long=request.is_long, may_repeat=may_repeat)
    answer, narration = Assembly(), _narration(request, ability, teller)
    async with aclosing(parts):
        async for part, answer in parts:  # noqa: B007 - the last one is the whole answer
            if part is None:
                teller.starts_over()
                narration = _narration(request, ability, teller)
            else:
                narration.feed(part)
    narration.finish_stream()
    message = answer.message(request.role)
    whole = message.text
    if split(whole).began_inside and not ability.begins_inside:
        await remember(request.role, context, ability._replace(begins_inside=True))
    # Calls written as text are looked for in all of it: an argument may quote what looks like a thought.
    text = clean(whole) if request.tools else split(narration.text).text
    message = read_reply(message.model_copy(update={"content": text}), request.tools)
    narration.finish(message)
    return message


def _narration(request: Request, ability: Ability, teller: Teller) -> Narration:
    return Narration(teller, is_prose=not request.tools, begins_inside=ability.begins_inside)


def _bound(request: Request, prepared: Prepared, context: Context) -> Runnable[Any, Any]:
    most, effort = output_tokens(request, context), _effort(request.role, context)
    model = resolve_model(request.role, context)
    return bind_call(model, prepared.tools, request.tool_choice, most, effort, prepared.settings)


def _effort(role: Role, context: Context) -> str:
    if not profile_of(role, context).reasons:
        return ""
    if context.effort == "auto":
        return "low" if role == "researcher" else ""
    return context.effort

"""One answer of a model, from the first try to the whole message."""

from __future__ import annotations

from contextlib import aclosing
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.runnables import Runnable

from ..run.calls import BROKEN, finish_of
from ..run.context import Context, Role
from ..run.conversation import clean
from ..run.telling import Teller
from .abilities import remember
from .binding import bind_call
from .caller import Caller
from .extractive import ExtractiveChatModel
from .faults import cut_short, is_transient, reason_of
from .ladder import Prepared, prepare, read_reply
from .ladder.thoughts import split
from .memory import Ability
from .narration import Narration
from .patience import has_words
from .providers import host_of
from .request import Request, output_tokens
from .resolve import profile_of, resolve_model
from .timed import Assembly


async def stream_answer(request: Request, ability: Ability, caller: Caller) -> AIMessage:
    """The whole answer, with its calls as calls and without the thoughts that leaked into it.

    Of one that breaks off while it is heard, the request may have what came. Raises what the model's client raises,
    `AnswerCut` where that came in the middle of the answer, `AnswerSilent`, or `ModelFailed`.
    """
    context, teller = caller.context, caller.teller
    prepared = prepare(ability.rung, request.messages, request.tools, request.tool_choice)
    model = resolve_model(request.role, context)
    bound = _bound(model, request, prepared, context)
    # A long answer shows by its words that it is still coming.
    streamed = request.is_long or teller.is_watched
    parts = caller.parts(bound, prepared.messages, is_long=request.is_long, is_streamed=streamed)
    answer, narration = Assembly(), _narration(request, ability, teller)
    cut: Exception | None = None
    try:
        async with aclosing(parts):
            async for part, answer in parts:  # noqa: B007 - the last one is the whole answer
                if part is None:
                    teller.starts_over()
                    narration = _narration(request, ability, teller)
                else:
                    narration.feed(part)
    except Exception as error:
        if not is_transient(error) or answer.whole is None or not has_words(answer.whole):
            raise
        cut = cut_short(error, host_of(model))
    message = answer.message(request.role)
    # What breaks behind the end of an answer breaks nothing.
    if cut and not finish_of(message):
        if not (request.keeps_broken and teller.is_heard):
            raise cut
        message = message.model_copy(update={"response_metadata": {**message.response_metadata, **BROKEN}})
        teller.goes_on(reason_of(cut))
    narration.finish_stream()
    whole = message.text
    if split(whole).began_inside and not ability.begins_inside:
        await remember(request.role, context, ability._replace(begins_inside=True))
    # Calls written as text are looked for in all of it: an argument may quote what looks like a thought.
    text = clean(whole) if request.may_call else split(narration.text).text
    message = read_reply(message.model_copy(update={"content": text}), request.tools if request.may_call else ())
    narration.finish(message)
    return message


def _narration(request: Request, ability: Ability, teller: Teller) -> Narration:
    return Narration(teller, is_prose=not request.may_call, begins_inside=ability.begins_inside)


def _bound(model: BaseChatModel, request: Request, prepared: Prepared, context: Context) -> Runnable[Any, Any]:
    most, effort = output_tokens(request, context), _effort(request.role, context)
    settings = (
        {**prepared.settings, "facts": request.facts} if isinstance(model, ExtractiveChatModel) else prepared.settings
    )
    return bind_call(model, prepared.tools, request.tool_choice, most, effort, settings)


def _effort(role: Role, context: Context) -> str:
    if not profile_of(role, context).reasons:
        return ""
    if context.effort == "auto":
        return "low" if role == "researcher" else ""
    return context.effort

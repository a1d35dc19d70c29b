"""One answer of a model, from the first try to the whole message."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AIMessage
from langchain_core.runnables import Runnable

from deep_research.models.abilities import remember
from deep_research.models.binding import bind_call
from deep_research.models.costs import spent_on
from deep_research.models.ladder import Prepared, prepare, read_reply
from deep_research.models.ladder.thoughts import split
from deep_research.models.memory import Ability
from deep_research.models.narration import Narration
from deep_research.models.patience import patience_of
from deep_research.models.request import Request, output_tokens
from deep_research.models.resolve import profile_of, resolve_model
from deep_research.models.timed import Assembly, timed_parts
from deep_research.run.context import Context, Role
from deep_research.run.conversation import clean
from deep_research.run.telling import Teller


async def stream_answer(request: Request, ability: Ability, context: Context, teller: Teller) -> AIMessage:
    """The whole answer, with its calls as calls and without the thoughts that leaked into it.

    What each try has cost is told, also that of one that broke off. Raises what the model's client raises,
    `AnswerSilent`, or `ModelFailed`.
    """
    prepared = prepare(ability.rung, request.messages, request.tools, request.tool_choice)
    model = _bound(request, prepared, context)
    tries = patience_of(request.question_id, context.limits).stream(
        lambda: timed_parts(model, prepared.messages, request.role, context, is_long=request.is_long),
        profile_of(request.role, context).name,
        may_repeat=bool(request.tools),
        on_wait=teller.waits,
    )
    answer, narration = Assembly(), _narration(request, ability, teller)
    try:
        async for part in tries:
            if part is None:
                _tell_cost(answer, request, context, teller)
                teller.starts_over()
                answer, narration = Assembly(), _narration(request, ability, teller)
                continue
            answer.add(part)
            narration.feed(part)
    finally:
        _tell_cost(answer, request, context, teller)
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


def _tell_cost(answer: Assembly, request: Request, context: Context, teller: Teller) -> None:
    if answer.whole is not None:
        teller.spent(spent_on(answer.message(request.role), request.messages, request.role, context))


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

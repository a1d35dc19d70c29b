"""One answer of a model, from the first try to the whole message."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncGenerator
from typing import Any
from weakref import WeakKeyDictionary

from langchain_core.messages import AIMessage, AIMessageChunk, AnyMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.constants import TAG_NOSTREAM

from deep_research.models.abilities import Ability, remember
from deep_research.models.arguments import whole_message
from deep_research.models.faults import AnswerSilent
from deep_research.models.ladder import Prepared, rung_named
from deep_research.models.ladder.thoughts import split
from deep_research.models.narration import Narration
from deep_research.models.patience import Patience
from deep_research.models.request import Request
from deep_research.models.resolve import profile_of, resolve_model
from deep_research.run.context import Context, Role
from deep_research.run.conversation import clean
from deep_research.run.errors import ModelFailed
from deep_research.run.limits import Limits
from deep_research.run.telling import Teller

KEPT = 100
"""Questions whose budget of waiting is kept."""

_Budgets = OrderedDict[str, Patience]
_patience: WeakKeyDictionary[asyncio.AbstractEventLoop, _Budgets] = WeakKeyDictionary()


async def stream_answer(request: Request, ability: Ability, context: Context, teller: Teller) -> AIMessage:
    """The whole answer, with its calls as calls and without the thoughts that leaked into it.

    Raises what the model's client raises, `AnswerSilent`, or `ModelFailed`.
    """
    rung = rung_named(ability.rung)
    prepared = rung.prepare(request.messages, request.tools, request.tool_choice)
    model = _bound(request, prepared, context)
    tries = _patience_of(request.question_id, context.limits).stream(
        lambda: _parts(model, prepared.messages, request, context),
        profile_of(request.role, context).name,
        may_repeat=bool(request.tools),
        on_wait=teller.waits,
    )
    whole: AIMessage | None = None
    narration = Narration(teller, is_prose=not request.tools, begins_inside=ability.begins_inside)
    async for part in tries:
        if part is None:
            whole, narration = None, Narration(teller, is_prose=False, begins_inside=ability.begins_inside)
            continue
        whole = whole + part if isinstance(whole, AIMessageChunk) and isinstance(part, AIMessageChunk) else part
        narration.feed(part)
    narration.finish_stream()
    if whole is None:
        raise ModelFailed(f"The {request.role}'s model broke off without an answer.")
    if split(whole.text).began_inside and not ability.begins_inside:
        await remember(request.role, context, ability._replace(begins_inside=True))
    # Calls written as text are looked for in all of it: an argument may quote what looks like a thought.
    text = clean(whole.text) if request.tools else split(narration.text).text
    message = rung.read(_message(whole, text), request.tools)
    narration.finish(message)
    return message


async def _parts(
    model: Runnable[Any, Any], messages: list[AnyMessage], request: Request, context: Context
) -> AsyncGenerator[AIMessage, None]:
    """One try: ends with an error when the stream falls silent or lasts too long."""
    limits = context.limits
    stream = aiter(model.astream(messages, _config(request.role, context)))
    limit = "report_idle_seconds" if request.is_long else "idle_seconds"
    idle: float = getattr(limits, limit)
    end = asyncio.get_running_loop().time() + limits.call_seconds
    while True:
        left = end - asyncio.get_running_loop().time()
        silence = asyncio.timeout(min(idle, left))
        try:
            async with silence:
                part = await anext(stream)
        except StopAsyncIteration:
            return
        except TimeoutError as error:
            if not silence.expired():
                raise
            if left < idle:
                raise ModelFailed(
                    f"The {request.role}'s model took longer than {limits.call_seconds:g} s for one answer "
                    f"(call_seconds)."
                ) from error
            raise AnswerSilent(idle, limit) from error
        # A model that cannot stream hands over its whole message at once.
        if isinstance(part, AIMessage):
            yield part


def _message(whole: AIMessage, text: str) -> AIMessage:
    if isinstance(whole, AIMessageChunk):
        return whole_message(whole, text)
    return whole.model_copy(update={"content": text})


def _bound(request: Request, prepared: Prepared, context: Context) -> Runnable[Any, Any]:
    model = resolve_model(request.role, context)
    settings = dict(prepared.settings)
    if request.max_tokens is not None:
        # Providers count the thoughts of such a model as output.
        thoughts = context.limits.reasoning_tokens if profile_of(request.role, context).reasons else 0
        settings["max_tokens"] = request.max_tokens + thoughts
    if effort := _effort(request.role, context):
        settings["reasoning_effort"] = effort
    if prepared.tools:
        return model.bind_tools(prepared.tools, tool_choice=request.tool_choice, **settings)
    return model.bind(**settings)


def _effort(role: Role, context: Context) -> str:
    if not profile_of(role, context).reasons:
        return ""
    if context.effort == "auto":
        return "low" if role == "researcher" else ""
    return context.effort


def _config(role: Role, context: Context) -> RunnableConfig:
    who = {"user_id": context.user, "session_id": context.session}
    return {
        "tags": [TAG_NOSTREAM, role],
        "metadata": {"role": role, **{name: value for name, value in who.items() if value}},
    }


def _patience_of(question_id: str, limits: Limits) -> Patience:
    """The budget of a question; one for all its calls, in whichever node."""
    budgets = _patience.setdefault(asyncio.get_running_loop(), OrderedDict())
    if question_id not in budgets:
        budgets[question_id] = Patience(limits)
        while len(budgets) > KEPT:
            budgets.popitem(last=False)
    return budgets[question_id]

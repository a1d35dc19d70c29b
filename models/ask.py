"""One call of a role's model: streamed, timed, counted."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, NamedTuple

from langchain_core.messages import AIMessage, AIMessageChunk, AnyMessage
from langchain_core.messages.utils import count_tokens_approximately
from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.constants import TAG_NOSTREAM

from deep_research.evidence.document import read_body
from deep_research.models.arguments import whole_message
from deep_research.models.resolve import profile_of, resolve_model
from deep_research.run.context import Context, Role
from deep_research.run.conversation import mark_of
from deep_research.run.errors import ModelFailed
from deep_research.state import Spent


class Reply(NamedTuple):
    """What a model answered and what it cost."""

    message: AIMessage
    seconds: float
    spent: dict[str, Spent]


class Request(NamedTuple):
    """What a model is asked."""

    role: Role
    messages: Sequence[AnyMessage]
    tools: Sequence[dict[str, Any]] = ()
    """Tool schemas; without any, the call carries no tool setting at all."""
    tool_choice: str = "any"
    """`any`: a tool has to be called; `auto`: the model may answer in words."""
    max_tokens: int | None = None
    """Output tokens."""
    is_long: bool = False
    """Whether the answer is a finding or a report, which may take its time."""


async def ask_model(request: Request, context: Context, on_text: Callable[[str], None] | None = None) -> Reply:
    """Call the role's model once; `on_text` receives the words as they come."""
    start = context.clock.seconds()
    whole: AIMessage | None = None
    async for part in _parts(request, context):
        whole = whole + part if isinstance(whole, AIMessageChunk) and isinstance(part, AIMessageChunk) else part
        if on_text and part.text:
            on_text(part.text)
    if whole is None:
        raise ModelFailed(f"The {request.role}'s model broke off without an answer.")
    message = whole_message(whole) if isinstance(whole, AIMessageChunk) else whole
    return Reply(
        message, context.clock.seconds() - start, {uuid.uuid4().hex: _spent(request.role, request.messages, message)}
    )


async def _parts(request: Request, context: Context) -> AsyncIterator[AIMessage]:
    messages = [_shown(message) for message in request.messages]
    stream = _bound(request, context).astream(messages, _config(request.role, context))
    iterator = aiter(stream)
    limit = "report_idle_seconds" if request.is_long else "idle_seconds"
    seconds: float = getattr(context.limits, limit)
    while True:
        silence = asyncio.timeout(seconds)
        try:
            async with silence:
                part = await anext(iterator)
        except StopAsyncIteration:
            return
        except TimeoutError as error:
            if not silence.expired():
                raise
            raise ModelFailed(f"The {request.role}'s model was silent for {seconds:g} s ({limit}).") from error
        # A model that cannot stream hands over its whole message at once.
        if isinstance(part, AIMessage):
            yield part


def _shown(message: AnyMessage) -> AnyMessage:
    """An earlier report without its citations: its numbers are not those of the findings beside it."""
    return message.model_copy(update={"content": read_body(message.text)}) if mark_of(message) == "report" else message


def _bound(request: Request, context: Context) -> Runnable[Any, Any]:
    model = resolve_model(request.role, context)
    settings: dict[str, Any] = {}
    if request.max_tokens is not None:
        settings["max_tokens"] = request.max_tokens
    effort = _effort(request.role, context)
    if effort:
        settings["reasoning_effort"] = effort
    if request.tools:
        return model.bind_tools(list(request.tools), tool_choice=request.tool_choice, **settings)
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


def _spent(role: Role, messages: Sequence[AnyMessage], message: AIMessage) -> Spent:
    usage = message.usage_metadata
    if usage is None:
        # Some servers do not count; without an estimate a limit on tokens would never be reached.
        return Spent(
            role=role,
            input_tokens=count_tokens_approximately(messages),
            output_tokens=count_tokens_approximately([message]),
        )
    return Spent(
        role=role,
        input_tokens=usage["input_tokens"],
        cached_tokens=usage.get("input_token_details", {}).get("cache_read", 0),
        output_tokens=usage["output_tokens"],
    )

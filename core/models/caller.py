"""Makes one model call: binds settings, enforces timeouts, retries, and reports the cost."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from functools import partial
from typing import Any, NamedTuple, cast
from urllib.parse import urlsplit

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, AnyMessage
from langchain_core.messages.utils import count_tokens_approximately
from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.constants import TAG_NOSTREAM

from ...prompts import with_equal_fences
from ..evidence.text.continuation import SHORTEST_LOOP, loop_start
from ..records.research import Spent
from ..run.context import Context, Role
from ..run.errors import ModelFailed
from ..run.events.call import CallEvents
from ..run.network import is_loopback
from ..run.store.pages import text_hash
from ..run.tracing import untraced
from ..run.transcripts import message_from_chunks
from .deltas import counts
from .faults import AnswerSilent, ToolsUnbound
from .ladder.reply import reasoning_of
from .resolve import EXTRACTIVE, cost_of, is_extractive, model_host, profile_of, resolve_model
from .retries import RetryBudget, has_words

logger = logging.getLogger(__name__)

# Class names instead of classes: other providers' packages may be missing, and all are slow to import.
_TAKE_ALL = frozenset({"ChatOpenAI", "AzureChatOpenAI"})
"""Names of classes that accept every setting; others get only the settings they are known to accept."""
_FORCED_WITHOUT_EFFORT = "ChatAnthropic"
"""Name of the class whose server rejects a reasoning effort together with a forced tool call."""
_FIRST_SECONDS, _FIRST_SECONDS_HERE = 60.0, 600.0
"""Seconds to wait for the first word of an answer: in general, and from a server on this machine (may be slow)."""
CHARACTERS_A_TOKEN = 16
"""Upper bound of characters per token in any language; a server that sends more ignores the call's token limit."""
_BATCH = 64
"""Number of parts to join at a time, because each join copies the whole answer."""
_SLICE_SECONDS = 0.02
"""Seconds of uninterrupted reading before yielding to other tasks."""


def spent_on(message: AIMessage, messages: Sequence[AnyMessage], role: Role, context: Context) -> Spent | None:
    """Return an answer's tokens and cost (estimated if the server reports none); None for the extractive model."""
    name = profile_of(role, context).name
    if name == EXTRACTIVE:
        return None
    usage, cached = counts(message.usage_metadata), 0
    if usage.get("input_tokens"):
        read, written = usage["input_tokens"], usage["output_tokens"]
        cached = usage.get("input_token_details", {}).get("cache_read", 0)
    else:
        # On servers that report no counts, a token limit would otherwise never be reached.
        read, written = count_tokens_approximately(messages), count_tokens_approximately([message])
    spent = Spent(role=role, input_tokens=read, cached_tokens=cached, output_tokens=written)
    reported = message.response_metadata.get("cost")
    return spent.model_copy(update={"usd": cost_of(name, spent, context.prices, reported)})


def bind_call(
    model: BaseChatModel,
    tools: Sequence[dict[str, Any]],
    tool_choice: str,
    max_tokens: int | None,
    effort: str,
    settings: Mapping[str, Any],
) -> Runnable[Any, Any]:
    """Return the model bound for one call; `settings` are bound unchanged.

    `tool_choice` is `any`, `auto` or `none`. For other providers' models, `any` becomes `auto` if the profile does not
    support it, and `none` binds no tools. Raises `ToolsUnbound` if the class cannot bind tools.
    """
    classes = {cls.__name__ for cls in type(model).__mro__}
    takes_all = not _TAKE_ALL.isdisjoint(classes)
    if not takes_all:
        tools = () if tool_choice == "none" else tools
        tool_choice = "auto" if (model.profile or {}).get("tool_choice") is False else tool_choice
    bound = dict(settings)
    if max_tokens is not None and "num_predict" in type(model).model_fields:
        # Ollama's client does not accept the limit per call.
        model = model.model_copy(update={"num_predict": max_tokens})
    elif max_tokens is not None:
        # Google's classes call it differently.
        has_own_name = "max_output_tokens" in type(model).model_fields
        bound["max_output_tokens" if has_own_name else "max_tokens"] = max_tokens
    levels: Any = (model.profile or {}).get("reasoning_effort_levels") or ()
    is_barred = bool(tools) and tool_choice == "any" and _FORCED_WITHOUT_EFFORT in classes
    takes_effort = "reasoning_effort" in type(model).model_fields and effort in levels and not is_barred
    if effort and (takes_all or takes_effort):
        bound["reasoning_effort"] = effort
    if not tools:
        return model.bind(**bound)
    try:
        return model.bind_tools(tools, tool_choice=tool_choice, **bound)
    except NotImplementedError as error:
        raise ToolsUnbound from error


def _cut(part: AIMessage, characters: int, reason: str = "length") -> AIMessage:
    """Return the last part of an answer, cut to this many characters, with this finish reason."""
    ended = {**part.response_metadata, "finish_reason": reason}
    whole = {"content": part.text[:characters], "additional_kwargs": {}, "response_metadata": ended}
    return part.model_copy(update={**whole, "tool_calls": [], "invalid_tool_calls": [], "tool_call_chunks": []})


class Assembly:
    """Joins the parts of an answer into one message."""

    def __init__(self) -> None:
        self._parts: list[AIMessage] = []

    @property
    def whole(self) -> AIMessage | None:
        """The answer so far; None before the first part."""
        if len(self._parts) > 1:
            self._parts = [self._parts[0] + self._parts[1:]]  # type: ignore[list-item]  # all are chunks
        return self._parts[0] if self._parts else None

    def add(self, part: AIMessage) -> None:
        """Add the next part."""
        can_be_added = self._parts and isinstance(self._parts[0], AIMessageChunk) and isinstance(part, AIMessageChunk)
        self._parts = [*self._parts, part] if can_be_added else [part]
        if len(self._parts) > _BATCH:
            self._parts = [self.whole or part]

    def message(self, role: Role) -> AIMessage:
        """Return the whole message; raises `ModelFailed` if nothing arrived."""
        if (whole := self.whole) is None:
            raise ModelFailed(f"The {role}'s model broke off without an answer.")
        return message_from_chunks(whole, whole.text) if isinstance(whole, AIMessageChunk) else whole


pending_calls = dict[object, str]()
"""Descriptions of the model calls in progress in this process, for the progress display."""


class Caller(NamedTuple):
    """Makes the model calls for a role."""

    role: Role
    context: Context
    retries: RetryBudget
    events: CallEvents

    async def parts(
        self,
        model: Runnable[Any, Any],
        messages: Sequence[AnyMessage],
        *,
        is_long: bool = False,
        is_streamed: bool = False,
        most_tokens: int | None = None,
    ) -> AsyncGenerator[tuple[AIMessage | None, Assembly], None]:
        """Yield each part with the answer so far; a None part means: discard everything before it.

        Every try's cost is reported, even if it broke off; such a try is retried unless its words were already shown.
        If the calling node was stopped after the answer arrived, the stored answer is replayed at no cost. Options and
        errors are those of `_timed_parts` and `RetryBudget.stream`.
        """
        answer, key = Assembly(), ""
        answers = None if is_extractive(self.role, self.context) else self.events.bill.answers
        call_key = self._call_key(messages) if answers else ""
        if answers and (earlier := await answers.earlier(call_key)):
            answer.add(earlier.message)
            if spent := spent_on(earlier.message, messages, self.role, self.context):
                self.events.bill.add(spent, earlier.key)
            yield earlier.message, answer
            return
        name = profile_of(self.role, self.context).name
        start = partial(
            self._timed_parts, model, messages, is_long=is_long, is_streamed=is_streamed, most_tokens=most_tokens
        )
        tries = self.retries.stream(
            # Calls outside a run, such as those of `refresh`, are not traced.
            start if self.context.tracing else lambda: untraced(start()),
            name,
            may_repeat=lambda: not self.events.has_shown,
            on_wait=self.events.on_delay,
        )
        if name != EXTRACTIVE:
            placement = self.events.placement
            number = "" if placement.sub_turn_index is None else f" {placement.tab_index + 1}"
            pending_calls[tries] = f"{count_tokens_approximately(messages)} tokens ({self.role}{number})"
        try:
            async with aclosing(tries):
                async for part in tries:
                    if part is None:
                        self._report_cost(answer, messages)
                        answer = Assembly()
                    else:
                        answer.add(part)
                    yield part, answer
            if answers and answer.whole is not None:
                key = await answers.keep(call_key, answer.message(self.role))
        finally:
            pending_calls.pop(tries, None)
            self._report_cost(answer, messages, key)

    async def _timed_parts(
        self,
        model: Runnable[Any, Any],
        messages: Sequence[AnyMessage],
        *,
        is_long: bool,
        is_streamed: bool,
        most_tokens: int | None,
    ) -> AsyncGenerator[AIMessage, None]:
        """Yield the parts of one try, or a single part if not streamed (cheaper).

        The idle timeout is `idle_seconds`, or `report_idle_seconds` for `is_long` and unstreamed answers; until the
        first word it is at least `first_token_seconds`. Every part restarts it. An answer far longer than `most_tokens`
        is cut. Raises `AnswerSilent` on an idle timeout, `ModelFailed` when the call exceeds `call_seconds`.
        """
        role, limits, loop = self.role, self.context.limits, asyncio.get_running_loop()
        who = {"role": role, "user_id": self.context.user, "session_id": self.context.session}
        # For tracers; `TAG_NOSTREAM`, since `ReportEvents` feeds LangGraph's `messages` mode.
        metadata = {name: value for name, value in who.items() if value}
        config = RunnableConfig(tags=[role, TAG_NOSTREAM], metadata=metadata)

        async def whole() -> AsyncGenerator[Any, None]:
            yield await model.ainvoke(list(messages), config)

        stream = cast(AsyncGenerator[Any, None], model.astream(list(messages), config) if is_streamed else whole())
        most = left_characters = CHARACTERS_A_TOKEN * (most_tokens or limits.report_tokens + limits.reasoning_tokens)
        limit = "report_idle_seconds" if is_long or not is_streamed else "idle_seconds"
        usual: float = getattr(limits, limit)
        host = urlsplit(f"//{model_host(resolve_model(role, self.context))}").hostname or ""
        idle = max(usual, limits.first_token_seconds or (_FIRST_SECONDS_HERE if is_loopback(host) else _FIRST_SECONDS))
        paused, tail = loop.time(), ""
        end = paused + limits.call_seconds
        while True:
            left = end - loop.time()
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
                    limited = f"{limits.call_seconds:g} s for one answer (call_seconds)"
                    raise ModelFailed(f"The {role}'s model took longer than {limited}.") from error
                raise AnswerSilent(idle, limit if idle == usual else "first_token_seconds") from error
            # Buffered parts arrive at once: yield so that other tasks can run.
            if loop.time() - paused > _SLICE_SECONDS:
                await asyncio.sleep(0)
                paused = loop.time()
            # A model that cannot stream yields its whole message.
            if isinstance(part, AIMessage):
                idle = usual if has_words(part) else idle
                chunks = part.tool_call_chunks if isinstance(part, AIMessageChunk) else part.tool_calls
                arguments = sum(len(str(chunk.get("args") or "")) for chunk in chunks)
                # Even an empty part takes time.
                left_characters -= max(4, len(part.text) + len(reasoning_of(part)) + arguments)
                tail = (tail + part.text)[-SHORTEST_LOOP:]
                cut, last = "", part
                if left_characters < 0:
                    cut = f"cut at {most} characters: it exceeds its limit"
                    last = _cut(part, max(0, len(part.text) + left_characters))
                elif loop_start(tail) is not None:
                    cut, last = "stopped: it repeats itself endlessly", _cut(part, len(part.text), "stop")
                if cut:
                    logger.warning("An answer of the %s's model was %s", role, cut)
                    await stream.aclose()
                    yield last
                    return
                yield part

    async def message(self, model: Runnable[Any, Any], messages: Sequence[AnyMessage]) -> AIMessage:
        """Make a call without streaming and return the whole answer."""
        answer = Assembly()
        parts = self.parts(model, messages)
        async with aclosing(parts):
            async for _, answer in parts:  # noqa: B007 - the last one is the whole answer
                pass
        return answer.message(self.role)

    def _report_cost(self, answer: Assembly, messages: Sequence[AnyMessage], key: str = "") -> None:
        if answer.whole is None:
            return
        if spent := spent_on(answer.message(self.role), messages, self.role, self.context):
            self.events.on_spent(spent, key)

    def _call_key(self, messages: Sequence[AnyMessage]) -> str:
        said = [
            (message.type, message.content, getattr(message, "tool_calls", ""), getattr(message, "tool_call_id", ""))
            for message in messages
        ]
        words = json.dumps([self.role, profile_of(self.role, self.context).name, said], default=str)
        return text_hash(with_equal_fences(words))

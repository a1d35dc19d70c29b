"""Makes one model call: binds its settings, enforces timeouts, retries, and reports the cost."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Any, NamedTuple, cast
from urllib.parse import urlsplit

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, AnyMessage
from langchain_core.messages.utils import count_tokens_approximately
from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.constants import TAG_NOSTREAM

from ...prompts import with_equal_fences
from ..errors import ModelFailed
from ..events.call import CallEvents
from ..events.tracing import untraced
from ..evidence.text.continuation import SHORTEST_LOOP, loop_start
from ..records.research import Spent
from ..records.sources import text_hash
from ..settings.context import Context, Role
from ..settings.network import is_loopback
from ._chunks import message_from_chunks
from .deltas import plausible_counts
from .faults import AnswerSilent, ToolsUnbound
from .ladder.reply import reasoning_of
from .resolve import (
    EXTRACTIVE,
    REASONING_TOKENS,
    cost_of,
    is_extractive,
    model_host,
    profile_of,
    resolve_model,
)
from .retries import RetryBudget, has_content

logger = logging.getLogger(__name__)

# Class names instead of classes, whose packages may not be installed and are slow to import.
_TAKE_ALL = frozenset({"ChatOpenAI", "AzureChatOpenAI"})
"""Classes that accept every setting; others get only the settings that they are known to accept."""
_FORCED_WITHOUT_EFFORT = "ChatAnthropic"
"""Class whose server rejects a reasoning effort together with a forced tool call."""
_FIRST_TOKEN_SECONDS = 60.0
"""Default time limit for the first word of an answer."""
_LOCAL_FIRST_TOKEN_SECONDS = 600.0
"""The same for a server on this machine, which may first have to load the model."""
MOST_CHARACTERS_PER_TOKEN = 16
"""Upper bound in any language: a server that sends more characters ignores the call's output
limit."""
_BATCH = 64
"""Number of parts to collect before joining them, because each join copies the whole answer."""
_SLICE_SECONDS = 0.02
"""Time after which a task that reads an answer without waiting lets other tasks run."""


def spent_on(
    message: AIMessage, messages: Sequence[AnyMessage], role: Role, context: Context
) -> Spent | None:
    """Return what an answer cost, None for the extractive model; tokens are estimated if the server
    reports none."""
    name = profile_of(role, context).name
    if name == EXTRACTIVE:
        return None
    usage = plausible_counts(message.usage_metadata)
    if usage.get("input_tokens"):
        spent = Spent(
            role=role,
            input_tokens=usage["input_tokens"],
            cached_tokens=usage.get("input_token_details", {}).get("cache_read", 0),
            output_tokens=usage["output_tokens"],
        )
    else:
        # Otherwise, the run's token limit would never be reached.
        spent = Spent(
            role=role,
            input_tokens=count_tokens_approximately(messages),
            cached_tokens=0,
            output_tokens=count_tokens_approximately([message]),
        )
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
    """Return the model with tools, output limit, reasoning effort and `settings` bound for one
    call.

    `tool_choice` is `any`, `auto` or `none`. For other providers' models, `any` becomes `auto` if
    the profile does not support it, and `none` binds no tools. Raises `ToolsUnbound` if the class
    cannot bind tools.
    """
    classes = {cls.__name__ for cls in type(model).__mro__}
    fields = type(model).model_fields
    profile: Mapping[str, Any] = model.profile or {}
    takes_all = not _TAKE_ALL.isdisjoint(classes)
    if not takes_all:
        if tool_choice == "none":
            tools = ()
        if profile.get("tool_choice") is False:
            tool_choice = "auto"
    bound = dict(settings)
    if max_tokens is not None and "num_predict" in fields:
        # Ollama's class accepts the limit only as a field.
        model = model.model_copy(update={"num_predict": max_tokens})
    elif max_tokens is not None and "max_output_tokens" in fields:
        # Google's classes name the limit differently.
        bound["max_output_tokens"] = max_tokens
    elif max_tokens is not None:
        bound["max_tokens"] = max_tokens
    levels = profile.get("reasoning_effort_levels") or ()
    is_barred = bool(tools) and tool_choice == "any" and _FORCED_WITHOUT_EFFORT in classes
    takes_effort = "reasoning_effort" in fields and effort in levels and not is_barred
    if effort and (takes_all or takes_effort):
        bound["reasoning_effort"] = effort
    if not tools:
        return model.bind(**bound)
    try:
        return model.bind_tools(tools, tool_choice=tool_choice, **bound)
    except NotImplementedError as error:
        raise ToolsUnbound from error


def _cut(part: AIMessage, characters: int, reason: str = "length") -> AIMessage:
    """Return `part` as the last one of an answer: with at most so many characters, this finish
    reason, and no calls."""
    return part.model_copy(
        update={
            "content": part.text[:characters],
            "response_metadata": {**part.response_metadata, "finish_reason": reason},
            "additional_kwargs": {},
            "tool_calls": [],
            "invalid_tool_calls": [],
            "tool_call_chunks": [],
        }
    )


async def _without_excess(
    parts: AsyncGenerator[AIMessage, None], most: int, role: Role
) -> AsyncGenerator[AIMessage, None]:
    """Yield the parts of an answer; end it where it exceeds `most` characters or repeats itself
    endlessly."""
    left = most
    tail = ""
    async with aclosing(parts):
        async for part in parts:
            # Empty parts count too, or they could go on for ever.
            left -= max(4, _characters(part))
            tail = (tail + part.text)[-SHORTEST_LOOP:]
            if left < 0:
                reason = f"cut at {most} characters: it exceeds its limit"
                last = _cut(part, max(0, len(part.text) + left))
            elif loop_start(tail) is not None:
                reason = "stopped: it repeats itself endlessly"
                last = _cut(part, len(part.text), "stop")
            else:
                yield part
                continue
            logger.warning("An answer of the %s's model was %s", role, reason)
            await parts.aclose()
            yield last
            return


def _characters(part: AIMessage) -> int:
    """Return the length of the text, the thought and the calls in a part of an answer."""
    calls: Sequence[Mapping[str, Any]] = part.tool_calls
    if isinstance(part, AIMessageChunk):
        calls = part.tool_call_chunks
    arguments = sum(len(str(call.get("args") or "")) for call in calls)
    return len(part.text) + len(reasoning_of(part)) + arguments


class Assembly:
    """The parts of an answer that arrived so far, joined into one message."""

    def __init__(self) -> None:
        self._parts: list[AIMessage] = []

    @property
    def whole(self) -> AIMessage | None:
        """The answer so far; None before the first part."""
        if len(self._parts) > 1:
            self._parts = [self._parts[0] + self._parts[1:]]  # type: ignore[list-item]  # all are chunks
        return self._parts[0] if self._parts else None

    def add(self, part: AIMessage) -> None:
        """Add the next part; a message that is no chunk replaces all earlier parts."""
        first = self._parts[0] if self._parts else None
        if isinstance(first, AIMessageChunk) and isinstance(part, AIMessageChunk):
            self._parts = [*self._parts, part]
        else:
            self._parts = [part]
        if len(self._parts) > _BATCH:
            self._parts = [self.whole or part]

    def message(self, role: Role) -> AIMessage:
        """Return the joined message; raises `ModelFailed` if nothing arrived."""
        whole = self.whole
        if whole is None:
            raise ModelFailed(f"The {role}'s model broke off without an answer.")
        if isinstance(whole, AIMessageChunk):
            return message_from_chunks(whole, whole.text)
        return whole


pending_calls = dict[object, str]()
"""Descriptions of the model calls in progress in this process, for the progress display; one key a
call."""


class Caller(NamedTuple):
    """Makes model calls for a role of a run."""

    role: Role
    context: Context
    retries: RetryBudget
    """The retry budget that the run's calls share."""
    events: CallEvents
    """Where costs and waits are reported."""

    async def parts(
        self,
        model: Runnable[Any, Any],
        messages: Sequence[AnyMessage],
        *,
        is_long: bool = False,
        is_streamed: bool = False,
        most_tokens: int | None = None,
    ) -> AsyncGenerator[tuple[AIMessage | None, Assembly], None]:
        """Make a call; yield each part of the answer together with the answer so far.

        A part of None means that the answer broke off and begins again, so all earlier parts are
        void; this happens only if none of their text was shown. The cost of each try is reported.
        If an earlier execution of the calling node was stopped after it had received this answer,
        the stored answer is returned at no further cost. For the options and errors, see
        `_timed_parts` and `RetryBudget.stream`. An answer that is much longer than `most_tokens`,
        or repeats itself endlessly, is cut.
        """
        answer = Assembly()
        answers = self.events.bill.answers
        if is_extractive(self.role, self.context):
            answers = None
        call_key = ""
        if answers:
            call_key = self._call_key(messages)
            earlier = await answers.earlier(call_key)
            if earlier:
                answer.add(earlier.message)
                spent = spent_on(earlier.message, messages, self.role, self.context)
                if spent:
                    self.events.bill.add(spent, earlier.key)
                yield earlier.message, answer
                return
        name = profile_of(self.role, self.context).name
        limits = self.context.limits
        most = MOST_CHARACTERS_PER_TOKEN * (most_tokens or limits.report_tokens + REASONING_TOKENS)

        def start() -> AsyncGenerator[AIMessage, None]:
            timed = self._timed_parts(model, messages, is_long=is_long, is_streamed=is_streamed)
            parts = _without_excess(timed, most, self.role)
            # Calls outside a run, such as those of `refresh`, are not traced.
            return parts if self.context.tracing else untraced(parts)

        tries = self.retries.stream(
            start, name, may_repeat=lambda: not self.events.has_shown, on_wait=self.events.on_delay
        )
        if name != EXTRACTIVE:
            placement = self.events.placement
            caller = str(self.role)
            if placement.sub_turn_index is not None:
                caller = f"{caller} {placement.tab_index + 1}"
            tokens = count_tokens_approximately(messages)
            pending_calls[tries] = f"{tokens} tokens ({caller})"
        key = ""
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
    ) -> AsyncGenerator[AIMessage, None]:
        """Make one try; yield the parts of its answer (a single one unless `is_streamed`).

        The idle timeout is `idle_seconds`, or `report_idle_seconds` for `is_long` and unstreamed
        answers; until the first word it is at least `first_token_seconds`. Every part restarts it.
        Raises `AnswerSilent` on an idle timeout, `ModelFailed` if the call exceeds `call_seconds`.
        """
        role, limits = self.role, self.context.limits
        loop = asyncio.get_running_loop()
        # The metadata is for tracers. `TAG_NOSTREAM`, because `ReportEvents` feeds LangGraph's
        # `messages` mode.
        known = {"role": role, "user_id": self.context.user, "session_id": self.context.session}
        metadata = {name: value for name, value in known.items() if value}
        config = RunnableConfig(tags=[role, TAG_NOSTREAM], metadata=metadata)

        async def whole() -> AsyncGenerator[Any, None]:
            yield await model.ainvoke(list(messages), config)

        stream = cast(
            AsyncGenerator[Any, None],
            model.astream(list(messages), config) if is_streamed else whole(),
        )
        limit = "report_idle_seconds" if is_long or not is_streamed else "idle_seconds"
        usual: float = getattr(limits, limit)
        host = urlsplit(f"//{model_host(resolve_model(role, self.context))}").hostname or ""
        first_word = _LOCAL_FIRST_TOKEN_SECONDS if is_loopback(host) else _FIRST_TOKEN_SECONDS
        idle = max(usual, limits.first_token_seconds or first_word)
        paused = loop.time()
        end = paused + limits.call_seconds
        async with aclosing(stream):
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
                        raise ModelFailed(
                            f"The {role}'s model took longer than {limited}."
                        ) from error
                    raise AnswerSilent(
                        idle, limit if idle == usual else "first_token_seconds"
                    ) from error
                # Buffered parts arrive without waiting, so other tasks would not run.
                if loop.time() - paused > _SLICE_SECONDS:
                    await asyncio.sleep(0)
                    paused = loop.time()
                # A model that cannot stream yields an `AIMessage` instead of chunks.
                if isinstance(part, AIMessage):
                    if has_content(part):
                        idle = usual
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
        spent = spent_on(answer.message(self.role), messages, self.role, self.context)
        if spent:
            self.events.on_spent(spent, key)

    def _call_key(self, messages: Sequence[AnyMessage]) -> str:
        """Return a hash of role, model and prompt, under which the answer is stored."""
        prompt: list[tuple[Any, ...]] = []
        for message in messages:
            calls = getattr(message, "tool_calls", "")
            answered = getattr(message, "tool_call_id", "")
            prompt.append((message.type, message.content, calls, answered))
        name = profile_of(self.role, self.context).name
        return text_hash(with_equal_fences(json.dumps([self.role, name, prompt], default=str)))

"""Makes one call of a model: binds its settings, watches for silence, repeats it, and reports what it cost."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from functools import partial
from typing import Any, NamedTuple, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, AnyMessage
from langchain_core.messages.utils import count_tokens_approximately
from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.constants import TAG_NOSTREAM

from ...prompts import with_equal_fences
from ..evidence.text.repetition import LOOP, loop_start
from ..records.research import Spent
from ..run.context import Context, Role
from ..run.errors import ModelFailed
from ..run.events.call import CallEvents
from ..run.limits import Limits
from ..run.store.pages import text_hash
from ..run.tracing import untraced
from ..run.transcripts import whole_message
from .deltas import counts
from .faults import AnswerSilent, ToolsUnbound
from .ladder.reply import reasoning_of
from .resolve import EXTRACTIVE, cost_of, is_extractive, is_on_this_machine, profile_of, resolve_model
from .retries import RetryBudget, has_words

logger = logging.getLogger(__name__)

# Names instead of classes: the packages of other providers may not be installed, and all are slow to load.
TAKE_ALL = frozenset({"ChatOpenAI", "AzureChatOpenAI"})
"""Classes that take each call as it is meant; of others only those settings are used that they are known to take."""
FORCED_WITHOUT_EFFORT = "ChatAnthropic"
"""The class in which an effort turns on thoughts, beside which its server takes no forced call."""
FIRST_SECONDS, FIRST_SECONDS_HERE = 60.0, 600.0
"""Seconds until the first word of an answer, and those for a server on this machine, which may be slow."""
CHARACTERS_A_TOKEN = 16
"""More characters than a token has in any language: who sends more of them does not keep the limit of the call."""
BATCH = 64
"""Parts of an answer that are joined at a time: joining takes as long as the whole answer is long."""
SLICE_SECONDS = 0.02
"""How long the parts of an answer may be taken one after the other before others have their turn."""


def spent_on(message: AIMessage, messages: Sequence[AnyMessage], role: Role, context: Context) -> Spent | None:
    """Return tokens and money of an answer, also of one that broke off; estimated where the server does not count.

    None for the extractive model: it costs nothing but time.
    """
    name = profile_of(role, context).name
    if name == EXTRACTIVE:
        return None
    usage = counts(message.usage_metadata)
    if not usage.get("input_tokens"):
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
    """Return the model for one call, with tools, a limit on its output and an effort where there are any.

    `tool_choice` is `any`, `auto` or `none`; another provider's model whose profile rules out the first gets the
    second, and to no such model tools are bound that may not be called.
    `settings` are bound as they are. Raises `ToolsUnbound` for tools where the class has no place for them.
    """
    takes_all = not TAKE_ALL.isdisjoint(_names(model))
    if not takes_all:
        tools = () if tool_choice == "none" else tools
        tool_choice = "auto" if (model.profile or {}).get("tool_choice") is False else tool_choice
    bound = dict(settings)
    if max_tokens is not None and "num_predict" in type(model).model_fields:
        # Ollama's client refuses a call that brings the limit along.
        model = model.model_copy(update={"num_predict": max_tokens})
    elif max_tokens is not None:
        # Google's classes do not know the common name.
        has_own_name = "max_output_tokens" in type(model).model_fields
        bound["max_output_tokens" if has_own_name else "max_tokens"] = max_tokens
    is_forced = bool(tools) and tool_choice == "any"
    if effort and (takes_all or _takes_effort(model, effort, is_forced=is_forced)):
        bound["reasoning_effort"] = effort
    if not tools:
        return model.bind(**bound)
    try:
        return model.bind_tools(tools, tool_choice=tool_choice, **bound)
    except NotImplementedError as error:
        raise ToolsUnbound from error


def _takes_effort(model: BaseChatModel, effort: str, *, is_forced: bool) -> bool:
    if is_forced and FORCED_WITHOUT_EFFORT in _names(model):
        return False
    levels: Any = (model.profile or {}).get("reasoning_effort_levels") or ()
    return "reasoning_effort" in type(model).model_fields and effort in levels


def _names(model: BaseChatModel) -> set[str]:
    return {cls.__name__ for cls in type(model).__mro__}


async def timed_parts(
    model: Runnable[Any, Any],
    messages: Sequence[AnyMessage],
    role: Role,
    config: RunnableConfig,
    limits: Limits,
    *,
    most_tokens: int | None = None,
    first_seconds: float = FIRST_SECONDS,
    is_long: bool,
    is_streamed: bool,
) -> AsyncGenerator[AIMessage, None]:
    """Yield the parts of one try; a single one if it is not streamed, which takes a fraction of the work.

    `is_long` allows the longer silence of findings and reports, and so does an answer that comes whole. Until its first
    word, an answer has `first_seconds`, if that is more; each sign of life of the server begins the wait anew.
    An answer that is far longer than `most_tokens` allow is cut.
    Raises `AnswerSilent` when the stream falls silent, `ModelFailed` when it lasts longer than `call_seconds`.
    """
    loop = asyncio.get_running_loop()
    made = model.astream(list(messages), config) if is_streamed else _whole(model, messages, config)
    stream = cast(AsyncGenerator[Any, None], made)
    most = left_characters = CHARACTERS_A_TOKEN * (most_tokens or limits.report_tokens + limits.reasoning_tokens)
    limit = "report_idle_seconds" if is_long or not is_streamed else "idle_seconds"
    usual: float = getattr(limits, limit)
    idle = max(usual, first_seconds)
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
        # Parts that wait to be read come without a pause, in which others could work.
        if loop.time() - paused > SLICE_SECONDS:
            await asyncio.sleep(0)
            paused = loop.time()
        # A model that cannot stream hands over its whole message at once.
        if isinstance(part, AIMessage):
            idle = usual if has_words(part) else idle
            left_characters -= _characters(part)
            tail = (tail + part.text)[-LOOP:]
            if left_characters < 0:
                logger.warning("An answer of the %s's model was cut at %d characters: it exceeds its limit", role, most)
                await stream.aclose()
                yield _cut(part, max(0, len(part.text) + left_characters))
                return
            if loop_start(tail) is not None:
                logger.warning("An answer of the %s's model was ended: it repeats itself without end", role)
                await stream.aclose()
                yield _cut(part, len(part.text), "stop")
                return
            yield part


async def _whole(
    model: Runnable[Any, Any], messages: Sequence[AnyMessage], config: RunnableConfig
) -> AsyncGenerator[Any, None]:
    yield await model.ainvoke(list(messages), config)


def _characters(part: AIMessage) -> int:
    """Return how much a part says, thoughts and calls included; one with few words or none costs time as well."""
    chunks = part.tool_call_chunks if isinstance(part, AIMessageChunk) else part.tool_calls
    return max(4, len(part.text) + len(reasoning_of(part)) + sum(len(str(chunk.get("args") or "")) for chunk in chunks))


def _cut(part: AIMessage, characters: int, reason: str = "length") -> AIMessage:
    """Return the beginning of the last part of an answer, ended for this reason, by default the output limit."""
    ended = {**part.response_metadata, "finish_reason": reason}
    whole = {"content": part.text[:characters], "additional_kwargs": {}, "response_metadata": ended}
    return part.model_copy(update={**whole, "tool_calls": [], "invalid_tool_calls": [], "tool_call_chunks": []})


class Assembly:
    """Joins the parts of an answer."""

    def __init__(self) -> None:
        self._parts: list[AIMessage] = []

    @property
    def whole(self) -> AIMessage | None:
        """What came so far; none before the first part."""
        if len(self._parts) > 1:
            self._parts = [self._parts[0] + self._parts[1:]]  # type: ignore[list-item]  # all are chunks
        return self._parts[0] if self._parts else None

    def add(self, part: AIMessage) -> None:
        """Take the next part."""
        can_be_added = self._parts and isinstance(self._parts[0], AIMessageChunk) and isinstance(part, AIMessageChunk)
        self._parts = [*self._parts, part] if can_be_added else [part]
        if len(self._parts) > BATCH:
            self._parts = [self.whole or part]

    def message(self, role: Role) -> AIMessage:
        """Return the whole message with the text as it came; raises `ModelFailed` if nothing came."""
        if (whole := self.whole) is None:
            raise ModelFailed(f"The {role}'s model broke off without an answer.")
        return whole_message(whole, whole.text) if isinstance(whole, AIMessageChunk) else whole


pending_calls = dict[object, str]()
"""Calls of models that this process waits for, in words: what was sent, and who has sent it."""


class Caller(NamedTuple):
    """What makes the calls of a role."""

    role: Role
    context: Context
    retries: RetryBudget
    events: CallEvents

    @property
    def config(self) -> RunnableConfig:
        """The tags and metadata for tracers; LangGraph's `messages` mode is given the report by `ReportEvents`."""
        who = {"user_id": self.context.user, "session_id": self.context.session}
        return {
            "tags": [self.role, TAG_NOSTREAM],
            "metadata": {"role": self.role, **{name: value for name, value in who.items() if value}},
        }

    async def parts(
        self,
        model: Runnable[Any, Any],
        messages: Sequence[AnyMessage],
        *,
        is_long: bool = False,
        is_streamed: bool = False,
        most_tokens: int | None = None,
    ) -> AsyncGenerator[tuple[AIMessage | None, Assembly], None]:
        """Yield the parts of the answer, each with all that came so far; None says that what came before is void.

        The cost of each try is reported, also of one that broke off, which is repeated unless its words were shown. An
        answer that the calling node got before it was stopped comes whole and costs nothing. `is_long`,
        `is_streamed` and `most_tokens` as in `timed_parts`; raises what that and `RetryBudget.stream` raise.
        """
        answer, key = Assembly(), ""
        answers = None if is_extractive(self.role, self.context) else self.events.bill.answers
        asked = self._name(messages) if answers else ""
        if answers and (earlier := await answers.earlier(asked)):
            answer.add(earlier.message)
            if spent := spent_on(earlier.message, messages, self.role, self.context):
                self.events.bill.add(spent, earlier.key)
            yield earlier.message, answer
            return
        limits, name = self.context.limits, profile_of(self.role, self.context).name

        is_here = is_on_this_machine(resolve_model(self.role, self.context))
        first = limits.first_token_seconds or (FIRST_SECONDS_HERE if is_here else FIRST_SECONDS)
        make = partial(timed_parts, model, messages, self.role, self.config, limits, first_seconds=first)
        start = partial(make, is_long=is_long, is_streamed=is_streamed, most_tokens=most_tokens)
        tries = self.retries.stream(
            # Some calls, such as those of `refresh`, are part of no run.
            start if self.context.tracing else lambda: untraced(start()),
            name,
            may_repeat=lambda: not self.events.has_shown,
            on_wait=self.events.on_delay,
        )
        if name != EXTRACTIVE:
            place = self.events.placement
            number = "" if place.sub_turn_index is None else f" {place.tab_index + 1}"
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
                key = await answers.keep(asked, answer.message(self.role))
        finally:
            pending_calls.pop(tries, None)
            self._report_cost(answer, messages, key)

    async def message(self, model: Runnable[Any, Any], messages: Sequence[AnyMessage]) -> AIMessage:
        """Return the whole answer to a call that nobody watches."""
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

    def _name(self, messages: Sequence[AnyMessage]) -> str:
        """Return the name of a call: the same for the same words to the same model."""
        said = [
            (one.type, one.content, getattr(one, "tool_calls", ""), getattr(one, "tool_call_id", ""))
            for one in messages
        ]
        words = json.dumps([self.role, profile_of(self.role, self.context).name, said], default=str)
        return text_hash(with_equal_fences(words))

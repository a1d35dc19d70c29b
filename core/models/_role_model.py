"""A role's model as its calls are made: binds settings, enforces timeouts, retries, and reports the
cost."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from typing import Any, NamedTuple, cast
from urllib.parse import urlsplit

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, AnyMessage
from langchain_core.messages.utils import count_tokens_approximately
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import merge_configs
from langgraph.constants import TAG_NOSTREAM
from pydantic import SkipValidation
from typing_extensions import override

from ...prompts import with_equal_fences
from ..concurrency import Locks
from ..dialogue.transcripts import CHARACTERS_PER_TOKEN, Finish
from ..errors import ModelFailed, log_failure
from ..events.call import CallEvents
from ..events.tracing import untraced
from ..evidence.text.similarity import LoopWatch
from ..records.research import Spent
from ..records.sources import text_hash
from ..settings.context import Context, Role
from ..settings.network import is_loopback
from ._binding import bind_call
from ._deltas import plausible_counts
from ._faults import AnswerSilent, PromptCut, broken_off, is_transient, retry_reason
from ._quirks import ModelTraits
from ._retries import RetryBudget, has_content
from ._signs import Signs
from ._wrapping import AnswerPart, Assembly, WrappingChatModel, reasoning_of
from .extractive.chat import ExtractiveChatModel
from .request import Request, pending_calls
from .resolve import (
    EXTRACTIVE,
    REASONING_TOKENS,
    RoleModels,
    cost_of,
    model_host,
    profile_of,
    resolve_model,
)

logger = logging.getLogger(__name__)

_FIRST_TOKEN_SECONDS = 60.0
"""Default time limit for the first word of an answer."""
_LOCAL_FIRST_TOKEN_SECONDS = 600.0
"""The same for a server on this machine, which may first have to load the model."""
MOST_CHARACTERS_PER_TOKEN = 16
"""Upper bound in any language: a server that sends more characters ignores the call's output
limit."""
_SMALLEST_WINDOW = 128
"""A server that reports fewer prompt tokens than this counts wrongly, or counts only uncached
tokens."""
_READ_SHARE = 2 / 3
"""If a server reports less than this share of the estimated prompt tokens, it did not read the
whole prompt."""
_beginnings = Locks()
"""Held from the sending of a request with a shared prefix until its answer begins."""
_MOST_SECONDS_IN_TURN = 10.0
"""Maximum wait for another answer to begin: a server that takes longer has no cache, or does not
stream."""
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


@asynccontextmanager
async def _in_turn(prefix: str) -> AsyncGenerator[None, None]:
    """Wait until the other block with the same prefix has ended, or for `_MOST_SECONDS_IN_TURN`; do
    not wait without a prefix."""
    if not prefix:
        yield
        return
    lock = _beginnings.lock(prefix)
    try:
        async with asyncio.timeout(_MOST_SECONDS_IN_TURN):
            await lock.acquire()
    except TimeoutError:
        yield
        return
    try:
        yield
    finally:
        lock.release()


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
    watch = LoopWatch()
    async with aclosing(parts):
        async for part in parts:
            # Empty parts count too, or they could go on for ever.
            left -= max(4, _characters(part))
            is_loop = watch.repeats(part.text)
            if left < 0:
                reason = f"cut at {most} characters: it exceeds its limit"
                last = _cut(part, max(0, len(part.text) + left))
            elif is_loop:
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


class RoleModel(WrappingChatModel):
    """The model of a role in a run: its calls wait, are retried and cut, and their cost is
    reported.

    Settings that a call may have: `tools` and `tool_choice` (`any`, `auto` or `none`);
    `max_tokens`, which is sent as it is, in place of the request's output limit and the reasoning
    effort; all others are bound to the model.
    """

    request: SkipValidation[Request]
    """The request that is answered; its messages and tools may be sent in another form."""
    context: Context
    events: CallEvents
    """Where costs and waits are reported."""
    retries: RetryBudget
    """The retry budget that the run's calls share."""

    @property
    def _llm_type(self) -> str:
        return "role"

    @property
    def model(self) -> BaseChatModel:
        """The role's model."""
        return resolve_model(self.request.role, self.context)

    @property
    def _subject(self) -> str:
        """How messages to the user name the model."""
        return RoleModels(self.context).subject(self.request.role)

    @property
    def temperature(self) -> float | None:
        """The temperature that is set for the role's model; None: its server's default."""
        return getattr(self.model, "temperature", None)

    @property
    def learned(self) -> ModelTraits:
        """What this process has learned about the model at its server."""
        learned: ModelTraits = getattr(self.model, "learned", ModelTraits())
        return learned

    def recall(self, quirks: Iterable[str], output_tokens: int | None) -> None:
        """Add what was learned earlier."""
        model = self.model
        if hasattr(model, "recall"):
            model.recall(quirks, output_tokens)

    @override
    async def parts(
        self,
        messages: Sequence[AnyMessage],
        config: RunnableConfig | None,
        *,
        is_streamed: bool,
        settings: dict[str, Any],
    ) -> AsyncGenerator[AIMessage, None]:
        """Make a call; yield the parts of its answer.

        It is only streamed if somebody watches it, or if the answer is long. With
        `request.keeps_broken`, an answer that breaks off after text was shown ends there. Raises
        `AnswerCut` if the answer breaks off otherwise, `AnswerSilent`, `ModelFailed`, `PromptCut`,
        `ToolsUnbound`, or errors of the client.
        """
        request = self.request
        call = self._bind(messages, config, settings)
        if not (request.is_long or request.shared_prefix or self.events.is_watched):
            # Only a stream shows that a long answer is still in progress, and when it begins.
            is_streamed = False
        answer = Assembly()
        cut: Exception | None = None
        try:
            async with aclosing(self._paid_parts(call, is_streamed)) as parts:
                async for part in parts:
                    if isinstance(part, AnswerPart) and part.is_restart:
                        answer = Assembly()
                    else:
                        answer.add(part)
                    yield part
        except Exception as error:
            if not is_transient(error) or answer.whole is None or not has_content(answer.whole):
                raise
            log_failure(__name__, error, "An answer of the %s's model broke off", request.role)
            cut = broken_off(error, model_host(self.model))
        message = self._joined(answer)
        # If the answer had ended before the failure, nothing is missing.
        if cut and not Finish.of(message).reason:
            if not (request.keeps_broken and self.events.has_shown):
                raise cut
            self.events.on_continue(retry_reason(cut))
            yield Finish.as_broken_off(AIMessageChunk(content=""))
        _check_whole_prompt_was_read(message, messages)

    def _bind(
        self,
        messages: Sequence[AnyMessage],
        config: RunnableConfig | None,
        settings: Mapping[str, Any],
    ) -> _BoundCall:
        """Return the call with the settings that the model's class accepts.

        Raises `ToolsUnbound` if it cannot bind tools.
        """
        request = self.request
        model = self.model
        bound = dict(settings)
        tools = bound.pop("tools", ())
        tool_choice = bound.pop("tool_choice", "any")
        limit = bound.pop("max_tokens", None)
        most_tokens: int | None = None
        effort = ""
        if limit is None:
            if request.max_tokens is not None:
                profile = profile_of(request.role, self.context)
                most_tokens = profile.output_tokens(request.max_tokens)
            limit = most_tokens
            effort = _effort(request.role, self.context)
        if isinstance(model, ExtractiveChatModel):
            bound["facts"] = request.facts
        runnable = bind_call(model, tools, tool_choice, limit, effort, bound)
        return _BoundCall(runnable, messages, config, most_tokens)

    async def _paid_parts(
        self, call: _BoundCall, is_streamed: bool
    ) -> AsyncGenerator[AIMessage, None]:
        """Make a call, repeat it if it fails, and report the cost of each try.

        If an answer breaks off and begins again, an `AnswerPart` says so; this happens only if none
        of its text was shown. If an earlier execution of the calling node was stopped after it had
        received this answer, the stored answer is returned at no further cost. An answer that is
        much longer than its limit, or repeats itself endlessly, is cut. For the errors, see
        `_timed_parts` and `RetryBudget.stream`.
        """
        role, messages = self.request.role, call.messages
        answer = Assembly()
        answers = self.events.bill.answers
        if RoleModels(self.context).is_extractive(role):
            answers = None
        call_key = ""
        if answers:
            call_key = self._call_key(messages)
            earlier = await answers.earlier(call_key)
            if earlier:
                spent = spent_on(earlier.message, messages, role, self.context)
                if spent:
                    self.events.bill.add(spent, earlier.key)
                yield earlier.message
                return
        name = profile_of(role, self.context).name
        limits = self.context.limits
        most_tokens = call.most_tokens or limits.report_tokens + REASONING_TOKENS

        def start() -> AsyncGenerator[AIMessage, None]:
            timed = self._timed_parts(call, is_streamed)
            parts = _without_excess(timed, MOST_CHARACTERS_PER_TOKEN * most_tokens, role)
            # Calls outside a run, such as those of `refresh`, are not traced.
            return parts if self.context.tracing else untraced(parts)

        signs = Signs(self.context.clock, self.events)
        tries = self.retries.stream(
            start, name, may_repeat=lambda: not self.events.has_shown, on_wait=signs.on_wait
        )
        if name != EXTRACTIVE:
            placement = self.events.placement
            caller = str(role)
            if placement.sub_turn_index is not None:
                caller = f"{caller} {placement.tab_index + 1}"
            tokens = count_tokens_approximately(messages)
            pending_calls[tries] = f"{tokens} tokens ({caller})"
        key = ""
        try:
            async with aclosing(tries), signs.watched(), AsyncExitStack() as until_begun:
                await until_begun.enter_async_context(_in_turn(self.request.shared_prefix))
                async for part in tries:
                    await until_begun.aclose()
                    if part is None:
                        self._report_cost(answer, messages)
                        answer = Assembly()
                        yield AnswerPart(content="", is_restart=True)
                    else:
                        answer.add(part)
                        signs.receive(answer)
                        yield part
            if answers and answer.whole is not None:
                key = await answers.keep(call_key, answer.message())
        finally:
            pending_calls.pop(tries, None)
            self._report_cost(answer, messages, key)

    async def _timed_parts(
        self, call: _BoundCall, is_streamed: bool
    ) -> AsyncGenerator[AIMessage, None]:
        """Make one try; yield the parts of its answer (a single one unless `is_streamed`).

        The idle timeout is `idle_seconds`, or `report_idle_seconds` for long and unstreamed
        answers; until the first word it is at least `first_token_seconds`. Every part restarts it.
        Raises `AnswerSilent` on an idle timeout, `ModelFailed` if the call exceeds `call_seconds`.
        """
        role, limits = self.request.role, self.context.limits
        loop = asyncio.get_running_loop()
        # The metadata is for tracers. `TAG_NOSTREAM`, because `ReportEvents` feeds LangGraph's
        # `messages` mode.
        known = {"role": role, "user_id": self.context.user, "session_id": self.context.session}
        metadata = {name: value for name, value in known.items() if value}
        config = RunnableConfig(tags=[role, TAG_NOSTREAM], metadata=metadata)
        if call.config:
            config = merge_configs(call.config, config)
        messages = list(call.messages)

        async def whole() -> AsyncGenerator[Any, None]:
            yield await call.model.ainvoke(messages, config)

        stream = cast(
            AsyncGenerator[Any, None],
            call.model.astream(messages, config) if is_streamed else whole(),
        )
        is_slow = self.request.is_long or not is_streamed
        limit = "report_idle_seconds" if is_slow else "idle_seconds"
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
                        raise ModelFailed(f"{self._subject} took longer than {limited}.") from error
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

    def _joined(self, answer: Assembly) -> AIMessage:
        """Return the whole answer; raises `ModelFailed` if nothing arrived."""
        if answer.whole is None:
            raise ModelFailed(f"{self._subject} broke off without an answer.")
        return answer.message()

    def _report_cost(self, answer: Assembly, messages: Sequence[AnyMessage], key: str = "") -> None:
        if answer.whole is None:
            return
        spent = spent_on(answer.message(), messages, self.request.role, self.context)
        if spent:
            self.events.on_spent(spent, key)

    def _call_key(self, messages: Sequence[AnyMessage]) -> str:
        """Return a hash of role, model and prompt, under which the answer is stored."""
        prompt: list[tuple[Any, ...]] = []
        for message in messages:
            calls = getattr(message, "tool_calls", "")
            answered = getattr(message, "tool_call_id", "")
            prompt.append((message.type, message.content, calls, answered))
        role = self.request.role
        name = profile_of(role, self.context).name
        return text_hash(with_equal_fences(json.dumps([role, name, prompt], default=str)))


class _BoundCall(NamedTuple):
    """A call with the settings that its model accepts."""

    model: Runnable[Any, Any]
    messages: Sequence[AnyMessage]
    config: RunnableConfig | None
    """What the caller passed, such as callbacks."""
    most_tokens: int | None
    """Output limit beyond which the answer is cut; None: that of the longest answers."""


def _effort(role: Role, context: Context) -> str:
    """Return the reasoning effort to request; empty for the provider's default, and for models that
    do not reason."""
    if not profile_of(role, context).reasons:
        return ""
    if context.effort == "auto":
        return "low" if role == "researcher" else ""
    return context.effort


def _check_whole_prompt_was_read(message: AIMessage, prompt: Sequence[AnyMessage]) -> None:
    """Raise `PromptCut` if the server counted far fewer tokens than the prompt has."""
    if not message.usage_metadata:
        return
    counted = message.usage_metadata["input_tokens"]
    expected = sum(len(sent.text) for sent in prompt) // CHARACTERS_PER_TOKEN
    if _SMALLEST_WINDOW <= counted < _READ_SHARE * expected:
        raise PromptCut(counted, expected)

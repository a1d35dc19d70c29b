"""Retries failed model calls, with one waiting-time budget for all calls of a run."""

from __future__ import annotations

import asyncio
import logging
import random
from collections import OrderedDict, defaultdict
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, field

from langchain_core.messages import AIMessage, AIMessageChunk
from langgraph.runtime import RunControl, get_runtime

from ..run.concurrency import PerLoop
from ..run.limits import Limits
from .faults import asks_to_wait, fault_kind, is_transient, retry_after, retry_reason
from .ladder.reply import reasoning_of

_FIRST_WAIT = 0.5
"""Seconds before the first retry, plus up to 50 % jitter; doubled for each further retry."""
_KEPT = 100
"""Number of most recently used budgets to keep."""

_Budgets = OrderedDict[tuple[RunControl | None, str], "RetryBudget"]
_kept = PerLoop(_Budgets)

OnWait = Callable[[float, str], None]
"""Called with seconds and reason before each wait."""


class RetryBudget:
    """Retries a run's failed model calls within one waiting-time budget.

    A call that fails before its first word is retried up to `max_retries` times, or once after a timeout. Rate-limited
    calls have no retry count: one call waits as the server asks and retries, while the others wait until it succeeds.
    All waits together take at most `retry_seconds`; a wait that would exceed this is not started.
    """

    def __init__(
        self,
        limits: Limits,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """Tests replace `sleep` and `chance` (random numbers from 0 to 1)."""
        self.seconds_left = limits.retry_seconds
        self._max_retries = limits.max_retries
        self._sleep = sleep
        self._chance = chance
        self._gates: dict[str, _Gate] = defaultdict(_Gate)

    def has_answered(self, model: str) -> bool:
        """Whether a call to this model has succeeded."""
        return self._gates[model].passed > 0

    async def stream(
        self,
        start: Callable[[], AsyncGenerator[AIMessage, None]],
        model: str,
        *,
        may_repeat: Callable[[], bool],
        on_wait: OnWait,
    ) -> AsyncGenerator[AIMessage | None, None]:
        """Yield the parts of the answer; call `start` for each try.

        `may_repeat`: whether to retry, once, a call that breaks off after its first word; a `None` then tells the
        caller to discard the earlier parts. Raises the last try's error.
        """
        call, has_repeated = _Call(self._gates[model]), False
        try:
            while True:
                if not call.holds_gate:
                    # Wait while another call holds the gate.
                    async with call.gate.lock:
                        pass
                try:
                    async with aclosing(start()) as parts:
                        async for part in parts:
                            if has_words(part):
                                call.get_through()
                            yield part
                    return
                except Exception as error:
                    is_lost = call.has_spoken and (has_repeated or not may_repeat())
                    if is_lost or not is_transient(error):
                        raise
                    await self._wait(call, error, on_wait)
                if call.has_spoken:
                    call.has_spoken, has_repeated = False, True
                    yield None
        finally:
            call.leave()

    async def _wait(self, call: _Call, error: Exception, on_wait: OnWait) -> None:
        """Wait before the next try, or raise the error if no more tries are allowed."""
        gate = call.gate
        if asks_to_wait(error):
            passed = gate.passed
            if not call.holds_gate:
                await gate.lock.acquire()
                call.holds_gate = True
            if gate.passed != passed:
                # Another call succeeded meanwhile.
                call.leave()
                return
            gate.refusals += 1
            earlier = gate.refusals
        else:
            call.failures += 1
            earlier = call.failures
            if earlier > (min(1, self._max_retries) if fault_kind(error) == "slow" else self._max_retries):
                raise error
        own = _FIRST_WAIT * 2 ** (earlier - 1) * (1 + self._chance() / 2)
        seconds = max(own, retry_after(error) or 0.0)
        if seconds > self.seconds_left:
            raise error
        self.seconds_left -= seconds
        logging.getLogger(__name__).info("A model is called again in %.1f s: %s", seconds, retry_reason(error))
        on_wait(seconds, retry_reason(error))
        await self._sleep(seconds)


@dataclass
class _Gate:
    """Blocks the calls to one model while a rate-limited call retries."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    refusals: int = 0
    """Consecutive rate-limited tries."""
    passed: int = 0
    """Number of successful calls."""


@dataclass
class _Call:
    gate: _Gate
    failures: int = 0
    has_spoken: bool = False
    """Whether words of the current try arrived."""
    holds_gate: bool = False

    def get_through(self) -> None:
        """Open the gate, since the first words arrived."""
        if not self.has_spoken:
            self.has_spoken = True
            self.gate.passed += 1
            self.gate.refusals = 0
            self.leave()

    def leave(self) -> None:
        if self.holds_gate:
            self.holds_gate = False
            self.gate.lock.release()


def has_words(part: AIMessage) -> bool:
    """Whether the part contains text, a thought or a call."""
    has_calls = bool(part.tool_call_chunks if isinstance(part, AIMessageChunk) else part.tool_calls)
    return has_calls or bool(part.text or reasoning_of(part))


def retry_budget_of(question_id: str, limits: Limits) -> RetryBudget:
    """Return the retry budget shared by all calls of a graph run for a question.

    A resumed run, and each call outside a graph, starts with a full budget.
    """
    try:
        control = get_runtime().control
    except RuntimeError:
        return RetryBudget(limits)
    budgets = _kept.get()
    budget = budgets.pop((control, question_id), None) or RetryBudget(limits)
    budgets[control, question_id] = budget
    while len(budgets) > _KEPT:
        budgets.popitem(last=False)
    return budget

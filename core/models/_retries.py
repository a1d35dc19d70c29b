"""Retries failed model calls; all calls of a run together wait at most a fixed time."""

from __future__ import annotations

import asyncio
import logging
import random
from collections import OrderedDict, defaultdict
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field

from langchain_core.messages import AIMessage, AIMessageChunk
from langgraph.runtime import RunControl, get_runtime

from ..concurrency import PerLoop
from ..settings.context import Clock
from ..settings.limits import Limits
from ._faults import concerns_all_calls, fault_kind, is_transient, retry_after, retry_reason
from ._wrapping import reasoning_of

_FIRST_WAIT = 0.5
"""Seconds before the first retry, plus up to 50 % jitter; doubled for each further retry."""
_LONGEST_WAIT = 10.0
"""Seconds up to which they are doubled, so that a server that is back is soon noticed."""
_MOST_RETRIES = 2
"""Retries of a call that fails before its first word."""
_MOST_BUDGETS = 100
"""Number of most recently used budgets to keep."""

_Budgets = OrderedDict[tuple[RunControl | None, str], "RetryBudget"]
_budgets = PerLoop(_Budgets)
"""The retry budgets of an event loop by graph run and question."""
_answered = PerLoop(set[str])
"""Names of the models that have answered in any run of an event loop: the server of one of them is
away, not wrong, if nobody listens there."""

OnWait = Callable[[float, str], None]
"""Called before each wait with its seconds and its reason, a text for the user."""


class RetryBudget:
    """Retries a run's failed model calls; their waits together take at most the limit
    `retry_seconds`.

    A call that fails before its first word is retried up to two times, but only once after a
    timeout. If the server limits the rate of calls or restarts, there is no such count: one call
    tries again, after as long as the server asks, while the others wait until it succeeds. A wait
    that would exceed the budget is not started; the call fails.
    """

    def __init__(
        self,
        limits: Limits,
        sleep: Callable[[float], Awaitable[object]],
        chance: Callable[[], float] = random.random,
    ) -> None:
        """`chance` returns random numbers from 0 to 1; tests replace it."""
        self.seconds_left = limits.retry_seconds
        """Seconds that calls may still wait."""
        self._sleep = sleep
        self._chance = chance
        self._gates: dict[str, _Gate] = defaultdict(_Gate)

    def has_answered(self, model: str) -> bool:
        """Whether a call to this model has succeeded."""
        return self._gates[model].successes > 0

    async def stream(
        self,
        start: Callable[[], AsyncGenerator[AIMessage, None]],
        model: str,
        *,
        may_repeat: Callable[[], bool],
        on_wait: OnWait,
    ) -> AsyncGenerator[AIMessage | None, None]:
        """Make a call; yield the parts of its answer. `start` is called for each try; its parts
        raise if the try fails.

        If a call breaks off after its first word and `may_repeat` returns True, it is repeated
        once; before that, None is yielded, which makes the earlier parts void. Raises the error of
        the last try.
        """
        call, has_repeated = _Call(self._gates[model]), False
        answered = _answered.get()
        try:
            while True:
                if not call.holds_gate:
                    # Wait while another call holds the gate.
                    async with call.gate.lock:
                        pass
                try:
                    async with aclosing(start()) as parts:
                        async for part in parts:
                            if has_content(part):
                                call.succeed()
                                answered.add(model)
                            yield part
                    return
                except Exception as error:
                    is_final = call.has_begun and (has_repeated or not may_repeat())
                    if is_final or not is_transient(error):
                        raise
                    await self._wait(call, error, on_wait, has_answered=model in answered)
                if call.has_begun:
                    call.has_begun, has_repeated = False, True
                    yield None
        finally:
            call.open_gate()

    async def _wait(
        self, call: _Call, error: Exception, on_wait: OnWait, *, has_answered: bool
    ) -> None:
        """Wait before the next try; raise the error if no further try is allowed."""
        gate = call.gate
        if concerns_all_calls(error, has_answered=has_answered):
            successes = gate.successes
            if not call.holds_gate:
                await gate.lock.acquire()
                call.holds_gate = True
            if gate.successes != successes:
                # Another call succeeded meanwhile: try again at once.
                call.open_gate()
                return
            gate.refusals += 1
            failed = gate.refusals
        else:
            call.failures += 1
            failed = call.failures
            if failed > (1 if fault_kind(error) == "slow" else _MOST_RETRIES):
                raise error
        backoff = min(_LONGEST_WAIT, _FIRST_WAIT * 2 ** (failed - 1))
        backoff *= 1 + self._chance() / 2
        seconds = max(backoff, retry_after(error) or 0.0)
        if seconds > self.seconds_left:
            raise error
        self.seconds_left -= seconds
        logging.getLogger(__name__).info(
            "A model is called again in %.1f s: %s", seconds, retry_reason(error)
        )
        on_wait(seconds, retry_reason(error))
        await self._sleep(seconds)


@dataclass
class _Gate:
    """Makes the calls to a model wait while one that its server did not accept is retried."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held by the call that is retried."""
    refusals: int = 0
    """Number of tries since the last success that the server did not accept."""
    successes: int = 0
    """Number of successful calls."""


@dataclass
class _Call:
    """The state of a call across its tries."""

    gate: _Gate
    failures: int = 0
    """Number of tries that failed for reasons of their own."""
    has_begun: bool = False
    """Whether the answer of the current try has begun to arrive."""
    holds_gate: bool = False
    """Whether the other calls wait for this one."""

    def succeed(self) -> None:
        """Let the other calls go on, since the answer begins to arrive."""
        if not self.has_begun:
            self.has_begun = True
            self.gate.successes += 1
            self.gate.refusals = 0
            self.open_gate()

    def open_gate(self) -> None:
        """Let the other calls go on, if they wait for this one."""
        if self.holds_gate:
            self.holds_gate = False
            self.gate.lock.release()


def has_content(part: AIMessage) -> bool:
    """Whether a part of an answer contains text, a thought or a call."""
    calls: Sequence[object] = part.tool_calls
    if isinstance(part, AIMessageChunk):
        calls = part.tool_call_chunks
    return bool(calls or part.text or reasoning_of(part))


def retry_budget_of(question_id: str, limits: Limits, clock: Clock) -> RetryBudget:
    """Return the retry budget of the graph run in progress, shared by all its calls for this
    question.

    A resumed run, and each call outside a graph, gets a full budget.
    """
    try:
        control = get_runtime().control
    except RuntimeError:
        return RetryBudget(limits, clock.sleep)
    budgets = _budgets.get()
    budget = budgets.pop((control, question_id), None) or RetryBudget(limits, clock.sleep)
    budgets[control, question_id] = budget
    while len(budgets) > _MOST_BUDGETS:
        budgets.popitem(last=False)
    return budget

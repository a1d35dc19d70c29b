"""How often and how long a run waits for models that fail or ask to wait: one budget for all its calls."""

from __future__ import annotations

import asyncio
import logging
import random
from collections import OrderedDict, defaultdict
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing

from langchain_core.messages import AIMessage, AIMessageChunk
from langgraph.runtime import RunControl, get_runtime

from ..run.concurrency import PerLoop
from ..run.limits import Limits
from .faults import asks_to_wait, is_transient, kind_of, retry_after, retry_reason
from .ladder.reply import reasoning_of

FIRST_WAIT = 0.5
"""Seconds before the second try of a call, or up to half as many more; each further wait is twice as long."""

KEPT = 100
"""Runs whose budget of waiting is kept, those last used."""

_Budgets = OrderedDict[tuple[RunControl | None, str], "RetryBudget"]
_kept = PerLoop(_Budgets)

OnWait = Callable[[float, str], None]
"""Called for each wait, with seconds and reason."""


class RetryBudget:
    """Repeats the model calls of a run that fail, within one budget of waiting.

    A call that fails before its first word is made again up to `max_retries` times, one that went silent once. Where a
    server says that it has enough, only the seconds count: they are waited as asked, one call tries again, and the
    others wait until it got through. All waits together take no longer than `retry_seconds`; a longer one is not begun.
    """

    def __init__(
        self,
        limits: Limits,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """`sleep` waits; `chance`, which gives numbers from 0 to 1, is for tests."""
        self.seconds_left = limits.retry_seconds
        """What is left of the budget."""
        self._max_retries = limits.max_retries
        self._sleep = sleep
        self._chance = chance
        self._gates: dict[str, _Gate] = defaultdict(_Gate)

    def has_answered(self, model: str) -> bool:
        """Whether a call to this model has got through."""
        return self._gates[model].passed > 0

    async def stream(
        self,
        start: Callable[[], AsyncGenerator[AIMessage, None]],
        model: str,
        *,
        may_repeat: Callable[[], bool],
        on_wait: OnWait,
    ) -> AsyncGenerator[AIMessage | None, None]:
        """Yield the parts of the answer that `start` gives; it is called anew for each try.

        `may_repeat`: whether a call that breaks off after its first word is made once more; a `None` then says that
        what came before is void. What went wrong in the end is raised as it came.
        """
        call = _Call(self._gates[model], may_repeat)
        try:
            while True:
                await call.enter()
                try:
                    async with aclosing(start()) as parts:
                        async for part in parts:
                            if has_words(part):
                                call.get_through()
                            yield part
                    return
                except Exception as error:
                    if not is_transient(error) or not call.may_go_on:
                        raise
                    await self._wait(call, error, on_wait)
                if call.starts_over():
                    yield None
        finally:
            call.leave()

    async def _wait(self, call: _Call, error: Exception, on_wait: OnWait) -> None:
        """Wait before the next try; raises the error where there is none."""
        if asks_to_wait(error):
            if await call.finds_gate_open():
                return
            call.gate.refusals += 1
            earlier = call.gate.refusals
        else:
            call.failures += 1
            earlier = call.failures
            if earlier > (min(1, self._max_retries) if kind_of(error) == "slow" else self._max_retries):
                raise error
        own = FIRST_WAIT * 2 ** (earlier - 1) * (1 + self._chance() / 2)
        seconds = max(own, retry_after(error) or 0.0)
        if seconds > self.seconds_left:
            raise error
        self.seconds_left -= seconds
        logging.getLogger(__name__).info("A model is asked again in %.1f s: %s", seconds, retry_reason(error))
        on_wait(seconds, retry_reason(error))
        await self._sleep(seconds)


class _Gate:
    """Lets the calls to one model pass; a call that the server asked to wait holds it until it got through."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.refusals = 0
        """Times in a row that the server had enough."""
        self.passed = 0
        """Calls that got through."""


class _Call:
    """One call and its tries."""

    def __init__(self, gate: _Gate, may_repeat: Callable[[], bool]) -> None:
        self.gate = gate
        self.failures = 0
        self._may_repeat = may_repeat
        self._has_spoken = self._has_repeated = False
        self._holds_gate = False

    @property
    def may_go_on(self) -> bool:
        """Whether another try would do no harm: nothing was said, or what was said may be taken back."""
        return not self._has_spoken or (not self._has_repeated and self._may_repeat())

    async def enter(self) -> None:
        """Wait while another call holds the gate."""
        if not self._holds_gate:
            async with self.gate.lock:
                pass

    def get_through(self) -> None:
        """Let the others pass: the first words came."""
        if not self._has_spoken:
            self._has_spoken = True
            self.gate.passed += 1
            self.gate.refusals = 0
            self.leave()

    async def finds_gate_open(self) -> bool:
        """Hold the gate, unless another call got through while this one waited for it."""
        passed = self.gate.passed
        if not self._holds_gate:
            await self.gate.lock.acquire()
            self._holds_gate = True
        if self.gate.passed == passed:
            return False
        self.leave()
        return True

    def starts_over(self) -> bool:
        """Whether words were said that are void now; that is allowed once."""
        has_spoken, self._has_spoken = self._has_spoken, False
        self._has_repeated |= has_spoken
        return has_spoken

    def leave(self) -> None:
        """Let go of the gate."""
        if self._holds_gate:
            self._holds_gate = False
            self.gate.lock.release()


def has_words(part: AIMessage) -> bool:
    """Whether the part holds something that a user may have seen."""
    has_calls = bool(part.tool_call_chunks if isinstance(part, AIMessageChunk) else part.tool_calls)
    return has_calls or bool(part.text or reasoning_of(part))


def retry_budget_of(question_id: str, limits: Limits) -> RetryBudget:
    """Return the budget of all calls that one run of the graph makes for a question, in whichever node.

    A run that goes on after it stopped has a whole budget again; so has each call that no graph makes.
    """
    try:
        control = get_runtime().control
    except RuntimeError:
        return RetryBudget(limits)
    budgets = _kept.get()
    patience = budgets.pop((control, question_id), None) or RetryBudget(limits)
    budgets[control, question_id] = patience
    while len(budgets) > KEPT:
        budgets.popitem(last=False)
    return patience

"""Reports how a model call in progress stands, so that users see whether the model answers and
until when it is not asked again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from ..events.call import CallEvents
from ..settings.context import Clock
from ._wrapping import Assembly

_SILENT_SECONDS = 30.0
"""Silence of a model after which it is reported."""
_AGAIN_SECONDS = 10.0
"""Seconds until it is reported again, for clients that have connected meanwhile."""
_PROGRESS_SECONDS = 2.0
"""Seconds between two reports of an answer that is arriving."""
_CONNECTED_SECONDS = 3.0
"""Seconds until a wait is reported once more, for clients that connect when the run has begun."""


class Signs:
    """Reports what arrives of an answer, and that nothing does, across all tries of the call."""

    def __init__(self, clock: Clock, events: CallEvents) -> None:
        self._clock, self._events = clock, events
        self._text = ""
        self._last = self._reported = clock.seconds()
        self._is_silent = False
        """Whether a silence was reported that is not over."""
        self._repeating: asyncio.Task[None] | None = None
        """Reports a wait once more."""

    def on_wait(self, seconds: float, reason: str) -> None:
        """Report that the call is retried after so many seconds, and why."""
        self._events.on_delay(seconds, reason)
        self._stop_repeating()
        until = self._clock.seconds() + seconds
        self._repeating = asyncio.create_task(self._repeat(until, reason))

    async def _repeat(self, until: float, reason: str) -> None:
        await self._clock.sleep(_CONNECTED_SECONDS)
        left = until - self._clock.seconds()
        if left > 0:
            self._events.on_delay(left, reason)

    def _stop_repeating(self) -> None:
        if self._repeating:
            self._repeating.cancel()

    def receive(self, answer: Assembly) -> None:
        """Note that another part of the answer has come; `answer` has all parts so far."""
        self._last = self._clock.seconds()
        self._stop_repeating()
        if not self._is_silent and self._last - self._reported < _PROGRESS_SECONDS:
            return
        self._is_silent = False
        self._reported = self._last
        self._text = answer.whole.text if answer.whole else ""
        self._events.on_progress(self._text)

    @asynccontextmanager
    async def watched(self) -> AsyncGenerator[None, None]:
        """Report silence while this context is active."""
        watching = asyncio.create_task(self._watch())
        try:
            yield
        finally:
            watching.cancel()
            self._stop_repeating()

    async def _watch(self) -> None:
        due = self._last + _SILENT_SECONDS
        while True:
            await self._clock.sleep(due - self._clock.seconds())
            now = self._clock.seconds()
            due = self._last + _SILENT_SECONDS
            if due <= now:
                self._is_silent = True
                self._events.on_progress(self._text, now - self._last)
                due = now + _AGAIN_SECONDS

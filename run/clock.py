"""Time as a run sees it, so that tests can set it."""

from __future__ import annotations

import asyncio
import time
from datetime import datetime
from typing import Protocol, runtime_checkable


@runtime_checkable
class Clock(Protocol):
    """Tells the date, measures seconds and lets them pass."""

    def now(self) -> datetime:
        """Return the present local date and time."""

    def seconds(self) -> float:
        """Seconds from an arbitrary start; never goes back."""

    async def sleep(self, seconds: float) -> None:
        """Wait until so many seconds of this clock have passed."""


class Watch:
    """A stopwatch that starts at the seconds already spent."""

    def __init__(self, clock: Clock, earlier: float) -> None:
        self._clock, self._start = clock, clock.seconds() - earlier

    @property
    def seconds(self) -> float:
        """Seconds until now."""
        return self._clock.seconds() - self._start


class SystemClock:
    """The computer's own clock."""

    def now(self) -> datetime:
        """Return the present local date and time."""
        return datetime.now().astimezone()

    def seconds(self) -> float:
        """Seconds from an arbitrary start; never goes back."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait until so many seconds have passed."""
        await asyncio.sleep(seconds)

"""Time as a run sees it, so that tests can set it."""

from __future__ import annotations

import time
from datetime import datetime
from typing import Protocol, runtime_checkable


@runtime_checkable
class Clock(Protocol):
    """Tells the date and measures seconds."""

    def now(self) -> datetime:
        """The present date and time, local."""

    def seconds(self) -> float:
        """Seconds from an arbitrary start; never goes back."""


class SystemClock:
    """The computer's own clock."""

    def now(self) -> datetime:
        """The present date and time, local."""
        return datetime.now().astimezone()

    def seconds(self) -> float:
        """Seconds from an arbitrary start; never goes back."""
        return time.monotonic()

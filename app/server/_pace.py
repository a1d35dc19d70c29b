"""The pace of one user's requests, so that a burst of them does not hold up the others."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

_SECONDS = 0.05
"""Seconds between two requests of a user once the burst is used up."""
_BURST = 10
"""Requests of a user that may follow one another without delay."""
_LONGEST_SECONDS = 30
"""Longest delay; a request that had to wait longer is refused."""


class Pace:
    """Delays of requests by user, by the generic cell rate algorithm (ITU-T I.371).

    A limit on requests at the same time would not do: a server answers one after another anyway,
    and 160 short ones in a row still keep it from everybody else's run.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """`clock` gives the time in seconds, `sleep` waits for so many."""
        self._clock = clock
        self._sleep = sleep
        self._due = dict[str, float]()
        """Time at which each user's next request is due if all so far came at the even pace."""

    def delay(self, user: str, now: float) -> float | None:
        """Count a request of `user` at `now`, in seconds; returns the seconds that it has to wait,
        or None if these are too many: then it does not count."""
        due = max(self._due.get(user, now), now)
        seconds = max(0.0, due - now - (_BURST - 1) * _SECONDS)
        if seconds > _LONGEST_SECONDS:
            return None
        self._due[user] = due + _SECONDS
        return seconds

    async def keep(self, user: str) -> bool:
        """Wait until a request of `user` that has just arrived may be worked on; returns False at
        once if it would have to wait too long."""
        seconds = self.delay(user, self._clock())
        if seconds:
            await self._sleep(seconds)
        return seconds is not None

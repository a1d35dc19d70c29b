"""The pace of one user's requests, so that a burst of them does not hold up the others."""

from __future__ import annotations

import asyncio
import time

_SECONDS = 0.05
"""Seconds between two requests of a user once the burst is used up."""
_BURST = 10
"""Requests of a user that may follow one another without delay."""


class Pace:
    """Delays of requests by user, by the generic cell rate algorithm (ITU-T I.371).

    A limit on requests at the same time would not do: a server answers one after another anyway,
    and 160 short ones in a row still keep it from everybody else's run.
    """

    def __init__(self) -> None:
        self._due = dict[str, float]()
        """Time at which each user's next request is due if all so far came at the even pace."""

    def delay(self, user: str, now: float) -> float:
        """Count a request of `user` at `now`, in seconds; returns the seconds that it has to
        wait."""
        due = max(self._due.get(user, now), now)
        self._due[user] = due + _SECONDS
        return max(0.0, due - now - (_BURST - 1) * _SECONDS)

    async def keep(self, user: str) -> None:
        """Wait until a request of `user` that has just arrived may be worked on."""
        seconds = self.delay(user, time.monotonic())
        if seconds:
            await asyncio.sleep(seconds)

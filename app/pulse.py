"""What a stream brings, with the silences and the seconds between."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from enum import Enum
from typing import Any

from ..run.clock import Clock
from .background import CANCEL_SECONDS

ELAPSED_SECONDS = 1.0
"""Seconds from one packet that tells the time to the next."""

Queue = asyncio.Queue[tuple[Any, BaseException | None, bool]]


class Beat(Enum):
    """What comes between the parts of a stream."""

    SILENCE = "silence"
    """The stream has brought nothing for a while."""
    SECOND = "second"
    """`ELAPSED_SECONDS` more have passed by the stopwatch."""


class Stopwatch:
    """The seconds of a clock since the watch was made."""

    def __init__(self, clock: Clock) -> None:
        self._clock, self._start = clock, clock.seconds()
        self._told = 0

    def elapsed(self) -> float:
        """Seconds since the start, to the millisecond."""
        return round(self._clock.seconds() - self._start, 3)

    def passed(self) -> list[float]:
        """The marks at every `ELAPSED_SECONDS` that have been passed and were not given before: each comes once."""
        before, self._told = self._told, int(self.elapsed() / ELAPSED_SECONDS)
        return [mark * ELAPSED_SECONDS for mark in range(before + 1, self._told + 1)]

    async def wait(self) -> None:
        """Wait for the next mark."""
        await self._clock.sleep(ELAPSED_SECONDS - self.elapsed() % ELAPSED_SECONDS)


async def with_beats(
    stream: AsyncIterator[Any], silence_seconds: float, watch: Stopwatch | None
) -> AsyncGenerator[Any, None]:
    """What the stream brings, and a `Beat` for each silence of so many seconds, and for each mark of a watch.

    A mark does not break a silence. Closing this ends the stream.
    """
    queue: Queue = asyncio.Queue()
    # Tasks of their own, for a wait that is given up would end the stream itself.
    tasks = [asyncio.create_task(_pump(stream, queue))]
    if watch:
        tasks.append(asyncio.create_task(_tick(watch, queue)))
    loop = asyncio.get_running_loop()
    quiet_since = loop.time()
    try:
        while True:
            part, error, is_last = await _next(queue, quiet_since + silence_seconds)
            if error:
                raise error
            if is_last:
                return
            yield part
            if part is not Beat.SECOND:
                quiet_since = loop.time()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks, timeout=CANCEL_SECONDS)


async def _pump(stream: AsyncIterator[Any], queue: Queue) -> None:
    try:
        async for part in stream:
            queue.put_nowait((part, None, False))
        queue.put_nowait((None, None, True))
    except BaseException as error:  # noqa: BLE001 - whatever ends the stream is raised where it is read
        queue.put_nowait((None, error, True))


async def _tick(watch: Stopwatch, queue: Queue) -> None:
    while True:
        await watch.wait()
        queue.put_nowait((Beat.SECOND, None, False))


async def _next(queue: Queue, end: float) -> tuple[Any, BaseException | None, bool]:
    try:
        async with asyncio.timeout_at(end):
            return await queue.get()
    except TimeoutError:
        return Beat.SILENCE, None, False

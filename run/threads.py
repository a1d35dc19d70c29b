"""Runs what blocks in threads that nobody has to wait for, without holding up anything else."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future

from ..channels import Value

Task = Callable[[], None]


IDLE_SECONDS = 10.0
"""How long a thread waits for more work: to start one costs more than most of what it is given to do."""


class Threads:
    """Daemon threads, started when there is work and ended when there was none for a while; for any event loop.

    Whoever gives up waiting can go on at once and end the program, which the threads of the event loop's own pool
    prevent. Work that was given up before its turn is never begun.
    """

    def __init__(self, name: str, most: int) -> None:
        self._name = name
        self._most = most
        self._running = self._idle = 0
        self._tasks: deque[Task] = deque()
        self._work = threading.Condition()

    async def run(self, work: Callable[[], Value]) -> Value:
        """Do the work when a thread is free and return what it returns, or raise what it raises."""
        future: Future[Value] = Future()
        with self._work:
            self._tasks.append(lambda: _finish(future, work))
            is_another_wanted = self._idle < len(self._tasks) and self._running < self._most
            self._running += is_another_wanted
            self._work.notify()
        if is_another_wanted:
            threading.Thread(target=self._work_off, daemon=True, name=self._name).start()
        return await asyncio.wrap_future(future)

    def _work_off(self) -> None:
        while (task := self._next()) is not None:
            task()

    def _next(self) -> Task | None:
        with self._work:
            self._idle += 1
            is_awaited = self._work.wait_for(lambda: self._tasks, IDLE_SECONDS)
            self._idle -= 1
            if is_awaited:
                return self._tasks.popleft()
            self._running -= 1
            return None


_all_work = Threads("work", 64)


async def in_thread(work: Callable[[], Value]) -> Value:
    """Do the work in a daemon thread and return what it returns, or raise what it raises."""
    return await _all_work.run(work)


def _finish(future: Future[Value], work: Callable[[], Value]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        future.set_result(work())
    except BaseException as error:  # noqa: BLE001 - raised again where the result is awaited
        future.set_exception(error)

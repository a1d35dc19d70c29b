"""Concurrent work: things of an event loop, threads for what blocks, work carried out to its end, slots, attempts."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Hashable, Iterable
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager
from functools import partial, wraps
from typing import Any, Concatenate, Generic, NamedTuple, ParamSpec, Protocol, TypeVar
from weakref import WeakValueDictionary

from langgraph.errors import GraphBubbleUp

from ..records.research import Value
from .errors import TIME_OVER, failure_of
from .logs import log_failure

Kept = TypeVar("Kept")
Task = Callable[[], None]
IDLE_SECONDS = 10.0
"""How long a thread waits for more work: to start one costs more than most of what it is given to do."""
Given = ParamSpec("Given")


class PerLoop(Generic[Kept]):
    """Makes one value for each event loop, when the loop first asks for it."""

    def __init__(self, make: Callable[[], Kept]) -> None:
        self._make = make
        self._kept: dict[asyncio.AbstractEventLoop, Kept] = {}
        self._lock = threading.Lock()

    def get(self) -> Kept:
        """Return the value of the running loop; raises `RuntimeError` without one."""
        loop = asyncio.get_running_loop()
        with self._lock:
            # What is kept may refer to its loop, so that weak references would never let go of it.
            for ended in [each for each in self._kept if each.is_closed()]:
                del self._kept[ended]
            if loop not in self._kept:
                self._kept[loop] = self._make()
            return self._kept[loop]


class Locks:
    """A lock for each name, kept as long as it is held or awaited."""

    def __init__(self) -> None:
        self._by_name = PerLoop(WeakValueDictionary[Hashable, asyncio.Lock])

    def alone(self, name: Hashable) -> asyncio.Lock:
        """Return the lock of this name on this event loop."""
        return self._by_name.get().setdefault(name, asyncio.Lock())


class Threads:
    """A pool of daemon threads for any event loop; idle ones end after a while.

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
        """Run the work in the caller's context when a thread is free; returns or raises what it does."""
        future: Future[Value] = Future()
        in_context = partial(contextvars.copy_context().run, work)
        with self._work:
            self._tasks.append(lambda: _finish(future, in_context))
            is_another_wanted = self._idle < len(self._tasks) and self._running < self._most
            self._running += is_another_wanted
            self._work.notify()
        if is_another_wanted:
            threading.Thread(target=self._work_off, daemon=True, name=self._name).start()
        return await asyncio.wrap_future(future)

    def _work_off(self) -> None:
        while True:
            with self._work:
                self._idle += 1
                is_awaited = self._work.wait_for(lambda: self._tasks, IDLE_SECONDS)
                self._idle -= 1
                if not is_awaited:
                    self._running -= 1
                    return
                task = self._tasks.popleft()
            task()


_all_work = Threads("work", 64)


async def in_thread(work: Callable[[], Value]) -> Value:
    """Run the work in a daemon thread; returns or raises what it does."""
    return await _all_work.run(work)


def _finish(future: Future[Value], work: Callable[[], Value]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        future.set_result(work())
    except BaseException as error:  # noqa: BLE001 - raised again where the result is awaited
        future.set_exception(error)


class ShieldedTasks:
    """Runs transactions to their end though their caller is cancelled: an open one would lock the file."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    async def do(self, work: Coroutine[Any, Any, Value]) -> Value:
        """Await the work; a cancellation reaches the caller alone."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return await asyncio.shield(task)

    async def end(self) -> None:
        """Wait for the works whose callers were cancelled."""
        await asyncio.gather(*self._tasks, return_exceptions=True)


class _Writer(Protocol):
    shielded: ShieldedTasks


Writer = TypeVar("Writer", bound=_Writer)


def shielded(
    method: Callable[Concatenate[Writer, Given], Coroutine[Any, Any, Value]],
) -> Callable[Concatenate[Writer, Given], Coroutine[Any, Any, Value]]:
    """Shield each call of the method from the cancellation of its caller."""

    @wraps(method)
    async def whole(self: Writer, /, *given: Given.args, **named: Given.kwargs) -> Value:
        return await self.shielded.do(method(self, *given, **named))

    return whole


_SLOTS = PerLoop(WeakValueDictionary[str, asyncio.Semaphore])


def slot(round_id: str, most: int) -> asyncio.Semaphore:
    """Return the round's `most` slots on this event loop, of which one is held first come first served."""
    return _SLOTS.get().setdefault(round_id, asyncio.Semaphore(most))


class Failed(NamedTuple):
    """The failure of an attempt."""

    reason: str
    """Why, in words for the reader."""
    is_late: bool
    """Whether the time was over."""


async def attempt(
    work: Coroutine[Any, Any, Value], seconds: float, booking: AbstractAsyncContextManager[None]
) -> Value | Failed:
    """Await the work for so many seconds and record its costs; raises only what stops the whole run."""
    if seconds <= 0:
        # A clock that has run out is noticed only where the work has to wait.
        work.close()
        return Failed(TIME_OVER, is_late=True)
    clock = asyncio.timeout(seconds)
    try:
        async with booking, clock:
            return await work
    except GraphBubbleUp:
        raise
    except Exception as error:  # noqa: BLE001 - whatever a model raises ends this researcher alone
        reason = TIME_OVER if clock.expired() else failure_of(error)
        log_failure(__name__, error, "A researcher goes on with what it has: %s", reason)
        return Failed(reason, is_late=clock.expired())


async def gather_or_cancel(works: Iterable[Coroutine[Any, Any, Value]]) -> list[Value]:
    """Await all works and return their results in order; if one raises or the caller is cancelled, all are."""
    tasks = [asyncio.create_task(work) for work in works]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

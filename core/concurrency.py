"""Concurrency: values per event loop, locks, threads, slots, work side by side, and long decoding
that lets other threads run."""

from __future__ import annotations

import asyncio
import base64
import contextvars
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Coroutine, Hashable, Iterable, Iterator
from concurrent.futures import Future
from typing import Any, Generic, NamedTuple, ParamSpec, TypeVar
from weakref import WeakValueDictionary

Item = TypeVar("Item")
Value = TypeVar("Value")
LoopValue = TypeVar("LoopValue")
_IDLE_SECONDS = 10.0
"""Idle seconds before a thread ends; starting a thread costs more than most of the work it runs."""
_PIECE_SECONDS = 0.1
"""Seconds after which a piece of work (`in_pieces`) ends."""
Arguments = ParamSpec("Arguments")
_BASE64_CHARACTERS = 1_000_000
"""Characters of base64 that are decoded at once; a multiple of four."""


class PerLoop(Generic[LoopValue]):
    """Holds one value for each event loop, made by `make` on first use and released after the loop
    is closed."""

    def __init__(self, make: Callable[[], LoopValue]) -> None:
        self._make = make
        self._values: dict[asyncio.AbstractEventLoop, LoopValue] = {}
        self._lock = threading.Lock()

    def get(self) -> LoopValue:
        """Return the value of the running loop; raises `RuntimeError` if no loop is running."""
        loop = asyncio.get_running_loop()
        with self._lock:
            # A value may refer to its loop, so weak references would never be released.
            for closed in [known for known in self._values if known.is_closed()]:
                del self._values[closed]
            if loop not in self._values:
                self._values[loop] = self._make()
            return self._values[loop]


class Locks:
    """Locks by name, for each event loop; a lock exists only while it is held or awaited."""

    def __init__(self) -> None:
        self._by_name = PerLoop(WeakValueDictionary[Hashable, asyncio.Lock])

    def lock(self, name: Hashable) -> asyncio.Lock:
        """Return the running event loop's lock with this name."""
        return self._by_name.get().setdefault(name, asyncio.Lock())


class Threads:
    """A pool of daemon threads for any event loop; idle threads end after `_IDLE_SECONDS`.

    Unlike the event loop's own pool, daemon threads let the program exit at once after a
    cancellation. Work that is cancelled while it waits for a thread never starts.
    """

    def __init__(self, name: str, limit: int) -> None:
        self._name = name
        self._limit = limit
        self._running = self._idle = 0
        self._tasks: deque[Callable[[], None]] = deque()
        self._work = threading.Condition()

    async def run(
        self, work: Callable[Arguments, Value], /, *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Value:
        """Run the work in a free thread with the caller's context; returns its result or raises its
        error."""
        future: Future[Value] = Future()
        context = contextvars.copy_context()

        def finish() -> None:
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(context.run(work, *args, **kwargs))
                except BaseException as error:  # noqa: BLE001 - raised again where the result is awaited
                    future.set_exception(error)

        with self._work:
            self._tasks.append(finish)
            needs_thread = self._idle < len(self._tasks) and self._running < self._limit
            if needs_thread:
                self._running += 1
            self._work.notify()
        if needs_thread:
            threading.Thread(target=self._work_off, daemon=True, name=self._name).start()
        return await asyncio.wrap_future(future)

    def _work_off(self) -> None:
        while True:
            with self._work:
                self._idle += 1
                has_task = self._work.wait_for(lambda: self._tasks, _IDLE_SECONDS)
                self._idle -= 1
                if not has_task:
                    self._running -= 1
                    return
                task = self._tasks.popleft()
            task()


_all_work = Threads("work", 64)


async def in_thread(
    work: Callable[Arguments, Value], /, *args: Arguments.args, **kwargs: Arguments.kwargs
) -> Value:
    """Run the work in a daemon thread; returns its result or raises its error."""
    return await _all_work.run(work, *args, **kwargs)


async def in_pieces(work: Callable[[Item], Value], items: Collection[Item]) -> list[Value]:
    """Return the results of the work on all items, in order, computed in a thread in pieces of
    about `_PIECE_SECONDS`; if the caller is cancelled, no further piece begins."""
    remaining = iter(items)
    results = list[Value]()
    is_done = not items
    while not is_done:
        is_done = await asyncio.to_thread(_add_piece, work, remaining, results)
    return results


def _add_piece(
    work: Callable[[Item], Value], remaining: Iterator[Item], results: list[Value]
) -> bool:
    """Add the results of the work on the next items; return whether none is left."""
    end = time.monotonic() + _PIECE_SECONDS
    for item in remaining:
        results.append(work(item))
        if time.monotonic() > end:
            return False
    return True


_slots = PerLoop(WeakValueDictionary[str, asyncio.Semaphore])


def slot(name: str, most: int) -> asyncio.Semaphore:
    """Return this event loop's semaphore with this name; it is created with `most` slots on first
    use."""
    return _slots.get().setdefault(name, asyncio.Semaphore(most))


class Failed(NamedTuple):
    """What a researcher or step has instead of a result; see `attempt` in `nodes/turn.py`."""

    reason: str
    """Reason for the failure, worded for the reader."""
    is_late: bool
    """Whether it ran out of time."""


async def gather_or_cancel(works: Iterable[Coroutine[Any, Any, Value]]) -> list[Value]:
    """Return the results of all coroutines, run in parallel, in their order.

    If one fails or the caller is cancelled, the others are cancelled and waited for, and the error
    is raised.
    """
    tasks = [asyncio.create_task(work) for work in works]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def decode_base64(text: str) -> bytes:
    """Decode base64 in a thread that others share; raises `ValueError` for any other text.

    Decoding holds the interpreter, so it is done in pieces, between which the event loop runs.
    """
    pieces = list[bytes]()
    for start in range(0, len(text), _BASE64_CHARACTERS):
        piece = text[start : start + _BASE64_CHARACTERS]
        is_last = start + _BASE64_CHARACTERS >= len(text)
        if "=" in piece and not is_last:
            raise ValueError("Padding is allowed only at the end of base64.")
        pieces.append(base64.b64decode(piece, validate=True))
    return b"".join(pieces)

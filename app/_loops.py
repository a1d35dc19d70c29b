"""Runs coroutines and async iterators on another thread's event loop, such as the background loop
for sync callers."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from functools import cache
from typing import Any, NamedTuple, TypeVar

Value = TypeVar("Value")
CANCEL_SECONDS = 2.0
"""Seconds to wait for a run to stop when its caller leaves the stream early."""


class StreamEnd(NamedTuple):
    """Last item that `pump` passes on, with the error that ended the stream, if one did."""

    error: BaseException | None = None


@cache
def background_loop() -> asyncio.AbstractEventLoop:
    """Return the event loop of a background thread, which the first call starts; one for the whole
    process."""
    loop = asyncio.new_event_loop()
    is_running = threading.Event()
    loop.call_soon(is_running.set)
    threading.Thread(target=loop.run_forever, name="deep-research", daemon=True).start()
    # Until its thread has started, the loop looks like a stopped one.
    is_running.wait()
    return loop


def wait_for(coroutine: Coroutine[Any, Any, Value], loop: asyncio.AbstractEventLoop) -> Value:
    """Run a coroutine on another thread's loop and wait for its result; Ctrl-C in the meantime
    cancels it."""
    future = asyncio.run_coroutine_threadsafe(coroutine, loop)
    try:
        return future.result()
    except BaseException:  # Ctrl-C must also stop the work on the other thread
        future.cancel()
        raise


async def hand_over(
    coroutine: Coroutine[Any, Any, Value], loop: asyncio.AbstractEventLoop
) -> Value:
    """Run a coroutine on another thread's loop and await its result."""
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(coroutine, loop))


def iterate(
    make: Callable[[], AsyncIterator[Value]], loop: asyncio.AbstractEventLoop
) -> Iterator[Value]:
    """Iterate over the stream that `make` returns, running it on another thread's loop; leaving
    early cancels it."""
    items: queue.SimpleQueue[Any] = queue.SimpleQueue()
    stop = _start(make, items.put, loop)
    try:
        while not isinstance(item := items.get(), StreamEnd):
            yield item
        if item.error:
            raise item.error
    finally:
        stop()


async def aiterate(
    make: Callable[[], AsyncIterator[Value]], loop: asyncio.AbstractEventLoop
) -> AsyncIterator[Value]:
    """Iterate like `iterate`, for async callers."""
    items: asyncio.Queue[Any] = asyncio.Queue()
    here = asyncio.get_running_loop()
    stop = _start(make, lambda item: here.call_soon_threadsafe(items.put_nowait, item), loop)
    try:
        while not isinstance(item := await items.get(), StreamEnd):
            yield item
        if item.error:
            raise item.error
    finally:
        await asyncio.to_thread(stop)


def _start(
    make: Callable[[], AsyncIterator[Value]],
    put: Callable[[Any], object],
    loop: asyncio.AbstractEventLoop,
) -> Callable[[], object]:
    """Start to `pump` a stream into `put` on another thread's loop; return a function that stops it
    and waits."""
    ended = threading.Event()

    async def work() -> None:
        try:
            await pump(make(), put)
        finally:
            ended.set()

    def stop() -> object:
        running.cancel()
        return ended.wait(CANCEL_SECONDS)

    # Runs in a copy of the caller's context variables.
    running = asyncio.run_coroutine_threadsafe(work(), loop)
    return stop


async def pump(stream: AsyncIterator[Any], put: Callable[[Any], object]) -> None:
    """Pass each value of a stream to `put`, then a `StreamEnd`."""
    try:
        async for value in stream:
            put(value)
        put(StreamEnd())
    except BaseException as error:  # noqa: BLE001 - raised again where the stream is read
        put(StreamEnd(error))

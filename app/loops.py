"""Coroutines and streams on another thread's event loop, such as one in the background for sync callers."""

from __future__ import annotations

import asyncio
import contextvars
import queue
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from functools import cache
from typing import Any, TypeVar

Value = TypeVar("Value")
Item = tuple[Any, BaseException | None, bool]
"""A value, or what ended the stream, or that it came to its end."""

CANCEL_SECONDS = 2.0
"""Seconds to wait for a run to stop when its stream is left early."""


@cache
def background_loop() -> asyncio.AbstractEventLoop:
    """Return the loop in the background, started when it is first needed."""
    loop, is_running = asyncio.new_event_loop(), threading.Event()
    loop.call_soon(is_running.set)
    threading.Thread(target=loop.run_forever, name="deep-research", daemon=True).start()
    # A loop whose thread has not had its turn yet looks like one that has ended.
    is_running.wait()
    return loop


def wait_for(coroutine: Coroutine[Any, Any, Value], loop: asyncio.AbstractEventLoop) -> Value:
    """Run a coroutine on another thread's loop and wait for its result; an interruption cancels it."""
    future = asyncio.run_coroutine_threadsafe(coroutine, loop)
    try:
        return future.result()
    except BaseException:  # Ctrl-C as well has to stop what runs on the other thread
        future.cancel()
        raise


async def hand_over(coroutine: Coroutine[Any, Any, Value], loop: asyncio.AbstractEventLoop) -> Value:
    """Await a coroutine that has to run on another thread's loop."""
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(coroutine, loop))


def iterate(make: Callable[[], AsyncIterator[Value]], loop: asyncio.AbstractEventLoop) -> Iterator[Value]:
    """Iterate over what another thread's loop produces; leaving early cancels it."""
    items: queue.SimpleQueue[Item] = queue.SimpleQueue()
    stop = _start(make, items.put, loop)
    try:
        while True:
            value, error, is_last = items.get()
            if error:
                raise error
            if is_last:
                return
            yield value
    finally:
        stop()


async def aiterate(make: Callable[[], AsyncIterator[Value]], loop: asyncio.AbstractEventLoop) -> AsyncIterator[Value]:
    """Iterate asynchronously over what another thread's loop produces; leaving early cancels it."""
    items: asyncio.Queue[Item] = asyncio.Queue()
    here = asyncio.get_running_loop()
    stop = _start(make, lambda item: here.call_soon_threadsafe(items.put_nowait, item), loop)
    try:
        while True:
            value, error, is_last = await items.get()
            if error:
                raise error
            if is_last:
                return
            yield value
    finally:
        await asyncio.to_thread(stop)


def _start(
    make: Callable[[], AsyncIterator[Value]], put: Callable[[Item], object], loop: asyncio.AbstractEventLoop
) -> Callable[[], object]:
    ended = threading.Event()
    tasks: list[asyncio.Task[None]] = []
    context = contextvars.copy_context()

    async def work() -> None:
        try:
            await pump(make(), put)
        finally:
            ended.set()

    loop.call_soon_threadsafe(lambda: tasks.append(loop.create_task(work(), context=context)))

    def stop() -> object:
        loop.call_soon_threadsafe(lambda: [task.cancel() for task in tasks])
        return ended.wait(CANCEL_SECONDS)

    return stop


async def pump(stream: AsyncIterator[Any], put: Callable[[Item], object]) -> None:
    """Hand on what a stream brings, and how it ends."""
    try:
        async for value in stream:
            put((value, None, False))
        put((None, None, True))
    except BaseException as error:  # noqa: BLE001 - whatever ends the stream is raised where it is read
        put((None, error, True))

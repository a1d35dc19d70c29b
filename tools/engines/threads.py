"""Runs libraries that block, without holding up anything else."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future

from deep_research.state import Value


async def in_thread(work: Callable[[], Value]) -> Value:
    """Do the work in a thread of its own and return what it returns, or raise what it raises.

    The thread is a daemon: whoever gives up waiting for it can end the program at once, which threads of the event
    loop's pool prevent.
    """
    future: Future[Value] = Future()

    def run() -> None:
        if not future.set_running_or_notify_cancel():
            return
        try:
            future.set_result(work())
        except BaseException as error:  # noqa: BLE001 - raised again where the result is awaited
            future.set_exception(error)

    threading.Thread(target=run, daemon=True, name="search").start()
    return await asyncio.wrap_future(future)

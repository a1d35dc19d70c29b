"""Ctrl-C and SIGTERM end a run in order if it can be done soon, and at once if not."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Callable, Coroutine
from typing import Any, NoReturn, TypeVar

from .exit_codes import INTERRUPTED
from .terminal import is_terminal

Value = TypeVar("Value")

STOP_SECONDS = 1.2
"""Seconds that a run has to end in order; checkpoints on disk are whole at any moment."""
STOPPING = (signal.SIGINT, signal.SIGTERM)
"""Ctrl-C, and what service managers and `kill` send."""
SHOW_CURSOR = "\x1b[?25h"


def run_interruptibly(work: Coroutine[Any, Any, Value], last_words: Callable[[], str]) -> Value:
    """Run a coroutine on a loop of its own; Ctrl-C or SIGTERM cancels it and raises `KeyboardInterrupt`.

    What does not stop by itself, such as a parser at work in a thread, is given up after `STOP_SECONDS` or a second
    signal: the process ends with `last_words`, which are asked for then.
    """
    before, is_stopped = {each: signal.getsignal(each) for each in STOPPING}, threading.Event()
    clock = threading.Timer(STOP_SECONDS, _end, (last_words,))
    clock.daemon = True

    async def main() -> Value:
        task, loop = asyncio.current_task(), asyncio.get_running_loop()
        assert task is not None

        def stop(*_: object) -> None:
            if is_stopped.is_set():
                _end(last_words)
            is_stopped.set()
            clock.start()
            loop.call_soon_threadsafe(task.cancel)

        for each in STOPPING:
            if before[each] is not signal.SIG_IGN:
                signal.signal(each, stop)
        return await work

    try:
        return asyncio.run(main())
    except BaseException as error:
        if is_stopped.is_set():
            raise KeyboardInterrupt from error
        raise
    finally:
        clock.cancel()
        for each in STOPPING:
            signal.signal(each, before[each])


def _end(last_words: Callable[[], str]) -> NoReturn:
    # Neither streams nor locks can be relied on here: the main thread may be in the middle of using them.
    cursor = SHOW_CURSOR if is_terminal(sys.stderr) else ""
    try:
        os.write(2, f"{cursor}\n{last_words()}\n".encode(errors="replace"))
    finally:
        os._exit(INTERRUPTED)

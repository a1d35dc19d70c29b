"""Python runs this when it starts, if it is on its path: each host that the process reaches for
goes into a file.

The process may also have a time of day of its own, and LangGraph's server looks for runs more often
than it would.
"""

from __future__ import annotations

import os
import sys
import time
from typing import Any

LOG = "WATCH_LOG"
"""Environment variable that names the file; a line is a host and its port, or a name that was
looked up."""

SHIFT = "CLOCK_SHIFT"
"""Environment variable with the seconds by which the process's time of day is off."""
LOOK_SECONDS = 0.05


def shift_clock(seconds: int) -> None:
    now, now_ns = time.time, time.time_ns
    time.time = lambda: now() + seconds
    time.time_ns = lambda: now_ns() + seconds * 10**9


def hurry_queue() -> None:
    """Each run would wait for the half second after which the server looks for runs again."""
    import asyncio

    sleep = asyncio.sleep

    def hurried(delay: float, *result: Any) -> Any:
        is_queue = sys._getframe(1).f_globals.get("__name__") == "langgraph_runtime_inmem.ops"
        return sleep(min(delay, LOOK_SECONDS) if is_queue else delay, *result)

    asyncio.sleep = hurried  # type: ignore[assignment]  # of the two forms, one is overloaded


def note(*address: object) -> None:
    if LOG not in os.environ:
        return
    with open(os.environ[LOG], "a", encoding="utf-8") as log:  # noqa: PTH123 - pathlib would slow down every start
        log.write(":".join(map(str, address)) + "\n")


def hear(event: str, arguments: tuple[Any, ...]) -> None:
    if event in ("socket.getaddrinfo", "socket.gethostbyname"):
        note(arguments[0])
    elif event in ("socket.connect", "socket.sendto", "socket.sendmsg") and isinstance(
        arguments[1], tuple
    ):
        note(*arguments[1][:2])


def watch_loop() -> None:
    """The server's loop looks up and connects in C, where no audit hook hears of it."""
    from uvloop import Loop

    def heard(name: str, first: int) -> None:
        method = getattr(Loop, name)

        def hearing(loop: Any, *given: Any, **settings: Any) -> Any:
            target = given[first : first + 2]
            if target:
                note(*(target[0][:2] if isinstance(target[0], tuple) else target))
            return method(loop, *given, **settings)

        setattr(Loop, name, hearing)

    heard("create_connection", 1)
    heard("sock_connect", 1)
    heard("getaddrinfo", 0)


shift_clock(int(os.environ.get(SHIFT, "0")))
sys.addaudithook(hear)
if any(word.endswith("/langgraph") for word in sys.orig_argv):
    watch_loop()
    hurry_queue()

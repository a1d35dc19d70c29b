"""The children that parse web pages: shared by all readers of the process, ended when nobody needs them for a while."""

from __future__ import annotations

import atexit
import os
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

from ..run.threads import Threads
from .extract import Parser
from .fetch import Fetched
from .records import Extract, Unreadable

CHILDREN = 4
"""Most children for all readers with the same limits: those kept busy by hostile pages must not stop the rest."""
IDLE_SECONDS = 60.0
"""How long children wait for the next reader: starting one costs as much as parsing thirty pages."""

_SAMPLE = b"<html><body>%b</body></html>" % (b"<p>A page as long as it takes to have all libraries loaded.</p>" * 50)


@dataclass(eq=False)
class _Shared:
    parser: Parser
    threads: Threads = field(default_factory=lambda: Threads("parse", CHILDREN))
    users: int = 0
    end: threading.Timer | None = None


_lock = threading.Lock()
_shared: dict[tuple[float, int], _Shared] = {}


class Parsers:
    """One reader's part in the children; they are started when there is something to parse."""

    def __init__(self, seconds: float, max_bytes: int, idle_seconds: float = IDLE_SECONDS) -> None:
        """`seconds` are those of one page; for `idle_seconds` the children outlast the last reader."""
        self._limits, self._idle_seconds = (seconds, max_bytes), idle_seconds
        self._used: _Shared | None = None

    def open(self) -> None:
        """Take part."""
        with _lock:
            if self._limits not in _shared:
                _shared[self._limits] = _Shared(Parser(*self._limits, CHILDREN))
            self._used = _shared[self._limits]
            self._used.users += 1
            if self._used.end:
                self._used.end.cancel()

    def close(self) -> None:
        """Take part no longer."""
        used, self._used = self._used, None
        if used is None:
            return
        with _lock:
            used.users -= 1
            if not used.users:
                used.end = threading.Timer(self._idle_seconds, _end, (self._limits, used))
                used.end.daemon = True
                used.end.start()

    def start_early(self) -> None:
        """Have a child started for each processor, so that the first pages need not wait for it; returns at once."""
        for _ in range(min(CHILDREN, os.cpu_count() or 1)):
            threading.Thread(target=self._start_one, daemon=True, name="parse").start()

    def _start_one(self) -> None:
        other = Parsers(*self._limits, self._idle_seconds)
        other.open()
        assert other._used is not None
        try:
            with suppress(Unreadable):
                other._used.parser.parse(_SAMPLE, "sample.html", "html")
        finally:
            other.close()

    async def parse(self, fetched: Fetched, name: str) -> Extract:
        """Parse a page when a child is free. Raises `Unreadable`."""
        assert self._used is not None
        work = partial(self._used.parser.parse, fetched.data, name, fetched.kind, fetched.charset, fetched.address)
        return await self._used.threads.run(work)


def _end(limits: tuple[float, int], shared: _Shared) -> None:
    """End the children, at once also those that still parse, unless somebody has come to use them."""
    with _lock:
        if shared.users or _shared.get(limits) is not shared:
            return
        del _shared[limits]
    shared.parser.close()


@atexit.register
def _end_all() -> None:
    with _lock:
        ended = [*_shared.values()]
        _shared.clear()
    for shared in ended:
        shared.parser.close()

"""The children that parse web pages, shared by all readers of the process for as long as there is one."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from functools import partial

from ..run.threads import Threads, in_thread
from .extract import Parser
from .fetch import Fetched
from .records import Extract

CHILDREN = 4
"""Most children for all readers with the same limits: those kept busy by hostile pages must not stop the rest."""


@dataclass(eq=False)
class _Shared:
    parser: Parser
    threads: Threads = field(default_factory=lambda: Threads("parse", CHILDREN))
    users: int = 0


_lock = threading.Lock()
_shared: dict[tuple[float, int], _Shared] = {}


class Parsers:
    """One reader's part in the children; they are started when there is something to parse."""

    def __init__(self, seconds: float, max_bytes: int) -> None:
        self._limits = (seconds, max_bytes)
        self._used: _Shared | None = None

    def open(self) -> None:
        """Take part."""
        with _lock:
            if self._limits not in _shared:
                _shared[self._limits] = _Shared(Parser(*self._limits, CHILDREN))
            self._used = _shared[self._limits]
            self._used.users += 1

    async def close(self) -> None:
        """Take part no longer; the last one ends the children, at once also those that still parse."""
        used, self._used = self._used, None
        if used is None:
            return
        with _lock:
            used.users -= 1
            if used.users:
                return
            del _shared[self._limits]
        await in_thread(used.parser.close)

    async def parse(self, fetched: Fetched, name: str) -> Extract:
        """Parse a page when a child is free. Raises `Unreadable`."""
        assert self._used is not None
        work = partial(self._used.parser.parse, fetched.data, name, fetched.kind, fetched.charset, fetched.address)
        return await self._used.threads.run(work)

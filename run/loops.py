"""Things that belong to an event loop, such as locks and connections: one of each a loop, forgotten with it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Hashable
from contextlib import asynccontextmanager
from typing import Generic, TypeVar
from weakref import WeakValueDictionary

Kept = TypeVar("Kept")


class PerLoop(Generic[Kept]):
    """Makes a thing when a loop first asks for it, and gives the same one from then on."""

    def __init__(self, make: Callable[[], Kept]) -> None:
        self._make = make
        self._kept: dict[asyncio.AbstractEventLoop, Kept] = {}
        self._lock = threading.Lock()

    def get(self) -> Kept:
        """The thing of the running loop; raises `RuntimeError` where none runs."""
        loop = asyncio.get_running_loop()
        with self._lock:
            # What is kept may refer to its loop, so that weak references would never let go of it.
            for ended in [each for each in self._kept if each.is_closed()]:
                del self._kept[ended]
            if loop not in self._kept:
                self._kept[loop] = self._make()
            return self._kept[loop]


class Locks:
    """A lock for each name, as long as somebody holds it or waits for it."""

    def __init__(self) -> None:
        self._by_name = PerLoop(WeakValueDictionary[Hashable, asyncio.Lock])

    @asynccontextmanager
    async def alone(self, name: Hashable) -> AsyncIterator[None]:
        """Nobody else on this event loop works on what bears this name meanwhile."""
        locks = self._by_name.get()
        lock = locks.get(name)
        if lock is None:
            lock = locks[name] = asyncio.Lock()
        async with lock:
            yield

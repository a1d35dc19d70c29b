"""How often an engine is asked: one measure for all researchers that share an event loop."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from weakref import WeakKeyDictionary

from deep_research.tools.engines.engine import EngineBusy, EngineFailed, Found, SearchEngine
from deep_research.tools.engines.failures import too_slow

LONGEST_PAUSE = 600.0
"""Seconds after which an engine is asked anew, whatever it has said: a process may live for months."""


class _Pace:
    """What one engine allows."""

    def __init__(self) -> None:
        self.places: asyncio.Semaphore | None = None
        self.next_at = 0.0
        self.paused_until = 0.0

    def at_once(self, engine: SearchEngine) -> asyncio.Semaphore:
        self.places = self.places or asyncio.Semaphore(engine.parallel)
        return self.places


_paces: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, _Pace]] = WeakKeyDictionary()


async def ask(engine: SearchEngine, query: str, count: int, seconds: float) -> list[Found]:
    """Let the engine search, in its turn, for at most so many seconds; raises `EngineFailed`.

    A busy engine is asked once more if the wait that it names fits into the seconds. That wait holds for everybody;
    waiting for a turn does not count.
    """
    loop = asyncio.get_running_loop()
    pace = _paces.setdefault(loop, defaultdict(_Pace))[engine.name]
    async with pace.at_once(engine):
        await asyncio.sleep(pace.next_at - loop.time())
        end = loop.time() + seconds
        try:
            async with asyncio.timeout_at(end):
                return await _ask_twice(engine, query, count, pace, end)
        except TimeoutError:
            raise too_slow(engine.title, seconds) from None
        finally:
            pace.next_at = loop.time() + engine.gap


async def _ask_twice(engine: SearchEngine, query: str, count: int, pace: _Pace, end: float) -> list[Found]:
    for is_last in (False, True):
        await _sit_out(engine, pace, end)
        try:
            return await engine.search(query, count)
        except EngineBusy as busy:
            wait = min(busy.seconds, LONGEST_PAUSE)
            pace.paused_until = max(pace.paused_until, asyncio.get_running_loop().time() + wait)
            if is_last:
                raise
    raise AssertionError("the second failure was raised")


async def _sit_out(engine: SearchEngine, pace: _Pace, end: float) -> None:
    now = asyncio.get_running_loop().time()
    if pace.paused_until > end:
        wait = pace.paused_until - now
        words = f"{engine.title} asks to wait {wait:.0f} s, longer than a search may take (search_seconds)."
        raise EngineFailed(words, "search_seconds", is_lasting=True)
    await asyncio.sleep(pace.paused_until - now)

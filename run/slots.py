"""Lets only so many steps of a round work at a time; a waiting one starts as soon as another has ended."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

from .loops import PerLoop

_SLOTS = PerLoop(WeakValueDictionary[str, asyncio.Semaphore])


@asynccontextmanager
async def slot(round_id: str, most: int) -> AsyncIterator[None]:
    """Wait for one of the round's `most` slots, first come first served, and hold it."""
    rounds = _SLOTS.get()
    slots = rounds.get(round_id)
    if slots is None:
        slots = rounds[round_id] = asyncio.Semaphore(most)
    async with slots:
        yield

"""What belongs to an event loop is made once for it and forgotten with it."""

from __future__ import annotations

import asyncio
import gc
import weakref

from deep_research.core.run.concurrency import PerLoop


def test_each_loop_has_its_own_and_a_loop_that_has_ended_is_let_go() -> None:
    locks = PerLoop(asyncio.Lock)
    ended: list[weakref.ref[asyncio.AbstractEventLoop]] = []

    async def contend() -> asyncio.Lock:
        ended.append(weakref.ref(asyncio.get_running_loop()))

        async def hold() -> None:
            async with locks.get():
                await asyncio.sleep(0)

        # A lock that was waited for refers to its loop.
        await asyncio.gather(hold(), hold())
        assert locks.get() is locks.get()
        return locks.get()

    for _ in range(3):
        asyncio.run(contend())
    gc.collect()
    assert sum(loop() is not None for loop in ended) <= 1

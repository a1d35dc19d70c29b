"""Several things done at the same time, of which none outlives the others."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any

from ..channels import Value


async def together(works: Iterable[Coroutine[Any, Any, Value]]) -> list[Value]:
    """What all of them bring, in their order; if one raises or nobody waits any more, none goes on."""
    tasks = [asyncio.create_task(work) for work in works]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

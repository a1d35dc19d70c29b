"""What a researcher tries within its time: it succeeds, fails alone, or stops the whole run."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import AbstractAsyncContextManager
from typing import Any, NamedTuple

from langgraph.errors import GraphBubbleUp

from ..channels import Value
from .errors import TIME_OVER, failure_of


class Failed(NamedTuple):
    """That it brought nothing."""

    reason: str
    """Why, in words for the reader."""
    is_late: bool
    """Whether the time was over."""


async def tried(
    work: Coroutine[Any, Any, Value], seconds: float, booking: AbstractAsyncContextManager[None]
) -> Value | Failed:
    """What the work brings in so many seconds, its costs booked; raises what stops the whole run."""
    if seconds <= 0:
        # A clock that has run out is noticed only where the work has to wait.
        work.close()
        return Failed(TIME_OVER, is_late=True)
    clock = asyncio.timeout(seconds)
    try:
        async with booking, clock:
            return await work
    except GraphBubbleUp:
        raise
    except Exception as error:  # noqa: BLE001 - whatever a model raises ends this researcher alone
        return Failed(TIME_OVER if clock.expired() else failure_of(error), clock.expired())

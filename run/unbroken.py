"""Work that is carried out to its end, though the task that asked for it is cancelled meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from ..channels import Value

Given = ParamSpec("Given")


class Unbroken:
    """Carries out transactions: one that was broken off in its middle would stay open and lock the file."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    async def do(self, work: Coroutine[Any, Any, Value]) -> Value:
        """What the work brings; a cancellation reaches the caller alone."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return await asyncio.shield(task)

    async def end(self) -> None:
        """Wait for all that nobody waits for any more."""
        await asyncio.gather(*self._tasks, return_exceptions=True)


class _Writer(Protocol):
    unbroken: Unbroken


Writer = TypeVar("Writer", bound=_Writer)


def unbroken(
    method: Callable[Concatenate[Writer, Given], Coroutine[Any, Any, Value]],
) -> Callable[Concatenate[Writer, Given], Coroutine[Any, Any, Value]]:
    """Have each call of the method carried out to its end."""

    @wraps(method)
    async def whole(self: Writer, /, *given: Given.args, **named: Given.kwargs) -> Value:
        return await self.unbroken.do(method(self, *given, **named))

    return whole

"""Writes that finish even if their caller is cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

Arguments = ParamSpec("Arguments")
Value = TypeVar("Value")


class ShieldedTasks:
    """Runs transactions that must finish even if their caller is cancelled: an open one would lock
    the file."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    async def do(self, work: Coroutine[Any, Any, Value]) -> Value:
        """Return the result of the work; if the caller is cancelled meanwhile, the work goes on
        without it."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return await asyncio.shield(task)

    async def end(self) -> None:
        """Wait until all work has finished, including that whose caller was cancelled."""
        await asyncio.gather(*self._tasks, return_exceptions=True)


def shielded(
    method: Callable[Concatenate[Any, Arguments], Coroutine[Any, Any, Value]],
) -> Callable[Concatenate[Any, Arguments], Coroutine[Any, Any, Value]]:
    """Decorator: runs each call of an async method through the `ShieldedTasks` in its object's
    `shielded`."""

    @wraps(method)
    async def shielded_method(
        self: Any, /, *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Value:
        result: Value = await self.shielded.do(method(self, *args, **kwargs))
        return result

    return shielded_method

"""Makes calls of one run with patience, and a sleep that takes no time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk

from deep_research.core.models.resolve import resolve_model
from deep_research.core.models.retries import RetryBudget
from deep_research.core.run.context import Context
from deep_research.core.run.limits import Limits

Start = Callable[[], AsyncGenerator[AIMessage, None]]
MODEL = "fake-1"


class Nap:
    """A sleep that only counts."""

    def __init__(self) -> None:
        self.time = 0.0
        self.naps: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.naps.append(seconds)
        await asyncio.sleep(0.001)
        self.time += seconds


class Caller:
    """Makes calls of one run with patience."""

    def __init__(self, **limits: float) -> None:
        self.nap = Nap()
        self.patience = RetryBudget(Limits.model_validate(limits), self.nap, lambda: 0.0)
        self.waits: list[tuple[float, str]] = []
        self.voids = 0

    async def __call__(self, start: Start, *, may_repeat: bool = False, model: str = MODEL) -> str:
        text = ""
        stream = self.patience.stream(
            start, model, may_repeat=lambda: may_repeat, on_wait=lambda *wait: self.waits.append(wait)
        )
        async for part in stream:
            self.voids += part is None
            text = "" if part is None else text + part.text
        return text


def at(url: str, monkeypatch: pytest.MonkeyPatch) -> Start:
    """A call of the model at this address."""
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    context = Context(models=f"openai:{MODEL}")

    async def start() -> AsyncGenerator[AIMessage, None]:
        async for part in resolve_model("planner", context).astream("What is known?"):
            yield part

    return start


def scripted(*tries: Any) -> Start:
    """A call whose tries are given: words, and errors in their place."""
    left = list(tries)

    async def start() -> AsyncGenerator[AIMessage, None]:
        for step in left.pop(0):
            if isinstance(step, Exception):
                raise step
            yield AIMessageChunk(content=step)

    return start

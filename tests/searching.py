"""What a tool is called in, in a new thread, and an engine that answers by a script."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from langgraph.store.memory import InMemoryStore

from deep_research.core.run.context import Context
from deep_research.core.run.limits import Limits
from deep_research.core.run.store.pages import Pages
from deep_research.tools.engine import Found
from deep_research.tools.tool import Meter, ToolContext


class Shelf:
    """An engine that has the same answer for every query; an error in it is raised."""

    title = "Shelf"
    parallel, gap = 4, 0.0

    def __init__(self, name: str, *found: Any, seconds: float = 0.0) -> None:
        """`found` is what it answers, whatever its type; `seconds` is the time that it takes."""
        self.name, self.found, self.seconds = name, list(found), seconds
        self.asked: list[str] = []

    async def search(self, query: str, count: int) -> list[Found]:
        self.asked.append(query)
        await asyncio.sleep(self.seconds)
        if self.found and isinstance(self.found[0], Exception):
            raise self.found[0]
        return cast("list[Found]", self.found)


def new_tool_context(store: InMemoryStore | None = None, question: str = "question", **seen: Any) -> ToolContext:
    """A thread of its own, unless a store is given."""
    return ToolContext(Pages(store or InMemoryStore(), "thread"), question, **{"meter": Meter(), **seen})


def settings(*, limits: dict[str, Any] | None = None, **values: Any) -> Context:
    """Settings with some limits."""
    return Context(limits=Limits.model_validate(limits or {}), **values)

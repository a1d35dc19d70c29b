"""Keeps what calls have cost in nodes that fail or are stopped: LangGraph stores nothing of what those write."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from deep_research.run.pages import Pages
from deep_research.state import Spent


@asynccontextmanager
async def booked(pages: Pages, question_id: str, costs: Mapping[str, Spent]) -> AsyncIterator[None]:
    """Note down the `costs`, which grow within, if what is done within fails or is stopped."""
    try:
        yield
    except BaseException:
        if costs:
            await _note(pages, question_id, costs)
        raise


async def owed(pages: Pages, question_id: str) -> dict[str, Spent]:
    """What was noted down for this question, by the same keys each time."""
    noted = await pages.noted(_name(question_id)) or {}
    return {key: Spent.model_validate(spent) for key, spent in noted.items()}


async def _note(pages: Pages, question_id: str, costs: Mapping[str, Spent]) -> None:
    name = _name(question_id)
    async with pages.alone(name):
        noted = await pages.noted(name) or {}
        await pages.note({name: {**noted, **{key: spent.model_dump() for key, spent in costs.items()}}})


def _name(question_id: str) -> str:
    return f"costs of {question_id}"

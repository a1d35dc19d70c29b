"""Keeps what calls have cost in nodes that fail or are stopped: LangGraph stores nothing of what those write."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from deep_research.run.pages import Pages
from deep_research.state import Run, Spent


@dataclass
class Bill:
    """Grows while calls are made, those included that break off."""

    costs: dict[str, Spent] = field(default_factory=dict)
    """What each has cost, under a key of its own."""
    seconds: float = 0.0
    """Seconds that all have taken."""

    def add(self, spent: Spent) -> None:
        """Enter what one more call has cost."""
        self.costs[uuid.uuid4().hex] = spent


class Owed(NamedTuple):
    """What was noted down for a question."""

    costs: dict[str, Spent]
    """By the same keys each time."""
    seconds: float
    """Seconds of its nodes, those of researchers left out."""

    def settled(self, run: Run) -> Run:
        """The run with the seconds of all that failed, however often they are added."""
        # Where texts are not kept as long as checkpoints, the notes are gone.
        lost = max(self.seconds, run.lost_seconds)
        return run.model_copy(
            update={"active_seconds": run.active_seconds - run.lost_seconds + lost, "lost_seconds": lost}
        )


@asynccontextmanager
async def booked(pages: Pages, question_id: str, bill: Bill, *, is_branch: bool = False) -> AsyncIterator[None]:
    """Note down the bill if what is done within fails or is stopped.

    `is_branch`: it is a researcher's. Its costs are noted in any case, since they reach the run with its finding only,
    and its time passes beside that of others and is none of the run's own.
    """
    try:
        yield
    except BaseException:
        await _note(pages, question_id, bill.costs, 0.0 if is_branch else bill.seconds)
        raise
    if is_branch:
        await _note(pages, question_id, bill.costs, 0.0)


async def owed(pages: Pages, question_id: str) -> Owed:
    """What was noted down for this question."""
    noted = await pages.noted(_name(question_id)) or {"costs": {}, "seconds": 0.0}
    costs = {key: Spent.model_validate(spent) for key, spent in noted["costs"].items()}
    return Owed(costs, noted["seconds"])


async def _note(pages: Pages, question_id: str, costs: Mapping[str, Spent], seconds: float) -> None:
    name = _name(question_id)
    # What went wrong within says more than a store that fails as well, and nothing fails because it is not noted.
    with suppress(Exception):
        async with pages.alone(name):
            earlier = await owed(pages, question_id)
            entries = {key: spent.model_dump() for key, spent in {**earlier.costs, **costs}.items()}
            note: dict[str, Any] = {"costs": entries, "seconds": earlier.seconds + seconds}
            await pages.note({name: note})


def _name(question_id: str) -> str:
    return f"costs of {question_id}"

"""Records what finished runs cost, and returns the median of the user's own runs of the same kind.

Kinds are distinguished by strategy, depth and models.
"""

from __future__ import annotations

from statistics import median
from typing import Any

from ..core.accounts.spending import total
from ..core.models.resolve import profile_of
from ..core.records.research import Depth, Run, Strategy, UsualCost
from ..core.settings.context import ROLES, Context
from ..core.store.pages import Pages
from ..state import ResearchState

_FINISHED = "finished runs"
"""Stands for the thread id in the store, in notes on finished runs."""
_LEAST_RUNS = 3
"""Number of finished runs from which on their median is shown."""
MOST_RUNS = 20
"""Number of latest runs to keep of each kind."""


async def record_finished(pages: Pages, state: ResearchState, context: Context) -> None:
    """Record what a finished run cost, once; skip runs without model calls, which are free."""
    run = state.run
    spent = total(state.spending)
    has_started = bool(state.plan) or run.is_quick
    if not spent.calls or not has_started:
        return
    figures = {
        "input_tokens": spent.input_tokens,
        "output_tokens": spent.output_tokens,
        "seconds": run.active_seconds,
    }
    finished = pages.of_thread(_FINISHED)
    kind = _kind_of(pages, run, context)
    async with finished.lock(kind):
        runs = {**await _runs(finished, kind), run.id: figures}
        latest = list(runs.items())[-MOST_RUNS:]
        await finished.note({kind: {"runs": dict(latest)}})


async def usual_cost_of(pages: Pages, run: Run, context: Context) -> UsualCost | None:
    """Return the median cost of the user's finished runs of this kind.

    None if too few have finished.
    """
    return await _usual_cost(pages, _kind_of(pages, run, context))


async def usual_cost_at(
    pages: Pages,
    strategy: Strategy,
    depth: Depth,
    context: Context,
) -> UsualCost | None:
    """Return the median cost of the user's finished runs at a depth.

    None if too few have finished.
    """
    return await _usual_cost(pages, _kind(pages, strategy, depth, context))


async def _usual_cost(pages: Pages, kind: str) -> UsualCost | None:
    runs = await _runs(pages.of_thread(_FINISHED), kind)
    if len(runs) < _LEAST_RUNS:
        return None
    seconds = list[float]()
    tokens = list[int]()
    for figures in runs.values():
        seconds.append(figures["seconds"])
        tokens.append(figures["input_tokens"] + figures["output_tokens"])
    return UsualCost(
        runs=len(runs),
        median_seconds=round(median(seconds), 1),
        median_tokens=round(median(tokens)),
    )


def _kind_of(pages: Pages, run: Run, context: Context) -> str:
    depth = "quick" if run.is_quick else run.depth or "standard"
    return _kind(pages, run.strategy, depth, context)


def _kind(pages: Pages, strategy: Strategy, depth: Depth, context: Context) -> str:
    """Return the name of the note that stores runs of this kind."""
    if depth == "auto":
        depth = "standard"
    models = [profile_of(role, context).name for role in ROLES]
    return " ".join([pages.user, strategy, depth, *models])


async def _runs(finished: Pages, kind: str) -> dict[str, dict[str, Any]]:
    """Return the figures of finished runs of a kind, by question id, oldest first."""
    note = await finished.read_note(kind) or {"runs": {}}
    return note["runs"]  # type: ignore[no-any-return]  # stored by us

"""Estimates what a run will cost from the user's own finished runs of the same kind.

Kinds are distinguished by strategy, depth and models. The estimate is the range and median of earlier costs per plan
step, times the number of steps in the new plan; with fewer than `_LEAST_RUNS` runs, it contains only the limits.
"""

from __future__ import annotations

from statistics import median
from typing import Any

from ...state import ResearchState
from ..models.resolve import is_extractive, profile_of
from ..records.research import Depth, Estimate, Span, Strategy
from ..run.context import ROLES, Context
from ..run.spending import total
from ..run.store.pages import Pages

_FINISHED = "finished runs"
"""Stands for the thread id in the store, in notes on finished runs."""
_LEAST_RUNS = 3
"""Minimum number of finished runs for an estimate."""
MOST_RUNS = 20
"""Number of latest runs to keep of each kind."""
_DIGITS = {"calls": 0, "input_tokens": -2, "output_tokens": -2, "usd": 4, "seconds": 0}
"""The recorded figures, with the number of decimal places that estimates are rounded to."""


async def record_finished(pages: Pages, state: ResearchState, context: Context) -> None:
    """Record a finished run's figures once; skip runs without model calls, and unplanned runs that are not quick."""
    run, plan, spent = state.run, state.plan, total(state.spending)
    steps = 1 if run.is_quick else len(plan.steps) if plan else 0
    if not steps or not spent.calls:
        return
    figures = {name: getattr(spent, name) for name in _DIGITS if name != "seconds"}
    finished, kind = pages.of_thread(_FINISHED), _kind_of(pages, state, context)
    async with finished.lock(kind):
        runs = {**await _runs(finished, kind), run.id: {"steps": steps, **figures, "seconds": run.active_seconds}}
        await finished.note({kind: {"runs": dict([*runs.items()][-MOST_RUNS:])}})


async def usual_cost(pages: Pages, strategy: Strategy, depth: Depth, context: Context) -> dict[str, float]:
    """Return `runs`, the number of the user's finished runs of this kind, and their median `seconds` and `usd`."""
    runs = [*(await _runs(pages.of_thread(_FINISHED), _kind(pages, strategy, depth, context))).values()]
    return {"runs": len(runs)} | {name: median(run[name] for run in runs) for name in ("seconds", "usd") if runs}


async def estimate(pages: Pages, state: ResearchState, context: Context) -> Estimate | None:
    """Return the estimate for a run with a plan; None if it uses only the extractive model, which is free."""
    if all(is_extractive(role, context) for role in ROLES):
        return None
    assert state.plan is not None
    runs = [*(await _runs(pages.of_thread(_FINISHED), _kind_of(pages, state, context))).values()]
    limits = context.limits
    max_seconds = limits.max_seconds_planned if state.run.strategy == "planned" else limits.max_seconds
    caps = {
        "input_tokens": limits.max_tokens,
        "output_tokens": limits.max_tokens,
        "usd": limits.max_usd,
        "seconds": max_seconds,
    }
    # Do not estimate dollars if a price was unknown.
    known = [name for name in _DIGITS if name != "usd" or all(run["usd"] for run in runs)]
    steps = len(state.plan.steps)
    spans = {name: _span(runs, name, steps, caps.get(name)) for name in known if len(runs) >= _LEAST_RUNS}
    return Estimate(
        runs=len(runs), max_tokens=limits.max_tokens, max_usd=limits.max_usd, max_seconds=max_seconds, **spans
    )


def _kind_of(pages: Pages, state: ResearchState, context: Context) -> str:
    run = state.run
    return _kind(pages, run.strategy, "quick" if run.is_quick else run.depth or "standard", context)


def _kind(pages: Pages, strategy: Strategy, depth: Depth, context: Context) -> str:
    """Return the name of the note that stores runs of this kind."""
    kind = "standard" if depth == "auto" else depth
    return " ".join([pages.user, strategy, kind, *(profile_of(role, context).name for role in ROLES)])


async def _runs(finished: Pages, kind: str) -> dict[str, dict[str, Any]]:
    """Return the figures of finished runs of a kind, by question id, oldest first."""
    return (await finished.read_note(kind) or {"runs": {}})["runs"]  # type: ignore[no-any-return]  # stored by us


def _span(runs: list[dict[str, Any]], name: str, steps: int, cap: float | None) -> Span:
    """Return the range of a figure, scaled to the plan's steps and capped at the limit."""
    figures = [steps * run[name] / run["steps"] for run in runs]
    low, likely, high = (
        round(value if cap is None else min(value, cap), _DIGITS[name])
        for value in (min(figures), median(figures), max(figures))
    )
    return Span(low=low, likely=likely, high=high)

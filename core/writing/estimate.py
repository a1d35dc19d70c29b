"""Estimates what a run will have taken at its end, from the user's own finished runs of the same kind.

What each finished run took is kept in the store, by user, strategy, depth and models: numbers only. The estimate is
the median and the range of what they took for each step of their plans, times the steps of the new plan. Where fewer
than `LEAST_RUNS` are known, it names the limits alone.
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

FINISHED = "finished runs"
"""In the place of a thread's id, where is kept what finished runs took."""
LEAST_RUNS = 3
MOST_RUNS = 20
"""Runs of one kind that are kept, the latest."""
DIGITS = {"calls": 0, "input_tokens": -2, "output_tokens": -2, "usd": 4, "seconds": 0}
"""The figures, and to how many digits each is rounded."""


async def record_finished(pages: Pages, state: ResearchState, context: Context) -> None:
    """Keep what a finished run took, each run once; one without a model is of no use, nor a long one without a plan."""
    run, plan, spent = state.run, state.plan, total(state.spending)
    steps = 1 if run.is_quick else len(plan.steps) if plan else 0
    if not steps or not spent.calls:
        return
    took = {name: getattr(spent, name) for name in DIGITS if name != "seconds"}
    kept, kind = pages.of_thread(FINISHED), _kind_of(pages, state, context)
    async with kept.alone(kind):
        runs = {**await _runs(kept, kind), run.id: {"steps": steps, **took, "seconds": run.active_seconds}}
        await kept.note({kind: {"runs": dict([*runs.items()][-MOST_RUNS:])}})


async def usual_cost(pages: Pages, strategy: Strategy, depth: Depth, context: Context) -> dict[str, float]:
    """Return the number of a user's finished runs of a kind, and the median of their seconds and dollars."""
    runs = [*(await _runs(pages.of_thread(FINISHED), _kind(pages, strategy, depth, context))).values()]
    return {"runs": len(runs)} | {name: median(run[name] for run in runs) for name in ("seconds", "usd") if runs}


async def estimate(pages: Pages, state: ResearchState, context: Context) -> Estimate | None:
    """Return the estimate for a state with its plan; none where no model costs anything."""
    if all(is_extractive(role, context) for role in ROLES):
        return None
    assert state.plan is not None
    runs = [*(await _runs(pages.of_thread(FINISHED), _kind_of(pages, state, context))).values()]
    limits = context.limits
    max_seconds = limits.max_seconds_planned if state.has_typed_plan else limits.max_seconds
    caps = {
        "input_tokens": limits.max_tokens,
        "output_tokens": limits.max_tokens,
        "usd": limits.max_usd,
        "seconds": max_seconds,
    }
    # Where no price was known, nothing is.
    known = [name for name in DIGITS if name != "usd" or all(run["usd"] for run in runs)]
    spans = {name: _span(runs, name, len(state.plan.steps), caps.get(name)) for name in known}
    return Estimate(
        runs=len(runs),
        max_tokens=limits.max_tokens,
        max_usd=limits.max_usd,
        max_seconds=max_seconds,
        **(spans if len(runs) >= LEAST_RUNS else {}),
    )


def _kind_of(pages: Pages, state: ResearchState, context: Context) -> str:
    run = state.run
    return _kind(pages, run.strategy, "quick" if run.is_quick else run.depth or "standard", context)


def _kind(pages: Pages, strategy: Strategy, depth: Depth, context: Context) -> str:
    """Return the name under which runs are kept that can be compared."""
    kind = "standard" if depth == "auto" else depth
    return " ".join([pages.user, strategy, kind, *(profile_of(role, context).name for role in ROLES)])


async def _runs(kept: Pages, kind: str) -> dict[str, dict[str, Any]]:
    return (await kept.read_note(kind) or {"runs": {}})["runs"]  # type: ignore[no-any-return]  # as it was kept


def _span(runs: list[dict[str, Any]], name: str, steps: int, cap: float | None) -> Span | None:
    """Return the range of a figure, scaled to the steps of a plan and capped by its limit."""
    figures = [steps * run[name] / run["steps"] for run in runs]
    if not figures:
        return None
    low, likely, high = (
        round(value if cap is None else min(value, cap), DIGITS[name])
        for value in (min(figures), median(figures), max(figures))
    )
    return Span(low=low, likely=likely, high=high)

"""Estimates what a run will have taken at its end, from its plan and its settings, before research begins.

What was spent until the plan is known. The rest is counted role by role, as the graph makes the calls:

    orchestrated   rounds = tasks / researchers at once, and further ones; a thought and a decision in each, and a last
                   decision; for each task the researcher's calls and its finding
    planned        for each step its first queries and its iterations, or one analysis; a look at the plan between two
                   rounds, and the final check
    both           one call for the report, and the calls of its check

The prompts of one role begin alike, with its rules and tools (`Habit.prompt`), the question and the list of documents,
and grow with each call by what the one before has brought (`Habit.growth`): a researcher's by the results of its
tools, the orchestrator's and the writer's by findings. Its answers have a usual length (`Habit.output`).

These numbers, and how often a role is called, are measured on the fake servers, by `python -m
deep_research_bench.wire.estimates --measure`. They hold the real prompts and the habits of a made-up model. A model
that reasons is known by its plan: what that took beyond its words is added to each call. Seconds are those of the
longest chain of calls, at the speed at which the plan was written. A limit on tokens, money or time caps the rest.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ...state import ResearchState
from ..library.library import Library
from ..models.resolve import is_extractive, price_of, profile_of
from ..records.research import Estimate, Span
from ..run.context import ROLES, Context, Role, within_scope
from ..run.limits import Limits
from ..run.spending import Bill, total
from ..run.transcripts import CHARACTERS_PER_TOKEN, tokens_of
from .judging import UNITS


class Habit(NamedTuple):
    """How the calls of one kind look, in tokens."""

    prompt: int
    """Rules and tools, with which each begins."""
    growth: int
    """By what each is longer than the one before, or for each finding or step that it is shown."""
    output: int
    """Of an answer."""


DECISION = Habit(980, 480, 80)
ROUND = Habit(1150, 2490, 35)
FINDING = Habit(1400, 2200, 310)
STEP = Habit(1950, 4060, 150)
ANALYSIS = Habit(600, 640, 80)
REVISION = Habit(1220, 290, 5)
FINAL_CHECK = Habit(500, 460, 10)
REPORT = Habit(300, 640, 220)
OPENING = 310
"""Tokens of a report before those of its tasks."""
VERDICTS = Habit(1050, 4000, 200)
CALLS_OF_TASK = 6.3
"""Calls of a researcher before its finding."""
ITERATIONS_OF_STEP = 2.5
FURTHER = 0.3
"""Rounds that follow those of the plan, each of one task."""
UNITS_OF_TASK = 14
"""Parts of the report that are checked, for each task."""
CACHED = 0.63
"""Share of what models read that a provider which keeps prompts has read before."""
TOOL_SECONDS = 0.1
"""Seconds between two calls of a researcher."""
RANGES = {
    "calls": (0.85, 1.4),
    "input_tokens": (0.5, 1.4),
    "output_tokens": (0.85, 1.2),
    "usd": (0.75, 1.4),
    "seconds": (0.65, 1.6),
}
"""Between these shares of what is likely lie eight in ten of the measured runs."""


class Calls(NamedTuple):
    """Calls of one role that are still to come."""

    role: Role
    times: float
    input_tokens: float
    output_tokens: float
    chain: float = 0.0
    """How many of them need each other, one after the other."""


class Known(NamedTuple):
    """What the prompts hold beside rules and results, in tokens."""

    question: int
    documents: int
    """The list of the documents."""
    whole: int
    """The documents themselves, where they are read whole."""
    plan: int


async def estimate(state: ResearchState, context: Context, bill: Bill) -> Estimate | None:
    """Return the estimate for a state with its plan, whose bill this is; none where no model costs anything."""
    if all(is_extractive(role, context) for role in ROLES):
        return None
    return await asyncio.to_thread(_estimate, state, context, bill)


def _estimate(state: ResearchState, context: Context, bill: Bill) -> Estimate:
    run, plan, written = state.run, state.plan, total(bill.costs).output_tokens
    assert run is not None and plan is not None
    kept = within_scope(context, run.scope)
    whole = (len(one.text) for one in Library(kept).documents()) if run.scope.reads_all else ()
    known = Known(
        tokens_of(state.messages),
        len(run.scope.documents) // CHARACTERS_PER_TOKEN,
        sum(whole) // CHARACTERS_PER_TOKEN,
        len(plan.text) // CHARACTERS_PER_TOKEN,
    )
    rest = list(_planned(state, known, context) if state.steps else _orchestrated(plan.steps, known, context))
    rest += _report(sum(one.requires_search for one in state.steps) or len(plan.steps), known, context)
    rest = [one for one in rest if not is_extractive(one.role, context)]
    thought = max(0, written - known.plan)
    rest = [
        one._replace(output_tokens=one.output_tokens + thought * one.times * profile_of(one.role, context).reasons)
        for one in rest
    ]
    return _in_all(rest, state, context, bill.seconds / max(1, written))


def _orchestrated(steps: Sequence[str], known: Known, context: Context) -> Iterator[Calls]:
    limits, reasons = context.limits, profile_of("orchestrator", context).reasons
    most = (limits.max_cycles_reasoning if reasons else limits.max_cycles) - 1
    planned = math.ceil(len(steps) / limits.max_parallel_researchers)
    rounds = min(planned + FURTHER, most)
    tasks = min(len(steps), most * limits.max_parallel_researchers) + max(0.0, rounds - planned)
    decisions = rounds * (1 if reasons else 2) + 1 + (not reasons)
    shown = known.question + known.documents + known.plan
    yield Calls(
        "orchestrator",
        decisions,
        decisions * (DECISION.prompt + shown + DECISION.growth * tasks / 2),
        decisions * DECISION.output,
        decisions,
    )
    calls = min(CALLS_OF_TASK, limits.max_iterations + 1)
    yield Calls(
        "researcher",
        tasks * calls,
        tasks * _reading(ROUND, calls, known, limits),
        tasks * calls * ROUND.output,
        rounds * calls,
    )
    last = FINDING.prompt + known.documents + known.whole + min(calls * FINDING.growth, limits.results_tokens)
    yield Calls("researcher", tasks, tasks * last, tasks * FINDING.output, rounds)


def _planned(state: ResearchState, known: Known, context: Context) -> Iterator[Calls]:
    limits = context.limits
    searches = sum(step.requires_search for step in state.steps)
    thoughts = len(state.steps) - searches
    turns = math.ceil(searches / limits.max_parallel_researchers)
    calls = 1 + min(ITERATIONS_OF_STEP, limits.max_step_iterations)
    yield Calls(
        "researcher",
        searches * calls,
        searches * _reading(STEP, calls, known, limits),
        searches * calls * STEP.output,
        turns * calls,
    )
    yield Calls(
        "orchestrator",
        thoughts,
        thoughts * (ANALYSIS.prompt + ANALYSIS.growth * searches),
        thoughts * ANALYSIS.output,
        min(1, thoughts),
    )
    # Between the searches by themselves and those that build on them.
    revisions = len({step.kind for step in state.steps if step.requires_search}) - 1
    yield Calls(
        "planner",
        revisions,
        revisions * (REVISION.prompt + REVISION.growth * searches),
        revisions * REVISION.output,
        revisions,
    )
    yield Calls("orchestrator", 1, FINAL_CHECK.prompt + FINAL_CHECK.growth * searches, FINAL_CHECK.output, 1)


def _reading(habit: Habit, calls: float, known: Known, limits: Limits) -> float:
    """Return the tokens that so many calls of one conversation read, whose results shrink from a number on."""
    grown: float = sum(min(number * habit.growth, limits.results_tokens) for number in range(math.floor(calls)))
    grown += (calls % 1) * min(math.floor(calls) * habit.growth, limits.results_tokens)
    return calls * (habit.prompt + known.documents + known.whole) + grown


def _report(tasks: int, known: Known, context: Context) -> Iterator[Calls]:
    shown = REPORT.prompt + known.question + known.plan + REPORT.growth * tasks
    yield Calls("writer", 1, shown, OPENING + REPORT.output * tasks, 1)
    if context.verify != "off" and not is_extractive("verifier", context):
        calls = min(math.ceil(UNITS_OF_TASK * tasks / UNITS), context.limits.max_opinions)
        yield Calls(
            "verifier", calls, calls * (VERDICTS.prompt + VERDICTS.growth), calls * VERDICTS.output, min(1, calls)
        )


def _in_all(rest: Sequence[Calls], state: ResearchState, context: Context, pace: float) -> Estimate:
    """Return what was spent with what is to come, as far as the limits let it come; `pace`: seconds a token."""
    spent, limits, run = total(state.spending), context.limits, state.run
    assert run is not None
    read, written = (sum(getattr(one, name) for one in rest) for name in ("input_tokens", "output_tokens"))
    usd = [_usd(one, context) for one in rest]
    money = None if None in usd else sum(filter(None, usd))
    chain = sum(
        pace * one.output_tokens * one.chain / max(1.0, one.times)
        + TOOL_SECONDS * one.chain * (one.role == "researcher")
        for one in rest
    )
    shares = [1.0, (limits.max_seconds_planned if state.steps else limits.max_seconds) / max(1.0, chain)]
    if limits.max_tokens is not None:
        shares.append((limits.max_tokens - spent.tokens) / max(1, read + written))
    if limits.max_usd is not None and money:
        shares.append((limits.max_usd - spent.usd) / money)
    share = max(0.0, min(shares))
    return Estimate(
        calls=_span(spent.calls, share * sum(one.times for one in rest), RANGES["calls"], 0),
        input_tokens=_span(spent.input_tokens, share * read, RANGES["input_tokens"], -2),
        output_tokens=_span(spent.output_tokens, share * written, RANGES["output_tokens"], -1),
        usd=None if money is None else _span(spent.usd, share * money, RANGES["usd"], 4),
        seconds=_span(run.active_seconds, share * chain, RANGES["seconds"], 1),
    )


def _usd(calls: Calls, context: Context) -> float | None:
    price = price_of(profile_of(calls.role, context).name, context.prices)
    if price is None:
        return None
    cached = CACHED if price.cached is not None else 0.0
    read = price.input * (1 - cached) + (price.cached or 0.0) * cached
    return (calls.input_tokens * read + calls.output_tokens * price.output) / 1_000_000


def _span(spent: float, rest: float, within: tuple[float, float], digits: int) -> Span:
    """Return what was spent and the rest, rounded."""
    low, likely, high = (round(spent + share * rest, digits) for share in (within[0], 1.0, within[1]))
    return Span(low=low, likely=likely, high=high)

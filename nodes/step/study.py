"""Reads the results of an iteration: records learnings and gaps, decides on the next queries."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from langchain_core.messages import AnyMessage

from ...core.concurrency import Failed
from ...core.events.blocks import StepPackets
from ...core.evidence.checking.proof import Known
from ...core.evidence.memory.learned import confidence
from ...core.models.resolve import RoleModels
from ...core.records.plan import Iteration, Learning, Verdict
from ...core.records.research import Calculation
from ...core.records.sources import Source
from ...state import BranchUpdate, StepState
from ...tools.results import known_in
from ...tools.tool import as_lines
from ..step_turn import RecordRound, StepTurn, StepWork
from ..turn import NodeRuntime

_MOST_UNPRODUCTIVE = 2
"""Number of consecutive iterations without new learnings after which a step ends."""
_NOTHING_NEW = "it ended after two rounds in a row that brought nothing new"
_NO_VERDICT = "No verdict was given"


async def study(state: StepState, runtime: NodeRuntime) -> BranchUpdate:
    """Ask the model to read the iteration's results and fill in one form.

    Without results it is not asked.
    """
    task = state.task
    turn = StepTurn(state, runtime)
    context = turn.context
    limits = context.limits
    form: RecordRound | None = None
    failed: Failed | None = None
    verdicts = list[Verdict]()
    heard = list[AnyMessage]()
    if state.has_results:
        heard = turn.hear(await turn.read_inbox())
        answer = await turn.in_time(turn.work.ask_round(heard))
        if isinstance(answer, Failed):
            failed = answer
        else:
            form = answer
            verdicts.append(_verdict(form, state, turn.filler.failures))
    shown = dict[int, Known]()
    completeness = None
    if form:
        shown = known_in(await turn.pages.fill_in(state.notes))
        # The extractive model cannot judge completeness; `confidence` then compares words instead.
        if not RoleModels(context).is_extractive("researcher"):
            completeness = form.completeness
    filled_in = form or RecordRound()
    calculated, calculations = await _calculated(turn, filled_in)
    learned = await asyncio.to_thread(turn.work.learned, filled_in, shown)
    known = {**state.learnings, **learned.learnings}
    score = confidence(
        task.step.task, list(known.values()), state.sources, state.iteration, completeness
    )
    iteration = Iteration(
        number=state.iteration,
        queries=state.queries,
        learnings=tuple(learned.learnings),
        confidence=score,
        at=context.clock.now().isoformat(timespec="seconds"),
        verdicts=tuple(verdicts),
    )
    turn.emit(*StepPackets(turn.placement).iteration(task.step.id, iteration, known))
    following = _next_of(turn.work, state, filled_in, learned.learnings.values())
    # If the form failed, the step goes on with the queries that it has.
    has_nothing_next = not turn.branch_tools or (form is not None and following.is_nothing)
    is_complete = any(verdict.is_complete for verdict in verdicts)
    is_over = is_complete or state.iteration >= limits.max_step_iterations
    unproductive = state.unproductive + 1
    has_chosen_first = state.iteration == 1 and bool(filled_in.open_next)
    if learned.learnings or has_chosen_first:
        unproductive = 0
    is_unproductive = unproductive >= _MOST_UNPRODUCTIVE
    update = BranchUpdate(
        seconds=turn.seconds,
        spending=turn.spending,
        iterations=[iteration],
        notes=[heard],
        next_queries=following.queries,
        open_next=following.addresses,
        learnings=learned.learnings,
        memory=learned.memory,
        calculated=calculated,
        calculations=calculations,
        unproductive=unproductive,
        is_over=is_over or has_nothing_next or is_unproductive,
        failures=turn.filler.failures,
        turn=state.turn + 1,
    )
    if is_unproductive and not (is_over or state.failures or turn.filler.failures):
        update["reason"] = _NOTHING_NEW
    if form:
        update["notes"] = [[*heard, form.as_call(f"{task.id}-{state.iteration + 1}")]]
        update["judged"] = form.judgement
        update["corrected"] = state.corrected + learned.corrected
        observed = turn.work.observed(form, learned.learnings, score)
        update["memory"] = {**learned.memory, **observed}
    if failed:
        update |= {"is_over": True, "ended": "partial", "reason": failed.reason}
    return update


async def _calculated(
    turn: StepTurn, form: RecordRound
) -> tuple[tuple[str, ...], Mapping[str, Calculation]]:
    """Return what came of the calculations that a form hands in, a line each, and those that are
    new or have changed, by name."""
    if not form.calculations:
        return (), {}
    calculator = await turn.work.calculator()
    lines = await asyncio.to_thread(calculator.calculate, as_lines(form.calculations))
    return tuple(lines), calculator.changed


class _Next(NamedTuple):
    """What the next round of a step searches for and reads."""

    queries: tuple[str, ...]
    addresses: tuple[str, ...]
    """Of the pages to read."""

    @property
    def is_nothing(self) -> bool:
        """Whether there is nothing to do."""
        return not self.queries and not self.addresses


def _next_of(
    work: StepWork, state: StepState, form: RecordRound, learnings: Iterable[Learning]
) -> _Next:
    """Return what a form wants next; if it names queries but no pages, the pages whose excerpts
    brought these learnings are read."""
    queries = work.new_queries(form)
    addresses = tuple(form.open_next)
    if queries and not addresses:
        addresses = _unread_pages(learnings, state.sources)
    return _Next(queries, addresses)


def _unread_pages(learnings: Iterable[Learning], sources: Mapping[str, Source]) -> tuple[str, ...]:
    """Return the addresses of the pages of which only the excerpt was read for these learnings."""
    addresses = dict[str, None]()
    for learning in learnings:
        source = sources.get(learning.source)
        if source and source.kind == "web" and not source.content_hash:
            addresses[source.address] = None
    return tuple(addresses)


def _verdict(form: RecordRound | None, state: StepState, failures: list[str]) -> Verdict:
    """Return the form's verdict on the iteration.

    Without a form, it is an incomplete one with the latest failure.
    """
    query = ", ".join(state.queries)
    if form is None:
        # Without a verdict the step does not count as complete.
        reasoning = f"{_NO_VERDICT}: {failures[-1]}."
        return Verdict(query=query, is_complete=False, reasoning=reasoning)
    elements = dict.fromkeys(filter(None, map(str.strip, form.key_elements)))
    return Verdict(
        query=query,
        is_complete=form.is_complete,
        reasoning=form.reasoning.strip(),
        key_elements=tuple(elements),
    )

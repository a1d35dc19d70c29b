"""Chooses the steps of the plan that run next, while limits allow."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from ..core.events.blocks import PlanPackets, StepPackets
from ..core.evidence.memory.learned import fitting_learnings
from ..core.evidence.memory.observations import (
    ResearchMemory,
    relevance,
)
from ..core.records.plan import (
    NOTHING_TO_THINK_OVER,
    Learning,
    PlanStep,
    StepOutcome,
    StepTask,
)
from ..core.records.sources import Source
from ..state import ResearchState, StateUpdate
from ._budget import Budget
from ._steps import ANALYSIS_SHARE, due, replace_steps, restore_skipped, skip_pending
from .turn import NodeRuntime, Turn, begin_turn

_SHARE_OF_INDEPENDENT = 0.25
"""Share of `memory_tokens` for a search that builds on no other step: it is told what bears most on
its task, in each of its calls."""


async def schedule(state: ResearchState, runtime: NodeRuntime) -> StateUpdate:
    """Return the next round's tasks and the steps' new statuses.

    There are no tasks if the plan is done or a limit is reached.
    """
    turn = await begin_turn(state, runtime)
    limits = turn.context.limits
    state = turn.state
    run = state.run
    progress = state.progress
    await turn.note_user()
    # The limit that ended the research may have been raised since.
    steps = restore_skipped(state.steps, run.stop_reason)
    stops_all, stops_searches = _limits(steps, turn)
    if stops_all:
        steps = skip_pending(steps, stops_all)
        return {**turn.costs(stop_reason=stops_all), "steps": steps, "tasks": []}
    if stops_searches:
        steps = skip_pending(steps, stops_searches, searches_only=True)
    update = turn.costs(stop_reason=stops_searches)
    chosen = Budget(limits, state.spending).dispatched_now(due(steps), has_slots=True)
    if chosen and not chosen[0].requires_search and not state.learnings:
        # There is nothing to analyze yet.
        skipped = _skip(chosen[0], turn)
        steps = replace_steps(steps, {skipped.id: skipped})
        return {**update, "steps": steps, "tasks": [], "progress": turn.advanced()}
    ids = ", ".join(step.id for step in chosen) or "none"
    logging.getLogger(__name__).info("Round %d of %s: steps %s", progress.cycle + 1, run.id, ids)
    if len(chosen) > 1:
        turn.emit(PlanPackets(turn.placement).branching(len(chosen)))
    if chosen:
        update["progress"] = turn.advanced(cycle=progress.cycle + 1)
    started = dict[str, PlanStep]()
    tasks = list[StepTask]()
    for position, step in enumerate(chosen):
        changes = {"status": "in_progress", "turn": progress.turn, "position": position}
        started[step.id] = step.model_copy(update=changes)
        tasks.append(_task(started[step.id], len(chosen), turn))
    return {**update, "steps": replace_steps(steps, started), "tasks": tasks}


def _skip(step: PlanStep, turn: Turn) -> PlanStep:
    """Return an analysis that has nothing to analyze as skipped, with the packets for clients."""
    changes = {
        "status": "skipped",
        "reason": NOTHING_TO_THINK_OVER,
        "turn": turn.placement.turn_index,
    }
    skipped = step.model_copy(update=changes)
    packets = StepPackets(turn.placement)
    turn.emit(packets.start(step), *packets.end(skipped))
    return skipped


def _limits(steps: Sequence[PlanStep], turn: Turn) -> tuple[str, str]:
    """Return the limit that ends the research and the one that ends only its searches.

    Both in words; empty if none is reached.
    """
    state = turn.state
    limits = turn.context.limits
    left = [step for step in steps if not step.is_over]
    if not left:
        # The report still has to say which limit ended the searches.
        return "", state.run.stop_reason
    if turn.sent.is_finishing:
        return turn.limit, ""
    late = f"the time limit of {limits.max_seconds_planned:g} s (max_seconds_planned) was reached"
    if turn.plan_seconds_left <= 0:
        return late, ""
    has_searches = any(step.requires_search for step in left)
    if has_searches and _seconds_to_search(turn) <= 0:
        return "", late
    limits_of_tools = dict.fromkeys(("max_searches", "max_fetches", "max_tool_calls"))
    without_tools = limits.model_copy(update=limits_of_tools)
    stops_all = Budget(without_tools, state.spending).limit_reached(state.run.active_seconds)
    return stops_all, turn.limit


def _seconds_to_search(turn: Turn) -> float:
    """Return the seconds left for searches.

    They are those of the plan, less a reserve if an analysis is still to come.
    """
    seconds = turn.plan_seconds_left
    for step in turn.state.steps:
        if not step.requires_search and not step.is_over:
            return seconds - ANALYSIS_SHARE * turn.context.limits.max_seconds_planned
    return seconds


def _task(step: PlanStep, steps: int, turn: Turn) -> StepTask:
    """Return the task of a step, with what its prompt says is known.

    `steps`: number of steps in its round.
    """
    state = turn.state
    limits = turn.context.limits
    run = state.run
    room = limits.memory_tokens
    if step.kind == "independent":
        room = int(room * _SHARE_OF_INDEPENDENT)
    known = tuple(fitting_learnings(_groups(state, step), step.task, room))
    sources = dict[str, Source]()
    for learning in known:
        if learning.source:
            sources[learning.source] = state.sources[learning.source]
    # An analysis sees all observations of the thread; a search only what is relevant to its task.
    memory = ResearchMemory(state.memory.values())
    gaps = memory.open_gaps()
    seconds = turn.plan_seconds_left
    if step.requires_search:
        memory = ResearchMemory(state.own_observations)
        gaps = [gap for gap in memory.open_gaps() if relevance(gap.text, step.task)]
        seconds = _seconds_to_search(turn)
    reasonings = _reasonings(state.outcomes, step)
    elements = memory.elements(reasonings, limits.max_elements)
    fields = Budget(limits, state.spending).shared_task_fields(run, steps)
    fields["seconds"] = seconds
    return StepTask(
        id=f"{run.id[:8]}-{step.id}",
        question=run.question,
        text=step.task,
        cycle=state.progress.cycle,
        position=step.position,
        turn=step.turn,
        step=step,
        known=known,
        rests_on=tuple(sources.values()),
        elements=tuple(elements),
        gaps=tuple(gaps[: limits.max_elements]),
        calculations=tuple(state.calculations.values()),
        slots=limits.max_parallel_researchers,
        **fields,
    )


def _groups(state: ResearchState, step: PlanStep) -> tuple[list[Learning], ...]:
    """Return the thread's learnings in four groups, most important first.

    They are those of the previous analysis, of the steps that this one depends on, disputed ones,
    and all others, including those of earlier questions.
    """
    previous_analysis = _previous_analysis(state.steps, step)
    disputed = set[str]()
    for pair in ResearchMemory(state.memory.values()).contradictions():
        disputed.update(pair.learnings)
    of_previous = list[Learning]()
    of_parents = list[Learning]()
    of_disputes = list[Learning]()
    others = list[Learning]()
    for learning in state.learnings.values():
        is_own = learning.question_id == state.run.id
        if is_own and learning.step == previous_analysis:
            of_previous.append(learning)
        elif is_own and learning.step in step.depends_on:
            of_parents.append(learning)
        elif learning.id in disputed:
            of_disputes.append(learning)
        else:
            others.append(learning)
    return of_previous, of_parents, of_disputes, others


def _previous_analysis(steps: Sequence[PlanStep], step: PlanStep) -> str:
    """Return the id of the last analysis before this one; empty if there is none."""
    previous = ""
    turn = 0
    if step.kind != "dependent":
        return previous
    for earlier in steps:
        if earlier.kind == "dependent" and earlier.is_over and earlier.turn > turn:
            previous = earlier.id
            turn = earlier.turn
    return previous


def _reasonings(outcomes: Mapping[str, StepOutcome], step: PlanStep) -> list[tuple[str, str]]:
    """Return the thoughts of the steps that this one depends on, with the steps' ids."""
    reasonings = list[tuple[str, str]]()
    for parent in step.depends_on:
        outcome = outcomes.get(parent)
        if outcome is None or not outcome.verdict:
            continue
        for text in (outcome.verdict.reasoning, *outcome.verdict.key_elements):
            if text:
                reasonings.append((parent, text))
    return reasonings

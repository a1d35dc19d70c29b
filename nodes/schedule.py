"""Sends the steps of the plan out, kind by kind, as long as there is time."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from langgraph.runtime import Runtime

from ..core.evidence.memory.learned import fitting_learnings, own_learnings, own_observations
from ..core.evidence.memory.observations import contradictions, elements_for, open_gaps, relevance
from ..core.records.plan import Learning, PlanStep, StepOutcome
from ..core.records.research import Run
from ..core.run.branches import StepTask
from ..core.run.context import Context
from ..core.run.events.call import step_done, step_started
from ..core.run.events.packets import SectionEnd, TopLevelBranching
from ..core.run.limits import Limits
from ..core.run.schedule import NOTHING_TO_THINK_OVER, due, restore_skipped, set_status, skip_pending
from ..core.run.spending import dispatched_now, limit_reached, terms
from ..core.writing.turn import Turn, begin_turn
from ..state import ResearchState, StateUpdate
from ..tools.shown import note_user

THINKING_SHARE = 0.2
"""Share of the time that is kept for thought, where thought is planned: at 15 s a call, it still concludes."""


async def schedule(state: ResearchState, runtime: Runtime[Context]) -> StateUpdate:
    """Make the tasks of the next round; none if the plan is done or a limit ends it."""
    turn = await begin_turn(state, runtime)
    limits, state, run, progress = turn.context.limits, turn.state, turn.state.run, state.progress
    await note_user(turn.pages, state.messages, run)
    # A limit that ended the research may have been raised since.
    steps = restore_skipped(state.steps, run.stop_reason)
    stop, halt = _limits(steps, state, run, limits)
    if stop:
        return {**turn.costs(stop_reason=stop), "steps": skip_pending(steps, stop), "tasks": []}
    steps = skip_pending(steps, halt, searches_only=True) if halt else steps
    update = turn.costs(stop_reason=halt)
    chosen = dispatched_now(due(steps), limits, state.spending, has_slots=True)
    if chosen and not chosen[0].requires_search and not state.learnings:
        return {**update, **_skipped(steps, turn, chosen[0])}
    ids = ", ".join(step.id for step in chosen) or "none"
    logging.getLogger(__name__).info("Round %d of %s: steps %s", progress.cycle + 1, run.id, ids)
    started = {
        step.id: step.model_copy(update={"status": "in_progress", "turn": progress.turn, "position": position})
        for position, step in enumerate(chosen)
    }
    if len(chosen) > 1:
        turn.emit(TopLevelBranching(placement=turn.place, num_parallel_branches=len(chosen)))
    if chosen:
        update["progress"] = turn.advanced(cycle=progress.cycle + 1)
    tasks = [_task(state, step, len(chosen), limits) for step in started.values()]
    return {**update, "steps": set_status(steps, started), "tasks": tasks}


def _limits(steps: Sequence[PlanStep], state: ResearchState, run: Run, limits: Limits) -> tuple[str, str]:
    """Return the limit that ends the research, and the one that only ends its searches, in words; empty if none."""
    if all(step.is_over for step in steps):
        # What ended the searches before is still to be told.
        return "", run.stop_reason
    late = f"the time limit of {limits.max_seconds_planned:g} s (max_seconds_planned) was reached"
    if _seconds_left(state, run, limits) <= 0:
        return late, ""
    if any(step.requires_search and not step.is_over for step in steps) and _seconds_to_search(state, run, limits) <= 0:
        return "", late
    thinking = limits.model_copy(update=dict.fromkeys(("max_searches", "max_fetches", "max_tool_calls")))
    stop = limit_reached(thinking, state.spending, run.active_seconds)
    return stop, limit_reached(limits, state.spending, run.active_seconds)


def _seconds_left(state: ResearchState, run: Run, limits: Limits) -> float:
    return limits.max_seconds_planned - (run.active_seconds - state.brief.began)


def _seconds_to_search(state: ResearchState, run: Run, limits: Limits) -> float:
    """Return the seconds left for searches, which leave time for the planned analyses."""
    thinks = any(not step.requires_search and not step.is_over for step in state.steps)
    return _seconds_left(state, run, limits) - thinks * THINKING_SHARE * limits.max_seconds_planned


def _skipped(steps: Sequence[PlanStep], turn: Turn, step: PlanStep) -> StateUpdate:
    """Skip an analysis that has nothing to analyze."""
    skipped = step.model_copy(
        update={"status": "skipped", "reason": NOTHING_TO_THINK_OVER, "turn": turn.place.turn_index}
    )
    turn.emit(step_started(step, turn.place), step_done(skipped, turn.place), SectionEnd(placement=turn.place))
    return {"steps": set_status(steps, {step.id: skipped}), "tasks": [], "progress": turn.advanced()}


def _task(state: ResearchState, step: PlanStep, steps: int, limits: Limits) -> StepTask:
    """Return the task of a step: what it builds on, and the most relevant of what else is known."""
    run, known = state.run, _known(state, step, limits.memory_tokens)
    # A thought is about all that the thread has noticed; a search goes by what bears on its task.
    noticed = own_observations(state) if step.requires_search else [*state.memory.values()]
    own = [one for one in noticed if one.kind != "gap"]
    gaps = open_gaps(noticed)
    open_now = [gap for gap in gaps if not step.requires_search or relevance(gap.text, step.task)]
    left = (_seconds_to_search if step.requires_search else _seconds_left)(state, run, limits)
    return StepTask(
        id=f"{run.id[:8]}-{step.id}",
        question=run.question,
        text=step.task,
        cycle=state.progress.cycle,
        position=step.position,
        turn=step.turn,
        step=step,
        known=known,
        rests_on=tuple(state.sources[key] for key in dict.fromkeys(one.source for one in known) if key),
        elements=tuple(elements_for(step.task, own, _thoughts(step, state.outcomes), limits.max_elements)),
        gaps=tuple(open_now[: limits.max_elements]),
        slots=limits.max_parallel_researchers,
        **{**terms(run, limits, state.spending, steps), "seconds": left},
    )


def _known(state: ResearchState, step: PlanStep, tokens: int) -> tuple[Learning, ...]:
    """Return learnings in order: the previous analysis, the steps that it builds on, disputed ones, then the rest.

    They are cut to a number of tokens; what earlier questions have learned is included.
    """
    own = {one.id for one in own_learnings(state)}
    thoughts = [one for one in state.steps if one.kind == step.kind == "dependent" and one.is_over and one.turn]
    before = max(thoughts, key=lambda one: one.turn).id if thoughts else ""
    disputed = {key for pair in contradictions(state.memory.values()) for key in pair.learnings}
    groups: tuple[list[Learning], ...] = ([], [], [], [])
    for one in state.learnings.values():
        is_own = one.id in own
        order = (is_own and one.step == before, is_own and one.step in step.depends_on, one.id in disputed, True)
        groups[order.index(True)].append(one)
    return tuple(fitting_learnings(groups, step.task, tokens))


def _thoughts(step: PlanStep, outcomes: dict[str, StepOutcome]) -> list[tuple[str, str]]:
    """Return the last verdicts of the steps that it builds on."""
    parents = [(parent, outcomes[parent].verdict) for parent in step.depends_on if parent in outcomes]
    return [
        (parent, words) for parent, last in parents if last for words in (last.reasoning, *last.key_elements) if words
    ]

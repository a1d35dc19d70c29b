"""Chooses the steps of the plan that run next, while limits allow."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from ..core.evidence.memory.learned import fitting_learnings
from ..core.evidence.memory.observations import contradictions, elements_for, open_gaps, relevance
from ..core.records.plan import Learning, PlanStep
from ..core.run.branches import StepTask
from ..core.run.events.call import step_done, step_started
from ..core.run.events.packets import SectionEnd, TopLevelBranching
from ..core.run.limits import Limits
from ..core.run.schedule import NOTHING_TO_THINK_OVER, due, replace_steps, restore_skipped, skip_pending
from ..core.run.spending import dispatched_now, limit_reached, shared_task_fields
from ..core.writing.turn import NodeRuntime, begin_turn
from ..state import ResearchState, StateUpdate
from ..tools.redaction import note_user

_ANALYSIS_SHARE = 0.2
"""Share of the plan's time reserved for its analyses, enough for them to finish at 15 s per call."""


async def schedule(state: ResearchState, runtime: NodeRuntime) -> StateUpdate:
    """Return the next round's tasks and the steps' new statuses; no tasks if the plan is done or a limit is reached."""
    turn = await begin_turn(state, runtime)
    limits, state, run, progress = turn.context.limits, turn.state, turn.state.run, state.progress
    await note_user(turn.pages, state.messages, run)
    # The limit that ended the research may have been raised since.
    steps = restore_skipped(state.steps, run.stop_reason)
    stops_all, stops_searches = _limits(steps, state, limits)
    if stops_all:
        return {**turn.costs(stop_reason=stops_all), "steps": skip_pending(steps, stops_all), "tasks": []}
    steps = skip_pending(steps, stops_searches, searches_only=True) if stops_searches else steps
    update = turn.costs(stop_reason=stops_searches)
    chosen = dispatched_now(due(steps), limits, state.spending, has_slots=True)
    if chosen and not chosen[0].requires_search and not state.learnings:
        # There is nothing to analyze yet.
        reason, step = NOTHING_TO_THINK_OVER, chosen[0]
        skipped = step.model_copy(update={"status": "skipped", "reason": reason, "turn": turn.placement.turn_index})
        turn.emit(
            step_started(step, turn.placement), step_done(skipped, turn.placement), SectionEnd(placement=turn.placement)
        )
        return {**update, "steps": replace_steps(steps, {step.id: skipped}), "tasks": [], "progress": turn.advanced()}
    ids = ", ".join(step.id for step in chosen) or "none"
    logging.getLogger(__name__).info("Round %d of %s: steps %s", progress.cycle + 1, run.id, ids)
    started = {
        step.id: step.model_copy(update={"status": "in_progress", "turn": progress.turn, "position": position})
        for position, step in enumerate(chosen)
    }
    if len(chosen) > 1:
        turn.emit(TopLevelBranching(placement=turn.placement, num_parallel_branches=len(chosen)))
    if chosen:
        update["progress"] = turn.advanced(cycle=progress.cycle + 1)
    tasks = [_task(state, step, len(chosen), limits) for step in started.values()]
    return {**update, "steps": replace_steps(steps, started), "tasks": tasks}


def _limits(steps: Sequence[PlanStep], state: ResearchState, limits: Limits) -> tuple[str, str]:
    """Return the limit that ends the research and the one that ends only its searches, in words; empty if none."""
    if all(step.is_over for step in steps):
        # The report still has to say which limit ended the searches.
        return "", state.run.stop_reason
    late = f"the time limit of {limits.max_seconds_planned:g} s (max_seconds_planned) was reached"
    if _seconds_left(state, limits) <= 0:
        return late, ""
    if any(step.requires_search and not step.is_over for step in steps) and _seconds_to_search(state, limits) <= 0:
        return "", late
    without_tools = limits.model_copy(update=dict.fromkeys(("max_searches", "max_fetches", "max_tool_calls")))
    stops_all = limit_reached(without_tools, state.spending, state.run.active_seconds)
    return stops_all, limit_reached(limits, state.spending, state.run.active_seconds)


def _seconds_left(state: ResearchState, limits: Limits) -> float:
    """Return the seconds left for the plan."""
    return limits.max_seconds_planned - (state.run.active_seconds - state.brief.began)


def _seconds_to_search(state: ResearchState, limits: Limits) -> float:
    """Return the seconds left for searches: those of the plan, less a reserve if an analysis is still to come."""
    has_analyses = any(not step.requires_search and not step.is_over for step in state.steps)
    return _seconds_left(state, limits) - has_analyses * _ANALYSIS_SHARE * limits.max_seconds_planned


def _task(state: ResearchState, step: PlanStep, steps: int, limits: Limits) -> StepTask:
    """Return the task of a step, with what its prompt says is known; `steps`: number of steps in its round."""
    run, own_ids = state.run, {learning.id for learning in state.own_learnings}
    # Learnings in four groups, most important first: of the previous analysis, of the steps that this one depends on,
    # disputed ones, and all others, including those of earlier questions.
    analyses = [each for each in state.steps if each.kind == step.kind == "dependent" and each.is_over and each.turn]
    before = max(analyses, key=lambda each: each.turn).id if analyses else ""
    disputed = {key for pair in contradictions(state.memory.values()) for key in pair.learnings}
    groups: tuple[list[Learning], ...] = ([], [], [], [])
    for learning in state.learnings.values():
        parent = learning.step if learning.id in own_ids else None
        order = (parent == before, parent in step.depends_on, learning.id in disputed, True)
        groups[order.index(True)].append(learning)
    known = tuple(fitting_learnings(groups, step.task, limits.memory_tokens))
    # An analysis sees all observations of the thread; a search only what is relevant to its task.
    noticed = state.own_observations if step.requires_search else [*state.memory.values()]
    own = [observation for observation in noticed if observation.kind != "gap"]
    open_now = [gap for gap in open_gaps(noticed) if not step.requires_search or relevance(gap.text, step.task)]
    verdicts = [(key, state.outcomes[key].verdict) for key in step.depends_on if key in state.outcomes]
    said = [(key, text) for key, last in verdicts if last for text in (last.reasoning, *last.key_elements) if text]
    left = (_seconds_to_search if step.requires_search else _seconds_left)(state, limits)
    return StepTask(
        id=f"{run.id[:8]}-{step.id}",
        question=run.question,
        text=step.task,
        cycle=state.progress.cycle,
        position=step.position,
        turn=step.turn,
        step=step,
        known=known,
        rests_on=tuple(state.sources[key] for key in dict.fromkeys(learning.source for learning in known) if key),
        elements=tuple(elements_for(step.task, own, said, limits.max_elements)),
        gaps=tuple(open_now[: limits.max_elements]),
        slots=limits.max_parallel_researchers,
        **{**shared_task_fields(run, limits, state.spending, steps), "seconds": left},
    )

"""Ends a step: writes its finding and decides whether a follow-up step is needed."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import HumanMessage

from ...core.concurrency import Failed
from ...core.events.blocks import StepPackets
from ...core.records.plan import PlanStep, StepOutcome, Suggestion
from ...core.writing.forms import Form
from ...state import BranchUpdate, StepState
from ..step_turn import (
    StepTurn,
    close_step,
)
from ..turn import NodeRuntime

_UNTITLED = "Additional research"
"""Title of a follow-up step without a title."""
_COMPLETE = 0.7
"""A step with at least this completeness gets no follow-up."""
_GOOD = 0.4
"""A step with at most this quality gets no follow-up, which would build on poor results."""


class UpdateStep(Form):
    """Formulate a further step of the plan, or decline it."""

    is_needed: bool
    """Whether the plan needs it."""
    title: str = ""
    """A few words."""
    task: str = ""
    """What to find out; understandable on its own."""


async def evaluate(state: StepState, runtime: NodeRuntime) -> BranchUpdate:
    """End the step with its finding, its outcome and, if needed, a follow-up step."""
    task = state.task
    turn = StepTurn(state, runtime)
    outcome = turn.work.outcome
    judgement = state.judged
    too_late = list[str]()
    if judgement and state.learnings and state.seconds < task.seconds:
        judged = judgement.model_dump(include={"completeness", "quality", "missing"})
        outcome = outcome.model_copy(update=judged)
        work = _with_follow_up_step(outcome, judgement.suggestions, turn)
        with_step = await turn.in_time(work)
        if not isinstance(with_step, Failed):
            outcome = with_step
        elif with_step.is_late:
            turn.emit(StepPackets(turn.tab).failure(with_step.reason))
            too_late.append(with_step.reason)
    failures = [*state.failures, *turn.filler.failures, *too_late]
    ended = close_step(state, failures, turn.seconds, turn.emitter, outcome)
    return {**ended, "seconds": turn.seconds, "spending": turn.spending}


async def _with_follow_up_step(
    outcome: StepOutcome, suggestions: Sequence[Suggestion], turn: StepTurn
) -> StepOutcome:
    """Return the outcome with a follow-up step if one is needed.

    The planner fills in a missing title or task.
    """
    task = turn.work.state.task
    step = _needed_follow_up(task.step, outcome, suggestions)
    if step is None or (step.title and step.task):
        return outcome.model_copy(update={"follow_up": step})
    form = await turn.filler.ask_if_possible(
        UpdateStep,
        "planner",
        "evaluate",
        [HumanMessage(task.text)],
        knowledge=turn.work.knowledge,
        suggestion=step.title or step.task,
    )
    if form is None or not form.is_needed:
        return outcome
    words = step.task or form.task.strip()
    if not words:
        return outcome
    title = step.title or form.title.strip() or _UNTITLED
    follow_up = step.model_copy(update={"title": title, "task": words})
    return outcome.model_copy(update={"follow_up": follow_up})


def _needed_follow_up(
    step: PlanStep, outcome: StepOutcome, suggestions: Sequence[Suggestion]
) -> Suggestion | None:
    """Return the first suggestion if the outcome of the step calls for a follow-up, else None."""
    if outcome.completeness is None or outcome.quality is None or not suggestions:
        return None
    # An analysis has no verdict on whether it is complete.
    is_open = not outcome.is_complete or not step.requires_search
    if is_open and outcome.completeness < _COMPLETE and outcome.quality > _GOOD:
        return suggestions[0]
    return None

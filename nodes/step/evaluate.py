"""Ends a step: writes its finding and decides whether a follow-up step is needed."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import HumanMessage

from ...core.concurrency import Failed
from ...core.dialogue.schedule import needed_follow_up
from ...core.events.call import step_failed
from ...core.records.branches import BranchUpdate, StepState
from ...core.records.plan import StepOutcome, Suggestion
from ...core.writing.forms import Form
from ..step_turn import StepTurn, close_step
from ..turn import NodeRuntime

_UNTITLED = "Additional research"
"""Title of a follow-up step without a title."""


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
        scores = {"completeness": judgement.completeness, "quality": judgement.quality}
        outcome = outcome.model_copy(update=scores)
        work = _with_follow_up_step(outcome, judgement.suggestions, turn)
        with_step = await turn.in_time(work)
        if not isinstance(with_step, Failed):
            outcome = with_step
        elif with_step.is_late:
            turn.emit(step_failed(turn.tab, with_step.reason))
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
    step = needed_follow_up(task.step, outcome, suggestions)
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

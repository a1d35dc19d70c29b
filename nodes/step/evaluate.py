"""Judges what a step came to, and ends it."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import HumanMessage
from langgraph.runtime import Runtime

from ...core.records.plan import StepOutcome, Suggestion
from ...core.run.branches import BranchUpdate, StepState, failure_reason
from ...core.run.concurrency import Failed
from ...core.run.context import Context
from ...core.run.events.call import step_failed
from ...core.run.schedule import needed_follow_up
from ...core.writing.facts import facts_of_step
from ...core.writing.forms import UpdateStep
from ...core.writing.steps import StepTurn, emit_end, finding_of, knowledge_of, not_found, outcome_of

UNTITLED = "Additional research"
"""Title of a further step that nobody has named."""


async def evaluate(state: StepState, runtime: Runtime[Context]) -> BranchUpdate:
    """End the step with what it has, and with the follow-up step that it needs."""
    task, turn = state.task, StepTurn(state, runtime)
    outcome, verdict, late = outcome_of(state), state.judged, list[str]()
    if verdict and state.learnings and state.seconds < task.seconds:
        outcome = outcome.model_copy(update={"completeness": verdict.completeness, "quality": verdict.quality})
        judged = await turn.in_time(_followed_up(outcome, verdict.suggestions, state, turn))
        if not isinstance(judged, Failed):
            outcome = judged
        elif judged.is_late:
            turn.emit(step_failed(turn.tab, failure_reason(judged)))
            late = [failure_reason(judged)]
    finding = finding_of(state, [*state.failures, *turn.filler.failures, *late], turn.seconds)
    emit_end(turn.emitter, finding, task)
    return {
        "findings": {finding.id: finding},
        "outcomes": {task.step.id: outcome},
        "memory": not_found(state, finding),
        "seconds": turn.seconds,
        "spending": turn.spending,
    }


async def _followed_up(
    outcome: StepOutcome, suggestions: Sequence[Suggestion], state: StepState, turn: StepTurn
) -> StepOutcome:
    """Return the outcome with the follow-up step that is needed; a suggestion without words is worded first."""
    wanted = needed_follow_up(state.task.step, outcome, suggestions)
    if wanted and not (wanted.title and wanted.task):
        named = await turn.filler.ask_if_possible(
            UpdateStep,
            "planner",
            "evaluate",
            [HumanMessage(state.task.text)],
            knowledge=knowledge_of(state, turn.context.limits),
            facts=facts_of_step(state),
            suggestion=wanted.title or wanted.task,
        )
        wanted = _named(wanted, named) if named else None
    return outcome.model_copy(update={"follow_up": wanted})


def _named(wanted: Suggestion, named: UpdateStep) -> Suggestion | None:
    """Return the suggestion with its missing words filled in; none if it still has no task."""
    task = wanted.task or named.task.strip()
    if not named.is_needed or not task:
        return None
    return wanted.model_copy(update={"title": wanted.title or named.title.strip() or UNTITLED, "task": task})

"""Judges what a step came to, and ends it."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import HumanMessage
from langgraph.runtime import Runtime

from ...core.records.plan import Suggestion
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
    judge, late = Judge(state, turn), list[str]()
    if state.learnings and state.seconds < task.seconds:
        judged = await turn.in_time(judge.judge())
        if isinstance(judged, Failed) and judged.is_late:
            turn.emit(step_failed(turn.tab, failure_reason(judged)))
            late = [failure_reason(judged)]
    finding = finding_of(state, [*state.failures, *turn.filler.failures, *late], turn.seconds)
    emit_end(turn.emitter, finding, task)
    return {
        "findings": {finding.id: finding},
        "outcomes": {task.step.id: judge.outcome},
        "memory": not_found(state, finding),
        "seconds": turn.seconds,
        "spending": turn.spending,
    }


class Judge:
    """Has a step evaluated."""

    def __init__(self, state: StepState, turn: StepTurn) -> None:
        self._state, self._turn = state, turn
        self.outcome = outcome_of(state)
        """What the step came to, with what is thought of it so far."""

    async def judge(self) -> None:
        """Add the evaluation and the follow-up step; a suggestion without words is worded first."""
        state, judged = self._state, self._state.judged
        if judged is None:
            return
        self._add(completeness=judged.completeness, quality=judged.quality)
        wanted = needed_follow_up(state.task.step, self.outcome, judged.suggestions)
        if wanted and not (wanted.title and wanted.task):
            named = await self._ask(wanted)
            wanted = _named(wanted, named) if named else None
        self._add(follow_up=wanted)

    def _add(self, **judged: Any) -> None:
        self.outcome = self.outcome.model_copy(update=judged)

    async def _ask(self, suggestion: Suggestion) -> UpdateStep | None:
        return await self._turn.filler.ask_if_possible(
            UpdateStep,
            "planner",
            "evaluate",
            [HumanMessage(self._state.task.text)],
            knowledge=knowledge_of(self._state, self._turn.context.limits),
            facts=facts_of_step(self._state),
            suggestion=suggestion.title or suggestion.task,
        )


def _named(wanted: Suggestion, named: UpdateStep) -> Suggestion | None:
    """Return the suggestion with its missing words filled in; none if it still has no task."""
    task = wanted.task or named.task.strip()
    if not named.is_needed or not task:
        return None
    return wanted.model_copy(update={"title": wanted.title or named.title.strip() or UNTITLED, "task": task})

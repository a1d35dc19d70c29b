"""Thinks over what was found, without any search."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from langchain_core.messages import HumanMessage
from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from ...core.evidence.memory.learned import confidence, without_markers
from ...core.models.resolve import is_extractive, settings_of
from ...core.records.plan import Iteration, Learning, Observation
from ...core.records.research import Ending, Spent
from ...core.run.branches import Judgement, StepState, StepTask, failure_reason
from ...core.run.concurrency import Failed
from ...core.run.context import Context
from ...core.run.events.activities import activity
from ...core.run.events.call import iteration_packets, step_started
from ...core.run.events.log import emitter
from ...core.writing.facts import facts_of_step
from ...core.writing.forms import RecordAnalysis
from ...core.writing.steps import StepCall, judged_by, knowledge_of, observed


class AnalyzeUpdate(TypedDict, total=False):
    """What `analyze` writes."""

    iteration: int
    iterations: list[Iteration]
    learnings: dict[str, Learning]
    memory: dict[str, Observation]
    judged: Judgement
    turn: int
    is_over: bool
    ended: Ending
    reason: str
    failures: list[str]
    seconds: float
    spending: dict[str, Spent]


async def analyze(state: StepState, runtime: Runtime[Context]) -> AnalyzeUpdate:
    """Have the analysis written: statements that are marked as analysis and never become a source."""
    task, context = state.task, settings_of(runtime)
    events = emitter(task.question_id)
    call = StepCall(state, context, runtime)
    events.emit(step_started(task.step, task.place), activity("analyze", task.question, call.place, task.step.title))
    said, knowledge = [HumanMessage(task.text)], knowledge_of(state, context.limits)
    form = await call.attempt(
        call.filler.ask_if_possible(
            RecordAnalysis,
            "orchestrator",
            "analyze",
            said,
            facts=facts_of_step(state),
            knowledge=knowledge,
            question=task.question,
        )
    )
    failures = call.filler.failures
    update = AnalyzeUpdate(
        iteration=1, turn=state.turn + 1, is_over=True, failures=failures, seconds=call.seconds, spending=call.costs
    )
    if form is None or isinstance(form, Failed):
        return {**update, "ended": "failed", "reason": failure_reason(form) if form else failures[-1]}
    learnings = {learning.id: learning for learning in _thoughts(form, task)}
    # What a thought is worth depends on what it rests on.
    rests_on = {source.key: source for source in task.rests_on}
    completeness = None if is_extractive("orchestrator", context) else form.completeness
    sure = confidence(task.step.task, list(task.known), rests_on, 1, completeness) if learnings else 0.0
    at = context.clock.now().isoformat(timespec="seconds")
    iteration = Iteration(number=1, learnings=tuple(learnings), confidence=sure, at=at)
    events.emit(*iteration_packets(task.step.id, iteration, learnings, call.place))
    memory = observed(form, replace(state, iteration=1), learnings, sure)
    return {**update, "iterations": [iteration], "learnings": learnings, "memory": memory, "judged": judged_by(form)}


def _thoughts(form: RecordAnalysis, task: StepTask) -> Iterable[Learning]:
    for statement in form.statements:
        if text := without_markers(statement):
            yield Learning(text=text, step=task.step.id, question_id=task.question_id)

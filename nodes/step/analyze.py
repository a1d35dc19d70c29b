"""Draws the conclusions that a step asks for from what other steps have learned, without a search."""

from __future__ import annotations

from dataclasses import replace

from langchain_core.messages import HumanMessage

from ...core.evidence.memory.learned import confidence, without_markers
from ...core.models.resolve import is_extractive
from ...core.records.plan import Iteration, Learning
from ...core.run.branches import BranchUpdate, StepState
from ...core.run.concurrency import Failed
from ...core.run.events.call import activity, iteration_packets, step_started
from ...core.writing.forms import RecordAnalysis
from ...core.writing.steps import StepTurn, judgement_in, knowledge_of, observed_in
from ...core.writing.turn import NodeRuntime


async def analyze(state: StepState, runtime: NodeRuntime) -> BranchUpdate:
    """Ask the model for conclusions; they become learnings without a source, which the report may not cite."""
    task, turn = state.task, StepTurn(state, runtime)
    context = turn.context
    turn.emit(step_started(task.step, turn.tab), activity("analyze", task.question, turn.placement, task.step.title))
    form = await turn.in_time(
        turn.filler.ask_if_possible(
            RecordAnalysis,
            "orchestrator",
            "analyze",
            [HumanMessage(task.text)],
            knowledge=knowledge_of(state, context.limits),
            question=task.question,
        )
    )
    failures = turn.filler.failures
    update = BranchUpdate(
        seconds=turn.seconds, spending=turn.spending, iteration=1, turn=state.turn + 1, is_over=True, failures=failures
    )
    if form is None or isinstance(form, Failed):
        return {**update, "ended": "failed", "reason": form.reason if form else failures[-1]}
    texts = filter(None, map(without_markers, form.statements))
    thoughts = [Learning(text=text, step=task.step.id, question_id=task.question_id) for text in texts]
    learnings = {learning.id: learning for learning in thoughts}
    # Confidence depends on the sources of the learnings that the analysis had.
    rests_on = {source.key: source for source in task.rests_on}
    completeness = None if is_extractive("orchestrator", context) else form.completeness
    sure = confidence(task.step.task, list(task.known), rests_on, 1, completeness) if learnings else 0.0
    at = context.clock.now().isoformat(timespec="seconds")
    iteration = Iteration(number=1, learnings=tuple(learnings), confidence=sure, at=at)
    turn.emit(*iteration_packets(task.step.id, iteration, learnings, turn.placement))
    memory = observed_in(form, replace(state, iteration=1), learnings, sure)
    return {**update, "iterations": [iteration], "learnings": learnings, "memory": memory, "judged": judgement_in(form)}

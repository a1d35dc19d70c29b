"""Draws the conclusions that a step asks for from what others have learned, without a search."""

from __future__ import annotations

from dataclasses import replace

from langchain_core.messages import HumanMessage

from ...core.concurrency import Failed
from ...core.events.blocks import StepPackets, activity
from ...core.evidence.citations.markers import without_markers
from ...core.evidence.memory.learned import confidence
from ...core.models.resolve import RoleModels
from ...core.records.plan import Iteration, Learning
from ...core.writing.calculating import Analysis, Calculations
from ...state import BranchUpdate, StepState
from ..step_turn import Judged, StepTurn
from ..turn import NodeRuntime


class StepAnalysis(Analysis, Judged):
    """Hand in your conclusions and your judgement of them."""


async def analyze(state: StepState, runtime: NodeRuntime) -> BranchUpdate:
    """Ask the model for conclusions.

    They become learnings without a source, which the report may not cite.
    """
    task = state.task
    # An analysis is the only iteration of its step.
    turn = StepTurn(replace(state, iteration=1), runtime)
    context = turn.context
    turn.emit(
        StepPackets(turn.tab).start(task.step),
        activity("analyze", task.question, turn.placement, task.step.title),
    )

    heard = turn.hear(await turn.read_inbox())

    async def ask(*, results: str, is_last: bool) -> StepAnalysis | None:
        return await turn.filler.ask_if_possible(
            StepAnalysis,
            "orchestrator",
            "analyze",
            [HumanMessage(task.text), *heard],
            findings="",
            calculations="",
            knowledge=turn.work.knowledge,
            question=task.question,
            results=results,
            is_last=is_last,
        )

    calculating = Calculations(turn.work.calculator)
    form = await turn.in_time(calculating.ask(ask))
    failures = turn.filler.failures
    update = BranchUpdate(
        seconds=turn.seconds,
        spending=turn.spending,
        iteration=1,
        turn=state.turn + 1,
        is_over=True,
        failures=failures,
    )
    if isinstance(form, Failed):
        return {**update, "ended": "failed", "reason": form.reason}
    if form is None:
        return {**update, "ended": "failed", "reason": failures[-1]}
    learnings = dict[str, Learning]()
    for conclusion in form.conclusions:
        text = without_markers(conclusion)
        if text:
            learning = Learning(text=text, step=task.step.id, question_id=task.question_id)
            learnings[learning.id] = learning
    score = 0.0
    if learnings:
        # Confidence depends on the sources of the learnings that the analysis had.
        rests_on = {source.key: source for source in task.rests_on}
        is_judged = not RoleModels(context).is_extractive("orchestrator")
        completeness = form.completeness if is_judged else None
        score = confidence(task.step.task, list(task.known), rests_on, 1, completeness)
    iteration = Iteration(
        number=1,
        learnings=tuple(learnings),
        confidence=score,
        at=context.clock.now().isoformat(timespec="seconds"),
    )
    turn.emit(*StepPackets(turn.placement).iteration(task.step.id, iteration, learnings))
    missing = form.missing_facts
    memory = turn.work.observed(form, learnings, score)
    for rank, fact in enumerate(missing):
        # Open until a step finds it; the report names what is open at the end.
        gap = turn.work.state.observation("gap", fact, 1.0, rank=rank)
        memory[gap.key] = gap
    return {
        **update,
        "iterations": [iteration],
        "learnings": learnings,
        "calculations": calculating.changed,
        "memory": memory,
        "judged": form.judgement.model_copy(update={"missing": missing}),
    }

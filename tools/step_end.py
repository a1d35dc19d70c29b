"""What a step comes back with, however it has ended."""

from __future__ import annotations

from collections.abc import Sequence

from langgraph.types import StreamWriter

from ..evidence.memory.observations import relevance
from ..knowledge import Observation, PlanStep, StepOutcome, last_verdict
from ..run.branch import assignment_of
from ..run.packet import emit
from ..run.packets import SectionEnd
from ..run.step_branch import StepState, StepTask, noticed
from ..run.step_telling import step_done
from ..state import Finding

ANSWERED = 0.6
"""Share of a task's telling words that others must have learned for it to count as answered."""
NOTHING = "Nothing that bears on this was found."


def finding_of(state: StepState, failures: Sequence[str], seconds: float) -> Finding:
    """The learnings as a finding, one a line; `failures` are all that went wrong, `seconds` what it took."""
    lines = [
        learning.text + (f" [{state.numbers[learning.source]}]" if learning.source else "")
        for learning in state.learnings.values()
    ]
    ended, reason = state.ended, state.reason
    if not lines and (failures or ended == "partial"):
        ended, reason = "failed", reason or failures[-1]
    return Finding(
        **assignment_of(state.task),
        text="\n".join(lines) or NOTHING,
        sources=tuple(state.keys),
        ended=ended,
        reason=reason,
        failures=tuple(failures),
        seconds=seconds,
        actions=tuple(state.actions),
    )


def outcome_of(state: StepState) -> StepOutcome:
    """What the step did."""
    return StepOutcome(step=state.task.step.id, iterations=tuple(state.iterations), turns=state.turn)


def not_found(state: StepState, finding: Finding) -> dict[str, Observation]:
    """The gap that a step leaves which is not complete, unless it or others have learned what it was to find.

    One that failed is named as such, and what a model has declared to be open is open by itself.
    """
    if finding.ended == "failed" or (_has_answer(state) if state.learnings else _is_answered_by_others(state.task)):
        return {}
    gap = noticed(state, "gap", state.task.step.task, 1.0)
    return {gap.key: gap}


def _has_answer(state: StepState) -> bool:
    verdict = last_verdict(state.iterations)
    is_declared = any(noted.kind == "gap" and noted.is_open for noted in state.memory.values())
    return verdict is None or verdict.is_complete or is_declared


def _is_answered_by_others(task: StepTask) -> bool:
    return relevance(" ".join(learning.text for learning in task.known), task.step.task) >= ANSWERED


def ended_step(step: PlanStep, finding: Finding) -> PlanStep:
    """The step with its final status."""
    status = "failed" if finding.ended == "failed" else "completed"
    return step.model_copy(update={"status": status, "reason": finding.reason})


def tell_end(writer: StreamWriter, finding: Finding, task: StepTask) -> None:
    """Say that the step is over."""
    emit(writer, step_done(ended_step(task.step, finding), task.place), SectionEnd(placement=task.place))

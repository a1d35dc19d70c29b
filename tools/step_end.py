"""What a step comes back with, however it has ended."""

from __future__ import annotations

from collections.abc import Sequence

from langgraph.types import StreamWriter

from ..knowledge import Observation, PlanStep, StepOutcome, last_verdict
from ..run.branch import assignment_of
from ..run.packet import emit
from ..run.packets import SectionEnd
from ..run.step_branch import StepState, StepTask, noticed
from ..run.step_telling import step_done
from ..state import Finding

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
    """The gap that a step leaves which is not complete, unless it has failed, or its model has declared what is open.

    Who found nothing new may have found what was known. That others have learned what it was to find is for the final
    check to say.
    """
    verdict = last_verdict(state.iterations)
    is_complete = bool(state.learnings) if verdict is None else verdict.is_complete
    has_answer = is_complete and bool(state.learnings or state.task.known)
    is_declared = any(noted.kind == "gap" and noted.is_open for noted in state.memory.values())
    if finding.ended == "failed" or has_answer or is_declared:
        return {}
    gap = noticed(state, "gap", state.task.step.task, 1.0)
    return {gap.key: gap}


def ended_step(step: PlanStep, finding: Finding) -> PlanStep:
    """The step with its final status."""
    status = "failed" if finding.ended == "failed" else "completed"
    return step.model_copy(update={"status": status, "reason": finding.reason})


def tell_end(writer: StreamWriter, finding: Finding, task: StepTask) -> None:
    """Say that the step is over."""
    emit(writer, step_done(ended_step(task.step, finding), task.place), SectionEnd(placement=task.place))

"""The packets of a step: the same while it works and when it is told again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ...records.plan import Iteration, Learning, PlanStep, Verdict
from .packets import LearningShown, PacketError, Placement, StepAssessed, StepDone, StepLearnings, StepStarted


def step_started(step: PlanStep, place: Placement) -> StepStarted:
    """A step begins."""
    return StepStarted(
        placement=place, step_id=step.id, title=step.title, task=step.task, kind=step.kind, parent_id=step.parent
    )


def step_learnings(
    step_id: str, iteration: Iteration, learnings: Iterable[Learning], place: Placement
) -> StepLearnings:
    """What an iteration has learned."""
    shown = [LearningShown(id=known.id, text=known.text, document_id=known.source) for known in learnings]
    return StepLearnings(
        placement=place,
        step_id=step_id,
        iteration=iteration.number,
        learnings=shown,
        confidence=iteration.confidence,
    )


def step_assessed(step_id: str, iteration: int, verdict: Verdict, place: Placement) -> StepAssessed:
    """What is thought of the results of one query."""
    return StepAssessed(
        placement=place,
        step_id=step_id,
        iteration=iteration,
        query=verdict.query,
        is_complete=verdict.is_complete,
        reasoning=verdict.reasoning,
        key_elements=list(verdict.key_elements),
    )


def iteration_told(
    step_id: str, iteration: Iteration, learnings: Mapping[str, Learning], place: Placement
) -> list[StepLearnings | StepAssessed]:
    """All that is told of an iteration when its results are known."""
    learned = step_learnings(step_id, iteration, [learnings[key] for key in iteration.learnings], place)
    return [learned, *(step_assessed(step_id, iteration.number, verdict, place) for verdict in iteration.verdicts)]


def step_done(step: PlanStep, place: Placement) -> StepDone:
    """A step is over; its status is a final one."""
    assert step.status in ("completed", "failed", "skipped")
    return StepDone(placement=place, step_id=step.id, status=step.status, reason=step.reason)


def step_failed(place: Placement, reason: str) -> PacketError:
    """What is said where something of a step went wrong."""
    return PacketError(placement=place, message=f"A step went on without it: {reason}.")

"""The steps of a typed plan as pure functions: which are due, follow-ups, skipped and revised steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..records.plan import PlanStep, StepOutcome, Suggestion
from .limits import Limits

NOTHING_TO_THINK_OVER = "nothing was learned that it could think over"
"""Reason for skipping an analysis step."""
_COMPLETE = 0.7
"""A step with at least this completeness gets no follow-up."""
_GOOD = 0.4
"""A step with at most this quality gets no follow-up: its results are too poor."""


def due(steps: Sequence[PlanStep]) -> list[PlanStep]:
    """Return the steps to dispatch next; empty when all are finished.

    Independent searches come first, then searches whose dependencies are finished, then one analysis.
    """
    pending = [step for step in steps if step.status == "pending"]
    searches = [step for step in pending if step.requires_search and not _awaited(step, steps)]
    for kind in ("independent", "hybrid"):
        if found := [step for step in searches if step.kind == kind]:
            return found
    return [step for step in pending if not step.requires_search][:1]


def needed_follow_up(step: PlanStep, outcome: StepOutcome, suggestions: Sequence[Suggestion]) -> Suggestion | None:
    """Return the first suggestion if the step needs a follow-up; its title or task may be empty."""
    if outcome.completeness is None or outcome.quality is None or not suggestions:
        return None
    # An analysis has no verdict on whether it is complete.
    is_open = not outcome.is_complete or not step.requires_search
    return suggestions[0] if is_open and outcome.completeness < _COMPLETE and outcome.quality > _GOOD else None


def with_follow_up(steps: Sequence[PlanStep], parent_id: str, wanted: Suggestion, limits: Limits) -> list[PlanStep]:
    """Insert a follow-up below its parent; unchanged if too deep or if an ancestor had the same task."""
    by_id = {step.id: step for step in steps}
    family = [parent := by_id[parent_id]]
    while family[-1].parent:
        family.append(by_id[family[-1].parent])
    deepest = limits.max_follow_ups if parent.requires_search else limits.max_analysis_follow_ups
    known = {_plain(text) for step in family for text in (step.title, step.task)}
    if parent.depth >= deepest or known & {_plain(wanted.title), _plain(wanted.task)}:
        return list(steps)
    child = PlanStep(
        id=f"{parent_id}.1",
        title=wanted.title,
        description=f"Follows up step {parent_id}.",
        task=wanted.task,
        requires_search=wanted.requires_search,
        depends_on=(parent_id,),
        parent=parent_id,
        depth=parent.depth + 1,
    )
    last = max(index for index, step in enumerate(steps) if step.id == parent_id or _is_below(step, parent_id))
    return [*steps[: last + 1], child, *steps[last + 1 :]]


def set_status(steps: Sequence[PlanStep], changed: Mapping[str, PlanStep]) -> list[PlanStep]:
    """Replace the changed steps by id."""
    return [changed.get(step.id, step) for step in steps]


def skip_pending(steps: Sequence[PlanStep], reason: str, *, searches_only: bool = False) -> list[PlanStep]:
    """Skip all pending steps, or only the pending searches, for this reason."""
    skipped = {"status": "skipped", "reason": reason}
    return [
        step if step.is_over or (searches_only and not step.requires_search) else step.model_copy(update=skipped)
        for step in steps
    ]


def restore_skipped(steps: Sequence[PlanStep], reason: str) -> list[PlanStep]:
    """Make steps that were skipped for this reason pending again."""
    pending = {"status": "pending", "reason": ""}
    return [
        step.model_copy(update=pending) if reason and step.status == "skipped" and step.reason == reason else step
        for step in steps
    ]


def revise_steps(
    steps: Sequence[PlanStep],
    needless: Mapping[str, str],
    reworded: Mapping[str, str],
    added: Sequence[tuple[str, str, bool]],
    most: int,
) -> list[PlanStep]:
    """Return the revised plan: pending steps skipped (reasons by id) or reworded (tasks by id), and new steps.

    `added`: title, task, and whether the step searches. New steps are dropped if more than `most` steps of the plan
    would be unfinished; follow-ups do not count.
    """
    changed = dict[str, PlanStep]()
    for step in (step for step in steps if step.status == "pending"):
        if step.id in needless:
            changed[step.id] = step.model_copy(update={"status": "skipped", "reason": needless[step.id]})
        elif task := reworded.get(step.id, ""):
            changed[step.id] = step.model_copy(update={"task": task, "title": " ".join(task.split())[:80]})
    own = [step for step in steps if not step.parent]
    room = max(0, most - sum(not step.is_over for step in own))
    new = [
        PlanStep(id=str(len(own) + number), title=title or task[:80], task=task or title, requires_search=searches)
        for number, (title, task, searches) in enumerate(added[:room], 1)
    ]
    return [*set_status(steps, changed), *new]


def _awaited(step: PlanStep, steps: Sequence[PlanStep]) -> bool:
    """Whether a dependency is unfinished; steps other than follow-ups also wait for their dependencies' follow-ups."""
    return any(
        other.id in step.depends_on or (not step.parent and any(_is_below(other, id_) for id_ in step.depends_on))
        for other in steps
        if not other.is_over
    )


def _is_below(step: PlanStep, ancestor: str) -> bool:
    return step.id.startswith(f"{ancestor}.")


def _plain(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(".?!")

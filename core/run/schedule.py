"""Pure functions on the steps of a typed plan: which are due, which get follow-ups, are skipped or
are revised."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..records.plan import PlanStep, StepOutcome, Suggestion
from .limits import Limits

NOTHING_TO_THINK_OVER = "nothing was learned that it could think over"
"""Reason for skipping an analysis step."""
_DEEPEST_BELOW_ANALYSIS = 2
"""Depth of follow-up steps below an analysis step."""
_COMPLETE = 0.7
"""A step with at least this completeness gets no follow-up."""
_GOOD = 0.4
"""A step with at most this quality gets no follow-up, which would build on poor results."""


def due(steps: Sequence[PlanStep]) -> list[PlanStep]:
    """Return the pending steps that come next, all of one kind; empty if none is pending.

    Independent searches come first, then searches that build on finished steps, then the first
    analysis.
    """
    pending = [step for step in steps if step.status == "pending"]
    searches = [step for step in pending if step.requires_search and not _has_to_wait(step, steps)]
    for kind in ("independent", "hybrid"):
        if found := [step for step in searches if step.kind == kind]:
            return found
    return [step for step in pending if not step.requires_search][:1]


def needed_follow_up(
    step: PlanStep, outcome: StepOutcome, suggestions: Sequence[Suggestion]
) -> Suggestion | None:
    """Return the first suggestion if the outcome of the step calls for a follow-up, else None."""
    if outcome.completeness is None or outcome.quality is None or not suggestions:
        return None
    # An analysis has no verdict on whether it is complete.
    is_open = not outcome.is_complete or not step.requires_search
    return (
        suggestions[0]
        if is_open and outcome.completeness < _COMPLETE and outcome.quality > _GOOD
        else None
    )


def with_follow_up(
    steps: Sequence[PlanStep], parent_id: str, wanted: Suggestion, limits: Limits
) -> list[PlanStep]:
    """Return the steps with a follow-up inserted after its parent and the parent's other
    follow-ups.

    They are returned unchanged if the follow-up is too deep, or if the parent or an ancestor has
    its title or task.
    """
    by_id = {step.id: step for step in steps}
    family = [parent := by_id[parent_id]]
    while family[-1].parent:
        family.append(by_id[family[-1].parent])
    deepest = limits.max_follow_ups
    if not parent.requires_search and deepest:
        deepest = _DEEPEST_BELOW_ANALYSIS
    known = {_normalised(text) for step in family for text in (step.title, step.task)}
    if parent.depth >= deepest or known & {_normalised(wanted.title), _normalised(wanted.task)}:
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
    last = max(
        index
        for index, step in enumerate(steps)
        if step.id == parent_id or _follows_up(step, parent_id)
    )
    return [*steps[: last + 1], child, *steps[last + 1 :]]


def replace_steps(steps: Sequence[PlanStep], changed: Mapping[str, PlanStep]) -> list[PlanStep]:
    """Return the steps, with those in `changed` (by id) replaced."""
    return [changed.get(step.id, step) for step in steps]


def skip_pending(
    steps: Sequence[PlanStep], reason: str, *, searches_only: bool = False
) -> list[PlanStep]:
    """Return the steps, with all unfinished ones (or only the searches among them) skipped for this
    reason."""
    skipped = {"status": "skipped", "reason": reason}
    return [
        step
        if step.is_over or (searches_only and not step.requires_search)
        else step.model_copy(update=skipped)
        for step in steps
    ]


def restore_skipped(steps: Sequence[PlanStep], reason: str) -> list[PlanStep]:
    """Return the steps, with those that were skipped for this reason pending again; unchanged if it
    is empty."""
    pending = {"status": "pending", "reason": ""}
    return [
        step.model_copy(update=pending)
        if reason and step.status == "skipped" and step.reason == reason
        else step
        for step in steps
    ]


def revise_steps(
    steps: Sequence[PlanStep],
    needless: Mapping[str, str],
    reworded: Mapping[str, str],
    added: Sequence[tuple[str, str, bool]],
    most: int,
) -> list[PlanStep]:
    """Return the steps with pending ones skipped or reworded, and with new ones at the end.

    `needless`: reasons for skipping, by step id. `reworded`: new tasks, by step id. `added`:
    (title, task, whether it searches) of each new step; those beyond `most` unfinished steps, not
    counting follow-ups, are dropped.
    """
    changed = dict[str, PlanStep]()
    for step in (step for step in steps if step.status == "pending"):
        if step.id in needless:
            changed[step.id] = step.model_copy(
                update={"status": "skipped", "reason": needless[step.id]}
            )
        elif task := reworded.get(step.id, ""):
            changed[step.id] = step.model_copy(
                update={"task": task, "title": " ".join(task.split())[:80]}
            )
    own = [step for step in steps if not step.parent]
    room = max(0, most - sum(not step.is_over for step in own))
    new = [
        PlanStep(
            id=str(len(own) + number),
            title=title or task[:80],
            task=task or title,
            requires_search=searches,
        )
        for number, (title, task, searches) in enumerate(added[:room], 1)
    ]
    return [*replace_steps(steps, changed), *new]


def _has_to_wait(step: PlanStep, steps: Sequence[PlanStep]) -> bool:
    """Whether a step that it builds on is unfinished or, unless it is a follow-up itself, has
    unfinished follow-ups."""
    return any(
        other.id in step.depends_on
        or (not step.parent and any(_follows_up(other, id_) for id_ in step.depends_on))
        for other in steps
        if not other.is_over
    )


def _follows_up(step: PlanStep, ancestor_id: str) -> bool:
    """Whether the step is a follow-up of this one, directly or through others."""
    return step.id.startswith(f"{ancestor_id}.")


def _normalised(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(".?!")

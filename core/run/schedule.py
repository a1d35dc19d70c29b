"""The course of a typed plan: what is due, which steps follow from others, what they are shown; all of it pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..records.plan import PlanStep, StepOutcome, Suggestion
from .limits import Limits

NOTHING_TO_THINK_OVER = "nothing was learned that it could think over"
"""Why a thought was skipped."""
COMPLETE = 0.7
"""Completeness from which on a step is not followed up."""
GOOD = 0.4
"""Quality up to which what a step found is too poor to be followed up."""


def due(steps: Sequence[PlanStep]) -> list[PlanStep]:
    """Return the steps that can be dispatched next: searches of one kind, else one analysis; empty at the end.

    Independent searches come first, then those whose steps are all over, then thought.
    """
    pending = [step for step in steps if step.status == "pending"]
    searches = [step for step in pending if step.requires_search and not _awaited(step, steps)]
    for kind in ("independent", "hybrid"):
        if found := [step for step in searches if step.kind == kind]:
            return found
    return [step for step in pending if not step.requires_search][:1]


def needed_follow_up(step: PlanStep, outcome: StepOutcome, suggestions: Sequence[Suggestion]) -> Suggestion | None:
    """Return the first suggestion if a step needs a follow-up; its title or task may be missing."""
    if outcome.completeness is None or outcome.quality is None or not suggestions:
        return None
    # A thought has no verdict that could say that it is complete.
    is_open = not outcome.is_complete or not step.requires_search
    return suggestions[0] if is_open and outcome.completeness < COMPLETE and outcome.quality > GOOD else None


def with_follow_up(steps: Sequence[PlanStep], parent_id: str, wanted: Suggestion, limits: Limits) -> list[PlanStep]:
    """Return the steps with a follow-up below its parent; unchanged if too deep or if an ancestor had the same task."""
    family = _family(steps, parent_id)
    parent = family[0]
    deepest = limits.max_follow_ups if parent.requires_search else limits.max_analysis_follow_ups
    words = {_plain(known) for step in family for known in (step.title, step.task)}
    if parent.depth >= deepest or words & {_plain(wanted.title), _plain(wanted.task)}:
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
    place = max(number for number, step in enumerate(steps) if step.id == parent_id or _is_below(step, parent_id))
    return [*steps[: place + 1], child, *steps[place + 1 :]]


def set_status(steps: Sequence[PlanStep], changed: Mapping[str, PlanStep]) -> list[PlanStep]:
    """Return the steps with the changed ones replaced, by id."""
    return [changed.get(step.id, step) for step in steps]


def skip_pending(steps: Sequence[PlanStep], reason: str, *, searches_only: bool = False) -> list[PlanStep]:
    """Return the steps with all pending ones, or all pending searches, skipped for this reason."""
    skipped = {"status": "skipped", "reason": reason}
    return [
        step if step.is_over or (searches_only and not step.requires_search) else step.model_copy(update=skipped)
        for step in steps
    ]


def restore_skipped(steps: Sequence[PlanStep], reason: str) -> list[PlanStep]:
    """Return the steps with those pending again that were skipped for this reason, which may hold no longer."""
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
    """Return the revised steps: pending ones skipped (reasons by id) or reworded (tasks by id), and new ones.

    `added` are title, task and whether it searches; no more of them than keep what is left of the plan, follow-ups
    apart, within `most` steps.
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


def _family(steps: Sequence[PlanStep], step_id: str) -> list[PlanStep]:
    """Return the step and its ancestors."""
    by_id = {step.id: step for step in steps}
    family = [by_id[step_id]]
    while family[-1].parent:
        family.append(by_id[family[-1].parent])
    return family


def _awaited(step: PlanStep, steps: Sequence[PlanStep]) -> bool:
    """Whether a dependency is not over; for a step of the plan itself, also a follow-up of a dependency."""
    return any(
        other.id in step.depends_on or (not step.parent and any(_is_below(other, one) for one in step.depends_on))
        for other in steps
        if not other.is_over
    )


def _is_below(step: PlanStep, ancestor: str) -> bool:
    return step.id.startswith(f"{ancestor}.")


def _plain(words: str) -> str:
    return " ".join(words.casefold().split()).rstrip(".?!")

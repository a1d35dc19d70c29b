"""The course of a typed plan: what is due, which steps follow from others, what they are shown; all of it pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from deep_research.knowledge import PlanStep, StepOutcome, Suggestion
from deep_research.run.limits import Limits

COMPLETE = 0.7
"""Completeness from which on a step is not followed up."""
GOOD = 0.4
"""Quality up to which what a step found is too poor to be followed up."""


def due(steps: Sequence[PlanStep], most: int) -> list[PlanStep]:
    """The steps of the next round: at most so many searches of one kind, else one analysis; empty at the end.

    Independent searches come first, then those whose steps are all over, then thought.
    """
    pending = [step for step in steps if step.status == "pending"]
    searches = [step for step in pending if step.requires_search and not _awaited(step, steps)]
    for kind in ("independent", "hybrid"):
        if found := [step for step in searches if step.kind == kind]:
            return found[:most]
    return [step for step in pending if not step.requires_search][:1]


def wanted_follow_up(step: PlanStep, outcome: StepOutcome, suggestions: Sequence[Suggestion]) -> Suggestion | None:
    """The first suggestion, if what a step came to wants a further step; its title or task may be missing."""
    if outcome.completeness is None or outcome.quality is None or not suggestions:
        return None
    # A thought has no verdict that could say that it is complete.
    is_open = not outcome.is_complete or not step.requires_search
    return suggestions[0] if is_open and outcome.completeness < COMPLETE and outcome.quality > GOOD else None


def with_follow_up(steps: Sequence[PlanStep], parent_id: str, wanted: Suggestion, limits: Limits) -> list[PlanStep]:
    """The steps with one more below its parent; as they are if it would be too deep or what an ancestor was for."""
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
    """The steps with those that have changed, by id."""
    return [changed.get(step.id, step) for step in steps]


def left_undone(steps: Sequence[PlanStep], reason: str) -> list[PlanStep]:
    """The steps with all that were never done skipped for this reason."""
    return [step if step.is_over else step.model_copy(update={"status": "skipped", "reason": reason}) for step in steps]


def adapted(
    steps: Sequence[PlanStep],
    needless: Mapping[str, str],
    reworded: Mapping[str, str],
    added: Sequence[tuple[str, str, bool]],
    most: int,
) -> list[PlanStep]:
    """The steps after a second look: pending ones skipped (reasons by id) or with another task (by id), and new ones.

    `added` are title, task and whether it searches; no more of them than keep the plan itself, follow-ups left out,
    within `most` steps.
    """
    changed = {
        step.id: step.model_copy(update={"status": "skipped", "reason": needless[step.id]})
        if step.id in needless
        else step.model_copy(update={"task": reworded.get(step.id) or step.task})
        for step in steps
        if step.status == "pending"
    }
    own = sum(not step.parent for step in steps)
    new = [
        PlanStep(id=str(own + number), title=title or task[:80], task=task or title, requires_search=searches)
        for number, (title, task, searches) in enumerate(added[: max(0, most - own)], 1)
        if title or task
    ]
    return [*set_status(steps, changed), *new]


def plan_text(steps: Sequence[PlanStep]) -> str:
    """The plan as the user reads it: a numbered line a step, with its task and what it builds on below."""
    return "\n".join(
        f"{number}. {step.title}\n   {' '.join(step.task.split())}{_remark(step)}"
        for number, step in enumerate(steps, 1)
    )


def _remark(step: PlanStep) -> str:
    builds_on = f"builds on {', '.join(step.depends_on)}" if step.depends_on else ""
    remarks = [remark for remark in ("" if step.requires_search else "thought alone", builds_on) if remark]
    return f" ({'; '.join(remarks)})" if remarks else ""


def _family(steps: Sequence[PlanStep], step_id: str) -> list[PlanStep]:
    """The step, its parent, and so on."""
    by_id = {step.id: step for step in steps}
    family = [by_id[step_id]]
    while family[-1].parent:
        family.append(by_id[family[-1].parent])
    return family


def _awaited(step: PlanStep, steps: Sequence[PlanStep]) -> bool:
    """Whether something that it builds on is not over; for a step of the plan itself, follow-ups of that as well."""
    return any(
        other.id in step.depends_on or (not step.parent and any(_is_below(other, one) for one in step.depends_on))
        for other in steps
        if not other.is_over
    )


def _is_below(step: PlanStep, ancestor: str) -> bool:
    return step.id.startswith(f"{ancestor}.")


def _plain(words: str) -> str:
    return " ".join(words.casefold().split()).rstrip(".?!")

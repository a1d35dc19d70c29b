"""Pure functions on the steps of a typed plan: which are due, which get follow-ups, are skipped or
are revised."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..core.records.plan import PlanStep, Suggestion
from ..core.settings.limits import Limits

ANALYSIS_SHARE = 0.2
"""Share of the plan's time reserved for its analyses, enough for them to finish at 15 s per
call."""
_DEEPEST_BELOW_ANALYSIS = 2
"""Depth of follow-up steps below an analysis step."""


def due(steps: Sequence[PlanStep]) -> list[PlanStep]:
    """Return the pending steps that come next, all of one kind; empty if none is pending.

    Independent searches come first, then searches that build on finished steps, then the first
    analysis.
    """
    independent: list[PlanStep] = []
    hybrid: list[PlanStep] = []
    analyses: list[PlanStep] = []
    for step in steps:
        if step.status != "pending":
            continue
        if not step.requires_search:
            analyses.append(step)
        elif _has_to_wait(step, steps):
            continue
        elif step.kind == "independent":
            independent.append(step)
        else:
            hybrid.append(step)
    return independent or hybrid or analyses[:1]


def with_follow_up(
    steps: Sequence[PlanStep], parent_id: str, wanted: Suggestion, limits: Limits
) -> list[PlanStep]:
    """Return the steps with a follow-up inserted after its parent and the parent's other
    follow-ups.

    They are returned unchanged if the follow-up is too deep, or if the parent or an ancestor has
    its title or task.
    """
    by_id = {step.id: step for step in steps}
    parent = by_id[parent_id]
    deepest = limits.max_follow_ups
    if not parent.requires_search and deepest:
        deepest = _DEEPEST_BELOW_ANALYSIS
    if parent.depth >= deepest:
        return list(steps)
    family = [parent]
    while family[-1].parent:
        family.append(by_id[family[-1].parent])
    known = set[str]()
    for step in family:
        known |= {_normalised(step.title), _normalised(step.task)}
    if known & {_normalised(wanted.title), _normalised(wanted.task)}:
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
    position = 0
    for index, step in enumerate(steps, 1):
        if step.id == parent_id or _follows_up(step, parent_id):
            position = index
    return [*steps[:position], child, *steps[position:]]


def replace_steps(steps: Sequence[PlanStep], changed: Mapping[str, PlanStep]) -> list[PlanStep]:
    """Return the steps, with those in `changed` (by id) replaced."""
    return [changed.get(step.id, step) for step in steps]


def skip_pending(
    steps: Sequence[PlanStep], reason: str, *, searches_only: bool = False
) -> list[PlanStep]:
    """Return the steps, with all unfinished ones (or only the searches among them) skipped for this
    reason."""
    skipped = {"status": "skipped", "reason": reason}
    changed = dict[str, PlanStep]()
    for step in steps:
        if not step.is_over and (step.requires_search or not searches_only):
            changed[step.id] = step.model_copy(update=skipped)
    return replace_steps(steps, changed)


def restore_skipped(steps: Sequence[PlanStep], reason: str) -> list[PlanStep]:
    """Return the steps, with those that were skipped for this reason pending again; unchanged if it
    is empty."""
    if not reason:
        return list(steps)
    pending = {"status": "pending", "reason": ""}
    changed = dict[str, PlanStep]()
    for step in steps:
        if step.status == "skipped" and step.reason == reason:
            changed[step.id] = step.model_copy(update=pending)
    return replace_steps(steps, changed)


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
    planned = unfinished = 0
    for step in steps:
        if not step.parent:
            planned += 1
            if not step.is_over:
                unfinished += 1
        if step.status != "pending":
            continue
        task = reworded.get(step.id, "")
        if step.id in needless:
            skipped = {"status": "skipped", "reason": needless[step.id]}
            changed[step.id] = step.model_copy(update=skipped)
        elif task:
            title = " ".join(task.split())[:80]
            changed[step.id] = step.model_copy(update={"task": task, "title": title})
    revised = replace_steps(steps, changed)
    room = max(0, most - unfinished)
    for number, (title, task, searches) in enumerate(added[:room], planned + 1):
        step = PlanStep(
            id=str(number), title=title or task[:80], task=task or title, requires_search=searches
        )
        revised.append(step)
    return revised


def with_missing_facts(
    steps: Sequence[PlanStep], missing: Iterable[str], limits: Limits
) -> list[PlanStep]:
    """Return the steps with a search at the end for each fact that an analysis misses.

    There are no more than run in parallel, nor than a plan may have left (`max_plan_steps`), and
    none for what is a step already.
    """
    known = set[str]()
    for step in steps:
        known |= {_normalised(step.title), _normalised(step.task)}
    new = [("", fact, True) for fact in missing if _normalised(fact) not in known]
    added = new[: limits.max_parallel_researchers]
    return revise_steps(steps, {}, {}, added, limits.max_plan_steps)


def _has_to_wait(step: PlanStep, steps: Sequence[PlanStep]) -> bool:
    """Whether a step that it builds on is unfinished or, unless it is a follow-up itself, has
    unfinished follow-ups."""
    for other in steps:
        if other.is_over:
            continue
        if other.id in step.depends_on:
            return True
        if not step.parent and any(_follows_up(other, id_) for id_ in step.depends_on):
            return True
    return False


def _follows_up(step: PlanStep, ancestor_id: str) -> bool:
    """Whether the step is a follow-up of this one, directly or through others."""
    return step.id.startswith(f"{ancestor_id}.")


def _normalised(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(".?!")

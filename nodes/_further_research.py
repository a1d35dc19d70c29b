"""Sends out tasks that neither the orchestrator's model nor the plan has asked for: on what a draft
leaves open, and on facts that an edit of a report needs."""

from __future__ import annotations

from collections.abc import Sequence

from ..core.dialogue.transcripts import Transcript
from ..core.records.research import ON_OPEN_REQUIREMENT, Progress
from ..state import StateUpdate
from ._steps import revise_steps
from .turn import Turn

_TITLE = 80
"""Maximum characters of a step's title."""


def may_research(turn: Turn) -> bool:
    """Whether the run has something to search, and no limit is reached."""
    run = turn.state.run
    if run.stop_reason or turn.limit:
        return False
    return bool(turn.offered)


def tasks_waiting(
    turn: Turn, progress: Progress, tasks: Sequence[tuple[str, str]], round_number: int
) -> StateUpdate:
    """Return the update with which tasks, pairs of title and text, wait for research.

    In the planned strategy they become steps; otherwise they wait as if the orchestrator's model
    had called for them. `progress` is the one that the node would write.
    """
    run = turn.state.run
    if run.strategy == "planned":
        added = [(title[:_TITLE], task, True) for title, task in tasks]
        limits = turn.context.limits
        steps = revise_steps(turn.state.steps, {}, {}, added, limits.max_plan_steps)
        return {"progress": progress, "steps": steps}
    prefix = f"{ON_OPEN_REQUIREMENT}{run.id[:8]}-{round_number}"
    waiting = list[tuple[str, str]]()
    for number, (_, task) in enumerate(tasks, 1):
        waiting.append((f"{prefix}-{number}", task))
    changes = {"waiting": tuple(waiting), "decision": "research"}
    progress = progress.model_copy(update=changes)
    return {"progress": progress, "transcript": [Transcript.pending(waiting)]}

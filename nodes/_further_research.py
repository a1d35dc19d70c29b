"""Sends out tasks that neither the orchestrator's model nor the plan has asked for: on what a draft
leaves open, on facts that an edit of a report needs, and on what was lost with excluded sources."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence

from ..core.dialogue.transcripts import Transcript
from ..core.evidence.exclusion import ExcludedSources
from ..core.records.report import Draft, Report
from ..core.records.research import ON_OPEN_REQUIREMENT, Progress
from ..core.records.sources import Exclusion
from ..core.writing.versions import ThreadVersions
from ..state import ResearchState, StateUpdate
from ._steps import revise_steps
from .turn import Turn

_TITLE = 80
"""Maximum characters of a step's title."""
_REPLACING = (
    'To replace: {topic}. It is missing in the report "{title}", since the source that said it is '
    "not used any more; what that said cannot be shown. Find what other sources say in its place."
)
"""Task of a researcher, from the title of the report and where the statement stood."""


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


async def replaced_topics(
    turn: Turn, state: ResearchState, draft: Draft, excluded: ExcludedSources
) -> list[str]:
    """Return on what an edit has to find other sources, since the user wants excluded ones to be
    replaced: where each lost statement stood, and of which kind it was.

    The statements are those of the report that is edited or, if it does without these sources
    already, of the latest version with them. `state` is the stored state, `draft` what is left.
    """
    wanted = ExcludedSources(
        [key for key, exclusion in state.excluded.items() if exclusion.needs_replacement]
    )
    report = await _latest_with_part_of(turn, state, wanted)
    if report is None:
        return []
    if report is not state.base:
        excluded = await asyncio.to_thread(excluded.with_lost_statements, report, draft)
    return each_topic_once(
        await asyncio.to_thread(excluded.lost_topics, report, draft.text, wanted)
    )


def each_topic_once(topics: Sequence[str]) -> list[str]:
    """Return topics, each once, with the number of its statements if it is not the only one."""
    lines = list[str]()
    for topic, count in Counter(topics).items():
        lines.append(f"{topic} ({count} of them)" if count > 1 else topic)
    return lines


def replacing_tasks(
    topics: Sequence[str], state: ResearchState, draft: Draft
) -> list[tuple[str, str]]:
    """Return the tasks, pairs of title and text, that find other sources on these topics."""
    title = draft.title
    if not title:
        for version in state.versions.values():
            # The title of an edit may be its words.
            if version.kind in ("research", "question"):
                title = version.title
    tasks = list[tuple[str, str]]()
    for topic in topics:
        tasks.append((topic, _REPLACING.format(title=title, topic=topic)))
    return tasks


def settled_exclusions(excluded: Mapping[str, Exclusion]) -> dict[str, Exclusion]:
    """Return the exclusions without the wish for other sources, which an edit has carried out."""
    settled = dict[str, Exclusion]()
    for key, exclusion in excluded.items():
        settled[key] = exclusion.model_copy(update={"needs_replacement": False})
    return settled


async def _latest_with_part_of(
    turn: Turn, state: ResearchState, wanted: ExcludedSources
) -> Report | None:
    """Return the report that is edited or, if it does not rest on any of the `wanted` sources, the
    latest version that does; None if there is none."""
    if not wanted.keys:
        return None
    if state.base and wanted.have_part_in(state.base):
        return state.base
    finished = await ThreadVersions(state).latest_with_part_of(wanted, turn.pages)
    return finished.report if finished else None

"""Gives the sources of a round their numbers in the thread, and notes what the findings say and leave open."""

from __future__ import annotations

from typing_extensions import TypedDict

from ..core.evidence.citations.citing import number_findings
from ..core.evidence.memory.learned import notice_findings
from ..core.records.plan import Learning, Observation
from ..core.records.research import Finding, Run, Task
from ..core.records.sources import Source
from ..state import ResearchState


class CollectUpdate(TypedDict):
    """What `collect` writes."""

    run: Run
    tasks: list[Task]
    findings: dict[str, Finding]
    sources: dict[str, Source]
    learnings: dict[str, Learning]
    memory: dict[str, Observation]


async def collect(state: ResearchState) -> CollectUpdate:
    """Number the new findings, and add to the research memory what follows from them without a model."""
    assert state.run is not None
    findings, sources = number_findings(state.findings.values(), state.sources)
    longest = max((finding.seconds for finding in findings.values()), default=0.0)
    run = state.run.model_copy(update={"active_seconds": state.run.active_seconds + longest})
    # A step of a plan has written its learnings and gaps itself.
    researched = [] if state.steps else list(findings.values())
    learnings, memory = notice_findings(researched, state.memory)
    return {
        "run": run,
        "tasks": [],
        "findings": findings,
        "sources": sources,
        "learnings": learnings,
        "memory": memory,
    }

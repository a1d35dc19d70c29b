"""Gives the sources of a round their numbers in the thread, and notes what the findings say and leave open."""

from __future__ import annotations

from ..core.evidence.citations.citing import number_findings
from ..core.evidence.memory.learned import notice_findings
from ..state import ResearchState, StateUpdate


async def collect(state: ResearchState) -> StateUpdate:
    """Number the new findings, and add to the research memory what follows from them without a model."""
    findings, sources = number_findings(state.findings.values(), state.sources)
    longest = max((finding.seconds for finding in findings.values()), default=0.0)
    run = state.run.model_copy(update={"active_seconds": state.run.active_seconds + longest})
    # A step of a plan has written its learnings and gaps itself.
    researched = [] if state.has_typed_plan else list(findings.values())
    learnings, memory = notice_findings(researched, state.memory)
    return {
        "run": run,
        "tasks": [],
        "findings": findings,
        "sources": sources,
        "learnings": learnings,
        "memory": memory,
    }

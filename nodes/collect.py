"""Numbers the sources of a round within the thread, and records what the findings say and what they leave open."""

from __future__ import annotations

from ..core.evidence.citations.citing import number_findings
from ..core.evidence.memory.learned import notice_findings
from ..state import ResearchState, StateUpdate


async def collect(state: ResearchState) -> StateUpdate:
    """Number the new findings and their sources, and add their learnings and gaps to the memory, without a model."""
    findings, sources = number_findings(state.findings.values(), state.sources)
    longest = max((finding.seconds for finding in findings.values()), default=0.0)
    run = state.run.model_copy(update={"active_seconds": state.run.active_seconds + longest})
    # A step of a plan has recorded its learnings and gaps itself.
    researched = [finding for finding in findings.values() if not finding.lists_learnings]
    learnings, memory = notice_findings(researched, state.memory)
    return StateUpdate(run=run, tasks=[], findings=findings, sources=sources, learnings=learnings, memory=memory)

"""Numbers the sources of a round within the thread, and records its learnings and gaps."""

from __future__ import annotations

from ..core.dialogue.conversation import Conversation
from ..core.evidence.checking.calculator import number_calculations
from ..core.evidence.citations.citing import number_findings
from ..core.evidence.citations.markers import with_calculations
from ..core.evidence.memory.learned import notice_findings
from ..core.records.research import Finding
from ..state import ResearchState, StateUpdate


async def collect(state: ResearchState) -> StateUpdate:
    """Number the new findings and their sources, and record their learnings and gaps.

    This needs no model.
    """
    findings, sources = number_findings(state.findings.values(), state.sources)
    requested = "\n".join(Conversation(state.messages).texts_of_user)
    numbered = number_calculations(findings, state.calculations.values(), requested)
    findings = numbered.findings
    longest = 0.0
    researched = list[Finding]()
    for finding in findings.values():
        longest = max(longest, finding.seconds)
        # A step of a plan has recorded its learnings and gaps itself.
        if not finding.lists_learnings:
            researched.append(finding)
    learnings, memory = notice_findings(researched, state.memory)
    for finding in findings.values():
        for learning in state.stated_in(finding):
            text, _ = with_calculations(learning.text, numbered.numbers[finding.id])
            if text != learning.text:
                # Under the same id, by which insights name it.
                learnings[learning.id] = learning.model_copy(update={"text": text})
    active_seconds = state.run.active_seconds + longest
    return StateUpdate(
        run=state.run.model_copy(update={"active_seconds": active_seconds}),
        tasks=[],
        findings=findings,
        sources=sources,
        learnings=learnings,
        memory=memory,
        calculations=numbered.calculations,
    )

"""Gives the sources of a round their numbers in the thread, in the order of the calls."""

from __future__ import annotations

from typing_extensions import TypedDict

from deep_research.evidence.numbering import number_finding
from deep_research.state import Finding, ResearchState, Run, Source, Task


class CollectUpdate(TypedDict):
    """What `collect` writes."""

    run: Run
    tasks: list[Task]
    findings: dict[str, Finding]
    sources: dict[str, Source]


async def collect(state: ResearchState) -> CollectUpdate:
    """Number the new findings one after the other, whatever the order in which they came."""
    assert state.run is not None
    new = [finding for finding in state.findings.values() if finding.numbered is None]
    new.sort(key=lambda finding: (finding.cycle, finding.position))
    numbers = {source.key: source.number for source in state.sources.values() if source.number}
    findings: dict[str, Finding] = {}
    for finding in new:
        local = dict(enumerate(finding.sources, 1))
        text, numbers, dropped = number_finding(finding.text, local, numbers)
        findings[finding.id] = finding.model_copy(update={"numbered": text, "dropped_markers": dropped})
    sources = {
        key: source.model_copy(update={"number": numbers[key]})
        for key, source in state.sources.items()
        if key in numbers and not source.number
    }
    longest = max((finding.seconds for finding in new), default=0.0)
    run = state.run.model_copy(update={"active_seconds": state.run.active_seconds + longest})
    return {"run": run, "tasks": [], "findings": findings, "sources": sources}

"""The vocabulary of a run: its records, its channels, and how parallel writes to a channel merge."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from langchain_core.messages import AnyMessage
from langgraph.graph.message import add_messages

from .core.records.plan import Learning, Observation, PlanStep, StepOutcome
from .core.records.report import Brief, Draft, Report
from .core.records.research import (
    Finding,
    Plan,
    Progress,
    Run,
    Spent,
    Task,
    append_lists,
    delta,
    latest,
    merge_by_id,
    merge_findings,
)
from .core.records.sources import Source, merge_sources


@dataclass
class ResearchState:
    """The channels of a research run."""

    messages: Annotated[list[AnyMessage], add_messages] = field(default_factory=list)
    run: Run | None = None
    plan: Plan | None = None
    progress: Progress = field(default_factory=Progress)
    transcript: Annotated[list[AnyMessage], delta(append_lists, list)] = field(default_factory=list)
    tasks: Annotated[list[Task], delta(latest, list)] = field(default_factory=list)
    findings: Annotated[dict[str, Finding], delta(merge_findings, dict)] = field(default_factory=dict)
    sources: Annotated[dict[str, Source], delta(merge_sources, dict)] = field(default_factory=dict)
    spending: Annotated[dict[str, Spent], delta(merge_by_id, dict)] = field(default_factory=dict)
    brief: Brief = field(default_factory=Brief)
    steps: Annotated[list[PlanStep], delta(latest, list)] = field(default_factory=list)
    outcomes: Annotated[dict[str, StepOutcome], delta(merge_by_id, dict)] = field(default_factory=dict)
    learnings: Annotated[dict[str, Learning], delta(merge_by_id, dict)] = field(default_factory=dict)
    memory: Annotated[dict[str, Observation], delta(merge_by_id, dict)] = field(default_factory=dict)
    draft: Draft | None = None
    report: Report | None = None

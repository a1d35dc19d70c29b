"""The state of a run: input, output, channels, and how parallel writes to a channel merge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated

from langchain_core.messages import AnyMessage, BaseMessage
from langgraph.channels import DeltaChannel
from langgraph.types import Overwrite
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from .core.records.langgraph_private import merge_messages
from .core.records.plan import Learning, Observation, PlanStep, StepOutcome
from .core.records.report import Brief, Draft, Report
from .core.records.research import (
    NO_RUN,
    SNAPSHOT_UPDATES,
    Action,
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

# LangGraph assigns ids only to messages of a channel with exactly this reducer.
ThreadMessages = Annotated[
    list[AnyMessage], DeltaChannel(merge_messages, snapshot_frequency=SNAPSHOT_UPDATES)
]
"""Messages; each checkpoint stores only new ones, and a message with a known id replaces the
earlier one."""


@dataclass
class ResearchState:
    """The channels of a research run; findings, sources, learnings and memory are kept for the
    whole thread."""

    messages: ThreadMessages = field(default_factory=list)
    run: Run = NO_RUN
    plan: Plan | None = None
    progress: Progress = field(default_factory=Progress)
    transcript: Annotated[list[AnyMessage], delta(append_lists, list)] = field(default_factory=list)
    """The orchestrator's calls and their results, and the user's messages during research."""
    tasks: Annotated[list[Task], delta(latest, list)] = field(default_factory=list)
    """Tasks of the current round, one branch each."""
    findings: Annotated[dict[str, Finding], delta(merge_findings, dict)] = field(
        default_factory=dict
    )
    """Findings by task id."""
    sources: Annotated[dict[str, Source], delta(merge_sources, dict)] = field(default_factory=dict)
    """Sources by key: web address or file URI."""
    spending: Annotated[dict[str, Spent], delta(merge_by_id, dict)] = field(default_factory=dict)
    """Cost of each model or tool call."""
    brief: Brief = field(default_factory=Brief)
    steps: Annotated[list[PlanStep], delta(latest, list)] = field(default_factory=list)
    """Steps of the typed plan (planned strategy), with their statuses."""
    outcomes: Annotated[dict[str, StepOutcome], delta(merge_by_id, dict)] = field(
        default_factory=dict
    )
    """Iterations and evaluations of ended steps, by step id."""
    learnings: Annotated[dict[str, Learning], delta(merge_by_id, dict)] = field(
        default_factory=dict
    )
    """Learned facts and conclusions, by id."""
    memory: Annotated[dict[str, Observation], delta(merge_by_id, dict)] = field(
        default_factory=dict
    )
    """Insights, gaps and contradictions, by key."""
    draft: Draft | None = None
    report: Report | None = None

    @property
    def title(self) -> str:
        """Title of the report, from the plan; empty if there is none."""
        return self.plan.title if self.plan else ""

    @property
    def own_findings(self) -> list[Finding]:
        """The findings for the current question."""
        return [finding for finding in self.findings.values() if finding.question_id == self.run.id]

    @property
    def own_actions(self) -> list[Action]:
        """The tool calls made for the current question."""
        return [
            *self.brief.actions,
            *(action for finding in self.own_findings for action in finding.actions),
        ]

    @property
    def own_learnings(self) -> list[Learning]:
        """What was learned for the current question, in order."""
        return [
            learning for learning in self.learnings.values() if learning.question_id == self.run.id
        ]

    def stated_in(self, finding: Finding) -> list[Learning]:
        """Return the learnings that a finding states, in order."""
        origin = finding.step or finding.id
        return [
            learning
            for learning in self.learnings.values()
            if learning.step == origin and learning.question_id == finding.question_id
        ]

    @property
    def own_observations(self) -> list[Observation]:
        """The observations made for the current question."""
        return [
            observation
            for observation in self.memory.values()
            if observation.question_id == self.run.id
        ]

    @property
    def numbers(self) -> dict[str, int]:
        """The numbers of the thread's numbered sources, by source key."""
        return {source.key: source.number for source in self.sources.values() if source.number}


class StateUpdate(TypedDict, total=False):
    """State update of a node."""

    messages: Sequence[BaseMessage]
    run: Run
    plan: Plan | None
    progress: Progress
    transcript: list[list[AnyMessage]] | Overwrite
    tasks: Sequence[Task]
    findings: dict[str, Finding]
    sources: dict[str, Source]
    spending: dict[str, Spent] | Overwrite
    brief: Brief
    steps: list[PlanStep]
    outcomes: dict[str, StepOutcome] | Overwrite
    learnings: dict[str, Learning]
    memory: dict[str, Observation]
    draft: Draft | None
    report: Report | None


class ResearchInput(BaseModel, title="Question", use_attribute_docstrings=True):
    """The input of a run."""

    messages: ThreadMessages = Field(title="Messages", min_length=1)
    """The conversation; its last message is the user's question, or the answer to a clarifying
    question."""


class ResearchOutput(BaseModel, title="Report", use_attribute_docstrings=True):
    """The output of a run."""

    messages: ThreadMessages = Field(title="Messages")
    """The conversation; its last message is the report, or a clarifying question."""
    report: Report | None = Field(default=None, title="Report")
    """The report as data: its text with citation markers, and the cited sources."""

"""The packets of the planned strategy: its steps, what they learn, and what the report will say."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel

from ..knowledge import StepKind
from .packet import Document, Packet

Icon = Literal["lightbulb", "shapes", "brain", "globe"]


class Activity(Packet):
    """What the planned strategy is about, in friendly words."""

    type: Literal["activity"] = "activity"
    text: str
    icon: Icon
    step_title: str = ""
    """Title of the step that is at it; empty for what belongs to none."""


class Summary(Packet):
    """What the conversation comes to."""

    type: Literal["summary"] = "summary"
    summary: str


class StepStarted(Packet):
    """A step of the plan starts."""

    type: Literal["step_started"] = "step_started"
    step_id: str
    title: str
    task: str
    kind: StepKind
    parent_id: str
    """The step that it follows up; empty for a step of the plan itself."""


class LearningShown(BaseModel):
    """A learning as packets name it."""

    id: str
    text: str
    document_id: str
    """The source that says so; empty: a thought."""


class StepLearnings(Packet):
    """What an iteration of a step has learned, and how sure the step is by now."""

    type: Literal["step_learnings"] = "step_learnings"
    step_id: str
    iteration: int
    learnings: list[LearningShown]
    confidence: float


class StepAssessed(Packet):
    """What is thought of the results of one iteration."""

    type: Literal["step_assessed"] = "step_assessed"
    step_id: str
    iteration: int
    query: str
    """Its queries, with commas between them."""
    is_complete: bool
    reasoning: str
    key_elements: list[str]
    """What the next search should go by."""


class StepDone(Packet):
    """A step is over."""

    type: Literal["step_done"] = "step_done"
    step_id: str
    status: Literal["completed", "failed", "skipped"]
    reason: str
    """Why it failed, was skipped or ended early."""


class Contradiction(BaseModel):
    """Two claims that cannot both hold."""

    claim: str
    document_id: str
    """Who says so."""
    other_claim: str
    other_document_id: str
    newer_document_id: str
    """The source of the later date; empty if that is not known."""


class ContradictionsFound(Packet):
    """What the sources disagree on, as the final check has it."""

    type: Literal["contradictions_found"] = "contradictions_found"
    contradictions: list[Contradiction]


class ReportFraming(Packet):
    """What the report will say, before it is written."""

    type: Literal["report_framing"] = "report_framing"
    main_message: str
    reasoning: str


class Sources(Packet):
    """All sources of the research; those with a number can be cited by the report that follows."""

    type: Literal["sources"] = "sources"
    documents: list[Document]
    cited: list[str]
    """Ids of those that what was learned cites."""

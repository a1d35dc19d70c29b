"""What a run tells its listeners while it works: typed packets on the custom stream."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ..audit import NotRead
from .packet import Document, Packet
from .report_packets import ReportAudited, ReportRevised
from .step_packets import (
    Activity,
    ContradictionsFound,
    ReportFraming,
    Sources,
    StepAssessed,
    StepDone,
    StepLearnings,
    StepStarted,
    Summary,
)

StopReason = Literal["completed", "completed_with_gaps", "waiting_for_user", "user_cancelled", "failed"]


class PlanStart(Packet):
    """The first words of the plan follow."""

    type: Literal["deep_research_plan_start"] = "deep_research_plan_start"


class PlanDelta(Packet):
    """Words of the plan."""

    type: Literal["deep_research_plan_delta"] = "deep_research_plan_delta"
    content: str


class SectionEnd(Packet):
    """The plan, a tool call or a finding is complete."""

    type: Literal["section_end"] = "section_end"


class TopLevelBranching(Packet):
    """Several researchers start at once."""

    type: Literal["top_level_branching"] = "top_level_branching"
    num_parallel_branches: int


class ResearchAgentStart(Packet):
    """A researcher starts on its task."""

    type: Literal["research_agent_start"] = "research_agent_start"
    research_task: str


class ReasoningStart(Packet):
    """A thought follows."""

    type: Literal["reasoning_start"] = "reasoning_start"


class ReasoningDelta(Packet):
    """Words of a thought."""

    type: Literal["reasoning_delta"] = "reasoning_delta"
    reasoning: str


class ReasoningDone(Packet):
    """The thought is complete."""

    type: Literal["reasoning_done"] = "reasoning_done"


class SearchToolStart(Packet):
    """A search starts."""

    type: Literal["search_tool_start"] = "search_tool_start"
    is_internet_search: bool


class SearchToolQueries(Packet):
    """What is searched for."""

    type: Literal["search_tool_queries_delta"] = "search_tool_queries_delta"
    queries: list[str]


class SearchToolFilters(Packet):
    """What the search is bound to."""

    type: Literal["search_tool_filter_delta"] = "search_tool_filter_delta"
    sources: list[str]
    """Domains that are searched; all if empty."""
    excluded: list[str]
    """Domains that are left out."""
    time_start: str | None
    """Earliest date of a result (ISO 8601)."""


class SearchToolDocuments(Packet):
    """What the search found."""

    type: Literal["search_tool_documents_delta"] = "search_tool_documents_delta"
    documents: list[Document]


class OpenUrlStart(Packet):
    """Pages or documents are opened."""

    type: Literal["open_url_start"] = "open_url_start"


class OpenUrlUrls(Packet):
    """Which addresses are opened."""

    type: Literal["open_url_urls"] = "open_url_urls"
    urls: list[str]


class OpenUrlDocuments(Packet):
    """What was read."""

    type: Literal["open_url_documents"] = "open_url_documents"
    documents: list[Document]


class FindingStart(Packet):
    """A researcher starts to write."""

    type: Literal["intermediate_report_start"] = "intermediate_report_start"


class FindingDelta(Packet):
    """Words of a finding, with the researcher's own source numbers."""

    type: Literal["intermediate_report_delta"] = "intermediate_report_delta"
    content: str


class FindingCitedDocuments(Packet):
    """The sources that the finding cites."""

    type: Literal["intermediate_report_cited_docs"] = "intermediate_report_cited_docs"
    cited_docs: list[Document]


class MessageStart(Packet):
    """The report, or a question to the user, follows."""

    type: Literal["message_start"] = "message_start"
    final_documents: list[Document] | None = None
    pre_answer_processing_seconds: float | None = None


class MessageDelta(Packet):
    """Words of the report or of the question to the user."""

    type: Literal["message_delta"] = "message_delta"
    content: str


class CitationInfo(Packet):
    """A number of the report is used for the first time in the text that follows."""

    type: Literal["citation_info"] = "citation_info"
    citation_number: int
    document_id: str


class NotesAdded(Packet):
    """What a reader should know about the report, which is complete now: what was assumed, left open, or not read."""

    type: Literal["notes_added"] = "notes_added"
    notes: list[str]
    above: str = ""
    """What stands above a report that cites nothing, such as that no source was consulted; empty above others."""


class PacketError(Packet):
    """A researcher did not finish; the run goes on."""

    type: Literal["error"] = "error"
    message: str


class DocumentsIndexed(Packet):
    """The user's documents are being indexed; the last packet also tells what could not be read."""

    type: Literal["documents_indexed"] = "documents_indexed"
    done: int
    total: int
    """New and changed files."""
    readable: int = 0
    """Documents that can be searched, whether new or not."""
    unread_total: int = 0
    """Files that would be documents if they could be read."""
    unread: tuple[NotRead, ...] = ()
    """The first of these."""


class CallDelayed(Packet):
    """A model's provider asks to wait; the call is tried again afterwards."""

    type: Literal["call_delayed"] = "call_delayed"
    seconds: float
    reason: str


class CallContinued(Packet):
    """The stream of a report or a finding broke: the words that came stay, and its model goes on behind them."""

    type: Literal["call_continued"] = "call_continued"
    reason: str


class CallFinished(Packet):
    """A try at a call of a model is over or broke off: what it cost."""

    type: Literal["call_finished"] = "call_finished"
    role: str
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    usd: float


class ElapsedTime(Packet):
    """How long the planned strategy is at work, told every second."""

    type: Literal["elapsed_time"] = "elapsed_time"
    elapsed_seconds: float
    """Seconds since the client began to listen; from the graph itself, those that the question was worked on."""


class ChatHeartbeat(Packet):
    """The run is at work, though it has nothing to tell: at its start, and when it has been silent."""

    type: Literal["chat_heartbeat"] = "chat_heartbeat"
    elapsed_seconds: float
    """Seconds since the client began to listen; from the graph itself, those that the question was worked on."""


class OverallStop(Packet):
    """The last packet: the run has ended, or pauses."""

    type: Literal["stop"] = "stop"
    stop_reason: StopReason
    message: str = ""
    """What went wrong, in one line, or which limit ended the research."""
    is_resumable: bool = False
    """Whether the thread can go on from here without losing what was found."""
    elapsed_seconds: float
    """Seconds since the client began to listen; from the graph itself, those that the question was worked on."""


AnyPacket = Annotated[
    PlanStart
    | PlanDelta
    | SectionEnd
    | TopLevelBranching
    | ResearchAgentStart
    | ReasoningStart
    | ReasoningDelta
    | ReasoningDone
    | SearchToolStart
    | SearchToolFilters
    | SearchToolQueries
    | SearchToolDocuments
    | OpenUrlStart
    | OpenUrlUrls
    | OpenUrlDocuments
    | FindingStart
    | FindingDelta
    | FindingCitedDocuments
    | MessageStart
    | MessageDelta
    | CitationInfo
    | NotesAdded
    | ReportRevised
    | ReportAudited
    | PacketError
    | Activity
    | Summary
    | StepStarted
    | StepLearnings
    | StepAssessed
    | StepDone
    | ContradictionsFound
    | ReportFraming
    | Sources
    | DocumentsIndexed
    | CallDelayed
    | CallContinued
    | CallFinished
    | ElapsedTime
    | ChatHeartbeat
    | OverallStop,
    Field(discriminator="type"),
]
"""Every packet there is, told apart by `type`."""

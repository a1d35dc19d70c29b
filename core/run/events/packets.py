"""Packets: what a run tells its clients while it works, typed, on the custom stream."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from ...records.plan import StepKind
from ...records.report import Audit, Grade
from ...records.research import Estimate
from ...records.sources import Extent, NotRead

Icon = Literal["lightbulb", "shapes", "brain", "globe"]
StopReason = Literal["completed", "completed_with_gaps", "waiting_for_user", "user_cancelled", "failed"]


class Placement(BaseModel):
    """Where a packet belongs: a block of the run, a parallel call in it, a step of that call."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    turn_index: int
    """Block of the run, growing."""
    tab_index: int = 0
    """Parallel call inside the block."""
    sub_turn_index: int | None = None
    """Step of a researcher; none at the top level."""
    model_index: int = 0
    """Always 0: one model answers."""


class Document(BaseModel):
    """A source as packets name it."""

    document_id: str
    title: str
    link: str
    date: str = ""
    """As the source states it (the beginning of an ISO date); empty if it states none, and while research goes on."""
    extent: Extent | None = None
    """How much of it was read; none while research goes on."""


class Packet(BaseModel):
    """Base of all packets; `type` is its name on the wire."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    placement: Placement
    type: str


class ReportCitation(BaseModel):
    """A number of the report and the source that it names."""

    citation_number: int
    document_id: str


class ReportRevised(Packet):
    """The report that takes the place of the one that was streamed."""

    type: Literal["report_revised"] = "report_revised"
    content: str
    """Its body in Markdown, with citations `[n]`."""
    citations: list[ReportCitation]
    """All that it cites, in the order of the numbers."""


class ReportGraded(Packet):
    """How the draft of the report meets the checklist of the request."""

    type: Literal["report_graded"] = "report_graded"
    grades: list[Grade]
    """A grade for each item, in their order."""
    is_researched: bool
    """Whether one more round of research follows on what is open."""


class ReportAudited(Packet):
    """The account of the report."""

    type: Literal["report_audited"] = "report_audited"
    audit: Audit


class Activity(Packet):
    """What the run is about, in friendly words."""

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


class PlanStart(Packet):
    """The first words of the plan follow."""

    type: Literal["deep_research_plan_start"] = "deep_research_plan_start"


class PlanDelta(Packet):
    """Words of the plan."""

    type: Literal["deep_research_plan_delta"] = "deep_research_plan_delta"
    content: str


class EstimateMade(Packet):
    """What the run will have taken at its end, by earlier runs and the limits."""

    type: Literal["estimate_made"] = "estimate_made"
    estimate: Estimate


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


class ResearchAgentTitle(Packet):
    """The task of a researcher in a few words."""

    type: Literal["research_agent_title"] = "research_agent_title"
    title: str


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


class ToolProblems(Packet):
    """What a tool call could not search or read, and why."""

    type: Literal["tool_problems"] = "tool_problems"
    problems: list[str]


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
    | EstimateMade
    | SectionEnd
    | TopLevelBranching
    | ResearchAgentStart
    | ResearchAgentTitle
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
    | ToolProblems
    | FindingStart
    | FindingDelta
    | FindingCitedDocuments
    | MessageStart
    | MessageDelta
    | CitationInfo
    | NotesAdded
    | ReportRevised
    | ReportGraded
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

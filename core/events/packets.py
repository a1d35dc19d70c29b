"""Packets: the typed events that a run sends to its clients on LangGraph's custom stream.

`docs/reference/packets.md` describes them, and the order in which they are sent, for authors of
clients.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field

from ..records.plan import StepKind
from ..records.report import Audit, Grade
from ..records.research import Run, Task, UsualCost
from ..records.sources import UNRESOLVED, DisputeSubject, Extent, NotRead, Origin
from ..records.table import CellState, RowStanding

_ABOUT_CALLS = frozenset(
    {"call_continued", "call_delayed", "call_finished", "call_pending", "chat_heartbeat"}
)
Icon = Literal["lightbulb", "shapes", "brain", "globe"]
StopReason = Literal[
    "completed", "completed_with_gaps", "waiting_for_user", "user_cancelled", "failed"
]


_STOP_REASONS: Mapping[str, StopReason] = {
    "completed": "completed",
    "completed_with_gaps": "completed_with_gaps",
    "ended": "user_cancelled",
}
"""The reason in the `stop` packet, by the status of a finished run."""


class Placement(BaseModel):
    """Position of a packet: block of the run, parallel branch within the block, step within the
    branch."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    turn_index: int
    """Block of the run; increases."""
    tab_index: int = 0
    """Parallel branch within the block: a researcher, a step or a tool; 0 elsewhere."""
    sub_turn_index: int | None = None
    """Step of the branch, from 0: a thought or a tool call; None for the branch itself and at the
    top level."""
    model_index: int = 0
    """Always 0."""

    @classmethod
    def of(cls, task: Task) -> Self:
        """Return the placement of packets about a task as a whole; those about its calls also have
        a `sub_turn_index`."""
        return cls(turn_index=task.turn, tab_index=task.position)


class Document(BaseModel):
    """A source, as shown to clients."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    document_id: str
    """Identifies the source in the packets of a thread."""
    title: str
    link: str
    """Where a reader can open it: a web address, or a file's URI."""
    date: str = ""
    """Date stated by the source: an ISO date, or only its year or month; empty if unknown, and
    during research."""
    extent: Extent | None = None
    """How much of the source was read; None during research."""


class Packet(BaseModel):
    """Base of all packets; `type` is its name on the wire."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    placement: Placement
    type: str

    @property
    def is_about_call(self) -> bool:
        """Whether it is only about a model call, or a sign of life, and belongs to no block."""
        return self.type in _ABOUT_CALLS


class ReportCitation(BaseModel):
    """A citation number of the report and its source."""

    citation_number: int
    document_id: str


class RevisedBlock(BaseModel):
    """A block of a report (heading, paragraph, list item, table) that was changed or is new."""

    number: int
    """Its number in the report, from 1."""
    start: int
    """Offset of its first character in `content`, in Unicode code points."""
    end: int
    """Offset after its last character."""


class ReportRevised(Packet):
    """The checked or edited report, which replaces the one shown so far."""

    type: Literal["report_revised"] = "report_revised"
    content: str
    """Body of the report in Markdown, with citations `[n]`."""
    citations: list[ReportCitation]
    """All citations, sorted by number."""
    changed: list[RevisedBlock] = Field(default_factory=list)
    """The blocks that differ from those of the report shown so far, or are new; all others are the
    same. Blocks that are gone are not listed."""


class ReportGraded(Packet):
    """How well the draft meets the checklist of the request."""

    type: Literal["report_graded"] = "report_graded"
    grades: list[Grade]
    """One grade per checklist item, in order."""
    is_researched: bool
    """Whether another round of research on open items follows."""


class ReportAudited(Packet):
    """The audit of the report: how its statements were checked."""

    type: Literal["report_audited"] = "report_audited"
    audit: Audit


class Activity(Packet):
    """A status message for the user: what the run is doing."""

    type: Literal["activity"] = "activity"
    text: str
    icon: Icon
    step_title: str = ""
    """Title of the step that the activity belongs to; empty if it belongs to none."""
    is_progress: bool = False
    """Whether it only says how far the activity before it is."""


class Summary(Packet):
    """Summary of the conversation."""

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
    """Id of the step that it follows up; empty for a step of the plan."""


class LearningShown(BaseModel):
    """A learning, as shown to clients."""

    id: str
    text: str
    document_id: str
    """Id of its source; empty for a thought."""


class StepLearnings(Packet):
    """Learnings of an iteration of a step, and the confidence in its results so far, 0 to 1."""

    type: Literal["step_learnings"] = "step_learnings"
    step_id: str
    iteration: int
    learnings: list[LearningShown]
    confidence: float


class StepAssessed(Packet):
    """Assessment of the results of an iteration of a step."""

    type: Literal["step_assessed"] = "step_assessed"
    step_id: str
    iteration: int
    query: str
    """The assessed queries, separated by commas."""
    is_complete: bool
    reasoning: str
    key_elements: list[str]
    """What the next search should look for."""


class StepDone(Packet):
    """A step is finished, failed or skipped."""

    type: Literal["step_done"] = "step_done"
    step_id: str
    status: Literal["completed", "failed", "skipped"]
    reason: str
    """Why the step failed, was skipped, or stopped early."""


class CellShown(BaseModel):
    """A cell of a table, as shown to clients while it is filled."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    column: str
    state: CellState
    text: str
    """What its sources say; empty if nothing was found."""
    document_ids: list[str]
    """Ids of these sources."""


class RowShown(Packet):
    """A row of a table was found, filled, or left out; later packets on a row replace earlier
    ones."""

    type: Literal["table_row"] = "table_row"
    row_id: str
    name: str
    standing: RowStanding
    reason: str = ""
    """Why it does not count or was left out; the name of the row that a duplicate is the same
    as."""
    cells: list[CellShown] = Field(default_factory=list)
    """The cells that were filled since the last packet on the row."""


class DisputeShown(BaseModel):
    """A dispute, as shown to clients: two claims of different sources that contradict each
    other."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    claim: str
    document_id: str
    """Id of the source of the claim."""
    other_claim: str
    other_document_id: str
    newer_document_id: str
    """Id of the more recent source; empty if unknown."""
    date: str = ""
    """Date of the source of the claim: an ISO date, or only its year or month; empty if unknown."""
    other_date: str = ""
    origin: Origin = "other"
    """Kind of publisher of the source of the claim."""
    other_origin: Origin = "other"
    about: DisputeSubject = "fact"
    """What the sources disagree on: what is true, or what should be done."""
    resolution: str = UNRESOLVED
    """Which claim holds and why, in words; `open` if that is not resolved."""


class ContradictionsFound(Packet):
    """Contradictions between sources, found by the final check."""

    type: Literal["contradictions_found"] = "contradictions_found"
    contradictions: list[DisputeShown]


class ReportFraming(Packet):
    """Main message of the report, sent before the report is written."""

    type: Literal["report_framing"] = "report_framing"
    main_message: str
    reasoning: str


class Sources(Packet):
    """All sources of the research, sent before the report that cites them."""

    type: Literal["sources"] = "sources"
    documents: list[Document]
    cited: list[str]
    """Ids of the sources that the learnings cite."""


class PlanStart(Packet):
    """The plan starts; its text follows."""

    type: Literal["deep_research_plan_start"] = "deep_research_plan_start"


class PlanDelta(Packet):
    """A piece of the plan's text."""

    type: Literal["deep_research_plan_delta"] = "deep_research_plan_delta"
    content: str


class EstimateMade(Packet):
    """What the user's finished runs like this one cost; sent with the plan, if at least three have
    finished."""

    type: Literal["estimate_made"] = "estimate_made"
    estimate: UsualCost


class SectionEnd(Packet):
    """The plan, a tool call or a finding is complete."""

    type: Literal["section_end"] = "section_end"


class TopLevelBranching(Packet):
    """Several researchers, or steps of a plan, start in parallel."""

    type: Literal["top_level_branching"] = "top_level_branching"
    num_parallel_branches: int


class ResearchAgentStart(Packet):
    """A researcher starts its task."""

    type: Literal["research_agent_start"] = "research_agent_start"
    research_task: str


class ResearchAgentTitle(Packet):
    """The task of a researcher in a few words."""

    type: Literal["research_agent_title"] = "research_agent_title"
    title: str


class ReasoningStart(Packet):
    """A thought starts; its text follows."""

    type: Literal["reasoning_start"] = "reasoning_start"


class ReasoningDelta(Packet):
    """A piece of a thought."""

    type: Literal["reasoning_delta"] = "reasoning_delta"
    reasoning: str


class ReasoningDone(Packet):
    """A thought is complete."""

    type: Literal["reasoning_done"] = "reasoning_done"


class SearchToolStart(Packet):
    """A search starts."""

    type: Literal["search_tool_start"] = "search_tool_start"
    is_internet_search: bool
    """False: a search in the user's documents, or a call of a tool that the app or an MCP server
    provides."""


class SearchToolQueries(Packet):
    """The queries of a search."""

    type: Literal["search_tool_queries_delta"] = "search_tool_queries_delta"
    queries: list[str]


class SearchToolFilters(Packet):
    """The filters of a web search."""

    type: Literal["search_tool_filter_delta"] = "search_tool_filter_delta"
    sources: list[str]
    """The only domains that are searched; empty: all."""
    excluded: list[str]
    """Domains that are not searched."""
    time_start: str | None
    """Earliest date of a result (ISO 8601); None: any."""


class SearchToolDocuments(Packet):
    """The results of a search."""

    type: Literal["search_tool_documents_delta"] = "search_tool_documents_delta"
    documents: list[Document]


class OpenUrlStart(Packet):
    """Pages or documents are opened."""

    type: Literal["open_url_start"] = "open_url_start"


class OpenUrlUrls(Packet):
    """Addresses of the pages or documents that are opened."""

    type: Literal["open_url_urls"] = "open_url_urls"
    urls: list[str]


class OpenUrlDocuments(Packet):
    """The pages or documents that were read."""

    type: Literal["open_url_documents"] = "open_url_documents"
    documents: list[Document]


class ToolProblems(Packet):
    """Problems of a tool call: what it could not search or read, and why."""

    type: Literal["tool_problems"] = "tool_problems"
    problems: list[str]


class FindingStart(Packet):
    """A researcher starts to write its finding."""

    type: Literal["intermediate_report_start"] = "intermediate_report_start"


class FindingDelta(Packet):
    """A piece of a finding's text, with the researcher's own source numbers."""

    type: Literal["intermediate_report_delta"] = "intermediate_report_delta"
    content: str


class FindingCitedDocuments(Packet):
    """The sources that the finding cites."""

    type: Literal["intermediate_report_cited_docs"] = "intermediate_report_cited_docs"
    cited_docs: list[Document]


class MessageStart(Packet):
    """The report, or a clarifying question, starts; its text follows."""

    type: Literal["message_start"] = "message_start"
    final_documents: list[Document] | None = None
    """The sources that the report may cite, by number; None for a clarifying question."""
    pre_answer_processing_seconds: float | None = None
    """Active seconds of the run before the report; None for a clarifying question."""


class MessageDelta(Packet):
    """A piece of the report or of the clarifying question."""

    type: Literal["message_delta"] = "message_delta"
    content: str


class CitationInfo(Packet):
    """A citation number and its source, sent before the first text that uses the number."""

    type: Literal["citation_info"] = "citation_info"
    citation_number: int
    document_id: str


class NotesAdded(Packet):
    """Notes on the finished report: what was assumed, left open, or not read."""

    type: Literal["notes_added"] = "notes_added"
    notes: list[str]
    above: str = ""
    """Notice above a report without citations, such as that no source was consulted; otherwise
    empty."""


class MessageRead(Packet):
    """A model is shown a message that the user sent during the research."""

    type: Literal["message_read"] = "message_read"
    message_id: str
    """Id of the message, also in the conversation."""
    reader: str
    """Role of the model; the placement of a researcher, or of a step, is that of its task."""


class PacketError(Packet):
    """A researcher, or part of a step, failed; the run continues."""

    type: Literal["error"] = "error"
    message: str
    is_final: bool = False
    """Whether the researcher has failed: the finding that follows only has excerpts of its sources,
    or is empty."""


class DocumentsIndexed(Packet):
    """Progress of indexing the user's documents; the last packet also lists files that could not be
    read."""

    type: Literal["documents_indexed"] = "documents_indexed"
    done: int
    total: int
    """Number of new and changed files."""
    readable: int = 0
    """Number of documents that can be searched, new or not."""
    unread_total: int = 0
    """Number of files that could not be read."""
    unread: tuple[NotRead, ...] = ()
    """The first of the files that could not be read."""


class CallDelayed(Packet):
    """The model provider asked us to wait; the call will be retried."""

    type: Literal["call_delayed"] = "call_delayed"
    seconds: float
    reason: str


class CallPending(Packet):
    """How a model call in progress stands: sent every few seconds while its answer arrives, and
    after 30 seconds without any of it."""

    type: Literal["call_pending"] = "call_pending"
    silent_seconds: float = 0
    """Seconds since the last part of the answer; 0: it is arriving."""
    words: int = 0
    """Words of the answer so far, without thoughts and tool calls."""
    facts: int = 0
    """Statements in it that cite a source."""


class CallContinued(Packet):
    """The stream of a report or finding broke off; the text so far is kept, and the model continues
    it."""

    type: Literal["call_continued"] = "call_continued"
    reason: str


class CallFinished(Packet):
    """Cost of one attempt at a model call, whether it completed or broke off."""

    type: Literal["call_finished"] = "call_finished"
    role: str
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    usd: float


class ElapsedTime(Packet):
    """Elapsed time of a run with the planned strategy, sent every second."""

    type: Literal["elapsed_time"] = "elapsed_time"
    elapsed_seconds: float
    """Seconds since the client started listening; in packets straight from the graph, the
    question's active seconds."""


class ChatHeartbeat(Packet):
    """Sign that the run is still active: sent at its start, and after `heartbeat_seconds` without
    packets."""

    type: Literal["chat_heartbeat"] = "chat_heartbeat"
    elapsed_seconds: float
    """Seconds since the client started listening; in packets straight from the graph, the
    question's active seconds."""


class OverallStop(Packet):
    """The last packet: the run ended or paused."""

    type: Literal["stop"] = "stop"
    stop_reason: StopReason
    message: str = ""
    """One line: the error, or the limit that ended the research."""
    is_resumable: bool = False
    """Whether the thread can be resumed without losing its findings."""
    elapsed_seconds: float
    """Seconds since the client started listening; in packets straight from the graph, the
    question's active seconds."""

    @classmethod
    def of(cls, run: Run, turn: int) -> Self:
        """Return the last packet of a run that has ended or pauses; `turn`: its `turn_index`."""
        is_over = run.status in _STOP_REASONS
        return cls(
            placement=Placement(turn_index=turn),
            stop_reason=_STOP_REASONS.get(run.status, "waiting_for_user"),
            message=run.stop_reason if is_over else "",
            is_resumable=not is_over and run.is_resumable,
            elapsed_seconds=run.active_seconds,
        )


AnyPacket = Annotated[
    PlanStart | PlanDelta | EstimateMade | SectionEnd | TopLevelBranching | ResearchAgentStart
    | ResearchAgentTitle | ReasoningStart | ReasoningDelta | ReasoningDone | SearchToolStart
    | SearchToolFilters | SearchToolQueries | SearchToolDocuments | OpenUrlStart | OpenUrlUrls
    | OpenUrlDocuments | ToolProblems | FindingStart | FindingDelta | FindingCitedDocuments
    | MessageStart | MessageDelta | CitationInfo | NotesAdded | ReportRevised | ReportGraded
    | ReportAudited | MessageRead | PacketError | Activity | Summary | StepStarted | StepLearnings
    | StepAssessed | StepDone | RowShown | ContradictionsFound | ReportFraming | Sources
    | DocumentsIndexed | CallDelayed | CallPending | CallContinued | CallFinished | ElapsedTime
    | ChatHeartbeat | OverallStop,
    Field(discriminator="type"),
]  # fmt: skip
"""All packets, distinguished by `type`."""

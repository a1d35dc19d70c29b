"""A run and its research: tasks, findings, spending, and the reducers of the graph's channels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from itertools import chain
from typing import Any, Literal, TypeVar

from langgraph.channels.delta import DeltaChannel

from .sources import NotRead, Record

Value = TypeVar("Value")
RunStatus = Literal["running", "waiting", "completed", "completed_with_gaps", "ended"]
Ending = Literal["done", "partial", "failed"]
Decision = Literal["again", "research", "analyze", "report"]
Entry = Literal["question", "answer", "plan_reply", "follow_up", "continuation"]
Depth = Literal["quick", "standard", "deep", "auto"]
Strategy = Literal["orchestrated", "planned"]


def merge_by_id(current: Mapping[str, Value], update: Mapping[str, Value]) -> dict[str, Value]:
    """Add new entries; for a known id, the later value wins."""
    return {**current, **update}


def append(current: Sequence[Value], update: Sequence[Value]) -> list[Value]:
    """Append the new entries."""
    return [*current, *update]


def latest(_: Any, update: Value) -> Value:
    """Return the value written last."""
    return update


def append_lists(current: Sequence[Value], update: Sequence[Sequence[Value]]) -> list[Value]:
    """Append the entries of each list.

    LangGraph's `messages` mode streams any message in a list that a node writes, but none in a list of lists.
    """
    return [*current, *chain.from_iterable(update)]


SNAPSHOT_UPDATES = 300
"""Number of updates (about sixty questions) after which a channel's whole value is stored again."""


def delta(merge: Callable[[Any, Any], Any], kind: type) -> DeltaChannel[Any]:
    """Return a channel that stores updates instead of its whole value, so that storage grows linearly."""
    return DeltaChannel(lambda value, updates: reduce(merge, updates, value), kind, snapshot_frequency=SNAPSHOT_UPDATES)


class Action(Record):
    """One tool call of a researcher and its outcome."""

    id: str
    """Tool call id."""
    tool: str
    """Name of the tool."""
    inputs: tuple[str, ...]
    """Its queries or addresses."""
    found: tuple[str, ...] = ()
    """Keys of the sources that it found."""
    problems: tuple[str, ...] = ()
    """What could not be searched or read, and why."""
    not_read: tuple[NotRead, ...] = ()
    """Pages and documents that could not be read."""
    redacted: tuple[str, ...] = ()
    """Words that were left out of queries because they are only in the user's documents."""
    failed: tuple[str, ...] = ()
    """Types of the errors that the tool raised, and time limits that it exceeded."""
    broken: tuple[str, ...] = ()
    """Failed searches: the reason, and the affected queries or the engine used instead."""
    asked: tuple[str, ...] = ()
    """Other services that were asked for copies or retractions of the opened pages."""
    fault: str = ""
    """Why no search will ever be possible; empty otherwise."""


class Scope(Record):
    """What a question may search; frozen at its start, so that resuming it elsewhere changes nothing."""

    docs: tuple[str, ...] = ()
    """Absolute paths of the user's folders and files."""
    engines: tuple[str, ...] = ()
    """Names of the web search engines."""
    engines_by_default: bool = False
    """Whether the engines are the keyless default, which may be replaced, even if a key is set later."""
    retrievers: tuple[str, ...] = ()
    """Names of retrievers that search the user's documents, in addition to `docs`."""
    domains_allow: tuple[str, ...] = ()
    """Domains that may be searched and read; if empty, all."""
    domains_deny: tuple[str, ...] = ()
    """Domains that may be neither searched nor read."""
    published_after: str = ""
    """Web results dated before this day (ISO 8601) are left out; empty for no limit."""
    mix_private: bool = False
    """Whether web queries may use words that are only in the user's documents."""
    open_copies: bool = False
    """Whether third parties may be asked for copies of inaccessible or deleted pages."""
    earlier: bool = False
    """Whether to also search what the user's finished runs have read."""
    documents: str = ""
    """List of the user's documents or folders, shown to the models that plan and search."""
    whole: tuple[str, ...] = ()
    """Addresses of all the user's documents if short enough for researchers to read them all instead of searching."""

    @property
    def reads_all(self) -> bool:
        """Whether researchers read all documents instead of searching."""
        return bool(self.whole)


class Assignment(Record):
    """A research task assigned by the orchestrator."""

    id: str
    """Id of the orchestrator's tool call for it."""
    question_id: str
    """Id of the question."""
    cycle: int
    """The orchestrator's cycle, from 0."""
    position: int
    """Index among the cycle's calls."""
    thought: str = ""
    """The orchestrator's thought before this call."""


class ConflictingClaims(Record):
    """Contradicting claims from two sources, as reported by a researcher."""

    claims: tuple[str, str]
    sources: tuple[str, str]
    """Keys of the sources, in the order of the claims."""


class Finding(Assignment):
    """The result of a researcher's task."""

    task: str
    """The task, as assigned."""
    text: str
    """The text of the finding, citing the researcher's own source numbers in brackets."""
    sources: tuple[str, ...] = ()
    """Keys of the researcher's sources; source number n is at index n - 1."""
    ended: Ending
    """`partial`: a limit or error stopped the research before the researcher finished."""
    reason: str = ""
    """Why it is partial or has failed, for the reader."""
    missing: tuple[str, ...] = ()
    """Parts of the task for which the researcher reported no result."""
    contradictions: tuple[ConflictingClaims, ...] = ()
    """Contradictions between its sources."""
    is_withheld: bool = False
    """Whether the model provider's content filter blocked its text."""
    withheld: int = 0
    """Number of tool results that such a filter blocked."""
    failures: tuple[str, ...] = ()
    """Failures during the research, as emitted."""
    seconds: float = 0.0
    """Active seconds of the research."""
    actions: tuple[Action, ...] = ()
    """Its tool calls, in order."""
    numbered: str | None = None
    """The text with the thread's source numbers; None before `collect`."""
    is_excerpt: bool = False
    """Whether the text consists of verbatim passages that no model has read."""
    is_analysis: bool = False
    """Whether it draws conclusions from other findings, whose sources it cites."""
    dropped_markers: int = 0
    """Number of markers removed because they named no source."""


class Task(Assignment):
    """The complete input of a researcher."""

    text: str
    """The task description."""
    title: str = ""
    """The task's title in a few words."""
    turn: int
    """Turn index of its packets."""
    date: str
    """Today's date in words, frozen at the start of the question."""
    language: str
    """Language of all prose."""
    scope: Scope
    """What it may search."""
    seconds: float
    """Active seconds after which it must start writing."""
    tokens: int | None = None
    """Maximum tokens, input and output; None: unlimited."""
    searches: int | None = None
    """Maximum searches; None: unlimited."""
    fetches: int | None = None
    """Maximum pages and documents opened; None: unlimited."""
    tool_calls: int | None = None
    """Maximum calls of research tools; None: unlimited."""
    usd: float | None = None
    """Maximum cost in US dollars; None: unlimited."""


class Plan(Record):
    """The research plan."""

    text: str
    """The plan as written by the model, or as edited by the user."""
    steps: tuple[str, ...]
    """Its numbered steps, one to six."""
    title: str = ""
    """Title of the report; may be empty."""
    requirements: tuple[str, ...] = ()
    """Checklist: questions that the report must answer; may be empty."""
    left_out: int = 0
    """Number of steps dropped because of the limit."""
    review: Literal["none", "approved", "rejected"] = "none"
    """The user's decision; `none` if not asked yet or not at all."""
    comment: str = ""
    """The user's reason for rejecting it."""

    @property
    def remark(self) -> str:
        """Note on steps dropped because of the limit; empty if there are none."""
        words = f"The plan had more steps than allowed ({self.left_out} left out: max_plan_steps)."
        return words if self.left_out else ""


class Spent(Record):
    """The cost of one model call or tool call."""

    role: str
    """Role of the model, or name of the tool."""
    input_tokens: int = 0
    """Input tokens, including cached tokens."""
    cached_tokens: int = 0
    """Input tokens from the provider's cache."""
    output_tokens: int = 0
    searches: int = 0
    """Queries sent; a query sent to two engines counts twice."""
    fetches: int = 0
    """Web pages fetched and documents opened."""
    tool_calls: int = 0
    """Completed calls of research tools."""
    usd: float = 0.0
    """Cost in US dollars, as far as known."""


class Span(Record):
    """The range of an estimate."""

    low: float
    """Minimum over earlier runs."""
    likely: float
    """Median over earlier runs."""
    high: float
    """Maximum over earlier runs."""


class Estimate(Record):
    """Estimated totals of a question, from finished runs of the same kind; only limits if fewer than three exist."""

    runs: int = 0
    """Number of finished runs with the same strategy, depth and models."""
    calls: Span | None = None
    """Model calls."""
    input_tokens: Span | None = None
    output_tokens: Span | None = None
    usd: Span | None = None
    """Cost in US dollars; None if a model's price is unknown."""
    seconds: Span | None = None
    """Active seconds."""
    max_tokens: int | None = None
    """Token limit; None: unlimited."""
    max_usd: float | None = None
    """Cost limit in US dollars; None: unlimited."""
    max_seconds: float | None = None
    """Limit on the active seconds of research."""


class Run(Record):
    """The current question, the values frozen at its start, and the progress of the run."""

    id: str
    """Id of the question."""
    question: str
    """The question as asked."""
    date: str
    """Date at the start, in words."""
    language: str
    """Language of all prose, by English name as used in prompts: "German"."""
    language_code: str = ""
    """Its ISO 639-1 code; empty if unknown."""
    is_resumable: bool
    """Whether there is a checkpointer, so that the run can pause to ask the user."""
    scope: Scope = Scope()
    """What it may search."""
    version: str
    """Version of the code that started it."""
    strategy: Strategy = "orchestrated"
    entry: Entry = "question"
    """Kind of the latest message."""
    first_title: str = ""
    """Title of the report on the thread's first question; empty for that question itself, or if there is no title."""
    depth: Depth | None = None
    """Research effort, set at the question's start; None: `standard`."""
    is_recalled: bool = False
    """Whether it is answered from sources read for the thread's earlier questions; implies `is_quick`."""
    is_quick: bool = False
    """Whether it is answered from one search, because of its depth or because `auto` judged it to be small."""
    estimate: Estimate | None = None
    """Estimate made at planning; None before that, or if models cost nothing."""
    active_seconds: float = 0.0
    """Running time so far, excluding pauses."""
    lost_seconds: float = 0.0
    """The part of `active_seconds` spent on calls whose node failed or was stopped."""
    assumptions: tuple[str, ...] = ()
    """Assumptions made instead of asking the user; stated in the report."""
    notices: tuple[str, ...] = ()
    """Notes on this run for the reader, such as an unknown context window."""
    not_read: tuple[NotRead, ...] = ()
    """Documents that could not be indexed, up to a maximum number."""
    status: RunStatus = "running"
    stop_reason: str = ""
    """The limit that stopped the research; otherwise empty."""


NO_RUN = Run(id="", question="", date="", language="", is_resumable=False, version="")
"""Placeholder in the state before the first question."""


class Progress(Record):
    """The orchestrator's progress on this question."""

    cycle: int = 0
    """Number of research rounds dispatched."""
    thinks: int = 0
    """Number of consecutive thoughts."""
    mistakes: int = 0
    """Number of consecutive invalid calls."""
    nudges: tuple[str, ...] = ()
    """Reminders already given, so that they are not repeated."""
    thought: str = ""
    """The latest thought, stored for the assignments that follow it."""
    opening: int = 0
    """Number of messages when the orchestrator started; later ones are in its transcript."""
    seen_messages: int = 0
    """Number of messages that the orchestrator has seen."""
    turn: int = 0
    """Turn index of the next packets."""
    decision: Decision = "again"
    """The next action."""
    analyses: tuple[tuple[str, str], ...] = ()
    """(Call id, text) of each requested analysis; the last may be in progress."""
    waiting: tuple[tuple[str, str], ...] = ()
    """(Call id, text) of assigned tasks waiting for the next rounds."""


def merge_findings(current: Mapping[str, Finding], update: Mapping[str, Finding]) -> dict[str, Finding]:
    """Add new findings; a finding that has the thread's numbers wins over one that lacks them."""
    kept = {key for key, known in current.items() if known.numbered is not None}
    newer = {key: found for key, found in update.items() if key not in kept or found.numbered is not None}
    return {**current, **newer}

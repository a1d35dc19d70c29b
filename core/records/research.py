"""A run and its research: tasks, findings, spending, and how parallel writes to a channel merge."""

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
    """Add what is new under its id; for a known id the later value wins."""
    return {**current, **update}


def append(current: Sequence[Value], update: Sequence[Value]) -> list[Value]:
    """Put the new entries after those that are there."""
    return [*current, *update]


def latest(_: Any, update: Value) -> Value:
    """Take what was written last."""
    return update


def append_lists(current: Sequence[Value], update: Sequence[Sequence[Value]]) -> list[Value]:
    """Put the entries of each list after those that are there.

    LangGraph's `messages` mode streams whatever message stands in a list that a node writes: one in a list of lists
    stays inside.
    """
    return [*current, *chain.from_iterable(update)]


SNAPSHOT_UPDATES = 300
"""Updates of a channel after which its whole value is stored again: those of some sixty questions."""


def delta(merge: Callable[[Any, Any], Any], kind: type) -> DeltaChannel[Any]:
    """Return a channel that stores what was added instead of its whole value, so that checkpoints grow linearly."""
    return DeltaChannel(lambda value, updates: reduce(merge, updates, value), kind, snapshot_frequency=SNAPSHOT_UPDATES)


class Action(Record):
    """One tool call of a researcher and what came of it."""

    id: str
    """Id of the tool call."""
    tool: str
    """Name of the tool."""
    inputs: tuple[str, ...]
    """Queries or addresses that it was given."""
    found: tuple[str, ...] = ()
    """Keys of the sources that it brought."""
    problems: tuple[str, ...] = ()
    """What could not be searched or read, and why."""
    not_read: tuple[NotRead, ...] = ()
    """Pages and documents among these problems."""
    redacted: tuple[str, ...] = ()
    """Words that were left out of queries because they stand in the user's documents only."""
    failed: tuple[str, ...] = ()
    """Kinds of the errors that the tool raised, and limits of time that it exceeded."""
    broken: tuple[str, ...] = ()
    """Searches among the problems that failed: why, and with which queries, or which engine was asked instead."""
    asked: tuple[str, ...] = ()
    """Other services that were asked about the pages it opened: for copies and retractions."""
    fault: str = ""
    """Why nothing at all could be searched and nothing will be; empty if something could."""


class Scope(Record):
    """What a question may search, frozen at its start: whoever resumes it searches no more and no less."""

    docs: tuple[str, ...] = ()
    """The user's folders and files, absolute."""
    engines: tuple[str, ...] = ()
    """Engines that search the web, by name."""
    engines_by_default: bool = False
    """Whether nobody named them and there was no key: others stand in for them, and one whose key comes later."""
    retrievers: tuple[str, ...] = ()
    """Retrievers that search the user's documents beside `docs`, by name."""
    domains_allow: tuple[str, ...] = ()
    """Domains that are searched and read; all if empty."""
    domains_deny: tuple[str, ...] = ()
    """Domains that are neither searched nor read."""
    published_after: str = ""
    """Day before which web results are left out (ISO 8601); empty for none."""
    mix_private: bool = False
    """Whether web queries may use words that only the user's documents say."""
    open_copies: bool = False
    """Whether third parties may be asked for copies of pages that are closed or gone."""
    earlier: bool = False
    """Whether what the user's finished runs have read is searched."""
    documents: str = ""
    """The list of the user's documents, or of their folders, as the models that plan and search are shown it."""
    whole: tuple[str, ...] = ()
    """Addresses of all the user's documents, if they are short: each researcher reads them all and searches none."""

    @property
    def reads_all(self) -> bool:
        """Whether documents are read whole, and not searched."""
        return bool(self.whole)


class Assignment(Record):
    """A piece of research that the orchestrator asked for."""

    id: str
    """Id of the tool call that asked for it."""
    question_id: str
    """The question that it serves."""
    cycle: int
    """The orchestrator's cycle, from 0."""
    position: int
    """Place among the calls of the cycle, from 0."""
    thought: str = ""
    """The orchestrator's thought that led to it."""


class ConflictingClaims(Record):
    """Claims of two sources on the same matter that cannot both be true, as a researcher declares them."""

    claims: tuple[str, str]
    sources: tuple[str, str]
    """Keys of the sources, in the order of the claims."""


class Finding(Assignment):
    """What one researcher brings back for one task."""

    task: str
    """The task as it was given."""
    text: str
    """The finding, with the researcher's own source numbers in brackets."""
    sources: tuple[str, ...] = ()
    """Keys of the researcher's sources; the first has the local number 1."""
    ended: Ending
    """`partial`: a limit or an error ended the research before the researcher did."""
    reason: str = ""
    """Why it is partial or failed, in words for the reader."""
    missing: tuple[str, ...] = ()
    """What the researcher says that its task asks for and it has not found."""
    contradictions: tuple[ConflictingClaims, ...] = ()
    """Where its sources contradict each other."""
    is_withheld: bool = False
    """Whether a filter of the model's provider refuses to have it read."""
    withheld: int = 0
    """Results of its tools that such a filter refuses to have read."""
    failures: tuple[str, ...] = ()
    """What went wrong on the way, as it was emitted."""
    seconds: float = 0.0
    """Active seconds that the research took."""
    actions: tuple[Action, ...] = ()
    """Its tool calls, in order."""
    numbered: str | None = None
    """The text with the numbers of the thread; none until `collect` has seen it."""
    is_excerpt: bool = False
    """Whether the text is made of passages as they stand in their sources, which no model has looked at."""
    is_analysis: bool = False
    """Whether it concludes from other findings, whose sources it cites."""
    dropped_markers: int = 0
    """Markers that named no source and were removed."""


class Task(Assignment):
    """What a researcher is given, and all that it is given."""

    text: str
    """The task in words."""
    title: str = ""
    """Title of the task in a few words."""
    turn: int
    """Turn index of its packets."""
    date: str
    """Today's date in words, as frozen at the start of the question."""
    language: str
    """Language of all prose."""
    scope: Scope
    """What it may search."""
    seconds: float
    """Active seconds until it must start writing."""
    tokens: int | None = None
    """Tokens that it may spend, input and output; none: unlimited."""
    searches: int | None = None
    """Searches that it may make; none: unlimited."""
    fetches: int | None = None
    """Pages that it may open; none: unlimited."""
    tool_calls: int | None = None
    """Calls of research tools that it may make; none: unlimited."""
    usd: float | None = None
    """Money that it may spend, in US dollars; none: unlimited."""


class Plan(Record):
    """The research plan."""

    text: str
    """As the model wrote it, or as the user edited it."""
    steps: tuple[str, ...]
    """Its numbered steps, one to six."""
    title: str = ""
    """Title of the report; empty where the planner gave none."""
    requirements: tuple[str, ...] = ()
    """The checklist: what the report has to say, each by itself; empty where the planner made none."""
    left_out: int = 0
    """Steps that it had beyond the limit."""
    review: Literal["none", "approved", "rejected"] = "none"
    """What the user said of it, where the user is asked."""
    comment: str = ""
    """Why the user rejected it."""

    @property
    def remark(self) -> str:
        """Return the reader's note on the steps beyond the limit; empty if there are none."""
        words = f"The plan had more steps than are carried out ({self.left_out} left out: max_plan_steps)."
        return words if self.left_out else ""


class Spent(Record):
    """What one model call or tool call cost."""

    role: str
    """The model's role, or the tool's name."""
    input_tokens: int = 0
    """Tokens read, cached ones included."""
    cached_tokens: int = 0
    """Tokens read from the provider's cache."""
    output_tokens: int = 0
    """Tokens written."""
    searches: int = 0
    """Queries sent, each once for every engine."""
    fetches: int = 0
    """Web pages fetched and documents opened."""
    tool_calls: int = 0
    """Calls of research tools that were carried out."""
    usd: float = 0.0
    """Money in US dollars, as far as it is known."""


class Span(Record):
    """A number that is estimated."""

    low: float
    """The least of what earlier runs took."""
    likely: float
    """Their median."""
    high: float
    """The most."""


class Estimate(Record):
    """What a question will have taken at its end, by finished runs of the same kind; with fewer than three, only the
    limits."""

    runs: int = 0
    """Finished runs by the same strategy, depth and models."""
    calls: Span | None = None
    """Calls of models."""
    input_tokens: Span | None = None
    """Tokens that they read."""
    output_tokens: Span | None = None
    """Tokens that they write."""
    usd: Span | None = None
    """Money in US dollars; none where the price of a model is not known."""
    seconds: Span | None = None
    """Active seconds."""
    max_tokens: int | None = None
    """The limit on tokens; none: unlimited."""
    max_usd: float | None = None
    """The limit on money; none: unlimited."""
    max_seconds: float | None = None
    """The limit on the seconds of research."""


class Run(Record):
    """The question under research, frozen at its start, and where the run stands."""

    id: str
    """Id of the question."""
    question: str
    """The question as asked."""
    date: str
    """Date at the start, in words."""
    language: str
    """Language of all prose, as prompts name it: "German"."""
    language_code: str = ""
    """Its ISO 639-1 code; empty where it is not known."""
    is_resumable: bool
    """Whether a checkpointer can hold the pause of a question to the user."""
    scope: Scope = Scope()
    """What it may search."""
    version: str
    """Version of the code that started it."""
    strategy: Strategy = "orchestrated"
    """How it is researched."""
    entry: Entry = "question"
    """How the latest message came in."""
    first_title: str = ""
    """Title of the report on the first question of its thread; empty at that question, and without one."""
    depth: Depth | None = None
    """How much the question is worth, as it was set at its start; none: `standard`."""
    is_recalled: bool = False
    """Whether it is answered from what was read for earlier questions of its thread; then it `is_quick`, too."""
    is_quick: bool = False
    """Whether it is answered from one search: by its depth, or since `auto` found it to be small."""
    estimate: Estimate | None = None
    """What it was estimated to take when its plan was made; none before, and where models cost nothing."""
    active_seconds: float = 0.0
    """Time at work so far; pauses are not counted."""
    lost_seconds: float = 0.0
    """Part of it that went into calls whose node failed or was stopped."""
    assumptions: tuple[str, ...] = ()
    """What was taken for granted instead of asking, stated in the report."""
    notices: tuple[str, ...] = ()
    """What the reader should know about this run: an unknown window, say."""
    not_read: tuple[NotRead, ...] = ()
    """Documents that cannot be searched, the first of them."""
    status: RunStatus = "running"
    """Where the run stands."""
    stop_reason: str = ""
    """Which limit ended the research, if one did."""


NO_RUN = Run(id="", question="", date="", language="", is_resumable=False, version="")
"""What stands in the state until a question has begun."""


class Progress(Record):
    """How far the orchestrator has come with this question."""

    cycle: int = 0
    """Rounds of research that were dispatched."""
    thinks: int = 0
    """Thoughts in a row."""
    mistakes: int = 0
    """Calls in a row that could not be run."""
    nudges: tuple[str, ...] = ()
    """Reminders that were given once and are not given again."""
    thought: str = ""
    """The latest thought, kept for the research that follows it."""
    opening: int = 0
    """Messages of the conversation when the orchestrator began; later ones stand in the transcript."""
    seen_messages: int = 0
    """Messages of the conversation that the orchestrator has been shown."""
    turn: int = 0
    """Turn index of the next packets."""
    decision: Decision = "again"
    """What comes next."""
    analyses: tuple[tuple[str, str], ...] = ()
    """Call id and words of the analyses that the orchestrator has asked for; the last one may be under way."""
    waiting: tuple[tuple[str, str], ...] = ()
    """Call id and words of tasks that the orchestrator has handed out and that go out in the next rounds."""


def merge_findings(current: Mapping[str, Finding], update: Mapping[str, Finding]) -> dict[str, Finding]:
    """Add new findings; a finding with the thread's numbers wins over the same one without."""
    merged = dict(current)
    for key, finding in update.items():
        known = merged.get(key)
        if known is None or known.numbered is None or finding.numbered is not None:
            merged[key] = finding
    return merged

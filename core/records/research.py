"""Records of a run and its research: tasks, tool calls, calculations, findings, spending."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple

from . import tool_names
from .sources import Dispute, NotRead, Record

RunStatus = Literal["running", "waiting", "completed", "completed_with_gaps", "ended"]
Ending = Literal["done", "partial", "failed"]
Decision = Literal["again", "research", "analyze", "report"]
Entry = Literal["question", "answer", "plan_reply", "follow_up", "continuation", "edit"]
Depth = Literal["quick", "standard", "deep", "auto"]
Strategy = Literal["orchestrated", "planned", "table"]
InputOrigin = Literal["source", "request", "report", "calculation", "constant", "supposed"]
"""Where an input of a calculation comes from.

`source`: words of a source; `request`: the user's own messages; `report`: a statement of the report
that is proved itself; `calculation`: the result of an earlier line; `constant`: needs no source,
such as 12 months; `supposed`: the statement supposes it, as in "if only 340 order", or nothing that
was read states it.
"""
ON_OPEN_REQUIREMENT = "open-"
"""Prefix of the ids of tasks that were not requested by the orchestrator, but result from a grade
of the draft or from the edit of a report."""
_CENT = 0.01


class ToolRequest(Record):
    """A tool call that can be run."""

    id: str
    tool: str
    arguments: dict[str, Any]
    """Its arguments; when a researcher runs it, merged with those of its further calls to the same
    tool."""

    @property
    def inputs(self) -> tuple[str, ...]:
        """Its queries or addresses; for a tool that an app passed in, all arguments as
        `name: value`."""
        if self.tool not in tool_names.OURS:
            return tuple(f"{name}: {value}" for name, value in self.arguments.items())
        values: Any = next(iter(self.arguments.values()), ())
        if isinstance(values, list | tuple):
            return tuple(map(str, values))
        return (str(values),)


class Action(Record):
    """One tool call of a researcher and its outcome."""

    id: str
    """Tool call id."""
    tool: str
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
    """Types of the errors that the tool raised, and names of the time limits that it exceeded."""
    broken: tuple[str, ...] = ()
    """Failed searches, one text each: the reason, and the affected queries or the engine used
    instead."""
    partial: tuple[str, ...] = ()
    """What engines that had results could not search; one sentence each."""
    asked: tuple[str, ...] = ()
    """Other services that were asked for copies or retractions of the opened pages."""
    fault: str = ""
    """Why later searches of the run will fail as well, such as a rejected key; otherwise empty."""


class Scope(Record):
    """What a question may search; set at its start, and used instead of the settings when it is
    resumed."""

    docs: tuple[str, ...] = ()
    """Absolute paths of the user's folders and files."""
    engines: tuple[str, ...] = ()
    """Names of the web search engines."""
    engines_by_default: bool = False
    """Whether no engine was chosen and none had a key: a keyless fallback may then replace one that
    finds nothing."""
    retrievers: tuple[str, ...] = ()
    """Names of retrievers that search the user's documents, in addition to `docs`."""
    domains_allow: tuple[str, ...] = ()
    """Domains that may be searched and read; if empty, all."""
    domains_deny: tuple[str, ...] = ()
    """Domains that may be neither searched nor read."""
    excluded: tuple[str, ...] = ()
    """Keys of the thread's sources that the user has excluded: they are neither shown to models nor
    cited."""
    published_after: str = ""
    """Web results dated before this day (ISO 8601) are left out; empty for no limit."""
    mix_private: bool = False
    """Whether web queries may use words that are only in the user's documents."""
    open_copies: bool = False
    """Whether third parties may be asked for copies of inaccessible or deleted pages."""
    earlier: bool = False
    """Whether to also search what the user's finished runs have read."""
    documents: str = ""
    """A listing of the user's documents or folders for the prompts of models that plan and
    search."""
    whole: tuple[str, ...] = ()
    """Addresses of all the user's documents if they are short enough to be read instead of
    searched; else empty."""

    @property
    def reads_all(self) -> bool:
        """Whether researchers read all documents instead of searching."""
        return bool(self.whole)

    @property
    def needs_no_search(self) -> bool:
        """Whether researchers read all documents, and the built-in tools find nothing else."""
        return self.reads_all and not (self.engines or self.earlier)


class CalculationInput(Record):
    """A number that a calculation uses."""

    value: float
    """Its value, with its scale: 1 200 000 for 1.2 million; a percentage as written."""
    unit: str = ""
    """Its unit of measure or currency; empty if it has none."""
    origin: InputOrigin
    source: str = ""
    """Key of the source, if it comes from one."""
    words: str = ""
    """The words of the source that state it, or of the request in another unit; empty if they are
    not kept."""
    dates: str = ""
    """The two dates of these words between which it lies, as written, if it is a period that
    follows from them."""
    calculation: int = 0
    """Number of the calculation whose result it is; 0 for any other input."""


class Calculation(Record):
    """A line of arithmetic, or a count of named things, that code has calculated."""

    number: int = 0
    """Its number, by which texts cite it: `[calc 2]`. It is one of the thread, or until `collect`
    one of its researcher; 0 for a calculation of the judge, which nothing cites."""
    name: str
    """What it gives; of the judge's, the statement of the report that first rests on it."""
    formula: str
    """The left side of the line: `(48 - 40) / 40`; of an equation, both sides."""
    inputs: tuple[CalculationInput, ...] = ()
    """The numbers in the formula, in order; none for a count."""
    value: float
    """The exact result; a share as a fraction of 1, a date as its ordinal in the calendar."""
    result: str
    """The result as it is shown, such as `20 %`; of the judge's, as the model wrote it, if it
    did."""
    unit: str = ""
    """The unit of measure of `result`; `%` for a share. Empty for a plain number, and for a
    calculation of the judge."""
    is_rounded: bool = False
    """Whether `result` is the exact result rounded to its last digit."""
    found: str = ""
    """The result as the findings have it, if the user has had it calculated anew since; else
    empty."""

    @property
    def key(self) -> str:
        """Its name in citations and channels: `calc 2`."""
        return f"calc {self.number}"

    @property
    def sources(self) -> list[str]:
        """Keys of the sources of its inputs."""
        return [used.source for used in self.inputs if used.source]

    def repeats(self, other: Calculation) -> bool:
        """Whether it gives the digits of another one from some of its inputs, in whatever unit:
        775,000 for 0.775 million."""
        if digits_of(self.value) != digits_of(other.value):
            return False
        inputs = {digits_of(used.value) for used in other.inputs}
        own = {digits_of(used.value) for used in self.inputs}
        # A count has no inputs.
        return bool(own) and own <= inputs

    @property
    def rests_on(self) -> frozenset[int]:
        """Numbers of the calculations whose results it uses."""
        return frozenset(used.calculation for used in self.inputs if used.calculation)

    @property
    def is_proved(self) -> bool:
        """Whether each of its inputs was found where it comes from."""
        return all(used.origin != "supposed" for used in self.inputs)

    @property
    def line(self) -> str:
        """Its formula and result in one line."""
        sign = "; x =" if "=" in self.formula else " ="
        return f"{self.formula}{sign} {self.result}"


def digits_of(value: float) -> str:
    """Return the first six digits of a number that count, so without sign, scale and zeros at the
    end."""
    mantissa, _, _ = f"{abs(value):.5e}".partition("e")
    return mantissa.replace(".", "").rstrip("0")


def by_calculation_number(calculations: Iterable[Calculation]) -> dict[int, Calculation]:
    """Return calculations by number."""
    return {calculation.number: calculation for calculation in calculations}


class Assignment(Record):
    """What a task and its finding have in common: the call that assigned the task, and its place in
    the run."""

    id: str
    """Id of the orchestrator's tool call for it."""
    question_id: str
    cycle: int
    """The research round, from 0."""
    position: int
    """Index among the tasks that are dispatched together; the `tab_index` of its packets."""
    thought: str = ""
    """The orchestrator's thought before this call."""


class Finding(Assignment):
    """The result of a researcher's task."""

    task: str
    """The task, as assigned."""
    step: str = ""
    """Id of the plan's step that it comes from, as in its learnings and observations; empty for a
    researcher's."""
    text: str
    """The answer to the task; its citations `[n]` use the researcher's own source numbers."""
    sources: tuple[str, ...] = ()
    """Keys of the researcher's sources; source number n is at index n - 1."""
    ended: Ending
    """`partial`: a limit or an error stopped the researcher before it was done."""
    reason: str = ""
    """Why it is partial or failed, worded for the reader."""
    missing: tuple[str, ...] = ()
    """Parts of the task that the researcher reported as not found."""
    contradictions: tuple[Dispute, ...] = ()
    """Disputes between its sources."""
    is_withheld: bool = False
    """Whether the model provider's content filter blocked its text."""
    withheld: int = 0
    """Number of tool results that such a filter blocked."""
    left_out: tuple[str, ...] = ()
    """Titles of the documents and pages that such a filter blocked in a tool result."""
    failures: tuple[str, ...] = ()
    """Failures during the research, as clients were told."""
    seconds: float = 0.0
    """Active seconds of the research."""
    actions: tuple[Action, ...] = ()
    """Its tool calls, in order."""
    calculations: tuple[Calculation, ...] = ()
    """What it has calculated; the text cites them by the researcher's own numbers until `collect`
    has numbered them in the thread."""
    numbered: str | None = None
    """The text with the thread's source numbers; None before `collect`."""
    is_excerpt: bool = False
    """Whether the text consists of verbatim passages instead, because no model wrote a finding."""
    is_analysis: bool = False
    """Whether it draws conclusions from other findings, whose sources it cites."""
    dropped_markers: int = 0
    """Number of markers removed because they named no existing source."""
    corrected_markers: int = 0
    """Number of citations that named another source than the one that states it, and were
    corrected."""
    handed_in: str = ""
    """SHA-256 (hex) of the rows or cells that it hands in for a table, in the store; empty for any
    other finding."""

    @property
    def lists_learnings(self) -> bool:
        """Whether its text lists what a plan's step has learned, one fact per line, instead of
        prose or excerpts."""
        return bool(self.step) and not self.is_excerpt


class Task(Assignment):
    """The complete input of a researcher: the task, what it may search, and its share of the
    budget."""

    text: str
    """The task description."""
    title: str = ""
    """The task's title in a few words."""
    turn: int
    """`turn_index` of its packets."""
    date: str
    """Date of the question's start, in words."""
    language: str
    """Language to write in, by its English name."""
    scope: Scope
    """What it may search."""
    seconds: float
    """Working seconds after which it must start writing."""
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

    @property
    def assignment(self) -> dict[str, Any]:
        """The fields of its `Finding` that come from it."""
        return {**self.model_dump(include=set(Assignment.model_fields)), "task": self.text}

    @property
    def shared_prefix(self) -> str:
        """Name of the long beginning that its prompts share with those of other tasks (see
        `Request`), since all of them begin with the documents; empty if these are searched."""
        return f"documents {self.question_id}" if self.scope.reads_all else ""

    def failed(self, ended: Ending, reason: str) -> Finding:
        """Return a finding without text, for research that failed for this reason."""
        return Finding(**self.assignment, text="", ended=ended, reason=reason, failures=(reason,))


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
        """Note for the user on steps dropped because of the limit; empty if there are none."""
        if not self.left_out:
            return ""
        return f"The plan had more steps than allowed ({self.left_out} left out: max_plan_steps)."


class Spent(Record):
    """The cost of one model call or tool call."""

    role: str
    """Role of the model (see `Role`), or name of the tool."""
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


class Total(NamedTuple):
    """Total costs; see `Spent` for the fields."""

    calls: int
    """Number of model calls."""
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    searches: int
    fetches: int
    tool_calls: int
    usd: float

    @property
    def tokens(self) -> int:
        """Input and output tokens together."""
        return self.input_tokens + self.output_tokens

    def share_used_up(self, task: Task) -> str:
        """Return which share of the run's budget the task has used up with these costs, worded for
        the reader; empty if none."""
        if task.tokens is not None and self.tokens >= task.tokens:
            return "its share of the token limit was used up (max_tokens)"
        if task.usd is not None and self.usd >= task.usd:
            return "its share of the money limit was used up (max_usd)"
        return ""


def total(spending: Mapping[str, Spent]) -> Total:
    """Add up the costs; `spending` has an entry for each call of a model or tool."""
    entries = spending.values()
    sums = dict[str, Any]()
    for name in Total._fields[1:]:
        sums[name] = sum(getattr(spent, name) for spent in entries)
    calls = sum(1 for spent in entries if spent.input_tokens or spent.output_tokens)
    return Total(calls=calls, **sums)


def dollars(usd: float) -> str:
    """Format an amount in US dollars to the cent; less than a cent to two significant digits."""
    if usd >= _CENT or usd <= 0:
        return f"${usd:.2f}"
    digits = 1 - math.floor(math.log10(usd))
    return f"${usd:.{digits}f}".rstrip("0")


class UsualCost(Record):
    """What the user's finished runs of a kind (the same strategy, depth and models) cost;
    `estimate` for clients."""

    runs: int
    """Number of finished runs that it is based on."""
    median_seconds: float
    """Median of their active seconds."""
    median_tokens: int
    """Median of their tokens, input and output together."""


class Run(Record):
    """The current question, the values that were fixed at its start, and the progress of the
    run."""

    id: str
    """Id of the question."""
    question: str
    """The question as asked."""
    date: str
    """Date at the start, in words."""
    language: str
    """Language of everything the models write, by its English name, such as "German"."""
    language_code: str = ""
    """Its ISO 639-1 code; empty if unknown."""
    is_resumable: bool
    """Whether the graph has a checkpointer: without one, the run cannot pause to ask the user."""
    scope: Scope = Scope()
    """What it may search."""
    version: str
    """Version of the code that started it."""
    strategy: Strategy = "orchestrated"
    entry: Entry = "question"
    """Kind of the latest message; `edit`: the run changes the thread's report."""
    outline: str = ""
    """Outline that its report is to follow, as the user wrote it; empty if there is none."""
    first_title: str = ""
    """Title of the report on the thread's first question; empty for that question itself, or if it
    has no title."""
    depth: Depth | None = None
    """Research effort, set at the question's start; None: `standard`."""
    is_recalled: bool = False
    """Whether it is answered from sources read for the thread's earlier questions; implies
    `is_quick`."""
    is_quick: bool = False
    """Whether it is answered from one search, because of its depth or because `auto` judged it to
    be small."""
    usual_cost: UsualCost | None = None
    """What runs like this one cost, looked up with the plan; None before that, or if fewer than
    three have finished."""
    active_seconds: float = 0.0
    """Working time so far, excluding pauses and interruptions."""
    lost_seconds: float = 0.0
    """The part of `active_seconds` that was spent in nodes which failed or were stopped."""
    assumptions: tuple[str, ...] = ()
    """Assumptions made instead of asking the user; stated in the report."""
    notices: tuple[str, ...] = ()
    """Notes on this run for the reader, such as an unknown context window."""
    done: str = ""
    """What an edit has changed in the report, as one of its notices, and what of the request could
    not be done; empty if nothing is known."""
    not_read: tuple[NotRead, ...] = ()
    """The first of the documents that could not be indexed."""
    status: RunStatus = "running"
    stop_reason: str = ""
    """Why the research ended early, such as the limit that was reached; otherwise empty."""


NO_RUN = Run(id="", question="", date="", language="", is_resumable=False, version="")
"""Placeholder in the state before the first question."""


class Progress(Record):
    """The orchestrator's progress on this question."""

    cycle: int = 0
    """Number of research rounds dispatched so far."""
    thinks: int = 0
    """Number of consecutive thoughts (calls of `think_tool`)."""
    mistakes: int = 0
    """Number of consecutive messages of the model with no call that could be carried out."""
    nudges: tuple[str, ...] = ()
    """Reminders that the model was given; each is given only once."""
    thought: str = ""
    """The model's latest thought, stored with the tasks that follow it."""
    opening: int = 0
    """Number of the thread's messages when the orchestrator started; later ones are in its
    transcript."""
    seen_messages: int = 0
    """Number of the thread's messages that the orchestrator has seen."""
    turn: int = 0
    """`turn_index` of the next packets."""
    decision: Decision = "again"
    """What the graph does next; `again`: the orchestrator's model is asked again."""
    analyses: tuple[tuple[str, str], ...] = ()
    """(call id, text) of each requested analysis; the last may be in progress."""
    waiting: tuple[tuple[str, str], ...] = ()
    """(call id, text) of the tasks that wait for a later round."""
    is_disputed: bool = False
    """Whether the orchestrator sees results that contradict each other and were not declared."""
    writes_next: bool = False
    """Whether the report is written once the results are there, without a further decision."""

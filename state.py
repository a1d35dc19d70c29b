"""The states of the three graphs (a run, a researcher, a step of a plan): input, output, channels,
and how parallel writes to a channel merge."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import chain
from typing import Annotated, Any, Literal, NotRequired, TypeVar

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, ToolMessage
from langgraph.channels import DeltaChannel, EphemeralValue
from langgraph.types import Overwrite
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from .core.records.langgraph_private import merge_messages
from .core.records.plan import (
    Iteration,
    Judgement,
    Learning,
    Observation,
    PlanStep,
    StepOutcome,
    StepTask,
)
from .core.records.report import Brief, Draft, Report, Version
from .core.records.research import (
    NO_RUN,
    Action,
    Calculation,
    Ending,
    Finding,
    Plan,
    Progress,
    Run,
    Spent,
    Task,
    ToolRequest,
)
from .core.records.sources import Dispute, Exclusion, Source
from .core.records.table import RowEntry, TableWork

Value = TypeVar("Value")


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
    """Append the entries of each list in the update.

    Nodes write messages as a list of lists so that they are not shown to clients: LangGraph's
    `messages` mode streams every message in a list that a node writes, but none in a list of lists.
    """
    return [*current, *chain.from_iterable(update)]


SNAPSHOT_UPDATES = 300
"""Number of updates (about sixty questions) after which a channel's whole value is stored again."""


def delta(merge: Callable[[Any, Any], Any], kind: type) -> DeltaChannel[Any]:
    """Return a channel of this type whose checkpoints store only the updates, not its whole value
    each time.

    `merge`: the reducer that combines the value with one update.
    """

    def merge_all(value: Any, updates: Sequence[Any]) -> Any:
        return reduce(merge, updates, value)

    return DeltaChannel(merge_all, kind, snapshot_frequency=SNAPSHOT_UPDATES)


def merge_sources(current: Mapping[str, Source], update: Mapping[str, Source]) -> dict[str, Source]:
    """Merge sources by key; see `Source.merged`."""
    merged = dict(current)
    for key, source in update.items():
        merged[key] = merged.get(key, source).merged(source)
    return merged


def merge_findings(
    current: Mapping[str, Finding], update: Mapping[str, Finding]
) -> dict[str, Finding]:
    """Add new findings; a finding with the thread's source numbers is not replaced by one without
    them."""
    merged = dict(current)
    for key, finding in update.items():
        is_numbered = key in current and current[key].numbered is not None
        if not is_numbered or finding.numbered is not None:
            merged[key] = finding
    return merged


# LangGraph assigns ids only to messages of a channel with exactly this reducer.
ThreadMessages = Annotated[
    list[AnyMessage], DeltaChannel(merge_messages, snapshot_frequency=SNAPSHOT_UPDATES)
]
"""Messages; each checkpoint stores only new ones, and a message with a known id replaces the
earlier one."""


@dataclass
class ResearchState:
    """The channels of a research run; findings, sources, learnings, memory and versions
    are kept for the whole thread."""

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
    excluded: Annotated[dict[str, Exclusion], delta(latest, dict)] = field(default_factory=dict)
    """Sources that the user has excluded, by key."""
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
    calculations: Annotated[dict[str, Calculation], delta(merge_by_id, dict)] = field(
        default_factory=dict
    )
    """What was calculated for the thread, by name: `calc 2`."""
    table: TableWork | None = None
    """How far the search for the rows of a table has come (table strategy)."""
    rows: Annotated[dict[str, RowEntry], delta(merge_by_id, dict)] = field(default_factory=dict)
    """The rows of the table (table strategy), by id."""
    draft: Draft | None = None
    report: Report | None = None
    versions: Annotated[dict[str, Version], delta(merge_by_id, dict)] = field(default_factory=dict)
    """The finished reports of the thread by name, oldest first; see `ThreadVersions`."""
    base: Report | None = None
    """The thread's last full report with its title, from which edits start; short answers to
    follow-ups leave it alone."""
    edit: Annotated[bool, EphemeralValue(bool)] = False
    """Whether the input asks for an edit of that report (see `ResearchInput`); lasts no longer than
    that input, even if the edit is refused."""

    @property
    def title(self) -> str:
        """Title of the report: from the writer, else from the plan, unless the check corrected it;
        empty if there is none."""
        if self.report and self.report.title:
            return self.report.title
        if self.draft and self.draft.title:
            return self.draft.title
        return self.plan.title if self.plan else ""

    @property
    def own_findings(self) -> list[Finding]:
        """The findings for the current question."""
        return [finding for finding in self.findings.values() if finding.question_id == self.run.id]

    @property
    def own_actions(self) -> list[Action]:
        """The tool calls made for the current question."""
        actions = list(self.brief.actions)
        for finding in self.own_findings:
            actions += finding.actions
        return actions

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
    excluded: Mapping[str, Exclusion]
    spending: dict[str, Spent] | Overwrite
    brief: Brief
    steps: list[PlanStep]
    outcomes: dict[str, StepOutcome] | Overwrite
    learnings: dict[str, Learning]
    memory: dict[str, Observation]
    calculations: Mapping[str, Calculation]
    table: TableWork | None
    rows: Mapping[str, RowEntry] | Overwrite
    draft: Draft | None
    report: Report | None
    versions: dict[str, Version]
    base: Report | None


def channels_reset() -> StateUpdate:
    """Return the update that resets the channels of one question, when the next one starts.

    All others keep their values for the whole thread.
    """
    return StateUpdate(
        plan=None,
        progress=Progress(),
        transcript=Overwrite([]),
        tasks=[],
        spending=Overwrite({}),
        brief=Brief(),
        steps=[],
        outcomes=Overwrite({}),
        table=None,
        rows=Overwrite({}),
        draft=None,
        report=None,
    )


class ResearchInput(BaseModel, title="Question", use_attribute_docstrings=True):
    """The input of a run."""

    messages: ThreadMessages = Field(title="Messages", min_length=1)
    """The conversation; its last message is the user's question, or the answer to a clarifying
    question."""
    edit: bool = Field(default=False, title="Edit the report")
    """Whether the last message says what to change in the thread's report."""


class ResearchOutput(BaseModel, title="Report", use_attribute_docstrings=True):
    """The output of a run."""

    messages: ThreadMessages = Field(title="Messages")
    """The conversation; its last message is the report, or a clarifying question."""
    report: Report | None = Field(default=None, title="Report")
    """The report as data: its text with citation markers, and the cited sources."""


@dataclass(kw_only=True)
class BranchState:
    """The channels of a researcher or a step."""

    notes: Annotated[list[AnyMessage], delta(append_lists, list)] = field(default_factory=list)
    """The model's messages (a step's: its forms) and the results of its calls; long results refer
    to stored texts."""
    numbered: Annotated[list[str], delta(append, list)] = field(default_factory=list)
    """Keys of the sources that it found, in order; a researcher's model cites them by these
    numbers, from 1."""
    actions: Annotated[list[Action], delta(append, list)] = field(default_factory=list)
    failures: Annotated[list[str], delta(append, list)] = field(default_factory=list)
    sources: Annotated[dict[str, Source], delta(merge_sources, dict)] = field(default_factory=dict)
    spending: Annotated[dict[str, Spent], delta(merge_by_id, dict)] = field(default_factory=dict)
    findings: Annotated[dict[str, Finding], delta(merge_findings, dict)] = field(
        default_factory=dict
    )
    calculations: Annotated[dict[str, Calculation], delta(merge_by_id, dict)] = field(
        default_factory=dict
    )
    """What it has calculated, by name (`calc 2`), with its own numbers."""
    seconds: float = 0.0
    """Active seconds so far; a step's include the wait for a slot. Time between nodes is not
    counted."""
    reason: str = ""


@dataclass
class ResearcherState(BranchState):
    """The channels of one researcher."""

    task: Task
    request: ToolRequest | None = None
    """The tool call that the model decided on; None while it decides."""
    iteration: int = 0
    """Number of rounds of tool use."""
    shrunk: tuple[int, ...] = ()
    """One entry per shortening: the index in `notes` before which results were shortened."""
    thinks: int = 0
    """Number of consecutive thoughts."""
    was_nudged: bool = False
    """Whether the model's last message had no call, so that it was reminded to call a tool."""
    step: int = 0
    """`sub_turn_index` of the next packets."""
    written: str = ""
    """The finding, if the model has written it beside its last decision."""
    handed_in: str = ""
    """As in `Finding`."""
    ended: Ending | None = None
    missing: tuple[str, ...] = ()
    contradictions: tuple[Dispute, ...] = ()

    @property
    def ordered_notes(self) -> list[AnyMessage]:
        """The notes with all results directly after the message with their calls, as some servers
        require.

        Of several results of a call, only the last is kept.
        """
        results: dict[str, ToolMessage] = {}
        for message in self.notes:
            if isinstance(message, ToolMessage):
                results[message.tool_call_id] = message
        ordered: list[AnyMessage] = []
        for message in self.notes:
            if not isinstance(message, ToolMessage):
                ordered.append(message)
            if isinstance(message, AIMessage):
                for call in message.tool_calls:
                    result = results.get(call["id"] or "")
                    if result:
                        ordered.append(result)
        return ordered


class ResearcherInput(TypedDict):
    """Input of the researcher subgraph."""

    task: Task
    seconds: NotRequired[float]
    """Seconds spent waiting for a slot."""


class ResearcherOutput(TypedDict, total=False):
    """Output of the researcher subgraph: everything it writes back to the run."""

    findings: dict[str, Finding]
    sources: dict[str, Source]
    spending: dict[str, Spent]


@dataclass
class StepState(BranchState):
    """The channels of one step."""

    given: Annotated[list[StepTask], delta(latest, list)]
    """A list with only the task: it is large, and a delta channel stores it once instead of in
    every checkpoint."""
    iteration: int = 0
    """Number of the current iteration, from 1; 0 before the first."""
    queries: tuple[str, ...] = ()
    """Queries of the current iteration."""
    next_queries: tuple[str, ...] = ()
    """Queries of the next iteration, if known already."""
    open_next: tuple[str, ...] = ()
    """Addresses that the next iteration opens."""
    opens_best: bool = False
    """Whether the current iteration opens the best page of each query if none was named: no model
    can choose among its results."""
    has_results: bool = False
    """Whether the current iteration found anything to read."""
    calculated: tuple[str, ...] = ()
    """What came of the calculations of the latest form, a line each; see `Calculator.calculate`."""
    judged: Judgement | None = None
    """The model's latest evaluation of the step."""
    unproductive: int = 0
    """Consecutive iterations without anything new."""
    corrected: int = 0
    """How many learnings named another source than the one that states them."""
    turn: int = 0
    """`sub_turn_index` of the next packets."""
    is_over: bool = False
    """Whether no further iteration follows."""
    ended: Ending = "done"
    iterations: Annotated[list[Iteration], delta(append, list)] = field(default_factory=list)
    learnings: Annotated[dict[str, Learning], delta(merge_by_id, dict)] = field(
        default_factory=dict
    )
    memory: Annotated[dict[str, Observation], delta(merge_by_id, dict)] = field(
        default_factory=dict
    )
    outcomes: Annotated[dict[str, StepOutcome], delta(merge_by_id, dict)] = field(
        default_factory=dict
    )

    @property
    def task(self) -> StepTask:
        """The task of the step."""
        return self.given[0]

    @property
    def doubtful(self) -> list[Learning]:
        """The learnings of the last iteration with results that are not proved."""
        for iteration in reversed(self.iterations):
            if iteration.verdicts:
                learned = map(self.learnings.__getitem__, iteration.learnings)
                return [learning for learning in learned if learning.unproved]
        return []

    @property
    def call_id(self) -> str:
        """Id of the tool call with the current iteration's queries."""
        return f"{self.task.id}-{self.iteration}"

    @property
    def keys(self) -> list[str]:
        """Source keys in the order of the step's own numbers, from 1: those of given learnings,
        then new ones."""
        given = (learning.source for learning in self.task.known if learning.source)
        return list(dict.fromkeys([*given, *self.numbered]))

    @property
    def numbers(self) -> dict[str, int]:
        """The step's own source numbers by key."""
        return {key: number for number, key in enumerate(self.keys, 1)}

    def observation(
        self,
        kind: Literal["insight", "gap"],
        text: str,
        score: float,
        learnings: tuple[str, ...] = (),
        rank: int = 0,
    ) -> Observation:
        """Return an observation made in the current iteration; see `Observation` for the
        parameters."""
        task = self.task
        return Observation(
            kind=kind,
            text=text,
            question_id=task.question_id,
            round=task.cycle,
            step=task.step.id,
            iteration=self.iteration,
            score=score,
            learnings=learnings,
            rank=rank,
        )


class StepOutput(ResearcherOutput, total=False):
    """Output of the step subgraph: everything it writes back to the run."""

    outcomes: dict[str, StepOutcome]
    learnings: dict[str, Learning]
    memory: dict[str, Observation]


class BranchUpdate(StepOutput, total=False):
    """State update of a node in either subgraph."""

    notes: list[list[AnyMessage]]
    request: ToolRequest | None
    iteration: int
    shrunk: tuple[int, ...]
    thinks: int
    was_nudged: bool
    step: int
    written: str
    handed_in: str
    queries: tuple[str, ...]
    next_queries: tuple[str, ...]
    open_next: tuple[str, ...]
    opens_best: bool
    has_results: bool
    calculated: tuple[str, ...]
    judged: Judgement
    unproductive: int
    corrected: int
    turn: int
    seconds: float
    is_over: bool
    ended: Ending
    reason: str
    missing: tuple[str, ...]
    contradictions: tuple[Dispute, ...]
    numbered: list[str]
    actions: list[Action]
    calculations: Mapping[str, Calculation]
    failures: list[str]
    iterations: list[Iteration]


class StepInput(TypedDict):
    """Input of the step subgraph."""

    given: list[StepTask]
    seconds: float
    """Seconds spent waiting for a slot."""

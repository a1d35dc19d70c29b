"""State, input and output of the two subgraphs that run in parallel branches: a researcher, and a
step of a plan."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage
from typing_extensions import TypedDict

from . import tool_names
from .dispute import Dispute
from .plan import Element, Iteration, Learning, Observation, PlanStep, StepOutcome, Suggestion
from .research import (
    Action,
    Assignment,
    Ending,
    Finding,
    Spent,
    Task,
    append,
    append_lists,
    delta,
    latest,
    merge_by_id,
    merge_findings,
)
from .sources import Record, Source, merge_sources

PLAN_TIME_OVER = "the time of the plan was over (max_seconds_planned)"
"""Reason for ending a step early, worded for the reader."""


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


class ResearcherOutput(TypedDict, total=False):
    """Output of the researcher subgraph: everything it writes back to the run."""

    findings: dict[str, Finding]
    sources: dict[str, Source]
    spending: dict[str, Spent]


def assignment_of(task: Task) -> dict[str, Any]:
    """Return the fields of a `Finding` that come from its task."""
    fields = {**task.model_dump(include=set(Assignment.model_fields)), "task": task.text}
    if isinstance(task, StepTask):
        fields["step"] = task.step.id
    return fields


class StepTask(Task):
    """The complete input of a step: its task, and what was known when it was dispatched."""

    question: str
    """The user's question; with the placement, it determines the texts of status messages
    (`activity`)."""
    step: PlanStep
    known: tuple[Learning, ...] = ()
    """Learnings of the steps that this one depends on, and relevant ones of others."""
    elements: tuple[Element, ...] = ()
    """Other relevant results of earlier steps."""
    rests_on: tuple[Source, ...] = ()
    """Sources of the learnings in `known`."""
    gaps: tuple[Observation, ...] = ()
    """Open gaps that are relevant to the task."""
    slots: int = 1
    """Number of steps dispatched with it that may run at the same time."""


class Judgement(Record):
    """A model's evaluation of a step."""

    completeness: float
    """Share of the task that is answered, 0 to 1."""
    quality: float
    """Quality of the results, 0 to 1."""
    suggestions: tuple[Suggestion, ...] = ()
    """Further steps that would help."""


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
    has_results: bool = False
    """Whether the current iteration found anything to read."""
    judged: Judgement | None = None
    """The model's latest evaluation of the step."""
    unproductive: int = 0
    """Consecutive iterations without anything new."""
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
    queries: tuple[str, ...]
    next_queries: tuple[str, ...]
    open_next: tuple[str, ...]
    has_results: bool
    judged: Judgement
    unproductive: int
    turn: int
    seconds: float
    is_over: bool
    ended: Ending
    reason: str
    missing: tuple[str, ...]
    contradictions: tuple[Dispute, ...]
    numbered: list[str]
    actions: list[Action]
    failures: list[str]
    iterations: list[Iteration]


class StepInput(TypedDict):
    """Input of the step subgraph."""

    given: list[StepTask]
    seconds: float
    """Seconds spent waiting for a slot."""


def new_observation(
    state: StepState,
    kind: Literal["insight", "gap"],
    text: str,
    score: float,
    learnings: tuple[str, ...] = (),
) -> Observation:
    """Return an observation made in the step's current iteration; see `Observation` for the
    parameters."""
    task = state.task
    return Observation(
        kind=kind,
        text=text,
        question_id=task.question_id,
        round=task.cycle,
        step=task.step.id,
        iteration=state.iteration,
        score=score,
        learnings=learnings,
    )

"""The channels of one researcher and of one step of a typed plan, and what each writes back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any

from langchain_core.messages import AnyMessage
from typing_extensions import TypedDict

from ..records.plan import Element, Iteration, Learning, Observation, ObservationKind, PlanStep, StepOutcome, Suggestion
from ..records.research import (
    Action,
    Assignment,
    ConflictingClaims,
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
from ..records.sources import Record, Source, merge_sources
from . import tool_names
from .concurrency import Failed
from .events.packets import Placement

TIME_OVER = "the time of the plan was over (max_seconds_planned)"
"""Why a step was ended early."""


class ToolRequest(Record):
    """A tool call that is to be carried out next."""

    id: str
    """Id of the call."""
    tool: str
    """Name of the tool."""
    arguments: dict[str, Any]
    """Its arguments, calls of the same tool merged."""

    @property
    def inputs(self) -> tuple[str, ...]:
        """The queries or addresses that it is given; all arguments of a tool that an app has passed."""
        if self.tool not in tool_names.OURS:
            return tuple(f"{name}: {value}" for name, value in self.arguments.items())
        values: Any = next(iter(self.arguments.values()), ())
        return tuple(map(str, values)) if isinstance(values, list | tuple) else (str(values),)


@dataclass
class ResearcherState:
    """The channels of one researcher."""

    task: Task
    notes: Annotated[list[AnyMessage], delta(append_lists, list)] = field(default_factory=list)
    request: ToolRequest | None = None
    iteration: int = 0
    shrunk: tuple[int, ...] = ()
    """How far, in notes, the results have shrunk, each time that they did."""
    thinks: int = 0
    was_nudged: bool = False
    step: int = 0
    seconds: float = 0.0
    numbered: Annotated[list[str], delta(append, list)] = field(default_factory=list)
    actions: Annotated[list[Action], delta(append, list)] = field(default_factory=list)
    sources: Annotated[dict[str, Source], delta(merge_sources, dict)] = field(default_factory=dict)
    spending: Annotated[dict[str, Spent], delta(merge_by_id, dict)] = field(default_factory=dict)
    ended: Ending | None = None
    reason: str = ""
    missing: tuple[str, ...] = ()
    contradictions: tuple[ConflictingClaims, ...] = ()
    failures: Annotated[list[str], delta(append, list)] = field(default_factory=list)
    findings: Annotated[dict[str, Finding], delta(merge_findings, dict)] = field(default_factory=dict)


class ResearcherInput(TypedDict):
    """The input of a researcher."""

    task: Task


class ResearcherOutput(TypedDict):
    """The output of a researcher: all that it writes back."""

    findings: dict[str, Finding]
    sources: dict[str, Source]
    spending: dict[str, Spent]


def place_of(task: Task) -> Placement:
    """Return where the packets of a task stand, those of its own steps apart."""
    return Placement(turn_index=task.turn, tab_index=task.position)


def assignment_of(task: Task) -> dict[str, Any]:
    """Return the fields of a finding that come from its task."""
    return {**task.model_dump(include=set(Assignment.model_fields)), "task": task.text}


class StepTask(Task):
    """The task of a step: a snapshot of what was known when it was dispatched."""

    question: str
    """The question, as the seed of wordings."""
    step: PlanStep
    """The step."""
    known: tuple[Learning, ...] = ()
    """Learnings of other steps that bear on it, or on which it builds."""
    elements: tuple[Element, ...] = ()
    """What else is known that bears on it."""
    rests_on: tuple[Source, ...] = ()
    """The sources of those learnings."""
    gaps: tuple[Observation, ...] = ()
    """What is not known and bears on it."""
    slots: int = 1
    """Steps of its round that may work at the same time."""


class Judgement(Record):
    """A model's evaluation of a step."""

    completeness: float
    """How much of what the task asks for is there, from 0 to 1."""
    quality: float
    """How good that is, from 0 to 1."""
    suggestions: tuple[Suggestion, ...] = ()
    """Further steps that would help."""


@dataclass
class StepState:
    """The channels of one step."""

    given: Annotated[list[StepTask], delta(latest, list)]
    """The task, alone: it holds all that was known, and as a delta it is stored once and not at every checkpoint."""
    iteration: int = 0
    queries: tuple[str, ...] = ()
    """What the present iteration searches for."""
    next_queries: tuple[str, ...] = ()
    """What the next one searches for, as far as that is known."""
    open_next: tuple[str, ...] = ()
    """What the next one reads."""
    has_results: bool = False
    """Whether the present iteration has brought anything to read."""
    notes: Annotated[list[AnyMessage], delta(append_lists, list)] = field(default_factory=list)
    """The conversation with the model: what it handed in, and what was found for it."""
    judged: Judgement | None = None
    """What the model thinks of the step by now."""
    unproductive: int = 0
    """Iterations in a row that brought nothing new."""
    turn: int = 0
    """Sub turn of the next packets."""
    seconds: float = 0.0
    """Seconds since it was sent out, those between its nodes left out."""
    is_over: bool = False
    ended: Ending = "done"
    reason: str = ""
    numbered: Annotated[list[str], delta(append, list)] = field(default_factory=list)
    actions: Annotated[list[Action], delta(append, list)] = field(default_factory=list)
    failures: Annotated[list[str], delta(append, list)] = field(default_factory=list)
    iterations: Annotated[list[Iteration], delta(append, list)] = field(default_factory=list)
    sources: Annotated[dict[str, Source], delta(merge_sources, dict)] = field(default_factory=dict)
    learnings: Annotated[dict[str, Learning], delta(merge_by_id, dict)] = field(default_factory=dict)
    memory: Annotated[dict[str, Observation], delta(merge_by_id, dict)] = field(default_factory=dict)
    spending: Annotated[dict[str, Spent], delta(merge_by_id, dict)] = field(default_factory=dict)
    findings: Annotated[dict[str, Finding], delta(merge_findings, dict)] = field(default_factory=dict)
    outcomes: Annotated[dict[str, StepOutcome], delta(merge_by_id, dict)] = field(default_factory=dict)

    @property
    def task(self) -> StepTask:
        """The task of the step."""
        return self.given[0]

    @property
    def call_id(self) -> str:
        """Id of the call that asks for the present iteration."""
        return f"{self.task.id}-{self.iteration}"

    @property
    def keys(self) -> list[str]:
        """The sources of what it was given, then its own; the first has the step's number 1."""
        return list(dict.fromkeys([*(one.source for one in self.task.known if one.source), *self.numbered]))

    @property
    def numbers(self) -> dict[str, int]:
        """The step's own numbers of sources, by key."""
        return {key: number for number, key in enumerate(self.keys, 1)}


class BranchUpdate(TypedDict, total=False):
    """What a node of a researcher or of a step writes to its channels."""

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
    contradictions: tuple[ConflictingClaims, ...]
    numbered: list[str]
    actions: list[Action]
    failures: list[str]
    iterations: list[Iteration]
    sources: dict[str, Source]
    learnings: dict[str, Learning]
    memory: dict[str, Observation]
    spending: dict[str, Spent]
    findings: dict[str, Finding]
    outcomes: dict[str, StepOutcome]


class StepInput(TypedDict):
    """The input of a step."""

    given: list[StepTask]
    seconds: float
    """Seconds that it has waited for its slot."""


class StepOutput(TypedDict):
    """The output of a step: all that it writes back."""

    findings: dict[str, Finding]
    outcomes: dict[str, StepOutcome]
    learnings: dict[str, Learning]
    memory: dict[str, Observation]
    sources: dict[str, Source]
    spending: dict[str, Spent]


def failure_reason(failed: Failed) -> str:
    """Return why something that a step tried has failed, in words for the reader."""
    return TIME_OVER if failed.is_late else failed.reason


def new_observation(
    state: StepState, kind: ObservationKind, text: str, score: float, learnings: tuple[str, ...] = (), other: str = ""
) -> Observation:
    """Return an observation that the step makes now."""
    task = state.task
    return Observation(
        kind=kind,
        text=text,
        other=other,
        question_id=task.question_id,
        round=task.cycle,
        step=task.step.id,
        iteration=state.iteration,
        score=score,
        learnings=learnings,
    )

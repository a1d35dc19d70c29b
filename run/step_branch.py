"""The channels of one step of a typed plan, and what it writes back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from typing_extensions import TypedDict

from ..channels import append, merge_by_id
from ..knowledge import (
    Element,
    Iteration,
    Learning,
    Observation,
    ObservationKind,
    PlanStep,
    Record,
    Source,
    StepOutcome,
    merge_sources,
)
from ..state import Action, Ending, Finding, Spent, Task, merge_findings
from .packet import Placement
from .tries import Failed

TIME_OVER = "the time of the plan was over (max_seconds_planned)"
"""Why a step was ended early."""


class StepTask(Task):
    """What a step is given, and all that it is given: a snapshot of what was known when it was sent out."""

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

    @property
    def place(self) -> Placement:
        """Where its packets stand."""
        return Placement(turn_index=self.turn, tab_index=self.position)


class ResultSet(Record):
    """What one query brought."""

    query: str
    """The query."""
    tool: str
    """The tool that searched."""
    text_hash: str
    """Where the results stand in the store, as a model reads them (SHA-256, hex)."""


@dataclass
class StepState:
    """The channels of one step."""

    task: StepTask
    iteration: int = 0
    queries: tuple[str, ...] = ()
    results: tuple[ResultSet, ...] = ()
    learned: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Ids of what the present iteration has learned, by query."""
    unproductive: int = 0
    """Iterations in a row that brought nothing new."""
    turn: int = 0
    """Sub turn of the next packets."""
    began: int = 0
    """Sub turn at which the present iteration began."""
    seconds: float = 0.0
    is_over: bool = False
    ended: Ending = "done"
    reason: str = ""
    numbered: Annotated[list[str], append] = field(default_factory=list)
    actions: Annotated[list[Action], append] = field(default_factory=list)
    failures: Annotated[list[str], append] = field(default_factory=list)
    iterations: Annotated[list[Iteration], append] = field(default_factory=list)
    sources: Annotated[dict[str, Source], merge_sources] = field(default_factory=dict)
    learnings: Annotated[dict[str, Learning], merge_by_id] = field(default_factory=dict)
    memory: Annotated[dict[str, Observation], merge_by_id] = field(default_factory=dict)
    spending: Annotated[dict[str, Spent], merge_by_id] = field(default_factory=dict)
    findings: Annotated[dict[str, Finding], merge_findings] = field(default_factory=dict)
    outcomes: Annotated[dict[str, StepOutcome], merge_by_id] = field(default_factory=dict)

    @property
    def keys(self) -> list[str]:
        """The sources of what it was given, then its own; the first has the step's number 1."""
        return list(dict.fromkeys([*(one.source for one in self.task.known if one.source), *self.numbered]))

    @property
    def numbers(self) -> dict[str, int]:
        """The step's own numbers of sources, by key."""
        return {key: number for number, key in enumerate(self.keys, 1)}


class StepInput(TypedDict):
    """What a step starts from."""

    task: StepTask


class StepOutput(TypedDict):
    """What a step writes back: nothing but this."""

    findings: dict[str, Finding]
    outcomes: dict[str, StepOutcome]
    learnings: dict[str, Learning]
    memory: dict[str, Observation]
    sources: dict[str, Source]
    spending: dict[str, Spent]


def why(failed: Failed) -> str:
    """Why something that a step tried has failed, in words for the reader."""
    return TIME_OVER if failed.is_late else failed.reason


def noticed(
    state: StepState, kind: ObservationKind, text: str, score: float, learnings: tuple[str, ...] = ()
) -> Observation:
    """Something that the step notices now."""
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

"""The channels of one researcher, and what it writes back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any

from langchain_core.messages import AnyMessage
from typing_extensions import TypedDict

from ..channels import append, append_lists, delta, merge_by_id, merge_texts
from ..knowledge import Record, Source, merge_sources
from ..state import Action, Assignment, Ending, Finding, Spent, Task, merge_findings


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
        """The queries or addresses that it is given."""
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
    thoughts: Annotated[dict[str, str], delta(merge_texts, dict)] = field(default_factory=dict)
    ended: Ending | None = None
    reason: str = ""
    missing: tuple[str, ...] = ()
    failures: Annotated[list[str], delta(append, list)] = field(default_factory=list)
    findings: Annotated[dict[str, Finding], delta(merge_findings, dict)] = field(default_factory=dict)


class ResearcherInput(TypedDict):
    """What a researcher starts from."""

    task: Task


class ResearcherOutput(TypedDict):
    """What a researcher writes back: nothing but this."""

    findings: dict[str, Finding]
    sources: dict[str, Source]
    spending: dict[str, Spent]
    thoughts: dict[str, str]


def assignment_of(task: Task) -> dict[str, Any]:
    """The fields of a finding that come from its task."""
    return {**task.model_dump(include=set(Assignment.model_fields)), "task": task.text}

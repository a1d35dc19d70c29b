"""What happens when a node of a branch fails: the branch goes on with what it has, and the run with the branch."""

from __future__ import annotations

from typing import Any, Literal

from langchain_core.messages import ToolMessage
from langgraph.config import get_store, get_stream_writer
from langgraph.errors import NodeError
from langgraph.graph import END
from langgraph.types import Command

from deep_research.run.branch import ResearcherState
from deep_research.run.calls import in_order
from deep_research.run.errors import failure_of
from deep_research.run.packets import (
    Document,
    FindingCitedDocuments,
    FindingDelta,
    FindingStart,
    Packet,
    PacketError,
    Placement,
    SectionEnd,
    document,
    emit,
)
from deep_research.run.pages import pages_of
from deep_research.state import Ending, Finding, Task
from deep_research.tools.results import read_results

_HARMLESS = str.maketrans("[]【】［］`~<>", "()()()'-‹›")
"""What an excerpt may not hold: marks of citations, of code, and of tags."""
EXCERPT_CHARACTERS = 600
"""Characters of each result that stand in for a finding that could not be written."""


def write_what_there_is(state: ResearcherState, error: NodeError) -> Command[Literal["write_finding"]]:
    """A researcher that fails or runs out of time writes from its notes."""
    reason = _reason(error)
    emit(get_stream_writer(), _notice(state.task, reason))
    open_call = [ToolMessage(f"Not run: {reason}.", tool_call_id=state.request.id)] if state.request else []
    # A thought that broke off with the call has taken the step.
    update: dict[str, Any] = {"ended": "partial", "reason": reason, "request": None, "notes": open_call}
    update |= {"failures": [reason], "step": state.step + 1}
    return Command(update=update, goto="write_finding")


async def keep_what_there_is(state: ResearcherState, error: NodeError) -> Command[Any]:
    """A finding that cannot be written is replaced by excerpts of what was found."""
    notes = await pages_of(get_store(), state.task.question_id).fill_in(in_order(state.notes))
    results = [result for note in notes if note.type == "tool" for result in read_results(note.text)]
    by_number = {result["document"]: result["text"][:EXCERPT_CHARACTERS] for result in reversed(results)}
    excerpts = "\n".join(f"{_one_line(text)} [{number}]" for number, text in sorted(by_number.items()))
    finding = _finding(state.task, "partial" if excerpts else "failed", _reason(error)).model_copy(
        update={
            "text": excerpts,
            "sources": tuple(state.numbered),
            "actions": tuple(state.actions),
            "failures": (*state.failures, _reason(error)),
            "seconds": state.seconds,
        }
    )
    cited = [document(state.sources[state.numbered[number - 1]]) for number in sorted(by_number)]
    _tell(finding, state.task, cited)
    return Command(update={"findings": {state.task.id: finding}}, goto=END)


def record_failure(state: dict[str, Task], error: NodeError) -> Command[Literal["collect"]]:
    """A branch that breaks as a whole leaves a failed finding; its siblings are not touched."""
    task, reason = state["task"], _reason(error)
    finding = _finding(task, "failed", reason).model_copy(update={"failures": (reason,)})
    _tell(finding, task, [])
    return Command(update={"findings": {task.id: finding}}, goto="collect")


def _finding(task: Task, ended: Ending, reason: str) -> Finding:
    return Finding(
        id=task.id,
        question_id=task.question_id,
        task=task.text,
        cycle=task.cycle,
        position=task.position,
        text="",
        ended=ended,
        reason=reason,
        thought=task.thought,
    )


def _reason(error: NodeError) -> str:
    # After a kill between the failure and this handler, the error is what the saver made of it.
    return error.error if isinstance(error.error, str) else failure_of(error.error)


def _tell(finding: Finding, task: Task, cited: list[Document]) -> None:
    """Say what went wrong, and show the excerpts that stand for the finding."""
    notice = _notice(task, finding.reason)
    place, packets = notice.placement, list[Packet]([notice])
    if finding.text:
        packets += [FindingStart(placement=place), FindingDelta(placement=place, content=finding.text)]
        packets.append(FindingCitedDocuments(placement=place, cited_docs=cited))
    emit(get_stream_writer(), *packets, SectionEnd(placement=place))


def _notice(task: Task, reason: str) -> PacketError:
    place = Placement(turn_index=task.turn, tab_index=task.position)
    return PacketError(placement=place, message=f"A researcher did not finish: {reason}.")


def _one_line(text: str) -> str:
    return " ".join(text.translate(_HARMLESS).split())

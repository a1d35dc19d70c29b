"""If a finding could not be written, replaces it with excerpts of the results and the reason."""

from __future__ import annotations

from collections.abc import Iterator

from ..core.dialogue.transcripts import count_withheld, results_in_order
from ..core.events.call import document, researcher_failed, step_failed
from ..core.events.log import Emitter
from ..core.events.packets import (
    Document,
    FindingCitedDocuments,
    FindingDelta,
    FindingStart,
    Packet,
    Placement,
    SectionEnd,
    placement_of,
)
from ..core.records.branches import ResearcherState, StepTask, assignment_of
from ..core.records.research import Ending, Finding, Task
from ..core.store.pages import Pages
from ..tools.results import results_in
from .step_turn import emit_end

_EXCERPT_CHARACTERS = 600
"""Maximum characters of an excerpt."""
_HARMLESS = str.maketrans("[]【】［］`~<>", "()()()'-‹›")
"""Replaces characters that could form citations, code or tags in an excerpt."""


async def keep_excerpts(
    state: ResearcherState, pages: Pages, emitter: Emitter, reason: str, seconds: float
) -> Finding:
    """Emit and return a finding of excerpts from the notes; `reason`: why none was written;
    `seconds`: time spent."""
    results = results_in(await pages.fill_in(results_in_order(state.notes)))
    excerpts: dict[int, str] = {}
    for result in results:
        excerpts.setdefault(result["document"], result["text"][:_EXCERPT_CHARACTERS])
    numbers = sorted(excerpts)
    lines: list[str] = []
    for number in numbers:
        line = " ".join(excerpts[number].translate(_HARMLESS).split())
        lines.append(f"{line} [{number}]")
    ended: Ending = "partial" if lines else "failed"
    finding = _failed_finding(state.task, ended, reason).model_copy(
        update={
            "text": "\n".join(lines),
            "sources": tuple(state.numbered),
            "actions": tuple(state.actions),
            "failures": (*state.failures, reason),
            "withheld": count_withheld(state.notes),
            "seconds": seconds,
        }
    )
    keys = [state.numbered[number - 1] for number in numbers]
    cited = [document(state.sources[key]) for key in keys]
    _emit_failure(emitter, finding, state.task, cited)
    return finding


def failed_branch(task: Task, reason: str, emitter: Emitter) -> Finding:
    """Emit and return the finding of a researcher or step that failed as a whole."""
    finding = _failed_finding(task, "failed", reason)
    if isinstance(task, StepTask):
        emitter.emit(step_failed(placement_of(task), finding.reason))
        emit_end(emitter, finding, task)
    else:
        _emit_failure(emitter, finding, task, [])
    return finding


def _failed_finding(task: Task, ended: Ending, reason: str) -> Finding:
    """Return a finding without text for a task whose research failed for this reason."""
    return Finding(**assignment_of(task), text="", ended=ended, reason=reason, failures=(reason,))


def _emit_failure(emitter: Emitter, finding: Finding, task: Task, cited: list[Document]) -> None:
    """Emit that a researcher failed, and the excerpts that replace its finding."""
    placement = placement_of(task)
    emitter.emit(
        researcher_failed(placement, finding.reason), *finding_packets(placement, finding, cited)
    )


def finding_packets(
    placement: Placement, finding: Finding, cited: list[Document]
) -> Iterator[Packet]:
    """Yield the packets of a finding that no model streamed, and those that end it."""
    if finding.text:
        yield FindingStart(placement=placement)
        yield FindingDelta(placement=placement, content=finding.text)
        yield FindingCitedDocuments(placement=placement, cited_docs=cited)
    yield SectionEnd(placement=placement)

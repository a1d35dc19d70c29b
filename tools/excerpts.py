"""What stands in for a finding that could not be written: excerpts of what was found, and what went wrong."""

from __future__ import annotations

from collections.abc import Iterator

from ..core.records.research import Ending, Finding, Task
from ..core.run.branches import ResearcherState, assignment_of, place_of
from ..core.run.events.call import document, researcher_failed
from ..core.run.events.log import Emitter
from ..core.run.events.packets import (
    Document,
    FindingCitedDocuments,
    FindingDelta,
    FindingStart,
    Packet,
    Placement,
    SectionEnd,
)
from ..core.run.store.pages import Pages
from ..core.run.transcripts import count_withheld, results_in_order
from .results import results_in

EXCERPT_CHARACTERS = 600
"""Characters of each result that stand in for a finding that could not be written."""
_HARMLESS = str.maketrans("[]【】［］`~<>", "()()()'-‹›")
"""What an excerpt may not hold: marks of citations, of code, and of tags."""


async def keep_excerpts(state: ResearcherState, pages: Pages, emitter: Emitter, reason: str, seconds: float) -> Finding:
    """Return a finding of excerpts from the notes, and emit it; `seconds` are those that the research took."""
    results = results_in(await pages.fill_in(results_in_order(state.notes)))
    by_number = {result["document"]: result["text"][:EXCERPT_CHARACTERS] for result in reversed(results)}
    excerpts = "\n".join(f"{_one_line(text)} [{number}]" for number, text in sorted(by_number.items()))
    finding = failed_finding(state.task, "partial" if excerpts else "failed", reason).model_copy(
        update={
            "text": excerpts,
            "sources": tuple(state.numbered),
            "actions": tuple(state.actions),
            "failures": (*state.failures, reason),
            "withheld": count_withheld(state.notes),
            "seconds": seconds,
        }
    )
    cited = [document(state.sources[state.numbered[number - 1]]) for number in sorted(by_number)]
    emit_failure(emitter, finding, state.task, cited)
    return finding


def failed_finding(task: Task, ended: Ending, reason: str) -> Finding:
    """Return a finding without words."""
    return Finding(**assignment_of(task), text="", ended=ended, reason=reason, failures=(reason,))


def emit_failure(emitter: Emitter, finding: Finding, task: Task, cited: list[Document]) -> None:
    """Say what went wrong, and show the excerpts that stand for the finding."""
    emitter.emit(researcher_failed(place_of(task), finding.reason), *finding_packets(place_of(task), finding, cited))


def finding_packets(place: Placement, finding: Finding, cited: list[Document]) -> Iterator[Packet]:
    """Yield the packets of a finding that no model has written, and of its end."""
    if finding.text:
        yield FindingStart(placement=place)
        yield FindingDelta(placement=place, content=finding.text)
        yield FindingCitedDocuments(placement=place, cited_docs=cited)
    yield SectionEnd(placement=place)


def _one_line(text: str) -> str:
    return " ".join(text.translate(_HARMLESS).split())

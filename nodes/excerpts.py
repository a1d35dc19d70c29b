"""If a finding could not be written, replaces it with excerpts of the results and the reason."""

from __future__ import annotations

from ..core.dialogue.transcripts import count_withheld
from ..core.events.blocks import ResearcherPackets, StepPackets
from ..core.events.log import Emitter
from ..core.events.packets import (
    Placement,
)
from ..core.records.plan import StepTask
from ..core.records.research import Ending, Finding, Task
from ..core.records.sources import Source
from ..core.store.pages import Pages
from ..state import ResearcherState
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
    results = results_in(await pages.fill_in(state.ordered_notes))
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
    cited = [state.sources[key] for key in keys]
    _emit_failure(emitter, finding, state.task, cited)
    return finding


def failed_branch(task: Task, reason: str, emitter: Emitter) -> Finding:
    """Emit and return the finding of a researcher or step that failed as a whole."""
    finding = _failed_finding(task, "failed", reason)
    if isinstance(task, StepTask):
        emitter.emit(StepPackets(Placement.of(task)).failure(finding.reason))
        emit_end(emitter, finding, task)
    else:
        _emit_failure(emitter, finding, task, [])
    return finding


def _failed_finding(task: Task, ended: Ending, reason: str) -> Finding:
    """Return a finding without text for a task whose research failed for this reason."""
    return Finding(**task.assignment, text="", ended=ended, reason=reason, failures=(reason,))


def _emit_failure(emitter: Emitter, finding: Finding, task: Task, cited: list[Source]) -> None:
    """Emit that a researcher failed, and the excerpts that replace its finding."""
    packets = ResearcherPackets(Placement.of(task))
    emitter.emit(packets.failure(finding.reason), *packets.finding(finding.text, cited))

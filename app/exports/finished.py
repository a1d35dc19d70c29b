"""What every form of a finished report shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...evidence.memory.comparison import Compared
from ...evidence.memory.notes import notes_of
from ...knowledge import Source
from ...state import Report
from ...tools.disagreement import disagreement_of
from ..runs import Standing


class Finished(NamedTuple):
    """A report with all that belongs to it."""

    question: str
    """The question as asked."""
    date: str
    """When it was asked, in words."""
    language_code: str
    """Language of the report (ISO 639-1)."""
    report: Report
    cited: Sequence[Source]
    """Its sources in the order of their numbers."""
    notes: Sequence[str]
    """What a reader should know about the run, apart from what the audit lists."""
    contradictions: Sequence[Compared]
    """Claims of its sources that cannot both hold."""
    was_researched: bool
    """Whether any source was found at all."""


def finished_report(standing: Standing) -> Finished:
    """The report of a run that has one."""
    state = standing.state
    run, report = state.run, state.report
    assert run is not None and report is not None
    gaps = {f"Not found: {gap}" for gap in report.audit.open_gaps} if report.audit else set()
    notes = notes_of(state)
    return Finished(
        question=run.question,
        date=run.date,
        language_code=run.language_code,
        report=report,
        cited=[state.sources[key] for key in report.sources],
        notes=[note for note in notes if note not in gaps],
        contradictions=disagreement_of(state, report),
        was_researched=bool(state.sources),
    )

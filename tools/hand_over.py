"""Puts a finished report into the conversation."""

from __future__ import annotations

from langchain_core.messages import AIMessage

from ..audit import Draft
from ..evidence.citations.citing import without_unknown
from ..evidence.citations.document import write_document
from ..evidence.citations.labels import labels
from ..evidence.citations.sanitizing import sanitized
from ..evidence.memory.comparison import comparison_table
from ..evidence.memory.notes import notes_of
from ..run.conversation import NUMBERS, marked
from ..state import Report, ResearchState, Run
from .disagreement import disagreement_of


def report_message(state: ResearchState, report: Report) -> AIMessage:
    """The report as the user reads it; `state` has the run as it ends."""
    assert state.run is not None
    words, cited = labels(state.run.language_code), [state.sources[key] for key in report.sources]
    numbers = {key: number for number, key in enumerate(report.sources, 1)}
    table = comparison_table(disagreement_of(state, report), words, numbers)
    document = write_document(report, cited, notes_of(state), words, bool(state.sources), table)
    return marked(document, "report", **{NUMBERS: [source.number for source in cited]})


def unchecked(draft: Draft) -> Report:
    """A draft as the report."""
    return Report(text=sanitized(without_unknown(draft.text)), sources=draft.sources)


def ended(run: Run, *, has_gaps: bool, seconds: float) -> Run:
    """The run at its end, after so many further seconds."""
    status = "completed_with_gaps" if has_gaps else "completed"
    return run.model_copy(update={"active_seconds": run.active_seconds + seconds, "status": status})

"""Writes the report from the findings, streaming it with its citations resolved."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from langchain_core.messages import AnyMessage
from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from deep_research.evidence.comparison import comparison_table
from deep_research.evidence.document import write_document
from deep_research.evidence.notes import gaps_of, notes_of, open_gaps_of
from deep_research.evidence.seams import words_in
from deep_research.models.settings import settings_of
from deep_research.run.context import Context
from deep_research.run.conversation import marked
from deep_research.run.errors import NoReport
from deep_research.run.ledger import booked, owed
from deep_research.run.packets import NotesAdded
from deep_research.run.pages import pages_of
from deep_research.run.schedule import NOTHING_TO_THINK_OVER
from deep_research.run.transcripts import withheld
from deep_research.state import Finding, Report, ResearchState, Run, Spent
from deep_research.tools.disagreement import disagreement
from deep_research.tools.report_basis import left_out as left_out_of_basis
from deep_research.tools.report_teller import ReportTeller
from deep_research.tools.write_text import TextWriter


class WriteReportUpdate(TypedDict):
    """What `write_report` writes."""

    messages: list[AnyMessage]
    run: Run
    report: Report
    findings: dict[str, Finding]
    spending: dict[str, Spent]
    thoughts: dict[str, str]


async def write_report(state: ResearchState, runtime: Runtime[Context]) -> WriteReportUpdate:
    """Have the report written; a call that is cut off is continued, an empty one is made once more."""
    context, run = settings_of(runtime), state.run
    assert run is not None
    pages = pages_of(runtime.store, run.id)
    lost = await owed(pages, run.id)
    run = lost.settled(run)
    words = words_in(_texts(state))
    teller = ReportTeller(state.sources, runtime.stream_writer, state.progress.turn, run.active_seconds, words)
    writer = TextWriter(state, context, teller)
    async with booked(pages, run.id, teller.bill):
        cut = await writer.write()
        report = teller.finish()
        if not report.text:
            raise NoReport("The writer's model wrote no report. What was found is kept: resume the run.")
    refused = writer.refused
    left_out = withheld(state.findings, refused)
    findings = {**state.findings, **left_out}.values()
    run = _ended(state, run, report, findings, cut, refused).model_copy(
        update={"active_seconds": run.active_seconds + teller.bill.seconds}
    )
    notes = notes_of(run, findings, state.steps, state.memory.values())
    if notes:
        teller.tell(NotesAdded(placement=teller.placement, notes=notes))
    cited = [state.sources[key] for key in report.sources]
    table = comparison_table(disagreement(state))
    message = marked(write_document(report, cited, notes, bool(state.sources), table), "report")
    return WriteReportUpdate(
        messages=[message],
        run=run,
        report=report,
        findings=left_out,
        spending={**lost.new(state.spending), **teller.bill.costs},
        thoughts=teller.kept(run.id),
    )


def _texts(state: ResearchState) -> Iterator[str]:
    """What the report is about, in all its words."""
    yield from (finding.text for finding in state.findings.values())
    yield from (learning.text for learning in state.learnings.values())
    yield from (source.title for source in state.sources.values())
    yield from (message.text for message in state.messages)


def _ended(
    state: ResearchState, run: Run, report: Report, findings: Collection[Finding], cut: str, refused: Collection[str]
) -> Run:
    """The run with how it has ended: `cut` is what cut the report off, `refused` what its model could not be shown."""
    stop_reason = run.stop_reason or cut
    unshown = left_out_of_basis(state, refused) if state.steps else []
    has_gaps = bool(gaps_of(run, findings) or unshown or open_gaps_of(run, state.steps, state.memory.values()))
    has_gaps |= any(step.reason == NOTHING_TO_THINK_OVER for step in state.steps)
    is_whole = not has_gaps and not stop_reason and bool(report.sources)
    return run.model_copy(
        update={
            "stop_reason": stop_reason,
            "status": "completed" if is_whole else "completed_with_gaps",
            "notices": (*run.notices, *unshown),
        }
    )

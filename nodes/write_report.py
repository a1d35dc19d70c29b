"""Writes the report from the findings, streaming it with its citations resolved."""

from __future__ import annotations

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage
from langgraph.runtime import Runtime
from langgraph.types import StreamWriter
from typing_extensions import TypedDict

from deep_research.evidence.citations import CitationStream, Cited, Piece
from deep_research.evidence.document import write_document
from deep_research.evidence.hygiene import without_links
from deep_research.evidence.rendering import link_citations
from deep_research.evidence.shrink import cited_sentences, first_cited_sentence
from deep_research.models.ask import Request, ask_model
from deep_research.models.resolve import profile_of
from deep_research.prompts import render
from deep_research.run.calls import was_cut_off
from deep_research.run.context import Context, context_of
from deep_research.run.conversation import marked
from deep_research.run.errors import NoReport
from deep_research.run.packets import CitationInfo, MessageDelta, MessageStart, Placement, document, emit
from deep_research.run.transcripts import earlier_findings, fit, with_findings
from deep_research.state import Report, ResearchState, Run, Source, Spent

CUT_OFF = "the report was cut off at the output limit (report_tokens, max_continuations)"


class WriteReportUpdate(TypedDict):
    """What `write_report` writes."""

    messages: list[AnyMessage]
    run: Run
    report: Report
    spending: dict[str, Spent]


class ReportWriter:
    """Resolves the citations of the words that come in, passes them on and keeps the text."""

    def __init__(self, sources: dict[str, Source], writer: StreamWriter, placement: Placement) -> None:
        self.sources, self.writer, self.placement = sources, writer, placement
        self.citations = CitationStream({source.number: key for key, source in sources.items() if source.number})
        self.text = ""

    def __call__(self, words: str) -> None:
        """Take more words."""
        self._pass_on(self.citations.feed(words))

    def finish(self) -> Report:
        """No more words come; returns the report."""
        self._pass_on(self.citations.finish())
        text, invented = without_links(self.text.strip())
        return Report(text=text, sources=self.citations.cited, dropped_markers=self.citations.dropped + invented)

    def _pass_on(self, pieces: list[Piece]) -> None:
        for piece in pieces:
            if isinstance(piece, Cited):
                source = self.sources[piece.key]
                if piece.is_first:
                    info = CitationInfo(placement=self.placement, citation_number=piece.number, document_id=piece.key)
                    emit(self.writer, info)
                self.text += f"[{piece.number}]"
                words = link_citations(f"[{piece.number}]", {piece.number: source.location})
            else:
                self.text += piece.text
                words = piece.text
            emit(self.writer, MessageDelta(placement=self.placement, content=words))


async def write_report(state: ResearchState, runtime: Runtime[Context]) -> WriteReportUpdate:
    """Have the report written; a call that is cut off is continued."""
    context, run = context_of(runtime), state.run
    assert run is not None
    place = Placement(turn_index=state.progress.turn)
    numbered = sorted((source for source in state.sources.values() if source.number), key=lambda s: s.number)
    start = MessageStart(
        placement=place,
        final_documents=[document(source) for source in numbered],
        pre_answer_processing_seconds=run.active_seconds,
    )
    emit(runtime.stream_writer, start)
    writer = ReportWriter(state.sources, runtime.stream_writer, place)
    seconds, spending, was_cut = await _write(state, context, writer)
    report = writer.finish()
    if not report.text:
        raise NoReport("The writer's model wrote no report. What was found is kept: resume the run.")
    has_gaps = any(f.ended != "done" for f in state.findings.values() if f.question_id == run.id)
    stop_reason = run.stop_reason or (CUT_OFF if was_cut else "")
    run = run.model_copy(
        update={
            "active_seconds": run.active_seconds + seconds,
            "stop_reason": stop_reason,
            "status": "completed_with_gaps" if has_gaps or stop_reason or not report.sources else "completed",
        }
    )
    cited = [state.sources[key] for key in report.sources]
    message = marked(write_document(report, cited, _notes(run), bool(state.sources)), "report")
    return {"messages": [message], "run": run, "report": report, "spending": spending}


async def _write(state: ResearchState, context: Context, writer: ReportWriter) -> tuple[float, dict[str, Spent], bool]:
    seconds, spending, written = 0.0, dict[str, Spent](), ""
    for _ in range(context.limits.max_continuations + 1):
        reply = await ask_model(_request(state, context, written), context, writer)
        seconds, spending = seconds + reply.seconds, {**spending, **reply.spent}
        written += reply.message.text
        if not was_cut_off(reply.message):
            return seconds, spending, False
    return seconds, spending, True


def _request(state: ResearchState, context: Context, written: str) -> Request:
    run, limits = state.run, context.limits
    assert run is not None and state.plan is not None
    system = render("write_report", "system", date=run.date, language=run.language, instructions=context.instructions)
    reminder = render(
        "write_report",
        "reminder",
        is_continuation=bool(written),
        stop_reason=run.stop_reason,
        has_findings=any(finding.text for finding in state.findings.values()),
        assumptions=run.assumptions,
        plan=state.plan.text,
    )
    partial = [AIMessage(written)] if written else []
    progress = state.progress
    messages = [
        SystemMessage(system),
        *state.messages[: progress.opening or len(state.messages)],
        *earlier_findings(state.findings, run.id),
        *with_findings(state.transcript, state.findings),
        *(state.messages[progress.seen_messages :] if progress.opening else []),
        *partial,
        HumanMessage(reminder),
    ]
    room = profile_of("writer", context).window - limits.report_tokens
    return Request(
        "writer",
        fit(messages, room, (cited_sentences, first_cited_sentence)),
        max_tokens=limits.report_tokens,
        is_long=True,
    )


def _notes(run: Run) -> list[str]:
    unasked = "Nobody could be asked, so the question was taken as it stands. What stayed open:"
    notes = [f"{unasked} {assumption}" for assumption in run.assumptions]
    if run.stop_reason:
        notes.append(f"Research ended early: {run.stop_reason}.")
    return [*notes, *run.notices]

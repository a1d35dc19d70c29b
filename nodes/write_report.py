"""Writes the report from the findings, streaming it with its citations resolved."""

from __future__ import annotations

from collections.abc import Collection

from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langgraph.runtime import Runtime
from langgraph.types import StreamWriter
from typing_extensions import TypedDict, override

from deep_research.audit import Draft
from deep_research.evidence.citations import CitationStream, Cited, Piece
from deep_research.evidence.citing import renumbered
from deep_research.evidence.comparison import in_words
from deep_research.evidence.drafts.clean import clean_draft
from deep_research.evidence.notes import gaps_of, open_gaps_of
from deep_research.evidence.protected import settle_fences
from deep_research.evidence.rendering import link_citations
from deep_research.evidence.shrink import cited_sentences, first_cited_sentence
from deep_research.knowledge import Source
from deep_research.models.ask import ask_model
from deep_research.models.request import Request
from deep_research.models.settings import settings_of
from deep_research.prompts import render
from deep_research.run.calls import was_cut_off
from deep_research.run.context import Context
from deep_research.run.errors import DeepResearchError, NoReport
from deep_research.run.fencing import fence
from deep_research.run.ledger import booked, owed
from deep_research.run.packet import Placement, document
from deep_research.run.packets import CitationInfo, MessageDelta, MessageStart
from deep_research.run.pages import pages_of
from deep_research.run.schedule import NOTHING_TO_THINK_OVER, plan_text
from deep_research.run.telling import ProseTeller, Teller
from deep_research.run.transcripts import earlier_findings, with_findings, withheld
from deep_research.state import Finding, ResearchState, Run, Spent
from deep_research.tools.disagreement import disagreement
from deep_research.tools.report_basis import left_out as left_out_of_basis
from deep_research.tools.report_basis import report_basis

CUT_OFF = "the report was cut off at the output limit (report_tokens, max_continuations)"


class WriteReportUpdate(TypedDict):
    """What `write_report` writes."""

    run: Run
    draft: Draft
    findings: dict[str, Finding]
    spending: dict[str, Spent]
    thoughts: dict[str, str]


class ReportTeller(ProseTeller):
    """Resolves the citations of the words that come in, shows them and keeps the text."""

    def __init__(self, sources: dict[str, Source], writer: StreamWriter, turn: int, seconds: float) -> None:
        """Take the thread's sources, the turn, and the active seconds before the report."""
        super().__init__(writer, Placement(turn_index=turn))
        self.sources, self.seconds_before = sources, seconds
        self.citations = CitationStream({source.number: key for key, source in sources.items() if source.number})
        self.raw = ""
        """What the model wrote."""
        self.written = ""
        """The same as it was shown."""

    @override
    def start(self) -> MessageStart:
        numbered = sorted((source for source in self.sources.values() if source.number), key=lambda s: s.number)
        return MessageStart(
            placement=self.placement,
            final_documents=[document(source) for source in numbered],
            pre_answer_processing_seconds=self.seconds_before,
        )

    @override
    def pass_on(self, words: str) -> None:
        self.raw += words
        self._show(self.citations.feed(words))

    def finish(self) -> None:
        """No more words come."""
        self._show(self.citations.finish())

    def _show(self, pieces: list[Piece]) -> None:
        for piece in pieces:
            if isinstance(piece, Cited):
                source = self.sources[piece.key]
                if piece.is_first:
                    info = CitationInfo(placement=self.placement, citation_number=piece.number, document_id=piece.key)
                    self.tell(info)
                self.written += f"[{piece.number}]"
                words = link_citations(f"[{piece.number}]", {piece.number: source.location})
            else:
                self.written += piece.text
                words = piece.text
            self.tell(MessageDelta(placement=self.placement, content=words))


async def write_report(state: ResearchState, runtime: Runtime[Context]) -> WriteReportUpdate:
    """Have the report written; a call that is cut off is continued, an empty one is made once more."""
    context, run = settings_of(runtime), state.run
    assert run is not None
    pages = pages_of(runtime.store, run.id)
    lost = await owed(pages, run.id)
    run = lost.settled(run)
    teller = ReportTeller(state.sources, runtime.stream_writer, state.progress.turn, run.active_seconds)
    async with booked(pages, run.id, teller.bill):
        cut, refused = await _write(state, context, teller)
        teller.finish()
        if not teller.written.strip():
            raise NoReport("The writer's model wrote no report. What was found is kept: resume the run.")
    left_out = withheld(state.findings, refused)
    unshown = left_out_of_basis(state, refused) if state.steps else []
    run = run.model_copy(
        update={
            "active_seconds": run.active_seconds + teller.bill.seconds,
            "stop_reason": run.stop_reason or cut,
            "notices": (*run.notices, *unshown),
        }
    )
    return WriteReportUpdate(
        run=run,
        draft=_draft(state, run, teller, {**state.findings, **left_out}.values(), bool(unshown)),
        findings=left_out,
        spending={**lost.new(state.spending), **teller.bill.costs},
        thoughts=teller.kept(run.id),
    )


def _draft(
    state: ResearchState, run: Run, teller: ReportTeller, findings: Collection[Finding], is_any_unshown: bool
) -> Draft:
    """What was written; `is_any_unshown`: whether something of its basis could not be shown to its model."""
    numbered = {source.number: source for source in state.sources.values() if source.number}
    cleaned = clean_draft(settle_fences(teller.raw.strip()), numbered)
    text, sources = renumbered(cleaned.text, {number: source.key for number, source in numbered.items()})
    has_gaps = bool(gaps_of(run, findings) or open_gaps_of(run, state.steps, state.memory.values()))
    has_gaps |= is_any_unshown or bool(run.stop_reason) or not sources
    has_gaps |= any(step.reason == NOTHING_TO_THINK_OVER for step in state.steps)
    return Draft(
        text=text,
        sources=sources,
        streamed=teller.written,
        streamed_sources=teller.citations.cited,
        seconds_before=teller.seconds_before,
        removed_markers=cleaned.removed,
        orphans=cleaned.orphans,
        has_gaps=has_gaps,
    )


async def _write(state: ResearchState, context: Context, teller: Teller) -> tuple[str, set[str]]:
    """Have it written; returns what cut it off, and the findings that its model was refused to read (ids)."""
    written, refused = "", set[str]()
    continuations, was_empty = 0, False
    while True:
        try:
            reply = await ask_model(_request(state, context, written, was_empty, refused), context, teller)
        except DeepResearchError as error:
            if not written:
                raise
            # What was paid for is worth more than an error.
            return f"{CUT_OFF}, and going on with it failed: {str(error).rstrip('.')}", refused
        refused |= set(reply.refused)
        written = (written + reply.message.text).lstrip()
        if not written and not was_empty:
            was_empty = True
            continue
        was_cut = was_cut_off(reply.message)
        if not was_cut or continuations == context.limits.max_continuations:
            return CUT_OFF if was_cut else "", refused
        continuations += 1


def _request(
    state: ResearchState, context: Context, written: str, was_empty: bool, refused: Collection[str]
) -> Request:
    run, limits = state.run, context.limits
    assert run is not None and state.plan is not None
    findings = {**state.findings, **withheld(state.findings, refused)}
    pairs = disagreement(state)
    system = render("write_report", "system", date=run.date, language=run.language, instructions=context.instructions)
    reminder = render(
        "write_report",
        "reminder",
        is_continuation=bool(written),
        again=was_empty,
        stop_reason=run.stop_reason,
        has_findings=bool(state.learnings)
        if state.steps
        else any(finding.text and not finding.is_withheld for finding in findings.values()),
        assumptions=run.assumptions,
        # The plan may have been adapted since it was shown.
        plan=plan_text(state.steps) if state.steps else state.plan.text,
        framing=state.framing,
        contradictions=fence("\n".join(map(in_words, pairs))) if pairs else "",
    )
    partial = [AIMessage(written)] if written else []
    progress = state.progress
    messages = [
        SystemMessage(system),
        *state.messages[: progress.opening or len(state.messages)],
        *(report_basis(state, refused) if state.steps else earlier_findings(findings, run.id)),
        *with_findings(state.transcript, findings),
        *(state.messages[progress.seen_messages :] if progress.opening else []),
        *partial,
        HumanMessage(reminder),
    ]
    shorteners = (cited_sentences, first_cited_sentence)
    return Request("writer", run.id, messages, shorteners, max_tokens=limits.report_tokens, is_long=True)

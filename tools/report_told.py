"""What the listeners are told about a report, live and again: the draft, and what its check brought."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..audit import Draft
from ..evidence.citations.document import said_above
from ..evidence.citations.labels import labels
from ..evidence.citations.numbering import by_number
from ..evidence.citations.rendering import plain_citations
from ..evidence.citations.stream import Cited, Piece
from ..evidence.memory.notes import notes_of
from ..knowledge import Source
from ..run.activities import activity
from ..run.packet import Packet, Placement, final_document
from ..run.packets import CitationInfo, MessageDelta, MessageStart, NotesAdded
from ..run.report_packets import ReportAudited, ReportCitation, ReportRevised
from ..run.step_packets import Activity
from ..run.telling import place_key, stop_told
from ..state import Report, ResearchState


def draft_begun(sources: Iterable[Source], place: Placement, seconds_before: float) -> MessageStart:
    """That the draft begins, with all sources that it may cite."""
    documents = [final_document(source) for source in by_number(sources).values()]
    return MessageStart(placement=place, final_documents=documents, pre_answer_processing_seconds=seconds_before)


def piece_told(piece: Piece, place: Placement) -> Iterator[CitationInfo | MessageDelta]:
    """A piece of the draft; a citation that is the first of its source is announced."""
    if not isinstance(piece, Cited):
        yield MessageDelta(placement=place, content=piece.text)
        return
    if piece.is_first:
        yield CitationInfo(placement=place, citation_number=piece.number, document_id=piece.key)
    yield MessageDelta(placement=place, content=f"[{piece.number}]")


def draft_place(state: ResearchState) -> Placement:
    """Where the draft stands: behind the thought of its writer, if there was one."""
    assert state.run is not None
    place = Placement(turn_index=state.progress.turn)
    has_thought = bool(state.thoughts.get(place_key(state.run.id, place)))
    return Placement(turn_index=place.turn_index + has_thought)


def check_place(state: ResearchState) -> Placement:
    """Where the check of the report stands."""
    return Placement(turn_index=draft_place(state).turn_index + 1)


def check_begun(state: ResearchState) -> Activity:
    """That the report is being checked."""
    assert state.run is not None
    return activity("verify", state.run.question, check_place(state))


def report_told(state: ResearchState) -> Iterator[ReportRevised | NotesAdded | ReportAudited]:
    """The report as it stands in the end, where it is not the draft, with its notes and its account."""
    place, draft, report = check_place(state), state.draft, state.report
    assert draft is not None and report is not None
    if is_revised(draft, report):
        citations = [
            ReportCitation(citation_number=number, document_id=key) for number, key in enumerate(report.sources, 1)
        ]
        yield ReportRevised(placement=place, content=plain_citations(report.text), citations=citations)
    assert state.run is not None
    notes, words = notes_of(state), labels(state.run.language_code)
    above = said_above(report, words, was_researched=bool(state.sources))
    if notes or above:
        yield NotesAdded(placement=place, notes=notes, above=above)
    if report.audit:
        yield ReportAudited(placement=place, audit=report.audit)


def end_told(state: ResearchState, *, was_checked: bool) -> list[Packet]:
    """All that is told after the draft: what its check brought, and that the run is over."""
    assert state.run is not None
    told = list[Packet](report_told(state))
    last = check_place(state) if was_checked or told else draft_place(state)
    return [*told, stop_told(state.run, last.turn_index)]


def is_revised(draft: Draft, report: Report) -> bool:
    """Whether the report is another one than the one that was streamed."""
    return (report.text, report.sources) != (draft.streamed, draft.streamed_sources)

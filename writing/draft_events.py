"""Emits a report while it is written, and what its check brought."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from typing_extensions import override

from ..evidence.citations.citing import CitationStream, Cited, Piece, by_number
from ..evidence.citations.labels import labels
from ..evidence.citations.rendering import plain_citations, said_above
from ..evidence.memory.observations import notes_of
from ..evidence.text.continuation import Continuation
from ..evidence.text.similarity import RepetitionFilter
from ..records.report import Draft, Report
from ..records.sources import Source
from ..run.events.activities import activity
from ..run.events.call import ProseEvents, final_document, stop_packet
from ..run.events.log import Emitter
from ..run.events.packets import (
    Activity,
    CitationInfo,
    MessageDelta,
    MessageStart,
    NotesAdded,
    Packet,
    Placement,
    ReportAudited,
    ReportCitation,
    ReportRevised,
)
from ..state import ResearchState


def draft_start(sources: Iterable[Source], place: Placement, seconds_before: float) -> MessageStart:
    """Return the packet that begins the draft, with all sources that it may cite."""
    documents = [final_document(source) for source in by_number(sources).values()]
    return MessageStart(placement=place, final_documents=documents, pre_answer_processing_seconds=seconds_before)


def piece_packets(piece: Piece, place: Placement) -> Iterator[CitationInfo | MessageDelta]:
    """Return the packets of a piece of the draft; the first citation of a source is announced."""
    if not isinstance(piece, Cited):
        yield MessageDelta(placement=place, content=piece.text)
        return
    if piece.is_first:
        yield CitationInfo(placement=place, citation_number=piece.number, document_id=piece.key)
    yield MessageDelta(placement=place, content=f"[{piece.number}]")


def draft_place(state: ResearchState) -> Placement:
    """Return the placement of the draft."""
    return Placement(turn_index=state.progress.turn)


def check_place(state: ResearchState) -> Placement:
    """Return the placement of the check of the report."""
    return Placement(turn_index=draft_place(state).turn_index + 1)


def check_start(state: ResearchState) -> Activity:
    """Return the packet that begins the check of the report."""
    assert state.run is not None
    return activity("verify", state.run.question, check_place(state))


def report_packets(state: ResearchState) -> Iterator[ReportRevised | NotesAdded | ReportAudited]:
    """Return packets of the final report, if it is not the draft, and of its notes and its audit."""
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


def end_packets(state: ResearchState, *, was_checked: bool) -> list[Packet]:
    """Return all packets after the draft: those of its check, and the end of the run."""
    assert state.run is not None
    told = list[Packet](report_packets(state))
    last = check_place(state) if was_checked or told else draft_place(state)
    return [*told, stop_packet(state.run, last.turn_index)]


def is_revised(draft: Draft, report: Report) -> bool:
    """Whether the report is another one than the one that was streamed."""
    return (report.text, report.sources) != (draft.streamed, draft.streamed_sources)


class ReportEvents(ProseEvents):
    """Resolves the citations of the words that come in, shows them and keeps the text, however many calls it takes.

    Between two calls `settle` is called, so that what the next one repeats is not shown twice.
    """

    def __init__(
        self,
        sources: Mapping[str, Source],
        emitter: Emitter,
        turn: int,
        seconds: float,
        words: Collection[str],
    ) -> None:
        """Take the thread's sources, the turn, the active seconds before the report, and words of what it is about."""
        super().__init__(emitter, Placement(turn_index=turn))
        self.sources, self.seconds_before, self.words = sources, seconds, words
        keys = {number: source.key for number, source in by_number(sources.values()).items()}
        self.citations = CitationStream(keys)
        self.written = ""
        """The text as it was shown, without its links."""
        self.raw = ""
        """The text as the model wrote it, as far as it was shown."""
        self.draft = ""
        """The same, with all of the section that is being written."""
        self._heading = ""
        self._seam, self._unrepeated = Continuation("", words), None

    is_report = True
    _unrepeated: RepetitionFilter | None

    @override
    def start(self) -> MessageStart:
        return draft_start(self.sources.values(), self.placement, self.seconds_before)

    @override
    def pass_on(self, words: str) -> None:
        self._take(self._seam.feed(words))

    def settle(self) -> None:
        """End a call; what comes next continues the text."""
        self._take(self._seam.finish())
        self._seam = Continuation(self.draft, self.words)

    def begin_section(self, heading: str) -> None:
        """Begin a section with this heading, which is shown if it says anything that the text so far does not.

        Without a heading it goes on where the text so far ends.
        """
        breaks = len(self.raw) - len(self.raw.rstrip("\n"))
        gap = "\n" * max(0, 2 - breaks) if self.raw else ""
        self._heading = f"{gap}## {heading}\n\n" if heading else ""
        self._unrepeated = RepetitionFilter(self.raw)
        self.draft = self.raw + self._heading
        self._seam = Continuation(self.draft, self.words)

    def end_section(self, *, was_cut: bool) -> None:
        """End a section; of one that `was_cut` off, the last sentence is left out."""
        if self._unrepeated:
            self._keep(self._unrepeated.finish(was_cut=was_cut))
            self._unrepeated, self.draft = None, self.raw

    def finish(self) -> None:
        """Emit what is still held back of the report, at its end."""
        self._take(self._seam.finish())
        self.end_section(was_cut=False)
        self._show(self.citations.finish())

    def _take(self, words: str) -> None:
        self.draft += words
        self._keep(self._unrepeated.feed(words) if self._unrepeated else words)

    def _keep(self, words: str) -> None:
        if self._heading and words.strip():
            words, self._heading = self._heading + words.lstrip(), ""
        if words and not self._heading:
            self.raw += words
            self._show(self.citations.feed(words))

    def _show(self, pieces: list[Piece]) -> None:
        for piece in pieces:
            self.written += f"[{piece.number}]" if isinstance(piece, Cited) else piece.text
            self.emit(*piece_packets(piece, self.placement))

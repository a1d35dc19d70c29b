"""Shows a report while it is written, and keeps it."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from langgraph.types import StreamWriter
from typing_extensions import override

from deep_research.evidence.citations import CitationStream, Cited, Piece
from deep_research.evidence.rendering import link_citations
from deep_research.evidence.repeats import Unrepeated
from deep_research.evidence.seams import Seam
from deep_research.knowledge import Source
from deep_research.run.packet import Placement, document
from deep_research.run.packets import CitationInfo, MessageDelta, MessageStart
from deep_research.run.telling import ProseTeller


class ReportTeller(ProseTeller):
    """Resolves the citations of the words that come in, shows them and keeps the text, however many calls it takes.

    Between two calls `settle` is called, so that what the next one repeats is not shown twice.
    """

    def __init__(
        self,
        sources: Mapping[str, Source],
        writer: StreamWriter,
        turn: int,
        seconds: float,
        words: Collection[str],
    ) -> None:
        """Take the thread's sources, the turn, the active seconds before the report, and words of what it is about."""
        super().__init__(writer, Placement(turn_index=turn))
        self.sources, self.seconds_before, self.words = sources, seconds, words
        self.citations = CitationStream({source.number: key for key, source in sources.items() if source.number})
        self.written = ""
        """The text as it was shown, without its links."""
        self.raw = ""
        """The text as the model wrote it, as far as it was shown."""
        self.draft = ""
        """The same, with all of the section that is being written."""
        self._heading = ""
        self._seam, self._unrepeated = Seam("", words), None

    _unrepeated: Unrepeated | None

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
        self._take(self._seam.feed(words))

    def settle(self) -> None:
        """The call is over; what comes next continues the text."""
        self._take(self._seam.finish())
        self._seam = Seam(self.draft, self.words)

    def begin_section(self, heading: str) -> None:
        """What comes next is a section with this heading, if it says anything that the text so far does not.

        Without a heading it goes on where the text so far ends.
        """
        breaks = len(self.raw) - len(self.raw.rstrip("\n"))
        gap = "\n" * max(0, 2 - breaks) if self.raw else ""
        self._heading = f"{gap}## {heading}\n\n" if heading else ""
        self._unrepeated = Unrepeated(self.raw)
        self.draft = self.raw + self._heading
        self._seam = Seam(self.draft, self.words)

    def end_section(self, *, was_cut: bool) -> None:
        """The section is over; of one that `was_cut` off, the last sentence is left out."""
        if self._unrepeated:
            self._keep(self._unrepeated.finish(was_cut=was_cut))
            self._unrepeated, self.draft = None, self.raw

    def finish(self) -> None:
        """No more words come."""
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

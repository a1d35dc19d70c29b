"""Shows a report while it is written, and keeps it."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from langgraph.types import StreamWriter
from typing_extensions import override

from ..evidence.citations.numbering import by_number
from ..evidence.citations.stream import CitationStream, Cited, Piece
from ..evidence.text.repeats import Unrepeated
from ..evidence.text.seams import Seam
from ..knowledge import Source
from ..run.packet import Placement
from ..run.packets import MessageStart
from ..run.telling import ProseTeller
from .report_told import draft_begun, piece_told


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
        keys = {number: source.key for number, source in by_number(sources.values()).items()}
        self.citations = CitationStream(keys)
        self.written = ""
        """The text as it was shown, without its links."""
        self.raw = ""
        """The text as the model wrote it, as far as it was shown."""
        self.draft = ""
        """The same, with all of the section that is being written."""
        self._heading = ""
        self._seam, self._unrepeated = Seam("", words), None

    is_report = True
    _unrepeated: Unrepeated | None

    @override
    def start(self) -> MessageStart:
        return draft_begun(self.sources.values(), self.placement, self.seconds_before)

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
            self.written += f"[{piece.number}]" if isinstance(piece, Cited) else piece.text
            self.tell(*piece_told(piece, self.placement))

"""A whole text through a citation stream."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from deep_research.core.evidence.citations.citing import CitationStream, Piece, Text


class Renumbered(NamedTuple):
    """A whole text, its citations numbered in order of first use."""

    text: str
    """The text with bare markers `[n]`."""
    cited: tuple[str, ...]
    """Keys of the cited sources; the first has the number 1."""
    dropped: int
    """Numbers that named no source and were removed."""


def bare_text(pieces: Iterable[Piece]) -> str:
    """Join pieces to text with bare markers `[n]`."""
    return "".join(piece.text if isinstance(piece, Text) else f"[{piece.number}]" for piece in pieces)


def renumber(text: str, numbers: Mapping[int, str]) -> Renumbered:
    """Number the citations of a whole text in order of first use."""
    stream = CitationStream(numbers)
    pieces = stream.feed(text) + stream.finish()
    return Renumbered(bare_text(pieces), stream.cited, stream.dropped)

"""A whole text through a citation stream."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from deep_research.core.evidence.citations.citing import CitationStream, Piece, Text


class Streamed(NamedTuple):
    """A whole text as a stream gives it."""

    text: str
    """The text with bare markers `[n]`."""
    cited: Mapping[int, str]
    """Keys of the cited sources by their numbers."""
    dropped: int
    """Numbers that named no source and were removed."""


def bare_text(pieces: Iterable[Piece]) -> str:
    """Join pieces to text with bare markers `[n]`."""
    return "".join(piece.text if isinstance(piece, Text) else f"[{piece.number}]" for piece in pieces)


def streamed(text: str, numbers: Mapping[int, str]) -> Streamed:
    """Take a whole text through a stream."""
    stream = CitationStream(numbers)
    pieces = stream.feed(text) + stream.finish()
    return Streamed(bare_text(pieces), stream.cited, stream.dropped)

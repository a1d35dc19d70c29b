"""Reads what a text cites while it streams, changes it, and keeps its numbers in order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from .markers import Marker, Part
from .scanner import KnownMarkers, scan


class Text(NamedTuple):
    """Text as it was written."""

    text: str


class Cited(NamedTuple):
    """One citation in place of a marker, or of one number of its list."""

    number: int
    """The number that readers see, from 1 in order of first use."""
    key: str
    """The source that is cited."""
    is_first: bool
    """Whether the stream cites the source for the first time."""


Piece = Text | Cited


class CitationStream:
    """Cuts a streamed text into text and citations; the result does not depend on how the stream was cut.

    `numbers` says which source a number names. It is looked up as the stream goes, so it may grow meanwhile.
    """

    def __init__(self, numbers: Mapping[int, str]) -> None:
        self._numbers = numbers
        self._markers = KnownMarkers(numbers)
        self._display: dict[str, int] = {}

    @property
    def cited(self) -> tuple[str, ...]:
        """Keys of the sources cited so far; the first has the number 1."""
        return tuple(self._display)

    @property
    def dropped(self) -> int:
        """Numbers that named no source and were removed so far."""
        return self._markers.dropped

    def feed(self, text: str) -> list[Piece]:
        """Take the next piece of text and return what is certain now."""
        return self._pieces(self._markers.feed(text))

    def take(self, parts: Iterable[Part]) -> list[Piece]:
        """Take what was read already, in place of text that is still to be read."""
        return self._pieces(self._markers.take(parts))

    def finish(self) -> list[Piece]:
        """Return the rest, once."""
        return self._pieces(self._markers.finish())

    def _pieces(self, parts: Iterable[Part]) -> list[Piece]:
        pieces: list[Piece] = []
        for part in parts:
            for piece in self._citations(part) if isinstance(part, Marker) else [Text(part)]:
                _append(pieces, piece)
        return pieces

    def _citations(self, marker: Marker) -> list[Piece]:
        separators: dict[str, str] = {}
        for separator, number in zip(marker.separators, marker.numbers, strict=True):
            separators.setdefault(self._numbers[number], separator)
        pieces: list[Piece] = []
        for place, (key, separator) in enumerate(separators.items()):
            pieces += [Text(separator if place else ""), self._cite(key)]
        return pieces

    def _cite(self, key: str) -> Cited:
        is_first = key not in self._display
        return Cited(self._display.setdefault(key, len(self._display) + 1), key, is_first)


def _append(pieces: list[Piece], piece: Piece) -> None:
    last = pieces[-1] if pieces else None
    if isinstance(piece, Text) and isinstance(last, Text):
        pieces[-1] = Text(last.text + piece.text)
    elif piece != Text(""):
        pieces.append(piece)


def cited_numbers(text: str, known: Iterable[int]) -> tuple[int, ...]:
    """Return the known numbers that a text cites, in order of first appearance; the text stays as it is."""
    named = (number for part in scan(text) if isinstance(part, Marker) for number in part.numbers)
    allowed = set(known)
    return tuple(dict.fromkeys(number for number in named if number in allowed))


UNKNOWN = 0
"""The number in a draft of a citation that names no source; no source has it."""


class Edit(NamedTuple):
    """A piece of a text and what takes its place."""

    start: int
    end: int
    words: str


def with_edits(text: str, edits: Iterable[Edit]) -> str:
    """Return the text with all edits made; they must not overlap."""
    for edit in sorted(edits, reverse=True):
        text = text[: edit.start] + edit.words + text[edit.end :]
    return text


def end_of_words(raw: str) -> int:
    """Return where words can be added to a sentence: at its end, or in a table's row at the end of the last cell."""
    return len(raw[:-1].rstrip()) if raw.endswith("|") else len(raw)


def without_unknown(text: str) -> str:
    """Return the text without citations that name no source."""
    numbers = {number for part in scan(text) if isinstance(part, Marker) for number in part.numbers} - {UNKNOWN}
    markers = KnownMarkers(numbers)
    parts = [*markers.feed(text), *markers.finish()]
    return "".join(part if isinstance(part, str) else _written(part) for part in parts)


def _written(marker: Marker) -> str:
    return "".join(f"{gap}[{number}]" for gap, number in zip(marker.separators, marker.numbers, strict=True))


def numbered_draft(text: str, sources: Mapping[int, str]) -> tuple[str, tuple[str, ...]]:
    """Return a text numbered in order of first use, and the keys of the sources that it cites.

    `sources` are the keys by the numbers in the text. Numbers that are not among them are removed, but `[0]`, which
    stands for no source, stays.
    """
    stream, order = CitationStream({**sources, UNKNOWN: ""}), dict[str, int]()
    words = list[str]()
    for piece in [*stream.feed(text), *stream.finish()]:
        if not isinstance(piece, Cited):
            words.append(piece.text)
        else:
            number = order.setdefault(piece.key, len(order) + 1) if piece.key else UNKNOWN
            words.append(f"[{number}]")
    return "".join(words), tuple(order)

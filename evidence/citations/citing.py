"""Changes what a sentence cites, and puts the numbers of a changed text in order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from .markers import Marker
from .scanner import KnownMarkers, scan
from .stream import CitationStream, Cited

UNKNOWN = 0
"""Stands in a draft for what names no source; no source has this number."""


class Edit(NamedTuple):
    """A piece of a text and what takes its place."""

    start: int
    end: int
    words: str


def with_edits(text: str, edits: Iterable[Edit]) -> str:
    """The text with all of them; they do not overlap."""
    for edit in sorted(edits, reverse=True):
        text = text[: edit.start] + edit.words + text[edit.end :]
    return text


def end_of_words(raw: str) -> int:
    """Where words can be added to a sentence: at its end, but inside the last cell of a table's row."""
    return len(raw[:-1].rstrip()) if raw.endswith("|") else len(raw)


def without_unknown(text: str) -> str:
    """The text without what names no source."""
    numbers = {number for part in scan(text) if isinstance(part, Marker) for number in part.numbers} - {UNKNOWN}
    markers = KnownMarkers(numbers)
    parts = [*markers.feed(text), *markers.finish()]
    return "".join(part if isinstance(part, str) else _written(part) for part in parts)


def _written(marker: Marker) -> str:
    return "".join(f"{gap}[{number}]" for gap, number in zip(marker.separators, marker.numbers, strict=True))


def numbered_draft(text: str, sources: Mapping[int, str]) -> tuple[str, tuple[str, ...]]:
    """A text with its numbers in order of first use, and the keys of the sources that it cites.

    `sources` are the keys by the numbers in the text. Other numbers are taken off, but `[0]`, which names no source,
    stays.
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

"""Reads the citations in the text of a draft, in whatever form they are written."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from ..citing import UNKNOWN
from ..markers import CLOSERS, OPENERS, RANGE_SIGNS, Marker, MarkerLexer, Part
from .addresses import is_page
from .lists import Line
from .places import gathered
from .spans import NUMBERS, Span, spans

_FIRST_YEAR = 1000
_OPENER = re.compile(f"[{re.escape(OPENERS)}]")
_BRACKETS = str.maketrans(dict.fromkeys(OPENERS, "\\[") | dict.fromkeys(CLOSERS, "\\]"))
_FIRST_WIDE = "\u2e80"
"""Characters from here on are written without spaces between words."""


class Desk(Protocol):
    """Says which source is meant, and what becomes of what leads to none."""

    keeps_unknown: bool
    """Whether links to unknown places, images and bracketed years stay as they are; else only their words do."""

    def named(self, number: int, place: int) -> int:
        """The source that a number names in this line of the draft; `UNKNOWN` if it names none."""

    def linked(self, address: str, words: str) -> int:
        """The source at an address, whose link has these words; `UNKNOWN` if it is not known."""


@dataclass
class Reading:
    """The text of a draft as text and markers of sources, and what was met on the way."""

    parts: list[Part] = field(default_factory=list)
    removed: int = 0
    """Numbers that name nothing."""
    ranges: int = 0
    """Ranges such as `[1-3]` that were written out."""
    links: int = 0
    """Links and addresses in place of which, or behind whose words, there is a marker now."""


def read_citations(body: Iterable[Line], labels: Mapping[str, str], desk: Desk) -> Reading:
    """Cut the text of a draft into text and markers whose numbers are the desk's; what names no source is `UNKNOWN`.

    `labels` gives the addresses of links that are defined elsewhere. Code and tags stay as they are.
    """
    reading = Reading()
    for count, line in enumerate(body):
        if count:
            reading.parts.append("\n")
        if not line.is_code:
            _LineReader(reading, line.place, desk).read(spans(line.text, labels))
        elif line.text:
            reading.parts.append(line.text)
    reading.parts = _joined(reading.parts)
    return reading


def _joined(parts: Iterable[Part]) -> list[Part]:
    """The parts with neighbouring text as one."""
    joined: list[Part] = []
    texts: list[str] = []
    for part in parts:
        if isinstance(part, str):
            texts.append(part)
            continue
        if texts:
            joined.append("".join(texts))
            texts.clear()
        joined.append(part)
    if texts:
        joined.append("".join(texts))
    return joined


class _LineReader:
    def __init__(self, reading: Reading, place: int, desk: Desk) -> None:
        self._reading, self._place, self._desk = reading, place, desk
        self._parts: list[Part] = []
        self._lexer = MarkerLexer(is_foreign=True)
        self._depth = 0

    def read(self, line: list[Span]) -> None:
        """Read the pieces of a line."""
        for span in line:
            if span.kind == "text":
                self._text(span.text)
            elif span.kind == "link":
                self._link(span)
            elif span.kind == "address":
                self._address(span)
            elif span.kind == "image" and not self._desk.keeps_unknown:
                self._words(span.words)
            else:
                self._add(span.text)
        self._reading.parts += gathered(self._parts)

    def _text(self, text: str) -> None:
        start = 0
        while found := _OPENER.search(text, start):
            self._add(text[start : found.start()])
            start, read = found.start(), list[Part]()
            while start < len(text) and not (read and self._lexer.is_idle and text[start] not in OPENERS):
                read += self._lexer.feed(text[start])
                start += 1
            self._take(read + self._lexer.finish())
        self._add(text[start:])

    def _take(self, parts: list[Part]) -> None:
        for part in _joined(parts):
            if isinstance(part, Marker):
                self._marker(part)
            else:
                self._add(part)

    def _marker(self, marker: Marker) -> None:
        known = tuple(self._desk.named(number, self._place) for number in marker.numbers)
        is_year = bool(known) and not any(known) and min(marker.numbers) >= _FIRST_YEAR
        if not known or is_year:
            # It cites nothing, and may not look as if it did.
            self._add(marker.raw if is_year and self._desk.keeps_unknown else marker.raw.translate(_BRACKETS))
            return
        self._reading.removed += known.count(UNKNOWN)
        self._reading.ranges += any(char in marker.raw.partition("†")[0] for char in RANGE_SIGNS)
        self._cite(marker.raw, known)

    def _address(self, span: Span) -> None:
        source = self._desk.linked(span.address, "")
        if source == UNKNOWN and self._desk.keeps_unknown:
            self._add(span.text)
        else:
            self._reading.links += source != UNKNOWN
            self._cite("", (source,))

    def _link(self, span: Span) -> None:
        number = NUMBERS.fullmatch(span.words) or span.words.startswith("^")
        source = self._desk.linked(span.address, "" if number else span.words)
        if number and source == UNKNOWN and not is_page(span.address):
            self._text(f"[{span.words.strip('[]')}]")
        elif source == UNKNOWN and self._desk.keeps_unknown:
            self._add(span.text)
        else:
            self._reading.links += source != UNKNOWN
            if number:
                self._reading.removed += source == UNKNOWN
            else:
                self._words(span.words)
                self._part_words(source)
            if source or number:
                self._cite("", (source,))

    def _words(self, words: str) -> None:
        """Add the words of a link; an address among them says no more than the link."""
        for span in spans(words, {}):
            if span.kind == "text":
                self._text(span.text)
            elif span.kind != "address":
                self._add(span.words or span.text)

    def _part_words(self, source: int) -> None:
        last = self._parts[-1] if self._parts else " "
        if (
            source
            and isinstance(last, str)
            and not last[-1].isspace()
            and last[-1] < _FIRST_WIDE
            and last[-1] not in "([{|"
        ):
            self._add(" ")

    def _cite(self, raw: str, sources: tuple[int, ...]) -> None:
        self._parts.append(Marker(raw, sources, ("",) * len(sources), self._depth > 0))

    def _add(self, text: str) -> None:
        if not text:
            return
        self._depth += sum(map(text.count, OPENERS)) - sum(map(text.count, CLOSERS)) + text.count("`")
        self._parts.append(text)

"""Finds what cites in the text of a draft, in whatever form: markers, links and addresses."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol

from ..citing import UNKNOWN
from ..markers import CLOSERS, OPENERS, Marker, Part, fence_after
from .entries import WEB_ADDRESS, is_page, trimmed
from .lists import Line

_RANGE = "–—~～−-"
_OPEN, _CLOSE = f"[{re.escape(OPENERS)}]", f"[{re.escape(CLOSERS)}]"
_COUNTED = rf"\^?\d+(?: *[,，、;；{_RANGE}] *\^?\d+)*+(?:†[^{re.escape(OPENERS + CLOSERS)}]*)?"
_MARKER = re.compile(rf"{_OPEN}{_OPEN}{_COUNTED}{_CLOSE}{_CLOSE}|{_OPEN}{_COUNTED}{_CLOSE}")
_NUMBER = re.compile(r"(?P<before>[^\d†]*)(?P<digits>\d+)")
_WIDEST_RANGE = 40
_FIRST_YEAR = 1000
_LONGEST_NUMBER = 20
_PIECE = re.compile(
    r"(?P<kept>\\.|(?P<ticks>`++)(?:.*?(?<!`)(?P=ticks)(?!`))?)"
    r"|<(?P<angled>https?://[^\s<>]+)>|(?P<tag></?[a-z][^<>]*>|<!--[^<>]*-->)"
    r"|(?P<image>!?)\[(?P<words>(?:\\.|[^\[\]\\]|\[(?:\\.|[^\[\]\\])*+\])*+)\]"
    r"(?:\(\s*(?:<(?P<enclosed>[^<>\n]*)>|(?P<bare>[^\s()<>]*(?:\([^\s()<>]*\)[^\s()<>]*)*))"
    r"(?:\s+(?:\"[^\"\n]*\"|'[^'\n]*'|\([^()\n]*\)))?\s*\)|\[(?P<label>[^\[\]\n]{0,100})\])?"
    rf"|(?P<marker>{_MARKER.pattern})|{WEB_ADDRESS.pattern}",
    re.IGNORECASE,
)
_NUMBERS = re.compile(r"\[?\^?\d{1,3}(?:, ?\d{1,3})*\]?|\^.*")
"""The words of a link that is a citation."""
_LONGEST_LABEL = 100
_INERT = str.maketrans(dict.fromkeys(OPENERS, "\\[") | dict.fromkeys(CLOSERS, "\\]"))
_FIRST_WIDE = "\u2e80"
"""Characters from here on are written without spaces between words."""

_Kind = Literal["text", "kept", "marker", "link", "image", "address"]


class _Piece(NamedTuple):
    """A piece of a line; in what is `kept`, such as code, nothing changes."""

    kind: _Kind
    text: str
    address: str = ""
    words: str = ""


def _pieces(line: str, labels: Mapping[str, str]) -> Iterator[_Piece]:
    """Cut a line that is not in a code fence; `labels` gives the addresses of links that are defined elsewhere."""
    begin = start = 0
    while found := _PIECE.search(line, start):
        piece = _piece(line, found, labels)
        if piece is None:
            start = found.start() + 1
            continue
        if begin < found.start():
            yield _Piece("text", line[begin : found.start()])
        yield piece
        begin = start = found.start() + len(piece.text)
    if begin < len(line):
        yield _Piece("text", line[begin:])


def _piece(line: str, found: re.Match[str], labels: Mapping[str, str]) -> _Piece | None:
    if found["kept"] or found["tag"]:
        return _Piece("kept", found[0])
    if found["marker"]:
        return _Piece("marker", found[0])
    if found["words"] is None:
        address = found["angled"] or trimmed(found[0])
        return _Piece("address", found[0] if found["angled"] else address, address)
    address, words = found["enclosed"] or found["bare"] or "", found["words"]
    if found["image"]:
        return _Piece("image", found[0], address, words) if found["bare"] is not None or address else None
    # A remark in parentheses behind a bracket, such as a year, makes no link.
    if re.search(r"[/:.#]", address):
        return _Piece("link", found[0], address, words)
    if marker := _MARKER.match(line, found.start()):
        return _Piece("marker", marker[0])
    if address := labels.get((found["label"] or words).casefold(), "") if len(words) <= _LONGEST_LABEL else "":
        return _Piece("link", found[0], address, words)
    alone = line[found.start() : found.start("words") + len(words) + 1]
    address = labels.get(words.casefold(), "")
    return _Piece("link", alone, address, words) if address else None


class Resolver(Protocol):
    """Says which source is meant, and what becomes of what leads to none."""

    keeps_unknown: bool
    """Whether links to unknown places, images and bracketed years stay as they are; else only their words do."""

    def source_of(self, number: int, place: int) -> int:
        """Return the source that a number names in this line of the draft; `UNKNOWN` if it names none."""

    def source_at(self, address: str, words: str) -> int:
        """Return the source at an address, whose link has these words; `UNKNOWN` if it is not known."""


@dataclass
class Reading:
    """The text of a draft as text and markers of sources."""

    parts: list[Part] = field(default_factory=list)
    removed: int = 0
    """Numbers that name nothing."""
    links: int = 0
    """Links and addresses that became markers."""


def read_citations(body: Iterable[Line], labels: Mapping[str, str], resolver: Resolver) -> Reading:
    """Cut a draft into text and markers whose numbers are the resolver's; what names no source is `UNKNOWN`.

    `labels` gives the addresses of links that are defined elsewhere. Code and tags stay as they are.
    """
    reading = Reading()
    for count, line in enumerate(body):
        if count:
            reading.parts.append("\n")
        if line.is_code:
            reading.parts += [line.text] if line.text else []
        else:
            reading.parts += _LineReader(reading, line.place, labels, resolver).read(line.text)
    return reading


class _LineReader:
    def __init__(self, reading: Reading, place: int, labels: Mapping[str, str], resolver: Resolver) -> None:
        self._reading, self._place, self._labels, self._resolver = reading, place, labels, resolver
        self._parts: list[Part] = []

    def read(self, line: str) -> list[Part]:
        """Return the parts of a line."""
        for piece in _pieces(line, self._labels):
            if piece.kind == "marker":
                self._marker(piece.text)
            elif piece.kind == "link":
                self._link(piece)
            elif piece.kind == "address":
                self._address(piece)
            elif piece.kind == "image" and not self._resolver.keeps_unknown:
                self._words(piece.words)
            else:
                self._parts.append(piece.text)
        parts = _by_place(self._parts)
        if fence_after("", "".join(part for part in parts if isinstance(part, str))):
            # What was behind a citation at the beginning of the line opens no code.
            parts = [part if isinstance(part, Marker) else re.sub("(?=[`~]{3})", r"\\", part) for part in parts]
        return parts

    def _marker(self, raw: str) -> None:
        numbers = _numbers(raw)
        known = [self._resolver.source_of(number, self._place) for number in numbers]
        is_year = bool(known) and not any(known) and min(numbers) >= _FIRST_YEAR
        if not known or is_year:
            # It cites nothing, and may not look as if it did.
            self._parts.append(raw if is_year and self._resolver.keeps_unknown else raw.translate(_INERT))
            return
        self._reading.removed += known.count(UNKNOWN)
        self._cite(*known, raw=raw)

    def _address(self, piece: _Piece) -> None:
        source = self._resolver.source_at(piece.address, "")
        if source == UNKNOWN and self._resolver.keeps_unknown:
            self._parts.append(piece.text)
        else:
            self._reading.links += source != UNKNOWN
            self._cite(source)

    def _link(self, piece: _Piece) -> None:
        is_number = _NUMBERS.fullmatch(piece.words)
        source = self._resolver.source_at(piece.address, "" if is_number else piece.words)
        self._reading.links += source != UNKNOWN
        if is_number and source == UNKNOWN and not is_page(piece.address):
            self._words(f"[{piece.words.strip('[]')}]")
        elif source == UNKNOWN and self._resolver.keeps_unknown:
            self._parts.append(piece.text)
        elif is_number:
            self._reading.removed += source == UNKNOWN
            self._cite(source)
        else:
            self._words(piece.words)
            if source:
                self._space()
                self._cite(source)

    def _words(self, words: str) -> None:
        """Add the words of a link; an address among them says no more than the link."""
        for piece in _pieces(words, {}):
            if piece.kind == "marker":
                self._marker(piece.text)
            elif piece.kind != "address":
                self._parts.append(piece.words or piece.text)

    def _space(self) -> None:
        """Separate the words of a link from the citation that follows."""
        last = self._parts[-1] if self._parts else ""
        if isinstance(last, str) and last and last[-1] < _FIRST_WIDE and last[-1] not in "([{| \t":
            self._parts.append(" ")

    def _cite(self, *sources: int, raw: str = "") -> None:
        self._parts.append(Marker(raw, sources, ("",) * len(sources)))


def _numbers(raw: str) -> tuple[int, ...]:
    """Return the numbers of a marker with ranges written out; none if it reads like an interval, as `[0, 1]` does."""
    numbers: list[int] = []
    for found in _NUMBER.finditer(raw.partition("†")[0]):
        number = int(found["digits"][:_LONGEST_NUMBER])
        is_range = bool(numbers) and any(char in _RANGE for char in found["before"])
        first = numbers[-1] + 1 if is_range else number
        if not 0 < number < first + _WIDEST_RANGE or number < first - 1:
            return ()
        numbers += range(first, number + 1)
    return tuple(numbers)


_BETWEEN = re.compile(r"[ \u3000]?[,，、;；]?[ \u3000]?")
_OPENED = re.compile(r"(?<!\\)((?:\\\\)*)\\?[(（]$")
"""An opening parenthesis at the end, with the backslash that may belong to it."""


def _by_place(parts: Sequence[Part]) -> list[Part]:
    """Return the parts with one marker in each place, without parentheses around an address or around nothing."""
    places: list[Part] = []
    for part in parts:
        last = places[-1] if places else ""
        if isinstance(part, Marker):
            before = places[-2] if len(places) > 1 else ""
            if isinstance(last, Marker):
                places[-1] = _joined(last, "", part)
            elif isinstance(before, Marker) and _BETWEEN.fullmatch(last):
                places[-2:] = [_joined(before, last, part)]
            else:
                places.append(part)
        elif isinstance(last, str) and places:
            places[-1] = last + part
        elif part:
            places.append(part)
    return _without_parentheses(places)


def _joined(first: Marker, between: str, second: Marker) -> Marker:
    separators = (*first.separators, between, *second.separators[1:])
    return Marker(first.raw + second.raw, first.numbers + second.numbers, separators)


def _without_parentheses(places: list[Part]) -> list[Part]:
    bare = list(places)
    for place, part in enumerate(places):
        if not isinstance(part, Marker) or place + 1 == len(places):
            continue
        before, after = bare[place - 1] if place else "", bare[place + 1]
        opened = _OPENED.search(before) if isinstance(before, str) and not (part.raw and any(part.numbers)) else None
        if opened and isinstance(before, str) and isinstance(after, str) and after.startswith((")", "）")):
            bare[place - 1], bare[place + 1] = before[: opened.end(1)], after[1:]
        elif isinstance(after, str) and after.startswith("("):
            # Behind a marker, a parenthesis would make it a link.
            bare[place + 1] = f" {after}"
    return [part for part in bare if part]

"""Reads the citations in the text of a draft, in whatever form they are written."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Literal, NamedTuple, Protocol

from ..citing import UNKNOWN
from ..markers import CLOSERS, OPENERS, RANGE_SIGNS, Marker, MarkerLexer, Part, fence_after
from .addresses import WEB_ADDRESS, is_page, trimmed
from .lists import Line

Kind = Literal["text", "kept", "link", "image", "address"]

NUMBERS = re.compile(r"\[?\^?\d{1,3}(?:, ?\d{1,3})*\]?")
"""The words of a link that is a citation."""
_START = re.compile(r"\\.|`+|!?\[|<|https?://", re.IGNORECASE)
_TARGET = re.compile(
    r"\(\s*(?:<(?P<angled>[^<>\n]*)>|(?P<bare>[^\s()<>]*(?:\([^\s()<>]*\)[^\s()<>]*)*))"
    r"(?:\s+(?:\"[^\"\n]*\"|'[^'\n]*'|\([^()\n]*\)))?\s*\)"
)
_ANGLED = re.compile(r"<(?P<address>https?://[^\s<>]+)>", re.IGNORECASE)
_TAG = re.compile(r"</?[a-z][^<>]*>|<!--[^<>]*-->", re.IGNORECASE)
_REFERENCE = re.compile(r"\[(?P<label>[^\[\]\n]{0,100})\]")
_LONGEST_LABEL = 100


class Span(NamedTuple):
    """A piece of a line."""

    kind: Kind
    """`kept` is what nothing is changed in: code, tags, escaped characters."""
    text: str
    """How it is written."""
    address: str = ""
    """Where a link, an image or an address leads."""
    words: str = ""
    """The words of a link or an image."""


_Read = tuple[int, Span]
"""A piece, and where the next one begins."""


class _Line:
    """A line; its brackets are paired and its backticks found beforehand, so that nothing is looked for twice."""

    def __init__(self, text: str, labels: Mapping[str, str]) -> None:
        self._text, self._labels = text, labels
        self._closing = _pairs(text)
        self._ticks: dict[int, list[int]] = defaultdict(list)
        for run in reversed(list(re.finditer(r"`+", text))):
            self._ticks[len(run[0])].append(run.start())

    def pieces(self) -> Iterator[Span]:
        """The pieces in their order."""
        begin = start = 0
        while found := _START.search(self._text, start):
            read = self._piece(found)
            start = found.end()
            if read:
                if found.start() > begin:
                    yield Span("text", self._text[begin : found.start()])
                begin = start = read[0]
                yield read[1]
        if begin < len(self._text):
            yield Span("text", self._text[begin:])

    def _piece(self, found: re.Match[str]) -> _Read | None:
        """What begins here; none if it is but text."""
        mark = found[0]
        if mark.startswith("\\"):
            return found.end(), Span("kept", mark)
        if mark.startswith("`"):
            end = self._end_of_code(found)
            return end, Span("kept", self._text[found.start() : end])
        if mark == "<":
            return self._angled(found.start())
        if mark.endswith("["):
            return self._bracket(found.start(), found.end() - 1)
        whole = WEB_ADDRESS.match(self._text, found.start())
        address = trimmed(whole[0]) if whole else ""
        if len(address) <= len(mark):
            return found.end(), Span("kept", mark)
        return found.start() + len(address), Span("address", address, address)

    def _end_of_code(self, found: re.Match[str]) -> int:
        places = self._ticks[len(found[0])]
        while places and places[-1] <= found.start():
            places.pop()
        return places[-1] + len(found[0]) if places else found.end()

    def _angled(self, start: int) -> _Read:
        if angled := _ANGLED.match(self._text, start):
            return angled.end(), Span("address", angled[0], angled["address"])
        tag = _TAG.match(self._text, start)
        end = tag.end() if tag else start + 1
        return end, Span("kept", self._text[start:end])

    def _bracket(self, start: int, opened: int) -> _Read | None:
        close = self._closing.get(opened)
        if close is None:
            return None
        return self._with_target(start, opened, close) or self._with_name(opened, close)

    def _with_target(self, start: int, opened: int, close: int) -> _Read | None:
        target = _TARGET.match(self._text, close + 1)
        if not target:
            return None
        words, address = self._text[opened + 1 : close], target["angled"] or target["bare"] or ""
        kind: Kind = "link" if opened == start else "image"
        if kind == "link" and not re.search(r"[/:.#]", address):
            # A remark in parentheses behind a bracket, such as a year, makes no link.
            return None
        return target.end(), Span(kind, self._text[start : target.end()], address, words)

    def _with_name(self, opened: int, close: int) -> _Read | None:
        if not self._labels or close - opened > _LONGEST_LABEL:
            return None
        words, reference = self._text[opened + 1 : close], _REFERENCE.match(self._text, close + 1)
        if reference and (address := self._labels.get((reference["label"] or words).casefold())):
            return reference.end(), Span("link", self._text[opened : reference.end()], address, words)
        address = self._labels.get(words.casefold(), "")
        return (close + 1, Span("link", self._text[opened : close + 1], address, words)) if address else None


def spans(line: str, labels: Mapping[str, str]) -> list[Span]:
    """Cut a line that is not in a code fence; `labels` gives the addresses of links that are defined elsewhere."""
    return list(_Line(line, labels).pieces())


def _pairs(text: str) -> dict[int, int]:
    """Where the bracket that opens at a place is closed."""
    closing: dict[int, int] = {}
    opened: list[int] = []
    for found in re.finditer(r"\\.|[\[\]]", text):
        if found[0] == "[":
            opened.append(found.start())
        elif found[0] == "]" and opened:
            closing[opened.pop()] = found.start()
    return closing


_BETWEEN = re.compile(r"[ \u3000]?[,，、;；]?[ \u3000]?")
_OPENED = re.compile(r"(?<!\\)((?:\\\\)*)\\?[(（]$")
"""An opening parenthesis at the end, with the backslash that may belong to it."""
_CLOSING = (")", "）")


def gathered(parts: Sequence[Part]) -> list[Part]:
    """The parts of a line with one marker a place, and without the parentheses around an address or around nothing.

    A marker that is written has its text as `raw`; that of an address has none. Numbers below 1 name nothing.
    """
    places: list[Part] = []
    near: list[str | Marker] = []
    for part in _without_parentheses(parts):
        if isinstance(part, Marker) or (near and isinstance(near[-1], Marker) and _BETWEEN.fullmatch(part)):
            near.append(part)
        else:
            places += _place(near)
            near = []
            # Behind a marker, a parenthesis would make it a link.
            is_target = part.startswith("(") and bool(places) and isinstance(places[-1], Marker)
            places.append(f" {part}" if is_target else part)
    return _without_new_fence(places + _place(near))


def _place(near: Sequence[str | Marker]) -> list[Part]:
    """The markers of one place as one, and what stands behind them."""
    markers = [part for part in near if isinstance(part, Marker)]
    if not markers:
        return []
    separators: list[str] = []
    for before, part in zip(["", *near], near, strict=False):
        if isinstance(part, Marker):
            separators += [before if isinstance(before, str) else "", *part.separators[1:]]
    numbers = tuple(chain.from_iterable(marker.numbers for marker in markers))
    raw = "".join(marker.raw for marker in markers)
    place = Marker(raw, numbers, tuple(separators), markers[0].is_enclosed)
    return [place] if isinstance(near[-1], Marker) else [place, near[-1]]


def _without_new_fence(places: list[Part]) -> list[Part]:
    """The parts of a line that is no code fence, and does not become one by what is removed."""
    left = "".join(part for part in places if isinstance(part, str))
    if not fence_after("", left):
        return places
    sign = "`" if "```" in left else "~"
    return [part.replace(sign, f"\\{sign}") if isinstance(part, str) else part for part in places]


def _without_parentheses(parts: Sequence[Part]) -> list[Part]:
    bare = list(parts)
    for place, part in enumerate(bare):
        before, after = bare[place - 1 : place] or [""], bare[place + 1 : place + 2] or [""]
        if not isinstance(part, Marker) or not isinstance(before[0], str) or not isinstance(after[0], str):
            continue
        is_bare = not part.raw or not any(part.numbers)
        if is_bare and after[0].startswith(_CLOSING) and (opened := _OPENED.search(before[0])):
            bare[place - 1], bare[place + 1] = before[0][: opened.end(1)], after[0][1:]
    return [part for part in bare if part]


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

"""Cuts a line of Markdown into what may hold citations and what may not."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

from .addresses import WEB_ADDRESS, trimmed

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

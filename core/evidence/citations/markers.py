"""Citation markers (brackets around numbers) and code fences: their syntax, and a scanner for streamed Markdown."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Container, Iterable, Iterator
from contextlib import suppress
from functools import reduce
from typing import NamedTuple

OPENERS = "[【［"
"""The brackets that may open a citation marker."""
CLOSING_BRACKETS = "]】］"
TARGET = r"\(\s*<?(?P<{}>(?=[^\s()]*[/:.#])(?:\([^\s()]*\)|[^\s<>()])*)>?(?:\s+[\"'][^\"'\n]*[\"'])?\s*\)"
"""Pattern of a link target, to be given a group name; without any of `/ : . #` the text is a remark, such as a year."""
BEFORE_BLOCK = r"(?:[ \t>]|[-*+][ \t]|\d{1,9}[.)][ \t])*"
"""Pattern of white space, list marks and quotation marks before a block on its first line."""
_FENCE_OPENING = re.compile(BEFORE_BLOCK + r"(?:(?P<ticks>`{3,})[^`]*|(?P<tildes>~{3,}).*)")
_MARKDOWN_FENCE = re.compile(r"(?:`{3,}|~{3,})(?:markdown|md)\s*", re.IGNORECASE)
_FENCE_CLOSING = re.compile(r"[ \t>]*(`{3,}|~{3,})\s*")
_RANGE = re.compile(r"(\d{1,3})\s*[-–]\s*(\d{1,3})")
_LABEL = r"(?:\^|#|(?:sources?|documents?|docs?|references?|refs?|citations?|cite)\s*[:#]?\s*)?"
_FOREIGN = re.compile(
    rf"[\[【［]{{1,2}}{_LABEL}(?P<numbers>\d{{1,3}}(?:\s*[,;–-]\s*\d{{1,3}})*)(?:[:†][^\[\]【】\n]{{0,40}})?"
    r"(?:\]\]\(https?://[^\s()]*\)|[\]】］]{1,2}(?![:(]))|(?<=[\s.,;:!?)\"”’»])(?P<raised>[¹²³⁰⁴-⁹]{1,3})(?!\w)",
    re.IGNORECASE,
)
"""Other marker forms that models write: `【1†source】`, `[^1]`, `[[1]](url)`, `[Source 1]`, `[1-2]`, `¹`."""
_TAG = re.compile(r"</?(?:p|sup)>")
"""HTML tags that models write and that are removed; other tags are left alone."""
_LINE_PARTS = re.compile(r"(`+[^`]*`+)")
_MOST_IN_RANGE = 10
"""Maximum number of sources in a marker with a range; a wider range, such as [1-90], is not a citation."""
_OPENER, _CLOSER = (f"[{re.escape(signs)}]" for signs in (OPENERS, CLOSING_BRACKETS))
_NUMBERS = r"\d++(?:, ?\d++)*+"
_MARKER = re.compile(rf"(?P<openers>{_OPENER}{{1,5}}+)(?P<numbers>{_NUMBERS})(?P<closers>{_CLOSER}{{1,5}}+)")
_BEGUN_MARKER = re.compile(rf"{_OPENER}{{1,5}}+(?:{_NUMBERS},? ?)?")
_NUMBER = re.compile(r"(,? ?)(\d+)")
_LONGEST_NUMBER = 20
"""Maximum number of digits of a source number; Python refuses to parse very long numbers."""
_UNKNOWN_NUMBER = -1
"""Stands for a longer number, which names no source."""
_TEXT = re.compile(rf"[^`\\{re.escape(OPENERS + CLOSING_BRACKETS)}]+")
_ESCAPED = re.compile(r"\\[^`]?")
_BACKTICKS = re.compile(r"`+")
_BRACKETS = re.compile(reduce(lambda inner, _: rf"\[(?:\\.|[^\[\]\\]|{inner})*+\]", range(4), "(?!)"))
"""Link text, with nested brackets."""
_TARGET = re.compile(TARGET.format("target"))
_BEGUN_TARGET = re.compile(r"\(\s*<?(?:\([^\s()]*\)|[^\s<>()])*(?:\([^\s()]*|>?(?:\s+(?:[\"'][^\"'\n]*[\"']?)?\s*)?)")
_HORIZON = 4000
"""Maximum length of inline code and links, in characters, so that text is not buffered for long."""
_FENCE = re.compile(BEFORE_BLOCK + "(?:```|~~~)")
_FENCE_CHARACTERS = 200
"""Number of characters at the start of a line to check for a code fence."""


class Marker(NamedTuple):
    """A citation marker in a text, such as `[1]` or `[1, 2]`."""

    raw: str
    """The marker as written."""
    numbers: tuple[int, ...]
    """The source numbers in it."""
    separators: tuple[str, ...]
    """The text before each number: nothing, a comma, or a comma and a space."""
    is_enclosed: bool = False
    """Whether it follows an unclosed bracket or backtick on its line."""


ScannedPart = str | Marker
"""A part of a text that was searched for markers: a marker, or the text between two."""


def fence_after(fence: str, line: str) -> str:
    """Return the fence that opened the code block in which a line ends, given that before the line; empty if none."""
    if not fence:
        opening = _FENCE_OPENING.fullmatch(line)
        return (opening["ticks"] or opening["tildes"]) if opening else ""
    closing = _FENCE_CLOSING.fullmatch(line)
    return "" if closing and closing[1].startswith(fence) else fence


def code_lines(lines: Iterable[str]) -> list[bool]:
    """Return for each line whether it belongs to a fenced code block; the fences do."""
    fence, inside = "", list[bool]()
    for line in lines:
        after = fence_after(fence, line)
        inside.append(bool(fence or after))
        fence = after
    return inside


def plain_prose(text: str, known: Container[int]) -> str:
    """Return a model's text without a code fence, JSON or HTML around it, and with all its citations as `[n]`.

    Only markers outside code are changed, and only if one of their numbers is `known`.
    """

    def marker(found: re.Match[str]) -> str:
        numbers = list[int]()
        for part in re.split("[,;]", found["numbers"] or unicodedata.normalize("NFKC", found["raised"])):
            span = _RANGE.fullmatch(part.strip())
            numbers += range(int(span[1]), int(span[2]) + 1) if span else [int(part)]
        is_marker = len(numbers) <= _MOST_IN_RANGE and any(number in known for number in numbers)
        return f"[{', '.join(map(str, numbers))}]" if is_marker else found[0]

    lines = _unwrapped(text).split("\n")
    for number, (line, is_code) in enumerate(zip(lines, code_lines(lines), strict=True)):
        if not is_code:
            parts = _LINE_PARTS.split(line)
            plain = (part if part[:1] == "`" else _FOREIGN.sub(marker, _TAG.sub("", part)) for part in parts)
            lines[number] = "".join(plain)
    return "\n".join(lines)


def _unwrapped(text: str) -> str:
    """Return a model's answer without a code fence around all of it.

    A Markdown fence is also removed with the introduction before it, and so is a JSON object around a single text.
    """
    with suppress(ValueError, RecursionError):
        whole = json.loads(text)
        if isinstance(whole, dict) and len(whole) == 1 and isinstance(only := next(iter(whole.values())), str):
            return only
    lines = text.rstrip().split("\n")
    labelled = (number for number, line in enumerate(lines) if _MARKDOWN_FENCE.fullmatch(line))
    first = next(labelled, 0)
    if any(code_lines(lines[:first])):
        return text
    fence, inner = fence_after("", lines[first]), lines[first + 1 : -1]
    if not fence or not inner or lines[first].strip(" `~").lower() not in ("", "markdown", "md"):
        return text
    is_all = all(fence_after(fence, line) for line in inner) and not fence_after(fence, lines[-1])
    return "\n".join(inner) if is_all else text


def settle_fences(text: str) -> str:
    """Return a text without the marks of unclosed code fences, so that the end of a truncated text is not code."""
    lines = text.split("\n")
    while True:
        fence, opened = "", 0
        for number, line in enumerate(lines):
            after = fence_after(fence, line)
            opened = number if after and not fence else opened
            fence = after
        if not fence:
            return "\n".join(lines)
        lines[opened] = lines[opened].replace("```", "").replace("~~~", "").strip("`~ ")


class _Undecided(Exception):
    """More text is needed to know what the buffered text is."""


class MarkerScanner:
    """Splits streamed Markdown into text and citation markers; the result does not depend on the chunk boundaries.

    Plain text is passed on at once. After a bracket or backtick, a line is buffered until it is certain whether code or
    a link begins there; both must end on the line on which they begin.
    """

    def __init__(self) -> None:
        self._line: list[str] = []
        """The chunks of the current line."""
        self._start = ""
        """Its first characters, which may be a code fence."""
        self._held = ""
        """Its end that is still buffered."""
        self._fence = ""
        """The opening mark of the code block that it is in; empty outside code blocks."""
        self._open = 0
        """Number of its unclosed brackets and backticks that begin neither code nor a link."""

    def feed(self, text: str) -> list[ScannedPart]:
        """Process the next chunk; return the parts that are complete."""
        parts = list[ScannedPart]()
        *ended, last = text.split("\n")
        for line in ended:
            self._take(line)
            parts += [*self._end_line(), "\n"]
        self._take(last)
        if self._fence or not _FENCE.match(self._start):
            parts += self._read(is_ended=False)
        return parts

    def finish(self) -> list[ScannedPart]:
        """Return the remaining parts; call once, at the end."""
        return self._end_line()

    def _take(self, piece: str) -> None:
        self._held += piece
        self._start += piece[: _FENCE_CHARACTERS - len(self._start)]
        self._line.append(piece)

    def _end_line(self) -> list[ScannedPart]:
        fence = fence_after(self._fence, "".join(self._line))
        self._fence = self._fence or fence
        parts = [*self._read(is_ended=True)]
        self._line, self._start, self._fence, self._open = [], "", fence, 0
        return parts

    def _read(self, *, is_ended: bool) -> Iterator[ScannedPart]:
        """Yield the complete parts of the buffered text; all of it if the line has ended."""
        text, position = self._held, 0
        try:
            while position < len(text):
                ahead = text[position : position + _HORIZON]
                part, size = self._part(ahead, is_ended or len(text) - position > _HORIZON)
                yield part
                position += size
        except _Undecided:
            pass
        self._held = text[position:]

    def _part(self, text: str, is_ended: bool) -> tuple[ScannedPart, int]:
        """Return the first part of a text, and its length; raises `_Undecided` if they depend on later text."""
        if found := _TEXT.match(text):
            return found[0], found.end()
        if self._fence:
            return text, len(text)
        if found := _ESCAPED.match(text):
            return found[0], _decided(found.end(), len(found[0]) == 2 or is_ended)
        if found := _BACKTICKS.match(text):
            return self._code(text, found.end(), is_ended)
        if text[0] in CLOSING_BRACKETS:
            self._open -= self._open > 0
            return text[0], 1
        if found := _MARKER.match(text):
            size = found.end("numbers") + len(found["openers"])
            if size <= found.end():
                end = _link_end(text, size, is_ended)
                return (text[:end], end) if end else (_marker(text[:size], is_enclosed=self._open > 0), size)
            _decided(size, is_ended or found.end() < len(text))
        elif not is_ended and _BEGUN_MARKER.fullmatch(text):
            raise _Undecided
        return self._bracket(text, is_ended)

    def _code(self, text: str, size: int, is_ended: bool) -> tuple[ScannedPart, int]:
        """Return inline code, or `size` backticks that do not begin code."""
        _decided(size, is_ended or size < len(text))
        if closing := re.compile(rf"(?<!`)`{{{size}}}(?!`)").search(text, size):
            return text[: closing.end()], _decided(closing.end(), is_ended or closing.end() < len(text))
        # First, since this is called again with more text until it is decided.
        _decided(size, is_ended)
        self._open += 1
        return text[:size], size

    def _bracket(self, text: str, is_ended: bool) -> tuple[ScannedPart, int]:
        """Return a link, or a bracket that does not begin a link."""
        words = _BRACKETS.match(text)
        if text[0] == "[":
            _decided(1, is_ended or words is not None)
        end = _link_end(text, words.end(), is_ended) if words else 0
        if end:
            return text[:end], end
        self._open += 1
        return text[0], 1


def _link_end(text: str, start: int, is_ended: bool) -> int:
    """Return the end of the link target that begins at `start`; 0 if none does. Raises `_Undecided`."""
    _decided(start, is_ended or start < len(text))
    target = _TARGET.match(text, start)
    return target.end() if target else _decided(0, is_ended or not _BEGUN_TARGET.fullmatch(text, start))


def _decided(size: int, is_decided: bool) -> int:
    """Return the size if it is certain; otherwise raise `_Undecided`."""
    if not is_decided:
        raise _Undecided
    return size


def _marker(raw: str, *, is_enclosed: bool) -> Marker:
    pairs = _NUMBER.findall(raw)
    # Python refuses to parse very long numbers; no source number is that long.
    numbers = (int(digits) if len(digits) <= _LONGEST_NUMBER else _UNKNOWN_NUMBER for _, digits in pairs)
    return Marker(raw, tuple(numbers), tuple(separator for separator, _ in pairs), is_enclosed)


def scan(text: str) -> list[ScannedPart]:
    """Split a whole text into the citation markers and the text between them."""
    scanner = MarkerScanner()
    return scanner.feed(text) + scanner.finish()


def marker_numbers(text: str) -> tuple[int, ...]:
    """Return the numbers in all markers of a text, in order, including repeats."""
    return tuple(number for part in scan(text) if isinstance(part, Marker) for number in part.numbers)


def replace_markers(text: str, sign: str) -> str:
    """Return a text with `sign` in place of each marker."""
    return "".join(part if isinstance(part, str) else sign for part in scan(text))


class KnownMarkers:
    """Splits streamed Markdown into text and citation markers, and removes numbers that are not known.

    A space before a removed marker is removed too, so a space is buffered until it is clear what follows.
    """

    def __init__(self, known: Container[int]) -> None:
        self.dropped = 0
        """How many numbers were removed so far."""
        self._known = known
        self._scanner = MarkerScanner()
        self._parts: list[ScannedPart] = []
        self._space = ""
        """The buffered space; empty if there is none."""
        self._is_line_start = True
        self._is_after_removed = False
        """Whether a marker was removed since the last part."""

    def feed(self, text: str) -> list[ScannedPart]:
        """Process the next chunk; return the parts that later text can no longer change."""
        return self._take(self._scanner.feed(text))

    def finish(self) -> list[ScannedPart]:
        """Return the remaining parts; call once, at the end."""
        rest = self._take(self._scanner.finish())
        space, self._space = self._space, ""
        return [*rest, space] if space and not self._is_after_removed else rest

    def _take(self, parts: Iterable[ScannedPart]) -> list[ScannedPart]:
        for part in parts:
            if isinstance(part, str):
                self._add_text(part)
                continue
            pairs = [pair for pair in zip(part.separators, part.numbers, strict=True) if pair[1] in self._known]
            self.dropped += len(part.numbers) - len(pairs)
            if pairs:
                separators, numbers = zip(*pairs, strict=True)
                self._parts += [self._space, Marker(part.raw, numbers, separators)]
                self._space, self._is_line_start, self._is_after_removed = "", False, False
            elif part.is_enclosed:
                # Text left in brackets or backticks must not become a marker or code.
                self._add_text(" ")
            else:
                self._is_after_removed = True
        known, self._parts = self._parts, []
        return known

    def _add_text(self, text: str) -> None:
        if self._is_after_removed:
            self._is_after_removed = False
            if text[0] in "(`" and not self._is_line_start:
                # Without the space, this text could form a link or code with the text before the removed marker.
                self._space = " "
            elif not self._space:
                text = text.removeprefix(" ") if self._is_line_start else text
            elif not text[0].isalnum():
                self._space = ""
        text = self._space + text
        self._space = " " if text.endswith(" ") else ""
        text = text.removesuffix(" ")
        if text:
            self._parts.append(text)
            self._is_line_start = text.endswith("\n")

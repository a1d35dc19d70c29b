"""Citation markers (brackets around numbers), marks of footnotes and code fences: their syntax, and
a scanner for streamed Markdown."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import NamedTuple

OPENERS = "[【［"
"""The brackets that may open a citation marker."""
CLOSING_BRACKETS = "]】］"
INERT = str.maketrans(dict.fromkeys(OPENERS, "\\[") | dict.fromkeys(CLOSING_BRACKETS, "\\]"))
"""Table for `str.translate` that escapes all brackets, so that they form no marker."""
TARGET = (
    r"\(\s*<?(?P<{}>(?=[^\s()]*[/:.#])(?:\([^\s()]*\)|[^\s<>()])*)>?"
    r"(?:\s+[\"'][^\"'\n]*[\"'])?\s*\)"
)
"""Pattern of a link target, to be given a group name; without any of `/ : . #` the text is a
remark, such as a year."""
BEFORE_BLOCK = r"(?:[ \t>]|[-*+][ \t]|\d{1,9}[.)][ \t])*"
"""Pattern of white space, list marks and quotation marks before a block on its first line."""
_NOTE_LABEL = r"\[\^(?P<{}>[^\]\s^]{{1,60}})\]"
NOTE_REFERENCE = re.compile(
    rf"(?<=[^\s\\]){_NOTE_LABEL.format('label')}|(?<!\\){_NOTE_LABEL.format('first')}(?!:)"
)
"""A reference to a footnote; its label is in one of the two groups."""
BEFORE_NOTE = r"\\?\[\^[^\]\s^]{1,60}\]:\s+"
"""Pattern of the label before the text of a footnote."""
_SETTLED_LABEL = re.compile(r"^\\\[\^(?P<label>[a-z]+)\]:(?= )", re.MULTILINE)
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
"""Other marker forms that models write.

They are `【1†source】`, `[^1]`, `[[1]](url)`, `[Source 1]`, `[1-2]` and `¹`.
"""
_TAG = re.compile(r"</?(?:p|sup)>")
"""HTML tags that models write and that are removed; other tags are left alone."""
LINE_PARTS = re.compile(r"(`+[^`]*`+)")
"""Inline code in a line, for `split`."""
_MOST_IN_RANGE = 10
"""Maximum number of sources in a marker with a range; a wider range, such as [1-90], is not a
citation."""
_OPENER = f"[{re.escape(OPENERS)}]"
_CLOSER = f"[{re.escape(CLOSING_BRACKETS)}]"
_NUMBERS = r"\d++(?:, ?\d++)*+"
_MARKER = re.compile(
    rf"(?P<openers>{_OPENER}{{1,5}}+)(?P<numbers>{_NUMBERS})(?P<closers>{_CLOSER}{{1,5}}+)"
)
_BEGUN_MARKER = re.compile(rf"{_OPENER}{{1,5}}+(?:{_NUMBERS},? ?)?")
_NUMBER = re.compile(r"(,? ?)(\d+)")
_JOINT = re.compile(r"[ \t]*[,;]?[ \t]*")
"""Text that joins two markers."""
_LONGEST_NUMBER = 20
"""Maximum number of digits of a source number; Python refuses to parse very long numbers."""
_UNKNOWN_NUMBER = -1
"""Stands for a longer number, which names no source."""
_TEXT = re.compile(rf"[^`\\{re.escape(OPENERS + CLOSING_BRACKETS)}]+")
_ESCAPED = re.compile(r"\\[^`]?")
_BACKTICKS = re.compile(r"`+")


def _nested_brackets(depth: int) -> str:
    pattern = "(?!)"
    for _ in range(depth):
        pattern = rf"\[(?:\\.|[^\[\]\\]|{pattern})*+\]"
    return pattern


_CALC = r"calc(?:ulation)?\.? ?#?"
_CALCULATION = re.compile(rf"\[{_CALC}\d{{1,4}}(?:, ?(?:{_CALC})?\d{{1,4}})*\]", re.IGNORECASE)
"""A citation of calculations, such as `[calc 2]` or `[calc 2, 3]`."""
_WITH_SOURCES = re.compile(
    rf"\[(?P<sources>\d{{1,4}}(?:, ?\d{{1,4}})*), ?(?P<rest>{_CALC}\d{{1,4}}[^\[\]\n]*)\]",
    re.IGNORECASE,
)
"""A citation of sources and calculations in one bracket."""
_BRACKETS = re.compile(_nested_brackets(4))
"""Link text, with nested brackets."""
_TARGET = re.compile(TARGET.format("target"))
_BEGUN_TARGET = re.compile(
    r"\(\s*<?(?:\([^\s()]*\)|[^\s<>()])*(?:\([^\s()]*|>?(?:\s+(?:[\"'][^\"'\n]*[\"']?)?\s*)?)"
)
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
    calculations: tuple[int, ...] = ()
    """The numbers of the calculations that it cites; then it cites no source."""


ScannedPart = str | Marker
"""A part of a text that was searched for markers: a marker, or the text between two."""


def fence_after(fence: str, line: str) -> str:
    """Return the fence that opened the code block in which a line ends; empty if none.

    `fence` is the one before the line.
    """
    if fence:
        closing = _FENCE_CLOSING.fullmatch(line)
        is_closed = closing is not None and closing[1].startswith(fence)
        return "" if is_closed else fence
    opening = _FENCE_OPENING.fullmatch(line)
    if not opening:
        return ""
    return opening["ticks"] or opening["tildes"]


def code_lines(lines: Iterable[str]) -> list[bool]:
    """Return for each line whether it belongs to a fenced code block; the fences do."""
    fence = ""
    are_code = list[bool]()
    for line in lines:
        after = fence_after(fence, line)
        are_code.append(bool(fence or after))
        fence = after
    return are_code


def plain_prose(text: str, known: Container[int]) -> str:
    """Return a model's text with all its citations as `[n]`.

    A code fence, JSON or HTML around it is removed. Only markers outside code are changed, and only
    if one of their numbers is `known`.
    """

    def marker(found: re.Match[str]) -> str:
        written = found["numbers"] or unicodedata.normalize("NFKC", found["raised"])
        numbers = list[int]()
        for part in re.split("[,;]", written):
            span = _RANGE.fullmatch(part.strip())
            if span:
                numbers += range(int(span[1]), int(span[2]) + 1)
            else:
                numbers.append(int(part))
        if len(numbers) > _MOST_IN_RANGE or not any(number in known for number in numbers):
            return found[0]
        return f"[{', '.join(map(str, numbers))}]"

    lines = unwrapped(text).split("\n")
    for index, is_code in enumerate(code_lines(lines)):
        if is_code:
            continue
        parts = LINE_PARTS.split(lines[index])
        for position, part in enumerate(parts):
            if not part.startswith("`"):
                parts[position] = _FOREIGN.sub(marker, _TAG.sub("", part))
        lines[index] = "".join(parts)
    return "\n".join(lines)


def unwrapped(text: str) -> str:
    """Return a model's answer without a code fence around all of it.

    A Markdown fence is also removed with the introduction before it, and so is a JSON object around
    a single text.
    """
    with suppress(ValueError, RecursionError):
        whole = json.loads(text)
        if isinstance(whole, dict) and len(whole) == 1:
            only = next(iter(whole.values()))
            if isinstance(only, str):
                return only
    lines = text.rstrip().split("\n")
    labelled = (number for number, line in enumerate(lines) if _MARKDOWN_FENCE.fullmatch(line))
    first = next(labelled, 0)
    if any(code_lines(lines[:first])):
        return text
    fence = fence_after("", lines[first])
    label = lines[first].strip(" `~").lower()
    inner = lines[first + 1 : -1]
    if not fence or not inner or label not in ("", "markdown", "md"):
        return text
    for line in inner:
        if not fence_after(fence, line):
            # The fence closes before the last line.
            return text
    if fence_after(fence, lines[-1]):
        return text
    return "\n".join(inner)


def settle_fences(text: str) -> str:
    """Return a text without the marks of unclosed code fences.

    So the end of a truncated text is not code.
    """
    lines = text.split("\n")
    later_closings = _longest_later_closings(lines)
    fence = ""
    number = 0
    while number < len(lines):
        line = lines[number]
        after = fence_after(fence, line)
        is_opened = bool(after) and not fence
        if is_opened and not any(mark.startswith(after) for mark in later_closings[number]):
            # What is left of the line may open a fence, too.
            lines[number] = line.replace("```", "").replace("~~~", "").strip("`~ ")
            continue
        fence = after
        number += 1
    return "\n".join(lines)


def _longest_later_closings(lines: Sequence[str]) -> list[tuple[str, str]]:
    """Return for each line the longest marks on later lines that may close a fence, of backticks
    and of tildes."""
    longest = list[tuple[str, str]]()
    backticks = tildes = ""
    for line in reversed(lines):
        longest.append((backticks, tildes))
        closing = _FENCE_CLOSING.fullmatch(line)
        if closing is None:
            continue
        mark = closing[1]
        if mark.startswith("`"):
            backticks = max(backticks, mark)
        else:
            tildes = max(tildes, mark)
    longest.reverse()
    return longest


class _Undecided(Exception):
    """More text is needed to know what the buffered text is."""


class MarkerScanner:
    """Splits streamed Markdown into text and citation markers.

    The result does not depend on the chunk boundaries. Plain text is passed on at once. After a
    bracket or backtick, a line is buffered until it is certain whether code or a link begins there;
    both must end on the line on which they begin.
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
        self._line = []
        self._start = ""
        self._fence = fence
        self._open = 0
        return parts

    def _read(self, *, is_ended: bool) -> Iterator[ScannedPart]:
        """Yield the complete parts of the buffered text; all of it if the line has ended."""
        text = self._held
        position = 0
        try:
            while position < len(text):
                ahead = text[position : position + _HORIZON]
                is_all_ahead = is_ended or len(text) - position > _HORIZON
                part, size = self._part(ahead, is_all_ahead)
                yield part
                position += size
        except _Undecided:
            pass
        self._held = text[position:]

    def _part(self, text: str, is_ended: bool) -> tuple[ScannedPart, int]:
        """Return the first part of a text, and its length.

        Raises `_Undecided` if they depend on later text.
        """
        plain = _TEXT.match(text)
        if plain:
            return plain[0], plain.end()
        if self._fence:
            return text, len(text)
        escaped = _ESCAPED.match(text)
        if escaped:
            is_complete = len(escaped[0]) == 2
            return escaped[0], _decided(escaped.end(), is_complete or is_ended)
        backticks = _BACKTICKS.match(text)
        if backticks:
            return self._code(text, backticks.end(), is_ended)
        if text[0] in CLOSING_BRACKETS:
            if self._open:
                self._open -= 1
            return text[0], 1
        marker = _MARKER.match(text)
        if marker:
            size = marker.end("numbers") + len(marker["openers"])
            if size <= marker.end():
                link_end = _link_end(text, size, is_ended)
                if link_end:
                    return text[:link_end], link_end
                return _marker(text[:size], is_enclosed=self._open > 0), size
            _decided(size, is_ended or marker.end() < len(text))
        elif not is_ended and _BEGUN_MARKER.fullmatch(text):
            raise _Undecided
        return self._bracket(text, is_ended)

    def _code(self, text: str, size: int, is_ended: bool) -> tuple[ScannedPart, int]:
        """Return inline code, or `size` backticks that do not begin code."""
        _decided(size, is_ended or size < len(text))
        closing = re.compile(rf"(?<!`)`{{{size}}}(?!`)").search(text, size)
        if closing:
            end = closing.end()
            return text[:end], _decided(end, is_ended or end < len(text))
        # First, since this is called again with more text until it is decided.
        _decided(size, is_ended)
        self._open += 1
        return text[:size], size

    def _bracket(self, text: str, is_ended: bool) -> tuple[ScannedPart, int]:
        """Return a link, or a bracket that does not begin a link."""
        words = _BRACKETS.match(text)
        if text[0] == "[":
            _decided(1, is_ended or words is not None)
        if words:
            end = _link_end(text, words.end(), is_ended)
            if end:
                return text[:end], end
            cited = _CALCULATION.fullmatch(words[0])
            if cited:
                return _calculation_marker(cited, is_enclosed=self._open > 0), cited.end()
        self._open += 1
        return text[0], 1


def _link_end(text: str, start: int, is_ended: bool) -> int:
    """Return the end of the link target that begins at `start`; 0 if none does.

    Raises `_Undecided`.
    """
    _decided(start, is_ended or start < len(text))
    target = _TARGET.match(text, start)
    if target:
        return target.end()
    return _decided(0, is_ended or not _BEGUN_TARGET.fullmatch(text, start))


def _decided(size: int, is_decided: bool) -> int:
    """Return the size if it is certain; otherwise raise `_Undecided`."""
    if not is_decided:
        raise _Undecided
    return size


def _marker(raw: str, *, is_enclosed: bool) -> Marker:
    numbers = list[int]()
    separators = list[str]()
    for separator, digits in _NUMBER.findall(raw):
        separators.append(separator)
        # Python refuses to parse very long numbers; no source number is that long.
        numbers.append(int(digits) if len(digits) <= _LONGEST_NUMBER else _UNKNOWN_NUMBER)
    return Marker(raw, tuple(numbers), tuple(separators), is_enclosed)


def _calculation_marker(cited: re.Match[str], *, is_enclosed: bool) -> Marker:
    numbers = tuple(map(int, re.findall(r"\d+", cited[0])))
    return Marker(cited[0], (), (), is_enclosed, tuple(dict.fromkeys(numbers)))


def scan(text: str) -> list[ScannedPart]:
    """Split a whole text into the citation markers and the text between them."""
    scanner = MarkerScanner()
    return scanner.feed(text) + scanner.finish()


@lru_cache(maxsize=500)
def marker_numbers(text: str) -> tuple[int, ...]:
    """Return the numbers in all markers of a text, in order, including repeats."""
    numbers = list[int]()
    for part in scan(text):
        if isinstance(part, Marker):
            numbers += part.numbers
    return tuple(numbers)


def cited_calculations(text: str) -> tuple[int, ...]:
    """Return the numbers of the calculations that a text cites, each once, in order."""
    numbers = list[int]()
    for part in scan(text):
        if isinstance(part, Marker):
            numbers += part.calculations
    return tuple(dict.fromkeys(numbers))


def with_calculations(text: str, numbers: Mapping[int, int]) -> tuple[str, int]:
    """Return a text whose citations of calculations have new numbers, each in brackets of its own:
    `[calc 2]`, and how many were removed because their number is not among `numbers`."""

    written = list[str]()
    removed = 0
    for part in scan(_WITH_SOURCES.sub(r"[\g<sources>] [\g<rest>]", text)):
        if isinstance(part, str):
            written.append(part)
            continue
        if not part.calculations:
            written.append(part.raw)
            continue
        known = [numbers[number] for number in part.calculations if number in numbers]
        removed += len(part.calculations) - len(known)
        if known:
            written.append(" ".join(f"[calc {number}]" for number in dict.fromkeys(known)))
        elif written:
            written[-1] = written[-1].removesuffix(" ")
    return "".join(written), removed


def replace_markers(text: str, sign: str) -> str:
    """Return a text with `sign` in place of each marker."""
    return "".join(sign if isinstance(part, Marker) else part for part in scan(text))


class KnownMarkers:
    """Splits streamed Markdown into text and citation markers, and removes numbers that are not
    known.

    A space before a removed marker is removed too, so a space is buffered until it is clear what
    follows.
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
        self._is_behind_marker = False
        """Whether a marker came last, apart from `_joint`."""
        self._is_behind_kept = False
        """Whether at least one of the markers that came last was kept."""
        self._joint = ""
        """Text behind a marker that may join it to the next one, such as a comma."""

    def feed(self, text: str) -> list[ScannedPart]:
        """Process the next chunk; return the parts that later text can no longer change."""
        return self._take(self._scanner.feed(text))

    def finish(self) -> list[ScannedPart]:
        """Return the remaining parts; call once, at the end."""
        rest = self._take(self._scanner.finish())
        self._add_joint()
        rest += self._parts
        self._parts = []
        if self._space and not self._is_after_removed:
            rest.append(self._space)
        self._space = ""
        return rest

    def _take(self, parts: Iterable[ScannedPart]) -> list[ScannedPart]:
        for part in parts:
            if isinstance(part, str) or part.calculations:
                self._take_text(part if isinstance(part, str) else part.raw)
                continue
            numbers = list[int]()
            separators = list[str]()
            for separator, number in zip(part.separators, part.numbers, strict=True):
                if number in self._known:
                    # The separator before the first number belongs to one that was removed.
                    separators.append(separator if numbers else "")
                    numbers.append(number)
            self.dropped += len(part.numbers) - len(numbers)
            if numbers and self._is_behind_kept:
                self._add_joint()
            # A comma between two markers goes with the one that is removed.
            self._joint = ""
            self._is_behind_kept |= bool(numbers)
            self._is_behind_marker = True
            if numbers:
                marker = Marker(part.raw, tuple(numbers), tuple(separators))
                self._parts += [self._space, marker]
                self._space = ""
                self._is_line_start = False
                self._is_after_removed = False
            elif part.is_enclosed:
                # Text left in brackets or backticks must not become a marker or code.
                self._add_text(" ")
                self._is_behind_marker = self._is_behind_kept = False
            else:
                self._is_after_removed = True
        complete = self._parts
        self._parts = []
        return complete

    def _take_text(self, text: str) -> None:
        joint = self._joint + text
        if self._is_behind_marker and _JOINT.fullmatch(joint):
            self._joint = joint
            return
        self._add_joint()
        self._is_behind_marker = self._is_behind_kept = False
        self._add_text(text)

    def _add_joint(self) -> None:
        """Add the text behind the last marker, which joins it to nothing."""
        if self._joint:
            self._add_text(self._joint)
        self._joint = ""

    def _add_text(self, text: str) -> None:
        if self._is_after_removed:
            self._is_after_removed = False
            if text[0] in "(`" and not self._is_line_start:
                # Without the space, this text could form a link or code with the text before the
                # removed marker.
                self._space = " "
            elif not self._space and self._is_line_start:
                text = text.removeprefix(" ")
            elif self._space and not text[0].isalnum():
                self._space = ""
        text = self._space + text
        self._space = ""
        if text.endswith(" "):
            self._space = " "
            text = text.removesuffix(" ")
        if text:
            self._parts.append(text)
            self._is_line_start = text.endswith("\n")


def without_markers(text: str) -> str:
    """Return a source's text in one line without citations of sources, since they are not ours."""
    markers = KnownMarkers(())
    parts = [*markers.feed(" ".join(text.split())), *markers.finish()]
    return "".join(part for part in parts if isinstance(part, str)).strip()


def note_label(reference: re.Match[str]) -> str:
    """Return the label of the footnote to which a match of `NOTE_REFERENCE` refers."""
    return reference["label"] or reference["first"]


class NoteMark(NamedTuple):
    """A reference to a footnote in a settled text, or the label before the footnote's text."""

    start: int
    """Offset in the text, in characters."""
    end: int
    label: str
    is_reference: bool


def note_marks(text: str) -> list[NoteMark]:
    """Return the marks of the footnotes that have both a reference and a text, in order."""
    marks = list[NoteMark]()
    for found in _SETTLED_LABEL.finditer(text):
        marks.append(NoteMark(found.start(), found.end(), found["label"], is_reference=False))
    defined = {mark.label for mark in marks}
    for found in NOTE_REFERENCE.finditer(text):
        if note_label(found) in defined:
            marks.append(NoteMark(found.start(), found.end(), note_label(found), is_reference=True))
    referenced = {mark.label for mark in marks if mark.is_reference}
    return sorted(mark for mark in marks if mark.label in referenced)

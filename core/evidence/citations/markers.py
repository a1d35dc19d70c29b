"""The form of a citation marker: brackets around numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

OPENERS = "[【［"
CLOSERS = "]】］"
_NUMBER = re.compile(r"(,? ?)(\d+)")
_LONGEST_NUMBER = 20
_UNKNOWN_NUMBER = -1

# What the characters read so far amount to: brackets opened, a number, after a comma, after its space, brackets closed.
_NEXT = {
    ("", "["): "opened",
    ("opened", "["): "opened",
    ("opened", "1"): "number",
    ("number", "1"): "number",
    ("number", ","): "comma",
    ("number", "]"): "closed",
    ("comma", "1"): "number",
    ("comma", " "): "space",
    ("space", "1"): "number",
    ("closed", "]"): "closed",
}
_PREFIX = r"(?:[ \t>]|[-*+][ \t]|\d{1,9}[.)][ \t])*"
_OPENING = re.compile(_PREFIX + r"(?:(?P<ticks>`{3,})[^`]*|(?P<tildes>~{3,}).*)")
_CLOSING = re.compile(r"[ \t>]*(`{3,}|~{3,})\s*")


class Marker(NamedTuple):
    """One citation marker as it was written."""

    raw: str
    """Its text."""
    numbers: tuple[int, ...]
    """The numbers that it names."""
    separators: tuple[str, ...]
    """What stands before each number: nothing, a comma, or a comma and a space."""
    is_enclosed: bool = False
    """Whether something is open around it on its line: a bracket, or backticks."""


Part = str | Marker


class MarkerLexer:
    """Cuts a stream of characters into markers and single other characters; each is held no longer than needed."""

    def __init__(self) -> None:
        self._state = ""
        self._held: list[str] = []
        self._depth = 0

    def feed(self, char: str) -> list[Part]:
        """Take one character and return what is certain now."""
        kind = _kind(char)
        state = _NEXT.get((self._state, kind))
        if state is None:
            return [*self.finish(), *self.feed(char)] if self._held else [char]
        self._state = state
        self._held.append(char)
        self._depth += (kind == "[") - (kind == "]")
        return self.finish() if self._depth == 0 else []

    def finish(self) -> list[Part]:
        """Return what is held: a marker in as many brackets as were closed, or text."""
        held, state, unclosed = self._held, self._state, self._depth
        self._held, self._state, self._depth = [], "", 0
        if state != "closed":
            return list(held)
        raw = "".join(held[unclosed:])
        return [*held[:unclosed], _marker(raw)]


def _kind(char: str) -> str:
    if char in OPENERS:
        return "["
    if char in CLOSERS:
        return "]"
    return "1" if char.isdecimal() else char


def _marker(raw: str) -> Marker:
    pairs = _NUMBER.findall(raw)
    return Marker(raw, tuple(_number(digits) for _, digits in pairs), tuple(separator for separator, _ in pairs))


def _number(digits: str) -> int:
    # Python refuses to read very long numbers, and no source has one.
    return int(digits) if len(digits) <= _LONGEST_NUMBER else _UNKNOWN_NUMBER


def fence_after(fence: str, line: str) -> str:
    """Return the code fence that is open after a line, given the one that was open before it; empty if none is."""
    if not fence:
        opening = _OPENING.fullmatch(line)
        return (opening["ticks"] or opening["tildes"]) if opening else ""
    closing = _CLOSING.fullmatch(line)
    return "" if closing and closing[1].startswith(fence) else fence


def code_lines(lines: Iterable[str]) -> list[bool]:
    """Return for each line whether it belongs to a code fence, the lines of the fence included."""
    fence, inside = "", list[bool]()
    for line in lines:
        after = fence_after(fence, line)
        inside.append(bool(fence or after))
        fence = after
    return inside


def unwrapped(text: str) -> str:
    """Return the text without a code fence around all of it: some models wrap their whole answer in one."""
    lines = text.split("\n")
    fence = fence_after("", lines[0])
    if not fence or len(lines) < 3 or lines[0].strip(" `~").lower() not in ("", "markdown", "md"):
        return text
    inner = lines[1:-1]
    is_all = all(fence_after(fence, line) for line in inner) and not fence_after(fence, lines[-1])
    return "\n".join(inner) if is_all else text


def settle_fences(text: str) -> str:
    """Return the text with the marks of code fences that never close taken off: a text that was cut off is no code."""
    lines = text.split("\n")
    while (opened := _unclosed(lines)) is not None:
        lines[opened] = lines[opened].replace("```", "").replace("~~~", "").strip("`~ ")
    return "\n".join(lines)


def _unclosed(lines: list[str]) -> int | None:
    fence, opened = "", None
    for place, line in enumerate(lines):
        after = fence_after(fence, line)
        if after and not fence:
            opened = place
        fence = after
    return opened if fence else None


class LinkTarget:
    """Reads what follows `](` and says whether it makes a link: an address in parentheses, perhaps with a title.

    Without any of `/ : . #` it is taken for a remark in parentheses, such as a year.
    """

    def __init__(self) -> None:
        self._previous = "("
        self._depth = 1
        self._is_address = False
        self._may_hold_spaces = False

    def take(self, char: str) -> bool | None:
        """Take one character; none as long as the end is open, then whether this was the target of a link."""
        previous, self._previous = self._previous, char
        if char == "<" and previous == "(":
            self._is_address = self._may_hold_spaces = True
        elif char in "\"'" and previous.isspace():
            self._may_hold_spaces = True
        elif previous.isspace() and not char.isspace() and not self._may_hold_spaces:
            return False
        elif char in "/:.#":
            self._is_address = True
        self._depth += (char == "(") - (char == ")")
        return self._is_address if self._depth == 0 else None

"""Where a marker is none: code fences and the targets of links."""

from __future__ import annotations

import re
from collections.abc import Iterable

_PREFIX = r"(?:[ \t>]|[-*+][ \t]|\d{1,9}[.)][ \t])*"
_OPENING = re.compile(_PREFIX + r"(?:(?P<ticks>`{3,})[^`]*|(?P<tildes>~{3,}).*)")
_CLOSING = re.compile(r"[ \t>]*(`{3,}|~{3,})\s*")


def fence_after(fence: str, line: str) -> str:
    """Return the code fence that is open after a line, given the one that was open before it; empty if none is."""
    if not fence:
        opening = _OPENING.fullmatch(line)
        return (opening["ticks"] or opening["tildes"]) if opening else ""
    closing = _CLOSING.fullmatch(line)
    return "" if closing and closing[1].startswith(fence) else fence


def code_lines(lines: Iterable[str]) -> list[bool]:
    """For each line whether it belongs to a code fence, the marks of the fence included."""
    fence, inside = "", list[bool]()
    for line in lines:
        after = fence_after(fence, line)
        inside.append(bool(fence or after))
        fence = after
    return inside


def unwrapped(text: str) -> str:
    """The text without a code fence that holds all of it: some models take their whole answer for a quotation."""
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

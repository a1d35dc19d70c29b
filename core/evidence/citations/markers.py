"""The form of a citation marker: brackets around numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

OPENERS = "[【［"
CLOSERS = "]】］"
TARGET = r"\(\s*<?(?P<{}>(?=[^\s()]*[/:.#])(?:\([^\s()]*\)|[^\s<>()])*)>?(?:\s+[\"'][^\"'\n]*[\"'])?\s*\)"
"""Pattern of what makes a link of the brackets before it; without any of `/ : . #` it is a remark, such as a year."""
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

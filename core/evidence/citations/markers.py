"""The form of a citation marker: brackets around numbers."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Container, Iterable, Iterator
from contextlib import suppress
from typing import NamedTuple

OPENERS = "[【［"
CLOSERS = "]】］"
TARGET = r"\(\s*<?(?P<{}>(?=[^\s()]*[/:.#])(?:\([^\s()]*\)|[^\s<>()])*)>?(?:\s+[\"'][^\"'\n]*[\"'])?\s*\)"
"""Pattern of what makes a link of the brackets before it; without any of `/ : . #` it is a remark, such as a year."""
_PREFIX = r"(?:[ \t>]|[-*+][ \t]|\d{1,9}[.)][ \t])*"
_OPENING = re.compile(_PREFIX + r"(?:(?P<ticks>`{3,})[^`]*|(?P<tildes>~{3,}).*)")
_MARKDOWN_FENCE = re.compile(r"(?:`{3,}|~{3,})(?:markdown|md)\s*", re.IGNORECASE)
_CLOSING = re.compile(r"[ \t>]*(`{3,}|~{3,})\s*")


_RANGE = re.compile(r"(\d{1,3})\s*[-–]\s*(\d{1,3})")
_LABEL = r"(?:\^|#|(?:sources?|documents?|docs?|references?|refs?|citations?|cite)\s*[:#]?\s*)?"
_FOREIGN = re.compile(
    rf"[\[【［]{{1,2}}{_LABEL}(?P<numbers>\d{{1,3}}(?:\s*[,;–-]\s*\d{{1,3}})*)(?:[:†][^\[\]【】\n]{{0,40}})?"
    r"(?:\]\]\(https?://[^\s()]*\)|[\]】］]{1,2}(?![:(]))|(?<=[\s.,;:!?)\"”’»])(?P<raised>[¹²³⁰⁴-⁹]{1,3})(?!\w)",
    re.IGNORECASE,
)
"""Forms of a marker that models learned elsewhere: `【1†source】`, `[^1]`, `[[1]](url)`, `[Source 1]`, `[1-2]`, `¹`."""
_TAG = re.compile(r"</?(?:p|sup)>")
"""Tags of models that write HTML; the others are shown as they stand."""
_LINE_PARTS = re.compile(r"(`+[^`]*`+)")
MOST_IN_RANGE = 10
"""Sources that a marker names as a range; a wider one is no citation."""


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


def plain_prose(text: str, known: Container[int]) -> str:
    """Return what a model wrote without a code fence, JSON or HTML around it, and with all its citations as `[n]`.

    Only markers that name a `known` number are changed, and none in code.
    """

    def marker(found: re.Match[str]) -> str:
        stated = found["numbers"] or unicodedata.normalize("NFKC", found["raised"])
        numbers = list(_numbers_in(stated))
        is_marker = len(numbers) <= MOST_IN_RANGE and any(number in known for number in numbers)
        return f"[{', '.join(map(str, numbers))}]" if is_marker else found[0]

    lines = unwrapped(text).split("\n")
    for place, (line, is_code) in enumerate(zip(lines, code_lines(lines), strict=True)):
        if not is_code:
            parts = _LINE_PARTS.split(line)
            plain = (part if part[:1] == "`" else _FOREIGN.sub(marker, _TAG.sub("", part)) for part in parts)
            lines[place] = "".join(plain)
    return "\n".join(lines)


def _numbers_in(stated: str) -> Iterator[int]:
    for part in re.split("[,;]", stated):
        if span := _RANGE.fullmatch(part.strip()):
            yield from range(int(span[1]), int(span[2]) + 1)
        else:
            yield int(part)


def unwrapped(text: str) -> str:
    """Return the text without a code fence around all of it: some models wrap their whole answer in one.

    A fence that says that it holds Markdown is taken off behind an introduction, too; so is JSON with this text alone.
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

"""The syntax of citation markers (brackets around numbers), and of code fences, which contain no markers."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Container, Iterable
from contextlib import suppress
from typing import NamedTuple

OPENERS = "[【［"
"""The brackets that may open a citation marker."""
CLOSING_BRACKETS = "]】］"
TARGET = r"\(\s*<?(?P<{}>(?=[^\s()]*[/:.#])(?:\([^\s()]*\)|[^\s<>()])*)>?(?:\s+[\"'][^\"'\n]*[\"'])?\s*\)"
"""Pattern of a link target, to be given a group name; without any of `/ : . #` the text is a remark, such as a year."""
BEFORE_BLOCK = r"(?:[ \t>]|[-*+][ \t]|\d{1,9}[.)][ \t])*"
"""Pattern of white space, list marks and quotation marks before a block on its first line."""
_OPENING = re.compile(BEFORE_BLOCK + r"(?:(?P<ticks>`{3,})[^`]*|(?P<tildes>~{3,}).*)")
_MARKDOWN_FENCE = re.compile(r"(?:`{3,}|~{3,})(?:markdown|md)\s*", re.IGNORECASE)
_CLOSING = re.compile(r"[ \t>]*(`{3,}|~{3,})\s*")
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
        opening = _OPENING.fullmatch(line)
        return (opening["ticks"] or opening["tildes"]) if opening else ""
    closing = _CLOSING.fullmatch(line)
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

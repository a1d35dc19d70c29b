"""reStructuredText to text with marked headings; its directives are words, and none of them is carried out."""

from __future__ import annotations

import re

from ..records import Extract

DEEPEST = 6
SHORT_LINE = 4

_ADORNMENT = re.compile(r"([!-/:-@[-`{-~])\1*[ \t]*")
_FIELD = re.compile(r"^:title:[ \t]+(\S.*)$", re.IGNORECASE | re.MULTILINE)


def parse_rst(text: str) -> Extract:
    """Title and text; the levels of its headings are the order in which their lines appear."""
    lines, levels = text.split("\n"), list[str]()
    shown: list[str] = []
    place = 0
    title = ""
    while place < len(lines):
        found = _heading(lines, place)
        if found is None:
            shown.append(lines[place])
            place += 1
            continue
        heading, style, length = found
        levels += [] if style in levels else [style]
        shown += [f"{'#' * min(levels.index(style) + 1, DEEPEST)} {heading}", ""]
        title = title or heading
        place += length
    stated = _FIELD.search(text)
    return Extract(stated.group(1) if stated else title, "\n".join(shown))


def _heading(lines: list[str], place: int) -> tuple[str, str, int] | None:
    """The heading that begins on a line, how it is adorned, and how many lines it takes."""
    first, second, third = (*lines[place : place + 3], "", "")[:3]
    if _is_adornment(first) and second.strip() and _is_adornment(third, second) and first.strip() == third.strip():
        return second.strip(), f"{first[0]} twice", 3
    is_alone = place == 0 or not lines[place - 1].strip()
    if is_alone and first[:1].strip() and not _is_adornment(first) and _is_adornment(second, first):
        return first.strip(), second[0], 2
    return None


def _is_adornment(line: str, heading: str = "") -> bool:
    if not _ADORNMENT.fullmatch(line):
        return False
    length = len(line.rstrip())
    return length >= SHORT_LINE or (bool(heading) and length >= len(heading.strip()))

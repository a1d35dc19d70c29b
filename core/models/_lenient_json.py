"""Parses JSON as models write it: surrounded by text, and possibly broken."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

_MOST_CHARACTERS = 12_000
"""Longest text to repair: repairing a malicious text takes quadratic time."""
_MOST_OPEN = 16
"""Maximum unclosed brackets in a text to repair; a real call has few."""
_DECODER = json.JSONDecoder(strict=False)
_OPENING = re.compile(r"\s*(?:```\w*\s*)?(?=[\[{])")
"""Matches what may precede an object or list: spaces and the opening line of a code fence."""
_GAP = re.compile(r"\n\s*(?:```|\n)|</\w|<[|｜]|\[/?TOOL_CALLS")
"""Ends an unclosed value: the end of its fence, paragraph or tag."""


class ParsedJson(NamedTuple):
    """A JSON object or list found in a text."""

    value: Any
    """The parsed object or list; None if it cannot be repaired."""
    end: int
    """Offset in the text directly behind it."""
    is_sound: bool
    """Whether it is valid JSON, so that nothing was repaired."""
    is_cut: bool = False
    """Whether it ends inside a string, which means that the text was cut off."""


def json_at(text: str, start: int) -> ParsedJson:
    """Parse the object or list that starts at offset `start`, repairing it if necessary."""
    try:
        value, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        gap = _GAP.search(text, start)
        broken = text[start : gap.start() if gap else None].rstrip()
        quote = r'(?<!\\)"' if '"' in broken else "'"
        is_cut = len(re.findall(quote, broken)) % 2 == 1
        end = start + len(broken)
        return ParsedJson(_repaired(broken), end, is_sound=False, is_cut=is_cut)
    return ParsedJson(value, end, is_sound=True)


def json_in(text: str) -> Any:
    """Return the JSON value that a text consists of, repaired if necessary; None if it is none or
    is cut off."""
    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):
        opening = _OPENING.match(text)
    if not opening:
        return None
    parsed = json_at(text, opening.end())
    rest = text[parsed.end :].strip("`} \n")
    if parsed.is_cut or rest:
        return None
    return parsed.value


def object_in(text: str) -> dict[str, Any] | None:
    """Return the JSON object that a text consists of, possibly encoded twice; None if it is none or
    is cut off."""
    value = json_in(text)
    if isinstance(value, str):
        value = json_in(value)
    if not isinstance(value, dict):
        return None
    return value


def _repaired(text: str) -> Any:
    """Return the object or list after repair; None if it is too long, too deep, or beyond
    repair."""
    opened = sum(map(text.count, "[{("))
    closed = sum(map(text.count, "]})"))
    if len(text) > _MOST_CHARACTERS or opened - closed > _MOST_OPEN:
        return None
    # Imported here because it is slow to import and few answers need it.
    import json_repair

    try:
        value = json_repair.loads(text, skip_json_loads=True)
    except Exception:  # noqa: BLE001 - some texts crash the repair, even with assertion errors
        return None
    return value if isinstance(value, dict | list) else None

"""Parses JSON as models write it: embedded in text, and repaired if broken."""

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
_GAP = re.compile(r"\n\s*(?:```|\n)|</\w|<[|｜]|\[/?TOOL_CALLS")
"""Ends an unclosed value: the end of its fence, paragraph or tag."""


class Value(NamedTuple):
    """A JSON value in a text."""

    value: Any
    """None if it cannot be parsed."""
    end: int
    """Offset of its end in the text."""
    is_sound: bool
    """Whether it is valid JSON."""
    is_cut: bool = False
    """Whether it ends within a string, that is, the text was cut off."""


def value_at(text: str, start: int) -> Value:
    """Parse the object or list that starts at offset `start`."""
    try:
        value, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        gap = _GAP.search(text, start)
        broken = text[start : gap.start() if gap else len(text)].rstrip()
        quotes = re.findall(r'(?<!\\)"' if '"' in broken else "'", broken)
        return Value(_repaired(broken), start + len(broken), is_sound=False, is_cut=len(quotes) % 2 == 1)
    return Value(value, end, is_sound=True)


def value_in(text: str) -> Any:
    """Parse the whole text as JSON, repairing objects and lists; None if it is not JSON or was cut off."""
    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):
        opening = _OPENING.match(text)
    if not opening:
        return None
    found = value_at(text, opening.end())
    return None if found.is_cut or text[found.end :].strip("`} \n") else found.value


def object_in(text: str) -> dict[str, Any] | None:
    """Parse a text as a JSON object, which may be wrapped in a JSON string; None if it is not one."""
    value = value_in(text)
    value = value_in(value) if isinstance(value, str) else value
    return value if isinstance(value, dict) else None


def _repaired(text: str) -> Any:
    excess = sum(text.count(sign) for sign in "[{(") - sum(text.count(sign) for sign in "]})")
    if len(text) > _MOST_CHARACTERS or excess > _MOST_OPEN:
        return None
    # Imported here because it is slow to import and few answers need it.
    import json_repair

    try:
        value = json_repair.loads(text, skip_json_loads=True)
    except Exception:  # noqa: BLE001 - some texts crash the repair, even with assertion errors
        return None
    return value if isinstance(value, dict | list) else None

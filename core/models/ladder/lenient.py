"""JSON as models write it: found in a text, and repaired if it is broken."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

MOST_CHARACTERS = 12_000
"""Length of a text that is repaired: repairing a hostile text takes time by the square of its length."""
MOST_OPEN = 16
"""Brackets left open in a text that is repaired; a real call leaves a few."""
_DECODER = json.JSONDecoder(strict=False)
_OPENING = re.compile(r"\s*(?:```\w*\s*)?(?=[\[{])")
_GAP = re.compile(r"\n\s*(?:```|\n)|</\w|<[|｜]|\[/?TOOL_CALLS")
"""Ends a value that never closes: the end of its fence, paragraph or tag."""


class Value(NamedTuple):
    """A JSON value in a text."""

    value: Any
    """None if it cannot be read."""
    end: int
    """Where it ends in the text."""
    is_sound: bool
    """Whether it was read as it stands."""
    is_cut: bool = False
    """Whether it ends within a string, as a text does that was cut off."""


def value_at(text: str, start: int) -> Value:
    """Return the object or list that begins at `start`."""
    try:
        value, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        gap = _GAP.search(text, start)
        broken = text[start : gap.start() if gap else len(text)].rstrip()
        quotes = re.findall(r'(?<!\\)"' if '"' in broken else "'", broken)
        return Value(_repaired(broken), start + len(broken), is_sound=False, is_cut=len(quotes) % 2 == 1)
    return Value(value, end, is_sound=True)


def value_in(text: str) -> Any:
    """Return what the whole text says as JSON, objects and lists repaired; None if it is none, or was cut off."""
    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):
        opening = _OPENING.match(text)
    if not opening:
        return None
    found = value_at(text, opening.end())
    return None if found.is_cut or text[found.end :].strip("`} \n") else found.value


def object_in(text: str) -> dict[str, Any] | None:
    """Return the object that a text is; it may stand in a JSON string once more."""
    value = value_in(text)
    value = value_in(value) if isinstance(value, str) else value
    return value if isinstance(value, dict) else None


def _repaired(text: str) -> Any:
    excess = sum(text.count(sign) for sign in "[{(") - sum(text.count(sign) for sign in "]})")
    if len(text) > MOST_CHARACTERS or excess > MOST_OPEN:
        return None
    # Few answers need it, and it takes time to import.
    import json_repair

    try:
        value = json_repair.loads(text, skip_json_loads=True)
    except Exception:  # noqa: BLE001 - over some texts the repair itself stumbles, even over its own assertions
        return None
    return value if isinstance(value, dict | list) else None

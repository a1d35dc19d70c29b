"""JSON as models write it: found in a text, and repaired if it is broken."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

MOST_CHARACTERS = 12_000
"""Of a text that is repaired: the repair of hostile texts takes time by the square of their length."""
MOST_OPEN = 16
"""Brackets left open in a text that is repaired; a real call leaves a few."""
MOST_NESTED = 64
"""Brackets within brackets; a real call has a few."""

_TOKEN = re.compile(r"\\.|[\"'\[\](){}]", re.DOTALL)
_OPENS_STRING = re.compile(r"[\[{,:(=]\s*\Z")
_AFTER_STRING = re.compile(r"\s*(?:[,:\]})]|$)|\s*\n")
_PAIRS = {"]": "[", "}": "{", ")": "("}
_GAP = re.compile(r"\n\s*(?:```|\n)|</\w|<[|｜]|\[/?TOOL_CALLS")
"""Where something that never closes has ended at the latest: at the end of its fence, paragraph or tag."""
_OPENS = re.compile(r"\s*(?:```\w*\s*)?(?=[\[{])")
_DECODER = json.JSONDecoder(strict=False)


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


class Extent(NamedTuple):
    """How far something in brackets reaches."""

    end: int
    is_closed: bool
    is_in_string: bool = False
    """Whether the text ends within a string."""


def value_at(text: str, start: int) -> Value:
    """Return the object or list that begins at `start`."""
    try:
        value, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        extent = extent_at(text, start)
        if not extent.is_closed and (gap := _GAP.search(text, start)):
            extent = extent_at(text[: gap.start()], start)
        return Value(_repaired(text[start : extent.end]), extent.end, is_sound=False, is_cut=extent.is_in_string)
    return Value(value, end, is_sound=True)


def value_in(text: str) -> Any:
    """Return what the whole text says as JSON, objects and lists repaired; None if it is none, or was cut off."""
    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):
        opening = _OPENS.match(text)
    if not opening:
        return None
    found = value_at(text, opening.end())
    return None if found.is_cut or text[found.end :].strip("`} \n") else found.value


def object_in(text: str) -> dict[str, Any] | None:
    """Return the object that a text is; it may stand in a JSON string once more."""
    value = value_in(text)
    value = value_in(value) if isinstance(value, str) else value
    return value if isinstance(value, dict) else None


def extent_at(text: str, start: int) -> Extent:
    """Return how far the brackets reach that open at `start`; others that never close are passed over."""
    opened: list[str] = []
    quote = ""
    for token in _TOKEN.finditer(text, start):
        sign = token.group()
        if quote:
            if sign == quote and _AFTER_STRING.match(text, token.end()):
                quote = ""
        elif sign == '"' or (sign == "'" and _OPENS_STRING.search(text, max(0, token.start() - 40), token.start())):
            quote = sign
        elif sign in "[{(":
            opened.append(sign)
            if len(opened) > MOST_NESTED:
                break
        elif _PAIRS.get(sign) in opened:
            while opened.pop() != _PAIRS[sign]:
                pass
            if not opened:
                return Extent(token.end(), is_closed=True)
    return Extent(len(text), is_closed=False, is_in_string=bool(quote))


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

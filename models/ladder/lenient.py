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
_BEFORE_STRING = "[{,:(="
_AFTER_STRING = re.compile(r"\s*(?:[,:\]})]|$)|\s*\n")
_PAIRS = {"]": "[", "}": "{", ")": "("}
_GAP = re.compile(r"\n\s*(?:```|\n)")
"""Where something that never closes has ended at the latest: the end of a code fence, or of a paragraph."""
_OPENS_OBJECT = re.compile(r"\s*(?:```\w*\s*)?\{")
_OPENS_VALUE = re.compile(r"\s*(?:```\w*\s*)?[\[{]")
_DECODER = json.JSONDecoder(strict=False)


class Value(NamedTuple):
    """A JSON value in a text."""

    value: Any
    """What it says; none if it cannot be read."""
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
    """The object or list that begins at `start`."""
    try:
        value, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        extent = extent_at(text, start)
        if not extent.is_closed and (gap := _GAP.search(text, start)):
            extent = extent_at(text[: gap.start()], start)
        return Value(_repaired(text[start : extent.end]), extent.end, is_sound=False, is_cut=extent.is_in_string)
    return Value(value, end, is_sound=True)


def object_in(text: str) -> dict[str, Any] | None:
    """The object that the text is, repaired if need be; an object may stand in a JSON string once more.

    None if the text is something else, or ends within a string.
    """
    value = _whole(text, _OPENS_OBJECT)
    if isinstance(value, str) and value.lstrip().startswith("{"):
        return object_in(value)
    return value if isinstance(value, dict) else None


def value_in(text: str) -> Any:
    """The object or list that the text is, repaired if need be; none if it is neither, or ends within a string."""
    value = _whole(text, _OPENS_VALUE)
    return value if isinstance(value, dict | list) else None


def _whole(text: str, opens: re.Pattern[str]) -> Any:
    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):
        opening = opens.match(text)
    if not opening:
        return None
    found = value_at(text, opening.end() - 1)
    return None if found.is_cut or text[found.end :].strip("`} \n") else found.value


def extent_at(text: str, start: int) -> Extent:
    """How far the brackets reach that open at `start`; those of another kind that never close are passed over."""
    opened: list[str] = []
    quote = ""
    for token in _TOKEN.finditer(text, start):
        sign = token.group()
        if quote:
            if sign == quote and _AFTER_STRING.match(text, token.end()):
                quote = ""
        elif sign == '"' or (sign == "'" and _last_sign(text, token.start()) in _BEFORE_STRING):
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


def _last_sign(text: str, place: int) -> str:
    while place > 0 and text[place - 1].isspace():
        place -= 1
    return text[place - 1] if place else ","


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

"""Brings together the markers that stand in one place of a line."""

from __future__ import annotations

import re
from collections.abc import Sequence

from deep_research.evidence.markers import Marker, Part
from deep_research.evidence.protected import fence_after

_BETWEEN = re.compile(r"[ \u3000]?[,，、;；]?[ \u3000]?")
_OPENING, _CLOSING = ("(", "（"), (")", "）")


def gathered(parts: Sequence[Part]) -> list[Part]:
    """The parts of a line with one marker a place, and without the parentheses around an address or around nothing.

    A marker that is written has its text as `raw`; that of an address has none. Numbers below 1 name nothing.
    """
    places: list[Part] = []
    for part in _without_parentheses(parts):
        if isinstance(part, Marker):
            separator = _separator(places)
            if separator is not None:
                part = _joined(places, separator, part)
            places.append(part)
        else:
            # Behind a marker, a parenthesis would make it a link.
            is_target = part.startswith("(") and bool(places) and isinstance(places[-1], Marker)
            places.append(f" {part}" if is_target else part)
    return _without_new_fence(places)


def _without_new_fence(places: list[Part]) -> list[Part]:
    """The parts of a line that is no code fence, and does not become one by what is removed."""
    left = "".join(part for part in places if isinstance(part, str))
    if not fence_after("", left):
        return places
    sign = "`" if "```" in left else "~"
    return [part.replace(sign, f"\\{sign}") if isinstance(part, str) else part for part in places]


def _without_parentheses(parts: Sequence[Part]) -> list[Part]:
    bare = list(parts)
    for place, part in enumerate(bare):
        before, after = bare[place - 1 : place] or [""], bare[place + 1 : place + 2] or [""]
        if not isinstance(part, Marker) or not isinstance(before[0], str) or not isinstance(after[0], str):
            continue
        is_bare = not part.raw or not any(part.numbers)
        if is_bare and before[0].endswith(_OPENING) and after[0].startswith(_CLOSING):
            bare[place - 1], bare[place + 1] = before[0][:-1], after[0][1:]
    return [part for part in bare if part]


def _separator(places: Sequence[Part]) -> str | None:
    """What stands between the last marker and one that follows, if both are in one place."""
    if places and isinstance(places[-1], Marker):
        return ""
    if len(places) > 1 and isinstance(places[-2], Marker) and isinstance(last := places[-1], str):
        return last if _BETWEEN.fullmatch(last) else None
    return None


def _joined(places: list[Part], separator: str, marker: Marker) -> Marker:
    """Take the last marker off the places and return it with another one."""
    last = places.pop()
    if isinstance(last, str):
        last = places.pop()
    assert isinstance(last, Marker)
    separators = (separator, *marker.separators[1:])
    return Marker(last.raw + marker.raw, last.numbers + marker.numbers, last.separators + separators, last.is_enclosed)

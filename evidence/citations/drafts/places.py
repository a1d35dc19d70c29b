"""Brings together the markers that stand in one place of a line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain

from ..markers import Marker, Part
from ..protected import fence_after

_BETWEEN = re.compile(r"[ \u3000]?[,，、;；]?[ \u3000]?")
_OPENED = re.compile(r"(?<!\\)((?:\\\\)*)\\?[(（]$")
"""An opening parenthesis at the end, with the backslash that may belong to it."""
_CLOSING = (")", "）")


def gathered(parts: Sequence[Part]) -> list[Part]:
    """The parts of a line with one marker a place, and without the parentheses around an address or around nothing.

    A marker that is written has its text as `raw`; that of an address has none. Numbers below 1 name nothing.
    """
    places: list[Part] = []
    near: list[str | Marker] = []
    for part in _without_parentheses(parts):
        if isinstance(part, Marker) or (near and isinstance(near[-1], Marker) and _BETWEEN.fullmatch(part)):
            near.append(part)
        else:
            places += _place(near)
            near = []
            # Behind a marker, a parenthesis would make it a link.
            is_target = part.startswith("(") and bool(places) and isinstance(places[-1], Marker)
            places.append(f" {part}" if is_target else part)
    return _without_new_fence(places + _place(near))


def _place(near: Sequence[str | Marker]) -> list[Part]:
    """The markers of one place as one, and what stands behind them."""
    markers = [part for part in near if isinstance(part, Marker)]
    if not markers:
        return []
    separators: list[str] = []
    for before, part in zip(["", *near], near, strict=False):
        if isinstance(part, Marker):
            separators += [before if isinstance(before, str) else "", *part.separators[1:]]
    numbers = tuple(chain.from_iterable(marker.numbers for marker in markers))
    raw = "".join(marker.raw for marker in markers)
    place = Marker(raw, numbers, tuple(separators), markers[0].is_enclosed)
    return [place] if isinstance(near[-1], Marker) else [place, near[-1]]


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
        if is_bare and after[0].startswith(_CLOSING) and (opened := _OPENED.search(before[0])):
            bare[place - 1], bare[place + 1] = before[0][: opened.end(1)], after[0][1:]
    return [part for part in bare if part]

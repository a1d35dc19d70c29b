"""What the styles of a web page declare, and whether it leaves text that can be seen."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

TINY_PIXELS = 2.0
FAR_PIXELS = 3000.0
OUTSIDE_PIXELS = -100.0
FAINT = 0.05

Declarations = tuple[tuple[str, str, bool], ...]
"""Name, value and whether it is important."""

_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_ESCAPE = re.compile(r"\\([0-9a-f]{1,6})\s?")
_SPACE = re.compile(r"\s+")
_NUMBER = re.compile(r"(?<![\w.#])([+-]?(?:\d{1,9}(?:\.\d{0,9})?|\.\d{1,9}))(?![\d.])([a-z%]*)")
_FUNCTION = re.compile(r"([a-z0-9]{1,20})\(([^()]*)\)")
# A length in an unknown unit counts as if it were pixels.
_FONT_PIXELS = {
    "em": 16.0,
    "rem": 16.0,
    "ex": 8.0,
    "ch": 8.0,
    "%": 0.16,
    "pt": 1.33,
    "pc": 16.0,
    "in": 96.0,
    "cm": 38.0,
}
_PLACE_PIXELS = {"em": 5.0, "rem": 5.0, "in": 96.0, "cm": 38.0}
_NOT_SHOWN = {
    "display": ("none",),
    "visibility": ("hidden", "collapse"),
    "content-visibility": ("hidden",),
}
_PLACES = ("left", "top", "right", "bottom", "inset", "text-indent", "margin-left")
_ACROSS = ("left", "right", "text-indent", "margin-left")
_SIZES = ("height", "width", "max-height", "max-width")


def plain_style(text: str) -> str:
    """A style or a sheet in lower case without comments and escapes."""
    return _ESCAPE.sub(_letter, _COMMENT.sub("", text.lower()))


def declarations(style: str) -> Declarations:
    """The declarations of a plain style, in their order."""
    pairs = (piece.partition(":") for piece in style.split(";"))
    return tuple(_declaration(name, value) for name, colon, value in pairs if colon)


def merged(declared: Iterable[Declarations]) -> dict[str, str]:
    """What holds of declarations that come one after the other: the last, but important ones first."""
    usual: dict[str, str] = {}
    important: dict[str, str] = {}
    for one in declared:
        for name, value, is_important in one:
            (important if is_important else usual)[name] = value
    return {**usual, **important}


def hides(style: Mapping[str, str]) -> bool:
    """Whether a style leaves nothing to be seen, colours aside."""
    return (
        any(style.get(name) in values for name, values in _NOT_SHOWN.items())
        or any(_first(style.get(name, "")) <= FAINT for name in ("opacity", "zoom", "scale"))
        or _has_tiny_font(style)
        or any(_is_outside(name, style[name]) for name in _PLACES if name in style)
        or _is_above(style)
        or _is_cut_off(style)
        or any(_moves_away(*found) for found in _FUNCTION.findall(style.get("transform", "")))
        or _is_outside("left", style.get("translate", ""))
        or any(
            name == "opacity" and _first(inner) <= FAINT for name, inner in _FUNCTION.findall(style.get("filter", ""))
        )
    )


def _letter(found: re.Match[str]) -> str:
    letter = chr(min(int(found.group(1), 16), 0x10FFFF))
    # What is not a letter could only make another structure of the sheet.
    return letter.lower() if letter.isalnum() else "_"


def _declaration(name: str, value: str) -> tuple[str, str, bool]:
    bare = value.partition("!")[0]
    return name.strip().removeprefix("-webkit-"), _SPACE.sub(" ", bare).strip(), bare != value


def _numbers(value: str) -> list[tuple[float, str]]:
    return [(float(number), unit) for number, unit in _NUMBER.findall(value)]


def _first(value: str) -> float:
    """The first number, per cent as a share; 1 if there is none."""
    numbers = _numbers(value)
    if not numbers:
        return 1.0
    number, unit = numbers[0]
    return number / 100 if unit == "%" else number


def _has_tiny_font(style: Mapping[str, str]) -> bool:
    sizes = _numbers(style.get("font-size", ""))[:1]
    # In the short form a weight may come first, which has no unit.
    sizes += [size for size in _numbers(style.get("font", "").partition("/")[0]) if size[1] or not size[0]][:1]
    return any(number * _FONT_PIXELS.get(unit, 1.0) < TINY_PIXELS for number, unit in sizes)


def _is_outside(name: str, value: str) -> bool:
    return any(one <= OUTSIDE_PIXELS or (one >= FAR_PIXELS and name in _ACROSS) for one in _pixels(value))


def _is_above(style: Mapping[str, str]) -> bool:
    """Whether it is drawn up and out; a padding as large takes it back, as below headers that stay in place."""
    lift = _pixels(style.get("margin-top", ""))
    return bool(lift) and lift[0] + sum(_pixels(style.get("padding-top", ""))[:1]) <= OUTSIDE_PIXELS


def _pixels(value: str) -> list[float]:
    return [number * _PLACE_PIXELS.get(unit, 1.0) for number, unit in _numbers(value)]


def _is_cut_off(style: Mapping[str, str]) -> bool:
    overflow = " ".join(style.get(name, "") for name in ("overflow", "overflow-x", "overflow-y"))
    is_clipped = "hidden" in overflow or "clip" in overflow
    if is_clipped and any(_first(style.get(name, "")) == 0 for name in _SIZES):
        return True
    clip = style.get("clip", "")
    if clip.startswith("rect(") and all(abs(number) <= 1 for number, _ in _numbers(clip)):
        return "auto" not in clip
    return any(_leaves_nothing(*found) for found in _FUNCTION.findall(style.get("clip-path", "")))


def _leaves_nothing(shape: str, inner: str) -> bool:
    numbers = _numbers(inner)
    if shape == "inset":
        return bool(numbers) and numbers[0][0] >= 50 and numbers[0][1] == "%"
    if shape in ("circle", "ellipse"):
        return bool(numbers) and numbers[0][0] == 0
    return shape == "polygon" and bool(numbers) and all(number == 0 for number, _ in numbers)


def _moves_away(function: str, inner: str) -> bool:
    if function.startswith("scale"):
        return any(abs(number) <= FAINT for number, _ in _numbers(inner))
    if function.startswith("translate"):
        return _is_outside("left", inner)
    return function.startswith("matrix") and all(number == 0 for number, _ in _numbers(inner)[:4])

"""What the styles of a web page hide: declarations, simple rules of style sheets, colours that look alike."""

from __future__ import annotations

import colorsys
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import lxml.html

ALIKE = 12
"""Steps of 255 in each of red, green and blue between which nobody can read."""
CLEAR = 0.05

_HEX = re.compile(r"#([0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8})")
_COLOUR_FUNCTION = re.compile(r"(rgb|hsl)a?\(([^()]*)\)")
_COLOUR_PART = re.compile(r"([+-]?(?:\d{1,9}(?:\.\d{0,9})?|\.\d{1,9}))([a-z%]*)")
_NAMES = {"white": "#fff", "black": "#000", "snow": "#fffafa", "ivory": "#fffff0", "whitesmoke": "#f5f5f5"}


class Colour(NamedTuple):
    """Red, green and blue from 0 to 255."""

    red: float
    green: float
    blue: float
    opacity: float = 1.0

    def is_like(self, other: Colour) -> bool:
        """Whether text of one colour cannot be read on the other."""
        return max(abs(one - two) for one, two in zip(self[:3], other[:3], strict=True)) <= ALIKE

    @property
    def is_clear(self) -> bool:
        """Whether nothing is seen of it."""
        return self.opacity <= CLEAR


def colour_of(text: str) -> Colour | None:
    """Return the colour that a style names in lower case; none if it is not understood."""
    text = _NAMES.get(text, text)
    if text == "transparent":
        return Colour(0, 0, 0, 0)
    if found := _HEX.fullmatch(text):
        return _from_digits(found.group(1))
    found = _COLOUR_FUNCTION.fullmatch(text)
    parts = _COLOUR_PART.findall(found.group(2)) if found else []
    if found is None or len(parts) not in (3, 4):
        return None
    opacity = _share(parts[3], 1) if len(parts) == 4 else 1.0
    if found.group(1) == "rgb":
        red, green, blue = (_share(part, 255) for part in parts[:3])
    else:
        red, green, blue = colorsys.hls_to_rgb(
            float(parts[0][0]) / 360 % 1, _share(parts[2], 100), _share(parts[1], 100)
        )
    return Colour(255 * red, 255 * green, 255 * blue, opacity)


def _from_digits(digits: str) -> Colour:
    if len(digits) < 6:
        digits = "".join(2 * digit for digit in digits)
    red, green, blue, opacity = bytes.fromhex(digits.ljust(8, "f"))
    return Colour(red, green, blue, opacity / 255)


def _share(part: tuple[str, str], whole: float) -> float:
    number, unit = part
    return min(max(float(number) / (100 if unit == "%" else whole), 0.0), 1.0)


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
_STYLE_FUNCTION = re.compile(r"([a-z0-9]{1,20})\(([^()]*)\)")
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
    """Return a style or a sheet in lower case without comments and escapes."""
    return _ESCAPE.sub(_letter, _COMMENT.sub("", text.lower()))


def declarations(style: str) -> Declarations:
    """Return the declarations of a plain style, in their order."""
    pairs = (piece.partition(":") for piece in style.split(";"))
    return tuple(_declaration(name, value) for name, colon, value in pairs if colon)


def merged(declared: Iterable[Declarations]) -> dict[str, str]:
    """Return what holds of declarations that follow one another: the last, but important ones first."""
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
        or any(_moves_away(*found) for found in _STYLE_FUNCTION.findall(style.get("transform", "")))
        or _is_outside("left", style.get("translate", ""))
        or any(
            name == "opacity" and _first(inner) <= FAINT
            for name, inner in _STYLE_FUNCTION.findall(style.get("filter", ""))
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
    """Return the first number, per cent as a share; 1 if there is none."""
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
    return any(_leaves_nothing(*found) for found in _STYLE_FUNCTION.findall(style.get("clip-path", "")))


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


MOST_RULES = 10_000

_BRACE = re.compile(r"([{}])")
_COMPOUND = re.compile(r"(?:\*|([a-z][a-z0-9-]*))?((?:[.#][\w-]+)*)")
_SELECTOR_PART = re.compile(r"[.#][\w-]+")
# Rules inside these hold on every screen; what else begins with @ holds at times, on paper for example.
_ON_EVERY_SCREEN = re.compile(r"@media\s+(?:only\s+)?(?:screen|all)|@(?:layer|supports)\b.*", re.DOTALL)


class Rule(NamedTuple):
    """What holds for the elements that have all of these parts."""

    weight: tuple[int, int, int, int]
    """Ids, classes, tags, place: of several rules the heavier holds."""
    parts: frozenset[str]
    declared: Declarations


class Sheets:
    """The styles of the elements of one page."""

    def __init__(self, root: lxml.html.HtmlElement) -> None:
        self._rules: defaultdict[str, list[Rule]] = defaultdict(list)
        self._known: dict[tuple[str, ...], dict[str, str]] = {}
        for number, (parts, declared) in enumerate(_rules(root)):
            if number >= MOST_RULES:
                break
            self._add(number, parts, declared)

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags that have rules of their own in the style sheets."""
        return tuple(key for key in self._rules if key[0] not in ".#")

    def style(self, element: lxml.html.HtmlElement) -> dict[str, str]:
        """Return what holds for an element by the rules, and before them by its own style; nothing is inherited."""
        names = ("id", "class", "style")
        key = (str(element.tag), *(element.get(name, "") for name in names))
        if key not in self._known:
            self._known[key] = self._style(*key)
        return self._known[key]

    def _style(self, tag: str, name: str, classes: str, own: str) -> dict[str, str]:
        parts = {tag, f"#{name.lower()}", *(f".{one}" for one in classes.lower().split())}
        found = sorted(rule for part in parts for rule in self._rules.get(part, ()) if rule.parts <= parts)
        return merged([*(rule.declared for rule in found), declarations(plain_style(own))])

    def _add(self, number: int, parts: list[str], declared: Declarations) -> None:
        ids, classes = (sum(part[0] == sign for part in parts) for sign in "#.")
        weight = (ids, classes, len(parts) - ids - classes, number)
        self._rules[parts[-1]].append(Rule(weight, frozenset(parts), declared))


def _rules(root: lxml.html.HtmlElement) -> Iterator[tuple[list[str], Declarations]]:
    for sheet in root.iter("style"):
        if sheet.get("media", "all").strip().lower() in ("", "all", "screen"):
            for selectors, body in _blocks(plain_style(sheet.text or "")):
                declared = declarations(body)
                yield from ((parts, declared) for parts in map(_parts, selectors.split(",")) if parts)


def _blocks(sheet: str) -> Iterator[tuple[str, str]]:
    """Yield what stands before and in each pair of braces that holds on every screen."""
    pieces = _BRACE.split(sheet)
    opened: list[tuple[str, bool]] = []
    holds = True
    for text, brace in zip(pieces[0::2], pieces[1::2], strict=False):
        if brace == "{":
            before = text.rpartition(";")[2].strip()
            opened.append((before, holds))
            holds = holds and _ON_EVERY_SCREEN.fullmatch(before) is not None
        elif opened:
            selectors, holds = opened.pop()
            if holds:
                yield selectors, text


def _parts(selector: str) -> list[str]:
    """Return tag, ids and classes of a simple selector; nothing if it is not one."""
    found = _COMPOUND.fullmatch(selector.strip())
    if found is None:
        return []
    return [*([found.group(1)] if found.group(1) else []), *_SELECTOR_PART.findall(found.group(2))]

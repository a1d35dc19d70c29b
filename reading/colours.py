"""Colours of web pages as numbers, so that those which look alike are found however they are written."""

from __future__ import annotations

import colorsys
import re
from typing import NamedTuple

ALIKE = 12
"""Steps of 255 in each of red, green and blue between which nobody can read."""
CLEAR = 0.05

_HEX = re.compile(r"#([0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8})")
_FUNCTION = re.compile(r"(rgb|hsl)a?\(([^()]*)\)")
_PART = re.compile(r"([+-]?(?:\d{1,9}(?:\.\d{0,9})?|\.\d{1,9}))([a-z%]*)")
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
    """The colour that a style names in lower case; none if it is not understood."""
    text = _NAMES.get(text, text)
    if text == "transparent":
        return Colour(0, 0, 0, 0)
    if found := _HEX.fullmatch(text):
        return _from_digits(found.group(1))
    found = _FUNCTION.fullmatch(text)
    parts = _PART.findall(found.group(2)) if found else []
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

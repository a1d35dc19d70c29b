"""The record of a number in a text."""

from __future__ import annotations

from typing import NamedTuple

from ._number_tables import CURRENCY_NAMES, general_measure
from .words import may_be_year

ABOUT = 0.12
"""Relative tolerance for a fraction in words, as in "nearly half"."""
_LARGEST_COUNT = 12
"""Largest number in words that may count things that are listed."""


class Number(NamedTuple):
    """A number in a text."""

    value: float
    """Value with its scale and without sign: 1 200 000 for 1.2 million."""
    figure: float
    """Value as written, without scale: 1.2 for 1.2 million."""
    measure: str = ""
    """Its unit of measure or currency; empty if it has none."""
    step: float = 1.0
    """Place value of its last non-zero digit: 10 for 340."""
    name: str = ""
    """The number with the capitalised word before it, which may be a name: Route 7."""
    is_word: bool = False
    """Whether it is written as a word."""
    sign: int = 0
    """-1 if it is written as negative (by a minus, in words, or in brackets as in accounts), 1 with
    a plus, else 0."""
    direction: int = 0
    """-1 if words beside it state a fall (fell by 3 %), 1 if they state a rise, else 0."""
    may_be_negative: bool = False
    """Whether words near it can mean that it is negative: a fall, a loss, less."""
    is_name: bool = False
    """Whether it is part of a name: 40 in LX-40."""
    is_share: bool = False
    """Whether it is a fraction in words of a whole, in percent."""
    digits: str = ""
    """Its digits and separators as written; empty for words."""
    start: int = 0
    """Offset of its first digit or the currency before it, in characters."""
    end: int = 0
    words: str = ""
    """It as written, with scale and unit: "$1.2 million"."""

    @property
    def is_year(self) -> bool:
        """Whether it may be a year."""
        is_grouped = bool(self.digits) and not self.digits.isdecimal()
        if is_grouped or self.has_scale or self.measure not in ("", "year"):
            return False
        return self.step >= 1 and may_be_year(self.value)

    @property
    def is_count(self) -> bool:
        """Whether it may count things that are listed: two studies, in three respects."""
        return self.is_word and not self.measure and self.value <= _LARGEST_COUNT

    @property
    def scale(self) -> float:
        """What a scale word such as "million" multiplies it by; 1 if it has none."""
        return self.value / self.figure if self.figure else 1.0

    @property
    def has_scale(self) -> bool:
        """Whether it has a scale word such as "million"."""
        return self.value != self.figure

    @property
    def currency(self) -> str:
        """Its currency; empty if its unit is none."""
        return self.measure if self.measure in CURRENCY_NAMES else ""

    @property
    def general_measure(self) -> str:
        """The sign or word that several currencies share, such as "$" for Australian dollars;
        another unit of measure as it is."""
        return general_measure(self.measure)

    def may_have_measure_of(self, other: Number) -> bool:
        """Whether its unit of measure or currency and that of another number may be the same."""
        if self.measure == other.measure:
            return True
        return self.measure == other.general_measure or other.measure == self.general_measure

    def may_have_sign_of(self, other: Number) -> bool:
        """Whether it and another number may have the same sign.

        A fall can be written with a minus or in words: -3 %, fell by 3 %, a loss of 3 %. Words
        alone make a number negative or positive only if they state a change beside it. A number
        without them is positive, unless words near it allow that a minus is left out.
        """
        signs = (self.sign or self.direction, other.sign or other.direction)
        if 0 not in signs:
            return signs[0] == signs[1]
        for written, unsigned in ((self, other), (other, self)):
            if written.sign == -1 and not unsigned.may_be_negative:
                return False
        return True

    @property
    def readings(self) -> tuple[float, ...]:
        """The values that it may have: the point in 1.609 (million) may be a decimal or a grouping
        separator."""
        if self.digits.replace(".", "", 1).isdecimal():
            return self.value, float(self.digits) * self.scale
        return (self.value,)


def step_of(figure: str) -> float:
    """Return the place value of the last non-zero digit of a figure without grouping."""
    whole, _, decimals = figure.partition(".")
    if decimals:
        return 10.0 ** -len(decimals)
    significant = whole.rstrip("0") or "0"
    return 10.0 ** (len(whole) - len(significant))

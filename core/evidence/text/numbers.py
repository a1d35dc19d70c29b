"""Reads the numbers in a text, however they are written: sign, value, scale, unit of measure or
currency, and where they stand."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable
from functools import lru_cache

from ._around_numbers import direction_of
from ._chinese_numbers import numbers_in_chinese
from ._number import Number
from ._number_tables import (
    AMBIGUOUS_MEASURES,
    BELOW,
    CURRENCIES,
    CURRENCY_SIGNS,
    MEASURES,
    PLAIN_WORD,
    SCALES,
    UNIFORM_SIGNS,
    entry_at,
    general_measure,
    uniform_numbers,
)
from ._numbers_in_digits import figures_of, numbers_in_digits
from ._numbers_in_words import numbers_in_words
from .words import is_unspaced

__all__ = [
    "UNIFORM_SIGNS",
    "Number",
    "fractions_in",
    "measures_alone_in",
    "measures_in",
    "numbers_in",
    "numbers_stated",
    "plain_figures",
    "replace_numbers",
    "scales_in",
    "uniform_numbers",
]

_CLOSE = 150
"""Maximum distance, in characters, of a word that makes a number without a sign negative."""
_SHORTEST_MEASURE = 3
"""Minimum length of a unit of measure that is recognised without a number beside it, in letters."""
_FIGURE = re.compile(r"(?<!\d)\d{1,3}(?: \d{3})+(?!\d)|\d+(?:[.,']\d+)*")
_FIGURES = re.compile(r"[0-9][0-9]*(?:[ .,'][0-9]+)*")
"""Figures and what may stand between two of them: found faster, since a single digit comes
first, for which `re` scans."""
_MAY_BE_SEVERAL = re.compile(r"\d{1,3}(?: [1-9]\d\d){2,}")
"""Digits in groups that are one number, or several from columns of a table."""
_TOKEN = re.compile(rf"{PLAIN_WORD.pattern}|[^\w\s]")


def numbers_in(text: str, decimal: str = "") -> list[Number]:
    """Return the numbers in a text, in digits or words, in order.

    A date in digits gives its year and day. Fractions of a whole are left to `fractions_in`.
    `decimal` is the decimal sign of the text's language, if that is known; without it, 1.234 is
    more than a thousand.
    """
    return [number for number in _all_in(text, decimal) if not number.is_share]


def numbers_stated(text: str) -> list[Number]:
    """Return the numbers that a text may state: those of `numbers_in`, and those side by side that
    it reads as one, such as 664, 606 and 582 in "664 606 582"."""
    stated = list[Number]()
    for number in numbers_in(text):
        stated.append(number)
        run = _MAY_BE_SEVERAL.search(number.words)
        if run and run[0] == number.digits and not number.has_scale:
            stated += numbers_in(run[0].replace(" ", "; "))
    return stated


def fractions_in(text: str) -> list[Number]:
    """Return the fractions of a whole in a text, in percent: 66.7 for two thirds.

    Ordinals (third longest), periods (two quarters) and fractions of a unit of measure (half an
    hour, which is a number) are none.
    """
    return [number for number in _all_in(text, "") if number.is_share]


def replace_numbers(text: str, replacement: Callable[[Number], str]) -> str:
    """Return a line of arithmetic in which each number in digits, with scale and unit, is
    replaced; signs and brackets stay."""
    plain = uniform_numbers(text)
    parts = list[str]()
    position = 0
    for number in numbers_in_digits(plain, is_arithmetic=True):
        parts += [plain[position : number.start], replacement(number)]
        position = number.end
    return "".join([*parts, plain[position:]])


def plain_figures(text: str) -> frozenset[str]:
    """Return the numbers in digits in a text, each without grouping and with a decimal point.

    That is 1234.5 for 1.234,5. Digits that spaces group count as a whole and in parts.
    """
    figures = set[str]()
    for group in _FIGURES.findall(uniform_numbers(text)):
        for digits in _FIGURE.findall(group):
            figures.update(figures_of(digits) or [digits])
            if " " in digits:
                # They may be columns of a table, too.
                figures.update(digits.split(" "))
    return frozenset(figures)


def measures_in(text: str) -> frozenset[str]:
    """Return the units of measure that a text names; for "USD" also "$" (see `general_measure`)."""
    names = {name for _, name in _named_measures(text)}
    return frozenset(names | {general_measure(name) for name in names})


def measures_alone_in(text: str) -> frozenset[str]:
    """Return the units of measure that a text names without a number: a month, monthly, in
    percent."""
    measures = set[str]()
    for word, name in _named_measures(text):
        is_short = len(word) < _SHORTEST_MEASURE and word.isalpha()
        if not is_short and word not in AMBIGUOUS_MEASURES:
            measures.add(general_measure(name))
    for number in _all_in(text, ""):
        measures.discard(number.general_measure)
    return frozenset(measures)


def scales_in(text: str) -> frozenset[float]:
    """Return the scales that a text names, with a number (12 million) or alone (in millions)."""
    plain = uniform_numbers(text)
    scales = {number.scale for number in _all_in(text, "")}
    for word in PLAIN_WORD.finditer(plain):
        scale = entry_at(SCALES, plain, word.start())
        if not scale:
            continue
        value, end = scale
        is_money = plain[word.start() - 1 : word.start()] in CURRENCY_SIGNS
        if len(word[0]) > 1 or is_money or entry_at(CURRENCIES, plain, end):
            scales.add(value)
    return frozenset(scales - {1.0})


# The arguments as they are passed are the key: with a default for the second, a text would be read
# once with it and once without.
@lru_cache(maxsize=512)
def _all_in(text: str, decimal: str) -> tuple[Number, ...]:
    """Return the numbers in a text, with fractions of a whole, in order."""
    plain = uniform_numbers(text)
    numbers = [*numbers_in_digits(plain, decimal)]
    taken = bytearray(len(plain))
    for number in numbers:
        taken[number.start : number.end] = b"\1" * (number.end - number.start)
    below = [found.start() for found in BELOW.finditer(plain)]
    numbers += numbers_in_words(plain, taken)
    numbers += numbers_in_chinese(plain, taken)
    described = list[Number]()
    for number in sorted(numbers, key=lambda number: number.start):
        nearest = bisect_left(below, number.start - _CLOSE)
        may_be_negative = nearest < len(below) and below[nearest] <= number.start + _CLOSE
        described.append(
            number._replace(
                direction=direction_of(plain, number.start, number.end),
                may_be_negative=may_be_negative,
                words=text[number.start : number.end],
            )
        )
    return tuple(described)


@lru_cache(maxsize=64)
def _named_measures(text: str) -> tuple[tuple[str, str], ...]:
    """Return the words and signs for units of measure in a text, each with the unit's name."""
    plain = uniform_numbers(text)
    named = list[tuple[str, str]]()
    position = 0
    for token in _TOKEN.finditer(plain):
        if token.start() < position or is_unspaced(token[0]):
            continue
        entry = entry_at(MEASURES, plain, token.start())
        if entry:
            position = entry[1]
            named.append((plain[token.start() : position].casefold(), entry[0]))
    if '"' in plain or not plain.isascii():
        # Inch signs, and units that no space separates from what follows.
        for number in _all_in(text, ""):
            if number.measure:
                named.append((plain[number.start : number.end], number.measure))
    return tuple(named)

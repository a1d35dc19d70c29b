"""Reads numbers in digits: grouping of any country, fractions, powers, lists, and dates."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

from ._around_numbers import Following, account_bracket, currency_of, sign_of, what_follows
from ._chinese_numbers import CHINESE_FRACTION, chinese_fraction
from ._number import Number, step_of
from ._number_tables import CURRENCY_CODES, gap
from .words import UNSPACED, date_at

_LONGEST_FIGURE = 40
"""Maximum length of a number, in characters."""
_LONGEST_NAME = 40
"""Maximum length of a capitalised word that makes the number after it a name (Route 7), in
characters."""
_LONGEST_CURRENCY = 6
"""Maximum length of a currency before a number, in characters."""
_GROUP = 3
"""Number of digits in a group; in India, the groups before the last have two."""
_MONTHS = 12
_POWER = r"(?:(?:\^|\*\*)\{?[+-]?\d{1,3}\}?|[⁺⁻]?[⁰¹²³⁴-⁹]{1,3})"
_NUMBER = re.compile(
    rf"""
    (?=[.\d¼½¾⅐-⅞])
    (?:
        (?<![^\W{UNSPACED}]) (?<![^\W{UNSPACED}]\.) (?<!\d\.) (?<!\^) (?<!\^[-+])
        | (?<=(?<![A-Za-z])(?:{CURRENCY_CODES}))
    )
    (?:
        (?P<figure>
            \d{{1,3}} (?:[ ]\d{{3}})+ (?:[.,]\d+)? (?!\d)
            | \d+ (?:[.,]\d+|'\d{{3}})*
            | \.\d+
        )
        (?:[eE](?P<exponent>[+-]?\d{{1,3}})(?![^\W{UNSPACED}]))?
        (?:
            [ ]?(?P<part>[¼½¾⅐-⅞])
            | [ ](?P<numerator>\d{{1,2}})/(?P<denominator>\d{{1,2}})(?![\d/])
        )?
        (?:[ ]?[x*][ ]?10(?P<power>{_POWER}) | (?P<lone_power>{_POWER}))?
        | (?P<lone_part>[¼½¾⅐-⅞])
    )
    """,
    re.VERBOSE,
)
"""A number in digits: its figure, or a sign for a fraction, with what multiplies it."""
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻", "0123456789+-", "^*{}")
_DATE = re.compile(
    r"(?<![\w.,])(?:\d{1,4}([-./]) ?\d{1,2}\1 ?\d{1,4}(?!\d)|\d{4}-(?:0\d|1[0-2])(?!\w)"
    r"|\d{4} ?[年년] ?\d{1,2} ?[月월](?: ?\d{1,2} ?[日일])?)"
)
_YEARS = re.compile(r"(?<!\w)((?:19|20)(\d\d))([-/])(\d\d)(?!\w)")
_CURRENCY_BEFORE = re.compile(
    r"([A-Za-z]{0,3}[$€£¥₹₽₩₺₴₪₫฿]|(?<![A-Za-z])[A-Z]{3}|(?<!\w)Rs\.?) ?[-+(]?$"
)
_YEAR_BEFORE = re.compile(r"(?<!\d)\d{4} -$")
_WORD_BEFORE = re.compile(r"([^\W\d_][\w-]*) $")
_JOINED_BEFORE = re.compile(r"[^\W\d_]\w*(?:-\w+)*-$")
_PLAIN_FIGURE = re.compile(r"\d+(?:\.\d+)?")


class _Figure(NamedTuple):
    """The digits of a number, without what stands around them."""

    value: float
    step: float
    """Place value of its last non-zero digit."""
    digits: str
    """As written."""
    start: int
    end: int


def numbers_in_digits(
    plain: str, decimal: str = "", is_arithmetic: bool = False
) -> Iterator[Number]:
    """Yield the numbers in digits of a uniform text.

    `decimal` is the decimal sign of its language, if that is known. In arithmetic, 2000-40 is no
    range of years, and brackets are no signs.
    """
    position = 0
    for found in _NUMBER.finditer(plain):
        start = found.start()
        if start < position:
            continue
        numbers = list[Number]()
        if not is_arithmetic:
            numbers += _of_date(plain, start)
        if not numbers:
            fraction = CHINESE_FRACTION.match(plain, start)
            if fraction:
                numbers += chinese_fraction(fraction)
        if not numbers:
            for figure in _figures(found, decimal):
                numbers.append(_completed(figure, plain, is_arithmetic))
        yield from numbers
        if numbers:
            position = numbers[-1].end


def figures_of(digits: str, decimal: str = "") -> list[str]:
    """Return digits without grouping and with a decimal point (see `numbers_in_digits`).

    Several are returned for a list such as 5,10,15, and none for a version such as 1.2.3.
    """
    if digits.isdecimal() and len(digits) <= _LONGEST_FIGURE:
        return [digits]
    bare = re.sub(r"(?<=\d)[ '](?=\d{3})", "", digits)
    if len(bare) > _LONGEST_FIGURE:
        return []
    separators = re.findall(r"[.,]", bare)
    first, *others = re.split(r"[.,]", bare)
    if not separators:
        return [bare]
    last = others[-1]
    has_last_group = len(last) == _GROUP and 0 < len(first) <= _GROUP
    if len(separators) == 1:
        # One separator before three digits groups them, unless the number begins with 0.
        is_grouped = has_last_group and not first.startswith("0") and separators[0] != decimal
        return [first + last if is_grouped else f"{first or '0'}.{last}"]
    if len({*separators}) > 1:
        # The last separator is the decimal one: 1.234,5.
        is_number = separators[-1] not in separators[:-1]
        whole = "".join([first, *others[:-1]])
        return [f"{whole}.{last}"] if is_number else []
    lengths = {len(group) for group in others[:-1]}
    if has_last_group and lengths in ({2}, {_GROUP}):
        return ["".join([first, *others])]
    return [first, *others] if separators[0] == "," else []


def _of_date(plain: str, start: int) -> Iterator[Number]:
    """Yield the year and day of a date in digits at an offset, or both years of a range such as
    2024-26."""
    years = _YEARS.match(plain, start)
    if years:
        first, first_short, sign, last_short = years.groups()
        may_be_month = sign != "/" and int(last_short) <= _MONTHS
        if last_short > first_short and not may_be_month:
            yield _part_of_date(first, years)
            yield _part_of_date(first[:2] + last_short, years)
            return
    shape = _DATE.match(plain, start)
    date = date_at(plain, start) if shape else None
    if shape and date:
        year, _, month_and_day = date.iso.partition("-")
        yield _part_of_date(year, shape)
        day = month_and_day.partition("-")[2]
        if day:
            yield _part_of_date(day, shape)


def _part_of_date(digits: str, date: re.Match[str]) -> Number:
    value = float(digits)
    return Number(value, value, digits=digits, start=date.start(), end=date.end())


def _figures(found: re.Match[str], decimal: str) -> Iterator[_Figure]:
    """Yield the figure that `_NUMBER` has found, or several if it is a list."""
    start, end = found.span()
    if found["lone_part"]:
        part = unicodedata.numeric(found["lone_part"])
        yield _Figure(part, part, "", start, end)
        return
    figures = figures_of(found["figure"], decimal)
    if len(figures) > 1:
        for figure in figures:
            yield _Figure(float(figure), step_of(figure), figure, start, start + len(figure))
            start += len(figure) + 1
        return
    for figure in figures:
        value = float(figure)
        step = step_of(figure)
        if found["part"]:
            step = unicodedata.numeric(found["part"])
            value += step
        if found["numerator"]:
            denominator = max(1, int(found["denominator"]))
            step = 1 / denominator
            value += int(found["numerator"]) * step
        power = int((found["power"] or "0").translate(_SUPERSCRIPTS))
        power += int(found["exponent"] or 0)
        if found["lone_power"] and figure == "10":
            # 10^6 is the figure 10 with five more zeros.
            power += int(found["lone_power"].translate(_SUPERSCRIPTS)) - 1
        factor = float(f"1e{power}")
        if math.isfinite(value * factor):
            yield _Figure(value * factor, step * factor, found["figure"], start, end)


def _completed(figure: _Figure, plain: str, is_arithmetic: bool) -> Number:
    """Return a figure as a number, with the scale, unit, sign and name that stand around it."""
    start = figure.start
    end = figure.end
    currency = ""
    before = _CURRENCY_BEFORE.search(plain, max(0, start - _LONGEST_CURRENCY), start)
    if before:
        currency = currency_of(before[1])
    if before and currency:
        start = before.start()
    sign = sign_of(plain, start, figure.start)
    bracket = None if is_arithmetic else account_bracket(plain, figure.start)
    if bracket:
        sign = -1
        start = min(start, bracket.start())
    if bracket and not bracket["unit"]:
        end = bracket.end()

    following = what_follows(plain, end, bool(currency), "," in figure.digits)
    written = figure.value + following.half
    value = written * following.scale
    step = (following.half or figure.step) * following.scale
    measure = currency or following.measure
    end = following.end
    rest = _rest(plain, following)
    if bracket:
        end = max(end, bracket.end())
    if rest:
        # 1亿2000万, 5 crore 20 lakh.
        value += rest.value
        written = value
        step = rest.step
        measure = currency or rest.measure
        end = rest.end
    number = Number(
        value,
        written,
        measure,
        step,
        sign=sign,
        digits=figure.digits,
        start=start,
        end=end,
    )
    if number.is_year and _YEAR_BEFORE.search(plain, max(0, start - 7), start):
        # The dash belongs to a range.
        return number._replace(sign=0)
    if currency or number.is_year:
        return number
    return _named(number, plain, figure.start)


def _rest(plain: str, following: Following) -> Number | None:
    """Return the number with a smaller scale that continues a number, without what precedes it."""
    if following.scale == 1 or following.measure:
        return None
    found = _PLAIN_FIGURE.match(plain, gap(plain, following.end))
    if not found:
        return None
    after = what_follows(plain, found.end())
    value = float(found[0]) * after.scale
    is_smaller = 1 < after.scale < following.scale and value < following.scale
    if not is_smaller or after.half:
        return None
    return Number(value, value, after.measure, step_of(found[0]) * after.scale, end=after.end)


def _named(number: Number, plain: str, start: int) -> Number:
    """Return a number with the name to which it may belong: Route 7, LX-40."""
    before = plain[max(0, start - _LONGEST_NAME) : start]
    joined = _JOINED_BEFORE.search(before)
    if joined and joined[0][0].isupper():
        return number._replace(name=joined[0] + number.digits, is_name=True, sign=0)
    word = _WORD_BEFORE.search(before)
    if word and word[1][0].isupper():
        return number._replace(name=f"{word[1]} {number.digits}")
    return number

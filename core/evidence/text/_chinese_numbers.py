"""Reads numbers and fractions in Chinese characters, as Chinese and Japanese write them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ._around_numbers import sign_of, unit_at, what_follows
from ._number import ABOUT, Number, step_of
from ._number_tables import ORDINALS

_CHINESE_DIGITS = {**{digit: value for value, digit in enumerate("〇一二三四五六七八九")}, "零": 0}
_CHINESE_DIGITS |= {"两": 2, "兩": 2}
_CHINESE_UNITS = {"十": 10, "百": 100, "千": 1000}
_CHINESE_SCALES = {"万": 1e4, "萬": 1e4, "亿": 1e8, "億": 1e8, "兆": 1e12}
_CHINESE = re.compile(r"[〇零一二三四五六七八九两兩十百千万萬亿億兆点]+")
_CHINESE_HALF = re.compile(r"(?<![个個年月日天间間\d一二两三四五六七八九十])半")
CHINESE_FRACTION = re.compile(rf"({_CHINESE.pattern}|\d+)分(?:之|の)({_CHINESE.pattern}|\d+)")


def numbers_in_chinese(plain: str, taken: bytearray) -> Iterator[Number]:
    """Yield the numbers and fractions in Chinese characters, outside what is `taken`."""
    if plain.isascii():
        return
    yield from _halves(plain, taken)
    position = 0
    for found in _CHINESE.finditer(plain):
        start = found.start()
        if start < position or taken[start]:
            continue
        fraction = CHINESE_FRACTION.match(plain, start)
        if fraction:
            yield from chinese_fraction(fraction)
            position = fraction.end()
            continue
        value = _chinese_value(found[0])
        if value is None or plain[start - 1 : start] == "第":
            continue
        after = what_follows(plain, found.end())
        is_long = len(found[0]) > 1 or after.half
        if not is_long and (value == 1 or not after.measure):
            continue
        figure = value + after.half
        yield Number(
            figure,
            figure,
            after.measure,
            after.half or step_of(f"{value:.15g}"),
            is_word=True,
            sign=sign_of(plain, start, start),
            start=start,
            end=after.end,
        )
        position = after.end


def _halves(plain: str, taken: bytearray) -> Iterator[Number]:
    """Yield halves of units of measure, such as 半年; 上半年 is a period."""
    for half in _CHINESE_HALF.finditer(plain):
        start = half.start()
        unit = unit_at(plain, half.end())
        is_period = plain[start - 1 : start] in ORDINALS
        if unit and not taken[start] and not is_period:
            yield Number(0.5, 0.5, unit[0], ABOUT, is_word=True, start=start, end=unit[1])


def _chinese_value(characters: str) -> float | None:
    """Return the number that Chinese characters write; None if they are none."""
    whole, point, decimals = characters.partition("点")
    if point:
        places = [str(_CHINESE_DIGITS[digit]) for digit in decimals if digit in _CHINESE_DIGITS]
        units = _chinese_value(whole)
        if units is None or not places or len(places) < len(decimals):
            return None
        return units + float(f"0.{''.join(places)}")
    digits = [str(_CHINESE_DIGITS[digit]) for digit in characters if digit in _CHINESE_DIGITS]
    if len(digits) == len(characters):
        is_number = len(digits) in (1, len("二〇二四"))
        return float("".join(digits)) if is_number else None
    total = part = digit = 0.0
    has_digit = False
    for character in characters:
        if character in _CHINESE_DIGITS:
            digit = _CHINESE_DIGITS[character]
            has_digit = True
        elif character in _CHINESE_UNITS:
            if not has_digit and character != "十":
                return None
            part += (digit or 1) * _CHINESE_UNITS[character]
            digit = 0.0
            has_digit = True
        elif character in _CHINESE_SCALES and has_digit:
            total += (part + digit) * _CHINESE_SCALES[character]
            part = digit = 0.0
        else:
            return None
    return total + part + digit


def chinese_fraction(found: re.Match[str]) -> Iterator[Number]:
    """Yield a fraction such as 三分之二, or a percentage such as 百分之三."""
    values = list[float]()
    for written in found.groups():
        value = float(written) if written.isdecimal() else _chinese_value(written)
        if value is None and len(written) == 1:
            value = {**_CHINESE_DIGITS, **_CHINESE_UNITS}.get(written)
        if not value:
            return
        values.append(value)
    denominator, numerator = values
    percent = 100 * numerator / denominator
    is_percentage = denominator == 100
    step = step_of(f"{percent:.15g}") if is_percentage else 2 * ABOUT * percent
    yield Number(
        percent,
        percent,
        "%",
        step,
        is_word=True,
        is_share=not is_percentage,
        start=found.start(),
        end=found.end(),
    )

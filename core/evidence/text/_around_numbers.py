"""Reads what stands around the figure of a number: scale, unit of measure, sign, and words of
change."""

from __future__ import annotations

import re
from typing import NamedTuple

from ._number_tables import (
    BEFORE_AMOUNTS,
    CURRENCIES,
    CURRENCY_NAMES,
    FALLING,
    GAINS,
    JOINTS,
    LEVELS,
    LONG_SCALES,
    LOSSES,
    MEASURES,
    MINUS,
    MONEY_SCALES,
    OF_WORDS,
    PLAIN_WORD,
    PLUS,
    PLUS_HALF,
    RATES,
    RISING,
    SCALES,
    entry_at,
    gap,
)
from .words import STOP_WORDS, is_unspaced, may_be_year

_CAPITAL_SCALES = "KM"
_LONGEST_ABBREVIATION = 4
"""Maximum length of a scale that may be an abbreviation with a point, such as "Mlrd."."""
_WORDS_OF_CHANGE = 4
"""Number of words before and after a number among which one states a rise or a fall."""
_UNSPACED_WORDS = 8
"""The same for scripts without spaces, in characters."""
_NEAR = 60
"""Maximum distance of these words, in characters."""
_LONGEST_BEFORE_BRACKET = 40
"""Number of characters before a bracket that decide whether it is a sign."""
_FEWEST_IN_BRACKETS = 2
"""Minimum digits of a negative number in brackets; (1) counts something."""
_LONGEST_SIGN = 12
"""Maximum length of a word for a sign, with a space, in characters."""
_DECADE = re.compile(r"\d0s$")
_ACCOUNT_BRACKET = re.compile(
    r"\([$€£¥₹]? ?(?P<digits>\d[\d.,' ]*)(?P<unit>[A-Za-z]{1,3}|[%$€£¥₹])?\)"
)
_BEFORE_CELLS = ("", "|", "\n", "\t", ":", "=", "$", "€", "£", "¥", "₹")
"""Characters before a number in brackets that is all that stands there."""
_LONGEST_QUOTATION = 300
"""Number of characters before a mark in which a quotation may have been opened."""
_QUOTATION_MARK = re.compile('"')
_DIGIT_NEXT = re.compile(r" ?\d")
_LAST_WORD = re.compile(r"[^\W\d_]+$")
_BREAK = re.compile(r"[,;:.!?()|，；。：、]")


class Following(NamedTuple):
    """What follows a figure."""

    half: float
    """0.5 for "and a half", else 0."""
    scale: float
    """What its scale words multiply it by."""
    measure: str
    """Its unit of measure; empty if there is none."""
    end: int
    """Offset of the end of all that."""


def what_follows(
    plain: str, end: int, is_money: bool = False, has_comma: bool = False
) -> Following:
    """Return what follows a figure that ends at an offset.

    `is_money` says whether a currency precedes it, `has_comma` whether it is written with a comma.
    """
    half, end = _half_at(plain, end)
    scale, end = scale_at(plain, end, is_money, has_comma)
    measure, measure_end = measure_at(plain, end, scale > 1)
    if measure and not _DECADE.search(plain, max(0, end - 4), measure_end):
        end = measure_end
    else:
        measure = ""
    if measure and not half:
        half_here, half_end = _half_at(plain, end)
        if half_here and scale == 1:
            half, end = half_here, half_end
    return Following(half, scale, measure, end)


def _half_at(plain: str, end: int) -> tuple[float, int]:
    """Return 0.5 and the offset of its end if "and a half" follows, else 0 and the same offset."""
    entry = entry_at(PLUS_HALF, plain, gap(plain, end))
    return entry or (0.0, end)


def scale_at(
    plain: str, end: int, is_money: bool = False, has_comma: bool = False
) -> tuple[float, int]:
    """Return the product of the scale words that follow, and the offset of their end."""
    factor = 1.0
    while True:
        start = gap(plain, end)
        entry = entry_at(SCALES, plain, start) or _scale_of_currency(plain, start)
        if not entry:
            return factor, end
        value, word_end = entry
        is_direct = start == end or factor > 1
        may_be_letter = is_money and factor == 1
        if not _is_scale(plain, start, word_end, is_direct, may_be_letter):
            return factor, end
        folded = plain[start:word_end].casefold()
        if has_comma:
            # A billion is a million millions where the comma is the decimal sign.
            value *= LONG_SCALES.get(folded, 1.0)
        factor *= value
        end = word_end
        if len(folded) <= _LONGEST_ABBREVIATION and plain.startswith(". ", end):
            following = plain[end + 2 : end + 3]
            if following.islower() or entry_at(MEASURES, plain, end + 2):
                # The point ends an abbreviation, not a sentence: 5 Mio. Euro.
                end += 1


def _is_scale(plain: str, start: int, end: int, is_direct: bool, is_money: bool) -> bool:
    """Whether a word of the table of scales is one here.

    A letter (3.2m) or a word such as "mi" is a scale beside a currency only, except for capitals
    that stand directly on the figure (5M).
    """
    unit = entry_at(MEASURES, plain, start)
    if unit and unit[1] > end:
        return False
    word = plain[start:end]
    is_letter = len(word) == 1 and word.isascii()
    if is_letter and word in _CAPITAL_SCALES and is_direct:
        return True
    if not is_letter and word.casefold() not in MONEY_SCALES:
        return True
    point = int(plain.startswith(".", end))
    return is_money or entry_at(CURRENCIES, plain, gap(plain, end + point)) is not None


def _scale_of_currency(plain: str, start: int) -> tuple[float, int] | None:
    """Return the scale of a letter that is written together with a currency: M in MUSD."""
    letter = plain[start : start + 1]
    word = PLAIN_WORD.match(plain, start)
    if not word or letter.casefold() not in SCALES or not word[0][1:2].isupper():
        return None
    currency = entry_at(CURRENCIES, plain, start + 1)
    if not currency or currency[1] != word.end():
        return None
    return SCALES[letter.casefold()], start + 1


def measure_at(plain: str, end: int, has_scale: bool) -> tuple[str, int]:
    """Return the unit of measure that follows a figure or its scale, and the offset of its end.

    It may be the second word after it: 12 working days, 3 millions d'euros. "96 a year" has none.
    """
    start = gap(plain, end)
    entry = unit_at(plain, start)
    if entry:
        return entry
    if plain.startswith('"', end) and not _is_quoted(plain, end):
        return "inch", end + 1
    word = PLAIN_WORD.match(plain, start)
    if not word or is_unspaced(word[0]):
        return "", end
    folded = word[0].casefold()
    is_joint = has_scale and folded in OF_WORDS
    if (folded in RATES or folded in STOP_WORDS) and not is_joint:
        return "", end
    following = word.end()
    if plain[following : following + 1] not in (" ", "'"):
        return "", end
    return unit_at(plain, following + 1) or ("", end)


def _is_quoted(plain: str, end: int) -> bool:
    """Whether a quotation is open at an offset of a line.

    Behind a digit, a mark that closes no quotation is an inch sign.
    """
    is_open = False
    earliest = max(0, end - _LONGEST_QUOTATION)
    line_start = plain.rfind("\n", earliest, end) + 1
    for mark in _QUOTATION_MARK.finditer(plain, max(earliest, line_start), end):
        is_inch = plain[mark.start() - 1 : mark.start()].isdigit() and not is_open
        if not is_inch:
            is_open = not is_open
    return is_open


def unit_at(plain: str, start: int) -> tuple[str, int] | None:
    """Return the name of the unit of measure at an offset, and the offset of its end."""
    entry = entry_at(MEASURES, plain, start)
    if not entry:
        return None
    word = plain[start : entry[1]]
    is_letter = len(word) == 1 and word.isascii() and word.isalpha()
    if is_letter and word.isupper() and word != "L" and word not in MEASURES:
        return None
    is_sign = not word[0].isalpha() and entry[0] in CURRENCY_NAMES
    if is_sign and _DIGIT_NEXT.match(plain, entry[1]):
        # The sign belongs to the next number: 5 €6.
        return None
    return entry


def currency_of(sign: str) -> str:
    """Return the name of a currency by the sign or code before an amount; empty if there is
    none."""
    for form in (sign, sign.casefold().rstrip("."), sign[-1:]):
        if form in CURRENCIES:
            return CURRENCIES[form]
    return ""


def sign_of(plain: str, start: int, figure_start: int) -> int:
    """Return the sign with which a number is written: -1, 1, or 0 for none.

    `start` is the offset of its currency, if it has one before it.
    """
    if plain[figure_start - 1 : figure_start] in ("-", "+") and start < figure_start:
        return -1 if plain[figure_start - 1] == "-" else 1
    before = plain[max(0, start - _LONGEST_SIGN) : start]
    if MINUS.search(before):
        return -1
    if PLUS.search(before):
        return 1
    joined = before[-2:-1]
    if joined and not is_unspaced(joined) and (joined.isalnum() or joined in "%)."):
        # A hyphen, as in 10-15.
        return 0
    return {"-": -1, "+": 1}.get(before[-1:], 0)


def account_bracket(plain: str, figure_start: int) -> re.Match[str] | None:
    """Return the brackets that make a number negative, as in accounts: (1,250).

    Unlike a remark in brackets, they stand where a sentence or a table's cell needs a number.
    """
    inside = _ACCOUNT_BRACKET.match(plain, max(plain.rfind("(", 0, figure_start), 0))
    if not inside or inside.start("digits") != figure_start:
        return None
    digits = inside["digits"]
    if len(digits) < _FEWEST_IN_BRACKETS or (digits.isdecimal() and may_be_year(float(digits))):
        return None
    before = plain[max(0, inside.start() - _LONGEST_BEFORE_BRACKET) : inside.start()].rstrip(" ")
    if before[-1:] in _BEFORE_CELLS:
        return inside
    unit_start = gap(plain, inside.end())
    if entry_at(SCALES, plain, unit_start) or unit_at(plain, unit_start):
        return inside
    last_word = _LAST_WORD.search(before)
    is_needed = last_word is not None and last_word[0].casefold() in BEFORE_AMOUNTS
    return inside if is_needed else None


def direction_of(plain: str, start: int, end: int) -> int:
    """Return -1 if words beside a number state a fall, 1 if they state a rise, else 0."""
    before = _BREAK.split(plain[max(0, start - _NEAR) : start])[-1]
    after = _BREAK.split(plain[end : end + _NEAR])[0]
    nearest = list[str]()
    for word in reversed(PLAIN_WORD.findall(before)[-_WORDS_OF_CHANGE:]):
        folded = word.casefold()
        if folded in LEVELS:
            # It fell to 5: the number is where the change leads.
            return 0
        if folded in JOINTS:
            break
        nearest.append(folded)
    nearest += map(str.casefold, PLAIN_WORD.findall(after)[:_WORDS_OF_CHANGE])
    for rises, falls in ((RISING, FALLING), (GAINS, LOSSES)):
        for word in nearest:
            if falls.fullmatch(word):
                return -1
            if rises.fullmatch(word):
                return 1
    return _direction_unspaced(before[-_UNSPACED_WORDS:], after[:_UNSPACED_WORDS])


def _direction_unspaced(before: str, after: str) -> int:
    """Return the same for text in a script without spaces."""
    if before.isascii() and after.isascii():
        return 0
    for rises, falls in ((RISING, FALLING), (GAINS, LOSSES)):
        for near in (before, after):
            falling = any(is_unspaced(word) for word in falls.findall(near))
            rising = any(is_unspaced(word) for word in rises.findall(near))
            if falling != rising:
                return -1 if falling else 1
    return 0

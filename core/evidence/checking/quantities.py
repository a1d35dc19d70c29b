"""Reads the numbers in a text with their units of measure, and verifies calculations."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import NamedTuple

from ..text.words import WORDS, all_month_names, dates_in, may_be_year

_ABOUT = 0.12
"""Relative tolerance for a fraction in words, as in "nearly half"."""
_LARGEST_FREE = 12
"""Largest number in words that counts things without a source."""
_LONGEST_FIGURE = 40
"""Maximum length of a number, in characters."""
_LONGEST_NAME = 40
"""Maximum length of a capitalised word that makes the number after it a name (Route 7), in
characters."""
_MONTHS = 12
_SHORTEST_MEASURE = 3
"""Minimum length of a unit of measure that is recognised without a number beside it, in letters."""
UNIFORM_SIGNS = str.maketrans("–—‑−‐’‘“”„«»\u00a0\u202f", '-----\'\'"""""  ')
"""Table for `str.translate` that maps all dashes, quotation marks and spaces to one character of
each kind."""
_FIGURE = re.compile(r"\d+(?:[.,'’\u00a0\u202f]\d+)*")
NUMBER = re.compile(
    r"(?P<sign>[€£$]|°)?\s?(?<![\w.])(?P<figure>\d{1,3}(?: \d{3})+(?!\d)|\d+(?:[.,']\d+)*)"
    r"(?:[ -]?(?P<scale>[^\W\d_]+)(?![^\W_]))?"
    r"(?:[ -]?(?P<measure>°?[^\W\d_]+[²³]?|%|[€£$](?!\s?\d)))?"
)
_YEARS = re.compile(r"\b((?:19|20)(\d\d))([-/])(\d\d)\b")
_ISO = re.compile(r"\b(\d{4})-(?:0\d|1[0-2])(?:-(\d\d))?\b")
_CAPITALISED = re.compile(r"([^\W\d_a-zß-öø-ÿ][\w-]*) $")
_WORD = re.compile(r"[^\W\d_]+")
_MEASURE = re.compile(r"°?[^\W\d_]+[²³]?|[%€£$]")
_RATES = {"a", "an", "per", "pro", "je", "par", "por"}
"""Words before the second unit of a rate: 96 a year."""


def _lines(table: str) -> list[list[str]]:
    """Return the words of each line of a word table."""
    return list(map(str.split, WORDS[table].strip().splitlines()))


def _values(table: str) -> Mapping[str, float]:
    """Return the numbers of a word table, by word; each line has a number, then its words."""
    values = dict[str, float]()
    for value, *words in _lines(table):
        values.update(dict.fromkeys(words, float(value)))
    return values


def _names_of_measures() -> Mapping[str, str]:
    """Return the name of each unit of measure, by its forms: km by kilometres."""
    names = dict[str, str]()
    for forms in _lines("measures"):
        names.update(dict.fromkeys(forms, forms[0]))
    return names


_NUMBER_WORDS = _values("numbers")
_SCALES = _values("scales")
_SHARES = {word: 100 / value for word, value in _values("fractions").items()}
"""Values of fractions in words, in percent."""
_MEASURE_NAMES = _names_of_measures()
"""The name of each unit of measure, by its forms: km by kilometres."""


class Number(NamedTuple):
    """A number in a text."""

    value: float
    """Value including its scale: 1 200 000 for 1.2 million."""
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

    @property
    def is_year(self) -> bool:
        """Whether it may be a year."""
        return may_be_year(self.value) and self.step >= 1 and not self.measure

    @property
    def is_count(self) -> bool:
        """Whether it may count things that are listed: two studies, in three respects."""
        return self.is_word and not self.measure and self.value <= _LARGEST_FREE

    @property
    def has_scale(self) -> bool:
        """Whether it has a scale word such as "million"."""
        return self.value != self.figure


def plain_figures(text: str) -> frozenset[str]:
    """Return the numbers in digits in a text, as `plain_figure` writes them."""
    return frozenset(map(plain_figure, _FIGURE.findall(text)))


def plain_figure(number: str) -> str:
    """Return a number without digit grouping and with a decimal point: 1234.5 for 1.234,5."""
    bare = re.sub(r"['’ \u00a0\u202f]", "", number)
    # In a number that begins with 0, the separator is a decimal one.
    if not bare.startswith("0"):
        bare = re.sub(r"[.,](?=\d{3}(?:\D|$))", "", bare)
    return bare.replace(",", ".")


def numbers_in(text: str) -> list[Number]:
    """Return the numbers in digits in a text, then those in words.

    An ISO date gives its year and day.
    """
    plain = _ISO.sub(r"\1 \2", _YEARS.sub(_both_years, plain_text(text)))
    numbers = [read_number(found, plain) for found in NUMBER.finditer(plain)]
    # The "two" of "two thirds" and "two times" is no number.
    not_before = {*_SHARES, *WORDS["times"].split()}
    for word, following in pairwise([*_folded_words(plain), ""]):
        if word in _NUMBER_WORDS and following not in not_before:
            value = _NUMBER_WORDS[word]
            measure = _MEASURE_NAMES.get(following, "")
            numbers.append(Number(value, value, measure, is_word=True))
    return numbers


def _both_years(found: re.Match[str]) -> str:
    """Return both years of a range such as 2024-26.

    Other text, such as the month 2024-05, stays.
    """
    first, first_short, sign, last_short = found.groups()
    if last_short <= first_short:
        return found[0]
    if sign != "/" and int(last_short) <= _MONTHS:
        return found[0]
    return f"{first} {first[:2]}{last_short}"


def _folded_words(text: str) -> list[str]:
    return list(map(str.casefold, _WORD.findall(text)))


def fractions_in(text: str) -> list[Number]:
    """Return the fractions in words in a text, in percent: 66.7 for two thirds."""
    fractions = list[Number]()
    for before, word in pairwise(["", *_folded_words(text)]):
        if word in _SHARES:
            share = _NUMBER_WORDS.get(before, 1.0) * _SHARES[word]
            fractions.append(Number(share, share, "%", 2 * _ABOUT * share))
    return fractions


def is_about(number: Number, other: Number) -> bool:
    """Whether two percentages are equal to within the first one's step.

    The second may be given as a fraction of 1.
    """
    tolerance = number.step / 2
    is_near = abs(other.value - number.value) <= tolerance
    return is_near or abs(100 * other.value - number.value) <= tolerance


def measures_in(text: str) -> frozenset[str]:
    """Return the units of measure that a text names."""
    return frozenset(map(_MEASURE_NAMES.__getitem__, _named_measures(text)))


def measures_alone_in(text: str) -> frozenset[str]:
    """Return the units of measure that a text names without a number: a month, monthly, in
    percent."""
    ambiguous = WORDS["ambiguous_measures"].split()
    measures = set[str]()
    for word in _named_measures(text):
        is_short = len(word) < _SHORTEST_MEASURE and word.isalpha()
        if not is_short and word not in ambiguous:
            measures.add(_MEASURE_NAMES[word])
    for number in numbers_in(text):
        measures.discard(number.measure)
    return frozenset(measures)


def _named_measures(text: str) -> list[str]:
    """Return the words and signs for units of measure in a text."""
    return [
        word for word in _MEASURE.findall(plain_text(text).casefold()) if word in _MEASURE_NAMES
    ]


def months_in(text: str) -> frozenset[int]:
    """Return the months (from 1) that a text names, alone or in dates."""
    names = all_month_names()
    months = set[int]()
    for word in _WORD.findall(text):
        name = word.casefold()
        if len(word) > 3 and word[0].isupper() and name in names:
            months.add(names[name])
    for date in dates_in(text):
        if len(date.iso) > len("2024"):
            months.add(int(date.iso[5:7]))
    return frozenset(months)


def is_same_quantity(
    number: Number, other: Number, context: str, is_known: Callable[[str], bool]
) -> bool:
    """Whether two numbers are the same quantity.

    The scale (million) of `other` may be in `context`, the text around it; `is_known` says whether
    that text names a unit of measure.
    """
    if not _is_same_value(number, other, context):
        return False
    if not number.measure or number.measure == other.measure:
        return True
    return not other.measure and is_known(number.measure)


def _is_same_value(number: Number, other: Number, context: str) -> bool:
    if math.isclose(number.value, other.value, rel_tol=1e-9):
        return True
    if not math.isclose(number.figure, other.figure, rel_tol=1e-9):
        return False
    if not number.has_scale:
        return True
    if other.has_scale:
        return False
    # The scale may be named once, in a column's header.
    for word in _folded_words(context):
        scale = _SCALES.get(word)
        if scale and scale * number.figure == number.value:
            return True
    return False


def plain_text(text: str) -> str:
    """Return a text with `UNIFORM_SIGNS`, and with signs for words such as "per cent"."""
    plain = text.translate(UNIFORM_SIGNS)
    for sign, *forms in _lines("powers"):
        plain = re.sub(rf"(?i)\b(?:{'|'.join(forms)})\b", sign, plain)
    return plain


def read_number(found: re.Match[str], text: str) -> Number:
    """Return the number that `NUMBER` has found in a text.

    It is not a number (NaN) if it is too long or has two points.
    """
    figure = plain_figure(found["figure"])
    if figure.count(".") > 1 or len(figure) > _LONGEST_FIGURE:
        return Number(math.nan, math.nan)
    value = float(figure)
    whole, _, decimals = figure.partition(".")
    if decimals:
        step = 10.0 ** -len(decimals)
    else:
        significant = whole.rstrip("0") or "0"
        step = 10.0 ** (len(whole) - len(significant))

    sign = found["sign"]
    scale = (found["scale"] or "").casefold()
    measure = (found["measure"] or "").casefold()
    # A single letter is a scale only after an amount of money: £2m, but 74 m.
    is_scale = scale in _SCALES and (len(scale) > 1 or bool(sign))
    factor = _SCALES[scale] if is_scale else 1.0
    # The word after a number is its measure, unless it is a scale: 12 km, 12 million km; "96 a
    # year" has none.
    units = [sign]
    if is_scale:
        units.append(measure)
    elif scale not in _RATES:
        units += [scale, measure]
    name_of_measure = next((_MEASURE_NAMES[unit] for unit in units if unit in _MEASURE_NAMES), "")
    number = Number(value * factor, value, name_of_measure, step * factor)

    start = found.start("figure")
    before = _CAPITALISED.search(text[max(0, start - _LONGEST_NAME) : start])
    if before and not number.is_year:
        number = number._replace(name=f"{before[1]} {found['figure']}")
    return number

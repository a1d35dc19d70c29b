"""Reads the numbers in a text with their units of measure, and verifies calculations."""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from .words import FIRST_YEAR, LAST_YEAR, WORDS, all_month_names, dates_in

_NEAR = 0.006
"""Relative tolerance for a conversion factor in a calculation."""
_ABOUT = 0.12
"""Relative tolerance for a fraction in words, as in "nearly half"."""
_LARGEST_FREE = 12
"""Largest whole number that a calculation may use without a source."""
_LONGEST_CALCULATION = 300
"""Maximum length of a calculation, in characters."""
_LONGEST_FIGURE = 40
"""Maximum length of a number, in characters."""
_LONGEST_NAME = 40
"""Maximum length of a capitalised word that makes the number after it a name (Route 7), in characters."""
_MONTHS = 12
_SHORTEST_MEASURE = 3
"""Minimum length of a unit of measure that is recognised without a number beside it, in letters."""
UNIFORM_SIGNS = str.maketrans("–—‑−‐’‘“”„«»\u00a0\u202f", '-----\'\'"""""  ')
"""Table for `str.translate` that maps all dashes, quotation marks and spaces to one character of each kind."""
_FIGURE = re.compile(r"\d+(?:[.,'’\u00a0\u202f]\d+)*")
_NUMBER = re.compile(
    r"(?P<sign>[€£$]|°)?\s?(?<![\w.])(?P<figure>\d{1,3}(?: \d{3})+(?!\d)|\d+(?:[.,']\d+)*)"
    r"(?:[ -]?(?P<scale>[^\W\d_]+)(?![^\W_]))?"
    r"(?:[ -]?(?P<measure>°?[^\W\d_]+[²³]?|%|[€£$](?!\s?\d)))?"
)
_YEARS = re.compile(r"\b((?:19|20)(\d\d))([-/])(\d\d)\b")
_ISO = re.compile(r"\b(\d{4})-(?:0\d|1[0-2])(?:-(\d\d))?\b")
_CAPITALISED = re.compile(r"([^\W\d_a-zß-öø-ÿ][\w-]*) $")
_WORD = re.compile(r"[^\W\d_]+")
_MEASURE = re.compile(r"°?[^\W\d_]+[²³]?|[%€£$]")
_TIMES = re.compile(r"(?<=[\d)%])\s*[x×·]\s*(?=[\d(])")
_GROUPED = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_DECIMAL = re.compile(r"(\d+(?:\.\d+)?)\s*(%)?")
_EXPRESSION = re.compile(r"[-+*/().\de\s]+")
_RATES = {"a", "an", "per", "pro", "je", "par", "por"}
"""Words before the second unit of a rate: 96 a year."""
_OPERATIONS: Mapping[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


def _lines(table: str) -> list[list[str]]:
    """Return the words of each line of a word table."""
    return [line.split() for line in WORDS[table].strip().splitlines()]


def _values(table: str) -> Mapping[str, float]:
    """Return the numbers of a word table, by word; each line has a number, then its words."""
    return {word: float(value) for value, *words in _lines(table) for word in words}


_NUMBER_WORDS, _SCALES = _values("numbers"), _values("scales")
_SHARES = {word: 100 / value for word, value in _values("fractions").items()}
"""Values of fractions in words, in percent."""
_MEASURE_NAMES = {word: words[0] for words in _lines("measures") for word in words}
"""The name of each unit of measure, by its forms: km by kilometres."""
_FACTORS = [factor for *_, value in _lines("factors") for factor in (float(value), 1 / float(value))]


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
        return FIRST_YEAR <= self.value <= LAST_YEAR and self.step >= 1 and not self.measure

    @property
    def is_count(self) -> bool:
        """Whether it may count things that are listed: two studies, in three respects."""
        return self.is_word and not self.measure and self.value <= _LARGEST_FREE

    @property
    def has_scale(self) -> bool:
        """Whether it has a scale word such as "million"."""
        return self.value != self.figure


class Calculation(NamedTuple):
    """The lines of arithmetic with which a model derives a number."""

    lines: tuple[str, ...] = ()
    """One calculation each, such as `(48 - 40) / 40 = 20 %`, or a count, such as `Ash, Birch, Elm = 3`."""

    def results(self, stated: Sequence[Number], is_named: Callable[[str], bool]) -> list[float]:
        """Return the results of the lines whose numbers are all stated by sources or results of earlier lines.

        Whole numbers up to twelve, 100 and conversion factors need no source, if another number of the line has one.
        `stated` are the numbers in the sources; `is_named` says whether the sources name an item of a count.
        """
        # Numbers may be used as written: 5.5 and 8.9 for $5.5m and $8.9m, or below a header "in millions".
        known = [value for number in stated for value in (number.value, number.figure)]
        results = list[float]()
        for line in self.lines:
            left = line[:_LONGEST_CALCULATION].partition("=")[0].strip(" :")
            # In 60 % of 48, a percentage is a share; in 60 % - 40 %, it is a number.
            values = [value for percent in (0.01, 1.0) for value in _evaluated(left, percent, known)]
            counted = [item for item in re.split(r"[,;]\s", left) if item.strip()]
            if not values and len(counted) > 1 and all(is_named(item) for item in counted):
                values = [float(len(counted))]
            results += values
            known += values
        return results


def calculate(line: str) -> float | None:
    """Return the result of a line of arithmetic, with 5 % as 0.05; None if the line is anything else."""
    plain = _GROUPED.sub("", _TIMES.sub("*", _plain(line[:_LONGEST_CALCULATION])).replace("÷", "/"))
    expression = _DECIMAL.sub(lambda found: repr(float(found[1]) * (0.01 if found[2] else 1.0)), plain)
    return _result(expression)


def follows(number: Number, results: Iterable[float]) -> bool:
    """Whether a number is one of these results, rounded; results for a percentage may be fractions of 1."""
    scale = number.value / number.figure if number.figure else 1.0
    targets = {(number.value, number.step), (number.figure, number.step / scale)}
    factors = (1, 100) if number.measure == "%" else (1,)
    values = [abs(factor * result) for result in results for factor in factors]
    return any(abs(value - target) <= step / 2 * (1 + 1e-9) for target, step in targets for value in values)


def _evaluated(line: str, percent: float, known: Sequence[float]) -> list[float]:
    """Return the result of a line of arithmetic, then 1/n for each whole number n from 2 to 12 in it.

    The result is empty if the line is no arithmetic, if it has a number that needs a source (see `_is_free`) and is not
    `known`, or if it has no known number. `percent` is the value of a percent sign.
    """
    plain = _TIMES.sub("*", _plain(line)).replace("÷", "/")
    is_any_known, fractions = False, list[float]()

    def literal(found: re.Match[str]) -> str:
        nonlocal is_any_known
        number = _read(found, plain)
        # The point in 1.609 may be a decimal or a grouping separator.
        figure = found["figure"]
        readings = [number.value, float(figure)] if figure.replace(".", "", 1).isdecimal() else [number.value]
        of_sources = [value for value in readings if any(math.isclose(value, other, rel_tol=1e-9) for other in known)]
        value = [*of_sources, *filter(_is_free, readings), number.value][0]
        is_any_known |= bool(of_sources)
        if value in range(2, _LARGEST_FREE + 1):
            # A division by 2 gives a half.
            fractions.append(1 / value)
        if not of_sources and not _is_free(value):
            return "?"
        return repr(value * (percent if number.measure == "%" else 1.0))

    result = _result(_NUMBER.sub(literal, plain))
    return [] if result is None or not is_any_known else [result, *fractions]


def _result(expression: str) -> float | None:
    """Evaluate an expression of numbers, operators and brackets; None if it contains anything else."""

    def evaluate(node: ast.expr) -> float:
        match node:
            case ast.BinOp(left, sign, right) if type(sign) in _OPERATIONS:
                return _OPERATIONS[type(sign)](evaluate(left), evaluate(right))
            case ast.UnaryOp(ast.USub(), operand):
                return -evaluate(operand)
            case ast.Constant(float(value)):
                return value
        raise ValueError("no arithmetic")

    if not _EXPRESSION.fullmatch(expression):
        return None
    try:
        return evaluate(ast.parse(expression.strip(), mode="eval").body)
    except (SyntaxError, ArithmeticError, ValueError):
        return None


def _is_free(value: float) -> bool:
    """Whether a calculation may use a number without a source: a whole number up to 12, 100, or a conversion factor."""
    is_small = value in range(1, _LARGEST_FREE + 1)
    return is_small or value == 100 or any(abs(value - factor) <= _NEAR * factor for factor in _FACTORS)


def plain_figures(text: str) -> frozenset[str]:
    """Return the numbers in digits in a text, as `plain_figure` writes them."""
    return frozenset(plain_figure(found.group()) for found in _FIGURE.finditer(text))


def plain_figure(number: str) -> str:
    """Return a number in digits without digit grouping and with a decimal point: 1234.5 for 1.234,5."""
    bare = re.sub(r"['’ \u00a0\u202f]", "", number)
    # In a number that begins with 0, the separator is a decimal one.
    whole = bare if bare.startswith("0") else re.sub(r"[.,](?=\d{3}(?:\D|$))", "", bare)
    return whole.replace(",", ".")


def numbers_in(text: str) -> list[Number]:
    """Return the numbers in digits in a text, then those in words; an ISO date gives its year and day."""

    def both_years(found: re.Match[str]) -> str:
        # The year range 2024-26 has two years; 2024-05 is a month.
        is_span = found[4] > found[2] and (found[3] == "/" or int(found[4]) > _MONTHS)
        return f"{found[1]} {found[1][:2]}{found[4]}" if is_span else found[0]

    plain = _ISO.sub(r"\1 \2", _YEARS.sub(both_years, _plain(text)))
    numbers = [_read(found, plain) for found in _NUMBER.finditer(plain)]
    # The "two" of "two thirds" and "two times" is no number.
    not_before = {*_SHARES, *WORDS["times"].split()}
    words = [word.casefold() for word in _WORD.findall(plain)]
    for word, following in zip(words, [*words[1:], ""], strict=False):
        if word in _NUMBER_WORDS and following not in not_before:
            value = _NUMBER_WORDS[word]
            numbers.append(Number(value, value, _MEASURE_NAMES.get(following, ""), is_word=True))
    return numbers


def fractions_in(text: str) -> list[Number]:
    """Return the fractions in words in a text, in percent: 66.7 for two thirds."""
    words = [word.casefold() for word in _WORD.findall(text)]
    pairs = [(before, word) for before, word in zip(["", *words], words, strict=False) if word in _SHARES]
    found = [_NUMBER_WORDS.get(before, 1.0) * _SHARES[word] for before, word in pairs]
    return [Number(share, share, "%", 2 * _ABOUT * share) for share in found]


def is_about(number: Number, other: Number) -> bool:
    """Whether two percentages are equal to within the first one's step; the second may be given as a fraction of 1."""
    return any(abs(value - number.value) <= number.step / 2 for value in (other.value, 100 * other.value))


def measures_in(text: str) -> frozenset[str]:
    """Return the units of measure that a text names."""
    return frozenset(_MEASURE_NAMES[word] for word in _named_measures(text))


def measures_alone_in(text: str) -> frozenset[str]:
    """Return the units of measure that a text names, but not behind a number: a month, monthly, in percent."""
    words = {*_named_measures(text)}.difference(WORDS["ambiguous_measures"].split())
    named = {_MEASURE_NAMES[word] for word in words if len(word) >= _SHORTEST_MEASURE or not word.isalpha()}
    return frozenset(named - {number.measure for number in numbers_in(text)})


def _named_measures(text: str) -> list[str]:
    """Return the words and signs for units of measure in a text."""
    return [word for word in _MEASURE.findall(_plain(text).casefold()) if word in _MEASURE_NAMES]


def months_in(text: str) -> frozenset[int]:
    """Return the months (from 1) that a text names, alone or in dates."""
    names = all_month_names()
    words = [word for word in _WORD.findall(text) if len(word) > 3 and word[0].isupper()]
    named = {names[word.casefold()] for word in words if word.casefold() in names}
    return frozenset(named | {int(found.iso[5:7]) for found in dates_in(text) if len(found.iso) > 4})


def is_same_quantity(number: Number, other: Number, context: str, is_known: Callable[[str], bool]) -> bool:
    """Whether two numbers are the same quantity; the scale and unit of `other` may be given in the text around it.

    The scale (million) may be in `context`; `is_known` says whether the text names a unit of measure.
    """
    is_equal = math.isclose(number.value, other.value, rel_tol=1e-9)
    if not is_equal and math.isclose(number.figure, other.figure, rel_tol=1e-9):
        # The scale may be named once, in a column's header.
        named = (_SCALES.get(word.casefold(), 0) for word in _WORD.findall(context))
        is_named = any(factor and factor * number.figure == number.value for factor in named)
        is_equal = not number.has_scale or (not other.has_scale and is_named)
    if not is_equal:
        return False
    return not number.measure or number.measure == other.measure or (not other.measure and is_known(number.measure))


def _plain(text: str) -> str:
    """Return a text with `UNIFORM_SIGNS`, and with signs instead of words such as "square metres" and "per cent"."""
    plain = text.translate(UNIFORM_SIGNS)
    for sign, *forms in _lines("powers"):
        plain = re.sub(rf"(?i)\b(?:{'|'.join(forms)})\b", sign, plain)
    return plain


def _read(found: re.Match[str], text: str) -> Number:
    """Return the number that `_NUMBER` has found in a text; not a number (NaN) if it is too long or has two points."""
    figure = plain_figure(found["figure"])
    if figure.count(".") > 1 or len(figure) > _LONGEST_FIGURE:
        return Number(math.nan, math.nan)
    value = float(figure)
    scale, measure = (found["scale"] or "").casefold(), (found["measure"] or "").casefold()
    # A single letter is a scale only after an amount of money: £2m, but 74 m.
    factor = _SCALES.get(scale) if len(scale) > 1 or found["sign"] else None
    # The word after a number is its measure, unless it is a scale: 12 km, 12 million km; "96 a year" has none.
    following = [] if scale in _RATES else [measure] if factor else [scale, measure]
    named = next((_MEASURE_NAMES[unit] for unit in (found["sign"], *following) if unit in _MEASURE_NAMES), "")
    whole, _, decimals = figure.partition(".")
    step = 10.0 ** -len(decimals) if decimals else 10.0 ** (len(whole) - len(whole.rstrip("0") or "0"))
    start = found.start("figure")
    before = _CAPITALISED.search(text[max(0, start - _LONGEST_NAME) : start])
    number = Number(value * (factor or 1), value, named, step * (factor or 1))
    return number._replace(name=f"{before[1]} {found['figure']}") if before and not number.is_year else number

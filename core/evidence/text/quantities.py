"""Reads the numbers of a text with their units of measure, and calculates them again."""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from .words import FIRST_YEAR, LAST_YEAR, WORDS, all_month_names, dates_in

NEAR = 0.006
"""By how much of its value a converted number may differ."""
ABOUT = 0.12
"""By how much of its value a fraction in words may differ: nearly a half."""
LARGEST_FREE = 12
"""The largest whole number that a calculation may use without having it from a source: a half, a third, of four."""
LONGEST_CALCULATION = 300
"""Characters."""
LONGEST_FIGURE, LONGEST_NAME = 40, 40
"""Characters of a number, and of a word before it that may make it a name."""
MONTHS = 12
SHORTEST_MEASURE = 3
"""Letters of a unit of measure from which on it is one without a number beside it."""
SAME = str.maketrans("–—‑−‐’‘“”„«»\u00a0\u202f", '-----\'\'"""""  ')
"""Signs that mean the same, and the one that stands for each."""
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
_SIGNS: Mapping[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


class Number(NamedTuple):
    """A number in a text."""

    value: float
    """With its scale: 1.2 million is 1 200 000."""
    figure: float
    """As it is written."""
    measure: str = ""
    """Its unit of measure or currency; empty if none stands beside it."""
    step: float = 1.0
    """Value of its last digit that is not zero: 10 for 340."""
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
        """Whether it may count what a text lists: two studies, in three respects."""
        return self.is_word and not self.measure and self.value <= LARGEST_FREE

    @property
    def has_scale(self) -> bool:
        """Whether a word such as "million" stands beside it."""
        return self.value != self.figure


class Calculation(NamedTuple):
    """How numbers follow from others, as a model wrote it down, a line each: (48 - 40) / 40 = 20 %.

    A count lists the counted items: Ash, Birch, Elm = 3.
    """

    lines: tuple[str, ...] = ()

    def results(self, held: Sequence[Number], is_named: Callable[[str], bool]) -> list[float]:
        """Return what the lines come to whose numbers are all among those `held`, or results of lines before.

        Whole numbers up to twelve, 100 and factors between units of measure need no source, beside one that has. What
        is counted has to be named in the sources, as `is_named` tells.
        """
        # Numbers may be given as they are written: 5.5 and 8.9 for $5.5m and $8.9m, or below a head "in millions".
        known, results = [each for number in held for each in (number.value, number.figure)], list[float]()
        for line in self.lines:
            left = line[:LONGEST_CALCULATION].partition("=")[0].strip(" :")
            # In 60 % of 48, a percentage is a share; in 60 % - 40 %, it is a number.
            made = [each for percent in (0.01, 1.0) for each in _evaluated(left, percent, known)]
            counted = [one for one in re.split(r"[,;]\s", left) if one.strip()]
            if not made and len(counted) > 1 and all(is_named(one) for one in counted):
                made = [float(len(counted))]
            results += made
            known += made
        return results


def calculate(line: str) -> float | None:
    """Return what a line of arithmetic comes to, a percentage counted as a share; none if it is no arithmetic."""
    plain = _GROUPED.sub("", _TIMES.sub("*", _plain(line[:LONGEST_CALCULATION])).replace("÷", "/"))
    expression = _DECIMAL.sub(lambda found: repr(float(found[1]) * (0.01 if found[2] else 1.0)), plain)
    if not _EXPRESSION.fullmatch(expression):
        return None
    try:
        return _worth(ast.parse(expression.strip(), mode="eval").body)
    except (SyntaxError, ArithmeticError, ValueError):
        return None


def follows(one: Number, results: Iterable[float]) -> bool:
    """Whether a number is one of these results of calculations, rounded as it is written; a share may be in percent."""
    scale = one.value / one.figure if one.figure else 1.0
    targets = {(one.value, one.step), (one.figure, one.step / scale)}
    made = [abs(each) for result in results for each in (result, *([100 * result] if one.measure == "%" else []))]
    return any(abs(each - value) <= step / 2 * (1 + 1e-9) for value, step in targets for each in made)


def _evaluated(line: str, percent: float, known: Sequence[float]) -> list[float]:
    """Return what a line of arithmetic comes to, and the fractions in it; nothing if its numbers are not known."""
    plain, are_held, fractions = _TIMES.sub("*", _plain(line)).replace("÷", "/"), list[bool](), list[float]()

    def literal(found: re.Match[str]) -> str:
        number = _read(found, plain)
        # 1.609 may be a number with decimals, or with grouped digits.
        figure = found["figure"]
        written = [number.value, float(figure)] if figure.replace(".", "", 1).isdecimal() else [number.value]
        held = [one for one in written if _is_among(one, known)]
        value = [*held, *filter(_is_free, written), number.value][0]
        are_held.append(bool(held))
        # What is divided by 2 is a half.
        fractions.extend([1 / value] if value in range(2, LARGEST_FREE + 1) else [])
        share = percent if number.measure == "%" else 1.0
        return repr(value * share) if held or _is_free(value) else "?"

    expression = _NUMBER.sub(literal, plain)
    if not _EXPRESSION.fullmatch(expression) or not any(are_held):
        return []
    try:
        return [_worth(ast.parse(expression.strip(), mode="eval").body), *fractions]
    except (SyntaxError, ArithmeticError, ValueError):
        return []


def _worth(node: ast.expr) -> float:
    match node:
        case ast.BinOp(left, sign, right) if type(sign) in _SIGNS:
            return _SIGNS[type(sign)](_worth(left), _worth(right))
        case ast.UnaryOp(ast.USub(), of):
            return -_worth(of)
        case ast.Constant(float(value)):
            return value
    raise ValueError("no arithmetic")


def _is_free(value: float) -> bool:
    factors = _factors().values()
    return value in range(1, LARGEST_FREE + 1) or value == 100 or any(abs(value - one) <= NEAR * one for one in factors)


def _is_among(value: float, known: Iterable[float]) -> bool:
    return any(math.isclose(value, other, rel_tol=1e-9) for other in known)


def figures_of(text: str) -> frozenset[str]:
    """Return the numbers of a text, without what groups their digits; a comma and a point are the same."""
    return frozenset(plain_figure(found.group()) for found in _FIGURE.finditer(text))


def plain_figure(number: str) -> str:
    """Return a number without what groups its digits, with a point for a comma."""
    bare = re.sub(r"['’ \u00a0\u202f]", "", number)
    # A number that begins with 0 has decimals.
    whole = bare if bare.startswith("0") else re.sub(r"[.,](?=\d{3}(?:\D|$))", "", bare)
    return whole.replace(",", ".")


def numbers_in(text: str) -> list[Number]:
    """Return the numbers of a text, in figures and in words; of dates, the day and the year."""
    plain = _ISO.sub(r"\1 \2", _YEARS.sub(_both_years, _plain(text)))
    return [*(_read(one, plain) for one in _NUMBER.finditer(plain)), *_in_words(plain)]


def _both_years(found: re.Match[str]) -> str:
    """Return 2024-26 with both of its years in full; 2024-05 is a month."""
    is_span = found[4] > found[2] and (found[3] == "/" or int(found[4]) > MONTHS)
    return f"{found[1]} {found[1][:2]}{found[4]}" if is_span else found[0]


def fractions_in(text: str) -> list[Number]:
    """Return the fractions in words of a text, in percent: 66.7 for two thirds."""
    words = [word.casefold() for word in _WORD.findall(text)]
    shares, known = _shares_in_words(), _number_words()
    pairs = [(before, word) for before, word in zip(["", *words], words, strict=False) if word in shares]
    found = [known.get(before, 1.0) * shares[word] for before, word in pairs]
    return [Number(share, share, "%", 2 * ABOUT * share) for share in found]


def is_about(one: Number, other: Number) -> bool:
    """Whether a number is a percentage, in figures or as a fraction in words, as far as that is exact."""
    return any(abs(value - one.value) <= one.step / 2 for value in (other.value, 100 * other.value))


def measures_in(text: str) -> frozenset[str]:
    """Return the units of measure that are named in a text."""
    known = _measure_names()
    return frozenset(known[word] for word in _MEASURE.findall(_plain(text).casefold()) if word in known)


def measures_alone_in(text: str) -> frozenset[str]:
    """Return the units of measure that a text names without a number: a month, monthly, in percent."""
    known, ambiguous = _measure_names(), WORDS["ambiguous_measures"].split()
    words = [word for word in _MEASURE.findall(_plain(text).casefold()) if word in known and word not in ambiguous]
    named = {known[word] for word in words if len(word) >= SHORTEST_MEASURE or not word.isalpha()}
    return frozenset(named - {one.measure for one in numbers_in(text)})


def months_in(text: str) -> frozenset[int]:
    """Return the months that a text names, alone or in dates, from 1."""
    names = all_month_names()
    words = [word for word in _WORD.findall(text) if len(word) > 3 and word[0].isupper()]
    named = {names[word.casefold()] for word in words if word.casefold() in names}
    return frozenset(named | {int(one.iso[5:7]) for one in dates_in(text) if len(one.iso) > 4})


def is_same(one: Number, other: Number, context: str, is_known: Callable[[str], bool]) -> bool:
    """Whether two numbers are the same quantity; `other` may have its scale and unit of measure from its context.

    `is_known` tells which units of measure are named there.
    """
    is_equal = math.isclose(one.value, other.value, rel_tol=1e-9)
    if not is_equal and math.isclose(one.figure, other.figure, rel_tol=1e-9):
        # The scale may be named once, in the head of a column.
        is_equal = not one.has_scale or (not other.has_scale and _names_scale(context, one))
    if not is_equal:
        return False
    return not one.measure or one.measure == other.measure or (not other.measure and is_known(one.measure))


def _plain(text: str) -> str:
    """Return a text with one sign for each kind of dash, quotation mark and space, and signs for measures of space."""
    plain = text.translate(SAME)
    for sign, *forms in _lines("powers"):
        plain = re.sub(rf"(?i)\b(?:{'|'.join(forms)})\b", sign, plain)
    return plain


def _read(found: re.Match[str], text: str) -> Number:
    figure = plain_figure(found["figure"])
    if figure.count(".") > 1 or len(figure) > LONGEST_FIGURE:
        return Number(math.nan, math.nan)
    value = float(figure)
    scale, measure = (found["scale"] or "").casefold(), (found["measure"] or "").casefold()
    # A letter is a scale behind an amount of money alone: £2m, but 74 m.
    factor = _scales().get(scale) if len(scale) > 1 or found["sign"] else None
    # What follows the number directly is its measure, if it is no scale: 12 km, but 12 million km; of 96 a year, none.
    following = [] if scale in _RATES else [measure] if factor else [scale, measure]
    beside = [found["sign"] or "", *following]
    known = _measure_names()
    named = next((known[one] for one in beside if one in known), "")
    whole, _, decimals = figure.partition(".")
    step = 10.0 ** -len(decimals) if decimals else 10.0 ** (len(whole) - len(whole.rstrip("0") or "0"))
    start = found.start("figure")
    before = _CAPITALISED.search(text[max(0, start - LONGEST_NAME) : start])
    number = Number(value * (factor or 1), value, named, step * (factor or 1))
    return number._replace(name=f"{before[1]} {found['figure']}") if before and not number.is_year else number


def _names_scale(context: str, one: Number) -> bool:
    words = {word.casefold() for word in _WORD.findall(context)}
    return any(factor * one.figure == one.value for word, factor in _scales().items() if word in words)


def _in_words(text: str) -> Iterator[Number]:
    """Yield the numbers in words, but for those of fractions: two thirds."""
    known, measures = _number_words(), _measure_names()
    parts = {*_shares_in_words(), *WORDS["times"].split()}
    words = [word.casefold() for word in _WORD.findall(text)]
    for word, following in zip(words, [*words[1:], ""], strict=False):
        if word in known and following not in parts:
            yield Number(known[word], known[word], measures.get(following, ""), is_word=True)


@cache
def _shares_in_words() -> Mapping[str, float]:
    return {word: 100 / float(value) for value, *words in _lines("fractions") for word in words}


@cache
def _number_words() -> Mapping[str, float]:
    return {word: float(value) for value, *words in _lines("numbers") for word in words}


@cache
def _scales() -> Mapping[str, float]:
    return {word: float(value) for value, *words in _lines("scales") for word in words}


@cache
def _measure_names() -> Mapping[str, str]:
    return {word: words[0] for words in _lines("measures") for word in words}


@cache
def _factors() -> Mapping[tuple[str, str], float]:
    pairs = {(one, other): float(factor) for one, other, factor in _lines("factors")}
    return pairs | {(other, one): 1 / factor for (one, other), factor in pairs.items()}


def _lines(table: str) -> list[list[str]]:
    return [line.split() for line in WORDS[table].strip().splitlines()]

"""Compares the numbers of two texts, and verifies calculations."""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from ..text.numbers import (
    Number,
    general_measure,
    is_same_measure,
    replace_numbers,
    scales_in,
    uniform_numbers,
)
from ..text.words import WORDS, all_month_names, dates_in

_NEAR = 0.006
"""Relative tolerance for a conversion factor in a calculation."""
_LARGEST_FREE = 12
"""Largest whole number that a calculation may use without a source."""
_LONGEST_CALCULATION = 300
"""Maximum length of a calculation, in characters."""
_WORD = re.compile(r"[^\W\d_]+")
_TIMES = re.compile(r"(?<=[\d)%])\s*[x×·]\s*(?=[\d(])")
_GROUPED = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_DECIMAL = re.compile(r"(\d+(?:\.\d+)?)\s*(%)?")
_EXPRESSION = re.compile(r"[-+*/().\de\s]+")
_OPERATIONS: Mapping[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


def _conversion_factors() -> list[float]:
    """Return the conversion factors, in both directions."""
    factors = list[float]()
    for line in WORDS["factors"].strip().splitlines():
        *_, value = line.split()
        factors += [float(value), 1 / float(value)]
    return factors


_FACTORS = _conversion_factors()


def results_of(
    lines: Iterable[str], stated: Iterable[Number], is_named: Callable[[str], bool]
) -> list[float]:
    """Return the results of lines of arithmetic with which a model derives a number.

    A line is a calculation, such as `(48 - 40) / 40 = 20 %`, or a count, such as `Ash, Birch, Elm =
    3`. It counts only if its numbers are all stated by sources or results of earlier lines. Whole
    numbers up to twelve, 100 and conversion factors need no source, if another number of the line
    has one. `stated` are the numbers in the sources; `is_named` says whether the sources name an
    item of a count.
    """
    # Numbers may be used as written: 5.5 and 8.9 for $5.5m and $8.9m, or below a header "in
    # millions".
    known = list[float]()
    for number in stated:
        known += [number.value, number.figure]
    results = list[float]()
    for line in lines:
        left = line[:_LONGEST_CALCULATION].partition("=")[0].strip(" :")
        # In 60 % of 48, a percentage is a share; in 60 % - 40 %, it is a number.
        values = [*_evaluated(left, 0.01, known), *_evaluated(left, 1.0, known)]
        if not values:
            items = [item for item in re.split(r"[,;]\s", left) if item.strip()]
            if len(items) > 1 and all(map(is_named, items)):
                values = [float(len(items))]
        results += values
        known += values
    return results


def calculate(line: str) -> float | None:
    """Return the result of a line of arithmetic, with 5 % as 0.05; None if it is anything else."""

    def literal(found: re.Match[str]) -> str:
        value = float(found[1])
        if found[2]:
            value *= 0.01
        return repr(value)

    plain = _GROUPED.sub("", _plain_arithmetic(line[:_LONGEST_CALCULATION]))
    return _result(_DECIMAL.sub(literal, plain))


def follows(number: Number, results: Iterable[float]) -> bool:
    """Whether a number is one of these results, rounded.

    Results for a percentage may be fractions of 1.
    """
    values = list(map(abs, results))
    if number.measure == "%":
        values += [100 * value for value in values]
    scale = number.value / number.figure if number.figure else 1.0
    for target, step in ((number.value, number.step), (number.figure, number.step / scale)):
        tolerance = step / 2 * (1 + 1e-9)
        if any(abs(value - target) <= tolerance for value in values):
            return True
    return False


def _evaluated(line: str, percent: float, known: Sequence[float]) -> list[float]:
    """Return the result of a line of arithmetic, then 1/n for each whole number n from 2 to 12 in
    it.

    The result is empty if the line is no arithmetic, if it has a number that needs a source (see
    `_is_free`) and is not `known`, or if it has no known number. `percent` is the value of a
    percent sign.
    """
    plain = _plain_arithmetic(line)
    has_known = False
    fractions = list[float]()

    def literal(number: Number) -> str:
        nonlocal has_known
        readings = number.readings
        usable = [value for value in readings if _is_one_of(value, known)]
        if usable:
            has_known = True
        else:
            usable = [value for value in readings if _is_free(value)]
        if not usable:
            return "?"
        value = usable[0]
        if value in range(2, _LARGEST_FREE + 1):
            # A division by 2 gives a half.
            fractions.append(1 / value)
        if number.measure == "%":
            value *= percent
        return repr(value)

    result = _result(replace_numbers(plain, literal))
    if result is None or not has_known:
        return []
    return [result, *fractions]


def _plain_arithmetic(line: str) -> str:
    """Return a line of arithmetic with `*` and `/` as signs."""
    return _TIMES.sub("*", uniform_numbers(line)).replace("÷", "/")


def _is_one_of(value: float, others: Iterable[float]) -> bool:
    """Whether a number equals one of the others, except for rounding errors."""
    return any(math.isclose(value, other, rel_tol=1e-9) for other in others)


def _result(expression: str) -> float | None:
    """Evaluate an expression of numbers, operators and brackets.

    None if it contains anything else.
    """

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
    """Whether a calculation may use a number without a source.

    That is a whole number up to 12, 100, or a conversion factor.
    """
    if value in range(1, _LARGEST_FREE + 1) or value == 100:
        return True
    return any(abs(value - factor) <= _NEAR * factor for factor in _FACTORS)


def is_about(number: Number, other: Number) -> bool:
    """Whether two percentages are equal to within the first one's step.

    The second may be given as a fraction of 1.
    """
    tolerance = number.step / 2
    is_near = abs(other.value - number.value) <= tolerance
    return is_near or abs(100 * other.value - number.value) <= tolerance


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
    number: Number,
    other: Number,
    context: str,
    is_known: Callable[[str], bool],
    own_context: str = "",
) -> bool:
    """Whether two numbers are the same quantity, with the same sign.

    The scale (million) of `other` may be in `context`, the text around it, and that of `number` in
    `own_context`; `is_known` says whether the text around `other` names a unit of measure.
    """
    if number.is_name or other.is_name:
        return number.is_name and number.name.casefold() == other.name.casefold()
    if _has_other_sign(number, other) or not _is_same_value(number, other, own_context, context):
        return False
    if not number.measure or is_same_measure(number.measure, other.measure):
        return True
    return not other.measure and is_known(general_measure(number.measure))


def _has_other_sign(number: Number, other: Number) -> bool:
    """Whether one of two numbers is negative and the other is not.

    A fall can be written with a minus or in words: -3 %, fell by 3 %, a loss of 3 %. Words alone
    make a number negative or positive only if they state a change beside it. A number without
    them is positive, unless words near it allow that a minus is left out.
    """
    signs = (number.sign or number.direction, other.sign or other.direction)
    if 0 not in signs:
        return signs[0] != signs[1]
    for written, unsigned in ((number, other), (other, number)):
        if written.sign == -1 and not unsigned.may_be_negative:
            return True
    return False


def _is_same_value(number: Number, other: Number, own_context: str, context: str) -> bool:
    """Whether two numbers have the same value, with a scale that may be named once for many, as in
    a column's header."""
    if math.isclose(number.value, other.value, rel_tol=1e-9):
        return True
    if not math.isclose(number.figure, other.figure, rel_tol=1e-9):
        return False
    if number.has_scale and other.has_scale:
        return False
    scale = max(number.scale, other.scale)
    named = scales_in(context if number.has_scale else own_context)
    return any(math.isclose(scale, known, rel_tol=1e-9) for known in named)

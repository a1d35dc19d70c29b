"""Verifies calculations with which a model derives a figure: each input must be a premise."""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from ...records.research import Calculation, CalculationInput, InputOrigin
from ..text.numbers import (
    Number,
    fractions_in,
    measures_in,
    numbers_in,
    numbers_stated,
    replace_numbers,
    uniform_numbers,
)
from ..text.words import WORDS
from ._arithmetic import is_percent
from ._date_lines import DateLine, read_date_line

_NEAR = 0.006
"""Relative tolerance for a conversion factor in a calculation."""
_LARGEST_FREE = 12
"""Largest whole number that a calculation may use without a source."""
_LONGEST_CALCULATION = 300
"""Maximum length of a calculation, in characters."""
_PERCENT = 0.01
_TIMES = re.compile(r"(?<=[\d)%])\s*[x×·]\s*(?=[\d(])")
_GROUPED = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_DECIMAL = re.compile(r"(\d+(?:\.\d+)?)\s*(%)?")
_RATIO = re.compile(r"(?<![\d.,/*)])(\d+)\s*/\s*(\d+)(?![\d.,%])")
_WORDS_BEHIND = re.compile(
    r"(?<=[\d)])(?!e[-+]\d|\s*x\b)(?:\s*[^\W\d_]+(?:\s+[^\W\d_]+){0,2})?(?:\s*/\s*[^\W\d_]+)?"
    r"\s*(?=[-+*/)]|$)"
)
"""Words behind a number or bracket, which are a unit that `replace_numbers` does not know: cents,
vans. Signs do not stand for words: in "3 to 5", they are no arithmetic."""
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
        value = float(line.split()[-1])
        factors += [value, 1 / value]
    return factors


_FACTORS = _conversion_factors()


class Premise(NamedTuple):
    """A number from which a figure of the report may be calculated."""

    value: float
    origin: InputOrigin
    unit: str = ""
    """Its unit of measure; empty if it has none."""
    source: str = ""
    """Key of the source, if it comes from one."""

    @property
    def as_input(self) -> CalculationInput:
        """The record of its use in a calculation."""
        return CalculationInput(
            value=self.value, unit=self.unit, origin=self.origin, source=self.source
        )


def premises_in(text: str, origin: InputOrigin, source: str = "") -> list[Premise]:
    """Return the numbers of a text as premises.

    A number may be used as written, without its scale (5.5 for $5.5m), and a share as a percentage,
    as a part of 1 (0.04 for 4 %), as what is left of 1 or as what 1 grows to (0.96, 1.04).
    """
    premises = list[Premise]()
    for number in [*numbers_stated(text), *fractions_in(text)]:
        if not number.is_name:
            premises += _premises_of(number, number.readings, origin, source)
    return premises


def _premises_of(
    number: Number, readings: Iterable[float], origin: InputOrigin, source: str = ""
) -> list[Premise]:
    """Return a number, which may have several readings, as premises (see `premises_in`)."""
    values = [*readings, number.figure]
    if number.measure == "%":
        share = number.value * _PERCENT
        values += [share, 1 - share, 1 + share]
    return [Premise(value, origin, number.measure, source) for value in dict.fromkeys(values)]


class Calculated(NamedTuple):
    """What a model's lines of arithmetic lead to."""

    calculations: tuple[Calculation, ...] = ()
    """The lines that could be calculated again, in order."""
    results: tuple[float, ...] = ()
    """Their exact results, and the results as written where they are rounded rightly."""
    unknown: tuple[str, ...] = ()
    """Numbers of lines that are no premises, each with its line: "0.9 in `0.9 * 12 = 10.8`"."""
    wrong: tuple[str, ...] = ()
    """Lines whose result is not what they give, with what they give."""
    dates: tuple[str, ...] = ()
    """The dates that they lead to, in ISO form and as precise as they are written."""

    def with_records(
        self, records: Sequence[Calculation], cited: Collection[int] = ()
    ) -> Calculated:
        """Return it with calculations that were carried out before; what cites one of them by its
        number (`cited`) may also name its constants, as in "over ten years"."""
        constants = list[float]()
        for record in records:
            if record.number in cited:
                constants += [used.value for used in record.inputs]
        return self._replace(
            calculations=(*records, *self.calculations), results=(*self.results, *constants)
        )

    def leads_to(self, number: Number) -> bool:
        """Whether a number is one of the results or of the inputs that need a premise."""
        used = [*self.results]
        for calculation in self.calculations:
            if calculation.number and may_have_unit(number, calculation.unit):
                used.append(calculation.value)
                if is_percent(calculation.unit) and not number.measure:
                    # The table of a cell may name the unit once.
                    used.append(100 * calculation.value)
            for given in calculation.inputs:
                if given.origin != "constant":
                    used.append(given.value)
        return follows(number, used)

    def divides_into(self, fraction: Number) -> bool:
        """Whether a line uses the number of parts that a fraction in words has: 2 for a half."""
        parts = list[float]()
        for calculation in self.calculations:
            for given in calculation.inputs:
                if given.value in range(2, _LARGEST_FREE + 1):
                    parts.append(1 / given.value)
        return follows(fraction, parts)


def may_have_unit(number: Number, unit: str) -> bool:
    """Whether a number may be given in this unit, that is, its own is no other one."""
    measures = measures_in(unit)
    if not number.measure or not measures:
        return True
    return number.measure in measures or number.general_measure in measures


def recalculated(
    lines: Iterable[str],
    premises: Sequence[Premise],
    is_named: Callable[[str], bool],
    name: str,
    dates: Collection[str] = (),
) -> Calculated:
    """Calculate lines of arithmetic again with which a model derives a figure.

    A line is a calculation, such as `(48 - 40) / 40 = 20 %`, a count, such as `Ash, Birch, Elm =
    3`, or a date, such as `31 December 2027 - 9 months = 31 March 2027`, which starts from one of
    the `dates` (ISO) that are premises. It counts only if its numbers are all premises or results
    of earlier lines, exact or as written. Whole numbers up to twelve, 100 and conversion factors
    need no premise, if another number of the line has one. `is_named` says whether the sources name
    an item of a count; `name` is the statement that rests on the lines.
    """
    known = list(premises)
    calculations = list[Calculation]()
    results = list[float]()
    unknown = dict[str, str]()
    wrong = list[str]()
    proved = list[str]()
    for text in lines:
        date_line = read_date_line(text[:_LONGEST_CALCULATION])
        if date_line:
            periods = _premises_of_date(date_line, premises, {*dates, *proved})
            if not periods:
                unknown.setdefault(date_line.formula, f"{date_line.formula} in `{text.strip()}`")
            elif not date_line.proved:
                given = " or ".join(day.isoformat() for day in date_line.days)
                wrong.append(f"`{text.strip()}` gives {given or 'no date'}")
            else:
                proved += date_line.proved
                calculations.append(_record_of_date(date_line, periods, name))
            continue
        line = _Line(text, known, is_named)
        if not line.values:
            known += [Premise(value, "constant") for value in line.of_constants]
            if line.unknown:
                unknown.setdefault(line.unknown, f"{line.unknown} in `{text.strip()}`")
            continue
        calculation = line.record(name)
        calculations.append(calculation)
        if numbers_in(line.written) and not line.rounded:
            wrong.append(f"`{text.strip()}` gives {line.values[0]:.10g}")
        results += line.values
        for value in line.values:
            known.append(Premise(value, "calculation"))
        for number in line.rounded:
            results.append(number.value)
        known += results_as_premises(calculation)
    return Calculated(
        tuple(calculations), tuple(results), tuple(unknown.values()), tuple(wrong), tuple(proved)
    )


def _premises_of_date(
    line: DateLine, premises: Iterable[Premise], dates: Collection[str]
) -> list[Premise]:
    """Return the premises for the periods of a line; none if one of them, or the date that it
    starts from, is no premise."""
    found = list[Premise]()
    for period in line.periods:
        for premise in premises:
            is_unit = premise.unit in ("", period.unit)
            if is_unit and premise.value == abs(period.length) and premise.origin != "constant":
                found.append(premise)
                break
    if len(found) < len(line.periods) or not line.starts_from(dates):
        return []
    return found


def _record_of_date(line: DateLine, periods: Iterable[Premise], name: str) -> Calculation:
    """Return the record of a line that derives a date; its value is that of the day in the
    calendar."""
    [day, *_] = line.days
    return Calculation(
        name=name,
        formula=line.formula,
        inputs=tuple(premise.as_input for premise in periods),
        value=day.toordinal(),
        result=line.result,
        is_rounded=True,
    )


def results_as_premises(calculation: Calculation) -> list[Premise]:
    """Return the result of a calculation as premises of others: exact, and as written if it is
    rounded rightly."""
    premises = [Premise(calculation.value, "calculation")]
    for number in _rounded_rightly(calculation.result, [calculation.value]):
        premises += _premises_of(number, [number.value], "calculation")
    return premises


def calculate(line: str) -> float | None:
    """Return the result of a line of arithmetic, with 5 % as 0.05; None if it is anything else."""

    def literal(found: re.Match[str]) -> str:
        value = float(found[1])
        if found[2]:
            value *= _PERCENT
        return repr(value)

    plain = _GROUPED.sub("", _plain_arithmetic(line[:_LONGEST_CALCULATION]))
    return _result(_DECIMAL.sub(literal, plain))


def follows(number: Number, results: Iterable[float]) -> bool:
    """Whether a number is one of these results, rounded.

    Results for a percentage may be fractions of 1.
    """
    values = list(map(abs, results))
    return any(_is_one_of(values, reading) for reading in _readings(number))


def _is_one_of(values: Sequence[float], number: Number) -> bool:
    """Whether a number, in one reading, is one of these values without sign, rounded."""
    if number.measure == "%":
        values = [*values, *(100 * value for value in values)]
    scale = number.scale
    for target, step in ((number.value, number.step), (number.figure, number.step / scale)):
        tolerance = abs(step) / 2 * (1 + 1e-9)
        if any(abs(value - abs(target)) <= tolerance for value in values):
            return True
    return False


class _Line:
    """A line of a model's arithmetic, calculated again."""

    def __init__(
        self, text: str, known: Sequence[Premise], is_named: Callable[[str], bool]
    ) -> None:
        """`known` are the premises; `is_named` as in `recalculated`."""
        formula, _, written = text[:_LONGEST_CALCULATION].partition("=")
        self.formula = formula.strip(" :")
        self.written = written.strip()
        """Its result as the model wrote it; empty if it wrote none."""
        attempts = list[_Attempt]()
        for is_decimal in (False, True):
            # In 60 % of 48, a percentage is a share; in 60 % - 40 %, it is a number.
            for percent in (_PERCENT, 1.0):
                attempts.append(_Attempt(self.formula, percent, known, is_decimal=is_decimal))
        self.inputs: Sequence[Premise] = attempts[0].inputs
        """Its premises and constants."""
        self.unknown = attempts[0].unknown
        """Its first number that is neither, as written; empty if there is none."""
        self.values = list[float]()
        """Its results in all readings; empty if one of its numbers is unknown, or if it is no
        arithmetic and no count."""
        self.of_constants = list[float]()
        """Its results if it has no premise, such as the days of two weeks: they prove nothing."""
        for attempt in attempts:
            if attempt.result is None:
                continue
            target = self.values if attempt.has_premise else self.of_constants
            if attempt.result not in target:
                target.append(attempt.result)
            if _rounded_rightly(self.written, [attempt.result]):
                self.inputs = attempt.inputs
        if not self.values and _counts_named_items(self.formula, is_named):
            self.values = [float(len(_items(self.formula)))]
            self.inputs = ()

    @property
    def rounded(self) -> list[Number]:
        """Its result as written, if it is one of the values, rounded (see `_rounded_rightly`)."""
        return _rounded_rightly(self.written, self.values)

    def record(self, name: str) -> Calculation:
        """Return its record; `name` is the statement that rests on it."""
        value = self.values[0]
        for other in self.values:
            if _rounded_rightly(self.written, [other]):
                value = other
                break
        return Calculation(
            name=name,
            formula=self.formula,
            inputs=tuple(premise.as_input for premise in self.inputs),
            value=value,
            result=self.written,
            is_rounded=bool(self.rounded),
        )


class _Attempt:
    """An attempt to calculate a formula with percentages of one kind."""

    def __init__(
        self, formula: str, percent: float, known: Sequence[Premise], *, is_decimal: bool
    ) -> None:
        """`percent` is the value of a percent sign; `known` are the premises; `is_decimal`: the
        point in 1.016 is rather a decimal than a grouping separator."""
        self.inputs = list[Premise]()
        """The premises and constants that it uses, in order."""
        self.unknown = ""
        """The first number that is neither, as written; empty if there is none."""
        self._percent = percent
        self._known = known
        self._is_decimal = is_decimal
        self._plain = self._with_shares(_plain_arithmetic(formula))
        expression = replace_numbers(self._plain, self._literal)
        self.result: float | None = None
        """The result; None if the formula is no arithmetic, or has a number that is neither."""
        if not self.unknown and self.inputs:
            self.result = _result(_WORDS_BEHIND.sub("", expression.strip()))

    @property
    def has_premise(self) -> bool:
        """Whether it uses a number that is no constant."""
        return any(given.origin != "constant" for given in self.inputs)

    def _with_shares(self, formula: str) -> str:
        """Return the formula with each ratio that is a known share, such as 17/20 for 85 %, as a
        decimal."""

        def decimal(found: re.Match[str]) -> str:
            parts = (float(found[1]), float(found[2]))
            if not parts[1] or all(self._premise(part) for part in parts):
                return found[0]
            share = parts[0] / parts[1]
            return repr(share) if self._premise(share) else found[0]

        return _RATIO.sub(decimal, formula)

    def _premise(self, value: float) -> Premise | None:
        """Return the premise with this value, except for rounding errors."""
        for premise in self._known:
            if math.isclose(value, abs(premise.value), rel_tol=1e-9):
                return premise
        return None

    def _literal(self, number: Number) -> str:
        """Return a number of the formula for Python, and note where it comes from."""
        readings = number.readings
        if self._is_decimal:
            readings = readings[::-1]
        for value in readings:
            premise = self._premise(value)
            if premise is None and number.measure == "%":
                # 96 % is the 0.96 that a discount of 4 % leaves.
                premise = self._premise(value * _PERCENT)
            if premise is None and is_constant(value):
                premise = Premise(value, "constant", number.measure)
            if premise is not None:
                self.inputs.append(premise._replace(value=value))
                if number.measure == "%":
                    value *= self._percent
                return repr(value)
        self.unknown = self.unknown or number.digits
        return "?"


def _readings(number: Number) -> list[Number]:
    """Return a number as it may be meant: the point in 1.016 may be a decimal or a grouping
    separator."""
    readings = [number]
    for value in number.readings[1:]:
        scale = number.scale
        step = scale * 10.0 ** -len(number.digits.partition(".")[2])
        readings.append(number._replace(value=value, figure=value / scale, step=step))
    return readings


def _rounded_rightly(written: str, values: Sequence[float]) -> list[Number]:
    """Return the first number of a result as written, if it is one of these values, rounded."""
    rounded = list[Number]()
    for number in numbers_in(written)[:1]:
        for reading in _readings(number):
            if _is_one_of(list(map(abs, values)), reading):
                rounded.append(reading)
    return rounded


def _items(line: str) -> list[str]:
    """Return the items that a line lists."""
    return [item for item in re.split(r"[,;]\s", line) if item.strip()]


def _counts_named_items(line: str, is_named: Callable[[str], bool]) -> bool:
    """Whether a line lists at least two things, which are all named."""
    items = _items(line)
    return len(items) > 1 and all(map(is_named, items))


def _plain_arithmetic(line: str) -> str:
    """Return a line of arithmetic with `*` and `/` as signs."""
    return _TIMES.sub("*", uniform_numbers(line)).replace("÷", "/")


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


def is_constant(value: float) -> bool:
    """Whether a calculation may use a number without a premise.

    That is a whole number up to 12, a half, 100, a scale such as a million, or a conversion factor.
    """
    if value in range(_LARGEST_FREE + 1) or value in (0.5, 100, 1e6, 1e9):
        return True
    return any(abs(value - factor) <= _NEAR * factor for factor in _FACTORS)

"""Evaluates formulas as models write them: numbers with units of measure, results of other
calculations, and one unknown."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import NamedTuple

from ..text.numbers import Number, numbers_in, replace_numbers, scales_in, uniform_numbers
from ..text.words import WORDS

_LONGEST = 1_000
"""Maximum length of a formula, in characters."""
_DEEPEST = 50
"""Maximum number of nested brackets and signs."""
_LARGEST_EXPONENT = 100
_PERCENT = 0.01
_NEAR = 1e-9
"""Relative tolerance for rounding errors."""
_TRIED = (1.0, 2.0, 3.0, 5.0)
"""Values of x with which an equation is tried."""
_FIRST_MARKER, _FIRST_NUMBER = 0xE000, 0xE800
"""Code points that stand for the first citation and the first number of a formula while it is
read."""
_MARKER = re.compile(
    r"[\[【](?:source )?(?P<source>\d{1,4})(?:, ?\d{1,4})*[\]】]"
    r"|[\[【(]calc(?:ulation)?\.? ?#?(?P<calculation>\d{1,4})[\]】)]"
    r"|[\[【(](?P<request>(?:your |the |user's )?request)[\]】)]",
    re.IGNORECASE,
)
_NO_NAMES: Mapping[str, str] = MappingProxyType({})
_SIGNS = str.maketrans("×·⋅∙÷", "****/")
_TIMES = re.compile(r"(?<=[\w)%€$£¥°\]\ue000-\uf8ff])\s*\bx\b\s*(?=[\d(\[$€£¥\ue000-\uf8ff])")
"""An x that stands for a multiplication sign."""
_POWER = re.compile(r"(?<=[\d)%\ue000-\uf8ff])\s*\^\s*")
_DIGITS = re.compile(r"^\D*[\d.,'\s]+")
_SCALE_BEHIND_CURRENCY = re.compile(
    r"(?<=\d)\s*(?P<currency>[€$£¥]|[A-Z]{3})\s*(?P<scale>million|billion|thousand|m|bn|k)\b"
)
"""A number such as `3.1 £ million`, whose scale is read only before the currency."""
_PER = re.compile(r"\s*(?:/|per\b)\s*(?P<per>[^\W\d_]\w*)")
_OTHER_END = re.compile(r"\s*(?:[-–—]|to\b|and\b|bis\b|und\b|à\b|et\b)\s*(?=\d)")
"""What stands between the ends of a range: 27 and 41 %, 27–41 %."""
_COUNT = re.compile(r"\s*(?P<count>\d+(?:[ ,.']\d{3})*)\s*(?=\D)")
"""The count of a unit: 100 in "100 km"."""
_WORD = r"(?!(?:x|per|of)\b)[^\W\d_]\w*"
_COUNTED = rf"(?:1(?:0|[ ,.']000)+ ?)?{_WORD}"
"""A unit behind a slash, also with a count: 100 km."""
_BEFORE_COUNT = re.compile(
    r"[^\s/](?<![^\W\d_])\s*(?P<unit>[€$£¥]|[^\W\d_]\w*)\s*(?:/|\bper\b)\s*$"
)
_COUNT_OF_UNIT = re.compile(rf"1(?:0|[ ,.']000)+ ?(?P<unit>{_WORD})")
_SIGN_BEHIND_MARKER = re.compile(
    rf"(?P<marker>\s*[\ue000-\ue7ff])\s*(?P<sign>[%€$£¥](?:\s*(?:/|\bper\b)\s*{_COUNTED})?)"
)
"""A unit that is read only beside its number: 80 [1] %."""
RESTATED = re.compile(
    r"(?<![\w.,'])\d[\d.,']*(?: \d{3})*"
    rf"(?:\s*(?:[%€$£¥]|{_WORD}))*(?:\s*(?:/\s*|per\s+){_COUNTED})?"
    r"\s*(?P<marker>\[calc (?P<calculation>\d{1,4})\])"
)
"""A number beside the calculation from which it comes: 1.44 €/l [calc 2]."""
HUNDREDTH = re.compile(
    r"(?P<percentage>\[calc (?P<calculation>\d{1,4})\]|%(?:\s*\[[\d, ]+\])?)"
    r"\s*/\s*100(?![\d.,]|\s*[\w%\[€$£¥])"
)
"""What may be a percentage, divided by 100 as one does on paper: 20 % [3] / 100."""
_TOKEN = re.compile(
    rf"(?P<number>[\ue800-\uf8ff])(?P<before>\s*[\ue000-\ue7ff])?"
    rf"(?P<words>(?:\s*{_WORD})*)(?:\s*(?:/\s*|per\s+)(?P<per>{_COUNTED}(?:\s*/\s*{_WORD})?))?(?P<source>\s*[\ue000-\ue7ff])?"
    rf"|(?P<close>\))(?P<unit>\s*(?:[%€$£¥]|{_WORD}(?:\s+{_WORD})*)(?:\s*(?:/\s*|per\s+){_COUNTED})?)?"
    r"|(?P<marker>[\ue000-\ue7ff])|(?P<unknown>[xX?](?!\w))|(?P<sign>[-+*/^(=])"
    r"|(?P<space>\s+)|(?P<other>\w+|\S)"
)


class FormulaFault(Exception):
    """A formula that cannot be calculated; the message says why, for the model."""


Dimension = Mapping[str, int]
"""The units of measure of a quantity with their exponents: € with 1 and year with -1 for €/year."""


class Quantity(NamedTuple):
    """A value with its unit of measure."""

    value: float
    """A share is a fraction of 1."""
    dimension: Dimension
    is_sure: bool = True
    """Whether the unit of each number behind it is known."""
    is_share: bool = False
    """Whether it is in percent, as all numbers of which it is a sum."""


class Operand(NamedTuple):
    """A number of a formula."""

    number: Number
    written: str
    """It as written, with its unit."""
    unit: str = ""
    """Its unit as written, such as €/year; may be empty."""
    source: int = 0
    """The number of the source that the model names for it; 0 for none."""
    is_from_request: bool = False
    """Whether the model says that it is from the user's request."""

    @property
    def is_plain(self) -> bool:
        """Whether it has no unit and no source."""
        return not (self.unit or self.source or self.is_from_request)

    def quantity(self, value: float) -> Quantity:
        """Return it as a quantity; `value` is the one of its readings that is meant."""
        if self.number.measure == "%":
            return Quantity(value * _PERCENT, {}, is_share=True)
        value *= _share_of_count(self.unit)
        return Quantity(value, dimension_of(self.unit), is_sure=bool(self.unit))


class _Token(NamedTuple):
    """A part of a formula."""

    kind: str
    """A sign or bracket, or `number`, `calculation` or `unknown`."""
    which: int = 0
    """Of a number its index, of a calculation its number."""
    unit: str = ""
    """The unit as written behind a closing bracket, which is that of the bracket: (75 - 55) €/t."""


class Formula:
    """A formula, taken apart; raises `FormulaFault` if it is none."""

    def __init__(self, text: str) -> None:
        if len(text) > _LONGEST:
            raise FormulaFault("it is too long; calculate in steps")
        words = " ".join(_MARKER.sub(_kept_marker, text).split()).strip(" :;.")
        self.text = words.replace(" )", ")")
        """It as written, without the sources of its numbers."""
        self.operands = list[Operand]()
        """Its numbers, in order."""
        self._tokens = list[_Token]()
        markers = list[re.Match[str]]()
        numbers = list[tuple[Number, str]]()

        def hide_marker(found: re.Match[str]) -> str:
            markers.append(found)
            return chr(_FIRST_MARKER + len(markers) - 1)

        def hide_number(number: Number) -> str:
            counted = _COUNT_OF_UNIT.match(plain, number.start)
            before = _BEFORE_COUNT.search(plain, 0, number.start)
            if counted and before and counted["unit"] != before["unit"]:
                # "kWh/100 km" is one unit, also behind a sign of division.
                return counted[0]
            numbers.append((number, plain[number.start : number.end].strip()))
            return chr(_FIRST_NUMBER + len(numbers) - 1)

        in_order = _SCALE_BEHIND_CURRENCY.sub(r" \g<scale> \g<currency>", text)
        hidden = _MARKER.sub(hide_marker, in_order).replace("**", "^").translate(_SIGNS)
        hidden = _SIGN_BEHIND_MARKER.sub(r" \g<sign>\g<marker>", hidden)
        # Without the spaces, 2^10 would be one number.
        plain = _TIMES.sub(" * ", uniform_numbers(_POWER.sub(" ^ ", hidden)))
        for found in _TOKEN.finditer(replace_numbers(plain, hide_number)):
            if found["number"]:
                number, written = numbers[ord(found["number"]) - _FIRST_NUMBER]
                cited = (found["before"] or found["source"] or "").strip()
                marker = markers[ord(cited) - _FIRST_MARKER] if cited else None
                self._add_number(number, written, found, marker)
            elif found["marker"]:
                marker = markers[ord(found["marker"]) - _FIRST_MARKER]
                if marker["calculation"]:
                    self._add(_Token("calculation", int(marker["calculation"])))
            elif found["unknown"]:
                self._add(_Token("unknown"))
            elif found["close"]:
                unit = " ".join((found["unit"] or "").replace("per ", "/").split())
                self._add(_Token(")", unit=unit.replace(" /", "/")))
            elif found["sign"]:
                self._add(_Token(found["sign"]))
            elif found["other"]:
                raise FormulaFault(f"{found['other']!r} is no number")
        self._given_twice = self._counts_given_twice()

    @property
    def parts(self) -> list[Operand | int]:
        """Its numbers, and the numbers of the calculations that it uses, in order."""
        parts = list[Operand | int]()
        for token in self._tokens:
            if token.kind == "number":
                parts.append(self.operands[token.which])
            elif token.kind == "calculation":
                parts.append(token.which)
        return parts

    @property
    def adds_percentages(self) -> bool:
        """Whether it only adds and subtracts numbers without a unit, not all of them fractions: in
        percent, 31 + 12 is 43 %, and 0.31 + 0.12 too."""
        kinds = {token.kind for token in self._tokens}
        is_sum = len(self.operands) > 1 and kinds <= {"number", *"+-()"}
        are_fractions = True
        for operand in self.operands:
            if operand.unit:
                return False
            if operand.number.value > 1:
                are_fractions = False
        return is_sum and not are_fractions

    def is_times_hundred(
        self,
        values: Sequence[float],
        calculated: Mapping[int, Quantity],
        percentages: Collection[int],
    ) -> bool:
        """Whether it is a product with a plain 100, by which a share is usually turned into
        percent: (48 - 40) / 40 * 100.

        `percentages` are the indexes of the numbers that are percentages in their source, which a
        100 behind them turns into shares: 0.4 / (41 / 100 * 36). The others are the arguments of
        `result`.
        """
        for index, operand in enumerate(self.operands):
            if operand.number.value != 100 or not operand.is_plain:
                continue
            is_factor = self._exponent_of(index, values, calculated) == 1
            if is_factor and self._divided_by(index) not in percentages:
                return True
        return False

    def _divided_by(self, index: int) -> int | None:
        """Return the index of the number that a number divides, if it stands before it."""
        for position, token in enumerate(self._tokens):
            if token.kind != "number" or token.which != index or position < 2:
                continue
            before, sign = self._tokens[position - 2 : position]
            if sign.kind == "/" and before.kind == "number":
                return before.which
        return None

    def without_counts(
        self,
        quantity: Quantity,
        unit: str,
        values: Sequence[float],
        calculated: Mapping[int, Quantity],
    ) -> Quantity:
        """Return its result without what stands in it twice, in a unit and as a number: a count, as
        in 5,145 kWh / 21,000 km * 100 = kWh/100 km or 24.5 kWh/100 km / 100, or the factor of a
        conversion, as in 1,760 €/year / 12 = €/month.

        `unit` is that of the result; the others are the arguments of `result`.
        """
        wanted = _share_of_count(unit)
        # Counts in the units of numbers, each with the exponent that as a number would cancel it.
        given = set[tuple[float, int]]()
        for index, operand in enumerate(self.operands):
            share = _share_of_count(operand.unit)
            if share < 1:
                given.add((share, -self._exponent_of(index, values, calculated)))
        of_count = _merged({}, dimension_of(unit.rpartition("/")[2]), 1)
        for index, operand in enumerate(self.operands):
            own = dimension_of(operand.unit)
            if operand.number.value <= 1 or not operand._replace(unit="").is_plain:
                continue
            share = 1 / operand.number.value
            exponent = self._exponent_of(index, values, calculated)
            if exponent == 1 and share == wanted and own in ({}, of_count):
                dimension = _merged(quantity.dimension, own, -1)
                quantity = quantity._replace(value=quantity.value * share, dimension=dimension)
            elif (share, exponent) in given and not own:
                quantity = quantity._replace(value=quantity.value * share**exponent)
            elif not own:
                quantity = _converted_by(quantity, unit, operand.number.value**exponent)
        return quantity

    def _counts_given_twice(self) -> set[int]:
        """Return the numbers, by index, that repeat the count of a unit in the same term of a sum:
        the 100 of 165 km * 43 kWh/100 km / 100 - 63 kWh. For a single term, see `without_counts`.
        """
        twice = set[int]()
        if all(token.kind not in "+-=" for token in self._tokens):
            return twice
        # Counts of the units of the term so far, each with the sign that as a number cancels it.
        given = set[tuple[float, str]]()
        sign = "*"
        for token in self._tokens:
            if token.kind in ("*", "/"):
                sign = token.kind
            elif token.kind == "number":
                operand = self.operands[token.which]
                if operand.is_plain and (operand.number.value, sign) in given:
                    twice.add(token.which)
                count = 1 / _share_of_count(operand.unit)
                if count > 1:
                    given.add((count, "/" if sign == "*" else "*"))
            else:
                given = set()
                sign = "*"
        return twice

    @property
    def has_unknown(self) -> bool:
        """Whether it is an equation in x."""
        return any(token.kind == "unknown" for token in self._tokens)

    def result(self, values: Sequence[float], calculated: Mapping[int, Quantity]) -> Quantity:
        """Return what it gives; of an equation, what x is. Raises `FormulaFault`.

        `values` are those of its numbers; `calculated` are the results of calculations by number.
        """
        quantities = list[Quantity]()
        for index, (operand, value) in enumerate(zip(self.operands, values, strict=True)):
            is_given = index in self._given_twice
            quantities.append(Quantity(1.0, {}) if is_given else operand.quantity(value))
        if not self.has_unknown:
            return _Evaluation(self._tokens, quantities, calculated).result()
        kinds = [token.kind for token in self._tokens]
        if kinds.count("=") != 1:
            raise FormulaFault("with x it has to be one equation, such as 3 + 2 * x = 5 * x")
        middle = kinds.index("=")

        def difference(unknown: float) -> float:
            left, right = self._tokens[:middle], self._tokens[middle + 1 :]
            left_side = _Evaluation(left, quantities, calculated, unknown).result()
            right_side = _Evaluation(right, quantities, calculated, unknown).result()
            return left_side.value - right_side.value

        return Quantity(_solution(difference), {}, is_sure=False)

    def _exponent_of(
        self, index: int, values: Sequence[float], calculated: Mapping[int, Quantity]
    ) -> int:
        """Return 1 if a number is a factor of the whole, -1 if the whole is divided by it, else 0;
        also 0 in an equation. The last arguments are those of `result`."""
        if self.has_unknown:
            return 0
        halved = [*values]
        halved[index] /= 2
        try:
            before = self.result(values, calculated).value
            after = self.result(halved, calculated).value
        except FormulaFault:
            return 0
        for exponent in (1, -1):
            if math.isclose(after * 2**exponent, before, rel_tol=_NEAR):
                return exponent
        return 0

    def _add_number(
        self,
        number: Number,
        written: str,
        found: re.Match[str],
        marker: re.Match[str] | None,
    ) -> None:
        if self._tokens and self._tokens[-1].kind in ("number", "calculation", ")"):
            raise FormulaFault(f"there is no sign before {number.digits}")
        unit = _unit_in(written, number)
        if unit != "%":
            unit = "/".join(filter(None, (unit or found["words"].strip(), found["per"])))
        operand = Operand(number, written, unit)
        if marker is not None and marker["source"]:
            operand = operand._replace(source=int(marker["source"]))
        elif marker is not None:
            operand = operand._replace(is_from_request=bool(marker["request"]))
        self._add(_Token("number", len(self.operands)))
        self.operands.append(operand)

    def _add(self, token: _Token) -> None:
        """Add a part; a product may be written without its sign: 2 (3 + 4), 0.2x."""
        begins = token.kind in ("(", "unknown", "calculation")
        if begins and self._tokens and self._tokens[-1].kind in ("number", "calculation", ")"):
            self._tokens.append(_Token("*"))
        self._tokens.append(token)


class _Evaluation:
    """Evaluates the parts of a formula, by recursive descent."""

    def __init__(
        self,
        tokens: Sequence[_Token],
        quantities: Sequence[Quantity],
        calculated: Mapping[int, Quantity],
        unknown: float | None = None,
    ) -> None:
        """`quantities` are the numbers by index, `unknown` is the value of x; with it, units of
        measure do not count."""
        self._tokens = [*tokens, _Token("end")]
        self._quantities = quantities
        self._calculated = calculated
        self._unknown = unknown
        self._position = 0
        self._depth = 0

    def result(self) -> Quantity:
        """Return what the whole formula gives; raises `FormulaFault`."""
        try:
            quantity = self._sum()
        except ZeroDivisionError:
            raise FormulaFault("it divides by zero") from None
        except OverflowError:
            raise FormulaFault("its result is too large") from None
        if self._next.kind != "end":
            raise FormulaFault(f"it is incomplete before {self._next.kind!r}")
        if not math.isfinite(quantity.value):
            raise FormulaFault("its result is too large")
        return quantity

    @property
    def _next(self) -> _Token:
        return self._tokens[self._position]

    def _take(self, *kinds: str) -> str:
        """Return the kind of the next part and go on, if it is one of these; else an empty text."""
        kind = self._next.kind
        if kind not in kinds:
            return ""
        self._position += 1
        return kind

    def _sum(self) -> Quantity:
        total = self._product()
        while sign := self._take("+", "-"):
            other = self._product()
            if self._unknown is None:
                other = _in_unit_of(total, other)
            value = total.value + other.value
            if sign == "-":
                value = total.value - other.value
            is_share = total.is_share and other.is_share
            is_sure = total.is_sure and other.is_sure
            total = Quantity(value, total.dimension or other.dimension, is_sure, is_share)
        return total

    def _product(self) -> Quantity:
        product = self._power()
        while sign := self._take("*", "/"):
            other = self._power()
            is_sure = product.is_sure and other.is_sure
            if sign == "*":
                value, exponent = product.value * other.value, 1
            else:
                value, exponent = product.value / other.value, -1
            dimension = _merged(product.dimension, other.dimension, exponent)
            has_duration = _is_duration(product.dimension) or _is_duration(other.dimension)
            product = _product(value, dimension, has_duration=has_duration)
            product = product._replace(is_sure=is_sure)
        return product

    def _power(self) -> Quantity:
        base = self._factor()
        if not self._take("^"):
            return base
        exponent = self._power()
        if exponent.dimension or base.dimension:
            raise FormulaFault("only numbers without a unit can be raised to a power")
        if abs(exponent.value) > _LARGEST_EXPONENT:
            raise FormulaFault(f"its exponent is larger than {_LARGEST_EXPONENT}")
        value = base.value**exponent.value
        if isinstance(value, complex):
            raise FormulaFault("it takes the root of a negative number")
        return Quantity(value, {}, base.is_sure)

    def _factor(self) -> Quantity:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise FormulaFault("it has too many brackets; calculate in steps")
        quantity = self._operand()
        self._depth -= 1
        return quantity

    def _operand(self) -> Quantity:
        token = self._next
        self._position += 1
        match token.kind:
            case "-":
                negative = self._power()
                return negative._replace(value=-negative.value)
            case "+":
                return self._power()
            case "(":
                inner = self._sum()
                unit = self._next.unit
                if not self._take(")"):
                    raise FormulaFault("a bracket is not closed")
                return self._with_unit(inner, unit)
            case "number":
                return self._quantities[token.which]
            case "calculation":
                if token.which not in self._calculated:
                    raise FormulaFault(f"there is no [calc {token.which}]")
                return self._calculated[token.which]
            case "unknown" if self._unknown is not None:
                return Quantity(self._unknown, {}, is_sure=False)
        raise FormulaFault("a number is missing")

    def _with_unit(self, quantity: Quantity, unit: str) -> Quantity:
        """Return what a bracket gives in the unit behind it, which may be empty."""
        if is_percent(unit):
            if quantity.is_share:
                return quantity
            return Quantity(quantity.value * _PERCENT, {}, is_share=True)
        if not unit or self._unknown is not None:
            return quantity
        if not quantity.dimension:
            quantity = quantity._replace(value=quantity.value * _share_of_count(unit))
        return in_unit(quantity, unit)._replace(is_sure=True)


def dimension_of(unit: str) -> Dimension:
    """Return the units of measure in a unit as written: € and per year for €/year."""
    words = unit.split("/")
    dimension = dict[str, int]()
    for word in words[:1]:
        if word.strip():
            dimension[_measure(word)] = 1
    for word in words[1:]:
        dimension = dict(_merged(dimension, {_measure(word): 1}, -1))
    return dimension


def _converted_by(quantity: Quantity, unit: str, factor: float) -> Quantity:
    """Return a quantity in another unit if it has the factor of the conversion already."""
    wanted = dimension_of(unit)
    conversion = _factor_between(quantity.dimension, wanted) or 1.0
    is_conversion = conversion != 1 and math.isclose(factor, conversion, rel_tol=_NEAR)
    return quantity._replace(dimension=wanted) if is_conversion else quantity


def in_unit(quantity: Quantity, unit: str) -> Quantity:
    """Return a quantity in another unit; raises `FormulaFault` if it is no such quantity."""
    wanted = dimension_of(unit)
    if dict(quantity.dimension) == dict(wanted):
        return quantity
    factor = _factor_between(quantity.dimension, wanted)
    if factor is not None:
        return quantity._replace(value=quantity.value * factor, dimension=wanted)
    surplus = _merged(quantity.dimension, wanted, -1)
    if [*surplus.values()] == [1] and surplus.keys().isdisjoint(wanted):
        # A rate is often written without what it is for: 900 t * 2140 € for 2140 €/t.
        return quantity._replace(dimension=wanted)
    is_known = all(map(_is_known, [*quantity.dimension, *wanted]))
    if quantity.is_sure and is_known and quantity.dimension:
        given = unit_words(quantity.dimension)
        raise FormulaFault(f"it gives {given}, not {unit}; convert with a factor from a source")
    return quantity._replace(dimension=wanted)


def converted(value: float, unit: str, wanted: str) -> float | None:
    """Return a value in another unit of the same quantity; None if the units are the same or
    measure different things.

    A part behind a slash counts only if both have one. Without a unit, a share is a fraction of 1.
    """
    if is_percent(unit):
        return value * _PERCENT if not wanted else None
    if is_percent(wanted):
        return value / _PERCENT if not unit else None
    if "/" not in unit or "/" not in wanted:
        unit, _, _ = unit.partition("/")
        wanted, _, _ = wanted.partition("/")
    given, target = dimension_of(unit), dimension_of(wanted)
    if not given or not target or dict(given) == dict(target):
        return None
    factor = _factor_between(given, target)
    return None if factor in (None, 1.0) else value * (factor or 1.0)


def digits_in_other_units(value: float, unit: str) -> frozenset[str]:
    """Return the digits with which a value may be written in units of the same quantity, without
    zeros at either end."""
    first, *others = unit.split("/")
    # Hundredths and thousandths have the same digits.
    factors = [1.0, *_reached(_measure(first)).values()]
    for other in others:
        factors += [1 / factor for factor in _reached(_measure(other)).values()]
    digits = set[str]()
    for factor in factors:
        mantissa, _, _ = f"{value * factor:.11e}".partition("e")
        digits.add(mantissa.replace(".", "").strip("0"))
    return frozenset(filter(None, digits))


def stated_unit(number: Number, text: str) -> str:
    """Return the unit of a number in a text, also if it is the hundredth part of a currency, with
    what it is per: `cents/kWh`; empty if it has none."""
    unit = number.measure
    end = number.end
    other_end = _OTHER_END.match(text, end)
    if not unit and other_end:
        # Both ends of a range have the unit that stands behind the second.
        unit = next((other.measure for other in numbers_in(text[other_end.end() :])[:1]), "")
    if not unit:
        hundredth = _HUNDREDTH.match(text, end)
        if hundredth is None:
            return ""
        unit, end = hundredth["unit"], hundredth.end()
    per = _PER.match(text, end)
    return f"{unit}/{per['per']}" if per else unit


def is_percent(unit: str) -> bool:
    """Whether a unit is percent, or percentage points."""
    return _measure(unit) == "%"


def scale_of(unit: str) -> float:
    """Return the number of which a unit as written is a multiple: 1e6 for "million £" and "£m",
    0.01 for "€/100 km"."""
    first, _, _ = unit.partition("/")
    scale = math.prod(scales_in(f"1 {first.strip()}") or scales_in(first))
    return scale * _share_of_count(unit)


def _share_of_count(unit: str) -> float:
    """Return what the counts behind the slashes of a unit divide by, as a factor: 0.01 for
    "€/100 km"."""
    share = 1.0
    for other in unit.split("/")[1:]:
        counted = _COUNT.match(other)
        count = float(re.sub(r"\D", "", counted["count"])) if counted else 1.0
        share /= count or 1.0
    return share


def unit_words(dimension: Dimension, names: Mapping[str, str] = _NO_NAMES) -> str:
    """Return a unit of measure in words, such as €/year; `names` are the words for its parts."""
    above = list[str]()
    below = list[str]()
    for measure, exponent in dimension.items():
        words = above if exponent > 0 else below
        words += [names.get(measure, measure)] * abs(exponent)
    if not below:
        return "·".join(above)
    return "/".join(["·".join(above) or "1", *below])


def unit_names(unit: str) -> dict[str, str]:
    """Return the words of a unit as written, by the name of the unit that each means."""
    return {_measure(word): word.strip() for word in unit.split("/") if word.strip()}


def _unit_in(written: str, number: Number) -> str:
    """Return the unit of measure of a number as written; empty if it has none."""
    if not number.measure or not number.measure.isalpha():
        return number.measure
    words = _DIGITS.sub("", written).split()
    if number.has_scale:
        words = words[1:]
    return " ".join(words) or number.measure


def _kept_marker(found: re.Match[str]) -> str:
    return f"[calc {found['calculation']}]" if found["calculation"] else ""


@cache
def _measure(word: str) -> str:
    """Return the name of a unit of measure; of other words, a form that is equal for singular and
    plural."""
    word = _COUNT.sub("", word)
    plain = word.strip().casefold()
    for number in numbers_in(f"1 {word.strip()}"):
        if number.measure:
            return number.measure
    return plain.removesuffix("s")


@cache
def _is_known(measure: str) -> bool:
    """Whether a unit of measure can be told from others, unlike one that a model makes up."""
    return any(number.measure == measure for number in numbers_in(f"1 {measure}"))


@cache
def _is_currency(measure: str) -> bool:
    return any(number.currency for number in numbers_in(f"1 {measure}"))


@cache
def _factors() -> Mapping[str, Mapping[str, float]]:
    """Return how many of one unit another has, by both."""
    factors = dict[str, dict[str, float]]()
    for line in WORDS["factors"].strip().splitlines():
        larger, smaller, count = line.split()
        factors.setdefault(larger, {}).setdefault(smaller, float(count))
        factors.setdefault(smaller, {}).setdefault(larger, 1 / float(count))
    return factors


_HUNDREDTHS = frozenset(WORDS["hundredths"].split())
_HUNDREDTH = re.compile(rf"\s?-?(?P<unit>(?:{'|'.join(_HUNDREDTHS)})s?)\b", re.IGNORECASE)


@cache
def _factor(unit: str, other: str) -> float | None:
    """Return how many of another unit one of a unit has; None if they measure different things.

    A cent is the hundredth part of any currency that stands beside it.
    """
    if unit in _HUNDREDTHS and _is_currency(other):
        return 0.01
    if other in _HUNDREDTHS and _is_currency(unit):
        return 100.0
    return _reached(unit).get(other)


@cache
def _reached(unit: str) -> Mapping[str, float]:
    """Return how many of each other unit one of a unit has, and 1 for itself."""
    reached = {unit: 1.0}
    waiting = [unit]
    for current in waiting:
        for following, factor in _factors().get(current, {}).items():
            if following not in reached:
                reached[following] = reached[current] * factor
                waiting.append(following)
    return reached


def _factor_between(given: Dimension, wanted: Dimension) -> float | None:
    """Return the factor from one unit of measure to another; None if they measure different
    things."""
    both = _simplified(1.0, _merged(given, wanted, -1))
    if both.dimension:
        both = _simplified(*_without_products(both))
    return None if both.dimension else both.value


def _without_products(quantity: Quantity) -> tuple[float, Dimension]:
    """Return a quantity in which units that are products are written out: kW and hour for kWh."""
    value = quantity.value
    dimension: Dimension = {}
    for word, power in quantity.dimension.items():
        parts: Dimension = {word: 1}
        for product, own_parts in _products().items():
            factor = _factor(word, product)
            if factor is not None:
                value *= factor**power
                parts = own_parts
        dimension = _merged(dimension, parts, power)
    return value, dimension


@cache
def _products() -> Mapping[str, Dimension]:
    """Return the units that are the product of two others, with these."""
    products = dict[str, Dimension]()
    for line in WORDS["products"].strip().splitlines():
        product, first, second = line.split()
        products[product] = {first: 1, second: 1}
    return products


def _merged(first: Dimension, other: Dimension, exponent: int) -> Dimension:
    """Return the unit of a product of two quantities, the second with this exponent."""
    merged = dict(first)
    for word, power in other.items():
        merged[word] = merged.get(word, 0) + exponent * power
    return {word: power for word, power in merged.items() if power}


def _product(value: float, dimension: Dimension, *, has_duration: bool) -> Quantity:
    """Return a product with its units simplified; but a rate of times, such as 160 days/year, stays
    one. `has_duration`: one of the two is a mere time, which cancels what is by the time."""
    times = [word for word in dimension if _is_time(word)]
    is_rate = len(times) == len(dimension) == 2
    if len(times) < 2 or (has_duration and not is_rate):
        return _simplified(value, dimension)
    others = {word: power for word, power in dimension.items() if word not in times}
    simplified = _simplified(value, others)
    rate = {word: dimension[word] for word in times}
    return simplified._replace(dimension={**simplified.dimension, **rate})


@cache
def _is_time(measure: str) -> bool:
    return _factor(measure, "day") is not None


def _is_duration(dimension: Dimension) -> bool:
    return len(dimension) == 1 and all(map(_is_time, dimension))


def _simplified(value: float, dimension: Dimension) -> Quantity:
    """Return a quantity in which units that convert into each other are cancelled: kWh/day times
    years is kWh."""
    left = dict(dimension)
    for above in dimension:
        for below in dimension:
            factor = _factor(above, below)
            while factor is not None and left[above] > 0 > left[below]:
                value *= factor
                left[above] -= 1
                left[below] += 1
    return Quantity(value, {word: power for word, power in left.items() if power})


def _in_unit_of(first: Quantity, other: Quantity) -> Quantity:
    """Return the second term of a sum in the unit of the first; raises `FormulaFault`."""
    for share, whole in ((other, first), (first, other)):
        is_factor = not whole.dimension and abs(whole.value) <= 1
        if share.is_share and not whole.is_share and not is_factor:
            raise FormulaFault("a percentage cannot be added to it; write (1 + 5 %) as a factor")
    if not first.dimension or not other.dimension:
        return other
    factor = _factor_between(other.dimension, first.dimension)
    if factor is not None:
        return other._replace(value=other.value * factor)
    if all(map(_is_known, [*first.dimension, *other.dimension])):
        units = unit_words(first.dimension), unit_words(other.dimension)
        raise FormulaFault(
            f"{units[0]} and {units[1]} cannot be added; convert with a factor from a source"
        )
    return other


def _solution(difference: Callable[[float], float]) -> float:
    """Return the x for which a difference is zero, which has to be linear in x or in 1/x."""

    def inverse(value: float) -> float:
        return difference(1 / value)

    for function, is_inverse in ((difference, False), (inverse, True)):
        first, *others = map(function, _TRIED)
        slope = others[0] - first
        size = max(map(abs, (first, *others)))
        is_linear = abs(slope) > _NEAR * size
        for tried, value in zip(_TRIED[1:], others, strict=True):
            expected = first + slope * (tried - 1)
            is_linear = is_linear and abs(expected - value) <= 1e-6 * size
        if not is_linear:
            continue
        root = 1 - first / slope
        if not is_inverse:
            return _settled(root)
        if root:
            return _settled(1 / root)
    raise FormulaFault("it cannot be solved for x; only equations that are linear in x can")


def _settled(value: float) -> float:
    """Return a value without the rounding errors of its last digits."""
    return float(f"{value:.12g}")

"""Calculates what models hand in: finds where the numbers of a formula come from, and keeps each
calculation as a record, which later texts cite by its number."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from ...records.research import (
    Calculation,
    CalculationInput,
    Finding,
    InputOrigin,
    by_calculation_number,
)
from ..citations.citing import Edit, with_edits
from ..citations.markers import scan, with_calculations
from ..text.numbers import Number, numbers_in, numbers_stated
from ..text.sentences import LINE_MARK
from ._arithmetic import (
    HUNDREDTH,
    RESTATED,
    Formula,
    FormulaFault,
    Operand,
    Quantity,
    converted,
    digits_in_other_units,
    dimension_of,
    in_unit,
    is_percent,
    scale_of,
    stated_unit,
    unit_names,
    unit_words,
)
from ._calculations import follows, is_constant, may_have_unit
from ._date_lines import DatePair, date_pairs_in, unit_of_time
from .proof import Known, stands_in
from .source_text import SourceText

_MOST_LINES = 40
"""Maximum number of lines that are calculated for one call."""
_SMALLEST_SHARE_OF_SCALE = 1000
"""A result below this part of a million is taken for one in millions, if that is its unit."""
_LONGEST_NAME = 150
"""Maximum length of a calculation's name, in characters."""
_LONGEST_QUOTE = 300
"""Maximum length of the words that state an input, in characters."""
_LIKELIEST = 12
"""Number of windows of a text that are searched first for a number, the most similar ones."""
_GROUPED_FROM = 10_000
_THIN_SPACE = "\u202f"
_WHOLE_FROM = 1000
"""From this size on, results are shown without decimals."""
_DIGITS = 4
"""Significant digits of smaller results."""
_MOST_AS_SHARE = 10
"""From this size on, a quotient is no longer shown as a percentage too."""
_BEGINS_WITH = re.compile(
    r"\s*\[calc (?P<number>\d{1,4})\]\s*(?:[:=]\s*|(?![-+*/^x×÷→:=\s]|in\b))", re.IGNORECASE
)
"""The beginning of a line that changes an earlier calculation."""
_BEGINS_AS_NAME = re.compile(r"[^:=\[\]]*[^\W\d_]")
_END_OF_NAME = re.compile(r":\s+(?=\S)")
_IN_FORMULA = re.compile(r"\d|\b[xX]\b")
"""What the rest of a line has if it is a formula."""
_IN_UNIT = re.compile(r"\s+(?:in|→|->)\s+(?P<unit>[^\d=()*]+)$")
"""The unit of the result at the end of a line, after a word or arrow instead of a sign."""
_PER = re.compile(r"(?<=\S)\s+per\s+")
_UNKNOWN = re.compile(r"(?<![^\W\d])[xX?](?!\w)(?!\s*[\d(\[$€£¥])|(?<![\w)%\]]\s)\b[xX]\b")
"""An x that is no multiplication sign."""
_BEGINS_WITH_NUMBER = re.compile(r"[≈~]?\s*[-−$€£¥]?\s*\d")
_YEAR = re.compile(r"(?:19|20)\d\d")
_LARGEST_FACTOR = 2
"""From this size on, a number is not taken for 1 plus a growth in percent."""
_DECIMALS = 9
"""Decimals of a growth; more are rounding errors."""
_NEAR = 1e-9
"""Relative tolerance for rounding errors."""


_Way = Literal["in its unit", "without unit", "in any unit"]
"""How a source has to state a number."""


class Calculator:
    """Calculates lines with the numbers of sources, of the request, and of other calculations."""

    def __init__(
        self,
        sources: Mapping[int, tuple[str, Known]],
        request: str,
        earlier: Iterable[Calculation] = (),
        task: str = "",
    ) -> None:
        """`sources`: key and texts of each source, by the number under which the model cites it;
        `request`: the user's messages; `earlier`: the calculations made so far; `task`: what
        another model has asked for, whose numbers the user may not have written.
        """
        self._sources = sources
        self._request = request
        self._task = task
        self._request_text = SourceText("", request)
        self._known = by_calculation_number(earlier)
        self.changed = dict[str, Calculation]()
        """The calculations that are new or have changed, by name: `calc 2`."""
        self._refused = dict[str, str]()
        """Why earlier calculations were not changed as the last line on them says, by name."""
        self._outdated = dict[str, str]()
        """Why earlier calculations do not follow those that they rest on, by name."""

    @property
    def failed(self) -> dict[str, str]:
        """Why earlier calculations could not be made anew, by name."""
        return {**self._outdated, **self._refused}

    def calculate(self, lines: Iterable[str]) -> list[str]:
        """Calculate lines such as `Growth of staff: (48 [2] - 40 [3]) / 40 [3] = %`.

        The name and the unit after `=` may be left out. A line that begins with `[calc 2]` replaces
        that calculation, and what rests on it is calculated again. Returns a line on each result,
        or on why there is none.
        """
        answers = list[str]()
        next_number = max(self._known, default=0) + 1
        for position, line in enumerate(lines, 1):
            plain = " ".join(LINE_MARK.sub("", line).split())
            before = self._changed_by(plain)
            number = before.number if before else next_number
            if not before:
                # Also for a refused line, since later ones name earlier ones by their place.
                next_number += 1
            try:
                if position > _MOST_LINES:
                    raise FormulaFault(f"only {_MOST_LINES} lines are calculated at once")
                answers += self._answers(plain, before, number)
            except FormulaFault as fault:
                answers.append(f"{plain}: not calculated, since {fault}")
                if before:
                    self._refused[before.key] = str(fault)
        return answers

    def with_new_results(self, text: str, before: Mapping[str, Calculation]) -> str:
        """Return a report in which figures follow the calculations that they cite.

        A figure that is the old result, also rounded, and stands before the number of a changed
        calculation becomes the new one, with as many decimals. `before` are the calculations as
        they were, by name.
        """
        lines = list[str]()
        for line in text.split("\n"):
            edits = list[Edit]()
            plain = ""
            for part in scan(line):
                if isinstance(part, str):
                    plain += part
                    continue
                for number in part.calculations:
                    key = f"calc {number}"
                    if key in self.changed and key in before:
                        edits += _followed(plain, before[key], self.changed[key])
                # So that the number of a source is no figure.
                plain += " " * len(part.raw)
            lines.append(with_edits(line, dict.fromkeys(edits)))
        return "\n".join(lines)

    def _changed_by(self, line: str) -> Calculation | None:
        """Return the earlier calculation that a line changes; None if it is a new one."""
        begins_with = _BEGINS_WITH.match(line)
        if begins_with is None:
            return None
        rest = _Wanted.read(line[begins_with.end() :]).formula
        if _UNKNOWN.search(rest) and "=" not in rest:
            # An equation of which the earlier result is one side.
            return None
        return self._known.get(int(begins_with["number"]))

    def _answers(self, line: str, before: Calculation | None, number: int) -> list[str]:
        """Calculate a line under this number, which may change an earlier calculation
        (`before`)."""
        if before:
            line = _BEGINS_WITH.sub("", line, count=1)
        wanted = _Wanted.read(line)
        stated = RESTATED.sub(self._without_number, wanted.formula)
        formula = Formula(HUNDREDTH.sub(self._as_percentage, stated))
        if not formula.parts:
            raise FormulaFault("it has no numbers")
        name = wanted.name
        if before:
            name = name or before.name
        units = [wanted.unit or (before.unit if before else "")]
        for part in formula.parts:
            if isinstance(part, Operand):
                units.append(part.unit)
            elif part in self._known:
                units.append(self._known[part].unit)
        cited = {part.source for part in formula.operands}.intersection(self._sources)
        found = [self._input(part, name, units, cited) for part in formula.parts]
        inputs = tuple(given for given, _ in found)
        new = Calculation(
            number=number,
            name=name or formula.text,
            formula=formula.text,
            inputs=inputs,
            value=0.0,
            result="",
            unit=wanted.unit,
        )
        if before:
            new = new.model_copy(update={"unit": wanted.unit or before.unit})
            if before.number in {other.number for other in with_basis(new.rests_on, self._known)}:
                raise FormulaFault(f"it rests on [calc {before.number}] itself")
        new = _calculated(new, formula, self._known)
        same = self._same_as(new)
        if same and not before:
            return [answer_on(same)]
        self._keep(new)
        remarks = [remark for _, remark in found if remark]
        if not all(follows(number, [new.value]) for number in numbers_in(wanted.result)[:1]):
            remarks.append(f"not {wanted.result}")
        answers = ["; ".join([answer_on(new), *remarks])]
        if before:
            self._refused.pop(before.key, None)
            answers += self._again(before.number)
            answers += self._twins_follow(before, new)
        return answers

    def _without_number(self, restated: re.Match[str]) -> str:
        """Return what stands for a number beside its calculation in a formula: the calculation,
        which has more decimals and may change, if that is its result."""
        known = self._known.get(int(restated["calculation"]))
        numbers = numbers_in(restated[0].removesuffix(restated["marker"]))
        # The sign of a negative result may stand before the number, or not.
        if known and known.value > 0 and numbers and follows(numbers[0], [known.value]):
            return restated["marker"]
        return restated[0]

    def _as_percentage(self, hundredth: re.Match[str]) -> str:
        """Return a percentage without its division by 100, since it is a fraction already."""
        number = hundredth["calculation"]
        if number:
            known = self._known.get(int(number))
            if known is None or not is_percent(known.unit):
                return hundredth[0]
        return hundredth["percentage"]

    def _keep(self, calculation: Calculation) -> None:
        self._outdated.pop(calculation.key, None)
        self._known[calculation.number] = calculation
        self.changed[calculation.key] = calculation

    def _same_as(self, new: Calculation) -> Calculation | None:
        """Return the known calculation with the formula, inputs and unit of a new one."""
        for known in self._known.values():
            same = {"number": new.number, "name": new.name, "found": ""}
            as_new = known.model_copy(update=same)
            if as_new == new:
                return known
        return None

    def _again(self, changed: int) -> list[str]:
        """Calculate again what rests on a changed calculation; return a line on each result, or on
        why there is none, in order."""
        waiting = set[int]()
        for number in self._known:
            behind = {other.number for other in with_basis([number], self._known)}
            if number != changed and changed in behind:
                waiting.add(number)
        again = list[str]()
        while waiting:
            ready = [
                number for number in waiting if waiting.isdisjoint(self._known[number].rests_on)
            ]
            for number in sorted(ready):
                old = self._known[number]
                inputs = list[CalculationInput]()
                for used in old.inputs:
                    if used.calculation:
                        used = _as_input(self._known[used.calculation])
                    inputs.append(used)
                again.append(self._renewed(old.model_copy(update={"inputs": tuple(inputs)})))
            waiting.difference_update(ready)
        return again

    def _renewed(self, calculation: Calculation) -> str:
        """Calculate an earlier calculation anew, with the inputs that it has now; return a line on
        the result, or on why there is none."""
        try:
            self._keep(_calculated(calculation, Formula(calculation.formula), self._known))
        except FormulaFault as fault:
            self._outdated[calculation.key] = str(fault)
            line = f"[{calculation.key}] {calculation.formula}"
            return f"{line}: not calculated anew, since {fault}"
        return answer_on(self._known[calculation.number])

    def _twins_follow(self, before: Calculation, new: Calculation) -> list[str]:
        """Change the calculations that were the same as a changed one (`before`), also in name, and
        what rests on them; return a line on each, and on those of other names, which stay."""
        lines = list[str]()
        behind = {other.number for other in with_basis([new.number], self._known)}
        for twin in list(self._known.values()):
            if twin.number in behind or not _is_same(twin, before):
                continue
            if twin.name.casefold() != before.name.casefold():
                lines.append(f"[{twin.key}] {twin.name}: was the same, and stays {twin.result}")
                continue
            own = {"number": twin.number, "name": twin.name, "unit": twin.unit, "found": twin.found}
            lines.append(self._renewed(new.model_copy(update=own)))
            lines += self._again(twin.number)
        return lines

    def _input(
        self, part: Operand | int, name: str, units: Sequence[str], cited: Collection[int]
    ) -> tuple[CalculationInput, str]:
        """Return a part of a formula as an input, with a remark for the model if it is stated
        nowhere or elsewhere; `name` is that of the calculation, `units` and `cited` are the units
        and the sources in its line."""
        if isinstance(part, int):
            if part not in self._known:
                raise FormulaFault(f"there is no [calc {part}]")
            return _as_input(self._known[part]), ""
        number = part.number
        given = CalculationInput(value=_value(number, ()), unit=part.unit, origin="supposed")
        named = [part.source] if part.source in self._sources else []
        is_named = bool(named) or part.is_from_request
        sought = _Sought.of(part.number.readings, part.unit, units if is_named else ())
        stated = self._first_stating(named, part, name, needs_unit=True)
        if named and part.unit:
            # 30 months rather follow from two dates than stand in the 30 of 30 July.
            stated = stated or self._between_dates(named, part, units, given, name)
        stated = stated or self._first_stating(named, part, name)
        stated = stated or self._first_converted(named, sought, given, name)
        if named:
            stated = stated or self._between_dates(named, part, units, given, name)
        if stated:
            return stated, ""
        may_be_constant = number.measure != "%" and is_constant(given.value)
        if not is_named and may_be_constant:
            return given.model_copy(update={"origin": "constant"}), ""
        values = _values_in(self._request)
        if not named and _is_among(number, values):
            value = _value(number, values)
            return given.model_copy(update={"value": value, "origin": "request"}), ""
        if not named:
            stated = sought.input_from(self._request_text, given, "request", name)
            others = () if part.is_from_request else sorted(cited)
            stated = stated or self._between_dates(others, part, units, given, name)
            if stated:
                return stated, ""
        values = _values_in(self._task)
        if not named and _is_among(number, values):
            update = {"value": _value(number, values), "origin": "request"}
            remark = f"{part.written} stands only in your task: assumed, unless the user wrote it"
            return given.model_copy(update=update), remark
        # The same digits elsewhere may be a day or the name of a product.
        stated = self._first_stating(self._sources, part, name, needs_unit=is_named)
        if not stated and part.unit and not is_percent(part.unit):
            elsewhere = sought._replace(is_named=False)
            stated = self._first_converted(self._sources, elsewhere, given, name)
        if stated:
            [source] = [
                other for other, known in self._sources.items() if known[0] == stated.source
            ]
            return stated, f"{part.written} stands in [{source}]" if is_named else ""
        if may_be_constant:
            return given.model_copy(update={"origin": "constant"}), ""
        return given, ""

    def _first_stating(
        self, sources: Iterable[int], part: Operand, name: str, *, needs_unit: bool = False
    ) -> CalculationInput | None:
        """Return a number as an input from the first of some sources that states it: in its unit,
        else, unless it `needs_unit`, without one.

        One without a unit may have any in the source that it names.
        """
        ways = list[_Way]()
        if part.number.measure:
            ways.append("in its unit")
        if not needs_unit:
            is_bare = not part.number.measure and part.source in self._sources
            ways.append("in any unit" if is_bare else "without unit")
        for way in ways:
            for source in sources:
                stated = self._stated_by(source, part, name, way)
                if stated:
                    return stated
        return None

    def _first_converted(
        self, sources: Iterable[int], sought: _Sought, given: CalculationInput, name: str
    ) -> CalculationInput | None:
        """Return an input from the first of some sources that states it in another unit."""
        for source in sources:
            key, known = self._sources[source]
            for text in known.texts:
                stated = sought.input_from(text, given, "source", name)
                if stated:
                    return stated.model_copy(update={"source": key})
        return None

    def _between_dates(
        self,
        sources: Iterable[int],
        part: Operand,
        units: Iterable[str],
        given: CalculationInput,
        name: str,
    ) -> CalculationInput | None:
        """Return a period as an input that follows from two dates in the same words of one of these
        sources, or of the request if it names none; one without a unit has one of `units`."""
        times = set[str]()
        for unit in [part.unit] if part.unit else "/".join(units).split("/"):
            times.add(unit_of_time(unit))
        times.discard("")
        if not times:
            return None

        def pair_in(words: str) -> DatePair | None:
            for pair in date_pairs_in(words):
                if any(pair.lasts(part.number, unit) for unit in times):
                    return pair
            return None

        texts = list[tuple[InputOrigin, str, SourceText]]()
        for source in sources:
            key, known = self._sources[source]
            texts += [("source", key, text) for text in known.texts]
        if not part.source:
            texts.append(("request", "", self._request_text))
        for origin, key, text in texts:
            words = _words_with(
                text,
                name,
                lambda raw: len(_YEAR.findall(raw)) > 1,
                lambda words: pair_in(words) is not None,
            )
            pair = pair_in(words)
            if pair:
                found = {"origin": origin, "source": key, "words": words, "dates": pair.dates}
                return given.model_copy(update=found)
        return None

    def _stated_by(
        self, source: int, part: Operand, name: str, way: _Way
    ) -> CalculationInput | None:
        """Return a number as an input from a source, with the words that state it; None if the
        source does not state it in this `way`."""
        key, known = self._sources[source]
        number = part.number
        for text in known.texts:
            words = _words_with(
                text,
                name,
                lambda raw: _has_digits(number, raw),
                lambda words: _is_stated(number, words, way),
            )
            if words:
                values = _values_in(words)
                return CalculationInput(
                    value=_value(number, values),
                    unit=part.unit,
                    origin="source",
                    source=key,
                    words=words,
                )
        return None


class _Sought(NamedTuple):
    """A number that is sought where it stands in another unit of the same quantity: 21.5 cents for
    0.215 €; a factor such as 1.14 also where its growth stands, 14 %."""

    values: tuple[float, ...]
    """Its readings."""
    units: tuple[str, ...]
    """Its unit, or those that it may have; empty for a fraction of 1."""
    is_named: bool
    """Whether the line says where it stands. Elsewhere, small numbers are too frequent to be it."""

    @classmethod
    def of(cls, values: tuple[float, ...], unit: str, likely: Iterable[str]) -> _Sought:
        """Return a number with its unit. One without has a unit of its line, or is a share;
        `likely` are these units: none if the line does not say where the number stands."""
        is_named = bool(likely)
        if unit and (is_named or not is_percent(unit)):
            return cls(values, (unit,), is_named)
        if not is_named or any(map(is_constant, values)):
            return cls(values, (), is_named)
        units = dict[str, None]()
        for part in "/".join(likely).split("/"):
            if part.strip() and not is_percent(part):
                units[part.strip()] = None
        return cls(values, (*units, ""), is_named)

    def input_from(
        self, text: SourceText, given: CalculationInput, origin: InputOrigin, name: str
    ) -> CalculationInput | None:
        """Return it as an input with the words of a text that state it in another unit; None if the
        text does not. `given` is the input without them; `name` is that of the calculation."""
        if not self.units:
            return None
        digits = set[str]()
        for reading in self.values:
            for unit in self.units:
                digits |= digits_in_other_units(reading, unit)
                if not unit and reading < _LARGEST_FACTOR:
                    growth = round(abs(reading - 1), _DECIMALS)
                    digits |= digits_in_other_units(growth, "")
        written = "|".join("[.,'\\s]?".join(figure) for figure in sorted(digits))
        if not written:
            return None
        # Not within a longer number.
        pattern = re.compile(rf"(?<![1-9])(?<![1-9][.,'])(?:{written})(?![1-9])")
        if not pattern.search(text.text):
            return None

        def states(words: str) -> bool:
            return self._value_in(words) is not None

        words = _words_with(text, name, lambda raw: pattern.search(raw) is not None, states)
        if not words:
            return None
        found = {"origin": origin, "words": words, "value": given.value}
        value = self._value_in(words)
        # None if the words are cut before it.
        if value is not None:
            found["value"] = value
        return given.model_copy(update=found)

    def _value_in(self, words: str) -> float | None:
        """Return the reading that words state in another unit; None if they do not."""
        for stated in numbers_in(words):
            unit = stated_unit(stated, words)
            for reading in stated.readings:
                is_too_frequent = not self.is_named and is_constant(reading)
                if stated.is_name or is_too_frequent or (not unit and reading >= 1):
                    continue
                for wanted in self.units:
                    value = converted(reading, unit, wanted)
                    if value is None:
                        continue
                    meant = [value]
                    if not wanted:
                        meant += [1 + value, 1 - value]
                    for own in self.values:
                        if _is_one_of(own, meant):
                            return own
        return None


class _Wanted(NamedTuple):
    """The parts of a line that is to be calculated."""

    name: str
    formula: str
    unit: str = ""
    """The unit in which the result is wanted; may be empty."""
    result: str = ""
    """The result that the model expects; may be empty."""

    @classmethod
    def read(cls, line: str) -> _Wanted:
        """Take a line apart."""
        name, line = _name_and_rest(line)
        unit = ""
        in_words = _IN_UNIT.search(line)
        if in_words:
            unit = _PER.sub("/", in_words["unit"].strip())
            line = line[: in_words.start()]
        before, sign, behind = line.rpartition("=")
        is_equation = _UNKNOWN.search(line) is not None and "=" not in before
        if not sign or is_equation:
            return cls(name, line, unit)
        target = behind.strip(" .?;")
        if not _BEGINS_WITH_NUMBER.match(target):
            return cls(name, before, unit or _PER.sub("/", target))
        [operand, *_] = Formula(target).operands
        return cls(name, before, unit or operand.unit, target)


def _name_and_rest(line: str) -> tuple[str, str]:
    """Return the name of a line, which may be empty, and what follows. It ends at the last colon
    that a formula follows, since it may have a time or another colon itself."""
    beginning = _BEGINS_AS_NAME.match(line)
    if not beginning:
        return "", line
    ends = list(_END_OF_NAME.finditer(line.partition("=")[0], beginning.end()))
    for end in reversed(ends):
        if _IN_FORMULA.search(line, end.end()) or end == ends[0]:
            return _cut(line[: end.start()].strip(" *`\"'"), _LONGEST_NAME), line[end.end() :]
    return "", line


def _cut(words: str, longest: int) -> str:
    """Return words up to a length in characters, without one that is cut itself."""
    if len(words) <= longest:
        return words
    whole, _, _ = words[: longest + 1].rpartition(" ")
    return whole.rstrip(" ,;:") or words[:longest]


def answer_on(calculation: Calculation) -> str:
    """Return a calculation for a model: its number, name, formula and result, and the inputs that
    count as assumed."""
    line = f"[{calculation.key}] {calculation.line}"
    if calculation.name != calculation.formula:
        line = f"[{calculation.key}] {calculation.name}: {calculation.line}"
    is_quotient = not calculation.unit and "/" in calculation.formula
    if is_quotient and abs(calculation.value) < _MOST_AS_SHARE:
        # Quotients are usually stated in percent.
        line += f" = {_shown(100 * calculation.value)} %"
    assumed = list[str]()
    for used in calculation.inputs:
        if used.origin == "supposed" and not used.calculation:
            assumed.append(f"{used.value:.12g} {used.unit}".rstrip())
    for number in dict.fromkeys(assumed):
        line += f"; {number} (assumed, stands in nothing shown)"
    return line


def with_basis(numbers: Iterable[int], known: Mapping[int, Calculation]) -> list[Calculation]:
    """Return the calculations with these numbers and those that they rest on, by number."""
    reached = dict[int, Calculation]()
    waiting = [*numbers]
    while waiting:
        number = waiting.pop()
        if number in known and number not in reached:
            reached[number] = known[number]
            waiting += known[number].rests_on
    return [reached[number] for number in sorted(reached)]


def _renumbered(calculation: Calculation, numbers: Mapping[int, int]) -> Calculation:
    """Return a calculation with new numbers for itself and for those that it rests on; `numbers`
    are the new ones by the old ones."""
    inputs = list[CalculationInput]()
    for used in calculation.inputs:
        if used.calculation:
            used = used.model_copy(update={"calculation": numbers[used.calculation]})
        inputs.append(used)
    name, _ = with_calculations(calculation.name, numbers)
    formula, _ = with_calculations(calculation.formula, numbers)
    number = numbers[calculation.number]
    return calculation.model_copy(
        update={"number": number, "name": name, "formula": formula, "inputs": tuple(inputs)}
    )


class NumberedCalculations(NamedTuple):
    """The calculations of a round, numbered in the thread."""

    findings: dict[str, Finding]
    """The findings by id, with these numbers in their texts."""
    calculations: dict[str, Calculation]
    """The new calculations by name."""
    numbers: dict[str, dict[int, int]]
    """Their numbers in the thread by those that a finding has used, by its id."""


def number_calculations(
    findings: Mapping[str, Finding], known: Iterable[Calculation], request: str
) -> NumberedCalculations:
    """Give the calculations of new findings their numbers in the thread.

    `known` are those of the thread; `request` is what the user has written, from which an input
    comes only if it is there.
    """
    thread = by_calculation_number(known)
    values = _values_in(request)
    text_of_user = SourceText("", request)
    free = max(thread, default=0) + 1
    # A step knows the thread's calculations by their own numbers.
    given = {number: number for number in thread}
    numbered = dict[str, Finding]()
    new = dict[str, Calculation]()
    by_finding = dict[str, dict[int, int]]()
    ordered = sorted(findings.values(), key=lambda finding: (finding.cycle, finding.position))
    for finding in ordered:
        numbers = dict(given) if finding.step else {}
        for calculation in sorted(finding.calculations, key=_number_of):
            numbers[calculation.number] = free
            free += 1
        own = list[Calculation]()
        for calculation in finding.calculations:
            own.append(_renumbered(calculation, numbers))
        for calculation in sorted(own, key=_number_of):
            settled = _settled(calculation, values, text_of_user, thread)
            thread[settled.number] = settled
            new[settled.key] = settled
        text, _ = with_calculations(finding.numbered or "", numbers)
        numbered[finding.id] = finding.model_copy(update={"numbered": text})
        by_finding[finding.id] = numbers
    return NumberedCalculations(numbered, new, by_finding)


def _number_of(calculation: Calculation) -> int:
    return calculation.number


def _settled(
    calculation: Calculation,
    requested: Collection[float],
    request: SourceText,
    known: Mapping[int, Calculation],
) -> Calculation:
    """Return a calculation whose inputs are from the request only if it states them (`requested`
    are its values), also in another unit, and proved only if those in `known` are."""
    units = [calculation.unit, *(used.unit for used in calculation.inputs)]
    inputs = list[CalculationInput]()
    for used in calculation.inputs:
        if used.calculation:
            used = _as_input(known[used.calculation])
        elif used.origin in ("request", "supposed"):
            is_there = _is_one_of(used.value, requested)
            # Without a unit, it was found in the task, which may say so in another unit.
            likely = units if used.origin == "request" else ()
            sought = _Sought.of((used.value,), used.unit, likely)
            follows_from_dates = bool(used.dates) and stands_in(used.words, request.text)
            if not follows_from_dates:
                used = used.model_copy(update={"origin": "supposed", "words": "", "dates": ""})
            if is_there or follows_from_dates:
                used = used.model_copy(update={"origin": "request"})
            else:
                used = sought.input_from(request, used, "request", calculation.name) or used
        inputs.append(used)
    return calculation.model_copy(update={"inputs": tuple(inputs)})


def gives(calculation: Calculation, number: Number) -> bool:
    """Whether a number is the result of a calculation, also rounded, and in no other unit."""
    values = [calculation.value]
    if is_percent(calculation.unit) and not number.measure:
        # The table of a cell may name the unit once.
        values.append(100 * calculation.value)
    return follows(number, values) and may_have_unit(number, calculation.unit)


def is_behind(calculation: Calculation, text: str, before: str = "") -> bool:
    """Whether a figure of a text comes from a calculation: it is the result or, unless the text was
    corrected and stated the result `before`, one of the inputs."""
    if _states_result(calculation, text):
        return True
    if _states_result(calculation, before):
        return False
    values = [used.value for used in calculation.inputs]
    return any(follows(number, values) for number in numbers_in(text))


def _states_result(calculation: Calculation, text: str) -> bool:
    return any(gives(calculation, number) for number in numbers_in(text))


def _calculated(
    calculation: Calculation, formula: Formula, known: Mapping[int, Calculation]
) -> Calculation:
    """Return a calculation with its result; `known` are those that it may use, by number.

    Raises `FormulaFault`.
    """
    values = [used.value for used in calculation.inputs if not used.calculation]
    results = dict[int, Quantity]()
    names = dict[str, str]()
    for number in calculation.rests_on:
        used = known[number]
        names |= unit_names(used.unit)
        is_share = is_percent(used.unit)
        dimension = {} if is_share else dimension_of(used.unit)
        results[number] = Quantity(used.value, dimension, bool(used.unit), is_share)
    for operand in formula.operands:
        names |= unit_names(operand.unit)
    unit = calculation.unit
    quantity = formula.result(values, results)
    if quantity.is_share and not unit:
        unit = "%"
    elif not is_percent(unit):
        unit = unit or unit_words(quantity.dimension, names)
        quantity = formula.without_counts(quantity, unit, values, results)
        if calculation.unit:
            quantity = in_unit(quantity, unit)
    elif formula.adds_percentages or formula.is_times_hundred(
        values, results, _percentages_of(calculation)
    ):
        quantity = quantity._replace(value=quantity.value / 100)
    shown = quantity.value
    basis = [known[number] for number in calculation.rests_on]
    if scale_of(unit) < 1 and not basis and not any(part.unit for part in formula.operands):
        # They may be numbers of that rate already, or amounts that are to be divided.
        raise FormulaFault(f"{unit} needs numbers with their units, such as `8 {unit} [1]`")
    if not _are_in_scale(basis, formula, quantity, unit):
        shown /= scale_of(unit)
    if is_percent(unit):
        shown = 100 * quantity.value
    words = _shown(shown)
    return calculation.model_copy(
        update={
            "value": quantity.value,
            "unit": unit,
            "result": f"{words} {unit}".rstrip(),
            "is_rounded": True,
        }
    )


def _percentages_of(calculation: Calculation) -> set[int]:
    """Return which numbers of a calculation are percentages where they are stated, by index."""
    percentages = set[int]()
    own = [used for used in calculation.inputs if not used.calculation]
    for index, used in enumerate(own):
        for number in numbers_in(used.words):
            if number.measure == "%" and used.value in number.readings:
                percentages.add(index)
    return percentages


def _is_same(calculation: Calculation, other: Calculation) -> bool:
    """Whether two calculations have the same inputs, however they are written, and result."""
    if len(calculation.inputs) != len(other.inputs):
        return False
    for used, its in zip(calculation.inputs, other.inputs, strict=True):
        if used.source != its.source or used.calculation != its.calculation:
            return False
        if not _is_one_of(used.value, [its.value]):
            return False
    return _is_one_of(calculation.value, [other.value])


def _are_in_scale(
    used: Iterable[Calculation], formula: Formula, quantity: Quantity, unit: str
) -> bool:
    """Whether the numbers of a formula are in the scale of the unit of its result already, as in
    `3.1 * 25 % = £ million`: without any unit or scale, it gives a number too small to be divided.

    `used` are the calculations that it uses; their results may be in that scale as well.
    """
    limit = scale_of(unit) / _SMALLEST_SHARE_OF_SCALE
    for calculation in used:
        has_unit = bool(calculation.unit) and not is_percent(calculation.unit)
        if has_unit and scale_of(calculation.unit) != scale_of(unit):
            return False
        if abs(calculation.value) >= limit:
            return False
    for operand in formula.operands:
        has_unit = bool(operand.unit) and not is_percent(operand.unit)
        if has_unit or operand.number.has_scale:
            return False
    return abs(quantity.value) < limit


def _as_input(calculation: Calculation) -> CalculationInput:
    """Return the result of a calculation as an input of another one."""
    return CalculationInput(
        value=calculation.value,
        unit=calculation.unit,
        origin="calculation" if calculation.is_proved else "supposed",
        calculation=calculation.number,
    )


def _shown(value: float) -> str:
    """Return a result in digits: without decimals if it is large, else with four digits that
    count. Digits of long numbers are grouped by spaces, as in all languages."""
    exact = float(f"{value:.12g}")
    if exact == round(exact) or abs(exact) >= _WHOLE_FROM:
        # Of the value itself, so that nothing is rounded twice.
        grouped = f"{value:,.0f}"
        return grouped.replace(",", "" if abs(exact) < _GROUPED_FROM else _THIN_SPACE)
    decimals = max(0, _DIGITS - 1 - math.floor(math.log10(abs(exact))))
    return f"{exact:.{decimals}f}".rstrip("0").rstrip(".")


def _value(number: Number, values: Collection[float]) -> float:
    """Return the value of a number in a formula: of its readings, that among `values`, else the one
    with a decimal point."""
    if number.has_scale:
        return number.value
    for reading in number.readings:
        if _is_one_of(reading, values):
            return reading
    return number.readings[-1]


def _is_among(number: Number, values: Collection[float]) -> bool:
    """Whether a number has one of these values; a table may name the scale elsewhere."""
    return any(_is_one_of(reading, values) for reading in (*number.readings, number.figure))


def _is_stated(number: Number, text: str, way: _Way) -> bool:
    """Whether a text has a number in this way."""
    for stated in numbers_stated(text):
        if not _is_among(number, [*stated.readings, stated.figure]):
            continue
        if way == "in any unit" or (way == "without unit" and not stated.measure):
            return True
        has_unit = stated.measure and stated.general_measure == number.general_measure
        if way == "in its unit" and has_unit:
            return True
    return False


def _is_one_of(value: float, values: Iterable[float]) -> bool:
    return any(math.isclose(value, other, rel_tol=_NEAR) for other in values)


def _values_in(text: str) -> list[float]:
    """Return the values of the numbers in a text, also as written, without their scales."""
    values = list[float]()
    for number in numbers_stated(text):
        values += [*number.readings, number.figure]
    return values


def _words_with(
    text: SourceText, name: str, may_state: Callable[[str], bool], states: Callable[[str], bool]
) -> str:
    """Return the words of a text that state a number, with the table header above them if they are
    a row; empty if it does not.

    Of several places, this is the one most like the `name` of the calculation. `states` says
    whether words state the number; `may_state` is a quicker test that precedes it.
    """
    windows = text.windows
    best = windows.best(name, _LIKELIEST) if name else []
    others = [index for index in range(len(windows.windows)) if index not in best]
    for index in [*best, *others]:
        window = windows.windows[index]
        raw = text.text[window.start : window.end]
        # Cheaper than reading all numbers of a long text.
        if not may_state(raw) or not states(raw):
            continue
        for sentence in text.sentences:
            if window.start <= sentence.start and sentence.end <= window.end:
                words = text.text[sentence.start : sentence.end]
                if states(words):
                    return " ".join(words.split())[:_LONGEST_QUOTE]
        return " ".join(raw.split())[:_LONGEST_QUOTE]
    return ""


def _has_digits(number: Number, text: str) -> bool:
    """Whether a text may state a number: it has its first digit, or a number in words."""
    first = f"{number.figure:.12g}"[0]
    return first in text or not number.digits


def _followed(plain: str, old: Calculation, new: Calculation) -> list[Edit]:
    """Return the edit that replaces the last figure of a line that is an old result; none if there
    is none, or if it would need other words."""
    cell_start = plain.rfind("|") + 1
    for number in reversed(numbers_in(plain[cell_start:])):
        if not number.digits or not gives(old, number):
            continue
        factor = 1 / number.scale
        if number.measure == "%":
            factor *= 100
        if old.value * new.value <= 0:
            return []
        start = cell_start + plain[cell_start:].index(number.digits, number.start)
        words = _like(number.digits, number.step / number.scale, abs(new.value) * factor)
        return [Edit(start, start + len(number.digits), words)]
    return []


def _like(digits: str, step: float, value: float) -> str:
    """Return a value with the decimals and separators of a figure; `step` is the place value of its
    last digit."""
    decimals = max(0, round(-math.log10(step)))
    separators = [sign for sign in digits if not sign.isdigit()]
    point = separators[-1] if decimals and separators else "."
    groups = separators[: -1 if decimals else None]
    whole, _, fraction = f"{value:,.{decimals}f}".partition(".")
    whole = whole.replace(",", groups[0] if groups else "")
    return f"{whole}{point}{fraction}" if fraction else whole

"""Has models calculate while they work on an answer: what they hand in is calculated by code, and
only if they hand in anything are they asked again, with the results."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from langchain_core.messages import AIMessage, AnyMessage
from pydantic import BaseModel, Field
from typing_extensions import override

from ...prompts import fence
from ...tools.tool import Lines, as_lines, tool_schema
from ..dialogue.transcripts import Calls
from ..evidence.checking.calculator import Calculator, answer_on
from ..evidence.citations.markers import with_calculations
from ..records import tool_names
from ..records.research import Calculation
from ._calculation_citations import without_misfits
from .forms import Form

CALCULATION_LINES = (
    "One line each: name, formula, unit of the result, and behind each number, as it stands there, "
    "that of its source, or (request): `Growth of staff: (48 [2] - 40 [3]) / 40 [3] = %`. Earlier "
    "results by their numbers: `Payback: [calc 1] / 450 €/year [4] = years`; break-even as an "
    "equation: `3 + 0.2 * x = 5`; another currency or unit by a factor from a source: "
    "`500 USD [2] * 0.92 EUR/USD [5]`."
)
"""What models are told about the lines that they hand in."""
_MOST_ROUNDS = 2
"""Maximum number of times that a model is asked again for an answer, with new results."""
_NOTHING = "Nothing to calculate: `calculations` must be a list of texts."


class Calculate(BaseModel):
    """Calculate exactly: rates, differences, shares, totals, break-even, conversions."""

    calculations: Lines = Field(description=CALCULATION_LINES)


CALCULATE_SCHEMA = tool_schema(tool_names.CALCULATE, Calculate)


class CalculatingForm(Form):
    """Base of forms whose model may have something calculated first."""

    calculations: list[str] = Field(
        default_factory=list,
        description="Only if a figure is needed that nobody has calculated: what to calculate; you "
        f"are then asked again, with the results. {CALCULATION_LINES}",
    )


class Analysis(CalculatingForm):
    """What follows from what is known, and on which number a decision turns."""

    statements: list[str]
    """The conclusions, one sentence each; no new facts."""
    turning_point: str = ""
    """If the request decides or compares: the quantity on which the answer turns, its range in the findings, and the value at which the answer flips, in one sentence."""  # noqa: E501
    open_points: list[str] = Field(default_factory=list)
    """What is not known, or only the reader can say, and moves the answer: what is open, how far it moves which figure and which way, who can say it, and when; a sentence each."""  # noqa: E501
    missing: list[str] = Field(default_factory=list)
    """What is not known of the number that decides and can be found out, each in a sentence that is understood alone."""  # noqa: E501

    @override
    @classmethod
    def tool_name(cls) -> str:
        """Return the name of the tool, which both strategies share."""
        return "record_analysis"

    @property
    def conclusions(self) -> list[str]:
        """The conclusions, a line each: statements, what the answer turns on, and what is open."""
        sentences = [*self.statements, self.turning_point]
        sentences += [f"Open: {point}" for point in self.open_points if point.strip()]
        conclusions = list[str]()
        for sentence in sentences:
            words = " ".join(sentence.split())
            if words:
                conclusions.append(words)
        return conclusions

    @property
    def missing_facts(self) -> tuple[str, ...]:
        """What is missing, each once."""
        facts = dict.fromkeys(" ".join(fact.split()) for fact in self.missing)
        facts.pop("", None)
        return tuple(facts)


Filled = TypeVar("Filled", bound=CalculatingForm, covariant=True)


class Fill(Protocol[Filled]):
    """Has a model fill in a form; None if it fails."""

    def __call__(self, *, results: str, is_last: bool) -> Awaitable[Filled | None]:
        """`results` is fenced text with a line on each calculation so far, and on what could not be
        calculated; empty in the first call.
        `is_last`: the model is not asked again, whatever it has calculated."""


class Calculations:
    """What a model has calculated while it works on one answer."""

    def __init__(self, make_calculator: Callable[[], Awaitable[Calculator]]) -> None:
        """`make_calculator` is called only if the model has anything calculated."""
        self._make_calculator = make_calculator
        self._calculator: Calculator | None = None
        self._rounds = 0

    @property
    def is_over(self) -> bool:
        """Whether the model has been asked again as often as it may be."""
        return self._rounds >= _MOST_ROUNDS

    @property
    def changed(self) -> Mapping[str, Calculation]:
        """The calculations that are new or have changed, by name."""
        return self._calculator.changed if self._calculator else {}

    @property
    def failed(self) -> Mapping[str, str]:
        """Why earlier calculations could not be made anew, by name."""
        return self._calculator.failed if self._calculator else {}

    async def calculator(self) -> Calculator:
        """Return the calculator, the same in all rounds."""
        if self._calculator is None:
            self._calculator = await self._make_calculator()
        return self._calculator

    async def results(self, calls: Calls) -> dict[str, list[str]]:
        """Return the results of the calls of `calculate` among these, by call id, a line each."""
        results = dict[str, list[str]]()
        for call in calls.accepted:
            if call.tool != tool_names.CALCULATE:
                continue
            calculator = await self.calculator()
            lines = _lines_in(call.arguments)
            answers = await asyncio.to_thread(calculator.calculate, lines)
            results[call.id] = answers or [_NOTHING]
        return results

    async def answered(
        self, message: AIMessage, before: Sequence[AnyMessage] = ()
    ) -> list[AnyMessage]:
        """Return a message of a model, followed by the results of its calculations; `before` are
        such messages of earlier rounds."""
        self._rounds += 1
        calls = Calls.read(message, {tool_names.CALCULATE}, before)
        answers = dict[str, str](calls.refused)
        for call_id, lines in (await self.results(calls)).items():
            answers[call_id] = "\n".join(lines)
        return calls.answered(answers)

    async def ask(self, fill: Fill[Filled]) -> Filled | None:
        """Have a model fill in a form; it is asked again with the results as long as it has
        something new calculated, at most `_MOST_ROUNDS` times.

        Returns the last form; None if there is none.
        """
        form = await fill(results="", is_last=False)
        seen = set[str]()
        while form and form.calculations:
            calculator = await self.calculator()
            lines = await asyncio.to_thread(calculator.calculate, as_lines(form.calculations))
            if self.is_over or seen.issuperset(lines):
                break
            seen.update(lines)
            self._rounds += 1
            results = [*self._earlier_than(lines), *lines]
            again = await fill(results=fence("\n".join(results)), is_last=self.is_over)
            if again is None:
                break
            form = again
        return form

    async def beside(self, arguments: Mapping[str, Any], text: str) -> str:
        """Carry out the calculations that a model hands in beside a text, by `calculations` among
        the arguments of a call. The text cites them by their place there; return it with their
        numbers.

        The model has worked its figures out itself, so citations are dropped if the calculation
        failed, or if the figure before them does not come from it.
        """
        numbers = dict[int, int]()
        known = dict[int, Calculation]()
        for index, line in enumerate(_lines_in(arguments), 1):
            calculator = await self.calculator()
            before = set(self.changed)
            with_numbers, _ = with_calculations(line, numbers)
            await asyncio.to_thread(calculator.calculate, [with_numbers])
            for key in self.changed.keys() - before:
                calculation = self.changed[key]
                known[calculation.number] = calculation
                numbers[index] = calculation.number
        text, _ = with_calculations(text, numbers)
        return without_misfits(text, known)

    def _earlier_than(self, lines: Sequence[str]) -> Iterator[str]:
        """Yield a line on each calculation of earlier rounds that `lines` do not give again, and on
        each earlier one that could not be made anew."""
        for calculation in self.changed.values():
            answer = answer_on(calculation)
            if not any(line.startswith(answer) for line in lines):
                yield answer
        for key, reason in self.failed.items():
            if not any(line.startswith(f"[{key}]") and reason in line for line in lines):
                yield f"[{key}]: not calculated anew, since {reason}"


def _lines_in(arguments: Mapping[str, Any]) -> list[str]:
    """Return the calculations among the arguments of a call, without what is no text."""
    given = as_lines(arguments.get("calculations"))
    if not isinstance(given, list):
        return []
    return [line for line in given if isinstance(line, str)]


def has_calculations(message: AIMessage) -> bool:
    """Whether a message has something calculated."""
    return any(call["name"] == tool_names.CALCULATE for call in message.tool_calls)

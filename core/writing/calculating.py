"""Has models calculate within one call: what they hand in is calculated by code, and only if they
hand in anything are they asked once more, with the results."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol, TypeVar

from langchain_core.messages import AIMessage, AnyMessage
from pydantic import BaseModel, Field
from typing_extensions import override

from ...prompts import fence
from ...tools.tool import Lines, as_lines, tool_schema
from ..dialogue.transcripts import Calls
from ..evidence.checking.calculator import Calculator
from ..records import tool_names
from ..records.research import Calculation
from .forms import Form

CALCULATION_LINES = (
    "One line each: name, formula, unit of the result, and behind each number that of its source, "
    "or (request): `Growth of staff: (48 [2] - 40 [3]) / 40 [3] = %`. Earlier results by their "
    "numbers: `Payback: [calc 1] / 450 €/year [4] = years`; break-even as an equation: `3 + 0.2 * "
    "x = 5`; another currency or unit by a factor from a source: `500 USD [2] * 0.92 EUR/USD [5]`."
)
"""What models are told about the lines that they hand in."""
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
    from_reader: str = ""
    """Which figures of the reader's own would sharpen the answer, in one sentence; empty if none would."""  # noqa: E501
    missing: list[str] = Field(default_factory=list)
    """What is not known of the number that decides and can be found out, each in a sentence that is understood alone."""  # noqa: E501

    @override
    @classmethod
    def tool_name(cls) -> str:
        """Return the name of the tool, which both strategies share."""
        return "record_analysis"

    @property
    def conclusions(self) -> list[str]:
        """The conclusions, a line each: its statements, then what the answer turns on."""
        conclusions = list[str]()
        for sentence in (*self.statements, self.turning_point, self.from_reader):
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

    def __call__(self, *, results: str) -> Awaitable[Filled | None]:
        """`results` is fenced text with a line on each calculation of the first call; empty in that
        call."""


async def filled_in(
    fill: Fill[Filled], calculator: Callable[[], Awaitable[Calculator]]
) -> tuple[Filled | None, Mapping[str, Calculation]]:
    """Have a model fill in a form, once more if it has something calculated.

    Returns the form, and the calculations that are new or have changed, by name. `calculator` is
    made only if it is used.
    """
    first = await fill(results="")
    if first is None or not first.calculations:
        return first, {}
    calculating = await calculator()
    results = await asyncio.to_thread(calculating.calculate, as_lines(first.calculations))
    again = await fill(results=fence("\n".join(results)))
    if again and again.calculations:
        # A chain may go on; nobody is asked a third time.
        await asyncio.to_thread(calculating.calculate, as_lines(again.calculations))
    return again or first, calculating.changed


async def calculated(
    calls: Calls, calculator: Callable[[], Awaitable[Calculator]]
) -> tuple[dict[str, list[str]], Mapping[str, Calculation]]:
    """Return the results of the calls of `calculate` in a message, by call id, a line each, and the
    calculations that are new or have changed, by name.

    `calculator` is made only if it is used.
    """
    if all(call.tool != tool_names.CALCULATE for call in calls.accepted):
        return {}, {}
    calculating = await calculator()
    results = await asyncio.to_thread(_results, calls, calculating)
    return results, calculating.changed


def _results(calls: Calls, calculator: Calculator) -> dict[str, list[str]]:
    """Return the results of the calls of `calculate` by call id, a line each."""
    results = dict[str, list[str]]()
    for call in calls.accepted:
        if call.tool != tool_names.CALCULATE:
            continue
        given = as_lines(call.arguments.get("calculations"))
        lines = list[str]()
        if isinstance(given, list):
            lines = [line for line in given if isinstance(line, str)]
        results[call.id] = calculator.calculate(lines) or [_NOTHING]
    return results


def has_calculations(message: AIMessage) -> bool:
    """Whether a message has something calculated."""
    return any(call["name"] == tool_names.CALCULATE for call in message.tool_calls)


def answered_calculations(
    message: AIMessage, calculator: Calculator, before: list[AnyMessage]
) -> list[AnyMessage]:
    """Return a message of a model, followed by the results of its calculations; `before` are the
    messages before it."""
    calls = Calls.read(message, {tool_names.CALCULATE}, before)
    answers = dict[str, str](calls.refused)
    for call_id, lines in _results(calls, calculator).items():
        answers[call_id] = "\n".join(lines)
    return calls.answered(answers)

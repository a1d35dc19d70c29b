"""Arithmetic over numbers that results state; the check of a report accepts what follows from it."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

from ..core.evidence.text.quantities import calculate
from ..core.run import tool_names
from .tool import Lines, as_lines, tool_schema

MOST_LINES = 20


class Calculate(BaseModel):
    """Calculate exactly with numbers that results state: sums, differences, shares, growth. Takes no round."""

    calculations: Lines = Field(
        description="One expression each, of numbers and + - * / ( ), such as (48 - 40) / 40. Convert all to one unit."
    )


CALCULATE = tool_schema(tool_names.CALCULATE, Calculate)


def calculated(arguments: dict[str, Any]) -> tuple[str, ...]:
    """Return each calculation with its result, or with why it has none."""
    given = as_lines(arguments.get("calculations"))
    lines = [line for line in given if isinstance(line, str)] if isinstance(given, list) else []
    return tuple(map(_with_result, lines[:MOST_LINES])) or ("Nothing to calculate: `calculations` is a list of texts.",)


def _with_result(line: str) -> str:
    expression = " ".join(line.partition("=")[0].split())
    result = calculate(expression)
    if result is None:
        return f"{expression}: no arithmetic of numbers and + - * / ( )"
    # A quotient is mostly told in percent.
    share = f" = {100 * result:.6g} %" if "/" in expression and abs(result) < 10 else ""
    return f"{expression} = {result:.10g}{share}"

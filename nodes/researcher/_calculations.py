"""Runs the tool `calculate`: exact arithmetic with numbers that results state."""

from __future__ import annotations

from typing import Any

from ...core.evidence.checking.calculations import calculate
from ...tools.tool import as_lines

_MOST_CALCULATIONS = 20


def calculated(arguments: dict[str, Any]) -> tuple[str, ...]:
    """Return each calculation with its result, or the reason why there is none."""
    given = as_lines(arguments.get("calculations"))
    lines: list[str] = []
    if isinstance(given, list):
        lines = [line for line in given if isinstance(line, str)]
    results: list[str] = []
    for line in lines[:_MOST_CALCULATIONS]:
        expression = " ".join(line.partition("=")[0].split())
        result = calculate(expression)
        if result is None:
            results.append(f"{expression}: cannot be calculated; use only numbers and + - * / ( )")
            continue
        share = ""
        if "/" in expression and abs(result) < 10:
            # Quotients are usually stated in percent.
            share = f" = {100 * result:.6g} %"
        results.append(f"{expression} = {result:.10g}{share}")
    return tuple(results) or ("Nothing to calculate: `calculations` must be a list of texts.",)

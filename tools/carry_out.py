"""Carries out one call of a research tool; whatever happens becomes its result."""

from __future__ import annotations

import asyncio
from typing import Any, NamedTuple

from pydantic import ValidationError

from ..run.calls import NOT_RUN
from ..run.errors import DeepResearchError
from .outcome import Outcome, ResearchTool, ToolFailed


class Time(NamedTuple):
    """How long a call may take."""

    seconds: float
    """Zero or less: there is no time for it."""
    limit: str
    """The setting that allows no more."""


async def carry_out(tool: ResearchTool, arguments: dict[str, Any], time: Time) -> Outcome:
    """What the tool brings in its time, or what went wrong, in words for the model.

    Raises `DeepResearchError`: what only the user can put right is nothing for the model.
    """
    if time.seconds <= 0:
        return Outcome(problems=(f"{NOT_RUN} no time is left ({time.limit}). Write down what was found.",))
    clock = asyncio.timeout(time.seconds)
    try:
        async with clock:
            return await _run(tool, arguments)
    except ToolFailed as failure:
        return Outcome(problems=(str(failure),), not_read=failure.not_read, redacted=failure.redacted)
    except DeepResearchError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever a tool raises becomes the result of its call
        if isinstance(error, TimeoutError) and clock.expired():
            return _broken(f"The tool did not finish within {round(time.seconds, 3):g} s ({time.limit}).")
        # Only its kind is told: a foreign error's text may hold addresses or keys.
        return _broken(f"The tool failed ({type(error).__name__}).")


def _broken(words: str) -> Outcome:
    return Outcome(problems=(words,), broken=(words,))


async def _run(tool: ResearchTool, arguments: dict[str, Any]) -> Outcome:
    try:
        checked = tool.arguments.model_validate(arguments)
    except ValidationError as error:
        faults = "; ".join(f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors())
        raise ToolFailed(f"{NOT_RUN} the arguments are wrong ({faults}).") from error
    return await tool.run(checked)

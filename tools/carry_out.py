"""Carries out one call of a research tool; whatever happens becomes its result."""

from __future__ import annotations

import asyncio
from typing import Any

from pydantic import ValidationError

from deep_research.run.errors import DeepResearchError
from deep_research.tools.outcome import Outcome, ResearchTool, ToolFailed


async def carry_out(tool: ResearchTool, arguments: dict[str, Any], seconds: float) -> Outcome:
    """What the tool brings within so many seconds, or what went wrong, in words for the model.

    Raises `DeepResearchError`: what only the user can put right is nothing for the model.
    """
    try:
        async with asyncio.timeout(seconds):
            return await _run(tool, arguments)
    except TimeoutError:
        return Outcome(problems=(f"The tool did not finish within {seconds:g} s (tool_seconds).",))
    except ToolFailed as failure:
        return Outcome(problems=(str(failure),))
    except DeepResearchError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever a tool raises becomes the result of its call
        # Only its kind is told: a foreign error's text may hold addresses or keys.
        return Outcome(problems=(f"The tool failed ({type(error).__name__}).",))


async def _run(tool: ResearchTool, arguments: dict[str, Any]) -> Outcome:
    try:
        checked = tool.arguments.model_validate(arguments)
    except ValidationError as error:
        faults = "; ".join(f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors())
        raise ToolFailed(f"Not run: the arguments are wrong ({faults}).") from error
    return await tool.run(checked)

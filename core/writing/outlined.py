"""Decides whether the report on a question follows the user's outline."""

from __future__ import annotations

from ..evidence.text.outline import Outline
from ..models.resolve import is_extractive
from ..records.research import Run
from ..settings.context import Context

_NO_MODEL = "The outline was not used: without a language model, a report consists of quotations."
_QUICK = "The outline was not used: a quick answer has no sections (depth)."


def used_outline(run: Run, context: Context) -> Outline | None:
    """Return the outline of a question; None if there is none or the report cannot follow it."""
    if not run.outline or run.is_quick or is_extractive("writer", context):
        return None
    return Outline.read(run.outline)


def check_outline(context: Context) -> tuple[str, ...]:
    """Return a notice if the outline in the settings cannot be followed.

    Raises `UnknownSetting` if it is no outline.
    """
    if Outline.read(context.outline) is None:
        return ()
    if is_extractive("writer", context):
        return (_NO_MODEL,)
    if context.depth == "quick":
        return (_QUICK,)
    return ()

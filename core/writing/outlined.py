"""Decides whether a report follows the outline in the settings."""

from __future__ import annotations

from ..evidence.text.outline import Outline
from ..models.resolve import is_extractive
from ..settings.context import Context

_NO_MODEL = "The outline was not used: without a language model, a report consists of quotations."
_QUICK = "The outline was not used: a quick answer has no sections (depth)."


def used_outline(context: Context, *, is_quick: bool) -> Outline | None:
    """Return the outline in the settings; None if there is none or the report cannot follow it."""
    outline = Outline.read(context.outline)
    if is_quick or is_extractive("writer", context):
        return None
    return outline


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

"""The settings of a run as its nodes use them."""

from __future__ import annotations

from langgraph.runtime import Runtime

from ..run.context import ROLES, Context, context_of
from .resolve import profile_of


def settings_of(runtime: Runtime[Context]) -> Context:
    """The settings of this run, with everything cut shorter where a model with a small window is allowed."""
    context = context_of(runtime)
    if not context.allow_small_window:
        return context
    window = min(profile_of(role, context).window for role in ROLES)
    return context.model_copy(update={"limits": context.limits.shortened(window)})

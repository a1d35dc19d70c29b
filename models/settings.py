"""The settings of a run as its nodes use them."""

from __future__ import annotations

from langgraph.runtime import Runtime

from ..run.context import ROLES, Context
from ..run.user_settings import UserSettings
from .resolve import profile_of


def settings_of(runtime: Runtime[Context] | Runtime[UserSettings]) -> Context:
    """The settings of this run, the defaults where the caller gave none.

    On the server they are the operator's, narrowed by the user. Where a model with a small window is allowed,
    everything is cut shorter.
    """
    given = runtime.context
    context = given.context if isinstance(given, UserSettings) else given or Context()
    if not context.allow_small_window:
        return context
    window = min(profile_of(role, context).window for role in ROLES)
    return context.model_copy(update={"limits": context.limits.shortened(window)})

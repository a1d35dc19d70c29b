"""From a role to the chat model that plays it, and what that model can do."""

from __future__ import annotations

from typing import NamedTuple

from langchain_core.language_models import BaseChatModel

from deep_research.models.extractive import ExtractiveChatModel
from deep_research.run.context import Context, Model, Role
from deep_research.run.errors import UnknownModel, WindowTooSmall

EXTRACTIVE = "extractive"
UNKNOWN_WINDOW = 128_000
"""Input tokens that a model without a profile is taken to read."""


class Profile(NamedTuple):
    """What a model can do."""

    name: str
    """Name for messages to the user."""
    window: int
    """Input tokens that it reads."""
    is_window_known: bool
    """Whether the window comes from the model's profile or the settings."""
    reasons: bool
    """Whether it reasons by itself, without the think tool."""


def resolve_model(role: Role, context: Context) -> BaseChatModel:
    """The model that plays a role; made when it is needed, so that a missing key never stops an import."""
    model = _chosen(role, context)
    if isinstance(model, BaseChatModel):
        return model
    if model == EXTRACTIVE:
        return ExtractiveChatModel(role=role)
    raise UnknownModel(
        f"Unknown model {model!r} for the {role} (setting models): use {EXTRACTIVE!r} or pass a chat model instance."
    )


def profile_of(role: Role, context: Context) -> Profile:
    """What the role's model can do; the settings `window` and `reasoning` win over its own profile."""
    model = resolve_model(role, context)
    known = dict(getattr(model, "profile", None) or {})
    window = context.window or known.get("max_input_tokens")
    reasons = known.get("reasoning_output", False) if context.reasoning is None else context.reasoning
    name = getattr(model, "model_name", None) or getattr(model, "model", None) or model._llm_type
    return Profile(str(name), int(window or UNKNOWN_WINDOW), window is not None, bool(reasons))


def check_models(roles: tuple[Role, ...], context: Context) -> tuple[str, ...]:
    """Refuse models that cannot do the work before any is called; returns what the reader should know."""
    notices: dict[str, None] = {}
    for role in roles:
        profile = profile_of(role, context)
        if profile.window < context.limits.min_window:
            raise WindowTooSmall(
                f"The {role}'s model {profile.name!r} reads {profile.window} tokens; {context.limits.min_window} are "
                f"needed. Choose a larger model, or set window or the limit min_window if this is wrong."
            )
        if not profile.is_window_known:
            notices[f"The window of the model {profile.name} is not known; {UNKNOWN_WINDOW} tokens are assumed."] = None
        if _chosen(role, context) == EXTRACTIVE:
            notices["No language model is at work: the report quotes the sources and draws no conclusions."] = None
    return tuple(notices)


def _chosen(role: Role, context: Context) -> Model:
    if isinstance(context.models, dict):
        return context.models.get(role, EXTRACTIVE)
    return context.models or EXTRACTIVE

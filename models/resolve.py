"""From a role to the chat model that plays it: what that model can do, and what it costs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import NamedTuple

from langchain_core.language_models import BaseChatModel
from langgraph.runtime import Runtime

from ..records.research import Spent
from ..run.concurrency import in_thread
from ..run.context import ROLES, Context, Model, Price, Role
from ..run.errors import DeepResearchError, WindowTooSmall
from ..run.imports import frozen_imports
from ..run.user_settings import UserSettings
from .extractive import ExtractiveChatModel
from .providers import default_model, make_model

TOKENS = 1_000_000
"""Tokens that a price is for."""


def cost_of(model: str, spent: Spent, prices: Mapping[str, Price], reported: float | None = None) -> float:
    """Return the US dollars for a call's tokens: by `prices`, else what the server `reported`, else 0."""
    price = price_of(model, prices)
    if price is None:
        return reported or 0.0
    cached_price = price.input if price.cached is None else price.cached
    fresh = spent.input_tokens - spent.cached_tokens
    return (fresh * price.input + spent.cached_tokens * cached_price + spent.output_tokens * price.output) / TOKENS


def price_of(model: str, prices: Mapping[str, Price]) -> Price | None:
    """Return the price of a model by its name, with or without provider, or by the part after its last `/` or `:`."""
    by_name = {name.removeprefix("openai:"): price for name, price in prices.items()}
    return by_name.get(model) or by_name.get(re.split("[/:]", model)[-1])


EXTRACTIVE = "extractive"
UNKNOWN_WINDOW = 128_000
"""Input tokens that a model without a profile is taken to read."""
SMALL_WINDOW = 8_000
"""Input tokens below which no run is possible, even where small windows are allowed."""
QUOTES_ONLY = "No language model is at work: the report quotes the sources and draws no conclusions."


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
    calls_tools: bool | None
    """Whether it calls tools by the API's own means; none: not known before it was tried."""
    output: int | None = None
    """Output tokens of one call; none: not known."""


def resolve_model(role: Role, context: Context) -> BaseChatModel:
    """Return the model that plays a role; made when it is needed, so that a missing key never stops an import.

    Raises `UnknownModel`, or `KeyRefused` where a key is missing.
    """
    model = _chosen(role, context)
    if isinstance(model, BaseChatModel):
        return model
    return ExtractiveChatModel(role=role) if model == EXTRACTIVE else make_model(model, role, context)


def profile_of(role: Role, context: Context) -> Profile:
    """Return what the role's model can do; the settings `window` and `reasoning` win over its own profile."""
    model = resolve_model(role, context)
    known = dict(getattr(model, "profile", None) or {})
    window = context.window or known.get("max_input_tokens")
    reasons = known.get("reasoning_output", False) if context.reasoning is None else context.reasoning
    name = getattr(model, "model_name", None) or getattr(model, "model", None) or model._llm_type
    return Profile(
        str(name),
        int(window or UNKNOWN_WINDOW),
        window is not None,
        bool(reasons),
        known.get("tool_calling"),
        known.get("max_output_tokens"),
    )


def output_tokens(role: Role, wanted: int | None, context: Context) -> int | None:
    """Return the output tokens to allow: those `wanted`, and those of thoughts, which providers count as output."""
    if wanted is None:
        return None
    profile = profile_of(role, context)
    wanted += context.limits.reasoning_tokens if profile.reasons else 0
    return min(wanted, profile.output) if profile.output else wanted


def is_unset(context: Context) -> bool:
    """Whether a role is played by `extractive` only because neither the settings nor the environment name a model."""
    return not default_model() and not all(_given(role, context) for role in ROLES)


def is_named(role: Role, context: Context) -> bool:
    """Whether the role's model goes by a name, and is not an instance that an app has made."""
    return isinstance(_chosen(role, context), str)


def is_extractive(role: Role, context: Context) -> bool:
    """Whether the role's model reads instead of writing, so that its word weighs no more than a rule."""
    return profile_of(role, context).name == EXTRACTIVE


async def load_models(context: Context) -> None:
    """Load what the models need, which takes up to a second; what is wrong with them is for `check_models` to say."""
    for role in {str(_chosen(role, context)): role for role in ROLES}.values():
        with suppress(DeepResearchError):
            await in_thread(partial(_load, role, context))


def _load(role: Role, context: Context) -> None:
    with frozen_imports():
        resolve_model(role, context)


def check_models(roles: tuple[Role, ...], context: Context) -> tuple[str, ...]:
    """Refuse models that cannot do the work before any is called; returns what the reader should know.

    Raises `UnknownModel`, `KeyRefused` or `WindowTooSmall`.
    """
    notices: dict[str, None] = {}
    for role in roles:
        profile = profile_of(role, context)
        _check_window(role, profile, context)
        if not profile.is_window_known:
            notices[f"The window of the model {profile.name} is not known; {UNKNOWN_WINDOW} tokens are assumed."] = None
        if context.limits.max_usd and profile.name != EXTRACTIVE and not price_of(profile.name, context.prices):
            words = (
                f"No price of the model {profile.name} is set (prices): max_usd holds only if its provider tells one."
            )
            notices[words] = None
        if _chosen(role, context) == EXTRACTIVE:
            notices[QUOTES_ONLY] = None
    return tuple(notices)


def _check_window(role: Role, profile: Profile, context: Context) -> None:
    usual = context.limits.min_window
    least = min(usual, SMALL_WINDOW) if context.allow_small_window else usual
    if profile.window < least:
        way_out = "" if context.allow_small_window else f"set allow_small_window to work with {SMALL_WINDOW} or more, "
        raise WindowTooSmall(
            f"The {role}'s model {profile.name!r} reads {profile.window} tokens; {least} are needed. Choose a larger "
            f"model, {way_out}or set window or the limit min_window if this is wrong."
        )


def _chosen(role: Role, context: Context) -> Model:
    return _given(role, context) or default_model() or EXTRACTIVE


def _given(role: Role, context: Context) -> Model | None:
    """Return the model that the settings give a role; none if they leave it open."""
    named = context.models
    if isinstance(named, dict):
        return named.get(role) or (named.get("writer") if role == "verifier" else None)
    return named


def settings_of(runtime: Runtime[Context] | Runtime[UserSettings]) -> Context:
    """Return the settings of this run, the defaults where the caller gave none.

    On the server they are the operator's, narrowed by the user. Where a model with a small window is allowed,
    everything is cut shorter.
    """
    given = runtime.context
    context = given.context if isinstance(given, UserSettings) else given or Context()
    if not context.allow_small_window:
        return context
    window = min(profile_of(role, context).window for role in ROLES)
    return context.model_copy(update={"limits": context.limits.shortened(window)})

"""Finds the chat model of each role, its abilities and its price, and the settings of the current
run."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache, lru_cache
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

from langchain_core.language_models import BaseChatModel
from langgraph.config import get_config
from langgraph.runtime import Runtime
from pydantic import SecretStr

from ..concurrency import PerLoop, in_thread
from ..errors import (
    DeepResearchError,
    KeyRefused,
    ReportNotEditable,
    UnknownModel,
    UnknownSetting,
    WindowTooSmall,
    how_to_install,
    log_failure,
)
from ..records.research import Spent
from ..settings.context import ROLES, Context, Price, Role
from ..settings.network import usable_proxy
from ..settings.server_settings import UserSettings
from ._faults import host_in
from .extractive.chat import ExtractiveChatModel

_OPENAI = "openai:"
_OPENAI_URL = "https://api.openai.com/v1"
_OPENAI_HOSTS = (".openai.com", ".azure.com")
_DEFAULT_MODEL = "gpt-5-mini"
"""OpenAI model used if neither `models` nor OPENAI_MODEL names one."""
_NO_KEY = "none"
"""Key sent if none is set; self-hosted servers seldom require one."""
_ONE_TRY = {"google_genai": 1}
"""Values of `max_retries` that mean a single try, where it is not 0: Google's class counts the
first try too."""
_ADDRESSES = (
    "openai_api_base",
    "azure_endpoint",
    "base_url",
    "anthropic_api_url",
    "groq_api_base",
    "endpoint",
)
"""Attributes of the providers' classes that may contain the server's URL."""
_TOKENS_PER_PRICE = 1_000_000
EXTRACTIVE = "extractive"
"""Name of the model that quotes the sources by rules, without a language model."""
REASONING_TOKENS = 8192
"""Output tokens for the thoughts of a reasoning model, in addition to its answer; at most an eighth
of its window."""
_UNKNOWN_WINDOW = 128_000
"""Window in tokens assumed for a model if nothing states it."""
_LEAST_WINDOW = 8_000
"""Minimum window in tokens with the setting `allow_small_window`."""
_DECIDING: tuple[Role, ...] = ("clarifier", "planner", "orchestrator")
"""Roles that use the extractive model in place of a small model."""
_SMALL_MODEL_WINDOW = 32_000
"""A model with a smaller window (in tokens) counts as a small model."""
_REASONING_NAME = re.compile(
    r"(?<![a-z\d])(?:o[1-9]|gpt-[5-9](?!\S*chat)|gpt-oss|r1|qwq|magistral|reason(?:er|ing)|(?<!non-)thinking)(?![a-z\d])",
    re.IGNORECASE,
)
"""Matches the names of reasoning models; decides for models that no profile describes."""
Value = TypeVar("Value")
_cache = PerLoop(dict[object, Any])
"""The models and HTTP clients of an event loop."""
_NO_EDITOR = (
    "A report is edited by a language model, but the writer's model is extractive and only quotes: "
    "choose another (--model, models)."
)
_QUOTES_ONLY = "No language model is used: the report quotes the sources and draws no conclusions."
CHOOSE_MODEL = (
    "To use a model, set OPENAI_API_KEY, or OPENAI_BASE_URL for a server of your own, or name one "
    "(--model, models)."
)
"""Appended to `_QUOTES_ONLY` if neither the settings nor the environment name a model."""


class ModelNotes:
    """What this process knows about models, by `Profile.at_server`, for code that cannot read files
    because it is not async."""

    def __init__(self) -> None:
        self.reasoning = set[str]()
        """Models that sent a thought in their trial."""
        self.helped = set[str]()
        """Models that cannot call tools through the API."""
        self.windows = dict[str, int | None]()
        """Windows in tokens as stated by the servers; None: the server was asked but stated
        none."""


notes = ModelNotes()
"""The notes of this process."""


class Server(NamedTuple):
    """An OpenAI-compatible server."""

    url: str
    key: SecretStr

    @property
    def is_openai(self) -> bool:
        """Whether it belongs to OpenAI or Azure, which require a key and the newest parameter
        names."""
        return f".{urlsplit(self.url).hostname}".endswith(_OPENAI_HOSTS)


def _make_model(name: str, role: Role, context: Context) -> BaseChatModel:
    """Return the named model for the running event loop.

    Raises `UnknownModel`, `UnknownSetting` for an invalid address, or `KeyRefused` for a missing or
    invalid key.
    """
    provider, sign, model = name.partition(":")
    if name.startswith("{"):
        raise UnknownModel(
            f'Broken JSON {name!r} (setting models): per role, write {{"writer": "openai:NAME"}}.'
        )
    if not provider or not model:
        suggested = "NAME" if sign else name
        raise UnknownModel(
            f"{_subject(name, role, context)} is unknown (setting models): use "
            f"'openai:{suggested}' for OpenAI or a compatible server, 'extractive' for no model, "
            "or pass a chat model instance."
        )
    if f"{provider}:" != _OPENAI:
        return _cached(name, lambda: _of_other_provider(provider, model, role, context))
    server = _openai_server(model, role, context)
    key_of_model = (model, server, context.responses_api, context.reasoning)
    return _cached(key_of_model, lambda: _of_openai(model, server, context))


def _openai_server(model: str, role: Role, context: Context) -> Server:
    """Return the OpenAI-compatible server in the environment, or OpenAI's; raises `UnknownSetting`
    or `KeyRefused`."""
    key = _variable("OPENAI_API_KEY")
    server = _server_at(_base_url() or _OPENAI_URL, key)
    if server.is_openai and not key:
        raise KeyRefused(
            f"{_subject(model, role, context)} needs a key: set OPENAI_API_KEY, or "
            "OPENAI_BASE_URL for a compatible server."
        )
    return server


@lru_cache(maxsize=10)
def _server_at(url: str, key: str) -> Server:
    """Return a server, kept since each call of a run asks for it; raises like `_openai_server`."""
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_address = False
    if not is_address:
        raise UnknownSetting(
            "OPENAI_BASE_URL is not a server address; set one such as http://localhost:8000/v1."
        )
    if not key.isascii() or not key.isprintable() or " " in key:
        raise KeyRefused(
            "OPENAI_API_KEY contains a character that keys never contain; copy the key again."
        )
    return Server(url, SecretStr(key or _NO_KEY))


def model_host(model: BaseChatModel) -> str:
    """Return the host and port of a model's server; empty if its class has none of the known
    attributes."""
    for name in _addresses_of(type(model)):
        address = getattr(model, name)
        host = host_in(address) if isinstance(address, str) else ""
        if host:
            return host
    return ""


@cache
def _addresses_of(kind: type[BaseChatModel]) -> tuple[str, ...]:
    """Return which of the known attributes a class has; Pydantic takes long to miss one."""
    return tuple(name for name in _ADDRESSES if name in kind.model_fields or hasattr(kind, name))


def _base_url() -> str:
    """Return the address of the OpenAI-compatible server in the environment; empty if none is
    set."""
    # OPENAI_API_BASE is the older name, which LangChain reads.
    return _variable("OPENAI_BASE_URL") or _variable("OPENAI_API_BASE")


def _variable(name: str) -> str:
    """Return an environment variable; empty if it is unset or blank."""
    return os.environ.get(name, "").strip()


def _of_openai(model: str, server: Server, context: Context) -> BaseChatModel:
    """Return a new model at an OpenAI-compatible server."""
    from ._openai_chat import TIMEOUT, LoopClient, OpenAIChat

    async def key() -> str:
        """Return the key; a function, so that printing the model does not reveal it."""
        return server.key.get_secret_value()

    proxy = usable_proxy(server.url)
    return OpenAIChat(
        model=model,
        base_url=server.url,
        api_key=key,
        http_async_client=_cached((LoopClient, proxy), lambda: LoopClient(proxy)),
        openai_proxy=None,
        timeout=TIMEOUT,
        stream_chunk_timeout=None,
        max_retries=0,
        use_responses_api=context.responses_api,
        reasons=context.reasoning,
        is_at_openai=server.is_openai,
    )


def _of_other_provider(provider: str, model: str, role: Role, context: Context) -> BaseChatModel:
    """Return a new model of a provider that LangChain supports; raises `UnknownModel` or
    `KeyRefused`."""
    name = f"{provider}:{model}"
    try:
        from langchain.chat_models import init_chat_model
    except ImportError as error:
        raise UnknownModel(
            f"{_subject(name, role, context)} cannot be set up: the provider {provider!r} needs "
            f"LangChain, which is not installed: {how_to_install('providers')}; for an "
            f"OpenAI-compatible server, write 'openai:{name}'."
        ) from error
    try:
        made = init_chat_model(model, model_provider=provider)
        # `RetryBudget` alone retries calls. A class without this field might send the setting to
        # its server.
        if "max_retries" in type(made).model_fields:
            tries = _ONE_TRY.get(provider, 0)
            made = init_chat_model(model, model_provider=provider, max_retries=tries)
        return made
    except ImportError as error:
        stated = re.search(r"langchain-[a-z0-9-]+", str(error))
        package = stated[0] if stated else f"langchain-{provider}"
        raise UnknownModel(
            f"{_subject(name, role, context)} needs a package (setting models): pip install "
            f"{package}."
        ) from None
    except Exception as error:  # noqa: BLE001 - providers' packages raise anything for a missing setting
        log_failure(__name__, error, "The %s's model cannot be set up", role)
        if "nsupported provider" not in str(error):
            raise KeyRefused(
                f"{_subject(name, role, context)} cannot be set up: is the key of its provider in "
                "the environment?"
            ) from None
        raise UnknownModel(
            f"{_subject(name, role, context)} is unknown (setting models): unknown provider "
            f"{provider!r}; for an OpenAI-compatible server, write 'openai:{name}'."
        ) from None


def _cached(key: object, make: Callable[[], Value]) -> Value:
    """Return the running event loop's value for this key; if there is none, or no loop, make a new
    one.

    Loops share no values, since connections cannot move from one to another.
    """
    try:
        cache = _cache.get()
    except RuntimeError:
        return make()
    if key not in cache:
        cache[key] = make()
    value: Value = cache[key]
    return value


def cost_of(
    model: str, spent: Spent, prices: Mapping[str, Price], reported: float | None = None
) -> float:
    """Return the cost of a call in US dollars: from `prices`, else as `reported` by the server,
    else 0."""
    price = price_of(model, prices)
    if price is None:
        return reported or 0.0
    cached_price = price.input if price.cached is None else price.cached
    fresh_tokens = spent.input_tokens - spent.cached_tokens
    usd = (
        fresh_tokens * price.input
        + spent.cached_tokens * cached_price
        + spent.output_tokens * price.output
    )
    return usd / _TOKENS_PER_PRICE


def price_of(model: str, prices: Mapping[str, Price]) -> Price | None:
    """Return the price set for a model, under its name or the part after the last `/` or `:`; None
    if there is none."""
    by_name = {name.removeprefix("openai:"): price for name, price in prices.items()}
    return by_name.get(model) or by_name.get(re.split("[/:]", model)[-1])


class Profile(NamedTuple):
    """What is known about a model."""

    name: str
    """Name shown to the user."""
    window: int
    """Context window in tokens."""
    is_window_known: bool
    """Whether the settings, the server or LangChain's profile state the window; otherwise it is
    assumed."""
    reasons: bool
    """Whether it reasons before it answers, so that it does not need the think tool."""
    calls_tools: bool | None
    """Whether it calls tools through the API; None: not known before its trial."""
    output: int | None
    """Maximum output tokens of a call; None: not known."""
    at_server: str
    """Name and server, since servers may use the same name for different models."""

    def output_tokens(self, wanted: int) -> int:
        """Return the output limit to send: `wanted` tokens plus those for thoughts, which count as
        output."""
        if self.reasons:
            wanted += min(REASONING_TOKENS, self.window // 8)
        if self.output:
            wanted = min(wanted, self.output)
        return wanted


def resolve_model(role: Role, context: Context) -> BaseChatModel:
    """Return a role's model, created on first use.

    Raises `UnknownModel`, `UnknownSetting` for an invalid server address, or `KeyRefused` for a
    missing or invalid key.
    """
    model = _chosen(role, context)
    if isinstance(model, BaseChatModel):
        return model
    if model == EXTRACTIVE:
        return _extractive_model(role)
    return _make_model(model, role, context)


@cache
def _extractive_model(role: Role) -> ExtractiveChatModel:
    """Return the extractive model, which knows nothing of a run; making one takes longer than its
    answer."""
    return ExtractiveChatModel(role=role)


def _name_of(model: BaseChatModel) -> str:
    """Return the name of a model that is shown to the user."""
    name = getattr(model, "model_name", None) or getattr(model, "model", None) or model._llm_type
    return str(name)


def profile_of(role: Role, context: Context) -> Profile:
    """Return what is known about a role's model: from the settings, else its server, else
    LangChain's profile of it.

    If none of them states whether the model reasons, its name and its trial decide. Raises as
    `resolve_model` does.
    """
    model = resolve_model(role, context)
    known = dict(getattr(model, "profile", None) or {})
    name = _name_of(model)
    at_server = f"{name} at {model_host(model) or type(model).__name__}"
    stated = notes.windows.get(at_server)
    window = context.window or stated or known.get("max_input_tokens")
    reasons = context.reasoning
    if reasons is None:
        reasons = known.get("reasoning_output")
    if reasons is None:
        reasons = bool(_REASONING_NAME.search(name)) or at_server in notes.reasoning
    return Profile(
        name,
        window=int(window or _UNKNOWN_WINDOW),
        is_window_known=window is not None,
        reasons=bool(reasons),
        calls_tools=known.get("tool_calling"),
        output=known.get("max_output_tokens"),
        at_server=at_server,
    )


def binds_tools(model: BaseChatModel) -> bool:
    """Whether a model's class can call tools through the API."""
    return type(model).bind_tools is not BaseChatModel.bind_tools


def is_named(role: Role, context: Context) -> bool:
    """Whether the role's model is given by name; otherwise an app passed a model instance."""
    return isinstance(_chosen(role, context), str)


class RoleModels(NamedTuple):
    """The models that settings give the roles of a run."""

    context: Context

    async def load(self) -> None:
        """Create the models and ask each server once for their windows; errors are left for
        `check` to raise."""
        context = self.context
        roles = {str(_chosen(role, context)): role for role in ROLES}
        for role in roles.values():
            with suppress(DeepResearchError):
                await in_thread(resolve_model, role, context)
                model = resolve_model(role, context)
                at_server = profile_of(role, context).at_server
                is_asked = not context.window and at_server not in notes.windows
                if is_asked and hasattr(model, "read_window"):
                    notes.windows[at_server] = await model.read_window()

    def subject(self, role: Role) -> str:
        """Return how messages name a role's model: with the role only if the roles have several."""
        return _subject(profile_of(role, self.context).name, role, self.context)

    def check(self, roles: tuple[Role, ...] = ROLES) -> tuple[str, ...]:
        """Check the models of these roles before the first call; return notices for the user.

        Raises `WindowTooSmall`, or the errors of `resolve_model`.
        """
        context = self.context
        notices = [self.quotes_only(roles)]
        least = context.limits.min_window
        if context.allow_small_window:
            least = min(least, _LEAST_WINDOW)
        for role in roles:
            profile = profile_of(role, context)
            name = profile.name
            if profile.window < least:
                allow = f"set allow_small_window to work with {_LEAST_WINDOW} or more, "
                if context.allow_small_window:
                    allow = ""
                raise WindowTooSmall(
                    f"{self.subject(role)} reads {profile.window} tokens; {least} are "
                    "needed. Choose a larger model, raise the limit of its server (Ollama: "
                    f"OLLAMA_CONTEXT_LENGTH; llama.cpp: --ctx-size), {allow}or set window or the "
                    "limit min_window if this is wrong."
                )
            if not profile.is_window_known:
                notices.append(
                    f"The window of the model {name} is not known; {_UNKNOWN_WINDOW} tokens are "
                    "assumed."
                )
            if context.limits.max_usd and name != EXTRACTIVE and not price_of(name, context.prices):
                notices.append(
                    f"No price is set for the model {name} (prices): max_usd only works if its "
                    "provider reports costs."
                )
        return tuple(dict.fromkeys(filter(None, notices)))

    def check_editor(self) -> None:
        """Raise `ReportNotEditable` if the writer's model cannot edit a report."""
        if self.is_extractive("writer"):
            raise ReportNotEditable(_NO_EDITOR)

    def quotes_only(self, roles: tuple[Role, ...] = ROLES) -> str:
        """Return a notice if the writer is the extractive model, which says how to choose another
        if none was chosen."""
        context = self.context
        if "writer" not in roles or _chosen("writer", context) != EXTRACTIVE:
            return ""
        if _given("writer", context):
            return _QUOTES_ONLY
        return f"{_QUOTES_ONLY} {CHOOSE_MODEL}"

    def is_extractive(self, role: Role) -> bool:
        """Whether the role uses the extractive model, which needs no language model."""
        return _name_of(resolve_model(role, self.context)) == EXTRACTIVE

    @property
    def only_quotes_rows(self) -> bool:
        """Whether no model looks for the rows of a table: they are documents, and cells are
        quotations."""
        return self.is_extractive("researcher") or self.is_extractive("planner")

    def is_small(self, role: Role) -> bool:
        """Whether a role's model is treated as small and gets simpler tasks.

        The setting `small` decides. With `auto`, a model is small if it cannot call tools through
        the API, as is known from its class or its trial, or has a small window; the extractive
        model never is.
        """
        context = self.context
        profile = profile_of(role, context)
        if profile.name == EXTRACTIVE:
            return False
        if context.small != "auto":
            return context.small == "on"
        if not binds_tools(resolve_model(role, context)):
            needs_help = True
        elif context.tool_calls == "auto":
            needs_help = profile.at_server in notes.helped
        else:
            needs_help = context.tool_calls != "native"
        return needs_help or profile.window < _SMALL_MODEL_WINDOW

    def is_capable(self, role: Role) -> bool:
        """Whether a role's model is able to judge: neither small nor extractive."""
        return not (self.is_small(role) or self.is_extractive(role))

    def without_model(self, role: Role) -> Context:
        """Return a copy of the settings in which a role uses the extractive model."""
        context = self.context
        models = {other: _chosen(other, context) for other in ROLES}
        return context.model_copy(update={"models": {**models, role: EXTRACTIVE}})

    def fitted_settings(self) -> Context:
        """Return the settings with the limits of their depth, lowered for small models and small
        windows."""
        context = self.context.at_depth()
        # `RoleModels.check` reports errors of models.
        with suppress(DeepResearchError):
            if RoleModels(context).is_small("researcher"):
                # The rules of the extractive model find better questions, plans and tasks than a
                # small model.
                context = context.model_copy(update={"limits": context.limits.narrowed()})
                for role in _DECIDING:
                    if RoleModels(context).is_small(role):
                        context = RoleModels(context).without_model(role)
        if not context.allow_small_window:
            return context
        window = min(profile_of(role, context).window for role in ROLES)
        return context.model_copy(update={"limits": context.limits.shortened(window)})

    def names(self) -> list[str]:
        """Return the name of each role's model; raises as `resolve_model` does."""
        return [profile_of(role, self.context).name for role in ROLES]


def _chosen(role: Role, context: Context) -> str | BaseChatModel:
    """Return a role's model, or its name: from the settings, else from the environment, else the
    extractive model."""
    given = _given(role, context)
    if not given and (_variable("OPENAI_API_KEY") or _base_url()):
        return _OPENAI + (_variable("OPENAI_MODEL") or _DEFAULT_MODEL)
    return given or EXTRACTIVE


def _subject(name: str, role: Role, context: Context) -> str:
    """Return how messages name a role's model that need not exist, as `RoleModels.subject` does."""
    chosen = {str(_chosen(each, context)) for each in ROLES}
    return f"The model {name!r}" if len(chosen) == 1 else f"The model {name!r} (role {role})"


def _given(role: Role, context: Context) -> str | BaseChatModel | None:
    """Return the model that the settings give a role; None if they give none."""
    models = context.models
    if not isinstance(models, dict):
        return models
    if role == "verifier":
        return models.get(role) or models.get("writer")
    return models.get(role)


def _user() -> str:
    """Return the name of the user who started the current run on a server; empty outside a
    server."""
    return str(get_config().get("configurable", {}).get("langgraph_auth_user_id") or "")


def settings_of(runtime: Runtime[Context] | Runtime[UserSettings]) -> Context:
    """Return the settings of the current run, from its `context` and `configurable`, with defaults
    for the rest.

    On the server, users can only narrow the operator's settings. If this graph runs inside another
    one, `context` may be that graph's; it is then ignored.
    """
    given = runtime.context
    configurable = get_config().get("configurable", {})
    if isinstance(given, UserSettings):
        return RoleModels(given.context_of(_user())).fitted_settings()
    if not isinstance(given, Context) and (runtime.server_info or _user()):
        # Clients of a server pass their settings in `configurable`.
        names = [name for name in UserSettings.model_fields if name in configurable]
        settings = UserSettings.read({name: configurable[name] for name in names})
        return RoleModels(settings.context_of(_user())).fitted_settings()
    context = given if isinstance(given, Context) else None
    return RoleModels(Context.of_call(context, configurable)).fitted_settings()

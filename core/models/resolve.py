"""From a role or a model's name to the chat model, what it can do, and what it costs."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

from langchain_core.language_models import BaseChatModel
from langgraph.config import get_config
from langgraph.runtime import Runtime
from pydantic import SecretStr

from ..records.research import Spent
from ..run.concurrency import PerLoop, in_thread
from ..run.context import ROLES, Context, Model, Price, Role
from ..run.errors import DeepResearchError, KeyRefused, UnknownModel, UnknownSetting, WindowTooSmall
from ..run.logs import log_failure
from ..run.network import is_loopback, usable_proxy
from ..run.settings import read_settings, with_configurable
from ..run.user_settings import UserSettings
from .extractive import ExtractiveChatModel
from .faults import host_in

OPENAI = "openai:"
OPENAI_URL = "https://api.openai.com/v1"
OPENAI_HOSTS = (".openai.com", ".azure.com")
DEFAULT_MODEL = "gpt-5-mini"
"""Used at OpenAI where neither `models` nor OPENAI_MODEL names one."""
NO_KEY = "none"
"""Sent where there is no key; servers of one's own seldom ask for any."""
ONE_TRY = {"google_genai": 1}
"""What `max_retries` of a provider's class has to be for one try alone, where it is not 0: Google counts the first."""
ADDRESSES = ("openai_api_base", "azure_endpoint", "base_url", "anthropic_api_url", "groq_api_base", "endpoint")
"""Where the classes keep the address of their server."""

Value = TypeVar("Value")
_made = PerLoop(dict[object, Any])
TOKENS = 1_000_000
"""Tokens that a price is for."""
EXTRACTIVE = "extractive"
UNKNOWN_WINDOW = 128_000
"""Input tokens that a model without a profile is taken to read."""
SMALL_WINDOW = 8_000
"""Input tokens below which no run is possible, even where small windows are allowed."""
DECIDING: tuple[Role, ...] = ("clarifier", "planner", "orchestrator")
"""Roles of which small models play none."""
LITTLE_WINDOW = 32_000
"""Input tokens below which a model is asked for little at once."""
REASONING_NAME = re.compile(
    r"(?<![a-z\d])(?:o[1-9]|gpt-[5-9](?!\S*chat)|gpt-oss|r1|qwq|magistral|reason(?:er|ing)|(?<!non-)thinking)(?![a-z\d])",
    re.IGNORECASE,
)
"""Part of the names of models that reason by themselves, for those that no profile describes."""
known_to_reason = set[str]()
"""Models by `name_at_server` that showed a thought when they were tried."""
known_to_need_help = set[str]()
"""Models by `name_at_server` that call tools in no way of their API."""
windows_at_servers = dict[str, int | None]()
"""Input tokens that servers say their models read, by `name_at_server`; none where they do not say."""
QUOTES_ONLY = "No language model is at work: the report quotes the sources and draws no conclusions."
CHOOSE_MODEL = (
    "To use a model, set OPENAI_API_KEY, or OPENAI_BASE_URL for a server of your own, or name one (--model, models)."
)
"""What follows where the settings name no model and the environment has none."""


class Server(NamedTuple):
    """A server that speaks OpenAI's API."""

    url: str
    key: SecretStr

    @property
    def is_openai(self) -> bool:
        """Whether it is OpenAI's own, or Azure's: these need a key and know the latest names of parameters."""
        return f".{urlsplit(self.url).hostname}".endswith(OPENAI_HOSTS)


class _OpenAIModel(NamedTuple):
    """All that makes one model at such a server differ from another."""

    name: str
    server: Server
    responses_api: bool | None
    reasons: bool | None


def make_model(name: str, role: Role, context: Context) -> BaseChatModel:
    """Return the model of this name for the running event loop.

    Raises `UnknownModel` for a name that leads nowhere, `KeyRefused` where a key is missing.
    """
    provider, sign, model = name.partition(":")
    if name.startswith("{"):
        raise UnknownModel(f'Broken JSON {name!r} (setting models): by role it looks like {{"writer": "openai:NAME"}}.')
    if not provider or not model:
        raise UnknownModel(
            f"Unknown model {name!r} for the {role} (setting models): use 'openai:{'NAME' if sign else name}' for "
            "OpenAI or a compatible server, 'extractive' for none, or pass a chat model instance."
        )
    if f"{provider}:" != OPENAI:
        return _kept(name, lambda: _of_other_provider(provider, model, role))
    wanted = _OpenAIModel(model, _server(role), context.responses_api, context.reasoning)
    return _kept(wanted, lambda: _at_openai(wanted))


def host_of(model: BaseChatModel) -> str:
    """Return host and port of the server that a model calls; empty where its class does not tell."""
    addresses = (getattr(model, name, None) for name in ADDRESSES)
    return next((host for address in addresses if isinstance(address, str) and (host := host_in(address))), "")


def is_on_this_machine(model: BaseChatModel) -> bool:
    """Whether a model's server runs on this machine."""
    return is_loopback(urlsplit(f"//{host_of(model)}").hostname or "")


def _server(role: Role) -> Server:
    url = _base_url() or OPENAI_URL
    if not _is_address(url):
        raise UnknownSetting("OPENAI_BASE_URL is no address of a server; give one such as http://localhost:8000/v1.")
    key = _variable("OPENAI_API_KEY")
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise KeyRefused("OPENAI_API_KEY holds a character that no key has; copy the key anew.")
    server = Server(url, SecretStr(key or NO_KEY))
    if server.is_openai and not key:
        raise KeyRefused(
            f"The {role}'s model needs a key: set OPENAI_API_KEY, or OPENAI_BASE_URL for a compatible server."
        )
    return server


def _base_url() -> str:
    # The older name, which LangChain reads.
    return _variable("OPENAI_BASE_URL") or _variable("OPENAI_API_BASE")


def _variable(name: str) -> str:
    """Return what the environment gives; a variable that is set to nothing, or to blanks, is not set."""
    return os.environ.get(name, "").strip()


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _at_openai(wanted: _OpenAIModel) -> BaseChatModel:
    from .http import TIMEOUT, LoopClient
    from .openai_chat import OpenAIChat

    async def key() -> str:
        """Return the key from a function, which keeps it out of the model, and out of whatever prints one."""
        return wanted.server.key.get_secret_value()

    proxy = usable_proxy(wanted.server.url)
    return OpenAIChat(
        model=wanted.name,
        base_url=wanted.server.url,
        api_key=key,
        http_async_client=_kept((LoopClient, proxy), lambda: LoopClient(proxy)),
        openai_proxy=None,
        timeout=TIMEOUT,
        stream_chunk_timeout=None,
        max_retries=0,
        use_responses_api=wanted.responses_api,
        reasons=wanted.reasons,
        is_at_openai=wanted.server.is_openai,
    )


def _of_other_provider(provider: str, model: str, role: Role) -> BaseChatModel:
    name = f"{provider}:{model}"
    try:
        from langchain.chat_models import init_chat_model
    except ImportError as error:
        raise UnknownModel(
            f"The {role}'s model {name!r} (setting models): the provider {provider!r} is looked up by LangChain, which "
            'is not installed: pip install ".[providers]" in the checkout of deep_research; a server with OpenAI\'s '
            f"API goes by 'openai:{name}'."
        ) from error
    try:
        return _of_one_try(init_chat_model, provider, model)
    except ImportError as error:
        package = re.search(r"langchain-[a-z0-9-]+", str(error))
        raise UnknownModel(
            f"The {role}'s model {name!r} (setting models) needs a package: "
            f"pip install {package[0] if package else f'langchain-{provider}'}."
        ) from None
    except Exception as error:  # noqa: BLE001 - whatever the package of a provider makes of a missing setting
        log_failure(__name__, error, "The %s's model cannot be set up", role)
        if "nsupported provider" not in str(error):
            raise KeyRefused(
                f"The {role}'s model {name!r} cannot be set up: is the key of its provider in the environment?"
            ) from None
        raise UnknownModel(
            f"Unknown model {name!r} for the {role} (setting models): there is no provider {provider!r}; "
            f"a server with OpenAI's API goes by 'openai:{name}'."
        ) from None


def _of_one_try(make: Callable[..., BaseChatModel], provider: str, model: str) -> BaseChatModel:
    """Return the model without retries of its own: `RetryBudget` alone repeats calls."""
    made = make(model, model_provider=provider)
    # Only the class tells whether it has the field; one that has not might send it on to its server.
    if "max_retries" not in type(made).model_fields:
        return made
    return make(model, model_provider=provider, max_retries=ONE_TRY.get(provider, 0))


def _kept(key: object, make: Callable[[], Value]) -> Value:
    """Return what was made before for this loop under the key; connections cannot move from one loop to another."""
    try:
        kept = _made.get()
    except RuntimeError:
        return make()
    if key not in kept:
        kept[key] = make()
    value: Value = kept[key]
    return value


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


class Profile(NamedTuple):
    """What a model can do."""

    name: str
    """Name for messages to the user."""
    window: int
    """Input tokens that it reads."""
    is_window_known: bool
    """Whether the window comes from the settings, the model's server or its profile."""
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
    if model == EXTRACTIVE:
        return ExtractiveChatModel(role=role)
    return make_model(model, role, context)


def profile_of(role: Role, context: Context) -> Profile:
    """Return what the role's model can do; the settings `window` and `reasoning` win over its server and its profile.

    Where none says whether it reasons, its name does, or the answer to its trial.
    """
    model = resolve_model(role, context)
    known = dict(getattr(model, "profile", None) or {})
    name = str(getattr(model, "model_name", None) or getattr(model, "model", None) or model._llm_type)
    at_server = name_at_server(name, model)
    window = context.window or windows_at_servers.get(at_server) or known.get("max_input_tokens")
    reasons = known.get("reasoning_output") if context.reasoning is None else context.reasoning
    if reasons is None:
        reasons = bool(REASONING_NAME.search(name)) or at_server in known_to_reason
    return Profile(
        name,
        int(window or UNKNOWN_WINDOW),
        window is not None,
        bool(reasons),
        known.get("tool_calling"),
        known.get("max_output_tokens"),
    )


def name_at_server(name: str, model: BaseChatModel) -> str:
    """Return the name of a model with its server; two servers may have different models of one name."""
    return f"{name} at {host_of(model) or type(model).__name__}"


def output_tokens(role: Role, wanted: int | None, context: Context) -> int | None:
    """Return the output tokens to allow: those `wanted`, and those of thoughts, which providers count as output."""
    if wanted is None:
        return None
    profile = profile_of(role, context)
    wanted += context.limits.reasoning_tokens if profile.reasons else 0
    return min(wanted, profile.output) if profile.output else wanted


def with_model(role: Role, model: Model, context: Context) -> Context:
    """Return the settings with another model for a role."""
    models = {one: _chosen(one, context) for one in ROLES}
    return context.model_copy(update={"models": {**models, role: model}})


def is_small(role: Role, context: Context) -> bool:
    """Whether a role's model is asked for little at once: as `small` says, or where it seems to need that."""
    profile = profile_of(role, context)
    if profile.name == EXTRACTIVE or context.small != "auto":
        return context.small == "on" and profile.name != EXTRACTIVE
    is_helped = name_at_server(profile.name, resolve_model(role, context)) in known_to_need_help
    is_helped = is_helped if context.tool_calls == "auto" else context.tool_calls != "native"
    return is_helped or profile.window < LITTLE_WINDOW


def is_named(role: Role, context: Context) -> bool:
    """Whether the role's model goes by a name, and is not an instance that an app has made."""
    return isinstance(_chosen(role, context), str)


def is_extractive(role: Role, context: Context) -> bool:
    """Whether the role's model reads instead of writing, so that its word weighs no more than a rule."""
    return profile_of(role, context).name == EXTRACTIVE


async def load_models(context: Context) -> None:
    """Load what models need, and ask their servers once how much they read; `check_models` says what is wrong."""
    for role in {str(_chosen(role, context)): role for role in ROLES}.values():
        with suppress(DeepResearchError):
            await in_thread(partial(resolve_model, role, context))
            name = name_at_server(profile_of(role, context).name, model := resolve_model(role, context))
            if not context.window and name not in windows_at_servers and hasattr(model, "read_window"):
                windows_at_servers[name] = await model.read_window()


def check_models(roles: tuple[Role, ...], context: Context) -> tuple[str, ...]:
    """Refuse models that cannot do the work before any is called; returns what the reader should know.

    Raises `UnknownModel`, `KeyRefused` or `WindowTooSmall`.
    """
    notices = dict.fromkeys(filter(None, (quotes_only(roles, context),)))
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
    return tuple(notices)


def quotes_only(roles: tuple[Role, ...], context: Context) -> str:
    """Return the notice that a role has no language model, and how to configure one if none is; else nothing."""
    if "writer" not in roles or _chosen("writer", context) != EXTRACTIVE:
        return ""
    return QUOTES_ONLY if _given("writer", context) else f"{QUOTES_ONLY} {CHOOSE_MODEL}"


def _check_window(role: Role, profile: Profile, context: Context) -> None:
    usual = context.limits.min_window
    least = min(usual, SMALL_WINDOW) if context.allow_small_window else usual
    if profile.window < least:
        way_out = "" if context.allow_small_window else f"set allow_small_window to work with {SMALL_WINDOW} or more, "
        raise WindowTooSmall(
            f"The {role}'s model {profile.name!r} reads {profile.window} tokens; {least} are needed. Choose a larger "
            f"model, raise the limit of its server (Ollama: OLLAMA_CONTEXT_LENGTH; llama.cpp: --ctx-size), {way_out}or "
            "set window or the limit min_window if this is wrong."
        )


def _in_small_steps(context: Context) -> Context:
    """Return the settings of a run whose researchers are asked for little at once: small models do not decide either.

    What a small model asks back, plans and delegates is of less use than what follows from the request by rules.
    """
    if not is_small("researcher", context):
        return context
    for role in DECIDING:
        context = with_model(role, EXTRACTIVE, context) if is_small(role, context) else context
    return context.model_copy(update={"limits": context.limits.narrowed()})


def _chosen(role: Role, context: Context) -> Model:
    """Return the model of a role: where the settings name none, that of the environment's server or of OpenAI."""
    given = _given(role, context)
    if not given and (_variable("OPENAI_API_KEY") or _base_url()):
        return OPENAI + (_variable("OPENAI_MODEL") or DEFAULT_MODEL)
    return given or EXTRACTIVE


def _given(role: Role, context: Context) -> Model | None:
    """Return the model that the settings give a role; none if they leave it open."""
    named = context.models
    if isinstance(named, dict):
        return named.get(role) or (named.get("writer") if role == "verifier" else None)
    return named


def _user() -> str:
    """Return the user of the server for whom the calling node runs; empty elsewhere."""
    return str(get_config().get("configurable", {}).get("langgraph_auth_user_id") or "")


def settings_of(runtime: Runtime[Context] | Runtime[UserSettings]) -> Context:
    """Return the settings of this run: from `context` and `configurable`, the defaults where the caller gave none.

    On the server they are the operator's, narrowed by the user. Depth `deep` widens the limits. Where a model with a
    small window is allowed, everything is cut shorter. In a node of another graph, `context` may be that graph's own.
    """
    given, configurable = runtime.context, get_config().get("configurable", {})
    if not isinstance(given, Context | UserSettings):
        # A server's clients fill `configurable`, and may only narrow what its operator allows.
        known = {name: configurable[name] for name in UserSettings.model_fields if name in configurable}
        given = read_settings(UserSettings, known) if runtime.server_info or _user() else None
    context = given.context_of(_user()) if isinstance(given, UserSettings) else with_configurable(given, configurable)
    context = context.at_depth()
    with suppress(DeepResearchError):
        # What is wrong with a model is for `check_models` to say.
        context = _in_small_steps(context)
    if not context.allow_small_window:
        return context
    window = min(profile_of(role, context).window for role in ROLES)
    return context.model_copy(update={"limits": context.limits.shortened(window)})

"""From a model's name to a chat model, made once for each event loop."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

from langchain_core.language_models import BaseChatModel
from pydantic import SecretStr

from ..run.concurrency import PerLoop
from ..run.context import Context, Role
from ..run.errors import KeyRefused, UnknownModel, UnknownSetting
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


def default_model() -> str:
    """Return the model where the settings name none: that of the environment's server or of OpenAI, if there is one."""
    if _variable("OPENAI_API_KEY") or _variable("OPENAI_BASE_URL"):
        return OPENAI + (_variable("OPENAI_MODEL") or DEFAULT_MODEL)
    return ""


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


def _server(role: Role) -> Server:
    url = _variable("OPENAI_BASE_URL") or OPENAI_URL
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

    return OpenAIChat(
        model=wanted.name,
        base_url=wanted.server.url,
        api_key=key,
        http_async_client=_kept(LoopClient, LoopClient),
        openai_proxy=None,
        timeout=TIMEOUT,
        stream_chunk_timeout=None,
        max_retries=0,
        use_responses_api=wanted.responses_api,
        reasons=wanted.reasons,
        output_limit="max_completion_tokens" if wanted.server.is_openai else "max_tokens",
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


_made = PerLoop(dict[object, Any])


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

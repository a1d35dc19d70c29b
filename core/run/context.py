"""What a run is given: models, documents, language, limits."""

from __future__ import annotations

import asyncio
import inspect
import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, Protocol, get_args, runtime_checkable

import platformdirs
from langchain_core.language_models import BaseChatModel
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import BaseTool, tool
from pydantic import Field, InstanceOf, WithJsonSchema, field_validator
from pydantic.json_schema import SkipJsonSchema
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict
from typing_extensions import TypedDict, Unpack

from ..records.research import Depth, Scope
from .env_file import load_env_file
from .errors import UnknownSetting
from .limits import ENVIRONMENT_PREFIX, KnownNames, Limits
from .registered import is_dotted

Role = Literal["clarifier", "planner", "orchestrator", "researcher", "writer", "verifier"]
ROLES: tuple[Role, ...] = get_args(Role)
ToolCalls = Literal["auto", "native", "schema", "tags"]
Effort = Literal["auto", "low", "medium", "high"]
Port = Annotated[int, Field(ge=1, le=65535)]
Model = Annotated[str | InstanceOf[BaseChatModel], WithJsonSchema({"type": "string"})]


@runtime_checkable
class Clock(Protocol):
    """Tells the date, measures seconds and lets them pass."""

    def now(self) -> datetime:
        """Return the present local date and time."""

    def seconds(self) -> float:
        """Seconds from an arbitrary start; never goes back."""

    async def sleep(self, seconds: float) -> None:
        """Wait until so many seconds of this clock have passed."""


class Watch:
    """A stopwatch that starts at the seconds already spent."""

    def __init__(self, clock: Clock, earlier: float) -> None:
        self._clock, self._start = clock, clock.seconds() - earlier

    @property
    def seconds(self) -> float:
        """Seconds until now."""
        return self._clock.seconds() - self._start


class SystemClock:
    """The computer's own clock."""

    def now(self) -> datetime:
        """Return the present local date and time."""
        return datetime.now().astimezone()

    def seconds(self) -> float:
        """Seconds from an arbitrary start; never goes back."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait until so many seconds have passed."""
        await asyncio.sleep(seconds)


@runtime_checkable
class Engine(Protocol):
    """A search engine of the app's own; `tools.engine.SearchEngine` says what else it may have."""

    name: str

    async def search(self, query: str, count: int) -> list[Any]:
        """Return at most about `count` results, the best first."""


AnyEngine = Annotated[
    str | InstanceOf[BaseRetriever] | InstanceOf[BaseTool] | InstanceOf[Engine], WithJsonSchema({"type": "string"})
]


class Price(NamedTuple):
    """What a model's tokens cost, in US dollars per million."""

    input: Annotated[float, Field(ge=0)]
    output: Annotated[float, Field(ge=0)]
    cached: Annotated[float, Field(ge=0)] | None = None
    """Tokens read from the provider's cache; none: as `input`."""


class Settings(TypedDict, total=False):
    """What may be given for the fields of `Context`, for type checkers and editors."""

    models: str | BaseChatModel | Mapping[Role, str | BaseChatModel] | None
    allow_models: Sequence[str]
    window: int | None
    reasoning: bool | None
    tool_calls: ToolCalls
    responses_api: bool | None
    prices: Mapping[str, Price | Sequence[float]]
    allow_small_window: bool
    small: Literal["auto", "on", "off"]
    effort: Effort
    docs: str | Path | Sequence[str | Path]
    engines: Sequence[str | BaseRetriever | BaseTool | Engine] | None
    retrievers: Sequence[str | BaseRetriever | BaseTool]
    tools: Sequence[str | BaseTool | Callable[..., Any]]
    mcp: Mapping[str, Mapping[str, Any]]
    domains_allow: Sequence[str]
    domains_deny: Sequence[str]
    published_after: date | str | None
    mix_private: bool
    earlier: bool
    allow_private: Sequence[str]
    ports: Sequence[int]
    robots: bool
    open_copies: bool
    email: str
    trust_proxy: bool
    browser: str
    data_dir: str | Path
    instructions: str
    language: str
    depth: Depth
    clarify: Literal["ask", "assume", "off"]
    verify: Literal["off", "check", "repair"]
    trust_verifier: bool
    review_plan: bool
    server_address: str | None
    user_daily_tokens: int | None
    user_daily_usd: float | None
    tracing: bool
    user: str
    session: str
    limits: Limits | Mapping[str, float | None]
    clock: Clock


class Context(KnownNames, BaseSettings):
    """Settings of a run; each can be set by `DEEP_RESEARCH_<NAME>`, and what the call gives wins."""

    model_config = SettingsConfigDict(
        env_prefix=ENVIRONMENT_PREFIX,
        env_ignore_empty=True,
        extra="forbid",
        frozen=True,
        use_attribute_docstrings=True,
        title="Settings",
    )

    models: Model | dict[Role, Model] | None = Field(default=None, title="Models")
    """One model for all roles, or a model by role: a name such as `extractive` or a chat model instance.
    Where no verifier is named, the writer's model plays it."""
    allow_models: Annotated[tuple[str, ...], NoDecode] = Field(default=(), title="Models to choose from")
    """Models that users of the server may choose instead of `models`."""
    window: int | None = Field(default=None, gt=0, title="Window")
    """Input tokens that the models can read, where their own profile is wrong or missing."""
    reasoning: bool | None = Field(default=None, title="Reasoning")
    """Whether the models reason by themselves, where their own profile is wrong or missing."""
    tool_calls: ToolCalls = Field(default="auto", title="Tool calls")
    """How models call tools: by the API's own means, as JSON by a schema, or as tagged text; `auto` finds out."""
    responses_api: bool | None = Field(default=None, title="Responses API")
    """Whether OpenAI models are called by the Responses API; not set: where the model wants it."""
    prices: dict[str, Price] = Field(default_factory=dict, title="Prices")
    """US dollars per million tokens by model name, for the money in progress and `max_usd`."""
    allow_small_window: bool = Field(default=False, title="Allow small windows")
    """Run models that read fewer tokens than `min_window`, down to 8 000, with everything cut shorter."""
    small: Literal["auto", "on", "off"] = Field(default="auto", title="Small steps")
    """Ask models for little at once: lists of facts, short forms, fewer rounds, reports section by section. `auto` does
    so where one reads less than 32 000 tokens, or calls tools in no way of its API."""
    effort: Effort = Field(default="auto", title="Effort")
    """How hard reasoning models think; `auto` leaves it to the model, and means `low` for researchers."""
    docs: Annotated[tuple[Path, ...], NoDecode] = Field(default=(), title="Documents")
    """Folders and files to search; in the environment separated as in PATH."""
    engines: Annotated[tuple[AnyEngine, ...] | None, NoDecode] = Field(default=None, title="Search engines")
    """Engines that search the web, such as `tavily`, `duckduckgo`, `wikipedia` or `arxiv`, or a LangChain retriever or
    tool as `package.module:Class`; the results of several are fused. In the environment `none` for no engine. An app
    may also pass a retriever, a tool, or an engine of its own. Not set: Tavily if TAVILY_API_KEY is there, else,
    without documents, DuckDuckGo, and Wikipedia and arXiv where it brings nothing."""
    retrievers: SkipJsonSchema[
        Annotated[
            tuple[Annotated[str, Field(pattern=":")] | InstanceOf[BaseRetriever] | InstanceOf[BaseTool], ...], NoDecode
        ]
    ] = Field(default=(), exclude=True, title="Retrievers")
    """Private documents beside `docs`: LangChain retrievers or search tools, or `package.module:Name` of one."""
    tools: SkipJsonSchema[Annotated[tuple[str | InstanceOf[BaseTool], ...], NoDecode]] = Field(
        default=(), exclude=True, title="Tools"
    )
    """What researchers may call beside search: LangChain tools, functions with a docstring, or names of tools that an
    installed package registers."""
    mcp: SkipJsonSchema[dict[str, dict[str, Any]]] = Field(
        default_factory=dict, exclude=True, repr=False, title="MCP servers"
    )
    """Servers of tools that speak MCP, by name: `{"command": ..., "args": [...]}` for one to start, `{"url": ...}` for
    one on the network; JSON in the environment."""
    domains_allow: Annotated[tuple[str, ...], NoDecode] = Field(default=(), title="Only these domains")
    """Domains, with their subdomains, that the web is searched and read in; all if empty."""
    domains_deny: Annotated[tuple[str, ...], NoDecode] = Field(default=(), title="Not these domains")
    """Domains, with their subdomains, that are neither searched nor read."""
    published_after: date | None = Field(default=None, title="Published after")
    """Web results that are known to be older are left out."""
    mix_private: bool = Field(default=False, title="Mix private words")
    """Let web queries use words that only your documents say, within `max_unseen_characters`; else such words are left
    out."""
    earlier: bool = Field(default=False, title="Earlier research")
    """Search what your finished runs have read, too. Old pages are read again if the web is on (`earlier_days`)."""
    allow_private: Annotated[tuple[str, ...], NoDecode] = Field(default=(), title="Private addresses")
    """Hosts or networks inside your own network that may be read: `10.1.0.0/16`, `wiki.example`, `127.0.0.1:8080`."""
    ports: Annotated[tuple[Port, ...], NoDecode] = Field(default=(80, 443), title="Ports")
    """Ports at which web pages are read."""
    robots: bool = Field(default=True, title="Obey robots.txt")
    """Leave pages alone that their site's robots.txt forbids to automatic readers."""
    open_copies: bool = Field(default=True, title="Open copies")
    """Look up papers that are closed in open directories, pages that are gone in the Internet Archive, and retractions
    in Crossref; off where `engines` is `none`."""
    email: str = Field(default="", title="E-mail address")
    """Your address, which Unpaywall wants to be told when it is asked for open copies; empty: it is not asked."""
    trust_proxy: bool = Field(default=False, title="Trust the proxy")
    """Read pages through the proxy of the environment (HTTPS_PROXY), which then decides where a name leads."""
    browser: str = Field(default="chromium", pattern=r"\S", title="Browser")
    """Command of the Chromium that renders pages which are empty without their scripts, with switches if it needs any;
    `off`: such pages are not read. Needs the extra `browser`."""
    data_dir: Path = Field(
        default_factory=lambda: Path(platformdirs.user_data_dir("deep-research", appauthor=False)), title="Data folder"
    )
    """Folder for runs and document indexes."""
    instructions: str = Field(default="", title="House rules")
    """Tone, length and audience of plan and report."""
    language: str = Field(default="", title="Language")
    """Language of plan and report, by name or code: `German`, `Deutsch`, `de`, or in several words such as `plain
    English for children`; empty: the language of the question."""
    depth: Depth = Field(default="standard", title="Depth")
    """How much a question is worth: `quick` answers it from one search in two calls of models, `standard` researches
    it, `deep` does so with wider limits, and `auto` answers a small question quickly and researches any other."""
    clarify: Literal["ask", "assume", "off"] = Field(default="ask", title="Clarify")
    """Ask back when a question is unclear, state assumptions instead, or do neither."""
    verify: Literal["off", "check", "repair"] = Field(default="repair", title="Verify")
    """Hold each sentence of the report against its sources: not at all, only so that those that are not supported are
    marked, or so that they are first cited anew or given back to the writer once."""
    trust_verifier: bool = Field(default=False, title="Trust the verifier")
    """Take the verifier's model at its word without trying it first on statements that are known to be wrong."""
    review_plan: bool = Field(default=False, title="Review the plan")
    """Show the plan for approval before research starts."""
    server_address: str | None = Field(default=None, title="Server address")
    """Address under which clients reach the server, `https://research.example.org`: its reports link documents to the
    page there that shows them. Not set: where the server listens."""
    user_daily_tokens: int | None = Field(default=None, gt=0, title="Tokens of a user in a day")
    """Tokens, input and output, that the runs of one user of the server may take in a day (UTC) before no new question
    of theirs is begun; unlimited if not set."""
    user_daily_usd: float | None = Field(default=None, gt=0, title="Money of a user in a day")
    """The same in US dollars, where `prices` or the provider tells what calls cost."""
    tracing: bool = Field(default=True, title="Tracing")
    """Have the run traced where the environment switches tracing on (LANGSMITH_TRACING). Off: nothing of it is sent
    there; callbacks that the call passes stay."""
    user: str = Field(default="", title="User")
    """Id of the user in your app, for tracing, and so that `earlier` finds this user's runs only."""
    session: str = Field(default="", title="Session")
    """Id of the session, for tracing only."""
    limits: Limits = Field(default_factory=Limits, title="Limits")
    """How much time, how many calls, how long a text."""
    clock: SkipJsonSchema[InstanceOf[Clock]] = Field(default_factory=SystemClock, exclude=True, repr=False)
    """The clock that the run goes by."""

    @classmethod
    def from_env(cls, **settings: Unpack[Settings]) -> Context:
        """Add `.env` of the working directory to the environment, which wins, and return the settings.

        Raises `UnknownSetting` for a line of the file that cannot be read.
        """
        if fault := load_env_file():
            raise UnknownSetting(fault)
        return cls(**settings)

    def at_depth(self) -> Context:
        """Return the settings with the limits of their depth."""
        return self.model_copy(update={"limits": self.limits.deepened()}) if self.depth == "deep" else self

    @property
    def own_sources(self) -> str:
        """What `internal_search` searches, in words for models."""
        documents = ("the user's own documents",) if self.docs or not self.earlier else ()
        return " and ".join((*documents, *(("what the user's earlier research has read",) if self.earlier else ())))

    if TYPE_CHECKING:

        def __init__(self, **settings: Unpack[Settings]) -> None:
            """Take settings in any form that validation accepts."""

    @field_validator(
        *("engines", "retrievers", "tools", "domains_allow", "domains_deny", "allow_models", "allow_private", "ports"),
        mode="before",
    )
    @classmethod
    def _split_words(cls, value: Any) -> Any:
        return (
            [word for word in re.split(r"[\s,]+", value) if word not in ("", "none")]
            if isinstance(value, str)
            else value
        )

    @field_validator("tools", mode="before")
    @classmethod
    def _make_tools(cls, value: Any) -> Any:
        return (
            [tool(one) if inspect.isroutine(one) else one for one in value]
            if isinstance(value, list | tuple)
            else value
        )

    @field_validator("published_after", mode="before")
    @classmethod
    def _check_date(cls, value: Any) -> Any:
        if isinstance(value, str) and not re.fullmatch(r"\d{4}-\d\d-\d\d", value.strip()):
            raise ValueError("this is no day, as 2024-12-31 is one")
        return value

    @field_validator("docs", mode="before")
    @classmethod
    def _split_paths(cls, value: Any) -> Any:
        if isinstance(value, str):
            return [part for part in value.split(os.pathsep) if part]
        return [value] if isinstance(value, Path) else value


def engine_name(engine: str | BaseRetriever | BaseTool | Engine) -> str:
    """Return the name of an engine of the settings: that of its class where an object has no name of its own."""
    return engine if isinstance(engine, str) else engine.name or type(engine).__name__


def within_scope(context: Context, scope: Scope) -> Context:
    """Return the settings with what the question may search, whoever resumes it.

    A retriever that is not passed again is left as its name; its searches fail. Raises `UnknownSetting` for a
    `package.module:Class` that the settings do not name: a stored thread alone imports nothing.
    """
    passed: dict[str, Any] = {engine_name(one): one for one in (*(context.engines or ()), *context.retrievers)}
    for name in (*scope.engines, *scope.retrievers):
        if is_dotted(name) and name not in passed:
            raise UnknownSetting(
                f"{name!r} is not among the engines and retrievers of the settings, and a stored question imports "
                "nothing: name it there (--engine, DEEP_RESEARCH_ENGINES, DEEP_RESEARCH_RETRIEVERS)."
            )
    return context.model_copy(
        update={
            "docs": tuple(map(Path, scope.docs)),
            "engines": None if scope.engines_by_default else tuple(passed.get(name, name) for name in scope.engines),
            "retrievers": tuple(passed.get(name, name) for name in scope.retrievers),
            "domains_allow": scope.domains_allow,
            "domains_deny": scope.domains_deny,
            "mix_private": scope.mix_private,
            "open_copies": scope.open_copies,
            "earlier": scope.earlier,
            "published_after": date.fromisoformat(scope.published_after) if scope.published_after else None,
        }
    )

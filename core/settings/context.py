"""`Context`, the settings of a run: models, documents, search engines, language, depth, limits,
clock.

`Context.read` reads them from a dict and the environment, and makes a wrong one a one-line error.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    NamedTuple,
    Protocol,
    Self,
    get_args,
    runtime_checkable,
)

import platformdirs
from langchain_core.language_models import BaseChatModel
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import BaseTool, tool
from pydantic import Field, InstanceOf, ValidationError, WithJsonSchema, field_validator
from pydantic.json_schema import SkipJsonSchema
from pydantic_core import ErrorDetails
from pydantic_settings import NoDecode, SettingsConfigDict, SettingsError
from typing_extensions import TypedDict, Unpack

from ..errors import UnknownSetting
from ..records.research import Depth, Scope
from ._environment import EnvironmentSettings
from .env_file import load_env_file
from .installed import is_dotted
from .limits import ENVIRONMENT_PREFIX, KnownNames, Limits

Role = Literal["clarifier", "planner", "orchestrator", "researcher", "writer", "verifier"]
ROLES: tuple[Role, ...] = get_args(Role)
ToolCalls = Literal["auto", "native", "schema", "tags"]
Effort = Literal["auto", "low", "medium", "high"]
Port = Annotated[int, Field(ge=1, le=65535)]
Model = Annotated[str | InstanceOf[BaseChatModel], WithJsonSchema({"type": "string"})]
_EXAMPLES = {
    "limits": '{"max_cycles": 4}',
    "mcp": '{"NAME": {"command": "COMMAND", "args": []}}',
    "prices": '{"NAME": [0.25, 2.0]}',
}
"""Example values, for error messages, of settings that are JSON in the environment."""


@runtime_checkable
class Clock(Protocol):
    """Where a run gets the time from; tests pass a clock of their own."""

    def now(self) -> datetime:
        """Return the local date and time, with its time zone."""

    def seconds(self) -> float:
        """Return the seconds since an arbitrary start; never goes back."""

    async def sleep(self, seconds: float) -> None:
        """Wait for this many seconds on this clock."""


class Watch:
    """A stopwatch that starts when it is made, and already shows `earlier` seconds then."""

    def __init__(self, clock: Clock, earlier: float) -> None:
        self._clock, self._start = clock, clock.seconds() - earlier

    @property
    def seconds(self) -> float:
        """Seconds since it was made, plus `earlier`."""
        return self._clock.seconds() - self._start


class SystemClock:
    """The computer's own clock."""

    def now(self) -> datetime:
        """Return the local date and time, with its time zone."""
        return datetime.now().astimezone()

    def seconds(self) -> float:
        """Return the seconds since an arbitrary start; never goes back."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait for this many seconds."""
        await asyncio.sleep(seconds)


@runtime_checkable
class Engine(Protocol):
    """A search engine that an app passes in; `tools.engine.SearchEngine` lists its optional
    attributes."""

    name: str

    async def search(self, query: str, count: int) -> list[Any]:
        """Return about `count` results for a query, best first."""


AnyEngine = Annotated[
    str | InstanceOf[BaseRetriever] | InstanceOf[BaseTool] | InstanceOf[Engine],
    WithJsonSchema({"type": "string"}),
]


class Price(NamedTuple):
    """Price of a model's tokens, in US dollars per million."""

    input: Annotated[float, Field(ge=0)]
    output: Annotated[float, Field(ge=0)]
    cached: Annotated[float, Field(ge=0)] | None = None
    """Price of tokens read from the provider's cache; not set: the price of `input`."""


class Settings(TypedDict, total=False):
    """The types that `Context(...)` accepts for its fields and converts, for type checkers and
    editors."""

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
    outline: str
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


class ReadableSettings(KnownNames):
    """Base of settings that are read from a dict, with a wrong one reported in one line."""

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> Self:
        """Return the settings in the dict; those that are missing come from the environment, if
        this class reads it, or are the defaults.

        Raises `UnknownSetting`, with one line for the user, for an unknown name or a wrong value.
        """
        try:
            return cls(**given)
        except ValidationError as error:
            # Each branch of a union reports a fault.
            faults = dict.fromkeys(map(_described, error.errors()))
            raise UnknownSetting(f"Wrong settings: {'; '.join(faults)}.") from error
        except SettingsError as error:
            # Only its message names the field.
            field = str(error).split('"')[1]
            raise UnknownSetting(
                f"Wrong settings: {_variable(field)}: this is not JSON such as {_EXAMPLES[field]}."
            ) from error


class Context(ReadableSettings, EnvironmentSettings):
    """Settings of a run; each can also be set by `DEEP_RESEARCH_<NAME>`, which arguments
    override."""

    model_config = SettingsConfigDict(
        env_prefix=ENVIRONMENT_PREFIX, env_ignore_empty=True, title="Settings"
    )

    models: Model | dict[Role, Model] | None = Field(default=None, title="Models")
    """One model for all roles, or one per role: a name such as `openai:NAME` or `extractive`, or a
    chat model instance. If no verifier is named, the writer's model verifies."""
    allow_models: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(), title="Models to choose from"
    )
    """Names of models that users of the server may choose instead of `models`."""
    window: int | None = Field(default=None, gt=0, title="Window")
    """Context window of the models in input tokens; set it if their profile is wrong or missing."""
    reasoning: bool | None = Field(default=None, title="Reasoning")
    """Whether the models are reasoning models; set it if their profile is wrong or missing."""
    tool_calls: ToolCalls = Field(default="auto", title="Tool calls")
    """How models call tools: `native` (tool calls of the API), `schema` (JSON that follows a
    schema) or `tags` (tagged text); `auto` detects what works."""
    responses_api: bool | None = Field(default=None, title="Responses API")
    """Whether to call OpenAI models through the Responses API; not set: only if the model needs
    it."""
    prices: dict[str, Price] = Field(default_factory=dict, title="Prices")
    """Prices by model name, in US dollars per million tokens: input, output and, optionally, cached
    input. Used for the costs shown and for `max_usd`."""
    allow_small_window: bool = Field(default=False, title="Allow small windows")
    """Allow models with a window below `min_window`, down to 8 000 tokens; all texts are then cut
    shorter."""
    small: Literal["auto", "on", "off"] = Field(default="auto", title="Small steps")
    """Give models small tasks: lists of facts, short forms, fewer rounds, reports section by
    section. `auto`: only if a model's window is below 32 000 tokens or it cannot call tools through
    its API."""
    effort: Effort = Field(default="auto", title="Effort")
    """Reasoning effort of reasoning models; `auto`: `low` for researchers, the model's default for
    other roles."""
    docs: Annotated[tuple[Path, ...], NoDecode] = Field(default=(), title="Documents")
    """Folders and files to search; in the environment, separated as in PATH."""
    engines: Annotated[tuple[AnyEngine, ...] | None, NoDecode] = Field(
        default=None, title="Search engines"
    )
    """Web search engines: names such as `tavily`, `duckduckgo`, `wikipedia` or `arxiv`, or
    `package.module:Class` of a LangChain retriever or tool. An app may also pass a retriever, a
    tool, or its own engine. Results of several engines are fused. In the environment, `none` turns
    web search off. Not set: Tavily if TAVILY_API_KEY is set; otherwise, if there are no documents,
    DuckDuckGo, with Wikipedia and arXiv as fallbacks if it finds nothing."""
    retrievers: SkipJsonSchema[
        Annotated[
            tuple[
                Annotated[str, Field(pattern=":")]
                | InstanceOf[BaseRetriever]
                | InstanceOf[BaseTool],
                ...,
            ],
            NoDecode,
        ]
    ] = Field(default=(), exclude=True, title="Retrievers")
    """Search in private documents outside `docs`: LangChain retrievers or search tools, or
    `package.module:Name` of one."""
    tools: SkipJsonSchema[Annotated[tuple[str | InstanceOf[BaseTool], ...], NoDecode]] = Field(
        default=(), exclude=True, title="Tools"
    )
    """Tools that researchers may call besides search: LangChain tools, functions with a docstring,
    or names of tools that an installed package registers."""
    mcp: SkipJsonSchema[dict[str, dict[str, Any]]] = Field(
        default_factory=dict, exclude=True, repr=False, title="MCP servers"
    )
    """MCP servers by name: `{"command": ..., "args": [...]}` starts a local server, `{"url": ...}`
    connects to a remote one. In the environment, as JSON."""
    domains_allow: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(), title="Only these domains"
    )
    """Search and read only these domains and their subdomains; empty: all."""
    domains_deny: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(), title="Not these domains"
    )
    """Never search or read these domains and their subdomains."""
    published_after: date | None = Field(default=None, title="Published after")
    """Leave out web results known to be older than this date."""
    mix_private: bool = Field(default=False, title="Mix private words")
    """Allow web queries to contain words found only in your documents, up to
    `max_unseen_characters`; otherwise such words are removed."""
    earlier: bool = Field(default=False, title="Earlier research")
    """Also search the sources that your finished runs have read. If the web is searched too, pages
    older than `earlier_days` are fetched again."""
    allow_private: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(), title="Private addresses"
    )
    """Private hosts or networks that may be read, such as `10.1.0.0/16`, `wiki.example` or
    `127.0.0.1:8080`."""
    ports: Annotated[tuple[Port, ...], NoDecode] = Field(default=(80, 443), title="Ports")
    """Ports from which web pages may be fetched."""
    robots: bool = Field(default=True, title="Obey robots.txt")
    """Do not read pages that their site's robots.txt disallows for crawlers."""
    open_copies: bool = Field(default=True, title="Open copies")
    """Look up open copies of paywalled papers in public directories, missing pages in the Internet
    Archive, and retractions in Crossref; off if `engines` is `none`."""
    email: str = Field(default="", title="E-mail address")
    """Your email address, which Unpaywall requires for lookups of open copies; empty: Unpaywall is
    not used."""
    trust_proxy: bool = Field(default=False, title="Trust the proxy")
    """Read pages through the environment's proxy (HTTPS_PROXY), which then resolves host names."""
    browser: str = Field(default="chromium", pattern=r"\S", title="Browser")
    """Command, with optional switches, that starts Chromium to render pages that are empty without
    JavaScript; `off`: such pages are not read. Needs the extra `browser`."""
    data_dir: Path = Field(
        default_factory=lambda: Path(platformdirs.user_data_dir("deep-research", appauthor=False)),
        title="Data folder",
    )
    """Folder for runs and document indexes."""
    instructions: str = Field(default="", title="House rules")
    """Instructions for the plan and the report, such as tone, length and audience."""
    outline: str = Field(default="", title="Outline")
    """Sections of the report, in Markdown: a heading such as `## Risks` for each, and below it what
    belongs there, with its number of words if you like."""
    language: str = Field(default="", title="Language")
    """Language of the plan and the report: a name or code (`German`, `Deutsch`, `de`), or a
    description such as `plain English for children`; empty: the language of the question."""
    depth: Depth = Field(default="standard", title="Depth")
    """`quick` answers from one search in two model calls, `standard` researches, `deep` researches
    with wider limits, and `auto` answers small questions quickly and researches all others."""
    clarify: Literal["ask", "assume", "off"] = Field(default="ask", title="Clarify")
    """What to do about an unclear question: `ask` the user, `assume` (state assumptions in the
    report), or `off`, which also saves the call: every follow-up is then researched. At the depths
    `quick` and `auto` the call is still made, for its search queries."""
    verify: Literal["off", "check", "repair"] = Field(default="repair", title="Verify")
    """Check each sentence of the report against its sources: `off`; `check` marks unsupported
    sentences; `repair` first re-cites them or has the writer correct them once."""
    trust_verifier: bool = Field(default=False, title="Trust the verifier")
    """Skip the trial of the verifier's model on statements known to be right or wrong. Figures must
    be proved even then."""
    review_plan: bool = Field(default=False, title="Review the plan")
    """Show the plan for approval before research starts."""
    server_address: str | None = Field(default=None, title="Server address")
    """Public URL of the server, such as `https://research.example.org`, for links in reports to its
    document pages. Not set: the address that the server listens on."""
    user_daily_tokens: int | None = Field(default=None, gt=0, title="Tokens of a user in a day")
    """Input and output tokens that each user of the server may spend in a day (UTC) before new
    questions are refused; not set: unlimited."""
    user_daily_usd: float | None = Field(default=None, gt=0, title="Money of a user in a day")
    """Same as `user_daily_tokens`, in US dollars; needs `prices` or costs reported by the
    provider."""
    tracing: bool = Field(default=True, title="Tracing")
    """Trace the run if the environment enables tracing (LANGSMITH_TRACING). If off, no traces are
    sent; callbacks passed in the call still run."""
    user: str = Field(default="", title="User")
    """Id of the user in your app, for tracing; `earlier` searches only this user's runs."""
    session: str = Field(default="", title="Session")
    """Id of the session, for tracing only."""
    limits: Limits = Field(default_factory=Limits, title="Limits")
    """Limits on time, calls and text lengths."""
    clock: SkipJsonSchema[InstanceOf[Clock]] = Field(
        default_factory=SystemClock, exclude=True, repr=False
    )
    """The run's clock."""

    @classmethod
    def from_env(cls, **settings: Unpack[Settings]) -> Context:
        """Load `.env` from the working directory (existing variables win) and return the settings.

        Raises `UnknownSetting` for an unreadable line of the file.
        """
        if fault := load_env_file():
            raise UnknownSetting(fault)
        return cls(**settings)

    @classmethod
    def of_call(cls, given: Context | None, configurable: Mapping[str, Any]) -> Context:
        """Return the settings of a run that LangGraph passed as `context` (`given`) and in
        `configurable`.

        Keys of `configurable` that are not settings are ignored. Raises `UnknownSetting` for a
        wrong setting, and for one that was given two different values.
        """
        named = {name: value for name, value in configurable.items() if name in cls.model_fields}
        if given is None:
            return cls.read(named)
        if not named:
            return given
        configured = cls.read(named)
        environment = cls.read({})
        for name in named.keys() & given.model_fields_set:
            value = getattr(given, name)
            is_in_environment = name in environment.model_fields_set
            is_from_environment = is_in_environment and value == getattr(environment, name)
            if not is_from_environment and value != getattr(configured, name):
                raise UnknownSetting(
                    f"{name}: `context` and `configurable` give different values; set it in only "
                    "one."
                )
        return given.model_copy(update={name: getattr(configured, name) for name in named})

    def within(self, scope: Scope) -> Context:
        """Return the settings of whoever resumes a question (these), with what it may search taken
        from its stored scope.

        Engines and retrievers are stored by name: the objects of these names are taken from these
        settings. A retriever that was not passed again remains a bare name, and its searches fail.
        Raises `UnknownSetting` for a `package.module:Class` that the settings do not name: a stored
        thread must not cause imports.
        """
        passed: dict[str, Any] = {}
        for engine in (*(self.engines or ()), *self.retrievers):
            passed[engine_name(engine)] = engine
        for name in (*scope.engines, *scope.retrievers):
            if is_dotted(name) and name not in passed:
                raise UnknownSetting(
                    f"The stored question uses {name!r}, which is not among the engines and "
                    "retrievers of your settings. Code is imported only if your settings name it: "
                    "--engine, DEEP_RESEARCH_ENGINES or DEEP_RESEARCH_RETRIEVERS."
                )
        engines = None
        if not scope.engines_by_default:
            engines = tuple(passed.get(name, name) for name in scope.engines)
        published_after = None
        if scope.published_after:
            published_after = date.fromisoformat(scope.published_after)
        return self.model_copy(
            update={
                "docs": tuple(map(Path, scope.docs)),
                "engines": engines,
                "retrievers": tuple(passed.get(name, name) for name in scope.retrievers),
                "domains_allow": scope.domains_allow,
                "domains_deny": scope.domains_deny,
                "mix_private": scope.mix_private,
                "open_copies": scope.open_copies,
                "earlier": scope.earlier,
                "published_after": published_after,
            }
        )

    def with_absolute_paths(self) -> Context:
        """Return these settings with absolute document paths; resolving relative ones in each run
        would block the server."""
        docs = tuple(path.expanduser().absolute() for path in self.docs)
        return self.model_copy(update={"docs": docs})

    def at_depth(self) -> Context:
        """Return the settings with the limits for their depth."""
        if self.depth != "deep":
            return self
        return self.model_copy(update={"limits": self.limits.deepened()})

    @property
    def own_sources(self) -> str:
        """What `internal_search` searches, worded for models."""
        sources: list[str] = []
        if self.docs or not self.earlier:
            sources.append("the user's own documents")
        if self.earlier:
            sources.append("what the user's earlier research has read")
        return " and ".join(sources)

    if TYPE_CHECKING:

        def __init__(self, **settings: Unpack[Settings]) -> None:
            """Take settings in any form that validation accepts."""

    @field_validator(
        *(
            "engines",
            "retrievers",
            "tools",
            "domains_allow",
            "domains_deny",
            "allow_models",
            "allow_private",
            "ports",
        ),
        mode="before",
    )
    @classmethod
    def _split_words(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        return [word for word in re.split(r"[\s,]+", value) if word not in ("", "none")]

    @field_validator("tools", mode="before")
    @classmethod
    def _make_tools(cls, value: Any) -> Any:
        if not isinstance(value, list | tuple):
            return value
        tools: list[Any] = []
        for entry in value:
            tools.append(tool(entry) if inspect.isroutine(entry) else entry)
        return tools

    @field_validator("published_after", mode="before")
    @classmethod
    def _check_date(cls, value: Any) -> Any:
        if isinstance(value, str) and not re.fullmatch(r"\d{4}-\d\d-\d\d", value.strip()):
            raise ValueError("this is not a date such as 2024-12-31")
        return value

    @field_validator("docs", mode="before")
    @classmethod
    def _split_paths(cls, value: Any) -> Any:
        if isinstance(value, str):
            return [part for part in value.split(os.pathsep) if part]
        if isinstance(value, Path):
            return [value]
        return value


def engine_name(engine: str | BaseRetriever | BaseTool | Engine) -> str:
    """Return the name of an engine or retriever: as it is given, or its `name`; without one, the
    name of its class."""
    if isinstance(engine, str):
        return engine
    return engine.name or type(engine).__name__


def _described(fault: ErrorDetails) -> str:
    """Describe a validation error for the user; a value that came from the environment is named by
    its variable."""
    *above, name = map(str, fault["loc"])
    is_limit = above == ["limits"]
    if fault["type"] == "extra_forbidden":
        hint = "; `deep-research limits` lists all" if is_limit else ""
        return f"{name}: {fault['msg']}{hint}"
    if fault["loc"][0] == "models":
        roles = ", ".join(ROLES)
        return f"models: give a name such as 'openai:NAME', or one per role ({roles})"
    if is_limit:
        field, setting = name, f"limit {name}"
    else:
        # A fault in a list has the index of the entry as its last part.
        field = above[0] if above else name
        setting = ".".join([*above, name])
    value = os.environ.get(_variable(field), "")
    if value and fault["input"] in (value, *re.split(r"[\s,]+", value)):
        setting = _variable(field)
    message = fault["msg"].removeprefix("Value error, ")
    if fault["loc"][0] == "mcp":
        # Its headers and variables are secrets.
        return f"{setting}: {message}"
    return f"{setting}: {message} (given: {fault['input']!r})"


def _variable(name: str) -> str:
    """Return the environment variable of a setting or limit."""
    return f"{ENVIRONMENT_PREFIX}{name.upper()}"

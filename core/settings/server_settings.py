"""Settings of the server: what its operator sets, and what a user may choose for a run within
that."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import date
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import ConfigDict, Field, PrivateAttr, field_validator
from pydantic_settings import NoDecode, SettingsConfigDict

from ..errors import UnknownSetting
from ..records.research import Depth
from ._environment import EnvironmentSettings
from .context import ROLES, AnyEngine, Context, ReadableSettings, Role, engine_name
from .limits import DEEP, ENVIRONMENT_PREFIX, Limits

_HIGHER_IS_NARROWER = frozenset({"min_window", "heartbeat_seconds"})
"""Limits that become stricter when raised."""
_FORM_LIMITS = {
    "max_seconds": "Time of research (s)",
    "max_seconds_planned": "Time of planned research (s)",
    "max_cycles": "Rounds of research",
    "max_parallel_researchers": "Researchers at the same time",
    "max_tokens": "Tokens",
    "max_usd": "US dollars",
}
"""Limits shown in a client's form of the settings, with their titles; the full list would be too
long."""
_USER_PLACEHOLDER = "{user}"
"""Placeholder for the user's name in the operator's document paths."""
_FOLDER = re.compile(r"[\w@+-][\w.@+-]*")
"""User names that are safe as the name of a folder."""


@cache
def _operator() -> Context:
    """Return the operator's settings, with absolute paths and the server's address; read from the
    environment once."""
    settings = Context().with_absolute_paths()
    return settings.model_copy(
        update={"server_address": settings.server_address or local_address()}
    )


def local_address() -> str:
    """Return the URL by which clients on this machine reach LangGraph's server; empty outside a
    server."""
    # The server listens on these addresses, but refuses them as the host of a request.
    return re.sub(r"//(0\.0\.0\.0|\[::\])", "//localhost", os.environ.get("LANGGRAPH_API_URL", ""))


class ServerSettings(EnvironmentSettings):
    """Settings of the server, from environment variables `DEEP_RESEARCH_SERVER_<NAME>`."""

    model_config = SettingsConfigDict(
        env_prefix=f"{ENVIRONMENT_PREFIX}SERVER_", env_ignore_empty=True, frozen=True
    )

    tokens: Annotated[tuple[str, ...], NoDecode] = ()
    """Users and their tokens, in the form `alice:TOKEN bob:TOKEN`."""
    tokens_file: Path | None = None
    """A file with one `USER:TOKEN` pair per line."""
    hosts: Annotated[tuple[str, ...], NoDecode] = ()
    """Host names under which the server can be reached, in addition to localhost."""
    origins: Annotated[tuple[str, ...], NoDecode] = ()
    """Origins whose web pages may use the server, in addition to its own and LangGraph Studio's."""
    webhook_hosts: Annotated[tuple[str, ...], NoDecode] = ()
    """Hosts that webhooks may call when a run ends, written as in the URL, with any non-default
    port."""
    require_token: bool = False
    """Whether even clients on this machine need a token."""
    user_runs: int = Field(default=10, ge=1)
    """Maximum number of running and waiting runs per user."""
    body_bytes: int = Field(default=64_000_000, ge=1)
    """Maximum size of a request with attached files in base64, or with a report to check."""

    @field_validator("tokens", "hosts", "origins", "webhook_hosts", mode="before")
    @classmethod
    def _split_words(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        return [word for word in re.split(r"[\s,]+", value) if word]


class SharedDocuments(NamedTuple):
    """The folders and files of which a user of the server may choose some by name."""

    roots: tuple[Path, ...]
    """The operator's folders and files; a name begins with the name of one of them."""

    @property
    def of_all_users(self) -> tuple[Path, ...]:
        """The roots that are the same for all users."""
        return tuple(path for path in self.roots if _USER_PLACEHOLDER not in str(path))

    def paths(self, names: Sequence[str] | None) -> tuple[Path, ...]:
        """Return the paths of folders and files that a user named; `names` None: the roots
        themselves. Blocks.

        Raises `UnknownSetting` for a name that does not exist there.
        """
        if names is None:
            return self.roots
        return tuple(map(self._path, names))

    def names(self, docs: Iterable[str]) -> list[str] | None:
        """Return the names of which `paths` returns these paths; None if they are exactly the
        roots."""
        paths = tuple(map(Path, docs))
        if paths == self.roots:
            return None
        names: list[str] = []
        for path in paths:
            for root in self.roots:
                if path.is_relative_to(root):
                    names.append(str(Path(root.name, path.relative_to(root))))
        return names

    def _path(self, name: str) -> Path:
        """Return the path of one name; links that lead out of the root are refused."""
        first, *rest = Path(name).parts or ("",)
        for root in self.roots:
            if root.name == first:
                path = root.joinpath(*rest)
                # A name may be too long for the file system.
                with suppress(OSError):
                    if path.exists() and path.resolve().is_relative_to(root.resolve()):
                        return path
        choices = _choices([root.name for root in self.roots])
        raise UnknownSetting(
            f"docs: {name!r} is not one of the folders and files that may be searched{choices}."
        )


def _as_form(schema: dict[str, Any]) -> None:
    """Change a JSON schema in place so that clients can show it as a form: one type per field, only
    `_FORM_LIMITS`."""
    fields = schema["properties"]
    limits = Limits.model_json_schema()["properties"]
    shown = {name: limits[name] | {"title": title} for name, title in _FORM_LIMITS.items()}
    fields["limits"] = {
        "title": "Limits",
        "type": "object",
        "description": fields["limits"]["description"],
        "properties": shown,
    }
    for field in (*fields.values(), *shown.values()):
        # The first type is the plain one. Defaults are the operator's.
        field.update(field.pop("anyOf", [{}])[0])
        if field.get("default") is None or field in shown.values():
            field.pop("default", None)


class UserSettings(ReadableSettings):
    """A user's settings for a run on the server; the operator's settings apply to unset fields."""

    model_config = ConfigDict(title="Settings", json_schema_extra=_as_form)

    language: str = Field(default="", title="Report: language", max_length=200)
    """Language of plan and report, by name or code; empty: the operator's, or that of the
    question."""
    instructions: str = Field(default="", title="Report: instructions", max_length=4000)
    """Tone, length and audience of plan and report, after the operator's house rules."""
    outline: str = Field(default="", title="Report: outline")
    """Sections of the report, in Markdown: a heading such as `## Risks` for each, and below it what
    belongs there; empty: the operator's outline, if there is one."""
    verify: Literal["off", "check", "repair"] | None = Field(default=None, title="Report: check")
    """Check each sentence of the report against its sources: `off`, `check` (mark it) or `repair`
    (correct it)."""
    depth: Depth | None = Field(default=None, title="Research: depth")
    """`quick` (one search, two model calls), `standard`, `deep` (within the operator's limits) or
    `auto`."""
    clarify: Literal["ask", "assume", "off"] | None = Field(
        default=None, title="Research: unclear questions"
    )
    """`ask` the user, `assume` (state assumptions instead), or `off`."""
    review_plan: bool | None = Field(default=None, title="Research: review the plan")
    """Show the plan for approval before research starts."""
    models: str | dict[Role, str] | None = Field(default=None, title="Research: model")
    """One of the models that the operator allows (`allow_models`) for all roles, or one per
    role."""
    docs: tuple[str, ...] | None = Field(default=None, title="Sources: documents")
    """Names of the operator's folders and files, or of folders and files below them such as
    `handbook/2024`."""
    engines: tuple[str, ...] | None = Field(default=None, title="Sources: search engines")
    """Some of the operator's engines; an empty list searches only the operator's documents."""
    earlier: bool = Field(default=False, title="Sources: earlier research")
    """Also search what your own finished runs have read."""
    domains_allow: tuple[str, ...] = Field(default=(), title="Sources: only these domains")
    """Search and read only these domains and their subdomains."""
    domains_deny: tuple[str, ...] = Field(default=(), title="Sources: not these domains")
    """Never search or read these domains and their subdomains."""
    published_after: date | None = Field(default=None, title="Sources: published after")
    """Leave out web results known to be older."""
    tracing: bool = Field(default=True, title="Research: tracing")
    """Trace the run if the operator has enabled tracing."""
    limits: Limits = Field(default_factory=cache(Limits), title="Limits")
    """Limits no wider than the operator's; limits that are not in the form can be set by name,
    too."""

    @property
    def operator(self) -> Context:
        """The operator's settings, from the server's environment."""
        return _operator()

    _by_user: dict[str, Context] = PrivateAttr(default_factory=dict)

    def context_of(self, user: str) -> Context:
        """Return the operator's settings with this user's choices; `user`: name on the server, may
        be empty.

        Raises `UnknownSetting` for a choice that the operator does not allow. Blocks, since it
        accesses files.
        """
        if user in self._by_user:
            return self._by_user[user]
        operator = self.operator
        roots = tuple(_of_user(path, user) for path in operator.docs)
        update: dict[str, Any] = {
            "language": self.language or operator.language,
            "instructions": "\n".join(filter(None, (operator.instructions, self.instructions))),
            "outline": self.outline if self.outline.strip() else operator.outline,
            "models": _models(self.models, operator),
            "docs": SharedDocuments(roots).paths(self.docs),
            "engines": _engines(self.engines, operator),
            "earlier": self.earlier,
            "domains_allow": _domains(self.domains_allow, operator),
            "domains_deny": (*operator.domains_deny, *self.domains_deny),
            "published_after": self.published_after or operator.published_after,
            "tracing": operator.tracing and self.tracing,
            "limits": _limits(self.limits, operator, self.depth or operator.depth),
        }
        if self.published_after and operator.published_after:
            update["published_after"] = max(self.published_after, operator.published_after)
        for name in ("depth", "clarify", "verify", "review_plan"):
            value = getattr(self, name)
            if value is not None:
                update[name] = value
        context = operator.model_copy(update=update)
        self._by_user[user] = context
        return context


def _models(wanted: str | dict[Role, str] | None, operator: Context) -> Any:
    """Return the value of `models`: the user's choice, with the operator's models for roles that it
    leaves out."""
    if wanted is None:
        return operator.models
    names: Iterable[str] = [wanted] if isinstance(wanted, str) else wanted.values()
    for name in names:
        if name not in operator.allow_models:
            choices = _choices(operator.allow_models)
            raise UnknownSetting(
                f"models: {name!r} is not one of the models that you may choose{choices}."
            )
    if isinstance(wanted, str) or operator.models is None:
        return wanted
    if isinstance(operator.models, dict):
        return {**operator.models, **wanted}
    return {**dict.fromkeys(ROLES, operator.models), **wanted}


def _engines(wanted: Sequence[str] | None, operator: Context) -> tuple[AnyEngine, ...] | None:
    """Return the operator's engines that the user chose, all if the user chose none."""
    if wanted is None:
        return operator.engines
    by_name = {engine_name(engine): engine for engine in operator.engines or ()}
    for name in wanted:
        if name not in by_name:
            raise UnknownSetting(
                f"engines: {name!r} is not one of the engines that you may choose"
                f"{_choices(by_name)}."
            )
    return tuple(by_name[name] for name in wanted)


def _domains(wanted: tuple[str, ...], operator: Context) -> tuple[str, ...]:
    """Return the domains that the user chose, which must be among the operator's; the operator's if
    the user chose none."""
    allowed = operator.domains_allow
    for name in wanted:
        if allowed and not any(name == domain or name.endswith(f".{domain}") for domain in allowed):
            raise UnknownSetting(
                f"domains_allow: {name!r} is outside the domains that may be read"
                f"{_choices(allowed)}."
            )
    return wanted or allowed


def _of_user(path: Path, user: str) -> Path:
    """Replace `{user}` in a path with the user's name; raises `UnknownSetting` for a name unsafe as
    a folder."""
    if _USER_PLACEHOLDER not in str(path):
        return path
    if not _FOLDER.fullmatch(user):
        raise UnknownSetting(
            f"docs: {str(path)!r} has one folder per user, but {user!r} is not a valid folder "
            "name: use only letters, digits and ._@+-, and do not begin with a dot "
            "(DEEP_RESEARCH_DOCS)."
        )
    return Path(str(path).replace(_USER_PLACEHOLDER, user))


def _limits(wanted: Limits, operator: Context, depth: Depth) -> Limits:
    """Return the operator's limits with the user's narrower ones; raises `UnknownSetting` for a
    wider one.

    Depth `deep` widens them only if it is the operator's depth as well.
    """
    ceilings = operator.at_depth().limits
    update: dict[str, Any] = {}
    if depth == "deep":
        # Limits that are set explicitly are not widened by the depth.
        update = {name: getattr(ceilings, name) for name in DEEP}
    for name in wanted.model_fields_set:
        value = getattr(wanted, name)
        ceiling = getattr(ceilings, name)
        if ceiling is not None and _is_wider(name, value, ceiling):
            raise UnknownSetting(
                f"limit {name}: {value} is wider than the operator of this server allows "
                f"({ceiling})."
            )
        update[name] = value
    return operator.limits.model_copy(update=update)


def _is_wider(name: str, value: float | None, ceiling: float) -> bool:
    """Whether a value of a limit allows more than this one; None: unlimited."""
    if value is None:
        return True
    if name in _HIGHER_IS_NARROWER:
        return value < ceiling
    return value > ceiling


def _choices(allowed: Iterable[str]) -> str:
    """Return the end of an error message: what the user may choose instead."""
    names = ", ".join(allowed)
    if not names:
        return "; the operator of this server allows none"
    return f" ({names})"

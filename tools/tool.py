"""What a research tool is: what it is given, what it may use up, and what it brings back."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple, Protocol

from pydantic import BaseModel, BeforeValidator, WithJsonSchema

from ..core.evidence.text.similarity import distinct
from ..core.reading.documents.decode import without_controls
from ..core.records.research import Spent
from ..core.records.sources import NotRead, Source
from ..core.run.store.pages import Pages

_TAKEN = frozenset((
    "type", "description", "enum", "items", "properties", "required", "anyOf", "format", "pattern",
    "minimum", "maximum", "minItems", "maxItems", "minLength", "maxLength",
))  # fmt: skip
"""Keywords of JSON Schema that all servers read, the strict ones included."""
DEEPEST = 8
"""Levels of a schema; a definition that refers to itself has no end."""


@cache
def tool_schema(name: str, arguments: type[BaseModel]) -> dict[str, Any]:
    """Return the schema of a tool as the OpenAI API takes it."""
    plain = plain_schema(arguments.model_json_schema())
    parameters = {"type": "object", "properties": plain.get("properties", {}), "required": plain.get("required", [])}
    description = inspect.cleandoc(arguments.__doc__ or "")
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


def plain_schema(
    schema: dict[str, Any], definitions: Mapping[str, Any] | None = None, depth: int = 0
) -> dict[str, Any]:
    """Return a schema in keywords that all servers read: references are resolved, constants listed, nulls left out."""
    definitions = definitions or {**schema.get("definitions", {}), **schema.get("$defs", {})}
    referred = definitions.get(str(schema.get("$ref", "")).rpartition("/")[2], {}) if "$ref" in schema else {}
    schema = {**referred, **schema}
    options = [one for one in (*schema.get("anyOf", ()), *schema.get("oneOf", ())) if one.get("type") != "null"]
    kinds = schema.get("type")
    if isinstance(kinds, list):
        options += [{"type": kind} for kind in kinds if kind != "null"]
        del schema["type"]
    if depth == DEEPEST:
        return {}
    inner = [plain_schema(one, definitions, depth + 1) for one in options]
    plain = {key: value for key, value in schema.items() if key in _TAKEN - {"anyOf"}}
    plain |= inner[0] if len(inner) == 1 else {"anyOf": inner} if inner else {}
    if "const" in schema:
        plain["enum"] = [schema["const"]]
    if isinstance(items := schema.get("items"), dict):
        plain["items"] = plain_schema(items, definitions, depth + 1)
    if "properties" in schema:
        plain["properties"] = {
            name: plain_schema(field, definitions, depth + 1)
            for name, field in schema["properties"].items()
            if isinstance(field, dict)
        }
    return plain


class ToolContext(NamedTuple):
    """What a tool is called in: the thread, what may be used up, and what was seen before."""

    pages: Pages
    """The texts of the thread."""
    question_id: str
    """The question that is researched."""
    meter: Meter
    """What the call may use up, and what it has."""
    excerpts: Mapping[str, str] = MappingProxyType({})
    """What earlier searches showed, by address: it tells which part of a long text is wanted."""
    topic: str = ""
    """What is being found out: it tells which passages of a long text are wanted."""


@dataclass
class Meter:
    """Counts while a tool works, so that what was sent counts also where the tool is cut."""

    most_searches: int | None = None
    """Searches that the call may make; none: unlimited."""
    most_fetches: int | None = None
    """Pages and documents that it may open; none: unlimited."""
    most_calls: int | None = None
    """Calls of tools that may be carried out; none: unlimited."""
    searches: int = 0
    """Queries that were sent, each once for every engine; an answer that is known already is no search, and a second
    try is none either."""
    fetches: int = 0
    """Pages and look-ups that were fetched, documents that were opened; a page that the thread has is not fetched."""
    calls: int = 0
    """Calls that were carried out."""
    asked: list[str] = field(default_factory=list)
    """Third parties that were asked about papers and pages; see `open_copies`."""

    def spent(self, tool: str) -> Spent:
        """Return what a call of this tool has cost."""
        return Spent(role=tool, searches=self.searches, fetches=self.fetches, tool_calls=self.calls)


class Hit(NamedTuple):
    """One thing that a tool found."""

    source: Source
    """Where it comes from; with `content_hash` if the whole text was read."""
    excerpt: str
    """What the model is shown of it."""
    text: str
    """The whole text that `source.content_hash` names; empty if only the excerpt is known."""
    links: tuple[tuple[str, str], ...] = ()
    """Where the text leads: the words of each link and its address."""
    score: float = 0.0
    """How well it matches what was searched for, from 0 to 1, as a search engine has it; 0 if none says so."""
    is_kept: bool = False
    """Whether the text lies in the thread's store already."""


class Outcome(NamedTuple):
    """The result of one tool call."""

    hits: tuple[Hit, ...] = ()
    problems: tuple[str, ...] = ()
    """What could not be searched or read and why, one sentence each."""
    broken: tuple[str, ...] = ()
    """Those of the problems that are failures: something could not be asked, as opposed to asked in vain."""
    replaced: tuple[str, ...] = ()
    """Failures among the problems after which another engine found something."""
    not_read: tuple[NotRead, ...] = ()
    """Pages and documents among the problems."""
    redacted: tuple[str, ...] = ()
    """Words that were left out of queries because they stand in the user's documents only."""
    failed: tuple[str, ...] = ()
    """Kinds of the errors that the tool raised, and limits of time that it exceeded."""
    asked: tuple[str, ...] = ()
    """Third parties that were asked about papers and pages; see `open_copies`."""
    fault: str = ""
    """Why asking again is of no use, in one line that names the setting or the cause; empty unless nothing at all could
    be searched, and nothing will be."""


class ResearchTool(Protocol):
    """Something a researcher may call."""

    name: str
    """Name by which the model calls it."""
    arguments: type[BaseModel]
    """Its arguments; the class's docstring and field descriptions are what the model reads."""

    async def run(self, arguments: BaseModel) -> Outcome:
        """Carry out one call; raises `ToolFailed` if nothing at all could be done."""


class ToolFailed(Exception):
    """A tool call came to nothing; the text says why and becomes the call's result."""

    def __init__(self, words: str, not_read: tuple[NotRead, ...] = (), redacted: tuple[str, ...] = ()) -> None:
        """`not_read`, `redacted`: as in `Outcome`."""
        super().__init__(words)
        self.not_read, self.redacted = not_read, redacted


def unread_words(not_read: NotRead) -> str:
    """Return what a model reads of something that could not be read."""
    return f"{not_read.path!r} could not be read: {not_read.reason} ({not_read.code})."


def as_lines(value: Any) -> Any:
    """Return a list of single lines: a bare string becomes a list, blanks go, control characters become spaces."""
    values = [value] if value is None or isinstance(value, str) else value
    if not isinstance(values, list | tuple):
        return value
    lines = [_line(item) if isinstance(item, str | int | float) else item for item in values if item is not None]
    return [line for line in lines if line != ""]


Lines = Annotated[
    list[str], BeforeValidator(as_lines), WithJsonSchema({"type": "array", "items": {"type": "string"}, "minItems": 1})
]


def queries_of(tool: str, given: Iterable[str]) -> list[str]:
    """Return each query once, whatever its case; raises `ToolFailed` if there is none."""
    queries = distinct(given, str.casefold)
    if not queries:
        raise ToolFailed(f"{tool} needs at least one query with words in it, such as a name or a subject.")
    return queries


def take(asked: list[str], limits: Mapping[str, int | None], done: str) -> tuple[list[str], list[str]]:
    """Return as many of the first entries as the lowest of the limits allows, and what to say of the others.

    The limits go by the names of their settings, none is no limit; `done` says what was done, such as "were opened".
    """
    most, name = min((most, name) for name, most in limits.items() if most is not None)
    if len(asked) <= most:
        return asked, []
    return asked[:most], [f"Only the first {most} of {len(asked)} {done} ({name})."]


def _line(value: str | float) -> str:
    return " ".join(without_controls(str(value)).split())

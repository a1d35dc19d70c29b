"""The interface of research tools: arguments, context, allowance, outcome and errors."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple, Protocol

from pydantic import BaseModel, BeforeValidator, WithJsonSchema

from ..core.errors import SearchFailed
from ..core.evidence.text.similarity import distinct
from ..core.reading.documents.decode import without_controls
from ..core.records import tool_names
from ..core.records.research import Spent, Task, total
from ..core.records.sources import NotRead, Source
from ..core.settings.limits import Limits
from ..core.store.pages import Pages

_ACCEPTED = frozenset((
    "type", "description", "enum", "items", "properties", "required", "anyOf", "format", "pattern",
    "minimum", "maximum", "minItems", "maxItems", "minLength", "maxLength",
))  # fmt: skip
"""Keywords of JSON Schema that all model servers accept, strict ones included."""
WEB_QUERY_CHARACTERS = 400
"""Maximum characters of a query to web search engines, which accept no longer ones; longer ones are
cut at a word."""
_DEEPEST = 8
"""Maximum depth of a schema, since definitions may be recursive."""


@cache
def tool_schema(name: str, arguments: type[BaseModel]) -> dict[str, Any]:
    """Return the schema of a tool in the format of the OpenAI API."""
    plain = plain_schema(arguments.model_json_schema())
    function = {
        "name": name,
        "description": inspect.cleandoc(arguments.__doc__ or ""),
        "parameters": {
            "type": "object",
            "properties": plain.get("properties", {}),
            "required": plain.get("required", []),
        },
    }
    return {"type": "function", "function": function}


def plain_schema(
    schema: dict[str, Any], definitions: Mapping[str, Any] | None = None, depth: int = 0
) -> dict[str, Any]:
    """Return a schema in keywords that all servers accept: references resolved, constants as enums,
    without nulls."""
    definitions = definitions or {**schema.get("definitions", {}), **schema.get("$defs", {})}
    if "$ref" in schema:
        name = str(schema["$ref"]).rpartition("/")[2]
        schema = {**definitions.get(name, {}), **schema}
    if depth == _DEEPEST:
        return {}
    options = [*schema.get("anyOf", ()), *schema.get("oneOf", ())]
    plain = {key: value for key, value in schema.items() if key in _ACCEPTED - {"anyOf"}}
    if isinstance(schema.get("type"), list):
        options += [{"type": kind} for kind in schema["type"]]
        del plain["type"]
    inner: list[dict[str, Any]] = []
    for option in options:
        if option.get("type") != "null":
            inner.append(plain_schema(option, definitions, depth + 1))
    if len(inner) == 1:
        plain |= inner[0]
    elif inner:
        plain["anyOf"] = inner
    if "const" in schema:
        plain["enum"] = [schema["const"]]
    items = schema.get("items")
    if isinstance(items, dict):
        plain["items"] = plain_schema(items, definitions, depth + 1)
    if "properties" in schema:
        fields: dict[str, Any] = {}
        for name, field in schema["properties"].items():
            if isinstance(field, dict):
                fields[name] = plain_schema(field, definitions, depth + 1)
        plain["properties"] = fields
    return plain


class ToolContext(NamedTuple):
    """The context of a tool call: thread, question, allowance, and what was shown before."""

    pages: Pages
    """Texts and notes of the thread."""
    question_id: str
    """Id of the current question."""
    meter: Meter
    """Allowance and use of the call."""
    excerpts: Mapping[str, str] = MappingProxyType({})
    """Excerpts shown by earlier searches, by address; they select the part of a long text that is
    shown."""
    topic: str = ""
    """Topic of the research; it selects the passages of a long text that are shown."""
    excluded: Collection[str] = ()
    """Keys of the sources that the user has excluded, whose results are left out."""
    part_characters: int = 0
    """Characters of an opened page that are shown in order; 0: its beginning, and passages on the
    topic."""
    reads_anew: bool = False
    """Whether pages that were read for earlier questions are read again."""
    questions: Sequence[str] = ()
    """What is asked of a long text: beside its beginning, only passages like one of these are shown
    of it; none: those on the topic, and others as far as there is room."""
    entries: Mapping[str, str] = MappingProxyType({})
    """Words of which only the lines are shown that have them, by the address of their page."""


@dataclass
class Meter:
    """Counts requests as they are sent, including those of an interrupted tool."""

    most_searches: int | None = None
    """Allowed searches; None: unlimited."""
    most_fetches: int | None = None
    """Allowed fetches of pages and documents; None: unlimited."""
    most_calls: int | None = None
    """Allowed tool calls; None: unlimited."""
    searches: int = 0
    """Queries sent, counted per engine; reused answers and retries do not count."""
    fetches: int = 0
    """Pages and lookups fetched, and documents opened; pages that the thread already has do not
    count."""
    calls: int = 0
    """Tool calls carried out."""
    asked: list[str] = field(default_factory=list)
    """Third parties asked about papers and pages; see `OpenCopies`."""

    @classmethod
    def of_task(cls, task: Task, spending: Mapping[str, Spent]) -> Meter:
        """Return a meter with what a task may still use after this spending."""
        return cls._remaining(task.searches, task.fetches, task.tool_calls, spending)

    @classmethod
    def of_run(cls, limits: Limits, spending: Mapping[str, Spent]) -> Meter:
        """Return a meter with what a run may still use after this spending, before it dispatches
        tasks."""
        return cls._remaining(
            limits.max_searches, limits.max_fetches, limits.max_tool_calls, spending
        )

    @classmethod
    def _remaining(
        cls,
        searches: int | None,
        fetches: int | None,
        calls: int | None,
        spending: Mapping[str, Spent],
    ) -> Meter:
        """Return a meter with what these allowances leave after this spending."""
        used = total(spending)

        def left(allowance: int | None, spent: int) -> int | None:
            return None if allowance is None else allowance - spent

        return cls(
            most_searches=left(searches, used.searches),
            most_fetches=left(fetches, used.fetches),
            most_calls=left(calls, used.tool_calls),
        )

    def used_up(self, tool: str) -> str:
        """Return which allowance of a tool is used up; empty if none is."""
        if self.most_calls is not None and self.calls >= self.most_calls:
            return "no tool calls are left (max_tool_calls)"
        if tool not in tool_names.OURS:
            return ""
        if tool == tool_names.OPEN_URL:
            if self.most_fetches is not None and self.most_fetches <= 0:
                return "no pages are left to open (max_fetches)"
            return ""
        if self.most_searches is not None and self.most_searches <= 0:
            return "no searches are left (max_searches)"
        return ""

    def spent(self, tool: str) -> Spent:
        """Return the cost of a call of this tool."""
        return Spent(role=tool, searches=self.searches, fetches=self.fetches, tool_calls=self.calls)


class Hit(NamedTuple):
    """One search result or document, as found by a tool."""

    source: Source
    """Its source, which has a `content_hash` if the whole text was read."""
    excerpt: str
    """Text shown to the model."""
    text: str
    """The whole text, whose hash is `source.content_hash`; empty if only the excerpt is known."""
    links: tuple[tuple[str, str], ...] = ()
    """Text and address of each link."""
    score: float = 0.0
    """The engine's score for the match, from 0 to 1; 0 if unknown."""
    is_kept: bool = False
    """Whether the text is already in the thread's store."""
    read_on: int = 0
    """Offset from which the text goes on behind an excerpt that is a part of it in order; 0 if it
    ends there, or if the excerpt has passages on a topic."""
    characters: int = 0
    """How many characters can be read by offset; 0 if these are only those of the text."""
    unread: str = ""
    """What of its page was not kept, worded for the reader; empty if all was."""


class Outcome(NamedTuple):
    """The result of one tool call."""

    hits: tuple[Hit, ...] = ()
    problems: tuple[str, ...] = ()
    """What could not be searched or read, and why; one sentence each."""
    broken: tuple[str, ...] = ()
    """Problems that are failures (a request failed), as opposed to searches without results."""
    replaced: tuple[str, ...] = ()
    """Failures that were compensated by another engine's results."""
    partial: tuple[str, ...] = ()
    """What engines that had results could not search; one sentence each."""
    not_read: tuple[NotRead, ...] = ()
    """Pages and documents that could not be read."""
    redacted: tuple[str, ...] = ()
    """Words removed from queries because they occur only in the user's documents."""
    failed: tuple[str, ...] = ()
    """Types of errors raised by the tool, and names of time limits it exceeded."""
    asked: tuple[str, ...] = ()
    """Third parties asked about papers and pages; see `OpenCopies`."""
    fault: str = ""
    """Why no further search can succeed, in one line that names the setting or cause; empty if one
    might."""

    @property
    def sources(self) -> dict[str, Source]:
        """The sources found, by key."""
        return {hit.source.key: hit.source for hit in self.hits}

    def lasting_fault(self, task: Task, *, has_found: bool) -> str:
        """Return why no search can succeed any more; empty if one can.

        `has_found`: whether the task has results. Raises `SearchFailed` if the run has none yet.
        """
        scope = task.scope
        if not self.fault or scope.docs or scope.earlier or scope.retrievers:
            return ""
        if task.cycle == 0 and not has_found:
            raise SearchFailed(
                f"Nothing can be searched: {self.fault} Try again later, or ask again with other "
                "search engines (setting engines)."
            )
        return self.fault


def sources_of(outcomes: Iterable[Outcome]) -> dict[str, Source]:
    """Return the sources that several outcomes have found, by key."""
    sources: dict[str, Source] = {}
    for outcome in outcomes:
        sources |= outcome.sources
    return sources


class ResearchTool(Protocol):
    """A tool that researchers can call."""

    name: str
    """Name by which the model calls it."""
    arguments: type[BaseModel]
    """Class of its arguments; the model reads its docstring and field descriptions."""

    async def run(self, arguments: BaseModel) -> Outcome:
        """Run one call; raises `ToolFailed` if there is no result at all."""


class ToolFailed(Exception):
    """A tool call failed; the text says why and becomes the result of the call."""

    def __init__(
        self, words: str, not_read: tuple[NotRead, ...] = (), redacted: tuple[str, ...] = ()
    ) -> None:
        """`not_read`, `redacted`: as in `Outcome`."""
        super().__init__(words)
        self.not_read, self.redacted = not_read, redacted


def unread_words(not_read: NotRead) -> str:
    """Return the sentence for a model on a page or document that could not be read."""
    return f"{not_read.path!r} could not be read: {not_read.reason} ({not_read.code})."


def as_lines(value: Any) -> Any:
    """Return a list of single lines: a bare string becomes a list, blanks are dropped, control
    characters replaced."""
    if value is None or isinstance(value, str):
        value = [value]
    if not isinstance(value, list | tuple):
        return value
    lines: list[Any] = []
    for item in value:
        line = item
        if isinstance(item, str | int | float):
            line = " ".join(without_controls(str(item)).split())
        if line is not None and line != "":
            lines.append(line)
    return lines


Lines = Annotated[
    list[str],
    BeforeValidator(as_lines),
    WithJsonSchema({"type": "array", "items": {"type": "string"}, "minItems": 1}),
]
"""Type of an argument: a list of single lines; see `as_lines`."""


def queries_of(tool: str, given: Iterable[str]) -> list[str]:
    """Return each query once, ignoring case; raises `ToolFailed` if there is none."""
    queries = distinct(given, str.casefold)
    if not queries:
        raise ToolFailed(
            f"{tool} needs at least one query with words in it, such as a name or a subject."
        )
    return queries


def cut_query(query: str, longest: int) -> str:
    """Return the query, cut to `longest` characters at a space, or within the word if it has no
    spaces."""
    if len(query) <= longest:
        return query
    return query[: longest + 1].rpartition(" ")[0].rstrip() or query[:longest]


def take(
    asked: list[str], limits: Mapping[str, int | None], done: str
) -> tuple[list[str], list[str]]:
    """Return as many entries as the lowest limit allows, and a sentence if some were dropped.

    `limits`: by name of the setting; None means no limit. `done`: end of the sentence, such as
    "addresses were opened".
    """
    most, name = min((most, name) for name, most in limits.items() if most is not None)
    if len(asked) <= most:
        return asked, []
    return asked[:most], [f"Only the first {most} of {len(asked)} {done} ({name})."]

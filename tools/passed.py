"""Adapts LangChain retrievers and tools, MCP servers and an app's engines to a run; their results
are untrusted."""

from __future__ import annotations

import asyncio
import inspect
import json
import re
from ast import literal_eval
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import chain, islice
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote

from langchain_core.documents import Document
from langchain_core.messages import ToolMessage
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import BaseTool, ToolException, tool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import BaseModel, ConfigDict, ValidationError

from ..core.evidence.citations.citing import source_key
from ..core.reading.documents.decode import clean_text, without_controls
from ..core.records.sources import short_hash
from ..core.run import tool_names
from ..core.run.concurrency import in_thread
from ..core.run.context import Context, Engine, engine_name
from ..core.run.errors import ExtraMissing, UnknownSetting, log_failure
from ..core.run.registered import TOOLS, load_registered, registered
from .engine import OVERSAMPLING, RETRIEVED, EngineFailed, Found, allowed_results, cleaned, hit_of
from .results import shortened
from .tool import Hit, Outcome, ToolFailed, plain_schema

_loaded: dict[str, tuple[BaseTool, ...]] = {}
"""The tools of each MCP server, by name and settings; loaded once per process."""
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_UNPLAIN = re.compile(r"[^\w.-]+")
"""Matches characters of a name that do not belong into an address."""
_DESCRIPTION_CHARACTERS = 2000
"""Maximum characters of a tool's description."""
_FAULT_CHARACTERS = 500
"""Maximum characters of a tool's error message, and of the description of an argument."""
_SCHEMA_CHARACTERS = 20_000
"""Maximum characters of the schema of a tool's arguments."""
_PARSED_CHARACTERS = 200_000
"""Maximum characters of a text that is parsed as JSON."""
_DEEPEST = 8
"""Maximum depth of nested lists and records."""
_TEXTS = (
    "pagecontent",
    "content",
    "text",
    "rawcontent",
    "snippet",
    "body",
    "summary",
    "description",
)
"""Normalized field names (see `_field`) in order of preference, like the constants below."""
_TITLES = ("title", "name", "headline", "subject")
_ADDRESSES = (
    "url",
    "link",
    "href",
    "source",
    "address",
    "uri",
    "entryid",
    "weburl",
    "webviewlink",
    "filepath",
    "path",
)
_DATES = (
    *(
        "published",
        "publisheddate",
        "publicationdate",
        "date",
        "when",
        "lastmodified",
        "lastmodifieddate",
    ),
    *(
        "modifiedtime",
        "moddate",
        "lasteditedtime",
        "updated",
        "updatedat",
        "created",
        "createdat",
        "creationdate",
    ),
)
_DAY = re.compile(r"\d{4}(?:-\d\d(?:-\d\d)?)?(?!\d)")
_LOCATION = re.compile(r"(?!file:).*[/\\:.].*|(?:file:)+(?://)?(?P<path>.+)", re.IGNORECASE)
"""Matches addresses, but not words such as `news`; of a file URL, only the path, so that nothing
links to it."""


async def load_servers(context: Context) -> None:
    """Load the tools of each MCP server once; raises `ExtraMissing`, and `UnknownSetting` for an
    unusable server."""
    for name, connection in context.mcp.items():
        key = _key(name, connection)
        if key in _loaded:
            continue
        client = await in_thread(_client, name, connection)
        try:
            async with asyncio.timeout(context.limits.search_seconds):
                tools = await client.get_tools()
        except Exception as error:
            kind = type(error).__name__
            log_failure(
                __name__, error, "The MCP server %r did not list its tools", name, keeps_text=True
            )
            raise UnknownSetting(
                f"mcp: the server {name!r} did not list its tools ({kind}): check its command or address."
            ) from error
        # Names carry the server's name as a prefix.
        names = [re.sub(r"[^A-Za-z0-9_-]", "_", f"{name}_{loaded.name}")[:64] for loaded in tools]
        named = zip(tools, names, strict=True)
        _loaded[key] = tuple(loaded.model_copy(update={"name": own}) for loaded, own in named)


def _key(name: str, connection: Mapping[str, Any]) -> str:
    return json.dumps([name, connection], sort_keys=True, default=str)


def _client(name: str, connection: Mapping[str, Any]) -> Any:
    try:
        from langchain_mcp_adapters.client import MultiServerMCPClient
    except ImportError:
        raise ExtraMissing(
            'MCP servers need a package that is not installed: pip install ".[mcp]" in the checkout of deep_research.'
        ) from None
    whole: Any = {
        "transport": "stdio" if "command" in connection else "streamable_http",
        **connection,
    }
    return MultiServerMCPClient({name: whole})


class PassedEngine:
    """An engine passed by an app or loaded by import path: an engine object, a retriever, or a tool
    with a query."""

    def __init__(
        self,
        given: str | BaseRetriever | BaseTool | Engine,
        name: str = "",
        *,
        is_own: bool = False,
    ) -> None:
        """`name`: name in the settings if it differs; `is_own`: whether it searches the user's
        documents."""
        self._given, self._is_own = given, is_own
        self.name = name or engine_name(given)
        own_title = "" if isinstance(given, str) else getattr(given, "title", "")
        self.title = str(own_title or engine_name(given))
        self.parallel = int(getattr(given, "parallel", 2))
        self.gap = float(getattr(given, "gap", 0.0))

    async def search(self, query: str, count: int) -> list[Found]:
        """Return at most `count` results; raises `EngineFailed`."""
        given = self._given
        if isinstance(given, str):
            raise EngineFailed(
                f"The retriever {given!r} was not passed again (retrievers).", is_lasting=True
            )
        if isinstance(given, BaseTool):
            parameters = _parameters(given)
            properties = parameters["properties"]
            names = [
                name for name in parameters.get("required", ()) if name in properties
            ] or properties
            texts = [name for name in names if properties[name].get("type", "string") == "string"]
            if not texts:
                raise EngineFailed(
                    f"{given.name} has no text argument for a query: pass it as a tool (tools)."
                )
            result = await _call(given, {texts[0]: query})
        elif isinstance(given, BaseRetriever):
            result = await _invoke(given, query)
        else:
            return await given.search(query, count)
        return records_of(
            result, self.name, self.title if self._is_own else query, count, are_own=self._is_own
        )


def passed_tools(context: Context) -> dict[str, BaseTool]:
    """Return the tools of the settings and of loaded servers by name; raises `UnknownSetting` for
    an unusable one."""
    tools: dict[str, BaseTool] = {}
    of_servers = [
        _loaded.get(_key(name, connection), ()) for name, connection in context.mcp.items()
    ]
    for passed in (*map(_registered_tool, context.tools), *chain.from_iterable(of_servers)):
        name = passed.name
        if not _NAME.fullmatch(name):
            raise UnknownSetting(
                f"tools: {name!r} is not a valid tool name: use letters, digits, - and _, at most 64."
            )
        if name in tools or name in vars(tool_names).values():
            raise UnknownSetting(
                f"tools: {name!r} is the name of another tool: give this one another name."
            )
        if len(json.dumps(passed_schema(passed), default=str)) > _SCHEMA_CHARACTERS:
            raise UnknownSetting(
                f"tools: the arguments of {name!r} take more than {_SCHEMA_CHARACTERS} characters."
            )
        tools[name] = passed
    return tools


def _registered_tool(given: str | BaseTool) -> BaseTool:
    """Return the tool itself, or the one that an installed package registers under this name."""
    if isinstance(given, BaseTool):
        return given
    if given not in registered(TOOLS):
        there_are = ", ".join(registered(TOOLS)) or "none"
        raise UnknownSetting(
            f"tools: no installed package registers {given!r} ({TOOLS}); registered: {there_are}."
        )
    loaded = load_registered(TOOLS, given)
    return loaded if isinstance(loaded, BaseTool) else tool(loaded)


def passed_schema(given: BaseTool) -> dict[str, Any]:
    """Return the schema of a passed tool in the format of the OpenAI API."""
    description = _line(inspect.cleandoc(given.description[: 4 * _DESCRIPTION_CHARACTERS]))[
        :_DESCRIPTION_CHARACTERS
    ]
    return {
        "type": "function",
        "function": {
            "name": given.name,
            "description": description,
            "parameters": _short(_parameters(given)),
        },
    }


def _parameters(given: BaseTool) -> dict[str, Any]:
    """Return the JSON schema of a tool's arguments; see `plain_schema`."""
    parameters: dict[str, Any] = convert_to_openai_tool(given)["function"].get("parameters", {})
    return {"type": "object", "properties": {}, **plain_schema(parameters)}


def _short(schema: Any) -> Any:
    """Return the schema with each text shortened to a single line, since it may come from an
    untrusted server."""
    if isinstance(schema, dict):
        return {key: _short(value) for key, value in schema.items()}
    if isinstance(schema, list):
        return [_short(value) for value in schema]
    return (
        _line(schema[: 4 * _FAULT_CHARACTERS])[:_FAULT_CHARACTERS]
        if isinstance(schema, str)
        else schema
    )


class _AnyArguments(BaseModel):
    """Arguments of any kind; the tool checks them itself."""

    model_config = ConfigDict(extra="allow")


class PassedTool:
    """Adapts a LangChain tool to a research tool."""

    arguments: type[BaseModel] = _AnyArguments

    def __init__(self, given: BaseTool, context: Context, topic: str = "") -> None:
        """`topic` selects the passages shown of long texts."""
        self._given, self._context, self._topic, self.name = given, context, topic, given.name

    async def run(self, arguments: BaseModel) -> Outcome:
        """Run one call; raises `ToolFailed` with the tool's own error message."""
        values = arguments.model_dump()
        try:
            result = await _call(self._given, values)
        except (ToolException, ValidationError) as error:
            # A `ToolException` is a failure of the tool; a validation error is the model's mistake.
            cause = error if isinstance(error, ToolException) else None
            raise ToolFailed(
                f"{self.name} failed: {_line(str(error))[:_FAULT_CHARACTERS]}"
            ) from cause
        title = (
            f"{self.name}: {', '.join(map(_line, map(str, values.values())))}"
            if values
            else self.name
        )
        # Parsing a large result must not block the event loop.
        hits = await asyncio.to_thread(self._hits, result, title)
        return Outcome(hits, () if hits else (f"{self.name} returned nothing that may be shown.",))

    def _hits(self, result: Any, title: str) -> tuple[Hit, ...]:
        """Return a result of the tool as hits: its records that the settings allow, long texts cut
        to passages."""
        now, most = (
            self._context.clock.now().isoformat(timespec="seconds"),
            self._context.limits.max_web_results,
        )
        found = allowed_results(
            cleaned(records_of(result, self.name, title, most), most), self._context
        )
        keys = [
            source_key(result.address) if result.is_page else result.address for result in found
        ]
        hits = [hit_of(result, key, now) for result, key in zip(found, keys, strict=True)]
        return shortened(hits, self._topic, self._context.limits)


async def _call(given: BaseTool, arguments: Mapping[str, Any]) -> Any:
    """Call the tool and return its artifact if there are documents in it, else its content."""
    call = {"type": "tool_call", "name": given.name, "args": dict(arguments), "id": given.name}
    answer = await _invoke(given, call)
    if not isinstance(answer, ToolMessage):
        return answer
    if answer.status == "error":
        raise ToolException(answer.text)
    return answer.artifact if next(_records(answer.artifact), None) else answer.content


async def _invoke(given: BaseRetriever | BaseTool, value: Any) -> Any:
    """Call a retriever or tool and return its answer; a blocking one runs in a daemon thread."""
    if isinstance(given, BaseRetriever):
        is_async = (
            type(given)._aget_relevant_documents is not BaseRetriever._aget_relevant_documents
        )
    elif hasattr(given, "coroutine"):
        is_async = given.coroutine is not None
    else:
        is_async = type(given)._arun is not BaseTool._arun
    if is_async:
        # Some define the method only to raise that it is not implemented.
        with suppress(NotImplementedError, AssertionError):
            return await given.ainvoke(value)
    return await in_thread(given.invoke, value)


def records_of(
    result: Any, name: str, title: str, most: int, *, are_own: bool = False
) -> list[Found]:
    """Return up to `most` records from the result of the retriever or tool `name`, or its text as
    one record.

    A record is a document, or a dict with a text; without a web address it is cited by the name of
    the tool. `title` replaces a missing title. With `are_own`, records are parts of the user's
    documents instead of web pages.
    """
    records = list(islice(_records(result), OVERSAMPLING * most))
    # Lists of content blocks without a text, such as pictures, hold nothing to cite.
    are_blocks = isinstance(result, list) and all(
        isinstance(block, dict) and "type" in block for block in result
    )
    if not records and not are_blocks:
        text = (
            result
            if isinstance(result, str)
            else json.dumps(result, ensure_ascii=False, default=str)
        )
        records = [{"text": text}] if text.strip() else []
    return [found for record in records if (found := _found(record, name, title, are_own))][:most]


def _records(result: Any, depth: int = _DEEPEST) -> Iterator[Mapping[str, Any]]:
    """Yield the documents, and the dicts with a text, in a result that is nested up to `depth`
    levels."""
    if not depth:
        return
    if isinstance(result, Document):
        yield {**result.metadata, "page_content": result.page_content}
    elif isinstance(result, Mapping):
        if any(isinstance(value, str) and _field(key) in _TEXTS for key, value in result.items()):
            yield from _parsed(result, depth) or [result]
        else:
            for key in ("results", "documents", "items", "data"):
                yield from _records(result.get(key), depth - 1)
    elif isinstance(result, list | tuple):
        yield from (record for item in result for record in _records(item, depth - 1))
    elif isinstance(result, str):
        yield from _parsed({"text": result}, depth)


def _parsed(record: Mapping[str, Any], depth: int) -> list[Mapping[str, Any]]:
    """Return the records in the JSON text of a dict such as a text block of an MCP server; empty if
    it is no JSON."""
    text = record.get("text")
    if (
        set(record) - {"type", "text", "id"}
        or not isinstance(text, str)
        or text.lstrip()[:1] not in ("{", "[")
    ):
        return []
    # Some tools of langchain-community return the repr of a Python list instead of JSON.
    for parse in (json.loads, literal_eval):
        with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
            return list(
                _records(parse(text) if len(text) <= _PARSED_CHARACTERS else None, depth - 1)
            )
    return []


def _found(record: Mapping[str, Any], name: str, title: str, is_document: bool) -> Found | None:
    """Return a record as a search result; None if it has neither a text nor, as a page, an
    address."""
    fields = {
        _field(key): value for key, value in record.items() if isinstance(value, str | int | float)
    }
    text, own_title = _first(fields, _TEXTS), _first(fields, _TITLES)
    addresses = [str(fields[key]).strip() for key in _ADDRESSES if key in fields]
    page = next(
        (text for text in addresses if text.lower().startswith(("http://", "https://"))), ""
    )
    is_page = bool(page) and not is_document
    if not text and not is_page:
        return None
    matches = filter(None, map(_LOCATION.fullmatch, addresses))
    location = page or next((match["path"] or match[0] for match in matches), "")
    identity = (location, own_title) if is_document and location else (text,)
    file = unquote(re.split("[?#]", _first(fields, ["filename"]) or location)[0]).replace("\\", "/")
    score = fields.get("score", 0.0)
    return Found(
        own_title or PurePosixPath(file).stem or title,
        page if is_page else f"{RETRIEVED}{short_hash(name, *identity)}/{plain_name(name)}",
        text,
        next((day[0] for key in _DATES if (day := _DAY.match(str(fields.get(key, ""))))), ""),
        min(max(float(score), 0.0), 1.0) if isinstance(score, int | float) else 0.0,
        is_page,
        "" if is_page else location,
    )


def _field(name: object) -> str:
    """Return the normalized name of a field: the same for `file_name`, `fileName` and `File
    name`."""
    return re.sub(r"[\W_]", "", str(name)).lower()


def plain_name(name: str) -> str:
    """Return the name of a retriever or tool in the form used in addresses."""
    return _UNPLAIN.sub("-", name)


def _first(fields: Mapping[str, Any], names: Iterable[str]) -> str:
    """Return the first of these fields that is not blank; empty if all are."""
    return next(
        (str(fields[name]).strip() for name in names if str(fields.get(name, "")).strip()), ""
    )


def _line(text: str) -> str:
    """Return the text as one line without invisible characters."""
    return " ".join(clean_text(without_controls(text)).split())

"""LangChain retrievers and tools, MCP servers, and an app's engines as those of a run; their results are untrusted."""

from __future__ import annotations

import asyncio
import inspect
import json
import re
from ast import literal_eval
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from itertools import islice
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
from ..core.reading.documents.decode import clean, without_controls
from ..core.records.sources import short_hash
from ..core.run import tool_names
from ..core.run.concurrency import in_thread
from ..core.run.context import Context, Engine, engine_name
from ..core.run.errors import DeepResearchError, ExtraMissing, UnknownSetting
from ..core.run.logs import log_failure
from ..core.run.registered import TOOLS, load_registered, registered
from .engine import LOOKED_AT, RETRIEVED, EngineFailed, Found, cleaned, hit_of, usable
from .results import shortened
from .tool import Hit, Outcome, ToolFailed, plain_schema

_UNUSABLE = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST_NAME = 64
_loaded: dict[str, tuple[BaseTool, ...]] = {}
"""The tools of a server, by all that is set for it: what they are does not change while a process lives."""
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_UNPLAIN = re.compile(r"[^\w.-]+")
DESCRIPTION_CHARACTERS = 2000
"""Characters of what a tool says of itself."""
FAULT_CHARACTERS = 500
"""Characters of what a tool says about its failure, and about one of its arguments."""
SCHEMA_CHARACTERS = 20_000
"""Characters of all that a tool says about its arguments."""
PARSED_CHARACTERS = 200_000
"""Characters of a text that is looked at as JSON."""
DEEPEST = 8
"""Levels of lists and records that are looked into."""
_TEXTS = ("pagecontent", "content", "text", "rawcontent", "snippet", "body", "summary", "description")
"""Names of fields as `_field` returns them, the first ones first; those below, too."""
_TITLES = ("title", "name", "headline", "subject")
_ADDRESSES = ("url", "link", "href", "source", "address", "uri", "entryid", "weburl", "webviewlink", "filepath", "path")
_DATES = (
    *("published", "publisheddate", "publicationdate", "date", "when", "lastmodified", "lastmodifieddate"),
    *("modifiedtime", "moddate", "lasteditedtime", "updated", "updatedat", "created", "createdat", "creationdate"),
)
_DAY = re.compile(r"\d{4}(?:-\d\d(?:-\d\d)?)?(?!\d)")
_LOCATION = re.compile(r"(?!file:).*[/\\:.].*|(?:file:)+(?://)?(?P<path>.+)", re.IGNORECASE)
"""What is an address, other than a word such as `news`; that of a file is its path, so that nothing links there."""


async def load_servers(context: Context) -> None:
    """Ask each server of the settings for its tools, unless this process knows them.

    Raises `ExtraMissing`, and `UnknownSetting` for a server that cannot be used.
    """
    for name, connection in context.mcp.items():
        key = _key(name, connection)
        if key not in _loaded:
            _loaded[key] = await _tools(name, connection, context.limits.search_seconds)


def server_tools(context: Context) -> list[BaseTool]:
    """Return the tools of the servers, once they are loaded; each bears the name of its server before its own."""
    return [tool for name, connection in context.mcp.items() for tool in _loaded.get(_key(name, connection), ())]


def _key(name: str, connection: Mapping[str, Any]) -> str:
    return json.dumps([name, connection], sort_keys=True, default=str)


async def _tools(name: str, connection: Mapping[str, Any], seconds: float) -> tuple[BaseTool, ...]:
    client = await in_thread(lambda: _client(name, connection))
    try:
        async with asyncio.timeout(seconds):
            tools = await client.get_tools()
    except DeepResearchError:
        raise
    except Exception as error:
        kind = type(error).__name__
        log_failure(__name__, error, "The MCP server %r gave no list of its tools", name, keeps_text=True)
        raise UnknownSetting(
            f"mcp: the server {name!r} gave no list of its tools ({kind}): check its command or address."
        ) from error
    names = [_UNUSABLE.sub("_", f"{name}_{one.name}")[:_LONGEST_NAME] for one in tools]
    return tuple(one.model_copy(update={"name": own}) for one, own in zip(tools, names, strict=True))


def _client(name: str, connection: Mapping[str, Any]) -> Any:
    try:
        from langchain_mcp_adapters.client import MultiServerMCPClient
    except ImportError:
        raise ExtraMissing(
            'MCP servers need a package that is not installed: pip install ".[mcp]" in the checkout of deep_research.'
        ) from None
    whole: Any = {"transport": "stdio" if "command" in connection else "streamable_http", **connection}
    return MultiServerMCPClient({name: whole})


class PassedEngine:
    """An engine that an app has passed or that is named by where it is: its own, a retriever, a tool with a query."""

    def __init__(self, given: str | BaseRetriever | BaseTool | Engine, name: str = "", *, is_own: bool = False) -> None:
        """`name`: by which the settings name it, if not by its own; `is_own`: it finds documents of the user."""
        self._given, self._is_own = given, is_own
        self.name = name or engine_name(given)
        own_title = "" if isinstance(given, str) else getattr(given, "title", "")
        self.title = str(own_title or engine_name(given))
        self.parallel = int(getattr(given, "parallel", 2))
        self.gap = float(getattr(given, "gap", 0.0))

    async def search(self, query: str, count: int) -> list[Found]:
        """Return what it finds, at most `count`; raises `EngineFailed`."""
        given = self._given
        if isinstance(given, str):
            raise EngineFailed(f"The retriever {given!r} was not passed again (retrievers).", is_lasting=True)
        if isinstance(given, BaseTool):
            result = await _call(given, {_query_argument(given): query})
        elif isinstance(given, BaseRetriever):
            result = await _invoke(given, query)
        else:
            return await given.search(query, count)
        return found_in(result, self.name, self.title if self._is_own else query, count, are_own=self._is_own)


def _query_argument(given: BaseTool) -> str:
    properties = _parameters(given).get("properties", {})
    required = [name for name in _parameters(given).get("required", ()) if name in properties] or list(properties)
    for name in required:
        if properties[name].get("type", "string") == "string":
            return str(name)
    raise EngineFailed(f"{given.name} takes no text, so it cannot search: pass it as a tool (tools).")


def passed_tools(context: Context) -> dict[str, BaseTool]:
    """Return the tools of the settings by name; raises `UnknownSetting` if one cannot be offered."""
    tools: dict[str, BaseTool] = {}
    for one in (*map(_registered_tool, context.tools), *server_tools(context)):
        if not _NAME.fullmatch(one.name):
            raise UnknownSetting(f"tools: {one.name!r} is no name of a tool: use letters, digits, - and _, at most 64.")
        if one.name in tools or one.name in vars(tool_names).values():
            raise UnknownSetting(f"tools: {one.name!r} is the name of another tool: give this one another name.")
        if len(json.dumps(passed_schema(one), default=str)) > SCHEMA_CHARACTERS:
            raise UnknownSetting(f"tools: the arguments of {one.name!r} take more than {SCHEMA_CHARACTERS} characters.")
        tools[one.name] = one
    return tools


def _registered_tool(given: str | BaseTool) -> BaseTool:
    if isinstance(given, BaseTool):
        return given
    if given not in registered(TOOLS):
        there_are = ", ".join(registered(TOOLS)) or "none"
        raise UnknownSetting(f"tools: no installed package registers {given!r} ({TOOLS}); there are {there_are}.")
    one = load_registered(TOOLS, given)
    return one if isinstance(one, BaseTool) else tool(one)


def passed_schema(given: BaseTool) -> dict[str, Any]:
    """Return the schema of a passed tool as the OpenAI API takes it."""
    description = _line(inspect.cleandoc(given.description[: 4 * DESCRIPTION_CHARACTERS]))[:DESCRIPTION_CHARACTERS]
    return {
        "type": "function",
        "function": {"name": given.name, "description": description, "parameters": _short(_parameters(given))},
    }


def _parameters(given: BaseTool) -> dict[str, Any]:
    parameters: dict[str, Any] = convert_to_openai_tool(given)["function"].get("parameters", {})
    return {"type": "object", "properties": {}, **plain_schema(parameters)}


def _short(schema: Any) -> Any:
    """Return a schema whose texts are short lines: whoever runs a server of tools writes them."""
    if isinstance(schema, dict):
        return {key: _short(value) for key, value in schema.items()}
    if isinstance(schema, list):
        return [_short(value) for value in schema]
    return _line(schema[: 4 * FAULT_CHARACTERS])[:FAULT_CHARACTERS] if isinstance(schema, str) else schema


class _AnyArguments(BaseModel):
    """Arguments that the tool itself checks."""

    model_config = ConfigDict(extra="allow")


class PassedTool:
    """A LangChain tool as a researcher calls it."""

    arguments: type[BaseModel] = _AnyArguments

    def __init__(self, given: BaseTool, context: Context, topic: str = "") -> None:
        """`topic` tells which passages of a long text are wanted."""
        self._given, self._context, self._topic, self.name = given, context, topic, given.name

    async def run(self, arguments: BaseModel) -> Outcome:
        """Carry out one call; raises `ToolFailed` with what the tool says is wrong."""
        hits = await asyncio.to_thread(self._hits, await self._ask(arguments.model_dump()))
        return Outcome(hits, () if hits else (f"{self.name} brought nothing that may be shown.",))

    async def _ask(self, values: dict[str, Any]) -> list[Found]:
        try:
            result = await _call(self._given, values)
        except (ToolException, ValidationError) as error:
            # What the tool itself refuses is a failure of the tool; wrong arguments are the model's.
            cause = error if isinstance(error, ToolException) else None
            raise ToolFailed(f"{self.name} failed: {_line(str(error))[:FAULT_CHARACTERS]}") from cause
        most = self._context.limits.max_web_results
        title = f"{self.name}: {', '.join(map(_line, map(str, values.values())))}" if values else self.name
        # Much may have come, and nobody else should wait for it to be read.
        return await asyncio.to_thread(lambda: cleaned(found_in(result, self.name, title, most), most))

    def _hits(self, came: list[Found]) -> tuple[Hit, ...]:
        now = self._context.clock.now().isoformat(timespec="seconds")
        found = usable(came, self._context)
        hits = [hit_of(one, source_key(one.address) if one.is_page else one.address, now) for one in found]
        return shortened(hits, self._topic, self._context.limits)


async def _call(given: BaseTool, arguments: Mapping[str, Any]) -> Any:
    """Return the tool's artifact if it holds documents, else its content."""
    call = {"type": "tool_call", "name": given.name, "args": dict(arguments), "id": given.name}
    answer = await _invoke(given, call)
    if not isinstance(answer, ToolMessage):
        return answer
    if answer.status == "error":
        raise ToolException(answer.text)
    return answer.artifact if next(_records(answer.artifact), None) else answer.content


async def _invoke(given: BaseRetriever | BaseTool, value: Any) -> Any:
    """Return what it answers; one that blocks works in a thread that nobody has to wait for."""
    if isinstance(given, BaseRetriever):
        is_async = type(given)._aget_relevant_documents is not BaseRetriever._aget_relevant_documents
    elif hasattr(given, "coroutine"):
        is_async = given.coroutine is not None
    else:
        is_async = type(given)._arun is not BaseTool._arun
    if is_async:
        # Some have the method and say in it that they have it not.
        with suppress(NotImplementedError, AssertionError):
            return await given.ainvoke(value)
    return await in_thread(partial(given.invoke, value))


def found_in(result: Any, name: str, title: str, most: int, *, are_own: bool = False) -> list[Found]:
    """Return what stands in the result of a retriever or tool of this `name`: its records, or else its text as one.

    Of the records the first ones are looked at, some for each of the `most` that are wanted.

    A record is a document, or a dict with a text; one without a web address is cited by the name of the tool. `title`
    stands in for that of a text without one. If they `are_own`, no record is a page, but each part of a document.
    """
    records = list(islice(_records(result), LOOKED_AT * most))
    if not records and not _are_blocks(result):
        text = result if isinstance(result, str) else json.dumps(result, ensure_ascii=False, default=str)
        records = [{"text": text}] if text.strip() else []
    return [found for record in records if (found := _found(record, name, title, are_own))][:most]


def _are_blocks(result: Any) -> bool:
    """Return whether a result is made of blocks of content without a text, such as pictures."""
    return isinstance(result, list) and all(isinstance(one, dict) and "type" in one for one in result)


def _records(result: Any, depth: int = DEEPEST) -> Iterator[Mapping[str, Any]]:
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
        yield from (record for one in result for record in _records(one, depth - 1))
    elif isinstance(result, str):
        yield from _parsed({"text": result}, depth)


def _parsed(record: Mapping[str, Any], depth: int) -> list[Mapping[str, Any]]:
    """Return the records in a text that is JSON, such as a block of text from an MCP server."""
    text = record.get("text")
    if set(record) - {"type", "text", "id"} or not isinstance(text, str) or text.lstrip()[:1] not in ("{", "["):
        return []
    # Some tools of langchain-community return the text of a Python list in the place of JSON.
    for parse in (json.loads, literal_eval):
        with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
            return list(_records(parse(text) if len(text) <= PARSED_CHARACTERS else None, depth - 1))
    return []


def _found(record: Mapping[str, Any], name: str, title: str, is_document: bool) -> Found | None:
    fields = {_field(key): value for key, value in record.items() if isinstance(value, str | int | float)}
    text, own_title = _first(fields, _TEXTS), _first(fields, _TITLES)
    addresses = [str(fields[key]).strip() for key in _ADDRESSES if key in fields]
    page = next((one for one in addresses if one.lower().startswith(("http://", "https://"))), "")
    is_page = bool(page) and not is_document
    if not text and not is_page:
        return None
    location = page or next((one["path"] or one[0] for one in map(_LOCATION.fullmatch, addresses) if one), "")
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
    """Return the name of a field as it is sought: `file_name`, `fileName` and `File name` are one."""
    return re.sub(r"[\W_]", "", str(name)).lower()


def plain_name(name: str) -> str:
    """Return the name of a retriever or tool as addresses bear it."""
    return _UNPLAIN.sub("-", name)


def _first(fields: Mapping[str, Any], names: Iterable[str]) -> str:
    return next((str(fields[name]).strip() for name in names if str(fields.get(name, "")).strip()), "")


def _line(text: str) -> str:
    return " ".join(clean(without_controls(text)).split())

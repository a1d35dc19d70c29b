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
from contextvars import ContextVar
from itertools import islice
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from langchain_core.documents import Document
from langchain_core.messages import ToolMessage
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import BaseTool, ToolException, tool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import BaseModel, ConfigDict, ValidationError

from ..core.concurrency import in_thread
from ..core.errors import ExtraMissing, UnknownSetting, how_to_install, log_failure
from ..core.evidence.citations.citing import source_key
from ..core.reading.documents.decode import clean_text, without_controls
from ..core.records import tool_names
from ..core.records.sources import short_hash
from ..core.settings.context import Context, Engine, engine_name
from ..core.settings.installed import TOOLS
from ..core.settings.network import ENCODING, limit_answer
from .engine import (
    OVERSAMPLING,
    RETRIEVED,
    EngineFailed,
    Found,
    PartialResults,
    Reported,
    allowed_results,
    cleaned,
    hit_of,
)
from .results import shortened
from .tool import Hit, Outcome, ToolFailed, plain_schema

if TYPE_CHECKING:
    import httpx

_loaded: dict[str, tuple[BaseTool, ...]] = {}
"""The tools of each MCP server, by name and settings; loaded once per process."""
_running_call = ContextVar[asyncio.Timeout | None]("_running_call", default=None)
"""Ends the call of a tool that this context belongs to."""
_ANSWER_BYTES = 8_000_000
"""Maximum size of an answer of an MCP server, decompressed; it contains a result twice."""
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
_LISTS = ("results", "documents", "items", "data")
"""Fields that hold the records of a result."""
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
        seconds = context.limits.search_seconds
        try:
            async with asyncio.timeout(seconds):
                tools = await client.get_tools()
        except Exception as error:
            reason = type(error).__name__
            if isinstance(error, TimeoutError):
                reason = f"no answer within {seconds:g} s, see search_seconds"
            log_failure(
                __name__, error, "The MCP server %r did not list its tools", name, keeps_text=True
            )
            raise UnknownSetting(
                f"mcp: the server {name!r} did not list its tools ({reason}): check its command or "
                "address."
            ) from error
        renamed: list[BaseTool] = []
        for loaded in tools:
            # Names carry the server's name as a prefix.
            prefixed = re.sub(r"[^A-Za-z0-9_-]", "_", f"{name}_{loaded.name}")
            renamed.append(loaded.model_copy(update={"name": prefixed[:64]}))
        _loaded[key] = tuple(renamed)


def _key(name: str, connection: Mapping[str, Any]) -> str:
    return json.dumps([name, connection], sort_keys=True, default=str)


def _client(name: str, connection: Mapping[str, Any]) -> Any:
    """Return a client of one MCP server."""
    try:
        from langchain_mcp_adapters.client import MultiServerMCPClient
    except ImportError:
        raise ExtraMissing(
            f"MCP servers need a package that is not installed: {how_to_install('mcp')}."
        ) from None
    transport = "stdio" if "command" in connection else "streamable_http"
    settings: Any = {"transport": transport, **connection}
    if settings["transport"] == "stdio":
        # Other MCP clients need no arguments either.
        settings.setdefault("args", [])
    elif settings["transport"] in ("streamable_http", "http", "sse"):
        settings["httpx_client_factory"] = _http_client
    return MultiServerMCPClient({name: settings})


def _http_client(**settings: Any) -> httpx.AsyncClient:
    """Return an HTTP client for an MCP server, with a limit on answers."""
    import httpx

    def end_call() -> None:
        # The session would wait for an answer that it could not read.
        call = _running_call.get()
        if call and not call.expired():
            call.reschedule(asyncio.get_running_loop().time())

    async def limit(response: httpx.Response) -> None:
        limit_answer(response, _ANSWER_BYTES, on_excess=end_call)

    client = httpx.AsyncClient(**settings, event_hooks={"response": [limit]})
    client.headers["Accept-Encoding"] = ENCODING
    return client


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
        self._given = given
        self._is_own = is_own
        self.name = name or engine_name(given)
        self.title = engine_name(given)
        # A string has a method `title`.
        if not isinstance(given, str):
            self.title = str(getattr(given, "title", "") or self.title)
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
            result = await _call(given, {_query_argument(given): query})
        elif isinstance(given, BaseRetriever):
            result = await _invoke(given, query)
        else:
            return await given.search(query, count)
        # Parsing a large result must not block the event loop.
        return await in_thread(self._read, result, query, count)

    def _read(self, result: Any, query: str, count: int) -> list[Found]:
        """Return the records in a result; raises `EngineFailed` if it only reports errors."""
        title = self.title if self._is_own else query
        found = records_of(result, self.name, title, count, are_own=self._is_own)
        answer = _answer_in(result)
        faults = Reported.of(answer, _LISTS).faults
        if not faults:
            return found
        if next(_records(answer), None) is None:
            # Otherwise the error would be cited as a text.
            raise EngineFailed(f"{self.title} found nothing and reports {faults}.")
        return PartialResults(found, f"{self.title} found results, but also reports {faults}.")


def passed_tools(context: Context) -> dict[str, BaseTool]:
    """Return the tools of the settings and of loaded servers by name; raises `UnknownSetting` for
    an unusable one."""
    given = [_registered_tool(setting) for setting in context.tools]
    for server, connection in context.mcp.items():
        given += _loaded.get(_key(server, connection), ())
    tools: dict[str, BaseTool] = {}
    for passed in given:
        name = passed.name
        if not _NAME.fullmatch(name):
            raise UnknownSetting(
                f"tools: {name!r} is not a valid tool name: use letters, digits, - and _, at most "
                "64."
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
    if given not in TOOLS.entries:
        names = ", ".join(TOOLS.entries) or "none"
        raise UnknownSetting(
            f"tools: no installed package registers {given!r} ({TOOLS.group}); registered: {names}."
        )
    loaded = TOOLS.load(given)
    if isinstance(loaded, BaseTool):
        return loaded
    adapted: BaseTool = tool(loaded)
    return adapted


def passed_schema(given: BaseTool) -> dict[str, Any]:
    """Return the schema of a passed tool in the format of the OpenAI API."""
    description = inspect.cleandoc(given.description[: 4 * _DESCRIPTION_CHARACTERS])
    function = {
        "name": given.name,
        "description": _line(description)[:_DESCRIPTION_CHARACTERS],
        "parameters": _short(_parameters(given)),
    }
    return {"type": "function", "function": function}


def _parameters(given: BaseTool) -> dict[str, Any]:
    """Return the JSON schema of a tool's arguments; see `plain_schema`."""
    function = convert_to_openai_tool(given)["function"]
    parameters: dict[str, Any] = function.get("parameters", {})
    return {"type": "object", "properties": {}, **plain_schema(parameters)}


def _query_argument(given: BaseTool) -> str:
    """Return the argument of a tool that takes the query: its first text, required ones if it has
    any; raises `EngineFailed` if there is none."""
    parameters = _parameters(given)
    properties = parameters["properties"]
    names = [name for name in parameters.get("required", ()) if name in properties]
    for name in names or properties:
        if properties[name].get("type", "string") == "string":
            return str(name)
    raise EngineFailed(f"{given.name} has no text argument for a query: pass it as a tool (tools).")


def _short(schema: Any) -> Any:
    """Return the schema with each text shortened to a single line, since it may come from an
    untrusted server."""
    if isinstance(schema, dict):
        return {key: _short(value) for key, value in schema.items()}
    if isinstance(schema, list):
        return [_short(value) for value in schema]
    if isinstance(schema, str):
        return _line(schema[: 4 * _FAULT_CHARACTERS])[:_FAULT_CHARACTERS]
    return schema


class _AnyArguments(BaseModel):
    """Arguments of any kind; the tool checks them itself."""

    model_config = ConfigDict(extra="allow")


class PassedTool:
    """Adapts a LangChain tool to a research tool."""

    arguments: type[BaseModel] = _AnyArguments

    def __init__(self, given: BaseTool, context: Context, topic: str = "") -> None:
        """`topic` selects the passages shown of long texts."""
        self.name = given.name
        self._given = given
        self._context = context
        self._topic = topic

    async def run(self, arguments: BaseModel) -> Outcome:
        """Run one call; raises `ToolFailed` with the tool's own error message."""
        values = arguments.model_dump()
        try:
            result = await _call(self._given, values)
        except (ToolException, ValidationError) as error:
            # A `ToolException` is a failure of the tool; a validation error is the model's mistake.
            cause = error if isinstance(error, ToolException) else None
            reason = _line(str(error))[:_FAULT_CHARACTERS]
            raise ToolFailed(f"{self.name} failed: {reason}") from cause
        title = self.name
        if values:
            lines = [_line(str(value)) for value in values.values()]
            title = f"{self.name}: {', '.join(lines)}"
        # Parsing a large result must not block the event loop.
        hits = await asyncio.to_thread(self._hits, result, title)
        if not hits:
            return Outcome(problems=(f"{self.name} returned nothing that may be shown.",))
        return Outcome(hits)

    def _hits(self, result: Any, title: str) -> tuple[Hit, ...]:
        """Return a result of the tool as hits: its records that the settings allow, long texts cut
        to passages."""
        now = self._context.clock.now().isoformat(timespec="seconds")
        most = self._context.limits.max_web_results
        records = cleaned(records_of(result, self.name, title, most), most)
        hits: list[Hit] = []
        for record in allowed_results(records, self._context):
            key = source_key(record.address) if record.is_page else record.address
            hits.append(hit_of(record, key, now))
        return shortened(hits, self._topic, self._context.limits)


async def _call(given: BaseTool, arguments: Mapping[str, Any]) -> Any:
    """Call the tool and return its artifact if there are documents in it, else its content."""
    call = {"type": "tool_call", "name": given.name, "args": dict(arguments), "id": given.name}
    try:
        async with asyncio.timeout(None) as running:
            _running_call.set(running)
            answer = await _invoke(given, call)
    except TimeoutError:
        if not running.expired():
            raise
        raise ToolException(
            f"its answer is larger than {_ANSWER_BYTES} bytes, the most that is read"
        ) from None
    if not isinstance(answer, ToolMessage):
        return answer
    if answer.status == "error":
        raise ToolException(answer.text)
    # Its artifact may be large, too.
    first = await in_thread(next, _records(answer.artifact), None)
    return answer.artifact if first else answer.content


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
    if not records and not _are_blocks(result):
        text = result
        if not isinstance(result, str):
            text = json.dumps(result, ensure_ascii=False, default=str)
        if text.strip():
            records = [{"text": text}]
    results: list[Found] = []
    for record in records:
        found = _found(record, name, title, are_own)
        if found:
            results.append(found)
    return results[:most]


def _answer_in(result: Any) -> Any:
    """Return the dict that a result holds as JSON, as a text or a single text block; any other
    result as it is."""
    text = result
    if isinstance(result, list) and len(result) == 1 and _are_blocks(result):
        text = result[0].get("text")
    if isinstance(text, str) and len(text) <= _PARSED_CHARACTERS:
        with suppress(ValueError, RecursionError):
            return json.loads(text)
    return result


def _are_blocks(result: Any) -> bool:
    """Whether a result is a list of content blocks; without a text, such as pictures, these hold
    nothing to cite."""
    if not isinstance(result, list):
        return False
    return all(isinstance(block, dict) and "type" in block for block in result)


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
            for key in _LISTS:
                yield from _records(result.get(key), depth - 1)
    elif isinstance(result, list | tuple):
        for item in result:
            yield from _records(item, depth - 1)
    elif isinstance(result, str):
        yield from _parsed({"text": result}, depth)


def _parsed(record: Mapping[str, Any], depth: int) -> list[Mapping[str, Any]]:
    """Return the records in the JSON text of a dict such as a text block of an MCP server; empty if
    it is no JSON."""
    text = record.get("text")
    if set(record) - {"type", "text", "id"} or not isinstance(text, str):
        return []
    if not text.lstrip().startswith(("{", "[")) or len(text) > _PARSED_CHARACTERS:
        return []
    # Some tools of langchain-community return the repr of a Python list instead of JSON.
    for parse in (json.loads, literal_eval):
        with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
            return list(_records(parse(text), depth - 1))
    return []


def _found(record: Mapping[str, Any], name: str, title: str, is_document: bool) -> Found | None:
    """Return a record as a search result; None if it has neither a text nor, as a page, an
    address."""
    fields: dict[str, str | int | float] = {}
    for key, value in record.items():
        if isinstance(value, str | int | float):
            fields[_field(key)] = value
    text = _first(fields, _TEXTS)
    own_title = _first(fields, _TITLES)
    addresses = [str(fields[key]).strip() for key in _ADDRESSES if key in fields]
    page = _page_address(addresses)
    is_page = bool(page) and not is_document
    if not text and not is_page:
        return None
    location = page or _location(addresses)
    path = re.split("[?#]", _first(fields, ["filename"]) or location)[0]
    file = PurePosixPath(unquote(path).replace("\\", "/"))
    title = own_title or file.stem or title
    date = _date(fields)
    score = 0.0
    stated = fields.get("score", 0.0)
    if isinstance(stated, int | float):
        score = min(max(float(stated), 0.0), 1.0)
    if is_page:
        return Found(title, page, text, date, score)
    # Passages of a document are parts of one source.
    identity = (location, own_title) if is_document and location else (text,)
    address = f"{RETRIEVED}{short_hash(name, *identity)}/{plain_name(name)}"
    return Found(title, address, text, date, score, is_page=False, location=location)


def _page_address(addresses: Iterable[str]) -> str:
    """Return the first web address; empty if there is none."""
    for address in addresses:
        if address.lower().startswith(("http://", "https://")):
            return address
    return ""


def _location(addresses: Iterable[str]) -> str:
    """Return where the first address that is one leads; empty if there is none."""
    for address in addresses:
        match = _LOCATION.fullmatch(address)
        if match:
            return match["path"] or match[0]
    return ""


def _date(fields: Mapping[str, Any]) -> str:
    """Return the first date in these fields; empty if there is none."""
    for key in _DATES:
        day = _DAY.match(str(fields.get(key, "")))
        if day:
            return day[0]
    return ""


def _field(name: object) -> str:
    """Return the normalized name of a field: the same for `file_name`, `fileName` and `File
    name`."""
    return re.sub(r"[\W_]", "", str(name)).lower()


def plain_name(name: str) -> str:
    """Return the name of a retriever or tool in the form used in addresses."""
    return _UNPLAIN.sub("-", name)


def _first(fields: Mapping[str, Any], names: Iterable[str]) -> str:
    """Return the first of these fields that is not blank; empty if all are."""
    for name in names:
        text = str(fields.get(name, "")).strip()
        if text:
            return text
    return ""


def _line(text: str) -> str:
    """Return the text as one line without invisible characters."""
    return " ".join(clean_text(without_controls(text)).split())

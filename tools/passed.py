"""LangChain retrievers and tools, and engines of an app, as engines and tools of a run; their results are untrusted."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from langchain_core.documents import Document
from langchain_core.messages import ToolMessage
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import BaseTool, ToolException, tool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import BaseModel, ConfigDict, ValidationError

from ..evidence.citations.citing import source_key
from ..reading.documents.decode import without_controls
from ..records.sources import short_hash
from ..run import tool_names
from ..run.context import Context, Engine, engine_name
from ..run.errors import UnknownSetting
from ..run.registered import TOOLS, load_registered, registered
from .engine import EngineFailed, Found, cleaned, hit_of, usable
from .tool import Outcome, ToolFailed

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
DESCRIPTION_CHARACTERS = 2000
"""Characters of what a tool says of itself."""
FAULT_CHARACTERS = 500
"""Characters of what a tool says about its failure."""
_TEXTS = ("page_content", "content", "text", "raw_content", "snippet", "body", "summary", "description")
_TITLES = ("title", "name", "headline")
_ADDRESSES = ("url", "link", "href", "source", "address", "uri", "entry id", "entry_id")
_DATES = ("published", "published_date", "publication_date", "date")


class PassedEngine:
    """An engine that an app has passed: one of its own, a retriever, or a tool that takes a query."""

    def __init__(self, given: BaseRetriever | BaseTool | Engine) -> None:
        self._given = given
        self.name = engine_name(given)
        self.title = str(getattr(given, "title", "") or self.name)
        self.parallel = int(getattr(given, "parallel", 2))
        self.gap = float(getattr(given, "gap", 0.0))

    async def search(self, query: str, count: int) -> list[Found]:
        """Return what it finds, at most `count`; raises `EngineFailed`."""
        given = self._given
        if isinstance(given, BaseTool):
            return found_in(await _call(given, {_query_argument(given): query}), self.name, query)[:count]
        if isinstance(given, BaseRetriever):
            return found_in(await given.ainvoke(query), self.name, query)[:count]
        return await given.search(query, count)


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
    for one in map(_loaded, context.tools):
        if not _NAME.fullmatch(one.name):
            raise UnknownSetting(f"tools: {one.name!r} is no name of a tool: use letters, digits, - and _, at most 64.")
        if one.name in tools or one.name in vars(tool_names).values():
            raise UnknownSetting(f"tools: {one.name!r} is the name of another tool: give this one another name.")
        tools[one.name] = one
    return tools


def _loaded(given: str | BaseTool) -> BaseTool:
    if isinstance(given, BaseTool):
        return given
    if given not in registered(TOOLS):
        there_are = ", ".join(registered(TOOLS)) or "none"
        raise UnknownSetting(f"tools: no installed package registers {given!r} ({TOOLS}); there are {there_are}.")
    one = load_registered(TOOLS, given)
    return one if isinstance(one, BaseTool) else tool(one)


def passed_schema(given: BaseTool) -> dict[str, Any]:
    """Return what a model is told of a passed tool, in the form of the OpenAI API."""
    description = without_controls(inspect.cleandoc(given.description))[:DESCRIPTION_CHARACTERS]
    return {
        "type": "function",
        "function": {"name": given.name, "description": description, "parameters": _parameters(given)},
    }


def _parameters(given: BaseTool) -> dict[str, Any]:
    parameters: dict[str, Any] = convert_to_openai_tool(given)["function"].get("parameters", {})
    return {"type": "object", "properties": {}, **parameters}


class _AnyArguments(BaseModel):
    """Arguments that the tool itself checks."""

    model_config = ConfigDict(extra="allow")


class PassedTool:
    """A LangChain tool as a researcher calls it."""

    arguments: type[BaseModel] = _AnyArguments

    def __init__(self, given: BaseTool, context: Context) -> None:
        self._given, self._context, self.name = given, context, given.name

    async def run(self, arguments: BaseModel) -> Outcome:
        """Carry out one call; raises `ToolFailed` with what the tool says is wrong."""
        values = arguments.model_dump()
        try:
            result = await _call(self._given, values)
        except (ToolException, ValidationError) as error:
            raise ToolFailed(f"{self.name} failed: {_line(str(error))[:FAULT_CHARACTERS]}") from None
        most = self._context.limits.max_web_results
        title = f"{self.name}: {', '.join(map(_line, map(str, values.values())))}" if values else self.name
        found = usable(cleaned(found_in(result, self.name, title)[:most], most), self._context)
        hits = tuple(hit_of(one, source_key(one.address) if one.is_page else one.address) for one in found)
        return Outcome(hits, () if hits else (f"{self.name} brought nothing that may be shown.",))


async def _call(given: BaseTool, arguments: Mapping[str, Any]) -> Any:
    """Return the tool's artifact if it holds documents, else its content."""
    call = {"type": "tool_call", "name": given.name, "args": dict(arguments), "id": given.name}
    answer = await given.ainvoke(call)
    if not isinstance(answer, ToolMessage):
        return answer
    if answer.status == "error":
        raise ToolException(answer.text)
    return answer.artifact if list(_records(answer.artifact)) else answer.content


def found_in(result: Any, name: str, title: str) -> list[Found]:
    """Return what stands in the result of a retriever or tool of this `name`: its records, or else its text as one.

    A record is a document, or a dict with a text; one without a web address is cited by the name of the tool. `title`
    stands in for that of a text without one.
    """
    records = list(_records(result))
    if not records:
        text = result if isinstance(result, str) else json.dumps(result, ensure_ascii=False, default=str)
        records = [{"text": text}] if text.strip() else []
    return [found for record in records if (found := _found(record, name, title))]


def _records(result: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(result, Document):
        yield {**result.metadata, "page_content": result.page_content}
    elif isinstance(result, Mapping):
        if any(isinstance(result.get(key), str) for key in _TEXTS):
            yield from _parsed(result) or [result]
        else:
            yield from (
                record for key in ("results", "documents", "items", "data") for record in _records(result.get(key))
            )
    elif isinstance(result, list | tuple):
        yield from (record for one in result for record in _records(one))
    elif isinstance(result, str):
        yield from _parsed({"text": result})


def _parsed(record: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the records in a text that is JSON, such as a block of text from an MCP server."""
    text = record.get("text")
    if set(record) - {"type", "text", "id"} or not isinstance(text, str) or text.lstrip()[:1] not in ("{", "["):
        return []
    try:
        value = json.loads(text)
    except ValueError:
        return []
    return list(_records(value))


def _found(record: Mapping[str, Any], name: str, title: str) -> Found | None:
    fields = {str(key).lower(): value for key, value in record.items() if isinstance(value, str | int | float)}
    text = _first(fields, _TEXTS)
    addresses = (str(fields[key]) for key in _ADDRESSES if key in fields)
    address = next((one for one in addresses if one.lower().startswith(("http://", "https://"))), "")
    if not text and not address:
        return None
    score = fields.get("score", 0.0)
    return Found(
        _first(fields, _TITLES) or title,
        address or f"{name}:{short_hash(text)}",
        text,
        _first(fields, _DATES)[:10],
        min(max(float(score), 0.0), 1.0) if isinstance(score, int | float) else 0.0,
        is_page=bool(address),
    )


def _first(fields: Mapping[str, Any], names: Iterable[str]) -> str:
    return next((str(fields[name]).strip() for name in names if str(fields.get(name, "")).strip()), "")


def _line(text: str) -> str:
    return " ".join(without_controls(text).split())

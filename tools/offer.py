"""Which research tools a run has."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from ..library.library import Library
from ..reading.policy import check_policy
from ..run.context import Context
from ..run.errors import NoSearchTool
from .control import tool_schema
from .internal_search import InternalSearch, InternalSearchArguments
from .open_url import OpenUrl, OpenUrlArguments
from .passed import PassedTool, passed_schema, passed_tools
from .read_documents import ReadDocuments
from .run_engines import choose_engines
from .tool import ResearchTool, ToolContext
from .web_search import WebSearch, WebSearchArguments


def check_tools(context: Context) -> None:
    """Refuse a run that has nothing to search, an engine without its key, or lists of places that mean nothing."""
    check_policy(context)
    engines, passed = choose_engines(context), passed_tools(context)
    if not (engines or context.docs or passed or context.mcp):
        raise NoSearchTool(
            "There is nothing to search: name a folder of documents by --docs, docs or DEEP_RESEARCH_DOCS, "
            "or a search engine by --engine, engines or DEEP_RESEARCH_ENGINES."
        )


def offered_tools(context: Context, *, has_read_all: bool = False) -> dict[str, type[BaseModel]]:
    """Return the arguments of our own research tools, by name; who `has_read_all` documents need not search them."""
    tools: dict[str, type[BaseModel]] = {}
    if context.docs and not has_read_all:
        tools[InternalSearch.name] = InternalSearchArguments
    if choose_engines(context):
        tools[WebSearch.name] = WebSearchArguments
    return {**tools, OpenUrl.name: OpenUrlArguments} if tools else {}


def researcher_tools(context: Context, *, has_read_all: bool = False) -> dict[str, dict[str, Any]]:
    """Return the schemas of all that a researcher may call, by name: our own tools and those of the settings."""
    own, passed = offered_tools(context, has_read_all=has_read_all), passed_tools(context)
    if passed:
        own = {**own, OpenUrl.name: OpenUrlArguments}
    schemas = {name: tool_schema(name, arguments) for name, arguments in own.items()}
    return schemas | {name: passed_schema(one) for name, one in passed.items()}


def research_tool(name: str, context: Context, tool_context: ToolContext) -> ResearchTool:
    """Return one of the offered tools, ready for a call."""
    if name == WebSearch.name:
        return WebSearch(context, choose_engines(context), tool_context)
    if passed := passed_tools(context).get(name):
        return PassedTool(passed, context, tool_context.topic)
    library = Library(context)
    if name == ReadDocuments.name:
        return ReadDocuments(library)
    kind = InternalSearch if name == InternalSearch.name else OpenUrl
    return kind(library, context, tool_context)

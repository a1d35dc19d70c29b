"""Which tools a role may call, and the calls of a researcher's model, with a shared prefix that
providers can cache."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AnyMessage, HumanMessage, SystemMessage
from pydantic import BaseModel

from ..core.errors import NoSearchTool
from ..core.library.library import Library
from ..core.models.request import Request
from ..core.models.resolve import profile_of
from ..core.reading.policy import Policy
from ..core.records.research import Task
from ..core.settings.context import Context
from ..prompts import render_prompt
from .control import CALCULATE_SCHEMA, GENERATE_FINDING_SCHEMA, THINK_TOOL_SCHEMA
from .internal_search import EarlierSearchArguments, InternalSearch, ReadDocuments, documents_first
from .open_url import OpenUrl, OpenUrlArguments
from .passed import PassedTool, passed_schema, passed_tools
from .results import shortener
from .run_engines import choose_engines, choose_retrievers, fallback_engines
from .tool import ResearchTool, ToolContext, tool_schema
from .web_search import WebSearch, WebSearchArguments

DECISION_TOKENS = 1024
"""Maximum output tokens of one decision of the orchestrator or a researcher."""


def check_tools(context: Context) -> None:
    """Raise an error if there is nothing to search, an engine lacks its key, or a list of domains
    is malformed."""
    # Raises `UnknownSetting` if a domain or private network is malformed.
    Policy(context)
    engines = choose_engines(context)
    passed = passed_tools(context)
    documents = (*context.docs, *choose_retrievers(context))
    has_searches = engines or documents or context.earlier
    if not (has_searches or passed or context.mcp):
        raise NoSearchTool(
            "There is nothing to search: name a folder of documents with --docs, docs or "
            "DEEP_RESEARCH_DOCS, or a search engine with --engine, engines or "
            "DEEP_RESEARCH_ENGINES, or allow earlier research (--earlier)."
        )
    if context.depth == "quick" and not has_searches:
        raise NoSearchTool(
            "A quick answer (depth) needs something to search, and only tools are set (tools, "
            "mcp): add documents or an engine, or choose the depth standard."
        )


def offered_tools(context: Context, *, has_read_all: bool = False) -> dict[str, type[BaseModel]]:
    """Return the argument classes of the built-in tools by name; `has_read_all`: whether documents
    need no search."""
    tools: dict[str, type[BaseModel]] = {}
    if context.earlier:
        tools[InternalSearch.name] = EarlierSearchArguments
    elif (context.docs or context.retrievers) and not has_read_all:
        tools[InternalSearch.name] = InternalSearch.arguments
    if choose_engines(context):
        tools[WebSearch.name] = WebSearchArguments
    if tools:
        tools[OpenUrl.name] = OpenUrlArguments
    return tools


def researcher_tools(context: Context, *, has_read_all: bool = False) -> dict[str, dict[str, Any]]:
    """Return the schemas of a researcher's tools by name: the built-in ones and those of the
    settings."""
    built_in = offered_tools(context, has_read_all=has_read_all)
    passed = passed_tools(context)
    if passed:
        built_in[OpenUrl.name] = OpenUrlArguments
    schemas = {name: tool_schema(name, arguments) for name, arguments in built_in.items()}
    return schemas | {name: passed_schema(tool) for name, tool in passed.items()}


def research_tool(name: str, context: Context, tool_context: ToolContext) -> ResearchTool:
    """Return the tool with this name, built-in or of the settings, ready for a call."""
    if name == WebSearch.name:
        return WebSearch(context, choose_engines(context), tool_context, *fallback_engines(context))
    passed = passed_tools(context).get(name)
    if passed:
        return PassedTool(passed, context, tool_context.topic)
    library = Library(context)
    if name == ReadDocuments.name:
        return ReadDocuments(library)
    if name == InternalSearch.name:
        return InternalSearch(library, context, tool_context, *choose_retrievers(context))
    return OpenUrl(library, context, tool_context)


def researcher_request(
    task: Task, context: Context, notes: Sequence[AnyMessage], reminder: str
) -> Request:
    """Return a researcher's request; all begin with the same prompt, tools and task, so that
    providers cache them."""
    schemas = researcher_tools(context, has_read_all=task.scope.reads_all)
    reasons = profile_of("researcher", context).reasons
    offered = list(schemas)
    listed = " and ".join(offered[-2:])
    if len(offered) > 2:
        listed = ", ".join([*offered[:-2], listed])
    system = render_prompt(
        "think_or_act",
        "system",
        date=task.date,
        language=task.language,
        tools=listed,
        offered=offered,
        own_sources=context.own_sources,
        reasons=reasons,
        max_iterations=context.limits.max_iterations,
        max_queries=context.limits.max_queries,
        documents="" if task.scope.reads_all else task.scope.documents,
        has_read_all=task.scope.reads_all,
    )
    conversation = documents_first([HumanMessage(task.text)], notes)
    messages = [SystemMessage(system), *conversation, HumanMessage(reminder)]
    tools = [GENERATE_FINDING_SCHEMA]
    if schemas:
        tools = [*schemas.values(), CALCULATE_SCHEMA, GENERATE_FINDING_SCHEMA]
        if not reasons:
            tools.append(THINK_TOOL_SCHEMA)
    return Request(
        "researcher",
        task.question_id,
        messages,
        shortener(task.text),
        tools,
        max_tokens=DECISION_TOKENS,
    )

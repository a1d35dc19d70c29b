"""What a researcher may call, and how each of its calls begins: alike, so that a provider caches what it has read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AnyMessage, HumanMessage, SystemMessage
from pydantic import BaseModel

from ..core.library.library import Library
from ..core.models.resolve import profile_of
from ..core.reading.policy import check_policy
from ..core.records.research import Task
from ..core.run.context import Context
from ..core.run.errors import NoSearchTool
from ..prompts import render
from .calculate import CALCULATE
from .control import GENERATE_FINDING, THINK_TOOL
from .internal_search import EarlierSearchArguments, InternalSearch, ReadDocuments, behind_documents
from .open_url import OpenUrl, OpenUrlArguments
from .passed import PassedTool, passed_schema, passed_tools
from .run_engines import choose_engines, choose_retrievers, stand_ins
from .tool import ResearchTool, ToolContext, tool_schema
from .web_search import WebSearch, WebSearchArguments


def check_tools(context: Context) -> None:
    """Refuse a run that has nothing to search, an engine without its key, or lists of places that mean nothing."""
    check_policy(context)
    engines, passed = choose_engines(context), passed_tools(context)
    documents = (*context.docs, *choose_retrievers(context))
    if not (engines or documents or context.earlier or passed or context.mcp):
        raise NoSearchTool(
            "There is nothing to search: name a folder of documents by --docs, docs or DEEP_RESEARCH_DOCS, "
            "or a search engine by --engine, engines or DEEP_RESEARCH_ENGINES, or earlier research by --earlier."
        )
    if context.depth == "quick" and not (engines or documents or context.earlier):
        raise NoSearchTool(
            "A quick answer rests on one search (depth), and there are only tools (tools, mcp): name documents or an "
            "engine, or choose the depth standard."
        )


def offered_tools(context: Context, *, has_read_all: bool = False) -> dict[str, type[BaseModel]]:
    """Return the arguments of our own research tools, by name; who `has_read_all` documents need not search them."""
    tools: dict[str, type[BaseModel]] = {}
    if context.earlier or ((context.docs or context.retrievers) and not has_read_all):
        tools[InternalSearch.name] = EarlierSearchArguments if context.earlier else InternalSearch.arguments
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
        return WebSearch(context, choose_engines(context), tool_context, *stand_ins(context))
    if passed := passed_tools(context).get(name):
        return PassedTool(passed, context, tool_context.topic)
    library = Library(context)
    if name == ReadDocuments.name:
        return ReadDocuments(library)
    if name == InternalSearch.name:
        return InternalSearch(library, context, tool_context, *choose_retrievers(context))
    return OpenUrl(library, context, tool_context)


def researcher_conversation(task: Task, context: Context, notes: Sequence[AnyMessage]) -> list[AnyMessage]:
    """Return a researcher's conversation: what it is to do, its task, and its notes with their texts."""
    offered = list(researcher_tools(context, has_read_all=task.scope.reads_all))
    system = render(
        "think_or_act",
        "system",
        date=task.date,
        language=task.language,
        tools=_in_words(offered),
        offered=offered,
        own_sources=context.own_sources,
        reasons=profile_of("researcher", context).reasons,
        max_iterations=context.limits.max_iterations,
        max_queries=context.limits.max_queries,
        documents="" if task.scope.reads_all else task.scope.documents,
        has_read_all=task.scope.reads_all,
    )
    return [SystemMessage(system), *behind_documents([HumanMessage(task.text)], notes)]


def researcher_schemas(task: Task, context: Context) -> list[dict[str, Any]]:
    """Return the schemas of the tools that a researcher is offered in each of its calls."""
    offered = researcher_tools(context, has_read_all=task.scope.reads_all)
    if not offered:
        return [GENERATE_FINDING]
    tools = [*offered.values(), CALCULATE, GENERATE_FINDING]
    return tools if profile_of("researcher", context).reasons else [*tools, THINK_TOOL]


def _in_words(names: list[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))

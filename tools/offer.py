"""Which research tools a run has."""

from __future__ import annotations

from pydantic import BaseModel

from ..library.library import Library
from ..reading.policy import check_policy
from ..run.context import Context
from ..run.errors import NoSearchTool
from .engines.choose import choose_engines
from .internal_search import InternalSearch, InternalSearchArguments
from .open_url import OpenUrl, OpenUrlArguments
from .read_documents import ReadDocuments
from .tool import Desk, ResearchTool
from .web_search import WebSearch, WebSearchArguments


def check_tools(context: Context) -> None:
    """Refuse a run that has nothing to search, an engine without its key, or lists of places that mean nothing."""
    check_policy(context)
    if not choose_engines(context) and not context.docs:
        raise NoSearchTool(
            "There is nothing to search: name a folder of documents by --docs, docs or DEEP_RESEARCH_DOCS, "
            "or a search engine by --engine, engines or DEEP_RESEARCH_ENGINES."
        )


def offered_tools(context: Context, *, has_read_all: bool = False) -> dict[str, type[BaseModel]]:
    """The arguments of the research tools, by the tool's name; who `has_read_all` documents need not search them."""
    tools: dict[str, type[BaseModel]] = {}
    if context.docs and not has_read_all:
        tools[InternalSearch.name] = InternalSearchArguments
    if choose_engines(context):
        tools[WebSearch.name] = WebSearchArguments
    return {**tools, OpenUrl.name: OpenUrlArguments} if tools else {}


def research_tool(name: str, context: Context, desk: Desk) -> ResearchTool:
    """One of the offered tools, ready for a call."""
    if name == WebSearch.name:
        return WebSearch(context, choose_engines(context), desk)
    library = Library(context)
    if name == ReadDocuments.name:
        return ReadDocuments(library)
    kind = InternalSearch if name == InternalSearch.name else OpenUrl
    return kind(library, context, desk)

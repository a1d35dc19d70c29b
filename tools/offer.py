"""Which tools a role may call, what a question may search, and what the user's words allow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AnyMessage
from pydantic import BaseModel

from ..core.dialogue.conversation import Conversation
from ..core.errors import NoSearchTool
from ..core.library.library import Library
from ..core.reading.addresses import addresses_in
from ..core.reading.policy import Policy
from ..core.records.research import Run, Scope
from ..core.settings.context import Context, engine_name
from ..core.store.pages import Pages
from ._addresses import Addresses
from ._internal_search import (
    EarlierSearchArguments,
    InternalSearch,
    ReadDocuments,
    documents_to_read,
)
from ._open_url import OpenUrl, OpenUrlArguments
from ._passed import PassedTool, load_servers, passed_schema, passed_tools
from ._redaction import note_said
from ._web_search import WebSearch, WebSearchArguments
from .run_engines import choose_engines, choose_retrievers, fallback_engines
from .tool import ResearchTool, ToolContext, tool_schema

DOCUMENTS_CALL = "documents"
"""Id of the call that reads all documents; fixed, so that conversations share a prefix that
providers cache."""

DECISION_TOKENS = 1024
"""Maximum output tokens of one decision of the orchestrator or a researcher."""


async def load_tools(context: Context) -> None:
    """Load the tools of MCP servers, once; call it before any other function of this module.

    Raises `ExtraMissing`, and `UnknownSetting` for an unusable server.
    """
    await load_servers(context)


def further_tools(context: Context) -> list[str]:
    """Return the names of the tools of the settings; raises `UnknownSetting` for an unusable
    one."""
    return list(passed_tools(context))


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


def search_scope(context: Context, documents: int) -> Scope:
    """Return what the question may search; `documents` is the number of indexed ones.

    Reads the index, so it blocks.
    """
    after = context.published_after
    engines = choose_engines(context)
    return Scope(
        docs=tuple(str(path.expanduser().absolute()) for path in context.docs),
        engines=tuple(engine.name for engine in engines),
        engines_by_default=bool(fallback_engines(context)),
        retrievers=tuple(map(engine_name, context.retrievers)),
        domains_allow=context.domains_allow,
        domains_deny=context.domains_deny,
        published_after=after.isoformat() if after else "",
        mix_private=context.mix_private,
        open_copies=context.open_copies and bool(engines),
        earlier=context.earlier,
        documents=Library(context).catalogue(documents),
        whole=documents_to_read(Library(context), documents, context),
    )


async def note_user(pages: Pages, messages: Sequence[AnyMessage], run: Run) -> None:
    """Allow the user's words in queries, and the addresses among them to be opened."""
    texts = Conversation(messages).texts_of_user
    addresses = list[str]()
    for text in texts:
        addresses += addresses_in(text)
    await Addresses(pages, run.id).allow(addresses)
    await note_said(pages, texts, run)


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
    schemas: dict[str, dict[str, Any]] = {}
    for name, arguments in built_in.items():
        schemas[name] = tool_schema(name, arguments)
    for name, tool in passed.items():
        schemas[name] = passed_schema(tool)
    return schemas


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

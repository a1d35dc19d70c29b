"""Which tools a role may call, what a question may search, and what the user's words allow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

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
from .run_engines import SearchEngines
from .tool import ResearchTool, ToolContext, tool_schema

DOCUMENTS_CALL = "documents"
"""Id of the call that reads all documents; fixed, so that conversations share a prefix that
providers cache."""


async def note_user(pages: Pages, messages: Sequence[AnyMessage], run: Run) -> None:
    """Allow the user's words in queries, and the addresses among them to be opened."""
    texts = Conversation(messages).texts_of_user
    addresses = list[str]()
    for text in texts:
        addresses += addresses_in(text)
    await Addresses(pages, run.id).allow(addresses)
    await note_said(pages, texts, run)


class ToolOffer(NamedTuple):
    """The tools that the settings of a run offer."""

    context: Context

    async def load(self) -> None:
        """Load the tools of MCP servers, once; call it before any other method.

        Raises `ExtraMissing`, and `UnknownSetting` for an unusable server.
        """
        await load_servers(self.context)

    def check(self) -> None:
        """Raise an error if there is nothing to search, an engine lacks its key, or a list of
        domains is malformed."""
        context = self.context
        # Raises `UnknownSetting` if a domain or private network is malformed.
        Policy(context)
        engines = SearchEngines(context).chosen()
        passed = passed_tools(context)
        documents = (*context.docs, *SearchEngines(context).retrievers())
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

    def further(self) -> list[str]:
        """Return the names of the tools of the settings; raises `UnknownSetting` for an unusable
        one."""
        return list(passed_tools(self.context))

    def scope(self, documents: int) -> Scope:
        """Return what the question may search; `documents` is the number of indexed ones.

        Reads the index, so it blocks.
        """
        context = self.context
        after = context.published_after
        engines = SearchEngines(context).chosen()
        return Scope(
            docs=tuple(str(path.expanduser().absolute()) for path in context.docs),
            engines=tuple(engine.name for engine in engines),
            engines_by_default=bool(SearchEngines(context).fallback()),
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

    def built_in(self, *, has_read_all: bool = False) -> dict[str, type[BaseModel]]:
        """Return the argument classes of the built-in tools by name; `has_read_all`: whether
        documents need no search."""
        context = self.context
        tools: dict[str, type[BaseModel]] = {}
        if context.earlier:
            tools[InternalSearch.name] = EarlierSearchArguments
        elif (context.docs or context.retrievers) and not has_read_all:
            tools[InternalSearch.name] = InternalSearch.arguments
        if SearchEngines(context).chosen():
            tools[WebSearch.name] = WebSearchArguments
        if tools:
            tools[OpenUrl.name] = OpenUrlArguments
        return tools

    def schemas(self, *, has_read_all: bool = False) -> dict[str, dict[str, Any]]:
        """Return the schemas of a researcher's tools by name: the built-in ones and those of the
        settings."""
        context = self.context
        built_in = self.built_in(has_read_all=has_read_all)
        passed = passed_tools(context)
        if passed:
            built_in[OpenUrl.name] = OpenUrlArguments
        schemas: dict[str, dict[str, Any]] = {}
        for name, arguments in built_in.items():
            schemas[name] = tool_schema(name, arguments)
        for name, tool in passed.items():
            schemas[name] = passed_schema(tool)
        return schemas

    def tool(self, name: str, tool_context: ToolContext) -> ResearchTool:
        """Return the tool with this name, built-in or of the settings, ready for a call."""
        context = self.context
        if name == WebSearch.name:
            return WebSearch(
                context,
                SearchEngines(context).chosen(),
                tool_context,
                *SearchEngines(context).fallback(),
            )
        passed = passed_tools(context).get(name)
        if passed:
            return PassedTool(passed, context, tool_context.topic)
        library = Library(context)
        if name == ReadDocuments.name:
            return ReadDocuments(library)
        if name == InternalSearch.name:
            return InternalSearch(
                library, context, tool_context, *SearchEngines(context).retrievers()
            )
        return OpenUrl(library, context, tool_context)

"""Which research tools a run has."""

from __future__ import annotations

from collections.abc import Mapping

from deep_research.run.context import Context
from deep_research.run.errors import NoSearchTool
from deep_research.tools.internal_search import InternalSearch
from deep_research.tools.library import Library
from deep_research.tools.open_url import OpenUrl
from deep_research.tools.outcome import ResearchTool


def check_tools(context: Context) -> None:
    """Refuse a run that has nothing to search."""
    if not context.docs:
        raise NoSearchTool(
            "There is nothing to search: name a folder of documents by --docs, docs or DEEP_RESEARCH_DOCS."
        )


def offered_tools(context: Context, excerpts: Mapping[str, str]) -> dict[str, ResearchTool]:
    """The research tools by name; `excerpts` by address tell `open_url` which part of a long text is wanted."""
    library = Library(context)
    tools: list[ResearchTool] = [InternalSearch(library, context), OpenUrl(library, context, excerpts)]
    return {tool.name: tool for tool in tools}

"""A thread that opens pages of the web on loopback."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from langgraph.store.memory import InMemoryStore
from web import Web

from deep_research.core.library.library import Library
from deep_research.core.run.context import Context
from deep_research.core.run.store.pages import Pages
from deep_research.tools.addresses import Addresses
from deep_research.tools.open_url import OpenUrl, OpenUrlArguments
from deep_research.tools.tool import Meter, Outcome, ToolContext

ARTICLE = "<html><head><title>{title}</title></head><body><main><p>{words}</p></main></body></html>"
WORDS = "The Skerry Light was lit for the first time in 1844, and its lamp was seen from twenty miles away. "


class Reading:
    """A thread that opens pages."""

    def __init__(self, web: Web, folder: Path, **settings: Any) -> None:
        self.context = Context(data_dir=folder, allow_private=(web.place,), robots=False, **settings)
        self.store = InMemoryStore()
        self.meter = Meter()

    def pages(self) -> Pages:
        return Pages(self.store, "thread")

    async def name(self, *addresses: str) -> None:
        """Let the user name addresses."""
        await Addresses(self.pages(), "question").allow(addresses)

    async def open(self, *addresses: str, question: str = "question") -> Outcome:
        tool_context = ToolContext(self.pages(), question, self.meter)
        tool = OpenUrl(Library(self.context), self.context, tool_context)
        return await tool.run(OpenUrlArguments(urls=list(addresses)))


def article(web: Web, path: str, words: str = WORDS * 3, title: str = "Skerry Light") -> str:
    return web.publish(path, ARTICLE.format(title=title, words=words))

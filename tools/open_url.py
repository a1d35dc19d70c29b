"""The tool that reads what a search has found."""

from __future__ import annotations

import asyncio

from pydantic import BaseModel, ConfigDict, Field

from ..audit import NotRead
from ..evidence.text.mixing import distinct
from ..reading.web_page import WebReader
from ..run import tool_names
from ..run.context import Context
from ..run.errors import DeepResearchError
from .arguments import Lines, take
from .desk import Desk
from .library import Library
from .outcome import Hit, Outcome, ToolFailed, unread_words
from .together import together
from .web_pages import WebPages
from .window import passages, read_on, window

LEAST_CHARACTERS = 200


class OpenUrlArguments(BaseModel):
    """Read what a search has found or a page you have read links to; of long texts, the passages on your topic."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    urls: Lines
    """Addresses exactly as a result or one of its links states them, without anything else."""
    start: int = Field(default=0, ge=0)
    """For a long text of which you need more than the passages shown: the character from which to read on; else 0."""


class OpenUrl:
    """Opens documents of a library and pages of the web."""

    name = tool_names.OPEN_URL
    arguments: type[BaseModel] = OpenUrlArguments

    def __init__(self, library: Library, context: Context, desk: Desk) -> None:
        self._library = library
        self._context = context
        self._limits = context.limits
        self._desk = desk

    async def run(self, arguments: BaseModel) -> Outcome:
        """Open each address; raises `ToolFailed` if none could be read."""
        wanted = OpenUrlArguments.model_validate(arguments, from_attributes=True)
        asked = distinct(wanted.urls, str)
        if not asked:
            raise ToolFailed(f"{self.name} needs at least one address, exactly as a search result states it.")
        limits = {"max_open": self._limits.max_open, "max_fetches": self._desk.meter.most_fetches}
        addresses, left_out = take(asked, limits, "addresses were opened")
        read = await self._open_all(addresses, wanted.start)
        hits = distinct([one for one in read if isinstance(one, Hit)], lambda hit: hit.source.key)
        shown, dropped = _fitting(hits, self._limits.pages_characters)
        not_read = tuple(one for one in read if isinstance(one, NotRead))
        refused = [unread_words(one) if isinstance(one, NotRead) else one for one in read if not isinstance(one, Hit)]
        problems = refused + dropped + left_out
        if not shown:
            raise ToolFailed(" ".join(problems), not_read)
        return Outcome(shown, tuple(problems), not_read=not_read)

    async def _open_all(self, addresses: list[str], start: int) -> list[Hit | NotRead | str]:
        """What was read at each address, or why nothing was."""
        pages = WebPages(self._context, self._desk)
        async with WebReader(self._context) as reader:
            return await together(self._open(address, pages, reader, start) for address in addresses)

    async def _open(self, address: str, pages: WebPages, reader: WebReader, start: int) -> Hit | NotRead | str:
        try:
            read = await (pages.read(address, reader) if _is_web(address) else self._read_document(address))
            # Finding a place in a long text may take a moment, which nobody else should wait for.
            return await asyncio.to_thread(self._windowed, read, address, start) if isinstance(read, Hit) else read
        except DeepResearchError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever befalls one address, the others are read
            return NotRead(path=address, reason=f"reading it failed ({type(error).__name__})", code="broken")

    async def _read_document(self, address: str) -> Hit | str:
        # The library blocks on SQLite, which the server's event loop refuses.
        document = await asyncio.to_thread(self._library.read, address)
        if document is None:
            return f"No document has the address {address!r}; use addresses exactly as a search result states them."
        self._desk.meter.fetches += 1
        return Hit(document.source, document.text, document.text)

    def _windowed(self, hit: Hit, asked: str, start: int) -> Hit | str:
        """The passages of a text that are wanted, or what follows a place in it."""
        if start and start >= len(hit.text):
            return f"{hit.source.address!r} has {len(hit.text)} characters, so there is nothing from {start} on."
        if start:
            return hit._replace(excerpt=read_on(hit.text, start, self._limits.page_characters))
        excerpts = self._desk.excerpts
        excerpt = excerpts.get(asked, "") or excerpts.get(hit.source.address, "")
        return hit._replace(excerpt=passages(hit.text, self._desk.topic, excerpt, self._limits.page_characters))


def _is_web(address: str) -> bool:
    return address.lower().startswith(("http:", "https:"))


def _fitting(hits: list[Hit], characters: int) -> tuple[tuple[Hit, ...], list[str]]:
    """The hits that fit into this many characters, the last one shortened, and a word on those that do not."""
    shown: list[Hit] = []
    for number, hit in enumerate(hits):
        if characters < LEAST_CHARACTERS:
            return tuple(shown), [
                f"{left.source.address!r} was not shown, because the pages before it are too long; open it alone."
                for left in hits[number:]
            ]
        fitting = hit if len(hit.excerpt) <= characters else hit._replace(excerpt=_shortened(hit, characters))
        shown.append(fitting)
        characters -= len(fitting.excerpt)
    return tuple(shown), []


def _shortened(hit: Hit, characters: int) -> str:
    return window(hit.text, hit.excerpt, characters)

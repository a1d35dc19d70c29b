"""The tool that reads web pages and documents."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from ..core.evidence.citations.citing import source_key
from ..core.evidence.text.similarity import distinct
from ..core.library.library import Library
from ..core.reading.records import Extract, Unread
from ..core.reading.web_page import WebReader
from ..core.records.sources import NotRead, Source
from ..core.run import tool_names
from ..core.run.concurrency import gather_or_cancel
from ..core.run.context import Context
from ..core.run.errors import DeepResearchError
from ..core.run.logs import log_failure
from ..core.run.store.pages import text_hash
from .addresses import Addresses, exact_address, opened_note
from .engine import RETRIEVED
from .open_copies import OpenCopies
from .results import passages, read_on, window
from .tool import Hit, Lines, Outcome, ToolContext, ToolFailed, take, unread_words

_MAX_LINKS = 20
"""Maximum number of links per page that a model is shown and may follow."""
_LINK_CHARACTERS = 300
"""Links with longer addresses are dropped: a page could fill a model's window with them."""
_SHOWN_CHARACTERS = 200
"""Maximum characters shown of a malformed address."""
_LEAST_CHARACTERS = 200
"""Minimum characters to show of a page; if less room is left, it is dropped."""


class WebPages:
    """Reads allowed pages within the limits of the run, each once per thread."""

    def __init__(self, context: Context, tool_context: ToolContext) -> None:
        self._context = context
        self._pages = tool_context.pages
        self._meter = tool_context.meter
        self._addresses = Addresses(tool_context.pages, tool_context.question_id)

    async def read(self, asked: str, reader: WebReader) -> Hit | NotRead | str:
        """Return the page, its whole text as excerpt, or why it was not read: a sentence if it was not requested."""
        try:
            address, _ = await self._addresses.known(asked)
        except Unread as refusal:
            logging.getLogger(__name__).info("An address was refused: %s", refusal.code)
            return NotRead(path=asked[:_SHOWN_CHARACTERS], reason=str(refusal), code=refusal.code)
        if not address:
            return (
                f"{asked!r} was not opened: neither the user nor a result nor a page that was read names this address; "
                f"use addresses exactly as a search result states them."
            )
        async with self._pages.lock(f"opened {address}"):
            record = await self._addresses.opened(address)
            if record:
                return NotRead(**record["failure"]) if "failure" in record else await self._hit(record)
            if limit := await self._addresses.count(address, self._context.limits):
                return f"{address!r} was not opened: {limit}."
            self._meter.fetches += 1
            try:
                page = await OpenCopies(reader, self._context, self._meter, self._addresses).read(address)
            except Unread as refusal:
                failure = NotRead(path=address, reason=str(refusal), code=refusal.code)
                await self._addresses.remember_failure(address, failure)
                return failure
            await self._addresses.count_redirect(address, page.address)
            # Locks are always taken in the order address, page, which rules out deadlocks.
            async with self._pages.lock(f"kept {page.address}"):
                return await self._kept(address, page)

    async def retrieved(self, address: str) -> Hit | None:
        """Return what a retriever or a tool returned under this address; None if there is nothing."""
        record = await self._pages.read_note(opened_note(address))
        return await self._hit(record) if record else None

    async def _kept(self, address: str, page: Extract) -> Hit:
        """Store the page, unless it was already read under another address; return it."""
        given, known = await self._addresses.known(page.address)
        if known and "failure" not in known:
            await self._addresses.allow((), records={address: known})
            return await self._hit(known)
        source = Source(
            # A page that was found and then opened remains one source, even if it redirects.
            key=source_key(page.address if given else address),
            title=page.title or page.address,
            location=page.address,
            address=address,
            kind="web",
            date=page.date,
            date_kind="publication" if page.date else "",
            period=page.period,
            origin=page.origin,
            is_cut=page.is_cut,
            copy_address=page.copy_address,
            copied_on=page.copied_on,
            is_retracted=page.is_retracted,
            is_rendered=page.is_rendered,
            content_hash=text_hash(page.text),
            read_at=self._context.clock.now().isoformat(timespec="seconds"),
        )
        usable = (link for link in page.links if len(link.address) <= _LINK_CHARACTERS and exact_address(link.address))
        links = [list(link) for link in usable][:_MAX_LINKS]
        record = {"source": source.model_dump(), "links": links}
        texts, records = {source.content_hash: page.text}, {address: record, page.address: record}
        await self._addresses.allow((target for _, target in links), texts, records)
        return await self._hit(record, page.text)

    async def _hit(self, record: dict[str, Any], text: str | None = None) -> Hit:
        """Return the page of a record of `Addresses.opened`; `text`: its text, if it is known."""
        if text is None:
            text = await self._pages.text(str(record["source"]["content_hash"])) or ""
        links = tuple((str(words), str(target)) for words, target in record["links"])
        return Hit(Source(**record["source"]), text, text, links, is_kept=True)


class OpenUrlArguments(BaseModel):
    """Read what a search has found or a page you have read links to; of long texts, the passages on your topic."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    urls: Lines
    """Addresses exactly as a result or one of its links states them, without anything else."""
    start: int = Field(default=0, ge=0)
    """For a long text of which you need more than the passages shown: the character from which to read on; else 0."""


class OpenUrl:
    """Opens web pages and library documents."""

    name = tool_names.OPEN_URL
    arguments: type[BaseModel] = OpenUrlArguments

    def __init__(self, library: Library, context: Context, tool_context: ToolContext) -> None:
        self._library = library
        self._context = context
        self._limits = context.limits
        self._tool_context = tool_context

    async def run(self, arguments: BaseModel) -> Outcome:
        """Open each address; raises `ToolFailed` if none could be read."""
        wanted = OpenUrlArguments.model_validate(arguments, from_attributes=True)
        asked = distinct(wanted.urls, str)
        if not asked:
            raise ToolFailed(f"{self.name} needs at least one address, exactly as a search result states it.")
        limits = {"max_open": self._limits.max_open, "max_fetches": self._tool_context.meter.most_fetches}
        addresses, left_out = take(asked, limits, "addresses were opened")
        pages = WebPages(self._context, self._tool_context)
        async with WebReader(self._context) as reader:
            read = await gather_or_cancel(self._open(address, pages, reader, wanted.start) for address in addresses)
        hits = distinct([result for result in read if isinstance(result, Hit)], lambda hit: hit.source.key)
        shown, dropped, left = list[Hit](), list[str](), self._limits.pages_characters
        for hit in hits:
            if left < _LEAST_CHARACTERS:
                address = hit.source.address
                dropped.append(f"{address!r} was not shown, because the pages before it are too long; open it alone.")
                continue
            is_short = len(hit.excerpt) <= left
            shown.append(hit if is_short else hit._replace(excerpt=window(hit.text, hit.excerpt, left)))
            left -= len(shown[-1].excerpt)
        not_read = tuple(result for result in read if isinstance(result, NotRead))
        refused = [result for result in read if not isinstance(result, Hit)]
        words = [unread_words(result) if isinstance(result, NotRead) else result for result in refused]
        problems = words + dropped + left_out
        if not shown:
            raise ToolFailed(" ".join(problems), not_read)
        return Outcome(tuple(shown), tuple(problems), not_read=not_read)

    async def _open(self, address: str, pages: WebPages, reader: WebReader, start: int) -> Hit | NotRead | str:
        """Return what is at an address, or why it could not be read; see `WebPages.read`."""
        try:
            read: Hit | NotRead | str
            if address.startswith(RETRIEVED):
                read = await pages.retrieved(address) or f"No result has the address {address!r}."
            elif address.lower().startswith(("http:", "https:")):
                read = await pages.read(address, reader)
            # SQLite blocks, which the server's event loop refuses.
            elif document := await asyncio.to_thread(self._library.read, address):
                self._tool_context.meter.fetches += 1
                read = Hit(document.source, document.text, document.text)
            else:
                unknown = (
                    f"No document has the address {address!r}; use addresses exactly as a search result states them."
                )
                read = await pages.retrieved(address) or unknown
            # Searching a long text takes time and must not block the event loop.
            return await asyncio.to_thread(self._windowed, read, address, start) if isinstance(read, Hit) else read
        except DeepResearchError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever fails for one address, the others are read
            log_failure(__name__, error, "A page or document could not be read")
            return NotRead(path=address, reason=f"reading it failed ({type(error).__name__})", code="broken")

    def _windowed(self, hit: Hit, asked: str, start: int) -> Hit | str:
        """Return the hit with the relevant passages of its text or, if `start` is set, the text from there on."""
        if start and start >= len(hit.text):
            return f"{hit.source.address!r} has {len(hit.text)} characters, so there is nothing from {start} on."
        if start:
            return hit._replace(excerpt=read_on(hit.text, start, self._limits.page_characters))
        excerpts = self._tool_context.excerpts
        excerpt = excerpts.get(asked, "") or excerpts.get(hit.source.address, "")
        return hit._replace(excerpt=passages(hit.text, self._tool_context.topic, excerpt, self._limits.page_characters))

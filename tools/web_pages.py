"""Web pages for the researchers of a thread: each fetched, parsed and stored once, whoever asks for it."""

from __future__ import annotations

from typing import Any

from ..audit import NotRead
from ..evidence.citations.sources import source_key
from ..knowledge import Source
from ..reading.addresses import parse_address
from ..reading.records import Unread
from ..reading.web_page import WebPage, WebReader
from ..run.context import Context
from ..run.pages import text_hash
from .addresses import Addresses
from .desk import Desk
from .outcome import Hit

MAX_LINKS = 20
"""Links of a page that a model is shown and may follow."""
LINK_CHARACTERS = 300
"""Links with longer addresses are left out: a page could fill a model's window with them."""
SHOWN_CHARACTERS = 200
"""So much is shown of what is no address."""


class WebPages:
    """Reads pages whose addresses were given, within the limits of the run."""

    def __init__(self, context: Context, desk: Desk) -> None:
        self._context = context
        self._pages = desk.pages
        self._meter = desk.meter
        self._addresses = Addresses(desk.pages, desk.question_id)

    async def read(self, asked: str, reader: WebReader) -> Hit | NotRead | str:
        """The page with its whole text as its excerpt, or why it was not read."""
        try:
            address = await self._addresses.given(asked)
        except Unread as refusal:
            return NotRead(path=asked[:SHOWN_CHARACTERS], reason=str(refusal), code=refusal.code)
        if not address:
            return (
                f"{asked!r} was not opened: neither the user nor a result nor a page that was read names this address; "
                f"use addresses exactly as a search result states them."
            )
        async with self._pages.alone(f"opened {address}"):
            record = await self._addresses.opened(address)
            if record is None:
                return await self._fetch(address, reader)
            if "failure" in record:
                return NotRead(**record["failure"])
            return self._hit(record, await self._text_of(record))

    async def _fetch(self, address: str, reader: WebReader) -> Hit | NotRead | str:
        limit = await self._addresses.count(address, self._context.limits)
        if limit:
            return f"{address!r} was not opened: {limit}."
        self._meter.fetches += 1
        try:
            page = await reader.read(address)
        except Unread as refusal:
            failure = NotRead(path=address, reason=str(refusal), code=refusal.code)
            await self._addresses.remember_failure(address, failure)
            return failure
        await self._addresses.count_end(address, page.address)
        # Under a name of its own: whoever holds an address may wait for a page, but never the other way round.
        async with self._pages.alone(f"kept {page.address}"):
            return await self._kept(address, page)

    async def _kept(self, address: str, page: WebPage) -> Hit:
        """Store what was read, unless another address has led to this page before."""
        given, known = await self._addresses.known(page.address)
        if known and "failure" not in known:
            await self._addresses.allow((), records={address: known})
            return self._hit(known, await self._text_of(known))
        source = Source(
            # A page that was found and then opened is one source, also where it has moved to.
            key=source_key(page.address if given else address),
            title=page.title or page.address,
            location=page.address,
            address=address,
            kind="web",
            date=page.date,
            is_cut=page.is_cut,
            content_hash=text_hash(page.text),
            read_at=self._context.clock.now().isoformat(timespec="seconds"),
        )
        links = [list(link) for link in page.links if _can_be_shown(link.address)][:MAX_LINKS]
        record = {"source": source.model_dump(), "links": links}
        texts, records = {source.content_hash: page.text}, {address: record, page.address: record}
        await self._addresses.allow((target for _, target in links), texts, records)
        return self._hit(record, page.text)

    async def _text_of(self, record: dict[str, Any]) -> str:
        return await self._pages.text(str(record["source"]["content_hash"])) or ""

    def _hit(self, record: dict[str, Any], text: str) -> Hit:
        links = tuple((str(words), str(target)) for words, target in record["links"])
        return Hit(Source(**record["source"]), text, text, links, is_kept=True)


def _can_be_shown(target: str) -> bool:
    if len(target) > LINK_CHARACTERS:
        return False
    try:
        parse_address(target)
    except Unread:
        return False
    return True

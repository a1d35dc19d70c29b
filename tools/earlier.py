"""What earlier research of the user has read, as `internal_search` finds it; old pages are read again."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta

from ..core.library.earlier import ReadPage, search_read
from ..core.library.library import Library
from ..core.reading.web_page import WebReader
from ..core.records.sources import NotRead, Source
from ..core.run.concurrency import gather_or_cancel
from ..core.run.context import Context
from .addresses import Addresses
from .engine import Found, usable
from .open_url import WebPages
from .results import shortened
from .run_engines import choose_engines
from .tool import Hit, Outcome, ToolContext, unread_words


async def search_earlier(queries: Sequence[str], context: Context, tool_context: ToolContext) -> Outcome:
    """Return the pages that bear most on the queries, but for documents that the library has itself."""
    library, limits, fetches = Library(context), context.limits, tool_context.meter.most_fetches
    addresses, web = Addresses(tool_context.pages, tool_context.question_id), WebPages(context, tool_context)

    def is_open(one: Source) -> bool:
        return one.kind == "document" or bool(usable([Found(one.title, one.address, "", one.date)], context))

    async def latest(page: ReadPage, *, is_old: bool) -> tuple[Hit, NotRead | None]:
        source = page.source
        earlier = Hit(source.model_copy(update={"is_earlier": True, "number": 0}), page.text, page.text)
        if not is_old and await addresses.opened(source.address) is None:
            return earlier, None
        await addresses.allow([source.address])
        read = await web.read(source.address, reader)
        if isinstance(read, NotRead):
            return earlier, read.model_copy(update={"reason": f"not since {source.read_at[:10]}: {read.reason}"})
        return (read if isinstance(read, Hit) else earlier), None

    found = await search_read(queries, tool_context.pages, context, limits.max_open, is_open)
    held = await asyncio.to_thread(lambda: [page for page in found if library.read(page.source.location)])
    since = (context.clock.now() - timedelta(days=limits.earlier_days)).isoformat(timespec="seconds")
    old = [page for page in found if page.source.kind == "web" and page.source.read_at < since]
    old = old[: fetches if fetches is None else max(0, fetches)] if choose_engines(context) else []
    async with WebReader(context) as reader:
        read = await gather_or_cancel(latest(page, is_old=page in old) for page in found if page not in held)
    not_read = tuple(failure for _, failure in read if failure)
    shown = await asyncio.to_thread(shortened, [hit for hit, _ in read], tool_context.topic or queries[0], limits)
    return Outcome(shown, tuple(map(unread_words, not_read)), not_read=not_read)

"""Reads the sources of a finished report again, beside its thread and not in it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import NamedTuple

from langgraph.store.memory import InMemoryStore

from ..core.evidence.checking.source_text import SourceText
from ..core.evidence.memory.observations import asked_notes
from ..core.library.library import Library
from ..core.reading.web_page import WebReader
from ..core.records.research import Run, Spent
from ..core.records.sources import DOCUMENT_SCHEME, NotRead, Source
from ..core.run import tool_names
from ..core.run.concurrency import gather_or_cancel
from ..core.run.context import Context
from ..core.run.errors import DocumentsUnreadable
from ..core.run.store.pages import Pages
from ..tools.addresses import Addresses
from ..tools.open_url import WebPages
from ..tools.tool import Hit, ToolContext
from ..tools.use import meter_for_run
from .terminal import say

NOT_ASKED = "a tool of the app gave it, which is not asked again"
NO_DOCUMENT = "there is no such document any more"
_WEB = ("http://", "https://")


class Reread(NamedTuple):
    """A source as it is now."""

    source: Source
    """Under the key and number that it has in the report; title, date and location are those of now."""
    texts: Sequence[SourceText]
    """Its text; empty if it cannot be read."""
    reason: str = ""
    """Why it cannot be read."""
    is_same: bool = False
    """Whether its text is the one that was read for the report."""


async def reread(
    sources: Sequence[Source], context: Context, run: Run, on_notice: Callable[[str], None] = say
) -> tuple[dict[str, Reread], Spent]:
    """Read sources again within the limits of the run; return them by key, and what reading pages cost.

    A page of which the run knew only a search excerpt is opened, too.
    """
    tool_context = ToolContext(Pages(InMemoryStore(), run.id), run.id, meter_for_run(context.limits, {}))
    pages = [source for source in sources if source.address.startswith(_WEB)]
    documents = [source for source in sources if source.address.startswith(DOCUMENT_SCHEME)]
    found = [
        *await _read_pages(pages, context, tool_context),
        *await asyncio.to_thread(_read_documents, documents, context),
    ]
    for note in asked_notes(tool_context.meter.asked):
        on_notice(f"Note: {note}")
    unasked = {source.key: Reread(source, (), NOT_ASKED) for source in sources}
    return unasked | {one.source.key: one for one in found}, tool_context.meter.spent(tool_names.OPEN_URL)


async def _read_pages(sources: Sequence[Source], context: Context, tool_context: ToolContext) -> list[Reread]:
    addresses = Addresses(tool_context.pages, tool_context.question_id)
    await addresses.allow(source.address for source in sources)
    pages, most = WebPages(context, tool_context), context.limits.max_open
    found = list[Reread]()
    async with WebReader(context) as reader:
        for start in range(0, len(sources), most):
            batch = sources[start : start + most]
            read = await gather_or_cancel(pages.read(source.address, reader) for source in batch)
            found += [_reread_page(*pair) for pair in zip(batch, read, strict=True)]
    return found


def _reread_page(source: Source, read: Hit | NotRead | str) -> Reread:
    if isinstance(read, Hit):
        return _reread(source, read.source, read.text)
    return Reread(source, (), f"{read.reason} ({read.code})" if isinstance(read, NotRead) else read)


def _read_documents(sources: Sequence[Source], context: Context) -> list[Reread]:
    if not sources or not context.docs:
        return [Reread(source, (), NO_DOCUMENT) for source in sources]
    library = Library(context)
    try:
        status = library.refresh()
    except DocumentsUnreadable as error:
        return [Reread(source, (), str(error)) for source in sources]
    reasons = {f"{DOCUMENT_SCHEME}{one.path}": one.reason for one in status.left_out}
    found = {source.key: library.read(source.address) for source in sources}
    if not all(found.values()):
        # A document that was renamed keeps its text.
        by_text = {one.source.content_hash: one for one in library.documents()}
        found |= {one.key: by_text.get(one.content_hash) for one in sources if not found[one.key]}
    return [
        _reread(source, document.source, document.text)
        if (document := found[source.key])
        else Reread(source, (), reasons.get(source.address, NO_DOCUMENT))
        for source in sources
    ]


def _reread(source: Source, now: Source, text: str) -> Reread:
    known = now.model_copy(update={"key": source.key, "number": source.number})
    return Reread(known, [SourceText(now.content_hash, text)], is_same=now.content_hash == source.content_hash)

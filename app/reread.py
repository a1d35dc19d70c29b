"""Reads the sources of a report again, without changing its thread."""

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

_NOT_ASKED = "it came from one of the app's own tools, which are not called again"
_NO_DOCUMENT = "the document no longer exists"
_WEB = ("http://", "https://")


class Reread(NamedTuple):
    """A source in its current version."""

    source: Source
    """The source with its key and number in the report, and its current title, date and location."""
    texts: Sequence[SourceText]
    """Its current text; empty if it cannot be read."""
    reason: str = ""
    """Why it cannot be read."""
    is_same: bool = False
    """Whether its text is unchanged since the report."""


async def reread(
    sources: Sequence[Source], context: Context, run: Run, on_notice: Callable[[str], None] = say
) -> tuple[dict[str, Reread], Spent]:
    """Read sources again within the run's limits; return them by key, and what reading web pages cost.

    Pages of which the run knew only a search excerpt are opened too.
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
    unasked = {source.key: Reread(source, (), _NOT_ASKED) for source in sources}
    return unasked | {read.source.key: read for read in found}, tool_context.meter.spent(tool_names.OPEN_URL)


async def _read_pages(sources: Sequence[Source], context: Context, tool_context: ToolContext) -> list[Reread]:
    addresses = Addresses(tool_context.pages, tool_context.question_id)
    await addresses.allow(source.address for source in sources)
    pages, most = WebPages(context, tool_context), context.limits.max_open
    found = list[Reread]()
    async with WebReader(context) as reader:
        for start in range(0, len(sources), most):
            batch = sources[start : start + most]
            read = await gather_or_cancel(pages.read(source.address, reader) for source in batch)
            for source, page in zip(batch, read, strict=True):
                if isinstance(page, Hit):
                    found.append(_reread(source, page.source, page.text))
                else:
                    reason = f"{page.reason} ({page.code})" if isinstance(page, NotRead) else page
                    found.append(Reread(source, (), reason))
    return found


def _read_documents(sources: Sequence[Source], context: Context) -> list[Reread]:
    if not sources or not context.docs:
        return [Reread(source, (), _NO_DOCUMENT) for source in sources]
    library = Library(context)
    try:
        status = library.refresh()
    except DocumentsUnreadable as error:
        return [Reread(source, (), str(error)) for source in sources]
    reasons = {f"{DOCUMENT_SCHEME}{left.path}": left.reason for left in status.left_out}
    found = {source.key: library.read(source.address) for source in sources}
    if not all(found.values()):
        # A renamed document is found by its text.
        by_text = {document.source.content_hash: document for document in library.documents()}
        found |= {source.key: by_text.get(source.content_hash) for source in sources if not found[source.key]}
    return [
        _reread(source, document.source, document.text)
        if (document := found[source.key])
        else Reread(source, (), reasons.get(source.address, _NO_DOCUMENT))
        for source in sources
    ]


def _reread(source: Source, now: Source, text: str) -> Reread:
    known = now.model_copy(update={"key": source.key, "number": source.number})
    return Reread(known, [SourceText(now.content_hash, text)], is_same=now.content_hash == source.content_hash)

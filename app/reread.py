"""Reads the sources of a finished report again and makes its searches anew, beside the thread and not in it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit
from urllib.request import url2pathname

from langgraph.store.memory import InMemoryStore

from ..core.evidence.checking.source_text import SourceText
from ..core.evidence.text.similarity import distinct
from ..core.evidence.text.wording import Wording
from ..core.library.index import SCHEME
from ..core.library.library import Library, LibraryStatus
from ..core.reading.web_page import WebReader
from ..core.records.research import Run, Spent
from ..core.records.sources import NotRead, Source
from ..core.run import tool_names
from ..core.run.concurrency import gather_or_cancel
from ..core.run.context import Context
from ..core.run.errors import DocumentsUnreadable
from ..core.run.events.packets import AnyPacket, Placement, SearchToolQueries, SearchToolStart
from ..core.run.store.pages import Pages
from ..tools.addresses import Addresses
from ..tools.open_url import WebPages
from ..tools.redaction import SAID, SHOWN
from ..tools.tool import Hit, Outcome, ToolContext
from ..tools.use import Time, meter_for_run, use_tool

NO_LONGER_FOUND = "it was known by a search alone, which does not show it any more"
SEARCH_FAILED = "it was known by a search alone, and searching failed (see the notes)"
NOT_ASKED = "a tool of the app gave it, which is not asked again"
NO_DOCUMENT = "there is no such document any more"
MOST_HOLDERS = 3
"""Documents that are looked at for words of one that is gone."""
FEWEST = 5
"""Words of a quote by which a document is known again under another name."""


class Search(NamedTuple):
    """Queries that were made by one call."""

    tool: str
    queries: tuple[str, ...]


def searches_of(packets: Iterable[AnyPacket]) -> list[Search]:
    """Return the searches of a run, each once, in their order."""
    tools, found = dict[Placement, str](), list[Search]()
    for packet in packets:
        if isinstance(packet, SearchToolStart):
            is_web = packet.is_internet_search
            tools[packet.placement] = tool_names.WEB_SEARCH if is_web else tool_names.INTERNAL_SEARCH
        elif isinstance(packet, SearchToolQueries) and packet.placement in tools:
            found.append(Search(tools[packet.placement], tuple(packet.queries)))
    return list(dict.fromkeys(found))


class Reread(NamedTuple):
    """A source as it is now."""

    source: Source
    """Under its key of the report; title, date and place are those of now."""
    texts: Sequence[SourceText]
    """What it says; none if it cannot be read."""
    reason: str = ""
    """Why it cannot."""
    is_same: bool = False
    """Whether its text is the one that was read for the report."""


class Found(NamedTuple):
    """What the searches find now."""

    hits: Sequence[Hit]
    """The best first, with the keys that their sources have in the thread."""
    problems: Sequence[str]
    """What could not be searched, and why."""


class Again:
    """Reads and searches as the run did, within its limits and its places; nothing of the thread changes."""

    def __init__(self, context: Context, run: Run, kept: Pages) -> None:
        """Take the settings within the run's scope, and the texts of its thread."""
        self._context, self._run, self._kept = context, run, kept
        self._pages = Pages(InMemoryStore(), run.id)
        self._library = Library(context)
        self._status: LibraryStatus | None = None
        self._unreadable = "" if context.docs else NO_DOCUMENT
        self.spending: dict[str, Spent] = {}
        """What reading and searching have cost."""

    async def begin(self, on_progress: Callable[[int, int], None]) -> None:
        """Bring the index of the documents up to date, and take over what decides which words may be sent."""
        noted = {name: note for name in (SAID, SHOWN) if (note := await self._kept.read_note(name))}
        references = noted.get(SHOWN, {}).get("references", [])
        shown = zip(references, await self._kept.texts(references), strict=True)
        await self._pages.write({name: text for name, text in shown if text}, noted)
        if self._context.docs:
            try:
                self._status = await asyncio.to_thread(self._library.refresh, on_progress)
            except DocumentsUnreadable as error:
                self._unreadable = str(error)

    async def search(self, searches: Sequence[Search]) -> Found:
        """Make these searches; those of documents only if there are any that can be read."""
        made = [one for one in searches if one.tool != tool_names.INTERNAL_SEARCH or not self._unreadable]
        outcomes = [await self._search(one) for one in made]
        known = Addresses(self._kept, self._run.id)
        hits = [await self._known(hit, known) for outcome in outcomes for hit in outcome.hits]
        problems = dict.fromkeys(words for outcome in outcomes for words in outcome.broken)
        return Found(distinct(hits, lambda hit: (hit.source.key, hit.excerpt)), [*problems])

    async def _search(self, search: Search) -> Outcome:
        outcomes = list[Outcome]()
        most = self._context.limits.max_queries
        for start in range(0, len(search.queries), most):
            tool_context = self._tool_context()
            time = Time(self._context.limits.tool_seconds, "tool_seconds")
            arguments = {"queries": list(search.queries[start : start + most])}
            outcomes.append(await use_tool(search.tool, arguments, self._context, tool_context, time))
            self._spend(search.tool, tool_context)
        return Outcome(
            tuple(hit for one in outcomes for hit in one.hits),
            broken=tuple(words for one in outcomes for words in one.broken),
        )

    async def _known(self, hit: Hit, known: Addresses) -> Hit:
        """Return the hit with the key under which the thread has its page, which may have moved when it was opened."""
        if hit.source.kind != "web":
            return hit
        return hit._replace(source=hit.source.model_copy(update={"key": await known.key(hit.source.address)}))

    async def read(self, sources: Sequence[Source], found: Found) -> dict[str, Reread]:
        """Return these sources as they are now, by key; `found` is what their searches find now."""
        pages = [one for one in sources if one.kind == "web" and one.content_hash]
        await Addresses(self._pages, self._run.id).allow(one.address for one in pages)
        read, most = dict[str, Reread](), self._context.limits.max_open
        async with WebReader(self._context) as reader:
            for start in range(0, len(pages), most):
                some = pages[start : start + most]
                for one in await gather_or_cancel(self._page(source, reader) for source in some):
                    read[one.source.key] = one
        for source in sources:
            if source.kind == "document":
                read[source.key] = await asyncio.to_thread(self._document, source)
            elif not source.content_hash:
                read[source.key] = _excerpt(source, found)
        return read

    async def _page(self, source: Source, reader: WebReader) -> Reread:
        tool_context = self._tool_context()
        came = await WebPages(self._context, tool_context).read(source.address, reader)
        self._spend(tool_names.OPEN_URL, tool_context)
        if isinstance(came, Hit):
            return _reread(source, came.source, came.text)
        return Reread(source, (), f"{came.reason} ({came.code})" if isinstance(came, NotRead) else came)

    def _document(self, source: Source) -> Reread:
        if not source.address.startswith(SCHEME):
            return Reread(source, (), NOT_ASKED)
        if self._unreadable:
            return Reread(source, (), self._unreadable)
        if document := self._library.read(source.address):
            return _reread(source, document.source, document.text)
        left_out = self._status.left_out if self._status else ()
        path = source.address.removeprefix(SCHEME)
        return Reread(source, (), next((one.reason for one in left_out if one.path == path), NO_DOCUMENT))

    def elsewhere(self, source: Source, quotes: Iterable[str]) -> Reread | None:
        """Return the document that holds one of these passages of a document that is gone; none if none does."""
        if source.kind != "document" or self._unreadable:
            return None
        for quote in quotes:
            if len(quote.split()) < FEWEST:
                continue
            for passage in self._library.search(quote, MOST_HOLDERS):
                document = self._library.read(passage.source.address)
                if document and Wording(document.text).find(quote):
                    return _reread(source, document.source, document.text)
        return None

    def _tool_context(self) -> ToolContext:
        meter = meter_for_run(self._context.limits, self.spending)
        return ToolContext(self._pages, self._run.id, meter, topic=self._run.question)

    def _spend(self, tool: str, tool_context: ToolContext) -> None:
        self.spending[f"{tool} {len(self.spending)}"] = tool_context.meter.spent(tool)


def _reread(source: Source, now: Source, text: str) -> Reread:
    known = now.model_copy(update={"key": source.key, "number": source.number})
    texts = [SourceText(now.content_hash, text, f"{now.title}, {now.date}")]
    return Reread(known, texts, is_same=now.content_hash == source.content_hash)


def _excerpt(source: Source, found: Found) -> Reread:
    """Return a source of which only searches have told."""
    own = [hit for hit in found.hits if hit.source.key == source.key]
    if not own:
        return Reread(source, (), SEARCH_FAILED if found.problems else NO_LONGER_FOUND)
    texts = [
        SourceText(name, hit.excerpt, f"{source.title}, {source.date}")
        for hit in own
        for name in hit.source.excerpts[:1]
    ]
    is_same = all(text.content_hash in source.excerpts for text in texts)
    return Reread(source, texts, is_same=is_same)


def existed(source: Source, seconds: float) -> bool:
    """Whether the file of a document was there, and as it is, at a time in seconds since 1970: nothing new then."""
    if source.kind != "document":
        return False
    try:
        stat = Path(url2pathname(urlsplit(source.location).path)).stat()
    except (OSError, ValueError):
        return False
    # A copy may bear the old date of what it was copied from, but not the old date of its entry in the folder.
    return max(stat.st_mtime, stat.st_ctime) < seconds

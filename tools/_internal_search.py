"""The tools that search the user's documents and earlier research, or read all documents if they
are short."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Sequence
from datetime import timedelta
from itertools import chain
from typing import Any

from pydantic import BaseModel, ConfigDict

from ..core.concurrency import gather_or_cancel
from ..core.dialogue.conversation import QUERY_CHARACTERS
from ..core.evidence.text.similarity import distinct, grouped, interleave
from ..core.library.earlier import EarlierPages, ReadPage
from ..core.library.library import Library
from ..core.models.resolve import RoleModels, profile_of
from ..core.reading.web_page import WebReader
from ..core.records import tool_names
from ..core.records.sources import NotRead, Source, text_hash
from ..core.settings.context import Context
from ._addresses import Addresses, opened_note
from ._open_url import WebPages
from ._web_search import EngineResponse, answer_of, failures
from .engine import Found, SearchEngine, allowed_results, hit_of
from .results import JOINT, shortened
from .run_engines import SearchEngines
from .tool import (
    Hit,
    Lines,
    Outcome,
    ToolContext,
    cut_query,
    queries_of,
    take,
    unread_words,
)

_WINDOW_SHARE = 8
"""All documents are read whole if they fill at most 1 / `_WINDOW_SHARE` of the researcher model's
window."""
_CHARACTERS_PER_TOKEN = 4


class InternalSearchArguments(BaseModel):
    """Search the user's own documents by words. Returns passages, the best first, with addresses for `open_url`.

    A whole question also finds the documents to which names in the first ones lead.
    """

    model_config = ConfigDict(use_attribute_docstrings=True)

    queries: Lines
    """Questions, or queries of up to four specific words, each about one thing; spell names as the documents do."""


class EarlierSearchArguments(InternalSearchArguments):
    """Search what earlier research of the user has read, and the user's own documents if there are any.

    Returns passages, the best first, with addresses for `open_url`. What they answer need not be searched on the web.
    """


class InternalSearch:
    """Searches the documents of a library, retrievers, and earlier research if `earlier` is set."""

    name = tool_names.INTERNAL_SEARCH
    arguments: type[BaseModel] = InternalSearchArguments

    def __init__(
        self, library: Library, context: Context, tool_context: ToolContext, *engines: SearchEngine
    ) -> None:
        self._library, self._engines = library, engines
        self._context, self._limits, self._tool_context = context, context.limits, tool_context

    async def run(self, arguments: BaseModel) -> Outcome:
        """Search for each query and interleave the results; raises `ToolFailed` if no query has
        words."""
        checked = InternalSearchArguments.model_validate(arguments, from_attributes=True)
        meter = self._tool_context.meter
        limits = {"max_queries": self._limits.max_queries, "max_searches": meter.most_searches}
        given = [cut_query(query, QUERY_CHARACTERS) for query in checked.queries]
        asked = queries_of(self.name, given)
        queries, left_out = take(asked, limits, "queries were searched")
        in_library: list[str] = []
        if self._context.docs or self._context.earlier or not self._engines:
            in_library = queries
        meter.searches += len(in_library)
        # SQLite blocks, which the server's event loop refuses.
        of_library = await asyncio.to_thread(self._hits, in_library)
        read = Outcome()
        if self._context.earlier:
            read = await search_earlier(queries, self._context, self._tool_context)
        unmatched: list[str] = []
        if of_library and not read.hits and not self._engines:
            unmatched = await asyncio.to_thread(self._library.unmatched, queries)
        answers = await self._ask_engines(queries)
        retrieved = await self._retrieved(answers)
        hits = tuple(interleave([of_library, retrieved]))[: self._limits.max_results] + read.hits
        broken, replaced = failures(answers)
        problems = [*left_out, *broken, *replaced]
        if any(len(query) > QUERY_CHARACTERS for query in checked.queries):
            problems.insert(0, f"Queries were cut to {QUERY_CHARACTERS} characters.")
        if not hits:
            problems.append(
                f"Nothing in the documents matches {_quoted(queries)}; try other words, or fewer "
                "and more general ones."
            )
        if unmatched:
            problems.append(f"No document holds the words {_quoted(unmatched)}.")
        problems += read.problems
        return Outcome(
            hits, tuple(problems), tuple(broken), tuple(replaced), not_read=read.not_read
        )

    async def _ask_engines(self, queries: Sequence[str]) -> list[EngineResponse]:
        """Send each query to all engines, in parallel."""
        # `published_after` applies to web pages only.
        undated = self._context.model_copy(update={"published_after": None})
        calls: list[Coroutine[Any, Any, EngineResponse]] = []
        for query in queries:
            for engine in self._engines:
                calls.append(answer_of(engine, query, undated, self._tool_context))
        return await gather_or_cancel(calls)

    async def _retrieved(self, answers: Sequence[EngineResponse]) -> tuple[Hit, ...]:
        """Return the documents found by retrievers; the text of each is all passages found in this
        thread so far.

        Parallel searches do not see each other's passages, so each version of a text is kept as an
        excerpt.
        """
        now = self._context.clock.now().isoformat(timespec="seconds")
        engines: dict[str, set[str]] = {}
        for answer in answers:
            for result in answer.found:
                engines.setdefault(result.address, set()).add(answer.engine.name)
        found = interleave([answer.found for answer in answers])
        hits = list[Hit]()
        for address, passages in grouped(found, lambda result: result.address).items():
            new = list(dict.fromkeys([passage.excerpt for passage in passages]))
            known: list[str] = []
            note = await self._tool_context.pages.read_note(opened_note(address))
            if note:
                stored = await self._tool_context.pages.text(note["source"]["content_hash"])
                if stored:
                    known = stored.split(JOINT)
            # An excerpt may itself contain separators.
            known = known or new[0].split(JOINT)
            text = JOINT.join(dict.fromkeys([*known, *new]))
            hit = hit_of(passages[0], address, now, engines[address])
            source = hit.source.model_copy(
                update={
                    "content_hash": text_hash(text),
                    "excerpts": (text_hash(text),),
                    "origin": "own",
                }
            )
            hits.append(hit._replace(source=source, excerpt=JOINT.join(new), text=text))
        return shortened(hits, self._tool_context.topic, self._limits)

    def _hits(self, queries: list[str]) -> tuple[Hit, ...]:
        """Return the best passages of the library for these queries; blocks."""
        most = self._limits.max_results
        by_query = [self._library.follow(query, most) for query in queries]
        passages = distinct(
            interleave(by_query), lambda passage: (passage.source.key, passage.start)
        )
        by_document = grouped(passages[:most], lambda passage: passage.source.key)
        # Passages of a document stay together, at the position of the first one.
        ordered = list(chain.from_iterable(by_document.values()))
        texts = self._library.texts(passage.source.address for passage in ordered)
        hits = list[Hit]()
        for passage in ordered:
            text = texts.get(passage.source.address, "")
            hits.append(Hit(passage.source, passage.text, text))
        return tuple(hits)


async def search_earlier(
    queries: Sequence[str], context: Context, tool_context: ToolContext
) -> Outcome:
    """Return the best sources of earlier research, except documents in the library; old pages are
    read again."""
    library, limits = Library(context), context.limits
    addresses = Addresses(tool_context.pages, tool_context.question_id)
    web = WebPages(context, tool_context._replace(part_characters=0))

    def is_allowed(source: Source) -> bool:
        if source.kind == "document":
            return True
        as_found = Found(source.title, source.address, "", source.date)
        return bool(allowed_results([as_found], context))

    async def latest(page: ReadPage, *, is_old: bool) -> tuple[Hit, NotRead | None]:
        """Return the page as read in this thread, or else by the earlier run; with the failure to
        read it again."""
        source = page.source
        as_earlier = source.model_copy(update={"is_earlier": True, "number": 0})
        earlier = Hit(as_earlier, page.text, page.text)
        if not is_old and await addresses.opened(source.address) is None:
            return earlier, None
        await addresses.allow([source.address])
        read = await web.read(source.address, reader)
        if isinstance(read, Hit):
            return read, None
        if isinstance(read, NotRead):
            reason = f"not since {source.read_at[:10]}: {read.reason}"
            return earlier, read.model_copy(update={"reason": reason})
        return earlier, None

    pages_read = EarlierPages(tool_context.pages, context)
    found = await pages_read.search(queries, limits.max_open, is_allowed)
    in_library = await asyncio.to_thread(_in_library, found, library)
    since = context.clock.now() - timedelta(days=limits.earlier_days)
    old: list[ReadPage] = []
    if SearchEngines(context).chosen():
        old = _read_before(found, since.isoformat(timespec="seconds"))
    most = tool_context.meter.most_fetches
    if most is not None:
        old = old[: max(0, most)]
    pages = [page for page in found if page not in in_library]
    async with WebReader(context) as reader:
        read = await gather_or_cancel(latest(page, is_old=page in old) for page in pages)
    hits = [hit for hit, _ in read]
    not_read = tuple(failure for _, failure in read if failure)
    topic = tool_context.topic or queries[0]
    shown = await asyncio.to_thread(shortened, hits, topic, limits)
    return Outcome(shown, tuple(map(unread_words, not_read)), not_read=not_read)


def _in_library(pages: Sequence[ReadPage], library: Library) -> list[ReadPage]:
    """Return the pages that are documents of the library; blocks."""
    return [page for page in pages if library.read(page.source.location)]


def _read_before(pages: Sequence[ReadPage], time: str) -> list[ReadPage]:
    """Return the web pages that were read before a time (ISO 8601)."""
    return [page for page in pages if page.source.kind == "web" and page.source.read_at < time]


def _quoted(words: Iterable[str]) -> str:
    return ", ".join(map(repr, words))


class ReadDocumentsArguments(BaseModel):
    """Read all of the user's documents."""

    documents: Lines
    """Their addresses."""


class ReadDocuments:
    """Reads all documents of a library whole. Models do not call it: the system does, before their
    first turn."""

    name = tool_names.READ_DOCUMENTS
    arguments: type[BaseModel] = ReadDocumentsArguments

    def __init__(self, library: Library) -> None:
        self._library = library

    async def run(self, arguments: BaseModel) -> Outcome:
        """Read the named documents that still exist."""
        checked = ReadDocumentsArguments.model_validate(arguments, from_attributes=True)
        hits = await asyncio.to_thread(self._hits, checked.documents)
        return Outcome(hits)

    def _hits(self, addresses: Sequence[str]) -> tuple[Hit, ...]:
        """Return the documents at these addresses, in the order of the library; blocks."""
        hits = list[Hit]()
        for document in self._library.documents():
            if document.source.address in addresses:
                hits.append(Hit(document.source, document.text, document.text))
        return tuple(hits)


def documents_to_read(library: Library, documents: int, context: Context) -> tuple[str, ...]:
    """Return the addresses of all documents if they are short enough for researchers to read whole;
    else none.

    `documents`: number of documents. The extractive model always searches, since it needs the
    ranking.
    """
    window = profile_of("researcher", context).window
    if not documents or not library.is_short(documents):
        return ()
    if context.retrievers or RoleModels(context).is_extractive("researcher"):
        return ()
    left = min(context.limits.whole_characters, window * _CHARACTERS_PER_TOKEN // _WINDOW_SHARE)
    addresses: list[str] = []
    for document in library.documents():
        left -= len(document.text)
        if left < 0:
            return ()
        addresses.append(document.source.address)
    return tuple(addresses)

"""The tools that search the user's documents and earlier research, or read all documents if they
are short."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from pydantic import BaseModel, ConfigDict

from ..core.evidence.text.similarity import distinct, grouped, interleave
from ..core.library.earlier import ReadPage, search_read
from ..core.library.library import MOST_LISTED, Library
from ..core.models.resolve import is_extractive, profile_of
from ..core.reading.web_page import WebReader
from ..core.records.sources import NotRead, Source, text_hash
from ..core.run import tool_names
from ..core.run.concurrency import gather_or_cancel
from ..core.run.context import Context
from .addresses import Addresses, opened_note
from .engine import Found, SearchEngine, allowed_results, hit_of
from .open_url import WebPages
from .results import JOINT, shortened
from .run_engines import choose_engines
from .tool import Hit, Lines, Outcome, ToolContext, queries_of, take, unread_words
from .web_search import EngineResponse, answer_of, failures

CALL_ID = "documents"
"""Id of the call that reads all documents; fixed, so that conversations share a prefix that
providers cache."""
OPENING = "Read the user's documents."
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
        given = InternalSearchArguments.model_validate(arguments, from_attributes=True).queries
        meter = self._tool_context.meter
        limits = {"max_queries": self._limits.max_queries, "max_searches": meter.most_searches}
        queries, left_out = take(queries_of(self.name, given), limits, "queries were searched")
        pairs = [(engine, query) for query in queries for engine in self._engines]
        in_library = queries if self._context.docs or self._context.earlier or not pairs else []
        meter.searches += len(in_library)
        # SQLite blocks, which the server's event loop refuses.
        hits = await asyncio.to_thread(self._hits, in_library)
        read = (
            await search_earlier(queries, self._context, self._tool_context)
            if self._context.earlier
            else Outcome()
        )
        has_documents_only = bool(hits) and not read.hits and not pairs
        unmatched = (
            await asyncio.to_thread(self._library.unmatched, queries) if has_documents_only else []
        )
        # `published_after` applies to web pages only.
        undated = self._context.model_copy(update={"published_after": None})
        answers = await gather_or_cancel(
            answer_of(*pair, undated, self._tool_context) for pair in pairs
        )
        hits = (
            tuple(interleave([hits, await self._retrieved(answers)]))[: self._limits.max_results]
            + read.hits
        )
        broken, replaced = failures(answers)
        problems = [*left_out, *broken, *replaced]
        if not hits:
            asked = ", ".join(map(repr, queries))
            problems.append(
                f"Nothing in the documents matches {asked}; try other words, or fewer and more general ones."
            )
        if unmatched:
            problems.append(f"No document holds the words {', '.join(map(repr, unmatched))}.")
        problems += read.problems
        return Outcome(
            hits, tuple(problems), tuple(broken), tuple(replaced), not_read=read.not_read
        )

    async def _retrieved(self, answers: Sequence[EngineResponse]) -> tuple[Hit, ...]:
        """Return the documents found by retrievers; the text of each is all passages found in this
        thread so far.

        Parallel searches do not see each other's passages, so each version of a text is kept as an
        excerpt.
        """
        now, hits = self._context.clock.now().isoformat(timespec="seconds"), list[Hit]()
        found = interleave(
            [(result, answer.engine.name) for result in answer.found] for answer in answers
        )
        for address, parts in grouped(found, lambda pair: pair[0].address).items():
            new = list(dict.fromkeys(part.excerpt for part, _ in parts))
            note = await self._tool_context.pages.read_note(opened_note(address))
            known = (
                await self._tool_context.pages.text(note["source"]["content_hash"])
                if note
                else None
            )
            text = JOINT.join(dict.fromkeys([*(known or new[0]).split(JOINT), *new]))
            update = {
                "content_hash": text_hash(text),
                "excerpts": (text_hash(text),),
                "origin": "own",
            }
            hit = hit_of(parts[0][0], address, now, {engine for _, engine in parts})
            hits.append(
                hit._replace(
                    source=hit.source.model_copy(update=update), excerpt=JOINT.join(new), text=text
                )
            )
        return shortened(hits, self._tool_context.topic, self._limits)

    def _hits(self, queries: list[str]) -> tuple[Hit, ...]:
        """Return the best passages of the library for these queries; blocks."""
        results = [self._library.follow(query, self._limits.max_results) for query in queries]
        best = distinct(interleave(results), lambda passage: (passage.source.key, passage.start))[
            : self._limits.max_results
        ]
        documents = {
            address: self._library.read(address)
            for address in {passage.source.address for passage in best}
        }
        texts = {
            address: document.text if document else "" for address, document in documents.items()
        }
        # Passages of a document stay together, at the position of the first one.
        by_document = grouped(best, lambda passage: passage.source.key).values()
        together = (passage for passages in by_document for passage in passages)
        return tuple(
            Hit(passage.source, passage.text, texts[passage.source.address]) for passage in together
        )


async def search_earlier(
    queries: Sequence[str], context: Context, tool_context: ToolContext
) -> Outcome:
    """Return the best sources of earlier research, except documents in the library; old pages are
    read again."""
    library, limits, fetches = Library(context), context.limits, tool_context.meter.most_fetches
    addresses, web = (
        Addresses(tool_context.pages, tool_context.question_id),
        WebPages(context, tool_context),
    )

    def is_allowed(source: Source) -> bool:
        as_found = Found(source.title, source.address, "", source.date)
        return source.kind == "document" or bool(allowed_results([as_found], context))

    async def latest(page: ReadPage, *, is_old: bool) -> tuple[Hit, NotRead | None]:
        """Return the page as read in this thread, or else by the earlier run; with the failure to
        read it again."""
        source = page.source
        earlier = Hit(
            source.model_copy(update={"is_earlier": True, "number": 0}), page.text, page.text
        )
        if not is_old and await addresses.opened(source.address) is None:
            return earlier, None
        await addresses.allow([source.address])
        read = await web.read(source.address, reader)
        if isinstance(read, NotRead):
            return earlier, read.model_copy(
                update={"reason": f"not since {source.read_at[:10]}: {read.reason}"}
            )
        return (read if isinstance(read, Hit) else earlier), None

    found = await search_read(queries, tool_context.pages, context, limits.max_open, is_allowed)
    in_library = await asyncio.to_thread(
        lambda: [page for page in found if library.read(page.source.location)]
    )
    since = (context.clock.now() - timedelta(days=limits.earlier_days)).isoformat(
        timespec="seconds"
    )
    old = [page for page in found if page.source.kind == "web" and page.source.read_at < since]
    old = old[: fetches if fetches is None else max(0, fetches)] if choose_engines(context) else []
    async with WebReader(context) as reader:
        read = await gather_or_cancel(
            latest(page, is_old=page in old) for page in found if page not in in_library
        )
    not_read = tuple(failure for _, failure in read if failure)
    shown = await asyncio.to_thread(
        shortened, [hit for hit, _ in read], tool_context.topic or queries[0], limits
    )
    return Outcome(shown, tuple(map(unread_words, not_read)), not_read=not_read)


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
        wanted = ReadDocumentsArguments.model_validate(arguments, from_attributes=True).documents
        documents = await asyncio.to_thread(lambda: list(self._library.documents()))
        kept = [document for document in documents if document.source.address in wanted]
        return Outcome(
            tuple(Hit(document.source, document.text, document.text) for document in kept)
        )


def documents_first(task: Sequence[AnyMessage], notes: Sequence[AnyMessage]) -> list[AnyMessage]:
    """Return a conversation: the task, then the notes; but if these begin with all documents, the
    documents come first.

    Conversations that read the same documents then share a prefix, which the provider caches.
    """
    first = notes[0] if notes else None
    has_read = isinstance(first, AIMessage) and any(
        call["id"] == CALL_ID for call in first.tool_calls
    )
    return [HumanMessage(OPENING), *notes[:2], *task, *notes[2:]] if has_read else [*task, *notes]


def documents_to_read(library: Library, documents: int, context: Context) -> tuple[str, ...]:
    """Return the addresses of all documents if they are short enough for researchers to read whole;
    else none.

    `documents`: number of documents. The extractive model always searches, since it needs the
    ranking.
    """
    window = profile_of("researcher", context).window
    most = min(context.limits.whole_characters, window * _CHARACTERS_PER_TOKEN // _WINDOW_SHARE)
    if (
        not 0 < documents <= MOST_LISTED
        or context.retrievers
        or is_extractive("researcher", context)
    ):
        return ()
    found: list[str] = []
    for document in library.documents():
        most -= len(document.text)
        if most < 0:
            return ()
        found.append(document.source.address)
    return tuple(found)

"""The tools for the user's documents and earlier research: searched, or, if documents are short, all read whole."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from pydantic import BaseModel, ConfigDict

from ..core.evidence.text.similarity import distinct, grouped, interleave
from ..core.library.library import LISTED, Library
from ..core.models.resolve import is_extractive, profile_of
from ..core.run import tool_names
from ..core.run.concurrency import gather_or_cancel
from ..core.run.context import Context
from ..core.run.store.pages import text_hash
from .addresses import opened_note
from .earlier import search_earlier
from .engine import SearchEngine, hit_of
from .results import JOINT, shortened
from .tool import Hit, Lines, Outcome, ToolContext, queries_of, take
from .web_search import EngineResponse, answer_of, failures

CALL_ID = "documents"
"""Id of the call by which a researcher begins; the same in each, as all that stands before its task."""
OPENING = "Read the user's documents."
SHARE = 8
"""The documents fill at most one part in so many of the window of the researchers' model."""
CHARACTERS_PER_TOKEN = 4


class InternalSearchArguments(BaseModel):
    """Search the user's own documents by words. Returns passages, the best first, with addresses for `open_url`.

    A whole question also finds the documents to which names in the first ones lead.
    """

    model_config = ConfigDict(use_attribute_docstrings=True)

    queries: Lines
    """Questions, or queries of up to four telling words, each about one thing; names as the documents write them."""


class EarlierSearchArguments(InternalSearchArguments):
    """Search what earlier research of the user has read, and the user's own documents if there are any.

    Returns passages, the best first, with addresses for `open_url`. What they answer need not be searched on the web.
    """


class InternalSearch:
    """Searches the documents of a library, those that retrievers find, and earlier research where that is wanted."""

    name = tool_names.INTERNAL_SEARCH
    arguments: type[BaseModel] = InternalSearchArguments

    def __init__(self, library: Library, context: Context, tool_context: ToolContext, *engines: SearchEngine) -> None:
        self._library, self._engines = library, engines
        self._context, self._limits, self._tool_context = context, context.limits, tool_context

    async def run(self, arguments: BaseModel) -> Outcome:
        """Search for each query and mix the results; raises `ToolFailed` if there is no query."""
        given = InternalSearchArguments.model_validate(arguments, from_attributes=True).queries
        meter = self._tool_context.meter
        limits = {"max_queries": self._limits.max_queries, "max_searches": meter.most_searches}
        queries, left_out = take(queries_of(self.name, given), limits, "queries were searched")
        pairs = [(engine, query) for query in queries for engine in self._engines]
        in_library = queries if self._context.docs or self._context.earlier or not pairs else []
        meter.searches += len(in_library)
        # The library blocks on SQLite, which the server's event loop refuses.
        hits = await asyncio.to_thread(self._hits, in_library)
        read = await search_earlier(queries, self._context, self._tool_context) if self._context.earlier else Outcome()
        has_documents_only = bool(hits) and not read.hits and not pairs
        unmatched = await asyncio.to_thread(self._library.unmatched, queries) if has_documents_only else []
        # That limit is for pages of the web.
        undated = self._context.model_copy(update={"published_after": None})
        answers = await gather_or_cancel(answer_of(*pair, undated, self._tool_context) for pair in pairs)
        hits = tuple(interleave([hits, await self._retrieved(answers)]))[: self._limits.max_results] + read.hits
        broken, replaced = failures(answers)
        problems = (*left_out, *broken, *replaced, *_nothing(queries, hits), *_unmatched(unmatched), *read.problems)
        return Outcome(hits, problems, tuple(broken), tuple(replaced), not_read=read.not_read)

    async def _retrieved(self, answers: Sequence[EngineResponse]) -> tuple[Hit, ...]:
        """Return the documents that retrievers found, each with all that they have returned of it on this thread.

        Searches at the same time do not see each other's parts, so that each state of a text stays as an excerpt.
        """
        now, hits = self._context.clock.now().isoformat(timespec="seconds"), list[Hit]()
        found = interleave([(one, answer.engine.name) for one in answer.found] for answer in answers)
        for address, parts in grouped(found, lambda pair: pair[0].address).items():
            new = list(dict.fromkeys(part.excerpt for part, _ in parts))
            note = await self._tool_context.pages.read_note(opened_note(address))
            known = await self._tool_context.pages.text(note["source"]["content_hash"]) if note else None
            text = JOINT.join(dict.fromkeys([*(known or new[0]).split(JOINT), *new]))
            update = {"content_hash": text_hash(text), "excerpts": (text_hash(text),), "origin": "own"}
            hit = hit_of(parts[0][0], address, now, {engine for _, engine in parts})
            hits.append(hit._replace(source=hit.source.model_copy(update=update), excerpt=JOINT.join(new), text=text))
        return shortened(hits, self._tool_context.topic, self._limits)

    def _hits(self, queries: list[str]) -> tuple[Hit, ...]:
        results = [self._library.follow(query, self._limits.max_results) for query in queries]
        best = distinct(interleave(results), lambda passage: (passage.source.key, passage.start))[
            : self._limits.max_results
        ]
        texts = {source.address: self._text(source.address) for source in {passage.source for passage in best}}
        # The passages of one document stand together, where the first of them stands.
        of_documents = grouped(best, lambda passage: passage.source.key).values()
        together = (passage for passages in of_documents for passage in passages)
        return tuple(Hit(passage.source, passage.text, texts[passage.source.address]) for passage in together)

    def _text(self, address: str) -> str:
        document = self._library.read(address)
        return document.text if document else ""


def _unmatched(words: list[str]) -> list[str]:
    return [f"No document holds the words {', '.join(map(repr, words))}."] if words else []


def _nothing(queries: list[str], hits: tuple[Hit, ...]) -> list[str]:
    if hits:
        return []
    words = ", ".join(map(repr, queries))
    return [f"Nothing in the documents matches {words}; try other words, or fewer and more general ones."]


class ReadDocumentsArguments(BaseModel):
    """Read all of the user's documents."""

    documents: Lines
    """Their addresses."""


class ReadDocuments:
    """Shows all documents of a library whole; no model calls it, researchers begin with it."""

    name = tool_names.READ_DOCUMENTS
    arguments: type[BaseModel] = ReadDocumentsArguments

    def __init__(self, library: Library) -> None:
        self._library = library

    async def run(self, arguments: BaseModel) -> Outcome:
        """Read those that are named, as far as they still exist."""
        wanted = ReadDocumentsArguments.model_validate(arguments, from_attributes=True).documents
        # The library blocks on SQLite, which the server's event loop refuses.
        documents = await asyncio.to_thread(lambda: list(self._library.documents()))
        kept = [one for one in documents if one.source.address in wanted]
        return Outcome(tuple(Hit(one.source, one.text, one.text) for one in kept))


def behind_documents(task: Sequence[AnyMessage], notes: Sequence[AnyMessage]) -> list[AnyMessage]:
    """Return a conversation with its task before the notes, but for documents that were read first.

    All who read them so begin alike, and a provider reads them once.
    """
    first = notes[0] if notes else None
    has_read = isinstance(first, AIMessage) and any(call["id"] == CALL_ID for call in first.tool_calls)
    return [HumanMessage(OPENING), *notes[:2], *task, *notes[2:]] if has_read else [*task, *notes]


def read_whole(library: Library, documents: int, context: Context) -> tuple[str, ...]:
    """Return the addresses of so many documents if researchers should read them all; else none.

    The model that quotes goes by searches: they tell it what bears on a question.
    """
    window = profile_of("researcher", context).window
    most = min(context.limits.whole_characters, window * CHARACTERS_PER_TOKEN // SHARE)
    if not 0 < documents <= LISTED or context.retrievers or is_extractive("researcher", context):
        return ()
    found: list[str] = []
    for one in library.documents():
        most -= len(one.text)
        if most < 0:
            return ()
        found.append(one.source.address)
    return tuple(found)

"""The tool that searches the user's documents."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable

from pydantic import BaseModel, ConfigDict

from ..evidence.text.similarity import distinct, interleave
from ..library.library import Library
from ..library.shelf import Passage
from ..run import tool_names
from ..run.context import Context
from .tool import Hit, Lines, Outcome, ToolContext, queries_of, take


class InternalSearchArguments(BaseModel):
    """Search the user's own documents by words. Returns passages, the best first, with addresses for `open_url`.

    A whole question also finds the documents to which names in the first ones lead.
    """

    model_config = ConfigDict(use_attribute_docstrings=True)

    queries: Lines
    """Questions, or queries of up to four telling words, each about one thing; names as the documents write them."""


class InternalSearch:
    """Searches the documents of a library."""

    name = tool_names.INTERNAL_SEARCH
    arguments: type[BaseModel] = InternalSearchArguments

    def __init__(self, library: Library, context: Context, tool_context: ToolContext) -> None:
        self._library = library
        self._limits = context.limits
        self._meter = tool_context.meter

    async def run(self, arguments: BaseModel) -> Outcome:
        """Search for each query and mix the results; raises `ToolFailed` if there is no query."""
        given = InternalSearchArguments.model_validate(arguments, from_attributes=True).queries
        limits = {"max_queries": self._limits.max_queries, "max_searches": self._meter.most_searches}
        queries, left_out = take(queries_of(self.name, given), limits, "queries were searched")
        self._meter.searches += len(queries)
        # The library blocks on SQLite, which the server's event loop refuses.
        hits = await asyncio.to_thread(self._hits, queries)
        unmatched = await asyncio.to_thread(self._library.unmatched, queries) if hits else []
        return Outcome(hits, (*left_out, *_nothing(queries, hits), *_unmatched(unmatched)))

    def _hits(self, queries: list[str]) -> tuple[Hit, ...]:
        results = [self._library.follow(query, self._limits.max_results) for query in queries]
        best = distinct(interleave(results), lambda passage: (passage.source.key, passage.start))[
            : self._limits.max_results
        ]
        texts = {source.address: self._text(source.address) for source in {passage.source for passage in best}}
        return tuple(Hit(passage.source, passage.text, texts[passage.source.address]) for passage in _grouped(best))

    def _text(self, address: str) -> str:
        document = self._library.read(address)
        return document.text if document else ""


def _grouped(passages: Iterable[Passage]) -> list[Passage]:
    """Return the passages of one document together, where the first of them stands."""
    groups: dict[str, list[Passage]] = defaultdict(list)
    for passage in passages:
        groups[passage.source.key].append(passage)
    return [passage for group in groups.values() for passage in group]


def _unmatched(words: list[str]) -> list[str]:
    return [f"No document holds the words {', '.join(map(repr, words))}."] if words else []


def _nothing(queries: list[str], hits: tuple[Hit, ...]) -> list[str]:
    if hits:
        return []
    words = ", ".join(map(repr, queries))
    return [f"Nothing in the documents matches {words}; try other words, or fewer and more general ones."]

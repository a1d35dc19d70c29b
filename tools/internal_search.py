"""The tool that searches the user's documents."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable
from itertools import chain, zip_longest

from pydantic import BaseModel, ConfigDict

from deep_research.run.context import Context
from deep_research.tools.arguments import Lines, distinct
from deep_research.tools.library import Library
from deep_research.tools.outcome import Hit, Outcome, ToolFailed
from deep_research.tools.ranking import Passage


class InternalSearchArguments(BaseModel):
    """Search the user's own documents by words. Returns passages, the best first, with addresses for `open_url`."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    queries: Lines
    """Short queries of a few telling words, no common ones, each about one thing; names as the documents write them."""


class InternalSearch:
    """Searches the documents of a library."""

    name = "internal_search"
    arguments: type[BaseModel] = InternalSearchArguments

    def __init__(self, library: Library, context: Context) -> None:
        self._library = library
        self._limits = context.limits

    async def run(self, arguments: BaseModel) -> Outcome:
        """Search for each query and mix the results; raises `ToolFailed` if there is no query."""
        asked = distinct(InternalSearchArguments.model_validate(arguments, from_attributes=True).queries, str.casefold)
        if not asked:
            raise ToolFailed("internal_search needs at least one query with words in it, such as a name or a subject.")
        queries = asked[: self._limits.max_queries]
        # The library blocks on SQLite, which the server's event loop refuses.
        hits = await asyncio.to_thread(self._hits, queries)
        return Outcome(hits, tuple(_problems(asked, queries, hits)), searches=len(queries))

    def _hits(self, queries: list[str]) -> tuple[Hit, ...]:
        results = [self._library.search(query, self._limits.max_results) for query in queries]
        mixed = [passage for passage in chain.from_iterable(zip_longest(*results)) if passage is not None]
        best = distinct(mixed, lambda passage: (passage.source.key, passage.start))[: self._limits.max_results]
        texts = {source.address: self._text(source.address) for source in {passage.source for passage in best}}
        return tuple(
            Hit(passage.source, passage.text, texts[passage.source.address], passage.date) for passage in _grouped(best)
        )

    def _text(self, address: str) -> str:
        document = self._library.read(address)
        return document.text if document else ""


def _grouped(passages: Iterable[Passage]) -> list[Passage]:
    """The passages of one document together, where the first of them stands."""
    groups: dict[str, list[Passage]] = defaultdict(list)
    for passage in passages:
        groups[passage.source.key].append(passage)
    return [passage for group in groups.values() for passage in group]


def _problems(asked: list[str], queries: list[str], hits: tuple[Hit, ...]) -> list[str]:
    problems = []
    if len(asked) > len(queries):
        problems.append(f"Only the first {len(queries)} of {len(asked)} queries were searched.")
    if not hits:
        words = ", ".join(repr(query) for query in queries)
        problems.append(f"Nothing in the documents matches {words}; try other words, or fewer and more general ones.")
    return problems

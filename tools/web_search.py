"""The tool that searches the web."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from itertools import chain, zip_longest
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict

from deep_research.evidence.sources import source_key
from deep_research.run.context import Context
from deep_research.run.errors import DeepResearchError
from deep_research.state import Source, Value
from deep_research.tools.addresses import Addresses
from deep_research.tools.arguments import Lines, distinct
from deep_research.tools.desk import Desk
from deep_research.tools.engines.choose import choose_engines
from deep_research.tools.engines.engine import EngineFailed, Found, SearchEngine
from deep_research.tools.engines.pace import ask
from deep_research.tools.outcome import Hit, Outcome, ToolFailed
from deep_research.tools.quotes import MOST_SHARED, quotes
from deep_research.tools.roots import SCHEME
from deep_research.tools.usable import usable


class WebSearchArguments(BaseModel):
    """Search the web. Returns excerpts of pages, the best first, with addresses for `open_url`."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    queries: Lines
    """Short queries as one types them into a search engine, each about one thing, as concrete as possible."""


class _Answer(NamedTuple):
    """What one engine said to one query."""

    engine: SearchEngine
    query: str
    found: list[Found]
    """The results that may be shown."""
    is_empty: bool = True
    """Whether there were none, not even unusable ones."""
    failure: EngineFailed | None = None


class WebSearch:
    """Searches the web by one or several engines."""

    name = "web_search"
    arguments: type[BaseModel] = WebSearchArguments

    def __init__(
        self, context: Context, engines: Sequence[SearchEngine] | None = None, desk: Desk | None = None
    ) -> None:
        """Search by these engines, or by those of the settings; raises `SearchRefused` if one of them lacks its key.

        What was opened at the desk is recognised when it is found, and what documents showed there is not sent away.
        """
        self._context = context
        self._addresses = Addresses(desk.pages, desk.question_id) if desk else None
        excerpts = desk.excerpts if desk else {}
        self._private = [text for address, text in excerpts.items() if address.startswith(SCHEME)]
        self._engines = choose_engines(context) if engines is None else engines

    async def run(self, arguments: BaseModel) -> Outcome:
        """Search for each query and mix the results; raises `ToolFailed` if there is no query."""
        given = WebSearchArguments.model_validate(arguments, from_attributes=True).queries
        asked = distinct([self._cut(query) for query in given], str.casefold)
        if not asked:
            raise ToolFailed("web_search needs at least one query with words in it, such as a name or a subject.")
        quoting = [query for query in asked if quotes(query, self._private)]
        refused = _quoting(quoting)
        if len(quoting) == len(asked):
            raise ToolFailed(" ".join(refused))
        asked = [query for query in asked if query not in quoting]
        queries = asked[: self._context.limits.max_queries]
        answers = await asyncio.gather(*(self._ask(engine, query) for query in queries for engine in self._engines))
        hits = await self._hits(queries, answers)
        problems = [*refused, *self._shortened(given, asked), *_failures(answers), *_nothing(answers, hits)]
        return Outcome(hits, tuple(problems), searches=len(answers), fault=self._fault(answers))

    async def _ask(self, engine: SearchEngine, query: str) -> _Answer:
        limits = self._context.limits
        try:
            found = await ask(engine, query, limits.max_web_results, limits.search_seconds)
            shown = usable(found, self._context)
        except EngineFailed as failure:
            return _Answer(engine, query, [], failure=failure)
        except DeepResearchError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever a search library raises, the other queries go on
            unknown = EngineFailed(f"{engine.title} failed ({type(error).__name__}).")
            return _Answer(engine, query, [], failure=unknown)
        return _Answer(engine, query, shown, is_empty=not found)

    async def _hits(self, queries: Iterable[str], answers: Iterable[_Answer]) -> tuple[Hit, ...]:
        by_query = [_in_turn(answer.found for answer in answers if answer.query == query) for query in queries]
        best = distinct(_in_turn(by_query), lambda found: source_key(found.address))
        most = self._context.limits.max_web_results
        hits = [_hit(found, await self._key(found.address)) for found in best[:most]]
        return tuple(distinct(hits, lambda hit: hit.source.key))

    async def _key(self, address: str) -> str:
        return await self._addresses.key(address) if self._addresses else source_key(address)

    def _cut(self, query: str) -> str:
        most = self._context.limits.query_characters
        if len(query) <= most:
            return query
        # A query without spaces is cut within its only word.
        return query[: most + 1].rpartition(" ")[0].rstrip() or query[:most]

    def _shortened(self, given: Sequence[str], asked: Sequence[str]) -> list[str]:
        limits, problems = self._context.limits, []
        if any(len(query) > limits.query_characters for query in given):
            problems.append(f"Queries were cut to {limits.query_characters} characters (query_characters).")
        if len(asked) > limits.max_queries:
            problems.append(f"Only the first {limits.max_queries} of {len(asked)} queries were searched (max_queries).")
        return problems

    def _fault(self, answers: Sequence[_Answer]) -> str:
        """Why asking again is of no use: no query was answered, and each engine says why it will not be."""
        if any(answer.failure is None for answer in answers):
            return ""
        lasting = {a.engine.name: a.failure.words for a in answers if a.failure and a.failure.is_lasting}
        return " ".join(lasting.values()) if len(lasting) == len(self._engines) else ""


def _in_turn(lists: Iterable[Iterable[Value]]) -> list[Value]:
    """The first of each list, then the second of each, and so on."""
    return [value for value in chain.from_iterable(zip_longest(*lists)) if value is not None]


def _hit(found: Found, key: str) -> Hit:
    location = source_key(found.address)
    source = Source(key=key, title=found.title or location, location=location, address=found.address, kind="web")
    return Hit(source, found.excerpt, "", found.date)


def _quoting(queries: Iterable[str]) -> list[str]:
    words = f"quotes your documents; use names and at most {MOST_SHARED} words in a row of what you have read there."
    return [f"Not searched: {query!r} {words}" for query in queries]


def _failures(answers: Iterable[_Answer]) -> list[str]:
    """One sentence for each way to fail, with the queries that it befell."""
    befallen: dict[str, list[str]] = {}
    for answer in answers:
        if answer.failure:
            befallen.setdefault(answer.failure.words, []).append(answer.query)
    return [f"{words} Not searched: {', '.join(map(repr, queries))}." for words, queries in befallen.items()]


def _nothing(answers: Iterable[_Answer], hits: Sequence[Hit]) -> list[str]:
    """What to do about queries that were answered by nothing."""
    answered = [answer for answer in answers if answer.failure is None]
    if hits or not answered:
        return []
    words = ", ".join(dict.fromkeys(repr(answer.query) for answer in answered))
    if not all(answer.is_empty for answer in answered):
        return [f"All results for {words} are outside domains_allow, domains_deny and published_after, or unusable."]
    return [f"Nothing on the web matches {words}; try other words, or fewer and more general ones."]

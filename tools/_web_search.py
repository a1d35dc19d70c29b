"""The tool that searches the web."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict

from ..core.concurrency import gather_or_cancel
from ..core.errors import DeepResearchError, log_failure
from ..core.evidence.citations.citing import source_key
from ..core.evidence.text.similarity import distinct, interleave
from ..core.records import tool_names
from ..core.settings.context import Context
from ._addresses import Addresses
from ._passed import PassedEngine, plain_name
from ._redaction import Redacted, redact
from .engine import EngineFailed, Found, PartialResults, SearchEngine, allowed_results, hit_of
from .results import shortened
from .run_engines import search_engine
from .tool import (
    WEB_QUERY_CHARACTERS,
    Hit,
    Lines,
    Outcome,
    ToolContext,
    ToolFailed,
    cut_query,
    queries_of,
    take,
)

# Ends of sentences for the model on words that were not sent, and on results that are not shown.
_ONLY_PRIVATE = "stand only in the user's documents, whose words are not sent to search engines"
_BLANK = "without title and text"
_OUTSIDE = "outside domains_allow, domains_deny and published_after, or without a public address"
_RATIONED = (
    "are neither the user's nor from web results, and no more such words are sent "
    "(max_unseen_characters)"
)
_RANK_CONSTANT = 60
"""Constant of reciprocal rank fusion, from Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion
outperforms Condorcet and individual Rank Learning Methods", SIGIR 2009,
https://doi.org/10.1145/1571941.1572114.
"""


class WebSearchArguments(BaseModel):
    """Search the web. Returns excerpts of pages, the best first, with addresses for `open_url`."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    queries: Lines
    """Short queries as one types them into a search engine, each about one thing, as concrete as possible."""


class EngineResponse(NamedTuple):
    """Results of one engine for one query."""

    engine: SearchEngine
    query: str
    found: list[Found]
    """Results that may be shown."""
    unfiltered: Sequence[Found] = ()
    """All results, including those that may not be shown."""
    failure: EngineFailed | None = None
    """Why the engine could not search; None if it could."""
    partial: str = ""
    """What the engine did not search, as a sentence; empty if it searched everything."""


class _Listings:
    """What engines list on papers after their publication: each may know of some papers only."""

    def __init__(self) -> None:
        self._retracted: dict[str, str] = {}
        """Titles of the engines that list papers as retracted, by key."""
        self._doubted: dict[str, str] = {}
        """Titles of the engines that list a concern about papers, by key."""

    def add(self, found: Found, title: str) -> None:
        """Record what the engine with this title lists about a paper."""
        key = source_key(found.address)
        if found.is_retracted:
            self._retracted.setdefault(key, title)
        if found.has_concern:
            self._doubted.setdefault(key, title)

    def applied(self, found: Found) -> tuple[Found, str]:
        """Return a result with what any engine lists about it, and the title of that engine."""
        key = source_key(found.address)
        retracted = self._retracted.get(key, "")
        doubted = self._doubted.get(key, "")
        listed = found._replace(is_retracted=bool(retracted), has_concern=bool(doubted))
        return listed, retracted or doubted


class WebSearch:
    """Searches the web with one or several engines."""

    name = tool_names.WEB_SEARCH
    arguments: type[BaseModel] = WebSearchArguments

    def __init__(
        self,
        context: Context,
        engines: Sequence[SearchEngine],
        tool_context: ToolContext,
        *fallbacks: SearchEngine,
    ) -> None:
        """`engines`: every query goes to all of them, or only to the first ones if too few searches
        are left.

        `fallbacks`: engines that are tried in order for a query without results.
        """
        self._context = context
        self._engines, self._fallbacks = engines, fallbacks
        self._tool_context = tool_context
        self._addresses = Addresses(tool_context.pages, tool_context.question_id)

    async def run(self, arguments: BaseModel) -> Outcome:
        """Search for each query and interleave the results; raises `ToolFailed` if no query may be
        sent."""
        given = WebSearchArguments.model_validate(arguments, from_attributes=True).queries
        asked = queries_of(self.name, [cut_query(query, WEB_QUERY_CHARACTERS) for query in given])
        most = self._tool_context.meter.most_searches
        engines = self._engines[:most]
        limits = {
            "max_queries": self._context.limits.max_queries,
            "max_searches": None if most is None else most // len(engines),
        }
        taken, left_out = take(asked, limits, "queries were searched")
        sent = await self._redacted(taken, engines)
        dropped = _dropped(sent)
        private = list[str]()
        for redacted in sent.values():
            private += redacted.private
        private = distinct(private, str.casefold)
        queries = [redacted.query for redacted in sent.values() if redacted.query]
        queries = distinct(queries, str.casefold)
        if not queries:
            raise ToolFailed(" ".join(dropped), redacted=tuple(private))
        by_query = await gather_or_cancel(self._search(query, engines) for query in queries)
        answers = list(chain.from_iterable(by_query))
        hits = await self._hits(queries, answers)
        problems = list(dropped)
        if any(len(query) > WEB_QUERY_CHARACTERS for query in given):
            problems.append(f"Queries were cut to {WEB_QUERY_CHARACTERS} characters.")
        problems += left_out
        not_asked = self._engines[len(engines) :]
        if not_asked:
            titles = ", ".join([engine.title for engine in not_asked])
            problems.append(f"Too few searches are left to ask {titles} as well (max_searches).")
        broken, replaced = failures(answers)
        partial = list(dict.fromkeys(answer.partial for answer in answers if answer.partial))
        problems += [*broken, *replaced, *partial, *_nothing(answers, hits)]
        return Outcome(
            hits,
            tuple(problems),
            tuple(broken),
            tuple(replaced),
            tuple(partial),
            redacted=tuple(private),
            fault=self._fault(answers),
        )

    async def _redacted(
        self, queries: Sequence[str], engines: Sequence[SearchEngine]
    ) -> dict[str, Redacted]:
        """Return each query as it may be sent to these engines."""
        receiver = ""
        if len(engines) == 1 and isinstance(engines[0], PassedEngine):
            receiver = plain_name(engines[0].name)
        context = self._tool_context
        return await redact(queries, context.pages, context.question_id, self._context, receiver)

    async def _search(self, query: str, engines: Sequence[SearchEngine]) -> list[EngineResponse]:
        """Send a query to all engines in parallel; while there are no results, then to one fallback
        after the other."""
        answers = await gather_or_cancel(
            answer_of(engine, query, self._context, self._tool_context) for engine in engines
        )
        for engine in self._fallbacks:
            if any(answer.found for answer in answers):
                break
            answers.append(await answer_of(engine, query, self._context, self._tool_context))
        return answers

    async def _hits(
        self, queries: Iterable[str], answers: Sequence[EngineResponse]
    ) -> tuple[Hit, ...]:
        """Return the best results of all queries in turn, each source once, with the engines that
        found it."""
        rankings: dict[str, list[list[Found]]] = {query: [] for query in queries}
        engines = defaultdict[str, set[str]](set)
        listings = _Listings()
        for answer in answers:
            rankings[answer.query].append(answer.found)
            for found in answer.found:
                engines[source_key(found.address)].add(answer.engine.name)
                listings.add(found, answer.engine.title)
        by_query = [fused(of_query) for of_query in rankings.values()]
        best = distinct(interleave(by_query), lambda found: source_key(found.address))
        now = self._context.clock.now().isoformat(timespec="seconds")
        hits = list[Hit]()
        shown = {found.address: found for found in best[: self._context.limits.max_web_results]}
        keys = await self._addresses.keys([*shown])
        for found, key_of_page in zip(shown.values(), keys, strict=True):
            key = key_of_page if found.is_page else found.address
            found, lister = listings.applied(found)
            hits.append(hit_of(found, key, now, engines[source_key(found.address)], lister))
        hits = distinct(hits, lambda hit: hit.source.key)
        return shortened(hits, self._tool_context.topic, self._context.limits)

    def _fault(self, answers: Sequence[EngineResponse]) -> str:
        """Return why no engine can search any more: their lasting failures; empty if any engine may
        answer."""
        lasting: dict[str, str] = {}
        for answer in answers:
            if answer.failure is None:
                return ""
            if answer.failure.is_lasting:
                lasting[answer.engine.name] = answer.failure.words
        if len(lasting) < len(self._engines) + len(self._fallbacks):
            return ""
        return " ".join(lasting.values())


async def answer_of(
    engine: SearchEngine, query: str, context: Context, tool_context: ToolContext
) -> EngineResponse:
    """Return an engine's results or its failure; raises `DeepResearchError`, which only the user
    can resolve."""
    try:
        found = await search_engine(engine, query, context, tool_context)
        shown = allowed_results(found, context)
    except EngineFailed as failure:
        log_failure(__name__, failure, "%s failed", engine.title, keeps_text=True)
        return EngineResponse(engine, query, [], failure=failure)
    except DeepResearchError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever a search library raises, the other queries continue
        # An app's engine is the app's own code, so its logs may quote it.
        log_failure(
            __name__, error, "%s failed", engine.title, keeps_text=isinstance(engine, PassedEngine)
        )
        unknown = EngineFailed(f"{engine.title} failed ({type(error).__name__}).")
        return EngineResponse(engine, query, [], failure=unknown)
    partial = found.words if isinstance(found, PartialResults) else ""
    return EngineResponse(engine, query, shown, found, partial=partial)


def fused(rankings: Iterable[Sequence[Found]]) -> list[Found]:
    """Return the results of several engines for a query as one ranking, each address once, from its
    first engine.

    Reciprocal rank fusion: a result's score is the sum of 1 / (`_RANK_CONSTANT` + rank) over the
    engines that found it.
    """
    scores = defaultdict[str, float](float)
    first: dict[str, Found] = {}
    for ranking in rankings:
        for rank, found in enumerate(distinct(ranking, lambda found: source_key(found.address)), 1):
            key = source_key(found.address)
            first.setdefault(key, found)
            scores[key] += 1 / (_RANK_CONSTANT + rank)
    return [first[key] for key in sorted(first, key=lambda key: -scores[key])]


def _dropped(sent: Mapping[str, Redacted]) -> list[str]:
    """Return a sentence for each query and each reason why some of its words were not sent."""
    problems: list[str] = []
    for asked, (query, private, unseen) in sent.items():
        start = f"Searched {query!r} instead of {asked!r}" if query else f"Not searched: {asked!r}"
        for words, why in ((private, _ONLY_PRIVATE), (unseen, _RATIONED)):
            if words:
                quoted = ", ".join(map(repr, distinct(words, str.casefold)))
                problems.append(f"{start}: {quoted} {why}.")
        if not (query or private or unseen):
            problems.append(f"{start}: it has no words.")
    return problems


def failures(answers: Sequence[EngineResponse]) -> tuple[list[str], list[str]]:
    """Return a sentence for each failure with the affected queries, and those for which other
    engines had results."""
    titles = defaultdict[str, list[str]](list)
    for answer in answers:
        if answer.found:
            titles[answer.query].append(answer.engine.title)
    not_searched = defaultdict[str, list[str]](list)
    replaced: dict[str, None] = {}
    for answer in answers:
        if answer.failure is None:
            continue
        words = answer.failure.words
        others = titles[answer.query]
        if not others:
            not_searched[words].append(answer.query)
        else:
            verb = "was" if len(others) == 1 else "were"
            replaced[f"{words} {' and '.join(others)} {verb} searched instead."] = None
    broken: list[str] = []
    for words, queries in not_searched.items():
        broken.append(f"{words} Not searched: {', '.join(map(repr, queries))}.")
    return broken, list(replaced)


def _nothing(answers: Sequence[EngineResponse], hits: Sequence[Hit]) -> list[str]:
    """Return a sentence with advice if queries were answered, but no result can be shown; else an
    empty list."""
    answered = [answer for answer in answers if answer.failure is None]
    if hits or not answered:
        return []
    queries: dict[str, None] = {}
    titles: dict[str, None] = {}
    has_blank = has_outside = False
    for answer in answered:
        queries[repr(answer.query)] = None
        titles[answer.engine.title] = None
        for result in answer.unfiltered:
            if result.title or result.excerpt:
                has_outside = True
            else:
                has_blank = True
    asked = ", ".join(queries)
    if has_blank and has_outside:
        return [f"All results for {asked} are {_BLANK}, or {_OUTSIDE}."]
    if has_blank or has_outside:
        return [f"All results for {asked} are {_BLANK if has_blank else _OUTSIDE}."]
    where = "on the web"
    if len(answered) < len(answers):
        where = f"at {', '.join(titles)}"
    return [f"Nothing {where} matches {asked}; try other words, or fewer and more general ones."]

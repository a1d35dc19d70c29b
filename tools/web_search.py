"""The tool that searches the web."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict

from ..core.evidence.citations.citing import source_key
from ..core.evidence.text.similarity import distinct, grouped, interleave
from ..core.run import tool_names
from ..core.run.concurrency import gather_or_cancel
from ..core.run.context import Context
from ..core.run.errors import DeepResearchError, log_failure
from .addresses import Addresses
from .engine import EngineFailed, Found, SearchEngine, allowed_results, hit_of
from .passed import PassedEngine, plain_name
from .redaction import Redacted, redact
from .results import shortened
from .run_engines import search_engine
from .tool import Hit, Lines, Outcome, ToolContext, ToolFailed, queries_of, take

# Ends of sentences for the model on words that were not sent, and on results that are not shown.
_ONLY_PRIVATE = "stand only in the user's documents, whose words are not sent to search engines"
_BLANK = "without title and text"
_OUTSIDE = "outside domains_allow, domains_deny and published_after, or without a public address"
_RATIONED = "are neither the user's nor from web results, and no more such words are sent (max_unseen_characters)"
QUERY_CHARACTERS = 400
"""Maximum characters of a search query; longer ones are cut at a word."""
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
        asked = queries_of(self.name, [_cut(query, QUERY_CHARACTERS) for query in given])
        most = self._tool_context.meter.most_searches
        engines = self._engines[:most]
        limits = {
            "max_queries": self._context.limits.max_queries,
            "max_searches": None if most is None else most // len(engines),
        }
        taken, left_out = take(asked, limits, "queries were searched")
        receiver = (
            plain_name(engines[0].name)
            if len(engines) == 1 and isinstance(engines[0], PassedEngine)
            else ""
        )
        sent = await redact(
            taken, self._tool_context.pages, self._tool_context.question_id, self._context, receiver
        )
        dropped = _dropped(sent)
        redacted = tuple(
            distinct([word for result in sent.values() for word in result.private], str.casefold)
        )
        queries = distinct([result.query for result in sent.values() if result.query], str.casefold)
        if not queries:
            raise ToolFailed(" ".join(dropped), redacted=redacted)
        answers = [
            *chain.from_iterable(
                await gather_or_cancel(self._search(query, engines) for query in queries)
            )
        ]
        hits = await self._hits(queries, answers)
        problems = list(dropped)
        if any(len(query) > QUERY_CHARACTERS for query in given):
            problems.append(f"Queries were cut to {QUERY_CHARACTERS} characters.")
        problems += left_out
        if titles := ", ".join(engine.title for engine in self._engines[len(engines) :]):
            problems.append(f"Too few searches are left to ask {titles} as well (max_searches).")
        broken, replaced = failures(answers)
        problems += [*broken, *replaced, *_nothing(answers, hits)]
        fault = self._fault(answers)
        return Outcome(
            hits, tuple(problems), tuple(broken), tuple(replaced), redacted=redacted, fault=fault
        )

    async def _search(self, query: str, engines: Sequence[SearchEngine]) -> list[EngineResponse]:
        """Send a query to all engines in parallel; while there are no results, then to one fallback
        after the other."""
        asked = (answer_of(engine, query, self._context, self._tool_context) for engine in engines)
        answers = list(await gather_or_cancel(asked))
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
        by_query = [
            fused([answer.found for answer in answers if answer.query == query])
            for query in queries
        ]
        served = defaultdict[str, set[str]](set)
        for answer in answers:
            for found in answer.found:
                served[source_key(found.address)].add(answer.engine.name)
        best = distinct(interleave(by_query), lambda found: source_key(found.address))
        most = self._context.limits.max_web_results
        now = self._context.clock.now().isoformat(timespec="seconds")
        hits = list[Hit]()
        for found in best[:most]:
            key = await self._addresses.key(found.address) if found.is_page else found.address
            hits.append(hit_of(found, key, now, served[source_key(found.address)]))
        return shortened(
            distinct(hits, lambda hit: hit.source.key),
            self._tool_context.topic,
            self._context.limits,
        )

    def _fault(self, answers: Sequence[EngineResponse]) -> str:
        """Return why no engine can search any more: their lasting failures; empty if any engine may
        answer."""
        lasting: dict[str, str] = {}
        for answer in answers:
            if answer.failure is None:
                return ""
            if answer.failure.is_lasting:
                lasting[answer.engine.name] = answer.failure.words
        return (
            " ".join(lasting.values())
            if len(lasting) == len(self._engines) + len(self._fallbacks)
            else ""
        )


def _cut(query: str, longest: int) -> str:
    """Return the query, cut to `longest` characters at a space, or within the word if it has no
    spaces."""
    if len(query) <= longest:
        return query
    return query[: longest + 1].rpartition(" ")[0].rstrip() or query[:longest]


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
    return EngineResponse(engine, query, shown, found)


def fused(rankings: Iterable[Sequence[Found]]) -> list[Found]:
    """Return the results of several engines for a query as one ranking, each address once, from its
    first engine.

    Reciprocal rank fusion: a result's score is the sum of 1 / (`_RANK_CONSTANT` + rank) over the
    engines that found it.
    """
    scores, first = defaultdict[str, float](float), dict[str, Found]()
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
        begins = f"Searched {query!r} instead of {asked!r}" if query else f"Not searched: {asked!r}"
        for words, why in ((private, _ONLY_PRIVATE), (unseen, _RATIONED)):
            if words:
                problems.append(
                    f"{begins}: {', '.join(map(repr, distinct(words, str.casefold)))} {why}."
                )
        if not (query or private or unseen):
            problems.append(f"{begins}: it has no words.")
    return problems


def failures(answers: Sequence[EngineResponse]) -> tuple[list[str], list[str]]:
    """Return a sentence for each failure with the affected queries, and those for which other
    engines had results."""
    served = grouped((answer for answer in answers if answer.found), lambda answer: answer.query)
    affected: dict[tuple[str, str], list[str]] = {}
    for answer in answers:
        if answer.failure:
            titles = [other.engine.title for other in served.get(answer.query, ())]
            verb = "was" if len(titles) == 1 else "were"
            instead = f"{' and '.join(titles)} {verb} searched instead." if titles else ""
            affected.setdefault((answer.failure.words, instead), []).append(answer.query)
    broken = [
        f"{words} Not searched: {', '.join(map(repr, queries))}."
        for (words, instead), queries in affected.items()
        if not instead
    ]
    return broken, [f"{words} {instead}" for words, instead in affected if instead]


def _nothing(answers: Sequence[EngineResponse], hits: Sequence[Hit]) -> list[str]:
    """Return a sentence with advice if queries were answered, but no result can be shown; else an
    empty list."""
    answered = [answer for answer in answers if answer.failure is None]
    if hits or not answered:
        return []
    words = ", ".join(dict.fromkeys(repr(answer.query) for answer in answered))
    found = [result for answer in answered for result in answer.unfiltered]
    if flaws := {_OUTSIDE if result.title or result.excerpt else _BLANK for result in found}:
        named = [flaw for flaw in (_BLANK, _OUTSIDE) if flaw in flaws]
        return [f"All results for {words} are {', or '.join(named)}."]
    titles = ", ".join(dict.fromkeys(answer.engine.title for answer in answered))
    where = "on the web" if len(answered) == len(answers) else f"at {titles}"
    return [f"Nothing {where} matches {words}; try other words, or fewer and more general ones."]

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
from ..core.run.errors import DeepResearchError
from ..core.run.logs import log_failure
from . import run_engines
from .addresses import Addresses
from .engine import EngineFailed, Found, SearchEngine, hit_of, usable
from .passed import PassedEngine, plain_name
from .redaction import Redacted, Redactor
from .results import shortened
from .tool import Hit, Lines, Outcome, ToolContext, ToolFailed, queries_of, take

ONLY_PRIVATE = "stand only in the user's documents, which are not told to search engines"
OUTSIDE = "outside domains_allow, domains_deny and published_after, or without a public address"
RANK_CONSTANT = 60
"""What is added to a rank before its reciprocal is taken: the value of Cormack, Clarke and Büttcher, "Reciprocal Rank
Fusion outperforms Condorcet and individual Rank Learning Methods", SIGIR 2009, https://doi.org/10.1145/1571941.1572114.
"""
RATIONED = "are known neither from the user nor from the web, and no more of these are sent (max_unseen_characters)"


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
    """The results that may be shown."""
    came: Sequence[Found] = ()
    """All results, those too that may not be shown."""
    failure: EngineFailed | None = None


class WebSearch:
    """Searches the web by one or several engines."""

    name = tool_names.WEB_SEARCH
    arguments: type[BaseModel] = WebSearchArguments

    def __init__(
        self, context: Context, engines: Sequence[SearchEngine], tool_context: ToolContext, *stand_ins: SearchEngine
    ) -> None:
        """Search by these engines, each for every query; the first ones only, if not enough searches are left for all.

        For a query to which they bring nothing, the stand-ins are asked in turn.

        A page that was opened before is recognised when it is found, and what only documents have shown is not sent.
        """
        self._context = context
        self._engines, self._stand_ins = engines, stand_ins
        self._tool_context = tool_context
        self._addresses = Addresses(tool_context.pages, tool_context.question_id)

    async def run(self, arguments: BaseModel) -> Outcome:
        """Search for each query and mix the results; raises `ToolFailed` if there is no query that may be sent."""
        given = WebSearchArguments.model_validate(arguments, from_attributes=True).queries
        asked = queries_of(self.name, [self._cut(query) for query in given])
        engines = self._engines[: self._tool_context.meter.most_searches]
        taken, left_out = self._take(asked, len(engines))
        receiver = plain_name(engines[0].name) if len(engines) == 1 and isinstance(engines[0], PassedEngine) else ""
        redactor = Redactor(self._tool_context.pages, self._tool_context.question_id, self._context, receiver)
        sent = await redactor.redact(taken)
        dropped = _dropped(sent)
        redacted = tuple(distinct([word for one in sent.values() for word in one.private], str.casefold))
        queries = distinct([one.query for one in sent.values() if one.query], str.casefold)
        if not queries:
            raise ToolFailed(" ".join(dropped), redacted=redacted)
        answers = [*chain.from_iterable(await gather_or_cancel(self._search(query, engines) for query in queries))]
        hits = await self._hits(queries, answers)
        problems = [*dropped, *self._shortened(given), *left_out, *self._unasked(len(engines))]
        broken, replaced = failures(answers)
        problems += [*broken, *replaced, *_nothing(answers, hits)]
        fault = self._fault(answers)
        return Outcome(hits, tuple(problems), tuple(broken), tuple(replaced), redacted=redacted, fault=fault)

    def _take(self, queries: list[str], engines: int) -> tuple[list[str], list[str]]:
        """Return the queries that so many engines may be asked, and a word on the others."""
        most = self._tool_context.meter.most_searches
        limits = {
            "max_queries": self._context.limits.max_queries,
            "max_searches": None if most is None else most // engines,
        }
        return take(queries, limits, "queries were searched")

    async def _search(self, query: str, engines: Sequence[SearchEngine]) -> list[EngineResponse]:
        asked = (answer_of(engine, query, self._context, self._tool_context) for engine in engines)
        answers = list(await gather_or_cancel(asked))
        for engine in self._stand_ins:
            if any(answer.found for answer in answers):
                break
            answers.append(await answer_of(engine, query, self._context, self._tool_context))
        return answers

    async def _hits(self, queries: Iterable[str], answers: Sequence[EngineResponse]) -> tuple[Hit, ...]:
        by_query = [fused([answer.found for answer in answers if answer.query == query]) for query in queries]
        served = defaultdict[str, set[str]](set)
        for answer in answers:
            for found in answer.found:
                served[source_key(found.address)].add(answer.engine.name)
        best = distinct(interleave(by_query), lambda found: source_key(found.address))
        most = self._context.limits.max_web_results
        now = self._context.clock.now().isoformat(timespec="seconds")
        hits = [
            hit_of(
                found,
                await self._addresses.key(found.address) if found.is_page else found.address,
                now,
                served[source_key(found.address)],
            )
            for found in best[:most]
        ]
        return shortened(distinct(hits, lambda hit: hit.source.key), self._tool_context.topic, self._context.limits)

    def _cut(self, query: str) -> str:
        most = self._context.limits.query_characters
        if len(query) <= most:
            return query
        # A query without spaces is cut within its only word.
        return query[: most + 1].rpartition(" ")[0].rstrip() or query[:most]

    def _shortened(self, given: Iterable[str]) -> list[str]:
        most = self._context.limits.query_characters
        is_any_cut = any(len(query) > most for query in given)
        return [f"Queries were cut to {most} characters (query_characters)."] if is_any_cut else []

    def _unasked(self, asked: int) -> list[str]:
        titles = ", ".join(engine.title for engine in self._engines[asked:])
        return [f"Too few searches are left to ask {titles} as well (max_searches)."] if titles else []

    def _fault(self, answers: Sequence[EngineResponse]) -> str:
        """Return why asking again is of no use: no query was answered, and each engine says why it will not be."""
        if any(answer.failure is None for answer in answers):
            return ""
        lasting = {a.engine.name: a.failure.words for a in answers if a.failure and a.failure.is_lasting}
        return " ".join(lasting.values()) if len(lasting) == len(self._engines) + len(self._stand_ins) else ""


async def answer_of(engine: SearchEngine, query: str, context: Context, tool_context: ToolContext) -> EngineResponse:
    """Return what an engine finds, or why it fails; raises what only the user can put right."""
    try:
        found = await run_engines.search(engine, query, context, tool_context)
        shown = usable(found, context)
    except EngineFailed as failure:
        log_failure(__name__, failure, "%s failed", engine.title, keeps_text=True)
        return EngineResponse(engine, query, [], failure=failure)
    except DeepResearchError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever a search library raises, the other queries go on
        # The engine of an app is the app's own code.
        log_failure(__name__, error, "%s failed", engine.title, keeps_text=isinstance(engine, PassedEngine))
        unknown = EngineFailed(f"{engine.title} failed ({type(error).__name__}).")
        return EngineResponse(engine, query, [], failure=unknown)
    return EngineResponse(engine, query, shown, found)


def fused(rankings: Iterable[Sequence[Found]]) -> list[Found]:
    """Return the results of several engines for a query as one ranking, each address once, as its first engine has it.

    Reciprocal rank fusion: a result counts the sum of 1 / (`RANK_CONSTANT` + rank) over the engines that found it.
    """
    scores, first = defaultdict[str, float](float), dict[str, Found]()
    for ranking in rankings:
        for rank, found in enumerate(distinct(ranking, lambda found: source_key(found.address)), 1):
            key = source_key(found.address)
            first.setdefault(key, found)
            scores[key] += 1 / (RANK_CONSTANT + rank)
    return [first[key] for key in sorted(first, key=lambda key: -scores[key])]


def _dropped(sent: Mapping[str, Redacted]) -> list[str]:
    """Return one sentence for each query and each reason why words of it were not sent."""
    problems: list[str] = []
    for asked, one in sent.items():
        begins = f"Searched {one.query!r} instead of {asked!r}" if one.query else f"Not searched: {asked!r}"
        for words, why in ((one.private, ONLY_PRIVATE), (one.unseen, RATIONED)):
            if words:
                problems.append(f"{begins}: {', '.join(map(repr, distinct(words, str.casefold)))} {why}.")
        if not one.query and not one.private and not one.unseen:
            problems.append(f"{begins}: it has no words.")
    return problems


def failures(answers: Sequence[EngineResponse]) -> tuple[list[str], list[str]]:
    """Return a line for each way to fail, with the queries that it befell or with the engines that found something."""
    served = grouped((answer for answer in answers if answer.found), lambda answer: answer.query)
    befallen: dict[tuple[str, str], list[str]] = {}
    for answer in answers:
        if answer.failure:
            titles = [other.engine.title for other in served.get(answer.query, ())]
            instead = (
                f"{' and '.join(titles)} {'was' if len(titles) == 1 else 'were'} searched instead." if titles else ""
            )
            befallen.setdefault((answer.failure.words, instead), []).append(answer.query)
    broken = [
        f"{words} Not searched: {', '.join(map(repr, queries))}."
        for (words, instead), queries in befallen.items()
        if not instead
    ]
    return broken, [f"{words} {instead}" for words, instead in befallen if instead]


def _nothing(answers: Sequence[EngineResponse], hits: Sequence[Hit]) -> list[str]:
    """Return what to do about queries that were answered by nothing."""
    answered = [answer for answer in answers if answer.failure is None]
    if hits or not answered:
        return []
    words = ", ".join(dict.fromkeys(repr(answer.query) for answer in answered))
    if came := {bool(found.title or found.excerpt) for answer in answered for found in answer.came}:
        flaws = [flaw for has_text, flaw in ((False, "without title and text"), (True, OUTSIDE)) if has_text in came]
        return [f"All results for {words} are {', or '.join(flaws)}."]
    titles = ", ".join(dict.fromkeys(answer.engine.title for answer in answered))
    where = "on the web" if len(answered) == len(answers) else f"at {titles}"
    return [f"Nothing {where} matches {words}; try other words, or fewer and more general ones."]

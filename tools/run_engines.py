"""Chooses the search engines of a run, paces requests to them, and reuses their answers."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules

from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import BaseTool

from ..core.run.concurrency import PerLoop
from ..core.run.context import AnyEngine, Context, Engine, engine_name
from ..core.run.errors import SearchRefused, UnknownSetting, log_failure
from ..core.run.registered import ENGINES, is_dotted, load_dotted, load_registered, registered
from . import engines
from .engine import (
    EngineBlocked,
    EngineBusy,
    EngineFailed,
    Found,
    SearchEngine,
    cleaned,
    too_slow,
    without_notice,
)
from .engines.tavily import Tavily
from .passed import PassedEngine
from .tool import Meter, ToolContext

_LONGEST_PAUSE = 600.0
"""Maximum seconds of a pause, whatever the engine requests: a process may run for months."""
_REST_SECONDS = 60.0
"""Seconds for which an engine rests after it blocked a query; doubled with each repetition."""
_FREE = ("duckduckgo", "wikipedia", "arxiv")
"""Engines that need no key; by default, each is the fallback of the one before."""
_OPTIONAL = {"arxiv": "arxiv"}
"""By engine: a package that may be missing; without it, the engine is not used as a fallback."""
_BUILT_IN: Mapping[str, Callable[[Context], SearchEngine]] = {
    found.name: kind
    for found in iter_modules(engines.__path__)
    for kind in vars(import_module(f"{engines.__name__}.{found.name}")).values()
    if isinstance(kind, type) and getattr(kind, "name", "") == found.name
}
"""The engines of `tools/engines` by name, which is also their file name."""


class _Pace:
    """The request pace of one engine; times are those of the event loop's clock."""

    def __init__(self, parallel: int) -> None:
        self.slots = asyncio.Semaphore(parallel)
        self.next_at = 0.0
        """When the next request may be sent, by `SearchEngine.gap`."""
        self.paused_until = 0.0
        """When the next request may be sent, by what the engine requested."""
        # Seconds and reason of the latest rest; zero and empty once the engine answers.
        self.rest, self.block = 0.0, ""


_paces = PerLoop(dict[str, _Pace])


async def ask_engine(
    engine: SearchEngine, query: str, count: int, seconds: float, meter: Meter
) -> list[Found]:
    """Search within `seconds`, once the engine has a free slot; raises `EngineFailed`.

    A busy engine gets one retry if the wait it requests fits into the seconds. The wait, or the
    rest of an engine that blocked a query, applies to all callers. Time spent waiting for a slot
    does not count. Both attempts count as one search.
    """
    loop = asyncio.get_running_loop()
    pace = _paces.get().setdefault(engine.name, _Pace(engine.parallel))
    async with pace.slots:
        if pace.block and loop.time() < pace.paused_until:
            raise EngineFailed(pace.block, is_lasting=True)
        await asyncio.sleep(pace.next_at - loop.time())
        end = loop.time() + seconds
        try:
            async with asyncio.timeout_at(end):
                await _sit_out(engine, pace, end)
                if meter.most_searches is not None and meter.searches >= meter.most_searches:
                    raise EngineFailed(
                        f"Too few searches are left to ask {engine.title} as well (max_searches)."
                    )
                meter.searches += 1
                with suppress(EngineBusy):
                    return await _ask_once(engine, query, count, pace)
                await _sit_out(engine, pace, end)
                return await _ask_once(engine, query, count, pace)
        except TimeoutError:
            raise too_slow(engine.title, seconds) from None
        finally:
            pace.next_at = loop.time() + engine.gap


async def _ask_once(engine: SearchEngine, query: str, count: int, pace: _Pace) -> list[Found]:
    """Send one request and record in `pace` how long the engine must rest after it."""
    now = asyncio.get_running_loop().time
    try:
        found = await engine.search(query, count)
    except EngineBlocked as blocked:
        pace.rest, pace.block = (
            min(max(_REST_SECONDS, 2 * pace.rest), _LONGEST_PAUSE),
            blocked.words,
        )
        pace.paused_until = now() + pace.rest
        raise EngineFailed(blocked.words, is_lasting=True) from None
    except EngineBusy as busy:
        pace.paused_until = max(pace.paused_until, now() + min(busy.seconds, _LONGEST_PAUSE))
        raise
    pace.rest, pace.block = 0.0, ""
    return found


async def _sit_out(engine: SearchEngine, pace: _Pace, end: float) -> None:
    """Wait until the engine may be asked again; raises `EngineFailed` if that is after `end`."""
    now = asyncio.get_running_loop().time()
    if pace.paused_until > end:
        wait = pace.paused_until - now
        words = f"{engine.title} asks to wait {wait:.0f} s, longer than a search may take (search_seconds)."
        raise EngineFailed(words, is_lasting=True)
    await asyncio.sleep(pace.paused_until - now)


async def search_engine(
    engine: SearchEngine, query: str, context: Context, tool_context: ToolContext
) -> list[Found]:
    """Return an engine's results for a query, cleaned, or its earlier answer to it; raises
    `EngineFailed`.

    Parallel calls for the same query share one request. An empty answer is not reused: some engines
    return it when they block a query. Answers are reused only within a question, since the web
    changes, and with the same settings.
    """
    limits, dates = context.limits, str(context.published_after)
    asked = (
        engine.name,
        query.casefold(),
        limits.max_web_results,
        context.domains_allow,
        context.domains_deny,
        dates,
    )
    name = f"searched {tool_context.question_id} {hashlib.sha256(json.dumps(asked).encode()).hexdigest()}"
    async with tool_context.pages.lock(name):
        if noted := await tool_context.pages.read_note(name):
            return [Found(**found) for found in noted["found"]]
        answer = await ask_engine(
            engine, query, limits.max_web_results, limits.search_seconds, tool_context.meter
        )
        results = cleaned(answer, limits.max_web_results)
        if results:
            await tool_context.pages.note({name: {"found": [found._asdict() for found in results]}})
    return results


def choose_engines(context: Context) -> tuple[SearchEngine, ...]:
    """Return the engines of the settings, or the default ones.

    Raises `UnknownSetting` for an unknown name, and `SearchRefused` if an engine lacks its key.
    """
    given = _default(context) if context.engines is None else context.engines
    by_name: dict[str, AnyEngine] = {}
    for engine in given:
        name = engine_name(engine)
        if by_name.setdefault(name, engine) is not engine and by_name[name] != engine:
            raise UnknownSetting(
                f"engines: two are named {name!r}: give one of them another `name`."
            )
    chosen = list[SearchEngine]()
    for engine in by_name.values():
        if not isinstance(engine, str):
            chosen.append(PassedEngine(engine))
        elif is_dotted(engine):
            chosen.append(_dotted_engine(engine, context))
        elif engine in _BUILT_IN:
            chosen.append(_BUILT_IN[engine](context))
        elif engine in registered(ENGINES):
            chosen.append(load_registered(ENGINES, engine)(context))
        else:
            raise UnknownSetting(
                f"engines: unknown engine {engine!r}; choose from {', '.join([*_BUILT_IN, *registered(ENGINES)])}. To "
                "resume a question that was asked with an engine object, pass that object again."
            )
    return tuple(chosen)


def choose_retrievers(context: Context) -> tuple[SearchEngine, ...]:
    """Return the retrievers of the settings as engines; raises `UnknownSetting` if one is unusable
    or named twice."""
    retrievers = context.retrievers
    names = [*map(engine_name, (*(context.engines or ()), *retrievers))]
    if twice := [name for name in map(engine_name, retrievers) if names.count(name) > 1]:
        raise UnknownSetting(
            f"retrievers: two sources are named {twice[0]!r}: give one of them another `name`."
        )
    return tuple(
        _dotted_engine(given, context, "retrievers")
        if isinstance(given, str) and is_dotted(given)
        else PassedEngine(given, is_own=True)
        for given in retrievers
    )


def fallback_engines(context: Context) -> tuple[SearchEngine, ...]:
    """Return the fallback engines, in order, for queries without results; none if the settings name
    engines."""
    is_free = context.engines is None and _default(context) == _FREE[:1]
    usable = (name for name in _FREE[1:] if name not in _OPTIONAL or find_spec(_OPTIONAL[name]))
    return tuple(_BUILT_IN[name](context) for name in usable) if is_free else ()


def other_engines(context: Context) -> list[SearchEngine]:
    """Return the built-in engines that the environment sets up but the settings do not name."""
    named, others = {engine.name for engine in choose_engines(context)}, list[SearchEngine]()
    for name, kind in _BUILT_IN.items():
        if name not in named and getattr(kind, "is_set_up", bool)():
            with suppress(SearchRefused):
                others.append(kind(context))
    return others


def load_engines(context: Context) -> None:
    """Import the engines named by import path before a run needs them; a broken one fails later."""
    for name in (*(context.engines or ()), *context.retrievers):
        if isinstance(name, str) and is_dotted(name):
            with suppress(UnknownSetting):
                _dotted_engine(name, context)


def _dotted_engine(name: str, context: Context, setting: str = "engines") -> SearchEngine:
    """Return the engine at `package.module:Name`: a LangChain retriever or tool, or what a function
    returns."""
    try:
        with without_notice():
            made = _shared_instance(name)
            given = load_dotted(name)(context) if made is None else made
    except Exception as error:
        log_failure(__name__, error, "%s could not be loaded", name, keeps_text=True)
        why = f": {error}" if isinstance(error, ImportError) else f" ({type(error).__name__})"
        raise UnknownSetting(f"{setting}: {name!r} could not be loaded{why}.") from error
    is_own = setting == "retrievers"
    if not isinstance(given, BaseRetriever | BaseTool) and (
        is_own or not isinstance(given, Engine)
    ):
        raise UnknownSetting(
            f"{setting}: {name!r} is not a LangChain retriever, a LangChain tool or a function that returns an engine."
        )
    return PassedEngine(given, name, is_own=is_own)


@cache
def _shared_instance(name: str) -> BaseRetriever | BaseTool | None:
    """Return the retriever or tool of this name, created once per process, as it may hold an index;
    else None."""
    given = load_dotted(name)
    if isinstance(given, type) and issubclass(given, BaseRetriever | BaseTool):
        given = given()
    return given if isinstance(given, BaseRetriever | BaseTool) else None


def _default(context: Context) -> tuple[str, ...]:
    """Return the names of the engines if the settings name none."""
    if Tavily.is_set_up():
        return ("tavily",)
    return () if context.docs or context.retrievers else _FREE[:1]

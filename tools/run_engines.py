"""The search engines of a run: which these are, asked no more often than they bear, and never twice the same."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache, partial
from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules

from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import BaseTool

from ..core.run.concurrency import PerLoop
from ..core.run.context import AnyEngine, Context, Engine, engine_name
from ..core.run.errors import SearchRefused, UnknownSetting
from ..core.run.logs import log_failure
from ..core.run.registered import ENGINES, is_dotted, load_dotted, load_registered, registered
from . import engines
from .engine import EngineBlocked, EngineBusy, EngineFailed, Found, SearchEngine, cleaned, too_slow, without_notice
from .engines.tavily import Tavily
from .passed import PassedEngine
from .tool import Meter, ToolContext

LONGEST_PAUSE = 600.0
"""Seconds after which an engine is asked anew, whatever it has said: a process may live for months."""
REST_SECONDS = 60.0
"""Seconds for which an engine rests that turned a query away; twice as long each time that it does so again."""
FREE = {"duckduckgo": "ddgs", "wikipedia": "langchain_community", "arxiv": "arxiv"}
"""Engines without a key and their packages; unless engines are named, the next is asked where one brings nothing."""
_OWN: Mapping[str, Callable[[Context], SearchEngine]] = {
    found.name: one
    for found in iter_modules(engines.__path__)
    for one in vars(import_module(f"{engines.__name__}.{found.name}")).values()
    if isinstance(one, type) and getattr(one, "name", "") == found.name
}
"""The engines of `tools/engines` by name, which is also that of their file."""


class _Pace:
    """What one engine allows; moments are those of the event loop's clock."""

    def __init__(self, parallel: int) -> None:
        self.places = asyncio.Semaphore(parallel)
        self.next_at = 0.0
        self.paused_until = 0.0
        # Seconds of the latest rest, if it has not answered since, and why it rests.
        self.rest, self.block = 0.0, ""


_paces = PerLoop(dict[str, _Pace])


async def ask(engine: SearchEngine, query: str, count: int, seconds: float, meter: Meter) -> list[Found]:
    """Let the engine search, in its turn, for at most so many seconds; raises `EngineFailed`.

    A busy engine is asked once more if the wait that it names fits into the seconds. That wait holds for everybody, as
    does the rest of an engine that turned a query away; waiting for a turn does not count. What is sent is counted as
    it is sent, both tries as one search.
    """
    loop = asyncio.get_running_loop()
    pace = _paces.get().setdefault(engine.name, _Pace(engine.parallel))
    async with pace.places:
        if pace.block and loop.time() < pace.paused_until:
            raise EngineFailed(pace.block, is_lasting=True)
        await asyncio.sleep(pace.next_at - loop.time())
        end = loop.time() + seconds
        try:
            async with asyncio.timeout_at(end):
                return await _ask_twice(engine, query, count, pace, end, meter)
        except TimeoutError:
            raise too_slow(engine.title, seconds) from None
        finally:
            pace.next_at = loop.time() + engine.gap


async def _ask_twice(
    engine: SearchEngine, query: str, count: int, pace: _Pace, end: float, meter: Meter
) -> list[Found]:
    await _sit_out(engine, pace, end)
    if meter.most_searches is not None and meter.searches >= meter.most_searches:
        raise EngineFailed(f"Too few searches are left to ask {engine.title} as well (max_searches).")
    meter.searches += 1
    with suppress(EngineBusy):
        return await _ask_once(engine, query, count, pace)
    await _sit_out(engine, pace, end)
    return await _ask_once(engine, query, count, pace)


async def _ask_once(engine: SearchEngine, query: str, count: int, pace: _Pace) -> list[Found]:
    now = asyncio.get_running_loop().time
    try:
        found = await engine.search(query, count)
    except EngineBlocked as blocked:
        pace.rest, pace.block = min(max(REST_SECONDS, 2 * pace.rest), LONGEST_PAUSE), blocked.words
        pace.paused_until = now() + pace.rest
        raise EngineFailed(blocked.words, is_lasting=True) from None
    except EngineBusy as busy:
        pace.paused_until = max(pace.paused_until, now() + min(busy.seconds, LONGEST_PAUSE))
        raise
    pace.rest, pace.block = 0.0, ""
    return found


async def _sit_out(engine: SearchEngine, pace: _Pace, end: float) -> None:
    now = asyncio.get_running_loop().time()
    if pace.paused_until > end:
        wait = pace.paused_until - now
        words = f"{engine.title} asks to wait {wait:.0f} s, longer than a search may take (search_seconds)."
        raise EngineFailed(words, is_lasting=True)
    await asyncio.sleep(pace.paused_until - now)


async def search(engine: SearchEngine, query: str, context: Context, tool_context: ToolContext) -> list[Found]:
    """Return the engine's results, cleaned, or those that it gave before for this question; raises `EngineFailed`.

    Of several that ask the same at once, one asks the engine and the others wait for what it is told. An answer
    without results is not kept: some engines give it to whoever they turn away.
    """
    name = _name(engine, query, context, tool_context.question_id)
    async with tool_context.pages.alone(name):
        if noted := await tool_context.pages.read_note(name):
            return [Found(**found) for found in noted["found"]]
        most, seconds = context.limits.max_web_results, context.limits.search_seconds
        results = cleaned(await ask(engine, query, most, seconds, tool_context.meter), most)
        if results:
            await tool_context.pages.note({name: {"found": [one._asdict() for one in results]}})
    return results


def _name(engine: SearchEngine, query: str, context: Context, question_id: str) -> str:
    """Return the name of the note: an answer counts for its own question, as the web changes, and its settings."""
    asked = (
        engine.name,
        query.casefold(),
        context.limits.max_web_results,
        context.domains_allow,
        context.domains_deny,
        str(context.published_after),
    )
    return f"searched {question_id} {hashlib.sha256(json.dumps(asked).encode()).hexdigest()}"


def known_engines() -> list[str]:
    """Return the names of the engines that can be chosen: our own, and those that packages register."""
    return [*_OWN, *registered(ENGINES)]


def choose_engines(context: Context) -> tuple[SearchEngine, ...]:
    """Return the engines of the settings, or else what can be had.

    Raises `UnknownSetting` for a name that no engine has, and `SearchRefused` if an engine lacks its key.
    """
    given = _default(context) if context.engines is None else context.engines
    by_name: dict[str, AnyEngine] = {}
    for one in given:
        name = engine_name(one)
        if by_name.setdefault(name, one) is not one and by_name[name] != one:
            raise UnknownSetting(f"engines: two are named {name!r}: give one of them another `name`.")
    return tuple(_named(one)(context) if isinstance(one, str) else PassedEngine(one) for one in by_name.values())


def choose_retrievers(context: Context) -> tuple[SearchEngine, ...]:
    """Return the retrievers of the settings as engines; raises `UnknownSetting` for what is none or named twice."""
    own = context.retrievers
    names = [*map(engine_name, (*(context.engines or ()), *own))]
    if twice := [one for one in map(engine_name, own) if names.count(one) > 1]:
        raise UnknownSetting(f"retrievers: two sources are named {twice[0]!r}: give one of them another `name`.")
    dotted = [one for one in own if isinstance(one, str) and is_dotted(one)]
    return tuple(_at(one, context, "retrievers") if one in dotted else PassedEngine(one, is_own=True) for one in own)


def stand_ins(context: Context) -> tuple[SearchEngine, ...]:
    """Return the engines that are asked in turn where the first free one brings nothing; none if engines are named."""
    is_free = context.engines is None and _default(context) == tuple(FREE)[:1]
    return tuple(_OWN[name](context) for name in tuple(FREE)[1:] if is_free and find_spec(FREE[name]))


def other_engines(context: Context) -> list[SearchEngine]:
    """Return our own engines that the environment sets up by a key or an address and the settings do not name."""
    named, others = {engine.name for engine in choose_engines(context)}, list[SearchEngine]()
    for name, kind in _OWN.items():
        if name not in named and getattr(kind, "is_set_up", bool)():
            with suppress(SearchRefused):
                others.append(kind(context))
    return others


def load_engines(context: Context) -> None:
    """Import the engines that the settings name by where they are, so that no run has to; a broken one fails later."""
    for name in (*(context.engines or ()), *context.retrievers):
        if isinstance(name, str) and is_dotted(name):
            with suppress(UnknownSetting):
                _at(name, context)


def _at(name: str, context: Context, setting: str = "engines") -> SearchEngine:
    """Return the engine at `package.module:Name`: a class or object of LangChain's, or what makes an engine."""
    try:
        with without_notice():
            made = _made(name)
            given = load_dotted(name)(context) if made is None else made
    except Exception as error:
        log_failure(__name__, error, "%s could not be loaded", name, keeps_text=True)
        why = f": {error}" if isinstance(error, ImportError) else f" ({type(error).__name__})"
        raise UnknownSetting(f"{setting}: {name!r} could not be loaded{why}.") from error
    is_own = setting == "retrievers"
    if not isinstance(given, BaseRetriever | BaseTool) and (is_own or not isinstance(given, Engine)):
        raise UnknownSetting(f"{setting}: {name!r} is no retriever or tool of LangChain's, and makes no engine.")
    return PassedEngine(given, name, is_own=is_own)


@cache
def _made(name: str) -> BaseRetriever | BaseTool | None:
    """Return the retriever or tool of a name, made once a process: it may hold an index. None if it is neither."""
    given = load_dotted(name)
    if isinstance(given, type) and issubclass(given, BaseRetriever | BaseTool):
        given = given()
    return given if isinstance(given, BaseRetriever | BaseTool) else None


def _named(name: str) -> Callable[[Context], SearchEngine]:
    if is_dotted(name):
        return partial(_at, name)
    if name in _OWN:
        return _OWN[name]
    if name in registered(ENGINES):
        factory: Callable[[Context], SearchEngine] = load_registered(ENGINES, name)
        return factory
    raise UnknownSetting(
        f"engines: there is no {name!r} here; there are {', '.join(known_engines())}. An engine that an app passed has "
        "to be passed again when its question is resumed."
    )


def _default(context: Context) -> tuple[str, ...]:
    if Tavily.is_set_up():
        return ("tavily",)
    return () if context.docs or context.retrievers else tuple(FREE)[:1]

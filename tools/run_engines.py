"""Chooses the search engines of a run, paces requests to them, and reuses their answers."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, NamedTuple

from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import BaseTool

from ..core.concurrency import PerLoop
from ..core.errors import SearchRefused, UnknownSetting, log_failure
from ..core.settings.context import Context, Engine, engine_name
from ..core.settings.installed import ENGINES, is_dotted
from ._passed import PassedEngine
from .engine import (
    EngineBlocked,
    EngineBusy,
    EngineFailed,
    Found,
    PartialResults,
    SearchEngine,
    cleaned,
    without_notice,
)
from .tool import Meter, ToolContext

_LONGEST_PAUSE = 600.0
"""Maximum seconds of a pause, whatever the engine requests: a process may run for months."""
_REST_SECONDS = 60.0
"""Seconds for which an engine rests after it blocked a query; doubled with each repetition."""
_FREE = ("duckduckgo", "wikipedia", "arxiv")
"""Engines that need no key; by default, each is the fallback of the one before."""


def _built_in() -> dict[str, Callable[[Context], SearchEngine]]:
    """Return the classes of the engines in `tools/engines`, each in a file with the engine's
    name."""
    classes: dict[str, Callable[[Context], SearchEngine]] = {}
    folder = Path(__file__).with_name("engines")
    for file in iter_modules([str(folder)]):
        if file.name.startswith("_"):
            continue
        module = import_module(f".engines.{file.name}", __package__)
        for value in vars(module).values():
            if isinstance(value, type) and getattr(value, "name", "") == file.name:
                classes[file.name] = value
    return classes


_BUILT_IN: Mapping[str, Callable[[Context], SearchEngine]] = _built_in()
"""The engines of `tools/engines` by name, which is also their file name."""


class _Pace:
    """The request pace of one engine; times are those of the event loop's clock."""

    def __init__(self, parallel: int) -> None:
        self.slots = asyncio.Semaphore(parallel)
        self.next_at = 0.0
        """When the next request may be sent, by `SearchEngine.gap`."""
        self.paused_until = 0.0
        """When the next request may be sent, by what the engine requested."""
        self.rest = 0.0
        """Seconds of the latest rest; zero once the engine answers."""
        self.block = ""
        """Reason of the latest rest; empty once the engine answers."""


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
            raise EngineFailed.too_slow(engine.title, seconds) from None
        finally:
            pace.next_at = loop.time() + engine.gap


async def _ask_once(engine: SearchEngine, query: str, count: int, pace: _Pace) -> list[Found]:
    """Send one request and record in `pace` how long the engine must rest after it."""
    loop = asyncio.get_running_loop()
    try:
        found = await engine.search(query, count)
    except EngineBlocked as blocked:
        pace.rest = min(max(_REST_SECONDS, 2 * pace.rest), _LONGEST_PAUSE)
        pace.block = blocked.words
        pace.paused_until = loop.time() + pace.rest
        raise EngineFailed(blocked.words, is_lasting=True) from None
    except EngineBusy as busy:
        resumed_at = loop.time() + min(busy.seconds, _LONGEST_PAUSE)
        pace.paused_until = max(pace.paused_until, resumed_at)
        raise
    pace.rest = 0.0
    pace.block = ""
    return found


async def _sit_out(engine: SearchEngine, pace: _Pace, end: float) -> None:
    """Wait until the engine may be asked again; raises `EngineFailed` if that is after `end`."""
    now = asyncio.get_running_loop().time()
    if pace.paused_until > end:
        wait = pace.paused_until - now
        words = (
            f"{engine.title} asks to wait {wait:.0f} s, longer than a search may take "
            "(search_seconds)."
        )
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
    limits = context.limits
    settings = (
        engine.name,
        query.casefold(),
        limits.max_web_results,
        context.domains_allow,
        context.domains_deny,
        str(context.published_after),
    )
    settings_hash = hashlib.sha256(json.dumps(settings).encode()).hexdigest()
    name = f"searched {tool_context.question_id} {settings_hash}"
    async with tool_context.pages.lock(name):
        note = await tool_context.pages.read_note(name)
        if note:
            return _restored(note)
        answer = await ask_engine(
            engine, query, limits.max_web_results, limits.search_seconds, tool_context.meter
        )
        results = cleaned(answer, limits.max_web_results)
        if isinstance(answer, PartialResults):
            results = PartialResults(results, answer.words)
        if results:
            await tool_context.pages.note({name: _as_note(results)})
    return results


def _as_note(results: list[Found]) -> dict[str, Any]:
    """Return an engine's results as a note for `_restored`."""
    note: dict[str, Any] = {"found": [result._asdict() for result in results]}
    if isinstance(results, PartialResults):
        note["partial"] = results.words
    return note


def _restored(note: Mapping[str, Any]) -> list[Found]:
    """Return the results in a note of `_as_note`."""
    results = [Found(**found) for found in note["found"]]
    words = note.get("partial", "")
    return PartialResults(results, words) if words else results


class SearchEngines(NamedTuple):
    """The search engines of the settings."""

    context: Context

    def chosen(self) -> tuple[SearchEngine, ...]:
        """Return the engines of the settings, or the default ones.

        Raises `UnknownSetting` for an unknown name, and `SearchRefused` if an engine lacks its key.
        """
        context = self.context
        by_name: dict[str, str | BaseRetriever | BaseTool | Engine] = {}
        for engine in _default(context) if context.engines is None else context.engines:
            name = engine_name(engine)
            if by_name.setdefault(name, engine) is not engine and by_name[name] != engine:
                raise UnknownSetting(
                    f"engines: two are named {name!r}: give one of them another `name`."
                )
        engines = list[SearchEngine]()
        for engine in by_name.values():
            if not isinstance(engine, str):
                engines.append(PassedEngine(engine))
            elif is_dotted(engine):
                engines.append(_dotted_engine(engine, context))
            elif engine in _BUILT_IN:
                engines.append(_BUILT_IN[engine](context))
            elif engine in ENGINES.entries:
                engines.append(ENGINES.load(engine)(context))
            else:
                names = ", ".join([*_BUILT_IN, *ENGINES.entries])
                raise UnknownSetting(
                    f"engines: unknown engine {engine!r}; choose from {names}. To resume a "
                    "question that was asked with an engine object, pass that object again."
                )
        return tuple(engines)

    def retrievers(self) -> tuple[SearchEngine, ...]:
        """Return the retrievers of the settings as engines; raises `UnknownSetting` if one is
        unusable or named twice."""
        context = self.context
        names = [engine_name(given) for given in (*(context.engines or ()), *context.retrievers)]
        for given in context.retrievers:
            name = engine_name(given)
            if names.count(name) > 1:
                raise UnknownSetting(
                    f"retrievers: two sources are named {name!r}: give one of them another `name`."
                )
        retrievers: list[SearchEngine] = []
        for given in context.retrievers:
            if isinstance(given, str) and is_dotted(given):
                retrievers.append(_dotted_engine(given, context, "retrievers"))
            else:
                retrievers.append(PassedEngine(given, is_own=True))
        return tuple(retrievers)

    def fallback(self) -> tuple[SearchEngine, ...]:
        """Return the fallback engines, in order, for queries without results; none if the settings
        name engines."""
        context = self.context
        if context.engines is not None or _default(context) != _FREE[:1]:
            return ()
        return tuple(_BUILT_IN[name](context) for name in _FREE[1:])

    def others(self) -> list[SearchEngine]:
        """Return the built-in engines that the environment sets up but the settings do not name."""
        named = {engine.name for engine in self.chosen()}
        others: list[SearchEngine] = []
        for name, kind in _BUILT_IN.items():
            if name not in named and _is_set_up(name):
                with suppress(SearchRefused):
                    others.append(kind(self.context))
        return others

    def load(self) -> None:
        """Import the engines named by import path before a run needs them; a broken one fails
        later."""
        context = self.context
        for name in (*(context.engines or ()), *context.retrievers):
            if isinstance(name, str) and is_dotted(name):
                with suppress(UnknownSetting):
                    _dotted_engine(name, context)


def _is_set_up(name: str) -> bool:
    """Whether the environment has the key or the address of a built-in engine that needs one."""
    is_set_up: Callable[[], bool] = getattr(_BUILT_IN[name], "is_set_up", bool)
    return is_set_up()


def _dotted_engine(name: str, context: Context, setting: str = "engines") -> SearchEngine:
    """Return the engine at `package.module:Name`: a LangChain retriever or tool, or what a function
    returns."""
    try:
        with without_notice():
            given = _shared_instance(name)
            if given is None:
                given = _load_dotted(name)(context)
    except Exception as error:
        log_failure(__name__, error, "%s could not be loaded", name, keeps_text=True)
        why = f": {error}" if isinstance(error, ImportError) else f" ({type(error).__name__})"
        raise UnknownSetting(f"{setting}: {name!r} could not be loaded{why}.") from error
    is_own = setting == "retrievers"
    is_usable = isinstance(given, BaseRetriever | BaseTool)
    if not is_own and isinstance(given, Engine):
        is_usable = True
    if not is_usable:
        raise UnknownSetting(
            f"{setting}: {name!r} is not a LangChain retriever, a LangChain tool or a function "
            "that returns an engine."
        )
    return PassedEngine(given, name, is_own=is_own)


@cache
def _load_dotted(name: str) -> Any:
    """Import and return the object `package.module:Name`.

    Raises `ImportError` if there is none, and any error that the module raises when it is imported.
    """
    module, _, attribute = name.partition(":")
    try:
        return getattr(import_module(module), attribute)
    except (AttributeError, ValueError) as error:
        raise ImportError(f"there is no {attribute!r} in {module!r}") from error


@cache
def _shared_instance(name: str) -> BaseRetriever | BaseTool | None:
    """Return the retriever or tool of this name, created once per process, as it may hold an index;
    else None."""
    given = _load_dotted(name)
    if isinstance(given, type) and issubclass(given, BaseRetriever | BaseTool):
        given = given()
    if isinstance(given, BaseRetriever | BaseTool):
        return given
    return None


def _default(context: Context) -> tuple[str, ...]:
    """Return the names of the engines if the settings name none."""
    if _is_set_up("tavily"):
        return ("tavily",)
    if context.docs or context.retrievers:
        return ()
    return _FREE[:1]

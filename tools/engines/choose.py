"""Which engines a run searches by."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ...run.context import Context, Engine
from . import tavily
from .arxiv import Arxiv
from .duckduckgo import DuckDuckGo
from .engine import SearchEngine
from .tavily import Tavily
from .wikipedia import Wikipedia

_ENGINES: Mapping[Engine, Callable[[Context], SearchEngine]] = {
    "tavily": Tavily,
    "duckduckgo": DuckDuckGo,
    "wikipedia": Wikipedia,
    "arxiv": Arxiv,
}


def choose_engines(context: Context) -> tuple[SearchEngine, ...]:
    """The engines of the settings, or else what can be had; raises `SearchRefused` if one lacks its key."""
    names = _default(context) if context.engines is None else tuple(dict.fromkeys(context.engines))
    if "tavily" in names:
        tavily.check_settings()
    return tuple(_ENGINES[name](context) for name in names)


def _default(context: Context) -> tuple[Engine, ...]:
    if tavily.key():
        return ("tavily",)
    return () if context.docs else ("duckduckgo",)

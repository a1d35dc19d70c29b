"""Deep research on LangGraph: a question in, a report out in which every sentence can be traced to a passage."""

from __future__ import annotations

import logging
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .app.as_tool import deep_research_tool
    from .app.check_report import SourceDocument, check_report
    from .app.embed import Answer, ResearchGraph, aresearch, build_graph, research, thread_id
    from .app.stream import apackets, areplay_thread, packets, replay_thread
    from .core.library.library import Library
    from .core.run import errors
    from .core.run.context import Context, Settings
    from .core.run.limits import Limits

# A library says nothing of its own accord: without a handler Python would print warnings.
logging.getLogger("deep_research").addHandler(logging.NullHandler())

__all__ = [
    "Answer",
    "Context",
    "Library",
    "Limits",
    "ResearchGraph",
    "Settings",
    "SourceDocument",
    "apackets",
    "areplay_thread",
    "aresearch",
    "build_graph",
    "check_report",
    "deep_research_tool",
    "errors",
    "packets",
    "replay_thread",
    "research",
    "thread_id",
]

_PLACES = {
    "Answer": "app.embed",
    "Context": "core.run.context",
    "Library": "core.library.library",
    "Limits": "core.run.limits",
    "ResearchGraph": "app.embed",
    "Settings": "core.run.context",
    "SourceDocument": "app.check_report",
    "apackets": "app.stream",
    "aresearch": "app.embed",
    "areplay_thread": "app.stream",
    "build_graph": "app.embed",
    "check_report": "app.check_report",
    "deep_research_tool": "app.as_tool",
    "packets": "app.stream",
    "replay_thread": "app.stream",
    "research": "app.embed",
    "thread_id": "app.embed",
}


def __dir__() -> list[str]:
    """Return the public names too, which are imported when they are first used."""
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: importing the package alone stays cheap."""
    if name not in _PLACES and name != "errors":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "errors":
        return import_module("deep_research.core.run.errors")
    return getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)

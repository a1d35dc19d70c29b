"""Deep research on LangGraph: turns a question into a report that traces every sentence to a
passage."""

from __future__ import annotations

import logging
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .app.as_tool import deep_research_tool
    from .app.check_file import SourceDocument, check_report
    from .app.embed import (
        Answer,
        ResearchGraph,
        afinish_research,
        aresearch,
        asend_message,
        build_graph,
        finish_research,
        research,
        send_message,
    )
    from .app.stream import apackets, areplay_thread, packets, replay_thread
    from .app.versions import aread_version, arevert_thread, read_version, revert_thread
    from .core import errors
    from .core.library.library import Library
    from .core.settings.context import Context, Settings
    from .core.settings.limits import Limits
    from .core.store.location import thread_id

# Without a handler, Python would print the library's warnings.
logging.getLogger("deep_research").addHandler(logging.NullHandler())

__all__ = [
    "Answer",
    "Context",
    "Library",
    "Limits",
    "ResearchGraph",
    "Settings",
    "SourceDocument",
    "afinish_research",
    "apackets",
    "aread_version",
    "areplay_thread",
    "aresearch",
    "arevert_thread",
    "asend_message",
    "build_graph",
    "check_report",
    "deep_research_tool",
    "errors",
    "finish_research",
    "packets",
    "read_version",
    "replay_thread",
    "research",
    "revert_thread",
    "send_message",
    "thread_id",
]

_MODULES = {
    "Answer": "app.embed",
    "Context": "core.settings.context",
    "Library": "core.library.library",
    "Limits": "core.settings.limits",
    "ResearchGraph": "app.embed",
    "Settings": "core.settings.context",
    "SourceDocument": "app.check_file",
    "afinish_research": "app.embed",
    "apackets": "app.stream",
    "aread_version": "app.versions",
    "aresearch": "app.embed",
    "areplay_thread": "app.stream",
    "arevert_thread": "app.versions",
    "asend_message": "app.embed",
    "build_graph": "app.embed",
    "check_report": "app.check_file",
    "deep_research_tool": "app.as_tool",
    "finish_research": "app.embed",
    "packets": "app.stream",
    "read_version": "app.versions",
    "replay_thread": "app.stream",
    "research": "app.embed",
    "revert_thread": "app.versions",
    "send_message": "app.embed",
    "thread_id": "core.store.location",
}


def __dir__() -> list[str]:
    """List the names of the module, including public ones that are not imported yet."""
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    """Import a public name on first use, so that importing the package stays cheap."""
    if name == "errors":
        return import_module(f"{__name__}.core.errors")
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)

"""What installed packages register by entry points of this project: engines, tools, parsers, export formats."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from types import MappingProxyType
from typing import Any

ENGINES = "deep_research.engines"
"""A search engine by its name: a class or function that takes the settings (`Context`) and returns the engine."""
TOOLS = "deep_research.tools"
"""A tool by its name: a LangChain tool, or a function with a docstring."""
PARSERS = "deep_research.parsers"
"""A kind of document by the ending of its files, such as `odt`: a function from the bytes of a file to its text."""
EXPORTERS = "deep_research.exporters"
"""A format by the ending of its files: a function from a `FinishedReport` to a text or bytes."""


@cache
def registered(group: str) -> Mapping[str, EntryPoint]:
    """Return the entry points of a group by name, as they are when it is first asked for; reads the disk."""
    return MappingProxyType({entry.name: entry for entry in entry_points(group=group)})


@cache
def load_registered(group: str, name: str) -> Any:
    """Return what a package has registered under a name of the group; imports it. Raises `KeyError` if none has."""
    return registered(group)[name].load()


def is_dotted(name: str) -> bool:
    """Return whether a name says where something is: `package.module:Name`."""
    return ":" in name


@cache
def load_dotted(name: str) -> Any:
    """Return what is at `package.module:Name`; imports the module. Raises `ImportError`, or what the module raises."""
    module, _, attribute = name.partition(":")
    try:
        return getattr(import_module(module), attribute)
    except (AttributeError, ValueError) as error:
        raise ImportError(f"there is no {attribute!r} in {module!r}") from error


def load_all() -> None:
    """Load all engines and tools that packages register, so that no run has to; one that is broken fails where used."""
    for group in (ENGINES, TOOLS):
        for name in registered(group):
            with suppress(ImportError):
                load_registered(group, name)

"""Plugins: engines, tools, parsers and exporters that packages register as entry points, or that a
setting names."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from types import MappingProxyType
from typing import Any

ENGINES = "deep_research.engines"
"""Search engines by name: a class or function that takes the settings (`Context`) and returns the
engine."""
TOOLS = "deep_research.tools"
"""Tools by name: a LangChain tool, or a function with a docstring."""
PARSERS = "deep_research.parsers"
"""Document parsers by file name suffix, such as `odt`: a function from a file's bytes to its
text."""
EXPORTERS = "deep_research.exporters"
"""Export formats by file name suffix: a function from a `Finished` report to text or bytes."""


@cache
def registered(group: str) -> Mapping[str, EntryPoint]:
    """Return the installed packages' entry points of a group, by name; read from disk on first
    use."""
    return MappingProxyType({entry.name: entry for entry in entry_points(group=group)})


@cache
def load_registered(group: str, name: str) -> Any:
    """Import and return the object registered under a name; raises `KeyError` if there is none."""
    return registered(group)[name].load()


def is_dotted(name: str) -> bool:
    """Whether a name has the form `package.module:Name`."""
    return ":" in name


@cache
def load_dotted(name: str) -> Any:
    """Import and return the object `package.module:Name`.

    Raises `ImportError` if there is none, and any error that the module raises when it is imported.
    """
    module, _, attribute = name.partition(":")
    try:
        return getattr(import_module(module), attribute)
    except (AttributeError, ValueError) as error:
        raise ImportError(f"there is no {attribute!r} in {module!r}") from error


def load_all() -> None:
    """Import all registered engines and tools before the first run; a broken one fails when it is
    used."""
    for group in (ENGINES, TOOLS):
        for name in registered(group):
            with suppress(ImportError):
                load_registered(group, name)

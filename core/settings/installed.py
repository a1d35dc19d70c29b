"""What is installed: the version of this package, and the plugins (engines, tools, parsers and
exporters) that other packages register as entry points."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import cache, cached_property
from importlib.metadata import EntryPoint, entry_points, version
from types import MappingProxyType
from typing import Any


@cache
def code_version() -> str:
    """Return the version of this package; reads a file the first time."""
    return version("deep-research")


class Plugins:
    """The plugins that installed packages register in one group of entry points."""

    def __init__(self, group: str) -> None:
        self.group = group

    @cached_property
    def entries(self) -> Mapping[str, EntryPoint]:
        """The entry points by name; read from disk on first use."""
        found = entry_points(group=self.group)
        return MappingProxyType({entry.name: entry for entry in found})

    def load(self, name: str) -> Any:
        """Import and return the object registered under a name; raises `KeyError` if there is
        none."""
        return self.entries[name].load()


ENGINES = Plugins("deep_research.engines")
"""Search engines by name: a class or function that takes the settings (`Context`) and returns the
engine."""
TOOLS = Plugins("deep_research.tools")
"""Tools by name: a LangChain tool, or a function with a docstring."""
PARSERS = Plugins("deep_research.parsers")
"""Document parsers by file name suffix, such as `odt`: a function from a file's bytes to its
text."""
EXPORTERS = Plugins("deep_research.exporters")
"""Export formats by file name suffix: a function from a `Finished` report to text or bytes."""


def is_dotted(name: str) -> bool:
    """Whether a name has the form `package.module:Name`."""
    return ":" in name


def load_all() -> None:
    """Import all registered engines and tools before the first run; a broken one fails when it is
    used."""
    for plugins in (ENGINES, TOOLS):
        for name in plugins.entries:
            with suppress(ImportError):
                plugins.load(name)

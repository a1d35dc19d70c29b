"""Tables of words, which stand as data beside the code that reads them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources


@cache
def word_tables(package: str) -> Mapping[str, str]:
    """Return the tables of a package's `words.toml`, by name: words, a line a group where they go together."""
    tables: dict[str, str] = tomllib.loads(resources.files(package).joinpath("words.toml").read_text("utf-8"))
    return tables

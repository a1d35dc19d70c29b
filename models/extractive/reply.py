"""What a role answers: text, or calls of tools."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias


class Asked(NamedTuple):
    """A tool that is to be called."""

    name: str
    arguments: dict[str, Any]


Reply: TypeAlias = str | list[Asked]

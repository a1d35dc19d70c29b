"""Takes out of texts what no JSON and no database can carry."""

from __future__ import annotations

import re
from typing import TypeVar

Value = TypeVar("Value")

_UNSENDABLE = re.compile(r"[\x00\ud800-\udfff]")


def sendable(value: Value) -> Value:
    """The value with all its texts, at any depth, without NUL and lone surrogates."""
    cleaned: object = value
    if isinstance(value, str):
        cleaned = _UNSENDABLE.sub("", value) if _UNSENDABLE.search(value) else value
    elif isinstance(value, dict):
        cleaned = {name: sendable(part) for name, part in value.items()}
    elif isinstance(value, list):
        cleaned = [sendable(part) for part in value]
    return cleaned  # type: ignore[return-value]  # each branch gives back the type it was given

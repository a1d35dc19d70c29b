"""Arguments as models really send them, brought into the form that was asked for."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema

from deep_research.state import Value

_UNWANTED = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def as_lines(value: Any) -> Any:
    """A list of single lines: a bare string becomes a list, blanks and nulls go, control characters become spaces."""
    values = [value] if value is None or isinstance(value, str) else value
    if not isinstance(values, list | tuple):
        return value
    lines = [_line(item) if isinstance(item, str | int | float) else item for item in values if item is not None]
    return [line for line in lines if line != ""]


Lines = Annotated[
    list[str], BeforeValidator(as_lines), WithJsonSchema({"type": "array", "items": {"type": "string"}, "minItems": 1})
]


def distinct(values: list[Value], key: Callable[[Value], object]) -> list[Value]:
    """The values without those whose key came before."""
    return list({key(value): value for value in reversed(values)}.values())[::-1]


def _line(value: str | float) -> str:
    return " ".join(_UNWANTED.sub(" ", str(value)).split())

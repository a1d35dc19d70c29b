"""Arguments as models really send them, brought into the form that was asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema

from ..evidence.text.mixing import distinct
from ..reading.decode import without_controls
from .outcome import ToolFailed


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


def queries_of(tool: str, given: Iterable[str]) -> list[str]:
    """Each query once, whatever its case; raises `ToolFailed` if there is none."""
    queries = distinct(given, str.casefold)
    if not queries:
        raise ToolFailed(f"{tool} needs at least one query with words in it, such as a name or a subject.")
    return queries


def take(asked: list[str], limits: Mapping[str, int | None], done: str) -> tuple[list[str], list[str]]:
    """As many of the first entries as the lowest of the limits allows, and what to say of the others.

    The limits go by the names of their settings, none is no limit; `done` says what was done, such as "were opened".
    """
    most, name = min((most, name) for name, most in limits.items() if most is not None)
    if len(asked) <= most:
        return asked, []
    return asked[:most], [f"Only the first {most} of {len(asked)} {done} ({name})."]


def _line(value: str | float) -> str:
    return " ".join(without_controls(str(value)).split())

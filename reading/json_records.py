"""Records of JSON to text: a heading for each, its short fields as lines, its long ones as paragraphs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

TITLES = ("title", "headline", "subject", "name", "question", "label", "heading")
BODIES = ("text", "content", "body", "abstract", "summary", "description", "answer", "message")
TITLE_CHARACTERS = 200
SHORT = 120


def record_blocks(record: Any) -> Iterator[str]:
    """One record as Markdown: under its title what it says of itself, then its texts."""
    if not isinstance(record, dict):
        yield "\n".join(_lines("", record))
        return
    title = _title_field(record)
    if title is not None:
        yield f"## {' '.join(record[title].split())}"
    rest = {name: value for name, value in record.items() if name != title}
    texts = {name: value.strip() for name, value in rest.items() if isinstance(value, str) and _is_text(name, value)}
    lines = [line for name, value in rest.items() if name not in texts for line in _lines(name, value)]
    if lines:
        yield "\n".join(lines)
    for name, text in texts.items():
        yield text if name.lower() in BODIES else f"{name}: {text}"


def title_of(record: Any) -> str:
    """What a record is about; empty if no field says it."""
    name = _title_field(record) if isinstance(record, dict) else None
    return "" if name is None else " ".join(record[name].split())


def _title_field(record: dict[str, Any]) -> str | None:
    fields = {name.lower(): name for name, value in record.items() if isinstance(value, str) and value.strip()}
    named = (fields[title] for title in TITLES if title in fields)
    return next((name for name in named if len(record[name]) <= TITLE_CHARACTERS), None)


def _is_text(name: str, value: str) -> bool:
    return bool(value.strip()) and (name.lower() in BODIES or len(value) > SHORT or "\n" in value.strip())


def _lines(name: str, value: Any) -> Iterator[str]:
    """A field as lines; one inside another bears the names of both."""
    if isinstance(value, dict):
        for inner, one in value.items():
            yield from _lines(f"{name}.{inner}" if name else inner, one)
    elif isinstance(value, list) and any(isinstance(one, dict | list) for one in value):
        for one in value:
            yield from _lines(name, one)
    elif shown := ", ".join(map(_shown, value if isinstance(value, list) else [value])):
        yield f"{name}: {shown}" if name else shown


def _shown(value: object) -> str:
    if value is None or isinstance(value, bool):
        return {None: "", True: "true", False: "false"}[value]
    return " ".join(str(value).split())

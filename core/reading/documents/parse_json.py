"""Files of JSON to text: one record, a list of records, or one record a line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

from ..records import Extract, Unreadable
from .parse_csv import tables_of, up_to_limit
from .parse_text import stated_date

TITLES = ("title", "headline", "subject", "name", "question", "label", "heading")
BODIES = ("text", "content", "body", "abstract", "summary", "description", "answer", "message")
TITLE_CHARACTERS = 200
SHORT = 120


def _blocks(record: Any) -> Iterator[str]:
    """Return one record as Markdown: under its title what it says of itself, then its texts."""
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


def _all_blocks(records: Sequence[Any]) -> Iterator[str]:
    """Return records as a table if they have nothing but short fields, else one after the other."""
    if len(records) > 1 and all(isinstance(record, dict) and _is_row(record) for record in records):
        header = list(dict.fromkeys(name for record in records for name in record))
        rows = ([_shown(record.get(name)) for name in header] for record in records)
        return tables_of(chain([header], rows))
    return chain.from_iterable(map(_blocks, records))


def _is_row(record: dict[str, Any]) -> bool:
    return not any(
        isinstance(value, dict | list) or (isinstance(value, str) and _is_text(name, value))
        for name, value in record.items()
    )


def _title_field(record: dict[str, Any]) -> str | None:
    fields = {name.lower(): name for name, value in record.items() if isinstance(value, str) and value.strip()}
    named = (fields[title] for title in TITLES if title in fields)
    return next((name for name in named if len(record[name]) <= TITLE_CHARACTERS), None)


def _is_text(name: str, value: str) -> bool:
    return bool(value.strip()) and (name.lower() in BODIES or len(value) > SHORT or "\n" in value.strip())


def _lines(name: str, value: Any) -> Iterator[str]:
    """Return a field as lines; one inside another bears the names of both."""
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


def parse_json(text: str) -> Extract:
    """Return the text of one JSON value; if it is one record, with its title and date."""
    value = _loaded(text)
    if value is None:
        raise Unreadable("broken", "it is no JSON")
    records = value[0] if isinstance(value[0], list) else value
    blocks = up_to_limit(_all_blocks(records))
    record = value[0] if isinstance(value[0], dict) else {}
    date, kind = stated_date(record)
    title = _title_field(record)
    return Extract(record[title] if title else "", "\n\n".join(blocks), date, date_kind=kind)


def parse_jsonl(text: str) -> Extract:
    """Return the text of records, each on a line of its own; lines that are none stay as they are."""
    lines = [line for line in text.split("\n") if line.strip()]
    values = map(_loaded, lines)
    records = [line if value is None else value[0] for line, value in zip(lines, values, strict=True)]
    return Extract("", "\n\n".join(up_to_limit(_all_blocks(records))))


def _loaded(text: str) -> list[Any] | None:
    """Return the value in a list, because it may be null; none if the text is not JSON."""
    try:
        return [json.loads(text)]
    except (ValueError, RecursionError):
        return None

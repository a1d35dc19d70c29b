"""Parses JSON (a record, or a list of records), JSON Lines, and Jupyter notebooks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

from ..records import Extract, Unreadable
from .parse_text import first_heading, stated_date
from .tables import tables_of, up_to_limit

_TITLES = ("title", "headline", "subject", "name", "question", "label", "heading")
_BODIES = ("text", "content", "body", "abstract", "summary", "description", "answer", "message")
_TITLE_CHARACTERS = 200
"""A longer field is no title."""
_SHORT = 120
"""A longer field becomes a paragraph."""


def parse_json(text: str) -> Extract:
    """Return the text of a JSON value; for a single record, also title and date."""
    value = _loaded(text)
    if value is None:
        raise Unreadable("broken", "it is not JSON")
    records = value[0] if isinstance(value[0], list) else value
    blocks = up_to_limit(_all_blocks(records))
    record = value[0] if isinstance(value[0], dict) else {}
    date, kind = stated_date(record)
    title = _title_field(record)
    return Extract(record[title] if title else "", "\n\n".join(blocks), date, date_kind=kind)


def parse_jsonl(text: str) -> Extract:
    """Return the text of records, one per line; lines that are not JSON are kept."""
    lines = [line for line in text.split("\n") if line.strip()]
    values = map(_loaded, lines)
    records = [line if value is None else value[0] for line, value in zip(lines, values, strict=True)]
    return Extract("", "\n\n".join(up_to_limit(_all_blocks(records))))


def parse_notebook(text: str) -> Extract:
    """Return title and text of a Jupyter notebook: text, code and printed output."""
    from .parse_html import visible_text

    blocks = list[str]()
    try:
        for cell in json.loads(text)["cells"]:
            source = _cell_text(cell.get("source"))
            blocks.append(f"```\n{source}\n```" if cell.get("cell_type") == "code" and source else source)
            for output in cell.get("outputs") or ():
                data = output.get("data") or {}
                html = _cell_text(data.get("text/html"))
                plain = data.get("text/plain") or output.get("text")
                blocks.append(visible_text(html.encode()) if html else _cell_text(plain))
    except (ValueError, RecursionError, TypeError, KeyError, AttributeError) as error:
        raise Unreadable("broken", "it is not a notebook") from error
    written = "\n\n".join(blocks)
    return Extract(first_heading(written), written)


def _loaded(text: str) -> list[Any] | None:
    """Return the parsed value in a list, since it may be null; None if the text is not JSON."""
    try:
        return [json.loads(text)]
    except (ValueError, RecursionError):
        return None


def _blocks(record: Any) -> Iterator[str]:
    """Yield a record as Markdown: title, short fields, then long texts."""
    if not isinstance(record, dict):
        yield "\n".join(_lines("", record))
        return
    title = _title_field(record)
    if title is not None:
        yield f"## {' '.join(record[title].split())}"
    rest = {name: value for name, value in record.items() if name != title}
    texts = {name: value.strip() for name, value in rest.items() if _is_text(name, value)}
    lines = [line for name, value in rest.items() if name not in texts for line in _lines(name, value)]
    if lines:
        yield "\n".join(lines)
    for name, text in texts.items():
        yield text if name.lower() in _BODIES else f"{name}: {text}"


def _all_blocks(records: Sequence[Any]) -> Iterator[str]:
    """Yield records as a table if all their fields are short, otherwise one after another."""
    fields = [field for record in records if isinstance(record, dict) for field in record.items()]
    has_rows = len(records) > 1 and all(isinstance(record, dict) for record in records)
    if has_rows and not any(isinstance(value, dict | list) or _is_text(name, value) for name, value in fields):
        header = list(dict.fromkeys(name for record in records for name in record))
        rows = ([_shown(record.get(name)) for name in header] for record in records)
        return tables_of(chain([header], rows))
    return chain.from_iterable(map(_blocks, records))


def _title_field(record: dict[str, Any]) -> str | None:
    """Return the name of the field with the title of a record; None if there is none."""
    fields = {name.lower(): name for name, value in record.items() if isinstance(value, str) and value.strip()}
    named = (fields[title] for title in _TITLES if title in fields)
    return next((name for name in named if len(record[name]) <= _TITLE_CHARACTERS), None)


def _is_text(name: str, value: object) -> bool:
    """Whether a field becomes a paragraph of its own."""
    if not isinstance(value, str) or not value.strip():
        return False
    return name.lower() in _BODIES or len(value) > _SHORT or "\n" in value.strip()


def _lines(name: str, value: Any) -> Iterator[str]:
    """Yield a field as lines; nested fields have dotted names."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _lines(f"{name}.{key}" if name else key, inner)
    elif isinstance(value, list) and any(isinstance(inner, dict | list) for inner in value):
        for inner in value:
            yield from _lines(name, inner)
    elif shown := ", ".join(map(_shown, value if isinstance(value, list) else [value])):
        yield f"{name}: {shown}" if name else shown


def _shown(value: object) -> str:
    if value is None or isinstance(value, bool):
        return {None: "", True: "true", False: "false"}[value]
    return " ".join(str(value).split())


def _cell_text(lines: str | list[str] | None) -> str:
    return "".join(lines or "").strip()

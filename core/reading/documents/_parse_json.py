"""Parses JSON (a record, or a list of records), JSON Lines, and Jupyter notebooks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

from ._parse_text import first_heading, stated_date
from ._tables import tables_of, up_to_limit
from .records import Extract, Unreadable

_TITLES = ("title", "headline", "subject", "name", "question", "label", "heading")
_BODIES = ("text", "content", "body", "abstract", "summary", "description", "answer", "message")
_TITLE_CHARACTERS = 200
"""A longer field is no title."""
_SHORT = 120
"""A longer field becomes a paragraph."""
_NOT_JSON = object()
"""Stands for a text that is not JSON; None is the value `null`."""


def parse_json(text: str) -> Extract:
    """Return the text of a JSON value; for a single record, also title and date."""
    value = _loaded(text)
    if value is _NOT_JSON:
        raise Unreadable("broken", "it is not JSON")
    records = value if isinstance(value, list) else [value]
    body = "\n\n".join(up_to_limit(_all_blocks(records)))
    if not isinstance(value, dict):
        return Extract("", body)
    date, kind = stated_date(value)
    title = ""
    field = _title_field(value)
    if field:
        title = value[field]
    return Extract(title, body, date, date_kind=kind)


def parse_jsonl(text: str) -> Extract:
    """Return the text of records, one per line; lines that are not JSON are kept."""
    records = list[Any]()
    for line in text.split("\n"):
        if not line.strip():
            continue
        value = _loaded(line)
        if value is _NOT_JSON:
            value = line
        records.append(value)
    return Extract("", "\n\n".join(up_to_limit(_all_blocks(records))))


def parse_notebook(text: str) -> Extract:
    """Return title and text of a Jupyter notebook: text, code and printed output."""
    blocks = list[str]()
    try:
        for cell in json.loads(text)["cells"]:
            source = _cell_text(cell.get("source"))
            if source and cell.get("cell_type") == "code":
                source = f"```\n{source}\n```"
            blocks.append(source)
            blocks += map(_output, cell.get("outputs") or ())
    except (ValueError, RecursionError, TypeError, KeyError, AttributeError) as error:
        raise Unreadable("broken", "it is not a notebook") from error
    written = "\n\n".join(blocks)
    return Extract(first_heading(written), written)


def _output(output: dict[str, Any]) -> str:
    """Return what a notebook's cell has printed."""
    from ._parse_html import visible_text

    data = output.get("data") or {}
    html = _cell_text(data.get("text/html"))
    if html:
        return visible_text(html.encode())
    return _cell_text(data.get("text/plain") or output.get("text"))


def _loaded(text: str) -> Any:
    """Return the parsed value; `_NOT_JSON` if the text is not JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return _NOT_JSON


def _blocks(record: Any) -> Iterator[str]:
    """Yield a record as Markdown: title, short fields, then long texts."""
    if not isinstance(record, dict):
        yield "\n".join(_lines("", record))
        return
    title = _title_field(record)
    if title is not None:
        yield f"## {' '.join(record[title].split())}"
    lines = list[str]()
    texts = list[str]()
    for name, value in record.items():
        if name == title:
            continue
        if not _is_text(name, value):
            lines += _lines(name, value)
        elif name.lower() in _BODIES:
            texts.append(value.strip())
        else:
            texts.append(f"{name}: {value.strip()}")
    if lines:
        yield "\n".join(lines)
    yield from texts


def _all_blocks(records: Sequence[Any]) -> Iterator[str]:
    """Yield records as a table if all their fields are short, otherwise one after another."""
    if len(records) > 1 and all(map(_is_row, records)):
        return tables_of(_rows(records))
    return chain.from_iterable(map(_blocks, records))


def _rows(records: Sequence[dict[str, Any]]) -> Iterator[list[str]]:
    """Yield the names of all fields, then the fields of each record in this order."""
    header = list(dict.fromkeys(chain.from_iterable(records)))
    yield header
    for record in records:
        yield [_shown(record.get(name)) for name in header]


def _is_row(record: Any) -> bool:
    """Whether a record has only short fields."""
    if not isinstance(record, dict):
        return False
    for name, value in record.items():
        if isinstance(value, dict | list) or _is_text(name, value):
            return False
    return True


def _title_field(record: dict[str, Any]) -> str | None:
    """Return the name of the field with the title of a record; None if there is none."""
    fields = dict[str, str]()
    for name, value in record.items():
        if isinstance(value, str) and value.strip():
            fields[name.lower()] = name
    for title in _TITLES:
        field = fields.get(title)
        if field is not None and len(record[field]) <= _TITLE_CHARACTERS:
            return field
    return None


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
        return
    values = value if isinstance(value, list) else [value]
    if any(isinstance(inner, dict | list) for inner in values):
        for inner in values:
            yield from _lines(name, inner)
        return
    shown = ", ".join(map(_shown, values))
    if shown:
        yield f"{name}: {shown}" if name else shown


def _shown(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return " ".join(str(value).split())


def _cell_text(lines: str | list[str] | None) -> str:
    return "".join(lines or "").strip()

"""Files of JSON to text: one record, a list of records, or one record a line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import chain
from typing import Any

from .dates import iso_date
from .decode import TEXT_BYTES, clean, decode
from .json_records import record_blocks, title_of
from .records import Extract, Unreadable
from .tables import up_to_limit

JSON_BYTES = 20_000_000
DATES = ("updated", "modified", "date", "published", "created")


def parse_json(data: bytes, charset: str = "") -> Extract:
    """The text of one JSON value; if it is one record, with its title and date."""
    if len(data) > JSON_BYTES:
        raise Unreadable("too large", f"its {len(data)} bytes of JSON are more than {JSON_BYTES}")
    value = _loaded(clean(decode(data, charset, JSON_BYTES)))
    if value is None:
        raise Unreadable("broken", "it is no JSON")
    records = value[0] if isinstance(value[0], list) else value
    text = "\n\n".join(up_to_limit(chain.from_iterable(map(record_blocks, records))))
    record = value[0] if isinstance(value[0], dict) else {}
    dates = (iso_date(str(record.get(name) or "")) for name in DATES)
    return Extract(title_of(record), text, next(filter(None, dates), ""))


def parse_jsonl(data: bytes, charset: str = "") -> Extract:
    """The text of records, each on a line of its own; lines that are none stay as they are."""
    text = clean(decode(data, charset))
    lines = (line for line in text.split("\n") if line.strip())
    blocks = list(up_to_limit(chain.from_iterable(map(_line, lines))))
    return Extract("", "\n\n".join(blocks), is_cut=len(data) > TEXT_BYTES)


def _line(line: str) -> Iterator[str]:
    value = _loaded(line)
    return iter([line]) if value is None else record_blocks(value[0])


def _loaded(text: str) -> list[Any] | None:
    """The value in a list, because it may be null; none if the text is no JSON."""
    try:
        return [json.loads(text)]
    except (ValueError, RecursionError):
        return None

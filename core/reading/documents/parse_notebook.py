"""Parses Jupyter notebooks: text, code and printed output."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ..records import Extract, Unreadable
from .parse_html import whole_text
from .parse_text import first_heading


def parse_notebook(text: str) -> Extract:
    """Return the title and the text of a notebook."""
    try:
        cells = json.loads(text)["cells"]
        written = "\n\n".join(block for cell in cells for block in _blocks(cell))
    except (ValueError, RecursionError, TypeError, KeyError, AttributeError) as error:
        raise Unreadable("broken", "it is no notebook") from error
    return Extract(first_heading(written), written)


def _blocks(cell: dict[str, Any]) -> Iterator[str]:
    source = _text(cell.get("source"))
    yield f"```\n{source}\n```" if cell.get("cell_type") == "code" and source else source
    for output in cell.get("outputs") or ():
        data = output.get("data") or {}
        html = _text(data.get("text/html"))
        yield whole_text(html.encode()) if html else _text(data.get("text/plain") or output.get("text"))


def _text(lines: str | list[str] | None) -> str:
    return "".join(lines or "").strip()

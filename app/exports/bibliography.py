"""Exports the sources of a report for reference managers, as BibTeX and CSL-JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import unquote

from ...core.evidence.citations.rendering import safe_link, short_location, shown_title
from ...core.records.sources import Source, short_hash
from .finished import Finished

_DATE = re.compile(r"(\d{4})(?:-(\d{2}))?(?:-(\d{2}))?")
"""A date or its beginning: a year, a year and month, or all three."""
_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        **{character: f"\\{character}" for character in "{}$&#_%"},
    }
)
"""Characters that have a meaning in LaTeX, with their replacements."""
_DIGITS = 8
"""Number of hash digits in a source's id."""


def report_bibtex(finished: Finished) -> str:
    """Return a BibTeX entry for each cited source."""
    return bibtex(finished.cited)


def report_csl_json(finished: Finished) -> str:
    """Return a CSL-JSON list of the cited sources."""
    return csl_json(finished.cited)


def bibtex(sources: Iterable[Source]) -> str:
    """Return a BibTeX entry for each source (`@misc`, with biblatex date fields, not escaped to
    ASCII)."""
    entries = list[str]()
    for source in sources:
        day, read_on = _DATE.match(source.date), _DATE.match(source.read_at)
        fields = {
            "title": f"{{{shown_title(source).translate(_LATEX)}}}",
            "year": day[1] if day else "",
            "date": day[0] if day else "",
            "url": _link(source),
            "urldate": read_on[0] if read_on else "",
            "note": _path(source).translate(_LATEX),
        }
        lines = ",\n".join(f"  {name} = {{{value}}}" for name, value in fields.items() if value)
        entries.append(f"@misc{{{reference_id(source)},\n{lines}\n}}")
    return "\n\n".join(entries)


def csl_json(sources: Iterable[Source]) -> str:
    """Return a JSON list with an item for each source (CSL-JSON 1.0.2)."""
    items = [
        {
            "id": reference_id(source),
            "type": "document" if source.kind == "document" else "webpage",
            "title": shown_title(source),
            "URL": _link(source),
            "issued": _parts(source.date),
            "accessed": _parts(source.read_at),
            "note": _path(source),
        }
        for source in sources
    ]
    given = [{name: value for name, value in item.items() if value} for item in items]
    return json.dumps(given, ensure_ascii=False, indent=2)


def reference_id(source: Source) -> str:
    """Return a source id that is the same in every export: file name or site, and the beginning of
    a hash."""
    origin = (
        _path(source).rpartition("/")[2].rpartition(".")[0]
        if source.kind == "document"
        else short_location(source)
    )
    words = re.sub(r"[^a-z0-9]+", "-", origin.lower()).strip("-")[:40].rstrip("-") or "source"
    return f"{words}-{short_hash(source.key)[:_DIGITS]}"


def _parts(date: str) -> dict[str, Any]:
    found = _DATE.match(date)
    return {"date-parts": [[int(part) for part in found.groups() if part]]} if found else {}


def _link(source: Source) -> str:
    return "" if source.location.lower().startswith("file:") else safe_link(source.location)


def _path(source: Source) -> str:
    """Return the path or URL of a document of the user; empty for a page from the web."""
    path = re.sub("^file:(//)?", "", source.location, flags=re.IGNORECASE)
    return unquote(path) if source.kind == "document" else ""

"""Exports the sources of a report for reference managers, as BibTeX and CSL-JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import unquote

from ...core.records.sources import Source, safe_link, short_hash
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
_MOST_CHARACTERS = 40
"""Maximum length of the words in a source's id."""
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
        fields = {"title": f"{{{source.shown_title.translate(_LATEX)}}}"}
        fields["publisher"] = source.shown_publisher.translate(_LATEX)
        if date := _DATE.match(source.date):
            fields["year"] = date[1]
            fields["date"] = date[0]
        fields["url"] = _link(source)
        if read_on := _DATE.match(source.read_at):
            fields["urldate"] = read_on[0]
        fields["note"] = _path(source).translate(_LATEX)
        lines = [f"  {name} = {{{value}}}" for name, value in fields.items() if value]
        content = ",\n".join(lines)
        entries.append(f"@misc{{{reference_id(source)},\n{content}\n}}")
    return "\n\n".join(entries)


def csl_json(sources: Iterable[Source]) -> str:
    """Return a JSON list with an item for each source (CSL-JSON 1.0.2)."""
    items = list[dict[str, Any]]()
    for source in sources:
        fields = {
            "id": reference_id(source),
            "type": "document" if source.kind == "document" else "webpage",
            "title": source.shown_title,
            "publisher": source.shown_publisher,
            "URL": _link(source),
            "issued": _date_parts(source.date),
            "accessed": _date_parts(source.read_at),
            "note": _path(source),
        }
        items.append({name: value for name, value in fields.items() if value})
    return json.dumps(items, ensure_ascii=False, indent=2)


def reference_id(source: Source) -> str:
    """Return a source id that is the same in every export: file name or site, and the beginning of
    a hash."""
    if source.kind == "document":
        file_name = _path(source).rpartition("/")[2]
        origin = file_name.rpartition(".")[0]
    else:
        origin = source.short_location
    words = re.sub(r"[^a-z0-9]+", "-", origin.lower()).strip("-")
    words = words[:_MOST_CHARACTERS].rstrip("-") or "source"
    return f"{words}-{short_hash(source.key)[:_DIGITS]}"


def _date_parts(date: str) -> dict[str, list[list[int]]]:
    """Return a date as in CSL-JSON: the numbers of its year, month and day; empty if unknown."""
    match = _DATE.match(date)
    if not match:
        return {}
    parts = [int(part) for part in match.groups() if part]
    return {"date-parts": [parts]}


def _link(source: Source) -> str:
    """Return the link to a source; empty for a file of the user."""
    if source.location.lower().startswith("file:"):
        return ""
    return safe_link(source.location)


def _path(source: Source) -> str:
    """Return the path or URL of a document of the user; empty for a page from the web."""
    if source.kind != "document":
        return ""
    return unquote(re.sub("^file:(//)?", "", source.location, flags=re.IGNORECASE))

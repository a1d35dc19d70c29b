"""Plain text and Markdown: already text, with title and date as people write them."""

from __future__ import annotations

import re

from .dates import iso_date
from .records import Extract
from .titles import first_line

_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_HEADING = re.compile(r"^#{1,6}[ \t]+(\S.*)$", re.MULTILINE)
_UNDERLINED = re.compile(r"^([^\n]+)\n(?:=+|-+|~+|\*+)[ \t]*$", re.MULTILINE)
_DATES = ("updated", "lastmod", "last_modified_at", "modified", "date", "published", "pubdate", "created")


def parse_markdown(text: str) -> Extract:
    """Title and date from the front matter, the title else from the first heading."""
    found = _FRONT_MATTER.match(text)
    fields = _fields(found.group(1)) if found else {}
    body = text[found.end() :] if found else text
    dates = (iso_date(fields.get(name, "")) for name in _DATES)
    # A file of nothing but front matter still has that to say.
    return Extract(
        fields.get("title") or first_heading(body), body if body.strip() else text, next(filter(None, dates), "")
    )


def parse_text(text: str) -> Extract:
    """Its title is the first line, if that stands apart from the rest."""
    _, _, rest = text.lstrip().partition("\n")
    second = rest.partition("\n")[0].strip()
    is_apart = bool(rest) and not second.strip("=-~*#")
    return Extract(first_line(text) if is_apart else "", text)


def first_heading(text: str) -> str:
    """The first heading of a Markdown text; empty if there is none."""
    heading = _HEADING.search(text) or _UNDERLINED.search(text)
    return heading.group(1).rstrip() if heading else ""


def _fields(front_matter: str) -> dict[str, str]:
    pairs = (line.partition(":") for line in front_matter.splitlines())
    return {key.strip().lower(): value.strip().strip("\"'") for key, _, value in pairs}

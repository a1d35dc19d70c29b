"""Reads what the head and the scripts of a web page say about it: meta fields and JSON-LD."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from datetime import date
from typing import Any, NamedTuple

import lxml.html

_STATED = re.compile(r"(\d{4})(?:[-/.](\d{1,2})(?:[-/.](\d{1,2}))?)?(?![\d/.-])")
_PARTS = re.compile(r"\s+[|•·:»«–—-]+\s+|\s*[|»«]\s*|:\s+")
"""What separates the name of a site from the title of a page."""
_Node = dict[str, Any]


class PageData(NamedTuple):
    """What a page states for programs."""

    linked: list[_Node]
    """Top-level nodes of its JSON-LD, which describe the whole page."""
    meta: dict[str, list[str]]
    """Values of its meta fields by name, in lower case with dots for underscores."""

    def named(self, *names: str) -> list[str]:
        """Return the values of these meta fields."""
        values = list[str]()
        for name in names:
            values += self.meta.get(name, ())
        return values

    def values(self, name: str) -> list[Any]:
        """Return the values of this field of the JSON-LD nodes."""
        return [node.get(name) for node in self.linked]


def page_data(root: lxml.html.HtmlElement) -> PageData:
    """Return what a page states for programs."""
    return PageData(list(_linked_data(root)), _meta(root))


def _meta(root: lxml.html.HtmlElement) -> dict[str, list[str]]:
    """Return the values of a page's meta fields, by their names."""
    meta = defaultdict[str, list[str]](list)
    for element in root.iter("meta"):
        value = element.get("content", "")
        for attribute in ("name", "property", "itemprop"):
            name = element.get(attribute)
            if name:
                meta[name.lower().replace("_", ".")].append(value)
    return meta


def _linked_data(root: lxml.html.HtmlElement) -> Iterator[_Node]:
    """Yield the top-level JSON-LD nodes of a page, which describe the whole page."""
    for script in root.xpath("//script[contains(@type, 'ld+json')]/text()"):
        value = from_json(str(script))
        top = listed_nodes(value)
        for node in top:
            yield node
            yield from listed_nodes(node.get("@graph"))
            yield from listed_nodes(node.get("mainEntity"))


def listed_nodes(value: object) -> list[_Node]:
    """Return the nodes in a value of JSON-LD, which is one node or a list."""
    values = value if isinstance(value, list) else [value]
    return [node for node in values if isinstance(node, dict)]


def from_json(script: str) -> Any:
    """Return the value in a script; None if it is not JSON."""
    try:
        return json.loads(script, strict=False)
    except (ValueError, RecursionError):
        return None


def stated_day(stated: object) -> str:
    """Return the date at the start of a field in ISO 8601 (day, month or year).

    Empty if there is none.
    """
    match = _STATED.match(str(stated or "").strip())
    if not match:
        return ""
    year, month, day = (int(part or 0) for part in match.groups())
    try:
        date(year, month or 1, day or 1)
    except ValueError:
        return ""
    iso = f"{year:04}"
    for part in (month, day):
        if part:
            iso += f"-{part:02}"
    return iso


def one_line(text: str) -> str:
    return " ".join(text.split())


def title_parts(root: lxml.html.HtmlElement) -> list[str]:
    """Return the parts of a page's `<title>`: the title, and often the name of the site."""
    return _PARTS.split(one_line(root.findtext(".//title") or ""))


def name_parts(name: str) -> list[str]:
    """Return the parts of the name of a site: the name, and perhaps a slogan."""
    return _PARTS.split(one_line(name))

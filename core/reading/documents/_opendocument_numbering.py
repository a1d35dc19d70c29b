"""Numbers of list items and headings in OpenDocument files (version 1.3, part 3, sections 5.3 and
16.30)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from ._numbering import BULLET, shown
from ._office import local_name

if TYPE_CHECKING:
    from lxml import etree

_LEVELS = 10
_PLACEHOLDER = re.compile(r"%(\d+)%")
_LEVEL_STYLES = ("list-level-style-number", "outline-level-style")


class _Level(NamedTuple):
    """A level of a list style."""

    number_format: str = ""
    """As in HTML (`1`, `a`, `i`); empty for no number."""
    prefix: str = ""
    suffix: str = ""
    levels: int = 1
    """How many levels are shown, the last of which is this one."""
    first: int = 1
    layout: str = ""
    """What is shown, with `%1%` for the number of the first level; replaces the fields above."""
    is_bullet: bool = False


_Counts = dict[int, int]
"""Last numbers by level, from 1."""


class OpenDocumentNumbering:
    """The list styles of a document, and how far its lists and headings have been counted."""

    def __init__(self, roots: Iterable[etree._Element]) -> None:
        """`roots`: those of `content.xml` and `styles.xml`."""
        self._styles: dict[str, dict[int, _Level]] = {}
        self._outline: dict[int, _Level] = {}
        self._lists_of_paragraphs: dict[str, str] = {}
        """List styles by paragraph style."""
        self._counts_of_styles: dict[str, _Counts] = {}
        self._counts_of_lists: dict[str, _Counts] = {}
        """Where the last list of a style, and the list with an id, ended."""
        for root in roots:
            for style in root.iter("{*}list-style"):
                self._styles[attributes_of(style).get("name", "")] = _levels_of(style)
            for outline in root.iter("{*}outline-style"):
                self._outline = _levels_of(outline)
            for style in root.iter("{*}style"):
                values = attributes_of(style)
                if values.get("list-style-name"):
                    self._lists_of_paragraphs[values.get("name", "")] = values["list-style-name"]

    def labels(self, body: etree._Element) -> Iterator[tuple[etree._Element, str]]:
        """Yield the list items and headings with what is shown before them; bullets are
        `BULLET`."""
        outline_counts: _Counts = {}
        for element in body.iter("{*}list", "{*}h"):
            if next(element.iterancestors("{*}list"), None) is not None:
                continue
            if local_name(element) == "list":
                yield from self._list(element)
                continue
            values = attributes_of(element)
            level = _number(values.get("outline-level", ""), 1)
            if values.get("is-list-header") == "true" or level not in self._outline:
                continue
            if values.get("restart-numbering") == "true":
                outline_counts[level] = _number(values.get("start-value", ""), 1) - 1
            _count(outline_counts, level, self._outline)
            label = _written(level, self._outline, outline_counts)
            if label:
                yield element, label

    def _list(self, element: etree._Element) -> Iterator[tuple[etree._Element, str]]:
        """Yield the labels of a list that is in no other list."""
        values = attributes_of(element)
        name = values.get("style-name", "")
        paragraph = next(element.iter("{*}p", "{*}h"), None)
        if not name and paragraph is not None:
            style = attributes_of(paragraph).get("style-name", "")
            name = self._lists_of_paragraphs.get(style, "")
        counts: _Counts = {}
        if values.get("continue-list") in self._counts_of_lists:
            counts = self._counts_of_lists[values["continue-list"]]
        elif values.get("continue-numbering") == "true":
            counts = self._counts_of_styles.get(name, {})
        self._counts_of_styles[name] = counts
        self._counts_of_lists[values.get("id", "")] = counts
        yield from self._items(element, 1, name, counts)

    def _items(
        self, element: etree._Element, level: int, name: str, counts: _Counts
    ) -> Iterator[tuple[etree._Element, str]]:
        levels = self._styles.get(name, {})
        for item in element.iterchildren("{*}list-item"):
            # An item without text of its own only holds the lists of deeper levels.
            if next(item.iterchildren("{*}p", "{*}h"), None) is not None:
                start = attributes_of(item).get("start-value", "")
                if start:
                    counts[level] = _number(start, 1) - 1
                _count(counts, level, levels)
                yield item, _label(level, levels, counts)
            for inner in item.iterchildren("{*}list"):
                inner_name = attributes_of(inner).get("style-name", name)
                if level < _LEVELS:
                    yield from self._items(inner, level + 1, inner_name, counts)


def attributes_of(element: etree._Element) -> dict[str, str]:
    """Return the attributes of an element, by names without namespace."""
    return {str(name).rpartition("}")[2]: str(value) for name, value in element.attrib.items()}


def _levels_of(style: etree._Element) -> dict[int, _Level]:
    levels = dict[int, _Level]()
    for element in style:
        values = attributes_of(element)
        levels[_number(values.get("level", ""), 1)] = _Level(
            number_format=values.get("num-format", ""),
            prefix=values.get("num-prefix", ""),
            suffix=values.get("num-suffix", ""),
            levels=_number(values.get("display-levels", ""), 1),
            first=_number(values.get("start-value", ""), 1),
            layout=values.get("num-list-format", ""),
            is_bullet=local_name(element) not in _LEVEL_STYLES,
        )
    return levels


def _count(counts: _Counts, level: int, levels: Mapping[int, _Level]) -> None:
    first = levels.get(level, _Level()).first
    counts[level] = counts.get(level, first - 1) + 1
    for deeper in range(level + 1, _LEVELS + 1):
        counts.pop(deeper, None)


def _label(level: int, levels: Mapping[int, _Level], counts: _Counts) -> str:
    """Return what is shown before a list item."""
    if levels.get(level, _Level(is_bullet=True)).is_bullet:
        return BULLET
    return _written(level, levels, counts) or BULLET


def _written(level: int, levels: Mapping[int, _Level], counts: _Counts) -> str:
    style = levels.get(level, _Level())
    if not style.number_format:
        return ""

    def number(index: int) -> str:
        counted = levels.get(index, _Level())
        if not counted.number_format:
            return ""
        return shown(counts.get(index, counted.first), counted.number_format)

    if style.layout:
        return _PLACEHOLDER.sub(lambda found: number(int(found[1])), style.layout).strip()
    first = max(1, level - style.levels + 1)
    numbers = filter(None, map(number, range(first, level + 1)))
    return f"{style.prefix}{'.'.join(numbers)}{style.suffix}".strip()


def _number(text: str, usual: int) -> int:
    return int(text) if text.isdecimal() and len(text) < 6 else usual

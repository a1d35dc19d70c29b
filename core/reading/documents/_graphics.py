"""Text of charts and diagrams (SmartArt), which slides and Word documents store in parts of their
own."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from ._office import local_name
from ._tables import shown_number

if TYPE_CHECKING:
    from lxml import etree

Block = str | list[list[str]]
"""A line of text, or the rows of a table, of which the first is its header."""
_UNSEEN_POINTS = ("pres", "parTrans", "sibTrans")
"""Points of a diagram that are no text of it: shapes and connections."""


def diagram_lines(data: etree._Element) -> Iterator[str]:
    """Yield the texts of a diagram by its data part, from the outer ones to the inner ones."""
    words = dict[str, str]()
    for point in data.iter("{*}pt"):
        if point.get("type", "node") not in _UNSEEN_POINTS:
            words[point.get("modelId", "")] = _point_words(point)
    inner = defaultdict[str, list[tuple[int, str]]](list)
    has_parent = set[str]()
    for connection in data.iter("{*}cxn"):
        source, target = connection.get("srcId", ""), connection.get("destId", "")
        if connection.get("type", "parOf") == "parOf" and source in words:
            position = connection.get("srcOrd", "0")
            inner[source].append((int(position) if position.isdecimal() else 0, target))
            has_parent.add(target)
    waiting = [point for point in reversed(words) if point not in has_parent]
    # Points of a broken diagram may form a ring.
    seen = set[str]()
    while waiting:
        point = waiting.pop()
        if point in seen:
            continue
        seen.add(point)
        if words.get(point):
            yield words[point]
        waiting += [target for _, target in sorted(inner[point], reverse=True)]
    yield from (text for point, text in words.items() if text and point not in seen)


def _point_words(point: etree._Element) -> str:
    paragraphs = [_words(paragraph, "t") for paragraph in point.iter("{*}p")]
    return " ".join(filter(None, paragraphs))


class _Series(NamedTuple):
    """A series of a chart: its name, and its labels and values by index."""

    name: str
    labels: dict[int, str]
    values: dict[int, str]


def chart_blocks(chart: etree._Element) -> Iterator[Block]:
    """Yield the title of a chart of any kind, and tables with a column per series."""
    title = _chart_title(chart)
    if title:
        yield title
    series = list(map(_series, chart.iter("{*}ser")))
    # Series with the same labels share a table.
    distinct = {tuple(part.labels.items()): part.labels for part in series}
    for labels in distinct.values():
        columns = [part for part in series if part.labels == labels]
        yield from _chart_table(labels, columns)


def _chart_title(chart: etree._Element) -> str:
    for title in chart.iter("{*}title"):
        # Axes have titles too.
        if local_name(title.getparent()) == "chart":
            return _words(title, "t")
    return ""


def _series(element: etree._Element) -> _Series:
    parts = {local_name(part): part for part in element}
    name = ""
    if "tx" in parts:
        name = _words(parts["tx"], "v")
    labels = _points(parts.get("cat", parts.get("xVal")))
    values = _points(parts.get("val", parts.get("yVal")))
    return _Series(name, labels, values)


def _chart_table(labels: Mapping[int, str], columns: Sequence[_Series]) -> Iterator[Block]:
    """Yield a table of series that have the same labels."""
    positions = set(labels)
    for series in columns:
        positions.update(series.values)
    if not positions:
        return
    rows = [["", *(series.name for series in columns)]]
    for position in sorted(positions):
        row = [labels.get(position, "")]
        for series in columns:
            row.append(series.values.get(position, ""))
        rows.append(row)
    yield rows


def _points(part: etree._Element | None) -> dict[int, str]:
    """Return the values or labels of a series by index.

    For multi-level labels, the lowest level.
    """
    points = dict[int, str]()
    if part is None:
        return points
    for point in part.iter("{*}pt"):
        words = _words(point, "v")
        if local_name(point.getparent()).startswith("num"):
            # Sheets write "#N/A" for missing numbers.
            with suppress(ValueError):
                words = shown_number(float(words))
        points.setdefault(int(point.get("idx", "0")), words)
    return points


def _words(parent: etree._Element, name: str) -> str:
    text = "".join(element.text or "" for element in parent.iter(f"{{*}}{name}"))
    return " ".join(text.split())

"""The figures of a chart, as a table: what a chart keeps of the sheet that it was drawn from."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from lxml import etree

from .archives import local_name
from .tables import table_of

DIGITS = 12
_WHOLE = re.compile(r"[+-]?\d+")


class _Series(NamedTuple):
    name: str
    labels: tuple[str, ...]
    values: tuple[str, ...]


def chart_blocks(chart: etree._Element) -> Iterator[str]:
    """Its title, and a table with a column for each series; of any kind of chart, also those that no library knows."""
    # Axes have titles too.
    title = next((one for one in _all(chart, "title") if local_name(one.getparent()) == "chart"), None)
    if title is not None and (words := " ".join("".join(one.text or "" for one in _all(title, "t")).split())):
        yield words
    alike: dict[tuple[str, ...], list[_Series]] = defaultdict(list)
    for series in map(_series, _all(chart, "ser")):
        alike[series.labels].append(series)
    for labels, group in alike.items():
        rows = [[label, *(one.values[place] for one in group)] for place, label in enumerate(labels)]
        if rows:
            yield from table_of([["", *(one.name for one in group)], *rows])


def _series(element: etree._Element) -> _Series:
    parts = {local_name(part): part for part in element}
    name = " ".join("".join(one.text or "" for one in _all(parts["tx"], "v")).split()) if "tx" in parts else ""
    labels = _points(parts.get("cat", parts.get("xVal")))
    values = _points(parts.get("val", parts.get("yVal")))
    places = sorted(labels.keys() | values.keys())
    return _Series(
        name, tuple(labels.get(place, "") for place in places), tuple(values.get(place, "") for place in places)
    )


def _points(part: etree._Element | None) -> dict[int, str]:
    """What is kept for each place; of labels on several levels the lowest."""
    found: dict[int, str] = {}
    for point in _all(part, "pt") if part is not None else ():
        for value in _all(point, "v"):
            words = " ".join((value.text or "").split())
            is_number = local_name(point.getparent()).startswith("num")
            found.setdefault(int(point.get("idx", "0")), _rounded(words) if is_number else words)
    return found


def _rounded(number: str) -> str:
    """A number without the last figures, which come from reckoning in binary; a whole one as it is."""
    try:
        return number if _WHOLE.fullmatch(number) else f"{float(number):.{DIGITS}g}"
    except ValueError:
        # Sheets write "#N/A" where there is none.
        return number


def _all(parent: etree._Element, name: str) -> Iterator[etree._Element]:
    return (one for one in parent.iter() if local_name(one) == name)

"""Adds line charts below tables that are clearly time series, with matplotlib (the extra
`charts`)."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from copy import deepcopy
from io import BytesIO
from itertools import pairwise
from math import ceil, isnan, nan
from typing import NamedTuple

import lxml.html
from babel.core import UnknownLocaleError
from babel.numbers import format_decimal, get_decimal_symbol
from lxml.html import builder

from ...core.evidence.citations.labels import is_right_to_left, labels
from ...core.evidence.text.numbers import measures_in, numbers_in
from ...core.evidence.text.words import all_month_names

_MOST = 3
"""Maximum charts per report."""
_FEWEST_POINTS = 3
"""Minimum points per line."""
_MOST_LINES = 4
"""Maximum lines that are distinct in black and white."""
_MOST_TICKS = 12
"""Maximum labels of the time axis."""
_TIME = re.compile(
    r"(?:[QT](?P<quarter>[1-4])[ /-]?|(?P<month>[^\W\d_]{3,})\.?(?: |$))?"
    r"(?:FY ?)?(?P<year>(?:1[5-9]|2[01])\d\d)?"
    r"(?:-(?P<number>0[1-9]|1[0-2])(?:-(?P<day>\d\d))?|[/–]\d\d(?:\d\d)?)?(?: \(.+\)|[ep*])?"
)
"""A time in a header or first column: a year, quarter, month, day, or fiscal year such as
2023/24."""
_LONGEST_UNIT = 24
"""Maximum length of a unit in a cell with a number, in characters."""
_SIGN = re.compile(r"\s*[+−-]?\s*(?:[A-Z]{3}\s*)?")
"""A sign and the code of a currency before a number."""
_NO_UNIT = re.compile(r"[\d()<>~±;:?]")
_UNIT = re.compile(r"[(\[]([^()\[\]]+)[)\]]$|(?:,| in) ([^,]+)$")
"""A unit at the end of a heading: in brackets, after a comma, or after "in"."""
_LOOKS = (("o", "-", "black"), ("s", "--", "dimgray"), ("^", ":", "black"), ("D", "-.", "gray"))
"""Marker, line style and colour of each line."""
_CITES = ".//*[contains(concat(' ', @class, ' '), ' cite ')]"
"""XPath of the citations in an element."""
_DRAWN = range(0x500)
"""Code points that matplotlib's own font can draw and that need no joining of letters, as Arabic
does."""


class Series(NamedTuple):
    """A table that is a time series."""

    names: Sequence[str]
    """Times as the table writes them."""
    times: Sequence[float]
    """Times in years, rising or falling."""
    lines: Mapping[str, Sequence[float]]
    """Numbers of each line of the chart, by name; nan for cells that are empty or marked as not
    verified."""


class _Figure(NamedTuple):
    """The content of a cell that is a number, or empty."""

    number: float
    """Its number; nan if it is empty."""
    unit: str
    """Its currency or unit; empty if it has none."""


def add_charts(tree: lxml.html.HtmlElement, language_code: str, picture: str) -> None:
    """Add a chart (`picture`: `svg` or `png`) below the first time series; does nothing without the
    extra `charts`."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        return
    if is_right_to_left(language_code):
        return
    title = ""
    charts_left = _MOST
    for element in list(tree.iter("h2", "h3", "h4", "h5", "h6", "table")):
        if element.tag != "table":
            title = " ".join(element.text_content().split())
            continue
        series = series_of(_rows(element, language_code), title, language_code)
        if series:
            element.getparent().addnext(_figure(series, title, element, language_code, picture))
            charts_left -= 1
        if not charts_left:
            return


def mark_numbers(table: lxml.html.HtmlElement, language_code: str) -> None:
    """Add the class `figure` to all cells of columns that contain only numbers, including the
    header."""
    _, *rows = _rows(table, language_code)
    for column, cells in enumerate(zip(*rows, strict=False)):
        figures = [_figure_of(cell, language_code) for cell in cells]
        numbers = [figure.number for figure in figures if figure]
        if len(numbers) < len(figures) or all(map(isnan, numbers)):
            continue
        for cell in table.xpath(f".//tr/*[{column + 1}]"):
            cell.classes.add("figure")


def _rows(table: lxml.html.HtmlElement, language_code: str) -> list[list[str]]:
    """Return the text of each cell by row, without citations; empty for cells marked as not
    verified."""
    table = deepcopy(table)
    for mark in [*table.xpath(_CITES), *table.find_class("note")]:
        mark.drop_tree()
    mark = f"({labels(language_code).not_verified})"
    rows = list[list[str]]()
    for row in table.iter("tr"):
        texts = list[str]()
        for cell in row:
            text = " ".join(cell.text_content().split())
            texts.append("" if mark in text else text)
        rows.append(texts)
    return rows


def series_of(rows: Sequence[Sequence[str]], title: str, language_code: str) -> Series | None:
    """Return a table as a time series; None unless its times are in order and its numbers share a
    unit."""
    names = [row[0] for row in rows[1:]]
    times = _times(names)
    table = rows
    if not times:
        table = list(zip(*rows, strict=False))
        names = [row[0] for row in table[1:]]
        times = _times(names)
    table_unit = _unit(rows[0][0]) or _unit(title)
    lines = dict[str, Sequence[float]]()
    units = set[str]()
    for name, *cells in list(zip(*table, strict=False))[1:]:
        if not any(cells):
            # The column contained only citations.
            continue
        if name in lines:
            return None
        line = list[float]()
        points = 0
        for cell in cells:
            figure = _figure_of(cell, language_code)
            if figure is None:
                return None
            line.append(figure.number)
            if not isnan(figure.number):
                points += 1
                units.add(figure.unit or _unit(name) or table_unit)
        if points < _FEWEST_POINTS:
            return None
        lines[name] = line
    if not times or len(lines) > _MOST_LINES or len(units) != 1:
        return None
    if len(lines) > 1 and units == {""}:
        return None
    if any(ord(character) not in _DRAWN for character in "".join([*names, *lines])):
        return None
    return Series(names, times, lines)


def _times(names: Sequence[str]) -> Sequence[float]:
    """Parse names as times in years; empty unless all have the same form and rise or fall."""
    if len(names) < _FEWEST_POINTS:
        return ()
    times = list[float]()
    forms = set[tuple[str, ...]]()
    for name in names:
        match = _TIME.fullmatch(name)
        if not match:
            return ()
        parts = match.groupdict(default="")
        if not parts["year"] and not parts["month"]:
            return ()
        forms.add(tuple(key for key, words in parts.items() if words))
        month = int(parts["number"] or 0) or 3 * int(parts["quarter"] or 0)
        if parts["month"]:
            month = all_month_names().get(parts["month"].casefold(), 0)
            if not month:
                return ()
        times.append(int(parts["year"] or 0) + month / 12 + int(parts["day"] or 0) / 366)
    steps = [later - earlier for earlier, later in pairwise(times)]
    if len(forms) == 1 and (min(steps) > 0 or max(steps) < 0):
        return times
    return ()


def _figure_of(cell: str, language_code: str) -> _Figure | None:
    """Return the number in a cell and its unit; nan for an empty cell, None for other text."""
    if not cell.strip("–—- "):
        return _Figure(nan, "")
    numbers = numbers_in(cell, _decimal_sign(language_code))
    if len(numbers) != 1:
        return None
    [number] = numbers
    unit = cell[number.end :]
    is_alone = _SIGN.fullmatch(cell[: number.start]) and not _NO_UNIT.search(unit)
    if number.is_name or number.is_word or not is_alone or len(unit) > _LONGEST_UNIT:
        return None
    value = number.value
    if number.sign < 0:
        value = -value
    return _Figure(value, f"{number.measure} {unit}".strip(" .").casefold())


def _decimal_sign(language_code: str) -> str:
    """Return the decimal sign of a language."""
    try:
        return get_decimal_symbol(language_code or "en")
    except (UnknownLocaleError, ValueError):
        return ""


def _unit(words: str) -> str:
    """Return the unit of measure in a heading; empty if there is none."""
    match = _UNIT.search(words)
    if not match:
        return ""
    return " ".join(sorted(measures_in(match[1] or match[2])))


def _figure(
    series: Series, title: str, table: lxml.html.HtmlElement, language_code: str, picture: str
) -> lxml.html.HtmlElement:
    """Return a figure: the chart, with its data as alternative text, and a caption with heading and
    citations."""
    descriptions = list[str]()
    for name, line in series.lines.items():
        points = list[str]()
        for time, number in zip(series.names, line, strict=True):
            if not isnan(number):
                points.append(f"{time} {_written(number, language_code)}")
        descriptions.append(f"{name}: {', '.join(points)}")
    data = base64.b64encode(_drawn(series, language_code, picture)).decode()
    kind = picture.replace("svg", "svg+xml")
    image = builder.IMG(
        src=f"data:image/{kind};base64,{data}", alt=f"{title}. {'; '.join(descriptions)}"
    )
    only_name = next(iter(series.lines)) if len(series.lines) == 1 else ""
    heading = only_name
    if title not in only_name:
        heading = f"{title}: {only_name}".rstrip(" :")
    caption = builder.E.figcaption(f"{heading}\u00a0")
    cites = {cite.text: cite for cite in table.xpath(_CITES)}
    for cite in cites.values():
        copy = deepcopy(cite)
        copy.tail = None
        caption.append(copy)
    return builder.E.figure(builder.CLASS("chart"), image, caption)


def _drawn(series: Series, language_code: str, picture: str) -> bytes:
    """Draw the chart as `svg` or `png`."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context({"font.size": 8, "svg.hashsalt": "chart", "text.parse_math": False}):
        figure = Figure(figsize=(6.3, 2.5), layout="constrained")
        axes = figure.add_subplot()
        for (name, line), (marker, dash, colour) in zip(series.lines.items(), _LOOKS, strict=False):
            axes.plot(series.times, line, marker=marker, linestyle=dash, color=colour, label=name)
        if axes.dataLim.ymin >= 0 and axes.dataLim.ymin <= axes.dataLim.ymax / 2:
            axes.set_ylim(bottom=0)
        step = ceil(len(series.names) / _MOST_TICKS)
        axes.set_xticks(series.times[::step], series.names[::step])
        axes.yaxis.set_major_formatter(lambda value, _: _written(value, language_code))
        axes.grid(axis="y", color="lightgray", linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
        if len(series.lines) > 1:
            figure.legend(frameon=False, loc="outside upper left", ncols=2, handlelength=3.5)
        file = BytesIO()
        # Without a date, the same report is the same file.
        metadata = {"Date": None} if picture == "svg" else {}
        figure.savefig(file, format=picture, dpi=220, metadata=metadata)
    return file.getvalue()


def _written(value: float, language_code: str) -> str:
    return format_decimal(round(value, 6), locale=language_code or "en")

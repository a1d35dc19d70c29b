"""Adds line charts below tables that are clearly time series, with matplotlib (the extra
`charts`)."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from copy import deepcopy
from io import BytesIO
from itertools import pairwise
from math import isnan, nan
from typing import NamedTuple

import lxml.html
from babel.numbers import NumberFormatError, format_decimal, parse_decimal
from lxml.html import builder

from ...core.evidence.citations.labels import is_right_to_left, labels
from ...core.evidence.text.quantities import measures_in
from ...core.evidence.text.words import all_month_names

_MOST, _FEWEST_POINTS, _MOST_LINES = 3, 3, 4
"""Maximum charts per report, minimum points per line, and maximum lines that are distinct in black
and white."""
_TIME = re.compile(
    r"(?:[QT](?P<quarter>[1-4])[ /-]?|(?P<month>[^\W\d_]{3,})\.?(?: |$))?(?:FY ?)?(?P<year>(?:1[5-9]|2[01])\d\d)?"
    r"(?:-(?P<number>0[1-9]|1[0-2])(?:-(?P<day>\d\d))?|[/–]\d\d(?:\d\d)?)?(?: \(.+\)|[ep*])?"
)
"""A time in a header or first column: a year, quarter, month, day, or fiscal year such as
2023/24."""
_CELL = re.compile(
    r"(?P<money>[€$£¥]|[A-Z]{3} )? ?(?P<number>[+−-]?\d[\d.,'’\s]*)(?P<unit>[^\d()<>~±;:?]{0,24})"
)
"""A number with its currency or unit, as the only content of a cell."""
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


def add_charts(tree: lxml.html.HtmlElement, language_code: str, picture: str) -> None:
    """Add a chart (`picture`: `svg` or `png`) below the first time series; does nothing without the
    extra `charts`."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        return
    title, charts_left = "", 0 if is_right_to_left(language_code) else _MOST
    for element in [*tree.iter("h2", "h3", "h4", "h5", "h6", "table")]:
        if element.tag != "table":
            title = " ".join(element.text_content().split())
        elif charts_left and (
            series := series_of(_rows(element, language_code), title, language_code)
        ):
            element.getparent().addnext(_figure(series, title, element, language_code, picture))
            charts_left -= 1


def mark_numbers(table: lxml.html.HtmlElement, language_code: str) -> None:
    """Add the class `figure` to all cells of columns that contain only numbers, including the
    header."""
    _, *rows = _rows(table, language_code)
    for column, cells in enumerate(zip(*rows, strict=False)):
        found = [_figure_of(cell, language_code) for cell in cells]
        if None not in found and not all(isnan(figure[0]) for figure in found if figure):
            for cell in table.xpath(f".//tr/*[{column + 1}]"):
                cell.classes.add("figure")


def _rows(table: lxml.html.HtmlElement, language_code: str) -> list[list[str]]:
    """Return the text of each cell by row, without citations; empty for cells marked as not
    verified."""
    table, mark = deepcopy(table), f"({labels(language_code).not_verified})"
    for cite in table.xpath(_CITES):
        cite.drop_tree()
    rows = [[" ".join(cell.text_content().split()) for cell in row] for row in table.iter("tr")]
    return [["" if mark in cell else cell for cell in row] for row in rows]


def series_of(rows: Sequence[Sequence[str]], title: str, language_code: str) -> Series | None:
    """Return a table as a time series; None unless its times are in order and its numbers share a
    unit."""
    turned = [*zip(*rows, strict=False)]
    table = rows if _times([row[0] for row in rows[1:]]) else turned
    names = [row[0] for row in table[1:]]
    times, around = _times(names), _unit(rows[0][0]) or _unit(title)
    # Columns without text contained only citations.
    columns = [column for column in [*zip(*table, strict=False)][1:] if any(column[1:])]
    lines, units = dict[str, Sequence[float]](), set[str]()
    for name, *cells in columns:
        figures = [_figure_of(cell, language_code) for cell in cells]
        known = [figure for figure in figures if figure and not isnan(figure[0])]
        if None in figures or len(known) < _FEWEST_POINTS:
            return None
        units |= {unit or _unit(name) or around for _, unit in known}
        lines[name] = [figure[0] for figure in figures if figure]
    has_single_unit = len(units) == 1 and (len(lines) == 1 or units != {""})
    is_drawable = all(ord(sign) in _DRAWN for sign in "".join([*names, *lines]))
    is_plain = (
        times and len(lines) == len(columns) <= _MOST_LINES and has_single_unit and is_drawable
    )
    return Series(names, times, lines) if is_plain else None


def _times(names: Sequence[str]) -> Sequence[float]:
    """Parse names as times in years; empty unless all have the same form and rise or fall."""
    found = [
        match
        for name in names
        if (match := _TIME.fullmatch(name)) and (match["year"] or match["month"])
    ]
    kinds = {tuple(key for key, words in match.groupdict().items() if words) for match in found}
    months = [all_month_names().get((match["month"] or "").casefold(), 0) for match in found]
    if (
        len(found) < max(len(names), _FEWEST_POINTS)
        or len(kinds) > 1
        or (found[0]["month"] and 0 in months)
    ):
        return ()
    times = [
        int(match["year"] or 0) + (month or int(match["number"] or 0) or 3 * int(match["quarter"] or 0)) / 12
        + int(match["day"] or 0) / 366
        for match, month in zip(found, months, strict=True)
    ]  # fmt: skip
    steps = [later - earlier for earlier, later in pairwise(times)]
    return times if min(steps) > 0 or max(steps) < 0 else ()


def _figure_of(cell: str, language_code: str) -> tuple[float, str] | None:
    """Return the number in a cell and its unit; nan for an empty cell, None for other text."""
    if not cell.strip("–—- "):
        return nan, ""
    found = _CELL.fullmatch(cell)
    if not found:
        return None
    try:
        number = parse_decimal(
            found["number"].strip().replace("−", "-"), language_code or "en", strict=True
        )
    except (NumberFormatError, LookupError, ValueError):
        return None
    return float(number), f"{found['money'] or ''}{found['unit']}".strip().casefold()


def _unit(words: str) -> str:
    """Return the unit of measure in a heading; empty if there is none."""
    found = _UNIT.search(words)
    unit = (found[1] or found[2]).strip().casefold() if found else ""
    return unit if measures_in(unit) else ""


def _figure(
    series: Series, title: str, table: lxml.html.HtmlElement, language_code: str, picture: str
) -> lxml.html.HtmlElement:
    """Return a figure: the chart, with its data as alternative text, and a caption with heading and
    citations."""
    names, lines = series.names, series.lines
    shown = list[str]()
    for name, line in lines.items():
        points = zip(names, line, strict=True)
        known = [
            f"{time} {_written(value, language_code)}" for time, value in points if not isnan(value)
        ]
        shown.append(f"{name}: {', '.join(known)}")
    data = base64.b64encode(_drawn(series, language_code, picture)).decode()
    kind = picture.replace("svg", "svg+xml")
    image = builder.IMG(src=f"data:image/{kind};base64,{data}", alt=f"{title}. {'; '.join(shown)}")
    only = next(iter(lines)) if len(lines) == 1 else ""
    caption = builder.E.figcaption(
        f"{only if title in only else f'{title}: {only}'.rstrip(' :')}\u00a0"
    )
    for cite in {cite.text: deepcopy(cite) for cite in table.xpath(_CITES)}.values():
        cite.tail = None
        caption.append(cite)
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
        step = -(-len(series.names) // 12)
        axes.set_xticks(series.times[::step], series.names[::step])
        axes.yaxis.set_major_formatter(lambda value, _: _written(value, language_code))
        axes.grid(axis="y", color="lightgray", linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
        if len(series.lines) > 1:
            figure.legend(frameon=False, loc="outside upper left", ncols=2, handlelength=3.5)
        figure.savefig(
            file := BytesIO(),
            format=picture,
            dpi=220,
            metadata={"Date": None} if picture == "svg" else {},
        )
    return file.getvalue()


def _written(value: float, language_code: str) -> str:
    return format_decimal(round(value, 6), locale=language_code or "en")

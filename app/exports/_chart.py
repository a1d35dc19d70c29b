"""Adds charts below tables that they make clearer, with matplotlib (the extra `charts`): lines for
time series, bars for comparisons."""

from __future__ import annotations

import base64
from copy import deepcopy
from io import BytesIO
from math import ceil
from textwrap import fill
from typing import TYPE_CHECKING, NamedTuple

import lxml.html
from babel.numbers import format_decimal
from lxml.html import builder

from ...core.evidence.citations.labels import is_right_to_left
from ._series import CITES, Series, series_of, table_rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST = 3
"""Maximum charts per report."""
_FEWEST_NUMBERS = 5
"""Minimum numbers of a chart over time: fewer are as clear in the table alone."""
_FEWEST_THINGS = 6
"""Minimum things that a chart compares: fewer are as clear in the table alone."""
_BAR_WIDTH = 0.72
"""Share of a row that its bars take."""
_LOOKS = (("o", "-", "black"), ("s", "--", "dimgray"), ("^", ":", "black"), ("D", "-.", "gray"))
"""Marker, line style and colour of each line."""
_FILLS = (("#44546a", ""), ("#c3c9d2", ""), ("white", "////"), ("#8a93a0", ""))
"""Colour and hatching of each set of bars."""


class _Size(NamedTuple):
    """The size in which a chart is drawn."""

    inches: float
    """Its width."""
    ticks: int
    """Maximum labels of the time axis."""
    name: int
    """Characters per line of the names beside bars."""
    legend_columns: int


_PAGE = _Size(6.3, ticks=12, name=34, legend_columns=2)
_PHONE = _Size(3.7, ticks=5, name=18, legend_columns=1)
"""Smaller, so that its letters are as large on a phone as the others on a page."""
_PHONE_ONLY = "(max-width: 30rem)"


class _Candidate(NamedTuple):
    """A table of which a chart can be drawn."""

    series: Series
    table: lxml.html.HtmlElement
    title: str
    """The heading above it."""


def add_charts(tree: lxml.html.HtmlElement, language_code: str, picture: str) -> None:
    """Add a chart (`picture`: `svg` or `png`) below each table that it makes clearer, at most
    `_MOST` of those with most numbers; does nothing without the extra `charts`."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        return
    if is_right_to_left(language_code):
        return
    title = ""
    candidates = list[_Candidate]()
    for element in tree.iter("h2", "h3", "h4", "h5", "h6", "table"):
        if element.tag != "table":
            title = " ".join(element.text_content().split())
            continue
        series = series_of(table_rows(element, language_code), title, language_code)
        if series and _says_more(series):
            candidates.append(_Candidate(series, element, title))
    candidates.sort(key=lambda candidate: -candidate.series.points)
    for candidate in candidates[:_MOST]:
        figure = _figure(candidate, language_code, picture)
        candidate.table.getparent().addnext(figure)


def _says_more(series: Series) -> bool:
    """Whether a chart is clearer than the table."""
    if series.times:
        return series.points >= _FEWEST_NUMBERS
    return len(series.names) >= _FEWEST_THINGS


def _figure(candidate: _Candidate, language_code: str, picture: str) -> lxml.html.HtmlElement:
    """Return a figure: the chart, with its data as alternative text, and a caption with heading and
    citations."""
    series, table, title = candidate
    descriptions = list[str]()
    for name, cells in series.cells.items():
        points = list[str]()
        for label, cell in zip(series.names, cells, strict=True):
            if cell:
                points.append(f"{label} {cell}")
        descriptions.append(f"{name}: {', '.join(points)}")
    shown = builder.IMG(
        src=_drawn(series, language_code, picture, _PAGE),
        alt=f"{title}. {'; '.join(descriptions)}",
    )
    if picture == "svg":
        narrow = _drawn(series, language_code, picture, _PHONE)
        shown = builder.E.picture(builder.E.source(media=_PHONE_ONLY, srcset=narrow), shown)
    only_name = next(iter(series.lines)) if len(series.lines) == 1 else ""
    heading = only_name
    if title not in only_name:
        heading = f"{title}: {only_name}".rstrip(" :")
    caption = builder.E.figcaption(f"{heading}\u00a0")
    cites = {cite.text: cite for cite in table.xpath(CITES)}
    for cite in cites.values():
        copy = deepcopy(cite)
        copy.tail = None
        caption.append(copy)
    return builder.E.figure(builder.CLASS("chart"), shown, caption)


def _drawn(series: Series, language_code: str, picture: str, size: _Size) -> str:
    """Return the chart as the address of a picture (`svg` or `png`) that contains its data."""
    from matplotlib import rc_context

    with rc_context({"font.size": 8, "svg.hashsalt": "chart", "text.parse_math": False}):
        figure = _lines(series, language_code, size) if series.times else _bars(series, size)
        if len(series.lines) > 1:
            figure.legend(
                frameon=False,
                loc="outside upper left",
                ncols=size.legend_columns,
                handlelength=3.5,
            )
        file = BytesIO()
        # Without a date, the same report is the same file.
        is_svg = picture == "svg"
        metadata = {"Date": None} if is_svg else {}
        figure.savefig(file, format=picture, dpi=220, metadata=metadata, transparent=is_svg)
    data = base64.b64encode(file.getvalue()).decode()
    kind = picture.replace("svg", "svg+xml")
    return f"data:image/{kind};base64,{data}"


def _lines(series: Series, language_code: str, size: _Size) -> Figure:
    """Return a line chart over time."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(size.inches, 2.5), layout="constrained")
    axes = figure.add_subplot()
    for (name, line), (marker, dash, colour) in zip(series.lines.items(), _LOOKS, strict=False):
        axes.plot(series.times, line, marker=marker, linestyle=dash, color=colour, label=name)
    if axes.dataLim.ymin >= 0 and axes.dataLim.ymin <= axes.dataLim.ymax / 2:
        axes.set_ylim(bottom=0)
    step = ceil(len(series.names) / size.ticks)
    axes.set_xticks(series.times[::step], series.names[::step])
    axes.yaxis.set_major_formatter(lambda value, _: _written(value, language_code))
    axes.set_title(series.unit, loc="left", fontsize=8)
    axes.grid(axis="y", color="lightgray", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def _bars(series: Series, size: _Size) -> Figure:
    """Return a chart of horizontal bars, in the order of the table, each with its cell."""
    from matplotlib.figure import Figure

    names = [fill(name, size.name) for name in series.names]
    thickness = _BAR_WIDTH / len(series.lines)
    rows = max(len(names) * max(len(series.lines), 1.4), "\n".join(names).count("\n") + len(names))
    figure = Figure(figsize=(size.inches, 0.5 + 0.2 * rows), layout="constrained")
    axes = figure.add_subplot()
    for index, (name, line) in enumerate(series.lines.items()):
        colour, hatch = _FILLS[index]
        offset = (index - (len(series.lines) - 1) / 2) * thickness
        places = [row + offset for row in range(len(names))]
        bars = axes.barh(
            places, line, thickness, label=name, color=colour, hatch=hatch, edgecolor="#44546a"
        )
        axes.bar_label(bars, series.cells[name], padding=3)
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.margins(x=0.12)
    axes.axvline(0, color="#44546a", linewidth=0.8)
    axes.xaxis.set_visible(False)
    axes.spines[["top", "right", "bottom", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    return figure


def _written(value: float, language_code: str) -> str:
    return format_decimal(round(value, 6), locale=language_code or "en")
